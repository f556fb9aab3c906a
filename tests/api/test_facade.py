"""`import fedbn as fb`: lazy, complete, frozen; the same results as the rooms behind it."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import matplotlib.axes
import networkx as nx
import numpy as np
import pytest

import fedbn as fb
from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import poolings_of, select_among
from fedbn.errors import ConfigError, SchemaError, StructureError
from fedbn.federation.settings import DataSettings, Experiment, RoundSettings
from fedbn.graphs.pdag import dag_to_cpdag
from fedbn.learners import LearnerSettings
from fedbn.learners import learn as learn_by_name
from fedbn.networks.catalog import load_network
from simulations.run import run_experiment
from tests.naive_choice import smhd


@pytest.fixture(scope="module")
def sites() -> dict[str, fb.Table]:
    network = load_network("asia")
    return {
        name: fb.Table(network.sample(300, np.random.default_rng(seed)))
        for seed, name in enumerate(("east", "north", "south"))
    }


@pytest.fixture(scope="module")
def fused(sites: dict[str, fb.Table]) -> fb.Fused:
    return fb.fuse({name: fb.learn(table) for name, table in sites.items()})


def test_every_name_is_there_and_importing_loads_none() -> None:
    assert set(fb.__all__) <= set(dir(fb))
    for name in fb.__all__:
        assert getattr(fb, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'lern'"):
        _ = fb.lern
    program = (
        "import sys, fedbn, json; before = set(sys.modules);"
        "heavy = {'numpy', 'pandas', 'flwr', 'matplotlib', 'pgmpy', 'scipy'};"
        "assert not before & heavy; assert 'learn' in dir(fedbn); fedbn.DAG;"
        "assert not set(sys.modules) & (heavy - {'numpy'})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_all_and_what_type_checkers_see_are_the_same() -> None:
    from fedbn import _HOMES

    assert set(fb.__all__) == set(_HOMES) | {"__version__"}
    seen = (
        Path(fb.__file__).read_text("utf-8").split("if TYPE_CHECKING:")[1].split("__version__")[0]
    )
    for name, home in _HOMES.items():
        assert any(
            f"fedbn.{home} import" in line and name in line.replace(",", " ").split()
            for line in seen.splitlines()
        )


@pytest.mark.parametrize("learner", ["ges", "xges", "hc", "bootstrap"])
def test_learn_is_that_of_the_learners(sites: dict[str, fb.Table], learner: str) -> None:
    more = {"replicates": 5} if learner == "bootstrap" else {}
    ours = fb.learn(sites["north"], learner, score="bic", seed=3, **more)
    settings = LearnerSettings(learner=learner, score="bic", **more)
    theirs = learn_by_name(sites["north"].dataset, settings, np.random.default_rng(3))
    assert (ours.dags, ours.weights, ours.status) == (theirs.dags, theirs.weights, theirs.status)
    assert ours.dag in ours.dags
    assert ours.cpdag == dag_to_cpdag(ours.dag)
    shares = ours.edges_frame()
    assert list(shares.columns) == ["parent", "child", "share"]
    assert shares["share"].between(0, 1 + 1e-12).all()
    assert set(ours.dag.edges) <= set(zip(shares["parent"], shares["child"], strict=True))
    assert repr(ours).startswith(f"Learned({learner}: 8 nodes")


def test_a_proof_is_told(sites: dict[str, fb.Table]) -> None:
    proven = fb.learn(sites["north"], "optimal", score="bic")
    assert proven.certificate == "optimal"
    assert proven.bound == pytest.approx(proven.score)
    greedy = fb.learn(sites["north"], score="bic")
    assert (greedy.bound, greedy.certificate) == (None, "heuristic")
    assert greedy.score <= proven.bound + 1e-9


def test_fuse_is_that_of_the_consensus(fused: fb.Fused, sites: dict[str, fb.Table]) -> None:
    dags = [fb.learn(sites[name]).dag for name in sorted(sites)]
    path, consensus = select_among(mcbnc_paths(dags, poolings=poolings_of("best")))
    assert fused.dag == consensus.dag
    assert fused.theta == consensus.theta
    assert fused.path.steps == path.steps
    mean = sum(smhd(fused.dag.adjacency, dag.adjacency) for dag in dags)
    assert fused.mean_smhd == Fraction(mean, 3)
    assert fused.gap == fused.mean_smhd - fused.lower_bound >= 0
    assert fused.cpdag == dag_to_cpdag(fused.dag)
    assert "3 sites" in repr(fused)


def test_weights_order_and_seeds(sites: dict[str, fb.Table]) -> None:
    learned = {name: fb.learn(table).dag for name, table in sites.items()}
    backwards = dict(reversed(learned.items()))
    assert fb.fuse(learned).dag == fb.fuse(backwards).dag
    heavy = fb.fuse(learned, weights={"east": 1, "north": 100, "south": Fraction(1, 2)})
    assert smhd(heavy.dag.adjacency, learned["north"].adjacency) == 0
    assert fb.fuse(learned, seed=4).dag == fb.fuse(learned, seed=4).dag


def test_frames_and_axes(fused: fb.Fused) -> None:
    edges = fused.edges_frame()
    assert set(zip(edges["parent"], edges["child"], strict=True)) >= set(fused.dag.edges)
    assert fused.path_frame()["selected"].sum() == 1
    assert fused.sites_frame()["client"].tolist() == ["east", "north", "south"]
    for axes in (fused.plot(), fused.plot_path(), fused.path and fb.fuse({"a": fused.dag}).plot()):
        assert isinstance(axes, matplotlib.axes.Axes)
    assert fb.fuse({"a": fb.DAG.empty("xy")}).edges_frame().empty


def test_results_are_frozen(fused: fb.Fused, sites: dict[str, fb.Table]) -> None:
    for result in (fused, sites["north"], fb.learn(sites["north"], "hc")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            result.dag = None  # type: ignore[misc, union-attr, assignment]


def test_the_credible_set() -> None:
    network = load_network("cancer")
    table = fb.Table(network.sample(200, np.random.default_rng(1)))
    found = fb.credible_set(table, bf=20, score="bic")
    assert found.complete
    members = list(found)
    assert len(found) == found.count == len(members) == len(set(members))
    assert members[0] == found.dag
    assert found.classes == len({dag_to_cpdag(dag) for dag in members})
    assert found.score == pytest.approx(fb.learn(table, "optimal", score="bic").score)
    frame = found.edges_frame().set_index(["parent", "child"])["posterior"]
    assert set(frame.index) == {edge for dag in members for edge in dag.edges}
    assert isinstance(found.plot(), matplotlib.axes.Axes)
    assert repr(found).startswith(f"Credible({found.count} DAGs over 5 nodes")


def test_simulate_is_the_simulation_of_the_command(sites: dict[str, fb.Table]) -> None:
    experiment = Experiment(
        data=DataSettings(network="asia", clients=3, rows=100),
        rounds=RoundSettings(rounds_limit=3),
        seed=5,
        engine="in-process",
    )
    run = run_experiment(experiment)
    tables = {site.label: fb.Table(site.dataset) for site in run.simulation.sites}
    ours = fb.simulate(tables, seed=5, rounds=3)
    theirs = run.result
    assert ours.dag == theirs.consensus.dag
    assert [reply.dags for reply in ours.result.replies] == [r.dags for r in theirs.replies]
    assert (ours.result.rounds, ours.result.converged) == (theirs.rounds, theirs.converged)
    assert repr(ours).startswith("Simulated(3 sites")


def test_states_that_one_site_lacks_are_agreed() -> None:
    tables = {"a": {"x": ["0", "1"]}, "b": {"x": ["1", "2"]}}
    found = fb.simulate(
        {site: fb.Table.from_columns(t) for site, t in tables.items()}, learner="hc"
    )
    assert found.result.schema.states == (("0", "1", "2"),)


def test_errors_say_what_was_passed(sites: dict[str, fb.Table]) -> None:
    dag = fb.DAG.from_edges("ab", [("a", "b")])
    for wrong in ({}, dag, None):
        with pytest.raises(StructureError, match="mapping from sites to their structures, not"):
            fb.fuse(wrong)  # type: ignore[arg-type]
    with pytest.raises(StructureError, match="site 'a': a structure must be .* not int 3"):
        fb.fuse({"a": 3})  # type: ignore[dict-item]
    with pytest.raises(StructureError, match=r"'c' is not in all of them \(site 'two'\)"):
        fb.fuse({"one": dag, "two": fb.DAG.empty("abc")})
    with pytest.raises(ConfigError, match="one weight for every site; see 'two'"):
        fb.fuse({"one": dag}, weights={"one": 1, "two": 1})
    with pytest.raises(ConfigError, match="no setting .* did you mean 'max_parents'"):
        fb.learn(sites["north"], max_parent=3)
    with pytest.raises(ConfigError, match="'optimal' has no use for a start"):
        fb.learn(sites["north"], "optimal", start=fb.DAG.empty(sites["north"].names))
    with pytest.raises(ConfigError, match="needs a mapping from sites to tables, not"):
        fb.simulate(sites["north"])  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="rounds must be at least 1, not 0"):
        fb.simulate(sites, rounds=0)
    other = fb.Table.from_columns({"x": ["0", "1"]})
    with pytest.raises(SchemaError, match="agreed columns"):
        fb.simulate({**sites, "west": other})


def test_a_dag_is_read_by_names() -> None:
    dag = fb.DAG.from_edges(["c", "a", "b"], [("a", "c"), ("b", "c")])
    assert dag.parents("c") == ("a", "b")
    assert dag.children("b") == ("c",)
    assert dag.parents(0) == (1, 2)
    assert nx.is_isomorphic(dag.to_networkx(), nx.DiGraph([("a", "c"), ("b", "c")]))
    assert set(dag.to_pgmpy().edges()) == set(dag.edges)
    with pytest.raises(StructureError, match="'d' is no node of the graph: c, a, b"):
        dag.parents("d")
