"""Sums of products under masks: the choice of the open run, and no site's sums."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clients.read_requests import SumQuestion
from fedbn.federation.disclosure_log import read_log
from fedbn.federation.run_config import to_run_config
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.secure_rounds import statements
from fedbn.federation.settings import Experiment
from fedbn.networks.conditional_gaussian import Regressions
from fedbn.networks.family_counts import Family
from fedbn.networks.parameter_sources import remarks_on
from fedbn.secure.masks import unmasked_sum
from fedbn.secure.requests import (
    EquationRequest,
    LevelRequest,
    PlaceRequest,
    ResidualRequest,
    to_bytes,
)
from server.server_app import federate
from simulations.in_process_grid import InProcessGrid
from simulations.run import run_experiment
from tests.clients.deployed import known_to_each_other, prepared_nodes
from tests.server.spies import FOR_PARAMETERS, Seen, fall_silent, lie
from tests.simulations.test_mixed_run import COLUMNS, NUMBERS, patients

NAMES = ("east", "north", "south")


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    folder = tmp_path_factory.mktemp("tables")
    files = []
    for seed, name in enumerate(NAMES):
        (folder / f"{name}.csv").write_text(patients(seed))
        files.append(str(folder / f"{name}.csv"))
    return Experiment.of(
        score="mixed-bic",
        numbers=NUMBERS,
        choose="climb",
        parameters="none",
        engine="in-process",
        sites=tuple(files),
    )


def summed(experiment: Experiment) -> Any:
    return run_experiment(experiment.change(aggregation="secure-sums")).result


@pytest.mark.parametrize("choose", ["counts", "climb"])
@pytest.mark.parametrize(
    "change", [{}, {"score": "gaussian-bic", "numbers": ()}], ids=["mixed", "numbers"]
)
def test_the_choice_is_that_of_the_open_run(
    opened: Experiment, choose: str, change: dict[str, Any], tmp_path: Path
) -> None:
    experiment = opened.change(choose=choose, **change)
    if change:
        files = []
        for seed in range(3):
            files.append(str(tmp_path / f"{seed}.csv"))
            lines = [line.split(",")[:2] for line in patients(seed).splitlines()]
            Path(files[-1]).write_text("\n".join(map(",".join, lines)) + "\n")
        experiment = experiment.change(sites=tuple(files))
    ours, theirs = summed(experiment), run_experiment(experiment).result
    assert ours.lacking == ""
    assert ours.consensus.dag == theirs.consensus.dag
    assert abs(ours.choice.score - theirs.choice.score) < 1e-6
    assert abs(ours.choice.candidate_score - theirs.choice.candidate_score) < 1e-6
    for here, there in zip(ours.choice.mechanisms, theirs.choice.mechanisms, strict=True):
        assert (here.variable, here.parents) == (there.variable, there.parents)
        assert abs(here.nats - there.nats) < 1e-6
    columns = 2 if change else 5
    assert ours.choice.cells == theirs.choice.cells == columns * (columns + 1) // 2
    assert f"sums of products of {columns} columns of all sites" in " ".join(statements(ours))


def test_the_server_never_holds_one_site_s_sums(
    opened: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = Seen(monkeypatch, "own_sums")
    result = summed(opened)
    seen.hold(result)
    own, parts = seen.own, seen.parts
    sites, requests = len(NAMES), result.choice.requests
    assert len(own) == sites * requests
    products = own[sites : 2 * sites]
    assert unmasked_sum(parts[-requests + 1]).tolist() == np.sum(products, axis=0).tolist()
    for vector in own:
        if vector.any():
            assert not any(vector.tobytes() in data for data in seen.held)
    levels = unmasked_sum(parts[-requests])
    assert np.array_equal(levels != 0, np.sum(own[:sites], axis=0) != 0)
    assert not np.isin(levels, np.arange(1, sites + 1)).any()  # nobody counts the sites


def deployed(folder: Path, policy: str = "") -> list[dict[str, str]]:
    (folder / "schema.json").write_text(json.dumps(COLUMNS))
    for seed, (name, (first, last)) in enumerate(known_to_each_other(folder, NAMES).items()):
        (folder / f"{name}.csv").write_text(patients(seed))
        rules = "[policy]\ncounts = true\nsecure-sums = true\nmin-state-rows = 0\n"
        own = policy if name == "north" else ""
        text = f'{first}schema = "schema.json"\n{rules}{own}{last}'
        (folder / f"{name}.toml").write_text(text)
    return prepared_nodes(folder, NAMES)


def run_deployed(folder: Path, policy: str, **change: Any) -> tuple[Any, list[str]]:
    """What a run over deployed sites finds, one with this policy, and what its log says."""
    run = Experiment.of(
        score="mixed-bic", numbers=NUMBERS, aggregation="secure-sums", min_replies=3, **change
    )
    found = federate(InProcessGrid(to_run_config(run), deployed(folder, policy)), run)
    return found, [each.words for each in read_log(folder / "north.csv.disclosures.jsonl").entries]


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        ("", ""),
        ("min-cell = 5\n", ""),
        ("min-cell = 40\n", "min-cell"),  # men of one stage
        ("counts-max-parents = 0\n", "counts"),
        ('disclosure = "pcornet"\n', "min-cell"),
    ],
)
def test_sites_look_at_the_same_rules_as_in_the_open(
    tmp_path: Path, policy: str, refused: str
) -> None:
    found, log = run_deployed(tmp_path, policy, choose="counts", parameters="none")
    result = found.result
    assert (result.choice is None) == bool(refused)
    assert refused in result.lacking
    if refused:
        assert result.columns == 0
        assert "Of the tables" not in " ".join(statements(result))
        assert any("the structures alone chose" in each for each in run_remarks(result))
        assert not any("products" in words for words in log)
    else:
        assert result.columns == 5
        assert log[-3].endswith("1280 integers, how large the sums of squares of columns are")
        assert "16 integers, rows and sums of products of all columns" in log[-2]
        assert "own scores of" in log[-1]


@pytest.mark.parametrize(("last", "families"), [(1, 0), (2, 0), (3, 7)])
def test_what_was_learned_is_said_where_a_site_falls_silent(
    opened: Experiment, last: int, families: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fall_silent(monkeypatch, ("own_sums",), len(NAMES) * last)
    result = summed(opened)
    assert "counts" in result.lacking
    assert (result.columns, bool(result.within), result.families) == (5, last > 1, families)
    (learned,) = [each for each in statements(result) if each.startswith("Of the tables")]
    assert ("sums of products of 5 columns" in learned) == (last > 1)
    assert ("own scores of 7 families" in learned) == (last > 2)
    assert "largest site's sum of squares to a factor of 16" in learned


@pytest.mark.parametrize("request_", [1, 2, 3])
def test_sums_that_no_sites_have_leave_what_the_structures_chose(
    opened: Experiment, request_: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site lies about levels (by the length), sums of products, or scores."""
    lie(monkeypatch, ("own_sums",), len(NAMES) * request_, short=request_ == 1)
    result = summed(opened)
    assert result.choice is None
    assert result.consensus.dag == summed(opened.change(choose="smhd")).consensus.dag
    (told,) = run_remarks(result)
    assert told.startswith("the structures alone chose: ")
    learned = " ".join(statements(result))
    assert ("the largest site's sum of squares" in learned) == (request_ > 1)
    assert ("sums of products of 5 columns" in learned) == (request_ > 2)
    assert ("own scores of" in learned) == (request_ > 2)


def numbers_of(folder: Path, apart: float) -> tuple[str, ...]:
    """Three files of numbers, the second number of each site by so much above the others'."""
    files = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        a = rng.normal(140, 3, 200)
        b = 2 * a + rng.normal(0, 4, 200) + apart * seed
        c = 0.5 * b + rng.normal(size=200)
        files.append(str(folder / f"{seed}.csv"))
        lines = ["a,b,c", *(",".join(map(str, row)) for row in zip(a, b, c, strict=True))]
        Path(files[-1]).write_text("\n".join(lines) + "\n")
    return tuple(files)


@pytest.mark.parametrize("choose", ["smhd", "climb"])
@pytest.mark.parametrize("apart", [0.0, 9.0], ids=["shared", "own"])
def test_equations_of_numbers_are_those_of_the_open_run(
    tmp_path: Path, choose: str, apart: float
) -> None:
    experiment = Experiment.of(
        score="gaussian-bic",
        choose=choose,
        parameters="federated",
        engine="in-process",
        sites=numbers_of(tmp_path, apart),
    )
    theirs = run_experiment(experiment)
    ours = run_experiment(experiment.change(aggregation="secure-sums"))
    assert ours.network.dag == theirs.network.dag
    for what in ("coefficients", "intercepts", "standard_deviations"):
        given, found = getattr(theirs.network, what), getattr(ours.network, what)
        np.testing.assert_allclose(found, given, rtol=1e-7, atol=1e-9)
    assert [name for name, _ in ours.sources.shifts] == [name for name, _ in theirs.sources.shifts]
    assert bool(ours.sources.shifts) == bool(apart)
    (learned,) = [each for each in statements(ours.result) if each.startswith("For the param")]
    assert "of each number the mean and the standard deviation" in learned
    assert ours.result.equations == 4
    told = " ".join(remarks_on(ours.sources))
    assert ("so nobody knows a site's" in told) == bool(apart)
    assert "query --site" not in told


def test_sums_for_parameters_leave_only_where_these_are_wanted(
    opened: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import server.secure_sums as server

    def greedy(result: Any, run: Any) -> Any:
        result, *_ = yield from server.summed_equations(result, run)
        return result, "asked for more than was said"

    monkeypatch.setattr(server, "summed_choice_by_scatters", greedy)
    experiment = opened.change(
        score="gaussian-bic", numbers=(), choose="climb", sites=numbers_of(tmp_path, 0.0)
    )
    assert summed(experiment).equations == 0


@pytest.mark.parametrize("choose", ["smhd", "climb"])
def test_parameters_of_both_kinds_are_those_of_the_open_run(
    opened: Experiment, choose: str
) -> None:
    """Three laboratories with constants of their own, as `patients` makes them."""
    experiment = opened.change(choose=choose, parameters="federated")
    theirs = run_experiment(experiment)
    ours = run_experiment(experiment.change(aggregation="secure-sums"))
    assert ours.network.dag == theirs.network.dag
    for here, there in zip(ours.network.parameters, theirs.network.parameters, strict=True):
        if isinstance(there, Regressions):
            for what in ("coefficients", "intercepts", "standard_deviations"):
                np.testing.assert_allclose(getattr(here, what), getattr(there, what), rtol=1e-9)
        else:
            assert np.array_equal(here, there)
    shifted = [name for name, _ in theirs.sources.shifts]
    assert [name for name, _ in ours.sources.shifts] == shifted == ["crp"]
    for what in ("turned", "added", "against", "sites"):
        assert getattr(ours.sources, what) == getattr(theirs.sources, what)
    assert ours.result.equations == 4


@pytest.mark.parametrize(("last", "words"), [(1, 1), (2, 2), (3, 3), (4, 4)])
def test_what_was_learned_for_parameters_is_said_where_a_site_falls_silent(
    opened: Experiment, last: int, words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    fall_silent(monkeypatch, FOR_PARAMETERS, len(NAMES) * last)
    run = run_experiment(
        opened.change(choose="smhd", parameters="federated", aggregation="secure-sums")
    )
    assert run.result.equations == words
    assert (run.network is None) == (last < 4)
    assert ("counts" in run.sources.failure) == (last < 4)
    (learned,) = [each for each in statements(run.result) if each.startswith("For the param")]
    assert ("factor of 16" in learned, "the mean" in learned) == (True, last > 1)
    assert ("of each number's family" in learned, "leave" in learned) == (last > 2, last > 3)


@pytest.mark.parametrize("request_", [1, 2, 3, 4])
def test_sums_for_parameters_that_no_sites_have_leave_none(
    opened: Experiment, request_: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie(monkeypatch, FOR_PARAMETERS, len(NAMES) * request_, short=request_ == 1)
    run = run_experiment(
        opened.change(choose="smhd", parameters="federated", aggregation="secure-sums")
    )
    assert run.network is None
    assert ("all of one length" if request_ == 1 else "masks hide which") in run.sources.failure


@pytest.mark.parametrize(
    ("policy", "refused"),
    [
        ("min-cell = 5\n", ""),
        ("min-cell = 40\n", "min-cell"),  # men of one stage
        ("counts-max-parents = 1\n", "counts"),
        ('disclosure = "pcornet"\n', "min-cell"),
    ],
)
def test_sites_look_at_the_same_rules_for_parameters_as_in_the_open(
    tmp_path: Path, policy: str, refused: str
) -> None:
    found, log = run_deployed(tmp_path, policy, parameters="federated")
    assert (found.network is None) == bool(refused)
    assert found.sources is not None
    assert refused in found.sources.failure
    told = [each for each in log if "counts of categories, and by configuration" in each]
    assert bool(told) != bool(refused)
    assert ("sums of squares that equations leave" in log[-1]) != bool(refused)


def test_the_site_s_log_tells_sums_for_parameters() -> None:
    families = EquationRequest((Family(0, ()),), (0.0,), (1, 1))
    for request, words in (
        (LevelRequest(), "of numbers about 0 are, and how many rows"),
        (PlaceRequest((1, 1)), "rows, sums of numbers and of their squares"),
        (families, "by configuration of these the sums and sums of products"),
        (ResidualRequest(families, ((0.0,),), (1,)), "sums of squares that equations leave"),
    ):
        assert words in SumQuestion(to_bytes(request, bytes(32), 1), None).words
