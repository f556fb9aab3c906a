"""The study of privacy: small cases of every part, and the report made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simulations.studies.privacy.audits import run_audit
from simulations.studies.privacy.cases import (
    audit_cases,
    leak_cases,
    settings,
    site_seed,
    sum_cases,
    utility_cases,
)
from simulations.studies.privacy.leaks import run_leaks
from simulations.studies.privacy.report import (
    audit_sections,
    front_section,
    leak_sections,
    sum_sections,
    utility_sections,
)
from simulations.studies.privacy.utility import run_sums, run_utility

SMALL = {"rows": 150, "sites": 2, "network": "asia", "removals": 2, "per_table": 2}
GAMES = {"targets": 1, "shadows": 4, "runs": 200, "audits": 2}


def made_small(case: dict[str, Any], **more: Any) -> dict[str, Any]:
    return case | {k: v for k, v in (SMALL | GAMES | more).items() if k in case}


@pytest.mark.slow
def test_every_part_runs_and_is_reported(tmp_path: Path) -> None:
    run = settings(smoke=True)
    utility = [made_small(case) for case in utility_cases(run)][:5]
    rows = [case | run_utility(case) for case in utility]
    assert all(0 <= row["f1"] <= 1 and row["smhd"] >= 0 for row in rows)
    titles = [section.title for section in utility_sections(rows, tmp_path)]
    sums = [made_small(case) for case in sum_cases(run)][:1]
    found = [case | run_sums(case) for case in sums]
    assert found[0]["equal"] is True
    titles += [section.title for section in sum_sections(found)]
    leaks = [made_small(case) for case in leak_cases(run)]
    kinds = {(case["game"], case.get("mechanism")): case for case in leaks}
    rows = [case | run_leaks(case) for case in kinds.values()]
    titles += [section.title for section in leak_sections(rows, tmp_path)]
    assert len(titles) == len(set(titles)) == 9
    assert {path.name for path in tmp_path.glob("*.png")} == {
        "utility.png",
        "flips.png",
        "shadow.png",
    }


def test_the_audit_table_says_right_of_every_mechanism() -> None:
    """Every fault is in the table; with the smoke's numbers each is caught, and nothing else."""
    cases = [case for case in audit_cases(settings(smoke=True)) if case["audit"] != "end to end"]
    rows = [case | run_audit(case) for case in cases]
    assert {row["fault"] for row in rows} == {
        "none",
        "half the width",
        "budget undivided",
        "filtered",
        "seeded",
        "only adds",
    }
    (section,) = audit_sections(rows)
    assert [line[-1] for line in section.rows] == ["True"] * len(rows)


def test_the_whole_study_has_the_cases_of_the_issue() -> None:
    run = settings(smoke=False)
    wanted = {("alarm", 5000, 1), ("alarm", 5000, 3), ("child", 5000, 1), ("alarm", 50000, 3)}
    cases = list(utility_cases(run))
    assert wanted <= {(c["network"], c["rows"], c["epsilon"]) for c in cases if c["sites"] == 10}
    assert {case["seed"] for case in cases} == {1, 2, 3}
    assert all(case["delta"] == 1e-6 for case in cases if case["epsilon"] is not None)


@pytest.mark.parametrize("seed", [1, 2])
def test_no_two_sites_have_the_same_noise(seed: int) -> None:
    assert len({site_seed(seed, site) for site in range(100)} | {site_seed(3, 0)}) == 101


def test_the_front_has_what_nothing_equals_or_beats() -> None:
    def row(mechanism: str, epsilon: float, seed: int, f1: float, smhd: int) -> dict[str, Any]:
        case = {"network": "asia", "rows": 9, "sites": 3, "seed": seed, "epsilon": epsilon}
        return case | {"mechanism": mechanism, "f1": f1, "smhd": smhd}

    rows = [
        row("dp-climb", 1, 1, 0.5, 4),
        row("dp-climb", 1, 2, 1.0, 0),  # no other has this seed
        row("dp-ges", 1, 1, 0.6, 4),
        row("dp-climb", 3, 1, 0.7, 2),
        row("dp-ges", 3, 1, 0.8, 3),
        row("ges", 1, 1, 1.0, 0),
    ]
    section = front_section(rows)
    assert section.rows == [
        ["asia", 9, 3, 1, 1, "0.50, 4", "0.60, 4", "dp-ges"],
        ["asia", 9, 3, 3, 1, "0.70, 2", "0.80, 3", "dp-climb and dp-ges"],
    ]
