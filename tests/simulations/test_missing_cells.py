"""The study of missing cells: which cells go, and a smoke run of the command."""

from pathlib import Path

import numpy as np
import pytest

from fedbn.networks.catalog import load_network
from simulations.studies.missing_cells.report import within
from simulations.studies.missing_cells.runs import missing_at
from tests.simulations.conftest import Fedbn


def test_mechanisms_are_what_they_are_called() -> None:
    table = load_network("asia").sample(2000, np.random.default_rng(0))
    for mechanism, share in (("mcar-5", 0.05), ("mcar-15", 0.15)):
        gone = missing_at(table, mechanism, np.random.default_rng(1))
        assert np.allclose(gone.mean(axis=0), share, atol=0.03)
    mar = missing_at(table, "mar", np.random.default_rng(1))
    assert int((~mar.any(axis=0)).sum()) >= table.n // 2
    mnar = missing_at(table, "mnar", np.random.default_rng(1))
    assert mnar.any()
    assert (table.codes[mnar] == 0).all()
    pair = missing_at(table, "mnar-pair", np.random.default_rng(1))
    assert (~pair.any(axis=0)).sum() >= table.n // 2
    assert (table.codes[pair] != 0).any()


def test_the_target_is_a_factor_or_a_few_edges() -> None:
    assert within(2.0, 0.0)
    assert within(25.0, 20.0)
    assert not within(2.5, 0.0)
    assert not within(25.5, 20.0)


@pytest.mark.slow
def test_smoke(fedbn: Fedbn, tmp_path: Path) -> None:
    ran = fedbn("reproduce", "missing-cells", "--smoke", "--out", tmp_path, "--quiet")
    assert ran.status == 0, ran.err
    report = (tmp_path / "report.md").read_text()
    assert "| asia | 300 | mcar-15 | 1 |" in report
    assert "## Missing because of their values" in report
