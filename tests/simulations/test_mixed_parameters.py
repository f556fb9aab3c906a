"""Parameters of tables of numbers and categories: from site files to answers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fedbn.data.tables import read_dataset
from fedbn.errors import QueryError, ResultsError
from fedbn.federation.disclosure_log import read_log
from fedbn.federation.message import StructureMessage, to_arrays
from fedbn.federation.sums_message import sums_from_arrays
from fedbn.graphs.dag import DAG
from fedbn.networks.conditional_gaussian import ConditionalGaussianNetwork
from fedbn.networks.json_file import read_json_network
from fedbn.networks.mixed_parameters import mixed_parameters
from fedbn.networks.mixed_sums import MixedFamilies, mixed_sums
from simulations.benchmarks.sites.deployed_site import DeployedSite, arrays_of, task, word
from simulations.cli import app
from tests.simulations.test_mixed_run import COLUMNS, RUN, SCHEMA, SITE, patients

NAMES = ("east", "north", "south")
WANTED = DAG.from_edges(SCHEMA.names, [("sex", "crp"), ("stage", "crp"), ("stage", "age")])


def run(*arguments: str) -> None:
    app(args=list(arguments), standalone_mode=False)


pytestmark = pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three laboratories with constants of their own, as a run from site files wrote them."""
    folder = tmp_path_factory.mktemp("mixed")
    (folder / "schema.json").write_text(json.dumps(COLUMNS))
    files = []
    for seed, name in enumerate(NAMES):
        (folder / f"{name}.csv").write_text(patients(seed))
        text = f'table = "{name}.csv"\n' + SITE.format(name=name)
        (folder / f"{name}.toml").write_text(text)
        files.append(str(folder / f"{name}.toml"))
    options = ["--score", "mixed-bic", "--schema", str(folder / "schema.json")]
    options += ["--engine", "in-process", "--out", str(folder / "out")]
    run("simulate", "--sites", *files, *options)
    return folder / "out"


def test_results_are_read_back_equal(results: Path) -> None:
    network = read_json_network(results / "network.json")
    assert isinstance(network, ConditionalGaussianNetwork)
    wanted = MixedFamilies(network.dag, network.schema)
    sums = {
        name: mixed_sums(
            read_dataset(results.parent / f"{name}.csv", "mixed", schema=SCHEMA), wanted
        )
        for name in NAMES
    }
    expected = mixed_parameters(wanted, sums)
    assert network == expected.network
    told = json.loads((results / "run.json").read_text())["parameters"]
    shifts = told["shifts"]["crp"]
    assert dict(expected.shifts)["crp"] == tuple(shifts.items())
    assert [shifts["north"] - shifts["east"], shifts["south"] - shifts["north"]] == pytest.approx(
        [8, 8], abs=0.5
    )
    assert "Where the values of crp lie" in (results / "report.html").read_text()


def test_questions_to_numbers(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = results.parent / "answers.csv"
    asked = ["--ask", "crp", "stage", "--given", "sex=m", "age=75"]
    run("query", str(results), *asked, "--out", str(out))
    rows = [line.split(",")[1:3] for line in out.read_text().splitlines()[1:]]
    assert rows[:2] == [["crp", "mean"], ["crp", "variance"]]
    assert ["stage", "III"] in rows
    capsys.readouterr()
    answers = {}
    for site in NAMES:
        run(
            "query",
            str(results),
            "--ask",
            "crp",
            "--given",
            "stage=I",
            "sex=f",
            "--site",
            site,
            "--json",
        )
        answers[site] = json.loads(capsys.readouterr().out)["crp"]["mean"]
    assert [answers[name] for name in NAMES] == pytest.approx([0, 8, 16], abs=0.7)
    run("query", str(results), "--ask", "crp", "--do", "sex=m", "--versus", "sex=f", "--json")
    effect = json.loads(capsys.readouterr().out)["crp"]["effect"]
    assert effect == pytest.approx(2, abs=0.5)
    with pytest.raises(ResultsError, match="no constants of 'west'"):
        run("query", str(results), "--ask", "crp", "--site", "west")


def answer_of(folder: Path, policy: str) -> tuple[str, DeployedSite]:
    (folder / "schema.json").write_text(json.dumps(COLUMNS))
    site = DeployedSite(folder, patients(0), SITE.format(name="north") + policy)
    return word(site.send(RUN, "query.conditional", content())), site


def content() -> object:
    from flwr.app import Array, ArrayRecord

    found = task(SCHEMA)
    sent = to_arrays(StructureMessage(SCHEMA.hash, SCHEMA.names, (WANTED,), (1.0,), "complete"))
    found["consensus"] = ArrayRecord({key: Array(array) for key, array in sent.items()})
    return found


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("", "answered"),
        ("min-cell = 5\n", "answered"),
        ("min-cell = 200\n", "min-cell"),
        ("disclosure = 'pcornet'\n", "min-cell"),
        ("counts-max-parents = 1\n", "counts"),
    ],
)
def test_a_site_keeps_its_rules(tmp_path: Path, policy: str, expected: str) -> None:
    said, site = answer_of(tmp_path, policy)
    assert said == expected
    if expected == "answered":
        arrays = arrays_of(site.send(RUN, "query.conditional", content()), "conditional")
        wanted = MixedFamilies(WANTED, SCHEMA)
        whole = mixed_sums(read_dataset(site.table, "mixed", schema=SCHEMA), wanted)
        found = sums_from_arrays(arrays, wanted)
        assert found.told == whole.told
        log = read_log(site.table.with_name("north.csv.disclosures.jsonl"))
        assert log.entries[-1].words.startswith("rows, and of 4 families up to 14 counts")


def test_a_family_with_few_rows_is_held_back(tmp_path: Path) -> None:
    """Of six groups by sex and stage the smallest has fewer than 25 rows."""
    said, site = answer_of(tmp_path, "min-cell = 25\n")
    assert said == "answered"
    arrays = arrays_of(site.send(RUN, "query.conditional", content()), "conditional")
    assert arrays["told"].tolist() == [1, 0, 1, 1]
    assert not arrays["counts"][3:9].any()


def test_sums_of_a_table_with_one_row_more_are_refused(tmp_path: Path) -> None:
    said, site = answer_of(tmp_path, "min-cell = 5\n")
    assert said == "answered"
    site.table.write_text(patients(0) + "99.5,1.25,f,I\n")
    assert site.prepare(confirmed=True) == ""
    assert word(site.send(RUN, "query.conditional", content())) == "min-cell"
    assert word(site.send(RUN, "query.scatter", task(SCHEMA))) == "min-cell"


def test_arrows_from_numbers_to_a_category(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """age → ill ← crp is compelled: the network has another edge, and none with cut points."""
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(NAMES):
        rng = np.random.default_rng(seed)
        age, crp = 60 + 10 * rng.normal(size=400), rng.normal(size=400)
        ill = ((age - 60) / 10 + crp + 0.5 * rng.normal(size=400) > 0).astype(int)
        rows = "".join(
            f"{a:.3f},{c:.3f},{'ny'[i]}\n" for a, c, i in zip(age, crp, ill, strict=True)
        )
        (tmp_path / f"{name}.csv").write_text("age,crp,ill\n" + rows)
    files = [f"{name}.csv" for name in NAMES]
    options = ["--score", "mixed-bic", "--numbers", "age,crp", "--engine", "in-process"]
    with pytest.warns(UserWarning, match="1 edge more than the consensus, age → crp|crp → age"):
        run("simulate", "--sites", *files, *options, "--out", "out")
    capsys.readouterr()
    run("query", "out", "--ask", "ill", "--given", "age=75", "crp=1", "--json")
    assert json.loads(capsys.readouterr().out)["ill"]["y"] > 0.9
    with pytest.raises(QueryError, match="ask it with --given, not with --do; fedbn"):
        run("query", "out", "--ask", "ill", "--do", "age=75")
    with pytest.warns(UserWarning, match="the network with parameters has intervals"):
        run("parameters", "out", "--sites", *files, "--cuts", "age=50,60,70", "--cuts", "crp=0")
    capsys.readouterr()
    run("query", "out", "--ask", "ill", "--given", "age=75", "crp=1", "--json")
    told = capsys.readouterr()
    assert json.loads(told.out)["ill"]["y"] > 0.9
    assert "which are numbers in the structure: age (50, 60, 70), crp (0)" in told.err
