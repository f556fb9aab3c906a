"""Tables of numbers and categories: deployed sites, the two engines and the library agree."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import fedbn as fb
from fedbn.data.schema import Schema
from fedbn.data.tables import read_dataset
from fedbn.federation.choice_record import choice_facts, choice_from_dict, choice_to_dict
from fedbn.federation.disclosure_log import read_log
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import ConsensusSettings, Experiment
from fedbn.federation.state import FederationResult
from server.server_app import federate
from simulations.benchmarks.sites.deployed_site import DeployedSite, arrays_of, task, word
from simulations.in_process_grid import InProcessGrid
from simulations.run import run_experiment

NUMBERS = ("age", "crp")
COLUMNS = {"age": None, "crp": None, "sex": ["f", "m"], "stage": ["I", "II", "III"]}
SCHEMA = Schema.from_dict(COLUMNS)
NAMES = ("north", "east", "south", "west")

RUN = Experiment.of(
    score="mixed-bic",
    numbers=NUMBERS,
    row_weight="ladder",
    row_weights="1 2",
    choose="climb",
    parameters="none",
    min_replies=2,
    engine="in-process",
)

SITE = """name = "{name}"
schema = "schema.json"
[policy]
diagnostics = true
counts = true
min-state-rows = 0
"""


def patients(seed: int, rows: int = 150) -> str:
    """age → stage → crp ← sex; every laboratory has a constant of its own."""
    rng = np.random.default_rng(seed)
    age = 60 + 10 * rng.normal(size=rows)
    stage = np.digitize((age - 60) / 10 + rng.normal(size=rows), [-0.5, 0.7])
    sex = rng.integers(0, 2, rows)
    crp = 8 * seed + 3 * stage + 2 * sex + rng.normal(size=rows)
    lines = [
        f"{a:.4f},{c:.4f},{'fm'[s]},{'I' * (t + 1)}"
        for a, c, s, t in zip(age, crp, sex, stage, strict=True)
    ]
    return "\n".join(["age,crp,sex,stage", *lines, ""])


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> dict[str, DeployedSite]:
    found = {}
    for seed, name in enumerate(NAMES):
        folder = tmp_path_factory.mktemp(name)
        (folder / "schema.json").write_text(json.dumps(COLUMNS))
        found[name] = DeployedSite(folder, patients(seed), SITE.format(name=name))
        assert found[name].refusal == ""
    return found


def told(result: FederationResult) -> str:
    assert result.choice is not None
    replies = sorted(str([dag.edges for dag in reply.dags]) for reply in result.replies)
    unnamed = {"sites": len(result.choice.sites), "rows": sorted(result.choice.rows.values())}
    choice = choice_to_dict(result.choice) | unnamed
    return json.dumps([result.consensus.dag.edges, replies, choice, result.schema.to_dict()])


def over_deployed(sites: dict[str, DeployedSite]) -> FederationResult:
    nodes = [sites[name].node for name in NAMES]
    grid = InProcessGrid(to_run_config(RUN), nodes)
    return federate(grid, RUN).result


def test_deployed_sites_give_what_the_library_gives(sites: dict[str, DeployedSite]) -> None:
    deployed = over_deployed(sites)
    assert set(deployed.consensus.dag.edges) >= {("stage", "crp"), ("sex", "crp")}
    assert deployed.refused == ()
    tables = {
        name: read_dataset(site.table, "mixed", schema=SCHEMA) for name, site in sites.items()
    }
    rule = ConsensusSettings(choose="climb")
    here = fb.simulate(
        tables,
        score="mixed-bic",
        consensus=rule,
        schema=SCHEMA,
        row_weight="ladder",
        row_weights="1 2",
    )
    assert told(deployed) == told(here.result)


def test_what_left_is_in_the_log(sites: dict[str, DeployedSite]) -> None:
    over_deployed(sites)
    log = read_log(sites["north"].table.with_name("north.csv.disclosures.jsonl"))
    words = [entry.words for entry in log.entries if entry.kind == "query.scatter"]
    assert words
    assert words[-1].startswith("rows and 15 sums of products about the site's means")


def scatter_of(folder: Path, text: str, policy: str) -> tuple[str, DeployedSite]:
    (folder / "schema.json").write_text(json.dumps(COLUMNS))
    site = DeployedSite(folder, text, SITE.format(name="north") + policy)
    return word(site.send(RUN, "query.scatter", task(SCHEMA))), site


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("", "answered"),
        ("min-cell = 5\n", "answered"),
        ("min-cell = 40\n", "min-cell"),  # men of one stage
        ("disclosure = 'pcornet'\n", "min-cell"),
        ("counts-min-rows = 151\n", "counts"),
        ("counts-max-parents = 0\n", "counts"),
        ("counts-max-parents = 1\n", "answered"),
    ],
)
def test_blocks_of_indicators_obey_the_rules_of_counts(
    tmp_path: Path, policy: str, expected: str
) -> None:
    said, site = scatter_of(tmp_path, patients(0), policy)
    assert said == expected
    if expected == "answered":
        found = arrays_of(site.send(RUN, "query.scatter", task(SCHEMA)), "scatter")
        assert int(found["rows"][0]) == 150


def test_sums_of_a_table_with_one_row_more_are_refused(tmp_path: Path) -> None:
    said, site = scatter_of(tmp_path, patients(0), "min-cell = 5\n")
    assert said == "answered"
    site.table.write_text(patients(0) + "99.5,1.25,f,I\n")
    assert site.prepare(confirmed=True) == ""
    assert word(site.send(RUN, "query.scatter", task(SCHEMA))) == "min-cell"


@pytest.mark.usefixtures("packed_flower")
def test_both_engines_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Structures of a ladder, what sums choose, and parameters."""
    files = []
    for seed, name in enumerate(NAMES[:3]):
        (tmp_path / f"{name}.csv").write_text(patients(seed))
        files.append(str(tmp_path / f"{name}.csv"))
    here = RUN.change(
        sites=tuple(files),
        parameters="federated",
        share_diagnostics=True,  # else a site's name depends on the engine
    )
    monkeypatch.chdir(tmp_path)
    one, other = (run_experiment(here.change(engine=e)) for e in ("in-process", "flower"))
    assert told(one.result) == told(other.result)
    assert one.network is not None
    assert one.network == other.network
    assert one.sources == other.sources


def test_what_sums_chose_is_kept_and_read_back(sites: dict[str, DeployedSite]) -> None:
    result = over_deployed(sites)
    assert result.choice is not None
    text = json.dumps(choice_to_dict(result.choice), allow_nan=False)
    found = choice_from_dict(json.loads(text), result.schema)
    assert json.loads(json.dumps(choice_to_dict(found))) == json.loads(text)
    assert found.dag == result.choice.dag
    assert found.counts is None
    assert found.mechanisms == result.choice.mechanisms
    facts = choice_facts(found, result.schema)
    assert (facts["requests"], facts["cells"], facts["left_out"]) == (1, 15, [])
