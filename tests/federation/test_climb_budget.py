"""What a climb asks fits a site's defaults, and no two of its questions are a difference."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from fedbn.data.dataset import Dataset
from fedbn.errors import PolicyError
from fedbn.federation.counted import enter_counts, tables_of
from fedbn.federation.counting import open_counting
from fedbn.federation.family_message import FamilyRequest, answer_request
from fedbn.federation.kept_lines import MAX_KEPT
from fedbn.federation.policy import SitePolicy
from fedbn.federation.settings import ConsensusSettings
from fedbn.networks.family_counts import FamilyCounts
from tests.choice.cases import Federation, federation

LEAST = 10
SITE = "site 0"


@pytest.fixture(scope="module")
def asia() -> Federation:
    return federation("asia", sites=3, rows=200, seed=1)


def requests_of(case: Federation) -> list[FamilyRequest]:
    """All that a climb with default settings asks, to its end."""
    rounds = ConsensusSettings().count_rounds
    state = open_counting(
        case.result,
        ConsensusSettings(choose="climb", count_rounds=rounds, seconds=None),
        ess=1.0,
        seed=1,
    )
    asked = []
    while (wanted := state.request()) is not None:
        asked.append(wanted)
        given = {site: answer_request(wanted, table, 1.0) for site, table in case.tables.items()}
        state = state.hear(given)
    return asked


def counts_of(wanted: FamilyRequest, table: Dataset) -> FamilyCounts:
    return answer_request(wanted, table, 1.0).counts


def test_it_asks_for_nothing_twice(
    asia: Federation,
) -> None:
    asked = requests_of(asia)
    families = [family for wanted in asked for family in wanted.tables.families]
    assert len(asked) > 2
    assert len(families) == len(set(families))


def test_answers_of_a_climb_are_counts_of_the_same_rows(asia: Federation) -> None:
    """Any two tables agree over the columns that both have, so subtracting them gives nothing."""
    asked = requests_of(asia)
    told = [each for w in asked for each in tables_of(counts_of(w, asia.tables[SITE]), "1")]
    assert len(told) > 50
    for one, other in combinations(told, 2):
        common = set(one.names) & set(other.names)
        assert (one.over(common).cells == other.over(common).cells).all()


def test_a_table_that_changed_by_a_row_during_a_climb_is_not_counted(
    asia: Federation, tmp_path: Path
) -> None:
    """A site has the table that it prepared; under a new contract differences are looked for."""
    asked, table = requests_of(asia), asia.tables[SITE]
    fewer = table.take(range(table.n_rows - 1))
    for number, wanted in enumerate(asked):
        path = tmp_path / str(number)
        enter_counts(path, tables_of(counts_of(wanted, table), "1"), LEAST)
        enter_counts(path, tables_of(counts_of(wanted, table), "2"), LEAST)
        later = asked[(number + 1) % len(asked)]
        with pytest.raises(PolicyError, match="min-cell"):
            enter_counts(path, tables_of(counts_of(later, fewer), "3"), LEAST)


@pytest.mark.slow
@pytest.mark.parametrize(("network", "rows"), [("child", 200), ("insurance", 500)])
def test_a_climb_fits_the_defaults_of_a_site(network: str, rows: int, tmp_path: Path) -> None:
    """A tenth of the memory of what was told, half of the messages of a run."""
    case, policy = federation(network, sites=5, rows=rows, seed=1), SitePolicy()
    path = tmp_path / "counted"
    asked = requests_of(case)
    for number, wanted in enumerate(asked):
        policy.require_budget(number, number)
        policy.require_sums(number, number)
        enter_counts(path, tables_of(counts_of(wanted, case.tables[SITE]), "1"), LEAST)
    assert policy.max_messages is not None
    assert policy.max_sums is not None
    assert len(asked) <= 1 + ConsensusSettings().count_rounds < policy.max_messages / 2
    assert path.stat().st_size < MAX_KEPT / 10
