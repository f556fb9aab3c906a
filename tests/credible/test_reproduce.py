"""`fedbn reproduce credible` on tables that are made here, and the check of golden figures."""

import csv
import json
import math

import numpy as np
import pytest

from simulations.cli import main
from simulations.studies.credible_bn import cases as credible_cases
from simulations.studies.credible_bn import golden
from tests import naive_credible as naive

SMALL = {
    "limits": {"seconds": 60.0, "memory_gib": 1.0},
    "tables": {
        "names": ["small", "absent"],
        "bayes_factors": [3, 20],
        "bdeu": ["small"],
        "k_best": [2],
    },
    "samples": {"seeds": 2, "cases": [["asia", 60, [3]], ["nowhere", 60, [3]]]},
    "federation": {
        "networks": ["asia"],
        "rows": [40],
        "clients": 2,
        "repetitions": 2,
        "bayes_factor": 20.0,
        "max_dags": 3,
        "replicates": 3,
        "seconds": 60.0,
    },
}


@pytest.fixture(scope="module")
def data():
    return naive.table(np.random.default_rng(8), 60, [2, 3, 2, 2], copied=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    place = tmp_path_factory.mktemp("tables")
    with (place / "small.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(data.names)
        writer.writerows(
            [data.schema.states[j][code] for j, code in enumerate(row)]
            for row in data.codes.tolist()
        )
    return place


def run(*arguments) -> int:
    with pytest.raises(SystemExit) as end:
        main(["reproduce", "credible", "-q", *map(str, arguments)])
    return int(end.value.code or 0)


@pytest.mark.slow
def test_the_whole_study(folder, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(credible_cases, "settings", lambda smoke: SMALL)
    out = tmp_path / "study"
    assert run("--out", out, "--data-dir", folder) == 0
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == 3 + 2 + 2
    report = (out / "report.md").read_text()
    for words in ("Table 1", "Table 5", "Federation", "absent, nowhere"):
        assert words in report
    assert (out / "federation.png").is_file()
    assert (out / "sizes.svg").is_file()
    before = (out / "rows.jsonl").read_text()
    assert run("--out", out, "--data-dir", folder) == 0
    assert (out / "rows.jsonl").read_text() == before
    assert run("--out", out, "--data-dir", tmp_path / "none") == 1


def test_golden_figures(folder, data, tmp_path, capsys) -> None:
    costs = naive.local_costs(data, "bic", 1.0)
    opt, found = naive.credible(costs, data.n, math.log(20))
    dags = [naive.dag_of(data.names, choice) for _, choice in found]
    row = {
        "name": "small",
        "score": "BIC",
        "BF": 20,
        "ess": None,
        "OPT": opt,
        "Pi": len(naive.candidates(costs, math.log(20))),
        "G": len(dags),
        "M": len(naive.class_sizes(dags)),
        "M_paper_style": naive.coarse_classes(dags),
        "columns": list(data.names),
        "edge_posterior": naive.edge_posteriors(found, data.n).tolist(),
    }
    path = tmp_path / "golden.json"
    path.write_text(json.dumps([row]))
    assert golden.main(str(path), str(folder)) == 0
    path.write_text(json.dumps([row | {"G": len(dags) + 1}]))
    assert golden.main(str(path), str(folder)) == 1
    assert f"G {len(dags)} not {len(dags) + 1}" in capsys.readouterr().out
