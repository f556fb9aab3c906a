"""What a site's policy lets leave, and its file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.data.preparation import Preparation
from fedbn.data.schema import Schema
from fedbn.data.table_format import TableFormat
from fedbn.errors import ConfigError, PolicyError
from fedbn.federation.message import StructureMessage
from fedbn.federation.policy import SitePolicy
from fedbn.federation.site_file import SiteFile, read_site_file
from fedbn.graphs.dag import DAG
from fedbn.networks.family_counts import Family, count_families
from fedbn.privacy.guarantee import Guarantee

SCHEMA = Schema.categorical(dict.fromkeys("abc", ("0", "1")))
DATA = Dataset(SCHEMA, np.zeros((10, 3), dtype=np.int32))
CHAIN = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
COLLIDER = DAG.from_edges("abc", [("a", "b"), ("c", "b")])


def message(*dags: DAG) -> StructureMessage:
    return StructureMessage(SCHEMA.hash, SCHEMA.names, dags, (1.0,) * len(dags), "complete")


def code(error: pytest.ExceptionInfo[PolicyError]) -> str:
    return str(error.value.args[0])


def test_without_limits_everything_passes_as_it_is() -> None:
    SitePolicy().require_table(DATA)
    assert SitePolicy().permit(message(CHAIN, COLLIDER)) == message(CHAIN, COLLIDER)


@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (SitePolicy(min_rows=11), "min-rows"),
        (SitePolicy(variables=("a", "b")), "variables"),
        (SitePolicy(min_rows=11, variables=()), "min-rows"),
    ],
)
def test_a_table_is_refused_with_the_word_of_the_limit(policy: SitePolicy, reason: str) -> None:
    with pytest.raises(PolicyError) as error:
        policy.require_table(DATA)
    assert code(error) == reason


def test_limits_are_met_at_the_limit() -> None:
    SitePolicy(min_rows=10, variables=("c", "b", "a", "z")).require_table(DATA)
    policy = SitePolicy(max_in_degree=2, max_dags=2)
    assert policy.permit(message(CHAIN, COLLIDER)) == message(CHAIN, COLLIDER)


@pytest.mark.parametrize(
    ("policy", "reason"),
    [(SitePolicy(max_in_degree=1), "max-in-degree"), (SitePolicy(max_dags=1), "max-dags")],
)
def test_structures_are_refused_with_the_word_of_the_limit(policy: SitePolicy, reason: str) -> None:
    with pytest.raises(PolicyError) as error:
        policy.permit(message(CHAIN, COLLIDER))
    assert code(error) == reason


def test_classes_only() -> None:
    allowed = SitePolicy(structures="cpdag", max_dags=1).permit(message(CHAIN, CHAIN))
    assert (allowed.form, len(allowed.dags), allowed.weights) == ("cpdag", 1, (1.0,))


def test_uniform_weights_say_nothing_of_scores() -> None:
    several = StructureMessage(SCHEMA.hash, SCHEMA.names, (CHAIN, COLLIDER), (0.9, 0.1), "complete")
    sent = SitePolicy(weights="uniform").permit(several)
    assert (sent.dags, sent.weights) == (several.dags, (1.0, 1.0))
    assert SitePolicy(weights="exact").permit(several) == several
    assert SitePolicy().permit(several).weights == (1.0, 0.125)
    with pytest.raises(ConfigError, match="weights .* must be one of"):
        SitePolicy(weights="equal")


def test_only_private_structures_may_leave_where_the_site_says_so() -> None:
    SitePolicy().require_private(None)
    SitePolicy(max_epsilon=3).require_private(Guarantee(5, 1e-6))  # the ledger adds it up
    with pytest.raises(PolicyError) as error:
        SitePolicy(max_epsilon=3).require_private(None)
    assert error.value.args[0] == "max-epsilon"
    with pytest.raises(ConfigError, match="δ must lie between 0 and 1"):
        SitePolicy(max_epsilon=3, delta=2)


def test_a_site_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "north.toml"
    file.write_text(
        """
        name = "north"
        disclosures = "north.jsonl"
        ledger = "north.privacy.jsonl"
        leave-out = ["id"]
        table = "north.csv"
        missing = ["?"]
        missing-cells = "state"
        separator = ";"
        [policy]
        histograms = false
        min-rows = 500
        variables = ["age", "smoke"]
        max-in-degree = 6
        max-dags = 20
        structures = "cpdag"
        diagnostics = true
        max-epsilon = 3
        delta = 1e-7
        [columns]
        Raucher = "smoke"
        [states.smoke]
        ja = "yes"
        """
    )
    read = read_site_file(file)
    assert (read.name, read.disclosures) == ("north", tmp_path / "north.jsonl")
    assert read.ledger == tmp_path / "north.privacy.jsonl"
    assert read.policy == SitePolicy(500, ("age", "smoke"), 6, 20, "cpdag", True, 3.0, 1e-7, False)
    assert read.mapping.columns == {"Raucher": "smoke"}
    assert read.mapping.states == {"smoke": {"ja": "yes"}}
    assert read.mapping.leave_out == ("id",)
    assert read.table == tmp_path / "north.csv"
    how = read.prepare(Preparation(missing=("-",), leave_out=("x",)))
    assert (how.missing, how.missing_cells, how.leave_out) == (("-", "?"), "state", ("id",))
    assert how.form == TableFormat(";")
    file.write_text('columns = ["a", "b"]')
    assert read_site_file(file).columns == ("a", "b")
    file.write_text("")
    assert read_site_file(file) == SiteFile()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[polic]", "unknown key 'polic'; did you mean 'policy'"),
        ("[policy]\nmin-row = 5", "did you mean 'min-rows'"),
        ("min-rows = 5", r"'min-rows'; it belongs under \[policy\]"),
        ("[policy]\nname = 'north'", r"'name'; it belongs above all"),
        ("[policy]\nmin-rows = '5'", "'min-rows' must be a whole number, not '5'"),
        ("[policy]\nmin-rows = -1", "min-rows must be at least 0"),
        ("[policy]\nstructures = 'pdag'", "structures .* must be one of"),
        ("[policy]\nvariables = [1]", "'variables' must be a list of texts"),
        ("[policy]\nmax-epsilon = 'little'", "'max-epsilon' must be a number"),
        ("[policy]\nmax-epsilon = -3", "ε must be positive"),
        ("[columns]\na = 1", r"\[columns\] must have lines"),
        ("[factors]\na = 'x'", "'factors.a' must be a number"),
        ("[offers]\ness = ['x']", "'ess' must be a list of numbers"),
        ("[states]\na = 'x'", r"\[states.a\] must have lines"),
        ("name = ''", "'name' must be text"),
        ("separator = '.'", "separator must be one of"),
        ("missing-cells = 'drop'", "missing-cells must be one of"),
        ("name = ", "not valid TOML"),
    ],
)
def test_a_wrong_site_file_is_one_clear_error(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "site.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=words):
        read_site_file(file)


def test_a_missing_site_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read"):
        read_site_file(tmp_path / "nowhere.toml")


FAMILIES = (Family(0, ()), Family(2, (0, 1)))


def test_no_counts_leave_unless_the_policy_says_so() -> None:
    SitePolicy(counts=True).require_counts(10, FAMILIES)
    SitePolicy(counts=True, counts_min_rows=10, counts_max_parents=2).require_counts(10, FAMILIES)
    for policy, reason in [
        (SitePolicy(), "counts"),
        (SitePolicy(counts=True, counts_min_rows=11), "counts"),
        (SitePolicy(counts=True, counts_max_parents=1), "counts"),
        (SitePolicy(counts=True, max_epsilon=1.0), "max-epsilon"),
    ]:
        with pytest.raises(PolicyError) as error:
            policy.require_counts(10, FAMILIES)
        assert code(error) == reason


def test_small_counts_do_not_leave() -> None:
    SitePolicy(min_cell=5).require_cells(np.array([0, 5, 0, 17]))
    SitePolicy().require_cells(np.array([1]))
    for cells in ([0, 4], [1, 9]):
        with pytest.raises(PolicyError) as caught:
            SitePolicy(min_cell=5).require_cells(np.array(cells))
        assert caught.value.args == ("min-cell", "1 count from 1 to 4")


def test_families_with_small_counts_are_held_back() -> None:
    schema = Schema.categorical({"a": "01", "b": "01"})
    data = Dataset(schema, np.array([[0, 0]] * 6 + [[1, 0]] * 5 + [[1, 1]] * 2))
    counts = count_families(data, [Family(0, ()), Family(1, ()), Family(1, (0,))])
    assert SitePolicy().permit_counts(counts, compared=True) is counts
    kept = SitePolicy(min_cell=3).permit_counts(counts, compared=False)
    assert kept == count_families(data, [Family(0, ())])
    for policy, compared in ((SitePolicy(min_cell=3), True), (SitePolicy(min_cell=9), False)):
        with pytest.raises(PolicyError) as caught:
            policy.permit_counts(counts, compared=compared)
        assert caught.value.args[0] == "min-cell"


def test_the_policy_on_counts_is_read_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "north.toml"
    file.write_text(
        "[policy]\ncounts = true\ncounts-min-rows = 9\ncounts-max-parents = 3\nmin-cell = 5\n"
    )
    assert read_site_file(file).policy == SitePolicy(
        counts=True, counts_min_rows=9, counts_max_parents=3, min_cell=5
    )
