"""The rebuilt generator of fedCI-IOD, and the bounds of what the default could reach."""

from __future__ import annotations

import sys
from itertools import combinations

import numpy as np
import pytest

from fedbn.graphs.separation import d_separated
from fedbn.networks.catalog import load_network
from simulations.studies.different_variables import bounds
from simulations.studies.different_variables.hidden_causes import (
    HIDDEN,
    LEAST_ROWS,
    NAMES,
    dataset_of,
    draw_federation,
    draw_graph,
    main,
)


@pytest.mark.parametrize("seed", range(5))
def test_six_pairs_are_joined_two_of_them_by_hidden_causes(seed: int) -> None:
    dag, joined = draw_graph(np.random.default_rng(seed))
    assert len(joined) == 6
    causes = [name for name in dag.names if name not in NAMES]
    assert len(causes) == HIDDEN
    hidden = {frozenset(b for a, b in dag.edges if a == cause) for cause in causes}
    direct = {frozenset(edge) for edge in dag.edges if not set(edge) & set(causes)}
    assert hidden | direct == joined
    assert not hidden & direct
    place = {name: v for v, name in enumerate(dag.names)}
    for x, y in combinations(NAMES, 2):
        others = [place[name] for name in NAMES if name not in (x, y)]
        sets = [s for k in range(4) for s in combinations(others, k)]
        apart = any(d_separated(dag, [place[x]], [place[y]], s) for s in sets)
        assert apart == (frozenset((x, y)) not in joined)


@pytest.mark.parametrize("kind", ["numbers", "mixed"])
def test_sites_share_the_rows_of_one_table_and_lack_a_variable_each(kind: str) -> None:
    _, table, parts = draw_federation(kind, 2000, 4, 1)
    assert set(table) == set(NAMES)
    assert [len(part) for part in parts] == [len(NAMES) - 1] * 4
    assert set(parts[0]) != set(parts[1])
    assert sum(len(next(iter(part.values()))) for part in parts) == 2000
    if kind == "numbers":
        assert {dataset_of(part).schema.kind for part in parts} == {"gaussian"}
    for part in parts:
        named = [column for column in part.values() if isinstance(column[0], str)]
        if named:
            assert np.unique(np.array(named), axis=1, return_counts=True)[1].min() >= LEAST_ROWS


def test_every_rule_has_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["hidden_causes", "--kinds", "mixed", "--sites", "3", "--rows", "600", "--seeds", "1"]
    monkeypatch.setattr(sys, "argv", [*words, "2"])
    main()
    lines = capsys.readouterr().out.splitlines()
    rules = ["padded", "vote", "pair", "default", "counts", "climb", "pooled"]
    assert [line.split(", ")[3].split(":")[0] for line in lines] == rules
    assert all(line.startswith("mixed, 3 sites, 2 federations, ") for line in lines)


def test_the_best_state_is_not_farther_than_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "ROWS", 300)
    found = bounds.run_seed("asia", "random-20", 1, 60.0)
    for chosen, best in (
        ("default", "best"),
        ("marginal", "its best"),
        ("more rows", "their best"),
    ):
        assert found[best] <= found[chosen]
    assert found["beyond"] == found["default"] - 1.1 * found["whole 10"]


def test_right_structures_without_lacking_variables_are_fused_to_the_network() -> None:
    truth = load_network("asia").dag
    truth = truth.reorder(sorted(truth.names))
    assert bounds.distances([truth] * 4, truth, 60.0) == (0, 0)
