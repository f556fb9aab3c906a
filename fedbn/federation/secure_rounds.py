"""The server's part of a federated run under secure sums, as pure functions: `terms_of` is what all
sites are told before the first sum, `search_of` the questions of the run, `result_of` the consensus
on what they find.

What the server learns is the same in every run, and said in every report: `statements`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from fedbn.choice.by_counts import CountedChoice
from fedbn.consensus.pooling import Robust, poolings_of
from fedbn.consensus.threshold import Consensus, Reading
from fedbn.consensus.votes import Votes, lower_bound, mean_smhd_by_votes
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError
from fedbn.federation.settings import ConsensusSettings, Experiment
from fedbn.fusion.median import descend_by_votes
from fedbn.fusion.weights import UNITS_PER_CLIENT
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.treewidth import dag_treewidth
from fedbn.scores.scatter import Scatter
from fedbn.secure.blocks import Answering, Columns, blocks_of
from fedbn.secure.path import SecureBranch, SecurePath, secure_path, secure_votes
from fedbn.secure.requests import SumRequest
from fedbn.secure.selection import secure_consensus
from fedbn.secure.session import Member, Terms
from fedbn.wording import count_of, list_some

_QUORUM = (
    "A vote quorum above 1 keeps rare arcs out of the fusions: the consensus is not that of the "
    "open run."
)

_SPREAD = "which say something of how these are spread over the sites"

_NOT_CLAIMED = (
    "The result is not hidden. A site that lies is noticed only if no honest sites could have the "
    "sum. Differential privacy is not claimed."
)

Search = Generator[SumRequest, Any, SecurePath | Votes]


@dataclass(frozen=True)
class SumCost:
    """What the sums of a run took.

    Attributes
    ----------
    rounds : requests to all sites, that for their keys among them.
    up, down : bytes that one site sent and got, over all rounds, without what Flower adds.
    site_seconds : mean CPU seconds of a site's answers; None where they do not tell.
    """

    rounds: int
    up: int
    down: int
    site_seconds: float | None


@dataclass(frozen=True)
class VotedConsensus:
    """The consensus of moral votes alone: a DAG at which no edge change lowers the mean SMHD. Its
    directions are any of the class that keep the knowledge; the rest is as in `Consensus`."""

    dag: DAG
    mean_smhd: Fraction
    lower_bound: Fraction
    gap: Fraction
    knowledge: Knowledge | None = None


@dataclass(frozen=True)
class SecureResult:
    """What a federated run under secure sums gives. No structure of a site is in it.

    Attributes
    ----------
    schema, clients : the agreed schema; names of the sites of the cohort, sorted.
    refused : (client, reason) of those that did not match before the cohort was made.
    votes : summed votes on pairs.
    path, branch, consensus : of "secure-sums"; of "moral-votes" there is no path.
    signed : whether every site signed its key: else a server that puts keys of its own in their
        place is not noticed.
    cost : of the sums.
    choice : what counts of families said, where they were asked for.
    families : of how many families counts, or own scores, were added up in all.
    columns : of how many columns the levels are known (`fedbn.secure.scatter_sums`), where some are
        numbers.
    within : their sums of products within sites, of every block, where these were added up.
    equations : how far sums for parameters were added up, where some columns are numbers: 1 levels
        about 0, 2 sums, 3 sums of the consensus' families, 4 residuals; 0 none.
    answered : where sites have different columns, those that each of `clients` answered for.
    lacking : why there were no counts to choose by, or no more; empty where there were all.
    """

    schema: Schema
    clients: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    votes: Votes
    path: SecurePath | None
    branch: SecureBranch | None
    consensus: Consensus | VotedConsensus
    signed: bool
    cost: SumCost
    choice: CountedChoice | None = None
    families: int = 0
    columns: int = 0
    within: tuple[Scatter, ...] = ()
    equations: int = 0
    lacking: str = ""
    answered: tuple[tuple[str, ...], ...] = ()

    @property
    def columns_answered(self) -> tuple[tuple[int, ...], ...]:
        """`answered`, by the numbers of the columns, ascending."""
        return tuple(tuple(sorted(map(self.schema.index, own))) for own in self.answered)

    @property
    def answering(self) -> Answering:
        """Who answered for which columns; all for all where they have the same ones."""
        return Answering.of(self.schema, len(self.clients), self.columns_answered)

    def answering_for(self, blocks: Sequence[frozenset[int]]) -> tuple[str, ...]:
        """The sites of blocks, by the columns of these; all sites where they have the same ones."""
        if not blocks:
            return self.clients
        pairs = zip(self.clients, self.columns_answered, strict=True)
        return tuple(client for client, own in pairs if frozenset(own) in blocks)

    @property
    def unknown(self) -> tuple[tuple[str, str], ...]:
        """The pairs of columns, sorted, that no site answered for together."""
        if self.votes.seen is None:
            return ()
        apart, names = np.triu(self.votes.seen == 0, k=1), self.votes.names
        return tuple((names[a], names[b]) for a, b in np.argwhere(apart))


def answered_columns(
    columns: Mapping[str, Sequence[str]], schema: Schema, run: Experiment
) -> dict[str, tuple[int, ...]]:
    """Client -> the columns that it answers for, by their numbers; empty where all have all.

    columns : client -> the names of those that it has.

    Raises
    ------
    ConfigError : the clients cannot be divided into blocks.
    """
    settings = run.consensus
    if settings.variables == "same":
        return {}
    place = {name: v for v, name in enumerate(schema.names)}
    own = {client: frozenset(has) for client, has in columns.items()}
    blocks = blocks_of(own, settings.min_alike)
    return {
        client: tuple(sorted(place[name] for name in shared)) for client, shared in blocks.items()
    }


def table_requests(run: Experiment, kind: str) -> int:
    """How often a run may ask for what is summed of tables of a kind: to choose, to climb, and for
    parameters. Of tables with numbers, to choose takes levels, sums of products and own scores, and
    a climb scores of what GES finds; parameters take levels, sums, sums of families and residuals.

    >>> from fedbn.federation.settings import Experiment
    >>> climb = Experiment.of(choose="climb", count_rounds=3, parameters="federated")
    >>> [table_requests(climb, kind) for kind in ("categorical", "gaussian")]
    [5, 11]
    """
    choose, counted = run.consensus.choose, kind == "categorical"
    first = 0 if choose == "smhd" else 1 if counted else 3
    climb = run.consensus.count_rounds + (not counted) if choose == "climb" else 0
    of_parameters = 1 if counted else 4
    return first + climb + of_parameters * (run.rounds.parameters == "federated")


def terms_of(
    name: str,
    schema: Schema,
    run: Experiment,
    members: Sequence[Member],
    answered: Mapping[Member, tuple[int, ...]] | None = None,
) -> Terms:
    """The terms of the run of this name with these members.

    answered : of each member the columns that it answers for, where they have different ones.
    """
    settings = run.consensus
    ranked = tuple(sorted(members, key=lambda member: (member.name, member.public)))
    return Terms(
        run=name,
        schema=schema.hash,
        aggregation=settings.aggregation,
        units=units_of(run),
        k_max=settings.k_max,
        quorum=settings.vote_quorum,
        poolings=poolings_of(cast(Robust, settings.robust)),
        members=ranked,
        counts=table_requests(run, schema.kind),
        known=settings.known is not None and settings.aggregation == "secure-sums",
        columns=tuple(answered[member] for member in ranked) if answered else (),
        min_judges=settings.min_judges,
    )


def units_of(run: Experiment) -> int:
    """What the weights of one site's structures sum to: 1 where a site has one."""
    return UNITS_PER_CLIENT if run.learner.sends_several else 1


def search_of(schema: Schema, terms: Terms, run: Experiment) -> Search:
    """The questions of a run: yields requests, is sent sums, ends with what they say. The budget
    `consensus-seconds` is in CPU seconds here: waiting for sites does not count.

    Raises ConfigError where a setting does not fit the number of clients.
    """
    settings, units, clients = run.consensus, units_of(run), len(terms.members)
    columns = Columns.of(terms.columns, schema.n, terms.min_judges) if terms.columns else None
    if settings.aggregation == "moral-votes":
        return secure_votes(schema.names, clients, units, columns)
    end = None if settings.seconds is None else time.process_time() + settings.seconds
    return secure_path(
        schema.names,
        clients,
        units,
        k_max=settings.k_max,
        look_ahead=settings.look_ahead,
        quorum=settings.vote_quorum,
        reading=cast(Reading, settings.reading if settings.choose == "smhd" else "best"),
        robust=cast(Robust, settings.robust),
        knowledge=settings.known,
        columns=columns,
        stop=lambda: end is not None and time.process_time() > end,
    )


def result_of(
    found: SecurePath | Votes,
    schema: Schema,
    terms: Terms,
    refused: Sequence[tuple[str, str]],
    settings: ConsensusSettings,
    cost: SumCost,
) -> SecureResult:
    """The consensus on what the sums say."""
    path, branch = None, None
    consensus: Consensus | VotedConsensus
    if isinstance(found, Votes):
        votes = found
        consensus = voted_consensus(found, settings.known, settings.max_treewidth)
    else:
        path, votes = found, found.votes
        reading = cast(Reading, settings.reading)
        branch, consensus = secure_consensus(found, reading, None, settings.max_treewidth)
    return SecureResult(
        schema=schema,
        clients=tuple(member.name for member in terms.members),
        refused=tuple(refused),
        votes=votes,
        path=path,
        branch=branch,
        consensus=consensus,
        signed=all(member.signature for member in terms.members),
        cost=cost,
        answered=tuple(tuple(schema.names[v] for v in own) for own in terms.columns),
    )


def voted_consensus(
    votes: Votes, knowledge: Knowledge | None = None, max_treewidth: int | None = None
) -> VotedConsensus:
    """The DAG that greedy descent on the mean SMHD reaches from the graph without edges but the
    required ones."""
    start = DAG.empty(votes.names)
    if knowledge is not None:
        start = knowledge.with_required(start)
    possible = votes.total if votes.seen is None else votes.seen
    moral = votes.matrix(votes.moral)
    dag = descend_by_votes(start, moral, possible, knowledge, max_treewidth)
    if max_treewidth is not None and dag_treewidth(dag) > max_treewidth:
        raise ConfigError(
            f"the required edges alone have a treewidth of {dag_treewidth(dag)}, above "
            f"max-treewidth {max_treewidth}"
        )
    mean, bound = mean_smhd_by_votes(dag, votes), lower_bound(votes)
    return VotedConsensus(dag, mean, bound, mean - bound, knowledge)


def statements(result: SecureResult) -> tuple[str, ...]:
    """What the server has learned of the sites, and what is not claimed, in plain sentences."""
    sites = len(result.clients)
    learned = [f"how much of the {sites} sites' weight has each pair in its moral graph"]
    if result.path is not None:
        several = "at least one site" if result.path.quorum == 1 else "how many sites"
        learned = [
            "the sums, over all sites, of the costs of the order heuristic along the orders found "
            "and along wrong guesses",
            f"which arcs {several} had in the minimal I-maps under these orders"
            if result.path.quorum == 1
            else f"{several} had each arc in the minimal I-maps under these orders",
            "the sums of the minimum cuts of all valid deletions on the paths and along wrong "
            "guesses",
            *learned,
            "how much weight has each arc, and each pair compelled or open in its CPDAG",
        ]
    keys = (
        "Every site signed its key, and a site that knows its peers refused any other."
        if result.signed
        else "Semi-honest server: the sites' keys were relayed unsigned, so a server that puts its "
        "own in their place is not noticed."
    )
    return (
        "Of the sites' structures the server learned this, and nothing else: "
        + "; ".join(learned)
        + ".",
        *([_words_on_sums(result)] if result.columns else []),
        *([_words_on_equations(result)] if result.equations else []),
        *([_words_on_counts(result)] if result.families and not result.columns else []),
        *([_words_on_columns(result)] if result.answered else []),
        f"A pair with one vote of {sites} is one site's; who knows a site's practice may guess "
        "which.",
        keys,
        *([] if result.path is None or result.path.quorum == 1 else [_QUORUM]),
        _words_on_collusion(result),
        _NOT_CLAIMED,
    )


def _words_on_collusion(result: SecureResult) -> str:
    """Who learns a single site's part, alone or with the help of other sites."""
    alike = Counter(result.answered)
    if len(alike) < 2:
        sites = len(result.clients)
        return (
            f"A server that colludes with {sites - 1} of the {sites} sites can subtract their "
            "parts from every sum and so learn the part of the remaining site."
        )
    pairs = zip(result.clients, result.answered, strict=True)
    alone = [client for client, columns in pairs if alike[columns] == 1]
    several = [size for size in alike.values() if size > 1]
    words = []
    if alone:
        one = len(alone) == 1
        words.append(
            f"{list_some(alone, 8, quoted=False)} {'is' if one else 'are each'} alone in "
            f"{'its' if one else 'their'} block: the server sees {'this' if one else 'each such'} "
            "site's answers wherever no other block has a part in the sum."
        )
    if several:
        words.append(
            "A server that colludes with all other sites of a block "
            f"({min(several) - 1} of the {min(several)} in the smallest"
            f"{' block of several' if alone else ''}) can subtract their parts from sums over this "
            "block and so learn the part of the remaining site."
        )
    return " ".join(words)


def _words_on_columns(result: SecureResult) -> str:
    sizes = sorted(Counter(result.answered).values(), reverse=True)
    told = list_some(list(map(str, sizes)), 10, quoted=False)
    return (
        f"Sites have different columns and form blocks of {told} sites: all sites of a block "
        "answered for the same columns, so whatever the sums say of one of them they say of each."
    )


def _words_on_counts(result: SecureResult) -> str:
    by_choice = result.choice is not None or bool(result.lacking)
    which = "all sites together"
    if result.answered:
        which = (
            "each block that has its columns"
            if by_choice
            else "all sites that answered for its columns"
        )
    own = f", and the sums of the sites' own scores of them, {_SPREAD}" if by_choice else ""
    return (
        f"Of the tables it learned the counts of {count_of(result.families, 'family')} in the "
        f"rows of {which}{own}; a cell with one row is one site's."
    )


def _words_on_sums(result: SecureResult) -> str:
    columns = count_of(result.columns, "column")
    sizes = "of each column" if result.within else f"of each of {columns}"
    which = "all sites together"
    if not result.answering.for_all:
        sizes, which = f"{sizes} and block", "each block together, those that it answered for"
    learned = [f"{sizes} the largest site's sum of squares to a factor of 16"]
    if result.within:
        learned.insert(
            0,
            f"the number of rows and the sums of products of {columns} of {which}, "
            "within the sites (an indicator of a state is a column)",
        )
    if result.families:
        learned.append(
            "the sums of the sites' own scores of "
            f"{count_of(result.families, 'family')}, {_SPREAD}, or that some site has none"
        )
    return "Of the tables it learned " + "; ".join(learned) + "."


_OF_PARAMETERS = (
    "of each number the largest site's sum of squares about 0 to a factor of 16, and the same of "
    "its number of rows",
    "of all rows{of_it}, their number, and of each number the mean and the standard deviation",
    "counts of the consensus' families of categories; of each number's family, by configuration of "
    "its categories, the rows, means and covariances of all sites{of_them} together, and sums of "
    f"products of the sites' numbers of rows and sums, {_SPREAD}",
    "what equations with a constant for every site leave in each configuration, but no constant",
)


def _words_on_equations(result: SecureResult) -> str:
    of_it, of_them = (
        ("", "")
        if result.answering.for_all
        else (
            " of the sites that answered for it",
            " that answered for its columns",
        )
    )
    told = "; ".join(_OF_PARAMETERS[: result.equations]).format(of_it=of_it, of_them=of_them)
    return f"For the parameters it learned {told}."
