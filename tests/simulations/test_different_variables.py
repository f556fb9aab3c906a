"""Sites with different columns through the federation: commands, engines, messages, schemas."""

import csv
import json
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import fedbn as fb
from fedbn.data.lacking import draw_columns
from fedbn.data.schema import Schema
from fedbn.errors import ConfigError, MessageError, QuorumError, SchemaError
from fedbn.federation.agreement import negotiate, own_part, own_states
from fedbn.federation.checkpoint import Checkpoint, checkpoint_text, read_checkpoint
from fedbn.federation.message import StructureMessage, dags_over
from fedbn.federation.rounds import (
    client_round,
    row_weight_of_structures,
    server_round,
    update_clients,
)
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import ConsensusSettings, Experiment
from fedbn.federation.state import ClientReply, ServerState
from fedbn.fusion.minimal_imap import marginal_imap
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge, knowledge_of
from fedbn.graphs.random import random_dag
from fedbn.learners import LearnerSettings
from fedbn.networks.catalog import load_network
from simulations.experiment import experiment_from
from simulations.run import run_experiment
from simulations.studies.different_variables.report import is_near
from simulations.studies.different_variables.runs import has_columns
from tests import naive_consensus as naive
from tests.simulations.conftest import Fedbn

COLUMNS = {
    "north": ("asia", "bronc", "dysp", "either", "lung", "smoke"),
    "south": ("asia", "dysp", "either", "lung", "smoke", "tub", "xray"),
    "east": ("bronc", "dysp", "either", "smoke", "tub", "xray"),
}
UNION = ConsensusSettings(variables="union")

pytestmark = pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")


@pytest.fixture
def tables(tmp_path: Path) -> list[Path]:
    network, paths = load_network("asia"), []
    for seed, (site, columns) in enumerate(COLUMNS.items()):
        found = network.sample(1500, np.random.default_rng(seed))
        own = found.select(columns)
        paths.append(tmp_path / f"{site}.csv")
        with paths[-1].open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(own.names)
            states = own.schema.states
            writer.writerows([states[k][code] for k, code in enumerate(row)] for row in own.table)
    return paths


def test_three_tables_with_different_columns_run_to_a_report_in_one_command(
    fedbn: Fedbn, tables: list[Path], tmp_path: Path
) -> None:
    asked = ("simulate", "--sites", *tables, "--engine", "in-process", "--out", tmp_path / "out")
    refused = fedbn(*asked)
    assert "variables = union (--variables union) takes sites" in refused.error
    found = fedbn(*asked, "--variables", "union", "--json").json
    assert set(found["nodes"]) == set(load_network("asia").dag.names)
    place = tmp_path / "out"
    matrix = list(csv.DictReader((place / "variables.csv").open(newline="")))
    assert {row["variable"]: [s for s in COLUMNS if row[s]] for row in matrix} == {
        name: [site for site, own in COLUMNS.items() if name in own] for name in found["nodes"]
    }
    edges = list(csv.DictReader((place / "edges.csv").open(newline="")))
    assert all(row["judges"] for row in edges)
    page = (place / "report.html").read_text()
    assert "Who measures what" in page
    assert list(json.loads((place / "schema.json").read_text())) == found["nodes"]


def test_the_interface_finds_what_the_command_finds(fedbn: Fedbn, tables: list[Path]) -> None:
    read = {path.stem: fb.read_table(path) for path in tables}
    api = fb.simulate(read, consensus=UNION, seed=1)
    experiment = experiment_from(
        {"sites": [str(path) for path in tables], "variables": "union", "engine": "in-process"}
    )
    run = run_experiment(experiment)
    assert run.result.consensus.dag == api.dag
    assert {reply.dags[0].names for reply in run.result.replies} == {
        tuple(sorted(own)) for own in COLUMNS.values()
    }


def test_an_update_and_a_checkpoint_keep_every_sites_columns(
    fedbn: Fedbn, tables: list[Path], tmp_path: Path
) -> None:
    out, less = tmp_path / "out", tmp_path / "less"
    asked = ("simulate", "--sites", *tables, "--engine", "in-process", "--variables", "union")
    fedbn(*asked, "--out", out)
    again = read_checkpoint((out / "state.json").read_text(), "state.json")
    assert {r.client: r.dags[0].names for r in again.state.result.replies} == {
        site: tuple(sorted(own)) for site, own in COLUMNS.items()
    }
    assert checkpoint_text(Checkpoint(again.settings, again.state)) == (
        (out / "state.json").read_text()
    )
    changed = fedbn("update", out, "--remove", "east", "--out", less, "--json").json
    assert changed["variables"]["never_together"] == 4 - 2
    assert (less / "variables.csv").is_file()


KNOWN = {"required": [["tub", "either"], ["either", "xray"]], "tiers": [["asia"], ["tub", "dysp"]]}


@pytest.mark.usefixtures("packed_flower")
def test_flower_gives_the_same_bytes(tables: list[Path]) -> None:
    """With rounds, knowledge, a quorum, counts that choose, and parameters."""
    found, networks = {}, []
    for engine in ("in-process", "flower"):
        wanted = {
            "sites": [str(path) for path in tables],
            "variables": "union",
            "rounds-limit": 2,
            "share-diagnostics": True,
            "knowledge": json.dumps(KNOWN),
            "quorum": 2,
            "choose": "climb",
            "parameters": "federated",
        }
        run = run_experiment(experiment_from({**wanted, "engine": engine}))
        result = run.result
        assert result.choice.moves is not None
        networks.append(run.network)
        state = ServerState(result.schema, len(result.replies), result=result)
        text = checkpoint_text(Checkpoint(to_run_config(Experiment()), state))
        content = json.loads(text)
        for reply in content["replies"]:
            reply["seconds"] = None
        found[engine] = {**content, "sha256": ""}
    assert found["in-process"] == found["flower"]
    assert networks[0] == networks[1] is not None


def test_sites_and_consensus_keep_what_is_known_of_their_columns(tables: list[Path]) -> None:
    """What is required of columns that a site lacks says nothing to it."""
    wanted = {"sites": [str(path) for path in tables], "variables": "union"}
    wanted |= {"knowledge": json.dumps(KNOWN), "engine": "in-process"}
    result = run_experiment(experiment_from(wanted)).result
    known = knowledge_of(KNOWN)
    for reply in result.replies:
        own = known.of_some(reply.dags[0].names)
        assert not own.breaches(reply.dags[0])
    assert not known.breaches(result.consensus.dag)
    assert known.of_some(COLUMNS["north"]) == Knowledge(tiers=(("asia",), ("dysp",)))


def test_every_row_weight_of_the_ladder_is_learned_on_a_sites_own_columns(
    tables: list[Path],
) -> None:
    wanted = {"sites": [str(path) for path in tables], "variables": "union"}
    wanted |= {"row-weight": "ladder", "engine": "in-process"}
    result = run_experiment(experiment_from(wanted)).result
    ladder = Experiment.of(row_weight="ladder").learner.ladder
    for reply in result.replies:
        assert sorted({*reply.row_weights}) == sorted(ladder)
        assert len({dag.names for dag in reply.dags}) == 1
    assert sorted(reply.dags[0].names for reply in result.replies) == sorted(COLUMNS.values())
    assert result.row_weight == row_weight_of_structures(result.replies, "union")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"choose": "climb", "site_column": "a"}, "site-column = a"),
        ({"fusion": "genetic-union"}, "fusion = genetic-union"),
        ({"discretise": ("4",), "aggregation": "secure-sums"}, "discretise and aggregation"),
    ],
)
def test_what_is_not_defined_is_refused_by_name(settings: dict, words: str) -> None:
    with pytest.raises(ConfigError, match="variables = union does not go with") as error:
        Experiment.of(variables="union", **settings)
    assert words in str(error.value)


@pytest.mark.parametrize("learner", ["dp-climb", "dp-ges", "dp-moments"])
@pytest.mark.parametrize("own", [("asia", "either", "lung", "smoke", "tub"), ("smoke",)])
def test_a_private_site_draws_as_if_there_were_no_columns_but_its_own(
    learner: str, own: tuple[str, ...]
) -> None:
    network = load_network("asia")
    agreed = network.sample(1, np.random.default_rng(0)).schema
    table = network.sample(400, np.random.default_rng(1)).select(own)
    settings = LearnerSettings(learner=learner, epsilon=8, noise="seeded")
    rng = np.random.default_rng
    among, _ = client_round(table, agreed, settings, rng(2), given=True, variables="union")
    alone, _ = client_round(table, agreed.restrict(own), settings, rng(2), given=True)
    assert among.dags == tuple(dag.extend(agreed.names) for dag in alone.dags)
    assert (among.weights, among.status) == (alone.weights, alone.status)


def test_private_sites_with_different_columns_are_fused() -> None:
    wanted = {"network": "asia", "clients": 4, "rows": 300, "missing-variables": 0.3}
    wanted |= {"variables": "union", "learner": "dp-ges", "epsilon": 4.0, "engine": "in-process"}
    result = run_experiment(experiment_from(wanted)).result
    assert len({reply.dags[0].names for reply in result.replies}) > 1
    assert set(result.consensus.dag.names) == set(load_network("asia").dag.names)


# --- schemas ------------------------------------------------------------------------------------


def schema(**columns: str) -> Schema:
    return Schema.categorical({name: tuple(states) for name, states in columns.items()})


def test_columns_and_states_are_those_of_all_who_have_them() -> None:
    sites = {"n": schema(a="xy", b="01"), "s": schema(b="12", c="z")}
    found = negotiate(sites, variables="union")
    assert found.schema == schema(a="xy", b="012", c="z")
    assert not found.mismatches
    assert negotiate(sites).mismatches


def test_a_given_schema_is_the_law_also_for_some_of_its_columns() -> None:
    given = schema(a="xy", b="01", c="z")
    sites = {"n": schema(a="x", b="0"), "s": schema(b="1", c="z"), "w": schema(c="zq", d="0")}
    found = negotiate(sites, given, variables="union")
    assert found.schema == given
    assert found.mismatches["w"].words() == (
        "has column 'd', which is not agreed; column 'c' has state 'q', which is not agreed"
    )
    assert set(found.mismatches) == {"w"}


def test_a_site_whose_column_is_of_another_kind_is_a_mismatch() -> None:
    numbers = Schema.gaussian("b")
    sites = {"n": schema(a="xy", b="01"), "s": schema(b="01"), "w": numbers}
    found = negotiate(sites, variables="union")
    assert set(found.mismatches) == {"w"}
    assert "'b' as numbers or categories" in found.mismatches["w"].words()
    assert found.schema == schema(a="xy", b="01")


def test_min_sites_names_the_columns_that_too_few_have() -> None:
    sites = {"n": schema(a="xy", b="01"), "s": schema(b="12", c="z")}
    with pytest.raises(SchemaError, match="at least 2 sites must have every .* 'a', 'c': leave"):
        negotiate(sites, variables="union", min_sites=2)
    with pytest.raises(SchemaError, match=r"\(min-sites\), but fewer have 'd'"):
        negotiate(sites, schema(a="xy", b="012", c="z", d="0"), variables="union")


def test_states_of_a_column_that_one_site_has_are_not_spellings_of_its_own() -> None:
    sites = {"n": schema(a="xy", b="01"), "s": schema(b="12", c="z")}
    assert own_states(sites) == {"n": {"b": ("0",)}, "s": {"b": ("2",)}}


def test_a_run_must_agree_on_all_columns_of_a_site() -> None:
    """Or it could ask one table about any of its columns, one run after the other."""
    agreed = schema(a="xy", b="01", c="z")
    assert own_part(agreed, ("a", "c")) == schema(a="xy", c="z")
    with pytest.raises(SchemaError, match="column 'd' of this site is not in the schema"):
        own_part(agreed, ("a", "d"))


# --- messages and rounds ------------------------------------------------------------------------

ALL = schema(a="01", b="01", c="01")


def message(edges: list[str]) -> StructureMessage:
    return StructureMessage(
        ALL.hash, ALL.names, (DAG.from_edges("abc", edges),), (1.0,), "complete"
    )


def test_a_structure_is_over_the_columns_that_its_sender_named() -> None:
    (dag,) = dags_over(message(["ac"]), ("a", "c"))
    assert (dag.names, dag.edges) == (("a", "c"), (("a", "c"),))
    for edges in (["ab"], ["ba"], ["ac", "bc"]):
        with pytest.raises(MessageError, match="a structure joins 'b', which this site"):
            dags_over(message(edges), ("a", "c"))


def reply(client: str, dag: DAG) -> ClientReply:
    return ClientReply(client, (dag,), (1.0,), "complete")


def test_a_round_ends_with_words_if_nobody_has_a_column_any_more() -> None:
    state = ServerState(ALL, 2)
    pair = [reply("n", DAG.from_edges("ab", ["ab"])), reply("s", DAG.from_edges("bc", ["bc"]))]
    after = server_round(state, pair, (), UNION)
    assert after.result.consensus.dag.names == ALL.names
    with pytest.raises(QuorumError, match="no good reply is about 'c'; s: late"):
        server_round(state, pair[:1], [("s", "s: late")], UNION)
    with pytest.raises(QuorumError, match="no good reply is about 'a'"):
        update_clients(after, UNION, removed=["n"])


def test_several_structures_of_a_site_are_one_judge() -> None:
    """One site has b and two structures; two are asked for, so all who see a and c judge."""
    site = ClientReply(
        "n",
        (DAG.from_edges("abc", ["ab", "bc"]), DAG.from_edges("abc", ["ab"])),
        (0.5, 0.5),
        "complete",
    )
    others = [reply(name, DAG.from_edges("ac", ["ac"])) for name in ("s", "w")]
    rule = ConsensusSettings(variables="union", min_judges=2, robust="mean", reading="search")
    path = server_round(ServerState(ALL, 3), [site, *others], (), rule).result.path
    judged = {frozenset((s.x, s.y)): s.psi for s in path.steps}
    assert judged[frozenset("ac")] >= Fraction(2, 3)


@pytest.mark.parametrize("seed", range(30))
def test_a_search_restarts_from_what_the_consensus_says_of_the_sites_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    dag = random_dag([f"v{i}" for i in range(n)], edge_probability=0.5, rng=rng)
    kept = [v for v in range(n) if rng.random() < 0.7] or [0]
    found = marginal_imap(dag, [dag.names[v] for v in kept])
    place = {v: k for k, v in enumerate(kept)}
    order = [v for v in dag.topological_order() if v in place]
    for k, v in enumerate(order):
        for u in order[:k]:
            rest = set(order[:k]) - {u}
            joined = not naive.separated(dag.adjacency, u, v, rest)
            assert bool(found.adjacency[place[u], place[v]]) == joined
    for x, y in combinations(kept, 2):
        rest = [v for v in kept if v not in (x, y)]
        given = {v for v in rest if rng.random() < 0.5}
        if naive.separated(found.adjacency, place[x], place[y], {place[v] for v in given}):
            assert naive.separated(dag.adjacency, x, y, given)


# --- who lacks what -----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_every_column_stays_somewhere(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, sites = int(rng.integers(1, 30)), int(rng.integers(1, 6))
    share = float(rng.random() * 0.9)
    blocks = int(rng.integers(2, n + 1)) if n > 1 and seed % 2 else None
    has = draw_columns(n, sites, share, rng, blocks=blocks)
    assert has.shape == (sites, n)
    assert has.any(axis=0).all()
    assert has.any(axis=1).all()
    if sites > 5 and blocks is None:
        assert (~has).sum(axis=1).max() <= round(share * n)


def test_panels_go_together_and_hubs_go_first() -> None:
    has = draw_columns(20, 6, 0.4, np.random.default_rng(0), blocks=5)
    assert len({tuple(column) for column in has.T}) <= 5
    neighbours = np.array([9] * 4 + [0] * 16)
    lost = sum(
        ~draw_columns(20, 10, 0.2, np.random.default_rng(k), neighbours=neighbours)
        for k in range(20)
    )
    assert lost[:, :4].sum() > 4 * lost[:, 4:].sum()
    with pytest.raises(ConfigError, match="exclude each other"):
        draw_columns(4, 2, 0.5, np.random.default_rng(0), blocks=2, neighbours=neighbours)
    with pytest.raises(ConfigError, match=r"must be in \[0, 1\)"):
        draw_columns(4, 2, 1.0, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"variables": "same"}, "use --variables union"),
        ({"missing_variables": 1.0}, "must be below 1"),
        ({"missing_variables": 0.0, "missing_blocks": 3}, "need the share"),
        ({"missing_blocks": 3, "missing_hubs": True}, "exclude each other"),
        ({"network": None, "sites": ("a.csv", "b.csv")}, "is for --network and --table"),
    ],
)
def test_missing_variables_that_cannot_be_are_refused(settings: dict, words: str) -> None:
    usual = {"network": "asia", "variables": "union", "missing_variables": 0.2}
    with pytest.raises(ConfigError) as error:
        Experiment.of(**{**usual, **settings})
    assert words in str(error.value)


def test_a_simulation_without_a_fifth_of_the_variables(fedbn: Fedbn, tmp_path: Path) -> None:
    asked = ("simulate", "--network", "asia", "--clients", 4, "--rows", 300, "--variables", "union")
    more = ("--missing-variables", 0.25, "--engine", "in-process", "--out", tmp_path / "out")
    found = fedbn(*asked, *more, "--json").json
    assert {len(own) for own in found["variables"]["lacking"].values()} == {2}
    assert found["smhd_to_gold"] is not None
    assert "pooled" not in found


# --- the study ----------------------------------------------------------------------------------


def test_the_studys_patterns_are_what_they_are_called() -> None:
    truth = load_network("child").dag
    case = {"network": "child", "rows": 100, "sites": 10, "blocks": 5, "seed": 1}
    for pattern, lost in (("random-20", 4), ("panels-20", 4), ("hubs-20", 4)):
        has = has_columns({**case, "pattern": pattern}, truth)
        assert set((~has).sum(axis=1).tolist()) <= {lost, lost - 1}
        assert has.any(axis=0).all()


def test_the_target_is_a_tenth_more_than_whole_tables() -> None:
    assert is_near(11.0, 10.0)
    assert not is_near(11.1, 10.0)
    assert is_near(0.0, 0.0)


@pytest.mark.slow
def test_smoke(fedbn: Fedbn, tmp_path: Path) -> None:
    ran = fedbn("reproduce", "different-variables", "--smoke", "--out", tmp_path, "--quiet")
    assert ran.status == 0, ran.err
    report = (tmp_path / "report.md").read_text()
    assert "| asia | 3 | random-20 | 1 |" in report
    assert "## Other losses" in report
