"""What hostile sites with made-up rows can do to what counts choose.

    python -m simulations.benchmarks.count_attacks --networks child,alarm --hostile 1,2,3
    python -m simulations.benchmarks.count_attacks --networks random-gaussian:15:25:1 --hostile 1,3
    python -m simulations.benchmarks.count_attacks --networks sachs,hailfinder --honest 5

Ten sites; the honest ones learn by GES (BDeu; Gaussian BIC where the network's variables are
numbers) from rows of their own. The hostile ones know everything and collude: all send one
structure, and answer with counts, or sums of products, of one table, whose first rows are honest
and in whose other rows every variable follows its parents, by that structure, with some
probability. With --times each hostile site has so many times the rows of an honest one. A search
changes the structure, the share of honest rows and the probability at random, from the honest
consensus on, and keeps what does not move the choice less. Everything goes through `server_round`
and the dialogue of counts, or sums, as it is.

Drift is the SMHD from what counts choose for the honest sites alone. *unguarded* is the drift of
the sums over all sites, with the same answers, as if nobody was ever left out; *instead* that with
honest sites in the place of the hostile ones, *structures* that of what the honest structures
choose. *unheard* are the sites that were left out, *pivotal* those on which the choice hangs,
*groups* whether the sites passed for two groups, *stands* whether the structures chose although
counts were sent; *silent* is the largest drift of which nothing was said, -1 if something always
was.

With --honest nobody is hostile: so many federations of each kind of table sizes (`KINDS`), how many
of them have a site left out, one on which the choice hangs, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace

import numpy as np

from fedbn.choice.by_scatters import chosen_by_scatters, own_scores, scores_of_some
from fedbn.data.dataset import Dataset
from fedbn.data.partition import partition_dirichlet_latent
from fedbn.data.schema import Schema
from fedbn.federation.counting import Counting, open_counting
from fedbn.federation.family_message import FamilyAnswer, answer_request
from fedbn.federation.rounds import server_round
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.settings import ConsensusSettings
from fedbn.federation.state import ClientReply, FederationResult, ServerState
from fedbn.federation.summing import choose_by_sums
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import smhd
from fedbn.networks.catalog import load_network
from fedbn.scores import make_score
from fedbn.scores.scatter import scatter_of_table
from fedbn.search.ges import ges
from simulations.benchmarks.arguments import count, counts, parser_of, seed
from simulations.benchmarks.attack_search import change_edges

SITES = 10

KINDS = ("200", "1000", "one large", "100 to 10000", "different")
"""Rows of each of ten honest sites: equal; 500 at nine and 3,600 at one; drawn evenly on the
logarithm; 1,000 of sites that differ by a latent class (Dirichlet, .5)."""


@dataclass(frozen=True)
class Row:
    """The attack that moved the choice most."""

    network: str
    choose: str
    hostile: int
    tries: int
    drift: int
    unguarded: int
    unheard: int
    pivotal: int
    groups: bool
    stands: bool
    silent: int
    instead: int
    structures: int


@dataclass(frozen=True)
class Attack:
    """What all hostile sites send: the structure; of their rows the share that is honest, and how
    often the others follow the structure."""

    dag: DAG
    honest: float = 0.0
    follow: float = 0.95

    def change(self, rng: np.random.Generator) -> Attack:
        """Another one near it."""
        honest, follow = rng.normal([self.honest, self.follow], [0.2, 0.1]).clip(0, [0.95, 1])
        return Attack(change_edges(self.dag, rng, 3 * self.dag.n), float(honest), float(follow))

    def table(self, rows: Dataset) -> Dataset:
        """The hostile table, the same for the same attack."""
        made = followed_rows if rows.schema.kind == "categorical" else followed_numbers
        made_up = made(self, rows.schema, rows.n_rows, np.random.default_rng(5))
        kept = int(self.honest * rows.n_rows)
        return Dataset(rows.schema, np.concatenate([rows.table[:kept], made_up[kept:]]))


@dataclass(frozen=True)
class Chosen:
    """The result, the sites that were left out, and what would be chosen if nobody was, which is
    None where two groups are told apart before."""

    result: FederationResult
    unheard: tuple[str, ...]
    unguarded: DAG | None


@dataclass(frozen=True, eq=False)
class Sites:
    """Tables and structures by site."""

    tables: Mapping[str, Dataset]
    dags: Mapping[str, DAG]

    def fuse(self) -> FederationResult:
        """What the structures choose."""
        replies = [ClientReply(site, (dag,), (1.0,), "ok") for site, dag in self.dags.items()]
        schema = next(iter(self.tables.values())).schema
        rule = ConsensusSettings(choose="counts")
        result = server_round(ServerState(schema, len(replies)), replies, [], rule).fused
        return result

    def with_hostile(self, attack: Attack, own: Mapping[str, Dataset]) -> Sites:
        """With hostile sites that have these rows and send this."""
        tables = {site: attack.table(rows) for site, rows in own.items()}
        return Sites({**tables, **self.tables}, {**dict.fromkeys(own, attack.dag), **self.dags})

    def choose(self, choose: str) -> Chosen:
        """What counts choose, or sums of products where columns are numbers."""
        result = self.fuse()
        rule = ConsensusSettings(choose=choose, count_rounds=3, seconds=None)
        opened = open_counting(result, rule, ess=1.0, seed=1)
        if result.schema.kind != "categorical":
            return self._choose_by_sums(result, opened, rule)
        state, unguarded = opened, opened
        while (wanted := state.request()) is not None:
            answers = {s: answer_request(wanted, table, 1.0) for s, table in self.tables.items()}
            state = state.hear(answers)
            if unguarded.climb is None:
                unguarded = _sum_of_all(opened, answers)
        free = None if unguarded.climb is None else unguarded.climb.dag
        return Chosen(state.conclude(result), state.unheard, free)

    def _choose_by_sums(
        self, result: FederationResult, opened: Counting, rule: ConsensusSettings
    ) -> Chosen:
        scatters = {site: scatter_of_table(table) for site, table in self.tables.items()}
        chosen = choose_by_sums(result, scatters, rule, seed=1)
        each, places = list(scatters.values()), list(range(len(scatters)))
        free = chosen_by_scatters(
            opened.candidates,
            opened.schema,
            scores_of_some(opened.schema, each, own_scores(opened.schema, each), places),
            opened.pairs,
            np.random.default_rng(1),
            consensus=result.consensus.dag,
            climbs=rule.choose == "climb",
        )
        unheard = chosen.choice.unheard if chosen.choice else ()
        return Chosen(chosen, unheard, None if free is None else free.dag)


def _sum_of_all(opened: Counting, answers: Mapping[str, FamilyAnswer]) -> Counting:
    first, *others = answers.values()
    counts, own = first.counts, first.own
    for answer in others:
        counts, own = counts + answer.counts, own + answer.own
    return opened.hear_sums({tuple(answers): FamilyAnswer(counts, own)})


def followed_rows(
    attack: Attack, schema: Schema, rows: int, rng: np.random.Generator
) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """Codes [rows, n] of which each follows its parents as often as the attack says."""
    codes = np.zeros((rows, schema.n), dtype=np.int32)
    for node in attack.dag.topological_order():
        states = int(schema.cardinalities[node])
        parents = np.flatnonzero(attack.dag.adjacency[:, node])
        said = codes[:, parents] @ rng.integers(1, 7, len(parents)) % states
        follows = (rng.random(rows) < attack.follow) & (len(parents) > 0)
        codes[:, node] = np.where(follows, said, rng.integers(0, states, rows))
    return codes


def followed_numbers(
    attack: Attack, schema: Schema, rows: int, rng: np.random.Generator
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Values [rows, n] of which each is a sum of its parents, scaled to one standard deviation,
    with a share of noise: none if `attack.follow` is 1."""
    values = np.zeros((rows, schema.n))
    for node in attack.dag.topological_order():
        noise = rng.standard_normal(rows)
        parents = np.flatnonzero(attack.dag.adjacency[:, node])
        said = values[:, parents] @ rng.choice([-1.0, 1.0], len(parents))
        follow = min(attack.follow, 0.999) if said.std() > 0 else 0.0
        values[:, node] = follow * said / (said.std() or 1.0) + np.sqrt(1 - follow**2) * noise
    return values


def search_rows(
    network: str, hostile: int, *, choose: str, rows: int, times: float, tries: int, seed: int
) -> Row:
    """The worst attack of so many hostile sites among ten that a search finds."""
    source, rng = load_network(network), np.random.default_rng([seed, hostile])
    own = {f"hostile {k}": source.sample(round(times * rows), rng) for k in range(hostile)}
    tables = {f"honest {k}": source.sample(rows, rng) for k in range(SITES - hostile)}
    honest = of_tables(tables)
    target = honest.choose(choose).result.consensus.dag
    now = Attack(honest.fuse().consensus.dag)
    instead = smhd(of_tables({**own, **tables}).choose(choose).result.consensus.dag, target)
    none = Row(network, choose, hostile, tries, -1, -1, 0, 0, False, False, -1, -1, -1)
    best = replace(none, instead=instead, structures=smhd(now.dag, target))
    drift = -1
    for done in range(tries):
        other = now.change(rng) if done else now
        chosen = honest.with_hostile(other, own).choose(choose)
        result, free = chosen.result, chosen.unguarded
        reached = smhd(result.consensus.dag, target)
        if reached >= drift:
            now, drift = other, reached
        if not run_remarks(result):
            best = replace(best, silent=max(best.silent, reached))
        if reached > best.drift:
            best = replace(
                best,
                drift=reached,
                unguarded=-1 if free is None else smhd(free, target),
                unheard=len(chosen.unheard),
                pivotal=len(result.choice.pivotal) if result.choice else 0,
                groups=bool(result.groups),
                stands=result.choice is None or result.choice.stands,
            )
    return best


@dataclass(frozen=True)
class HonestRow:
    """Federations of honest sites, and how many have a site left out or pivotal, passed for two
    groups, or are such that the structures stand."""

    network: str
    kind: str
    federations: int
    left_out: int
    pivotal: int
    groups: int
    stands: int


def honest_tables(network: str, kind: str, rng: np.random.Generator) -> dict[str, Dataset]:
    """Ten tables of a kind."""
    source = load_network(network)
    if kind == "different":
        whole = source.sample(1_000 * SITES, rng)
        parts = partition_dirichlet_latent(whole, SITES, 0.5, rng)
        return {f"honest {k}": whole.take(part) for k, part in enumerate(parts)}
    if kind == "one large":
        sizes = [3_600] + [500] * (SITES - 1)
    elif kind == "100 to 10000":
        sizes = np.exp(rng.uniform(np.log(100), np.log(10_000), SITES)).astype(int).tolist()
    else:
        sizes = [int(kind)] * SITES
    return {f"honest {k}": source.sample(rows, rng) for k, rows in enumerate(sizes)}


def count_left_out(network: str, kind: str, *, choose: str, times: int, seed: int) -> HonestRow:
    """How often a site of honest federations is left out, or pivotal."""
    left_out = pivotal = groups = stands = 0
    for number in range(times):
        rng = np.random.default_rng([seed, KINDS.index(kind), number])
        tables = honest_tables(network, kind, rng)
        chosen = of_tables(tables).choose(choose)
        result = chosen.result
        left_out += bool(chosen.unheard) and not result.groups
        pivotal += result.choice is not None and bool(result.choice.pivotal)
        groups += bool(result.groups)
        stands += result.choice is not None and result.choice.stands
    return HonestRow(network, kind, times, left_out, pivotal, groups, stands)


def of_tables(tables: Mapping[str, Dataset]) -> Sites:
    """Sites that learn from their tables."""
    schema = next(iter(tables.values())).schema
    score = "bdeu" if schema.kind == "categorical" else "gaussian-bic"
    learned = {site: ges(make_score(score, table)).dag for site, table in tables.items()}
    return Sites(tables, {site: dag.reorder(schema.names) for site, dag in learned.items()})


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, a row as it is done."""
    parser = parser_of("count_attacks", __doc__)
    add = parser.add_argument
    add("--networks", default="child,insurance,alarm", help="names, by commas")
    add("--hostile", type=counts, default=[1, 2, 3], help="numbers of hostile sites (1,2,3)")
    add("--honest", type=count, help="federations of honest sites, of each kind of rows, instead")
    add("--choose", choices=["counts", "climb"], default="counts")
    add("--rows", type=count, default=2000, help="rows of every site (2000)")
    add("--times", type=float, default=1.0, help="rows of a hostile site, times --rows (1)")
    add("--tries", type=count, default=100, help="tries of a search (100)")
    add("--seed", type=seed, default=1, help="of everything random (1)")
    options = parser.parse_args(arguments)
    networks = options.networks.split(",")
    rows: Iterable[Row | HonestRow]
    if options.honest:
        rows = (
            count_left_out(
                network, kind, choose=options.choose, times=options.honest, seed=options.seed
            )
            for network in networks
            for kind in KINDS
        )
    else:
        rows = (
            search_rows(
                network,
                hostile,
                choose=options.choose,
                rows=options.rows,
                times=options.times,
                tries=options.tries,
                seed=options.seed,
            )
            for network in networks
            for hostile in options.hostile
        )
    print("\t".join(column.name for column in fields(HonestRow if options.honest else Row)))
    for row in rows:
        print("\t".join(str(cell) for cell in astuple(row)), flush=True)


if __name__ == "__main__":
    main()
