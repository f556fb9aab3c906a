"""A small part of the search for differences, and that it finds some where there are some."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.client_app import HANDLERS
from fedbn.federation.settings import Experiment
from simulations.benchmarks.sites import differences
from simulations.benchmarks.sites.deployed_site import ANSWERED
from simulations.benchmarks.sites.differences import search

pytestmark = pytest.mark.filterwarnings("ignore::fedbn.errors.FedbnWarning")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.slow
def test_no_answer_of_a_strict_site_depends_on_a_row(tmp_path: Path) -> None:
    heard, different = search(tmp_path, pairs=4, seed=30)
    assert different == []
    assert {kind for kind, _ in heard} == set(HANDLERS)
    answered = {kind for kind, said in heard if said == ANSWERED}
    assert answered == {"query", "query.report", "query.keys", "train", "train.sums"}
    words = {said for _, said in heard}
    assert {"contract", "offers", "counts", "histograms", "query"} <= words


@pytest.mark.slow
def test_a_site_that_allows_counts_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def loose(*arguments: object, **options: object) -> str:
        text = strict(*arguments, **options, allow=["counts", "diagnostics"])  # type: ignore[arg-type]
        return text.replace("min-cell = 11", "min-cell = 0").replace('"pcornet"', '"none"')

    strict = differences.site_text
    monkeypatch.setattr(differences, "site_text", loose)
    monkeypatch.setattr(differences, "schema_asked", lambda _: differences.SCHEMA)
    monkeypatch.setattr(differences, "RUNS", [Experiment()])
    _, different = search(tmp_path, pairs=2, seed=30)
    assert any("query.counts" in words for words in different)
