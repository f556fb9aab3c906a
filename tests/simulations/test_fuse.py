"""`fedbn fuse`: the example of the paper's appendix E through every format and option."""

import gzip
import json
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from fedbn.graphs.dag import DAG
from fedbn.graphs.files import read_structures
from fedbn.graphs.writing import structure_text
from tests.simulations.conftest import Fedbn

EXAMPLE = {
    "one": [("w", "x"), ("x", "y"), ("y", "z")],
    "two": [("w", "x"), ("w", "y"), ("x", "z")],
    "three": [("w", "x"), ("y", "x"), ("x", "z")],
}
KEYS = [
    "nodes",
    "edges",
    "theta",
    "mean_smhd",
    "lower_bound",
    "reading",
    "pooling",
    "missing_pairs",
    "remarks",
    "complete",
    "path",
    "seconds",
    "startup_seconds",
]


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = []
    for name, edges in EXAMPLE.items():
        path = tmp_path / f"{name}.json"
        path.write_text(structure_text(DAG.from_edges("wxyz", edges), ".json"))
        paths.append(path)
    return paths


@pytest.fixture
def several(tmp_path: Path) -> Path:
    lines = ["nodes z,y,x,w"]
    for name, edges in EXAMPLE.items():
        lines += [f"dag {name}", *(f"{parent},{child}" for parent, child in edges), ""]
    path = tmp_path / "all.txt.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return path


def without_times(content: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in content.items() if not key.endswith("seconds")}


def test_json_has_the_promised_keys(fedbn: Fedbn, files: list[Path]) -> None:
    content = fedbn("fuse", *files, "--json").json
    assert set(KEYS) <= set(content)
    assert content["nodes"] == ["w", "x", "y", "z"]
    first = content["path"][0]
    assert (first["theta"], first["edges"]) == (None, 5)
    assert [entry["theta"] for entry in content["path"][1:3]] == ["1/3", "2/3"]
    assert content["path"][-1]["edges"] == 0
    assert content["mean_smhd"] == min(entry["mean_smhd"] for entry in content["path"])
    assert content["mean_smhd"] >= content["lower_bound"] >= 0


def test_steps_replay_the_example_of_the_paper(fedbn: Fedbn, files: list[Path]) -> None:
    content = fedbn("fuse", *files, "--json", "--steps", "--theta", "1/2").json
    assert content["order"] == ["w", "y", "x", "z"]
    assert content["theta"] == "1/3"
    assert content["steps"][0] == {"x": "y", "y": "z", "h": [], "psi": "1/3", "theta": "1/3"}
    assert len(content["steps"]) == 5  # down to the empty graph, whatever θ is selected


def test_formats_and_order_change_nothing(
    fedbn: Fedbn, files: list[Path], several: Path, tmp_path: Path
) -> None:
    reference = without_times(fedbn("fuse", *files, "--json").json)
    assert without_times(fedbn("fuse", *reversed(files), "--json").json) == reference
    assert without_times(fedbn("fuse", several, "--json").json) == reference
    lists = []
    for file in files:
        (entry,) = read_structures(file)
        lists.append(tmp_path / f"{file.stem}.csv")
        lists[-1].write_text(structure_text(entry.dag, ".csv"))
    arguments = ("fuse", *lists, "--nodes", "z,w,x,y", "--json")
    assert without_times(fedbn(*arguments).json) == reference


def test_first_takes_that_many(fedbn: Fedbn, files: list[Path], several: Path) -> None:
    two = without_times(fedbn("fuse", *files[:2], "--json").json)
    assert without_times(fedbn("fuse", several, "--first", 2, "--json").json) == two
    assert (
        "--first 4 needs as many DAGs, the files have 3"
        in fedbn("fuse", several, "--first", 4, "--json").error
    )


def test_a_weight_counts_like_copies(fedbn: Fedbn, files: list[Path]) -> None:
    copies = without_times(fedbn("fuse", files[0], *files, "--json").json)
    assert without_times(fedbn("fuse", *files, "--weights", "2,1,1", "--json").json) == copies
    assert "one per DAG (3)" in fedbn("fuse", *files, "--weights", "2,0,1").error
    assert "one per DAG (3)" in fedbn("fuse", *files, "--weights", "2,1").error


@pytest.mark.parametrize("reading", ["search", "refusion"])
def test_a_reading_is_kept_to(fedbn: Fedbn, files: list[Path], reading: str) -> None:
    content = fedbn("fuse", *files, "--reading", reading, "--json").json
    assert {entry["reading"] for entry in content["path"]} == {reading}
    assert content["reading"] == reading


def test_random_ties_follow_the_seed(fedbn: Fedbn, files: list[Path]) -> None:
    arguments = ("fuse", *files, "--random-ties", "--json", "--steps")
    once = without_times(fedbn(*arguments, "--seed", 3).json)
    assert without_times(fedbn(*arguments, "--seed", 3).json) == once


def test_the_table_says_what_happened(fedbn: Fedbn, files: list[Path]) -> None:
    ran = fedbn("fuse", *files, "--gold", files[0])
    assert ran.status == 0
    for words in (
        "3 structures fused",
        "SMHD to the gold network",
        "threshold θ",
        "of the consensus",
    ):
        assert words in ran.out
    assert fedbn("fuse", *files, "--quiet").out == ""


def test_results_are_written_and_read_back(fedbn: Fedbn, files: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "deep" / "result"
    content = fedbn("fuse", *files, "--gold", files[0], "--out", out, "--json").json
    (entry,) = read_structures(out / "consensus.json")
    assert [list(edge) for edge in entry.dag.edges] == content["edges"]
    run = json.loads((out / "run.json").read_text())
    assert run["command"] == "fuse"
    assert run["summary"]["inputs"] == 3
    hashed = [(each["name"], each["sha256"]) for each in run["inputs"]]
    assert hashed == [(file.name, sha256(file.read_bytes()).hexdigest()) for file in files]
    assert (out / "figures" / "consensus.svg").stat().st_size > 1000


def test_wrong_inputs_are_one_line(fedbn: Fedbn, files: list[Path], tmp_path: Path) -> None:
    cyclic = tmp_path / "cyclic.json"
    cyclic.write_text('{"nodes": ["w", "x"], "edges": [["w", "x"], ["x", "w"]]}')
    assert "cyclic.json: a DAG must have no directed cycle" in fedbn("fuse", cyclic).error
    assert "nowhere.json: No such file" in fedbn("fuse", tmp_path / "nowhere.json").error
    other = tmp_path / "other.json"
    other.write_text('{"nodes": ["w", "x", "y", "q"], "edges": []}')
    assert (
        "same variables, but only one of 'one' and 'other'" in fedbn("fuse", files[0], other).error
    )
    million = tmp_path / "million.json"
    million.write_text(json.dumps({"nodes": [f"v{i}" for i in range(10**6)], "edges": []}))
    assert "million.json: a graph must have at most" in fedbn("fuse", million).error
    (tmp_path / "none.csv").write_text("parent,child\n")
    assert "--nodes" in fedbn("fuse", tmp_path / "none.csv").error
    assert "unknown reading 'bset'" in fedbn("fuse", *files, "--reading", "bset").error
    assert "theta must be" in fedbn("fuse", *files, "--theta", "-1").error


def test_results_are_never_written_over_something_else(
    fedbn: Fedbn, files: list[Path], tmp_path: Path
) -> None:
    assert "is not a result of fedbn" in fedbn("fuse", *files, "--out", tmp_path).error
    assert "is a file" in fedbn("fuse", *files, "--out", files[0]).error
    below_a_file = files[0] / "result"
    assert "cannot write results" in fedbn("fuse", *files, "--out", below_a_file).error


def test_usage_errors_have_status_2(fedbn: Fedbn, files: list[Path]) -> None:
    assert fedbn("fuse").status == 2
    assert fedbn("fuse", *files, "--first", 0).status == 2
    assert fedbn("fuse", *files, "--bogus").status == 2


@pytest.mark.parametrize(
    "method", ["union", "intersection", "vote", "median", "genetic-union", "genetic-inputs"]
)
@pytest.mark.slow
def test_other_methods(fedbn: Fedbn, files: list[Path], tmp_path: Path, method: str) -> None:
    out = tmp_path / method
    arguments = ("fuse", *files, "--method", method, "--gold", files[0])
    content = fedbn(*arguments, "--json", "--out", out).json
    assert content["method"] == method
    assert content["mean_smhd"] >= content["lower_bound"]
    (entry,) = read_structures(out / "consensus.json")
    assert [list(edge) for edge in entry.dag.edges] == content["edges"]
    assert (out / "clients.csv").read_text().startswith("client,edges,smhd_to_consensus\n")
    assert method in fedbn(*arguments).out


def test_options_without_meaning_for_a_method_are_refused(fedbn: Fedbn, files: list[Path]) -> None:
    assert "one of mcbnc, union" in fedbn("fuse", *files, "--method", "mode").error
    assert "mcbnc only" in fedbn("fuse", *files, "--method", "vote", "--theta", "0.5").error
    assert "one of best, mean, clip, median" in fedbn("fuse", *files, "--robust", "most").error


def test_what_all_inputs_agree_on_is_the_consensus(fedbn: Fedbn, tmp_path: Path) -> None:
    """a -> c <- b was said to be at no distance from the triangle, and had fewer edges."""
    file = tmp_path / "t.json"
    file.write_text(structure_text(DAG.from_edges("abc", ["ab", "ac", "bc"]), ".json"))
    content = fedbn("fuse", file, file, file, "--json").json
    assert content["edges"] == [["a", "b"], ["a", "c"], ["b", "c"]]
    assert (content["missing_pairs"], content["remarks"]) == ([], [])


@pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")
def test_the_path_that_won_is_told_and_shown(fedbn: Fedbn, tmp_path: Path) -> None:
    """One hostile input: the mean of the cuts keeps its edges, clipped cuts do not."""
    names = [f"v{i}" for i in range(8)]
    chain = DAG.from_edges(names, list(pairwise(names)))
    place = np.random.default_rng(0).permutation(8)
    hostile = DAG(chain.names, place[:, None] < place[None, :])
    files = []
    for k, dag in enumerate([chain, chain, hostile]):
        files.append(tmp_path / f"{k}.json")
        files[-1].write_text(structure_text(dag, ".json"))
    told = ("--reading", "search", "--json", "--steps")  # without the edge vote
    best = fedbn("fuse", *files, *told).json
    clip = fedbn("fuse", *files, "--robust", "clip", *told).json
    mean = fedbn("fuse", *files, "--robust", "mean", *told)
    assert [best["pooling"], clip["pooling"], mean.json["pooling"]] == ["clip", "clip", "mean"]
    assert best["steps"] == clip["steps"] != mean.json["steps"]
    assert best["mean_smhd"] == best["lower_bound"] < mean.json["mean_smhd"]
    assert "far from the inputs" in mean.json["remarks"][0]
    assert "fedbn: warning: the consensus is far from the inputs" in mean.err
    ran = fedbn("fuse", *files)
    assert "what the inputs that are not far agree on" in ran.out
    assert "the consensus ignores 1 of 3 structures, which is far" in ran.err


@pytest.mark.parametrize("robust", ["clip", "median"])
def test_robust_poolings(fedbn: Fedbn, files: list[Path], robust: str) -> None:
    content = fedbn("fuse", *files, "--robust", robust, "--json", "--steps").json
    assert len(content["steps"]) == 5
    if robust == "median":
        assert {step["psi"] for step in content["steps"]} <= {"0", "1"}


def test_polish_is_never_worse(fedbn: Fedbn, files: list[Path]) -> None:
    plain = fedbn("fuse", *files, "--theta", "1/3", "--json").json
    content = fedbn("fuse", *files, "--theta", "1/3", "--polish", "--json").json
    assert content["polished_from"] == plain["mean_smhd"] >= content["mean_smhd"]
    assert "Polished" in fedbn("fuse", *files, "--polish").out


def test_explanation(fedbn: Fedbn, files: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "result"
    content = fedbn("fuse", *files, "--explain", "--out", out, "--json").json
    pairs = {frozenset(entry["pair"]): entry for entry in content["pairs"]}
    assert pairs[frozenset("yz")]["psi"] == "1/3"
    assert pairs[frozenset("yz")]["clients"] == ["one"]
    assert pairs[frozenset("wx")]["support"] == 1
    assert [entry["client"] for entry in content["clients"]] == ["one", "two", "three"]
    assert len((out / "edges.csv").read_text().splitlines()) == 1 + len(pairs)
    ran = fedbn("fuse", *files, "--explain")
    assert "Who disagrees" in ran.out


def test_a_budget_that_is_too_small_is_one_line(fedbn: Fedbn, files: list[Path]) -> None:
    error = fedbn("fuse", *files, "--seconds", "1e-9", "--json").error
    assert "time budget" in error
    assert "needs more" in error


def test_structures_without_edges_are_told_in_words(fedbn: Fedbn, tmp_path: Path) -> None:
    empty = tmp_path / "empty.json"
    empty.write_text(structure_text(DAG.empty("ab"), ".json"))
    said = fedbn("fuse", empty, "--explain").out
    assert "1 structure fused" in said
    assert "Edges of the consensus: none\nWhy: pairs that an input or G+ joins: none\n" in said
    assert "not determined" not in said
    assert "Edges of the consensus: none" in fedbn("fuse", empty, "--method", "vote").out


DIFFERENT = {
    "north": ("abcd", ["ab", "bc", "cd"]),
    "south": ("acd", ["ac", "cd"]),
    "east": ("abe", ["ab", "be"]),
}


@pytest.fixture
def different(tmp_path: Path) -> list[Path]:
    paths = []
    for name, (names, edges) in DIFFERENT.items():
        path = tmp_path / f"{name}.json"
        path.write_text(structure_text(DAG.from_edges(names, edges), ".json"))
        paths.append(path)
    return paths


def test_different_variables_are_refused_with_the_option_that_takes_them(
    fedbn: Fedbn, different: list[Path]
) -> None:
    ran = fedbn("fuse", *different)
    assert ran.status == 1
    assert "only one of 'north' and 'south' has 'b'; --variables union fuses" in ran.err


@pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")
def test_different_variables_are_fused_and_what_is_not_known_is_said(
    fedbn: Fedbn, different: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ran = fedbn("fuse", *different, "--variables", "union", "--out", out, "--json")
    assert "fedbn: warning: no site has both variables of 2 pairs: c - e, d - e;" in ran.err
    assert "fedbn: warning: only one site has 'e'" in ran.err
    found = ran.json
    assert found["edges"] == [["a", "b"], ["b", "c"], ["b", "e"], ["c", "d"]]
    assert found["variables"]["first_never_together"] == [["c", "e"], ["d", "e"]]
    assert any(words.startswith("no site has both variables") for words in found["remarks"])
    assert (out / "variables.csv").is_file()
    settings = json.loads((out / "run.json").read_text())["settings"]
    assert (settings["variables"], settings["min-sites"]) == ("union", 1)


@pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")
@pytest.mark.parametrize("method", ["vote", "union", "intersection", "median"])
def test_baselines_take_different_variables(
    fedbn: Fedbn, different: list[Path], method: str
) -> None:
    ran = fedbn("fuse", *different, "--variables", "union", "--method", method, "--json")
    assert "fedbn: warning: no site has both variables of 2 pairs" in ran.err
    assert ran.json["never_together"] == [["c", "e"], ["d", "e"]]


@pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")
def test_a_given_number_of_groups_goes_with_different_variables(
    fedbn: Fedbn, different: list[Path]
) -> None:
    ran = fedbn("fuse", *different, "--variables", "union", "--groups", "2")
    assert ran.status == 0
    assert "The number of groups was given, 2; nothing was tested." in ran.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--variables", "some"], "unknown variables 'some': it must be one of same, union"),
        (["--min-judges", "2"], "min-judges is 2, but it is for variables = union"),
        (["--variables", "union", "--min-sites", "2"], "but fewer have 'e'"),
        (["--variables", "union", "--method", "genetic-union"], "fusion = genetic-union yet"),
    ],
)
def test_what_different_variables_do_not_allow_is_refused(
    fedbn: Fedbn, different: list[Path], options: list[str], words: str
) -> None:
    files = different[:1] if options[0] == "--min-judges" else different
    ran = fedbn("fuse", *files, *options)
    assert ran.status == 1
    assert words in ran.err
