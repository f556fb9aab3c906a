"""A table that is read once: what is kept, what is a new contract, and what is refused."""

from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

from fedbn.data.schema import Schema
from fedbn.data.table_settings import TableSettings
from fedbn.errors import ContractError, PolicyError
from fedbn.federation.contract import Contract
from fedbn.federation.disclosure_log import log_beside, read_log
from fedbn.federation.prepared_table import (
    contract_of,
    prepare,
    prepared_path,
    renew,
    rows_of,
)
from fedbn.federation.site_file import SiteFile, read_site_file

TEXT = "Raucher;x\n" + "ja;1,5\nnein;2,5\n" * 20
FILE = """separator = ";"
decimal = ","
missing = ["?"]
[columns]
Raucher = "smoke"
[states.smoke]
ja = "yes"
nein = "no"
[schema]
smoke = ["no", "yes"]
x = {cuts = [2]}
"""


@pytest.fixture
def site(tmp_path: Path) -> tuple[Path, SiteFile]:
    table, file = tmp_path / "north.csv", tmp_path / "north.toml"
    table.write_text(TEXT)
    file.write_text(FILE)
    return table, read_site_file(file)


def test_what_is_kept_is_what_was_read(site: tuple[Path, SiteFile]) -> None:
    table, decided = site
    contract = renew(table, decided)
    assert contract_of(table, decided) == contract == Contract.from_text(contract.to_text())
    rows = rows_of(prepared_path(table, decided), contract)
    assert rows.schema.to_dict() == {"smoke": ["no", "yes"], "x": {"cuts": [2.0]}}
    np.testing.assert_array_equal(rows.codes, [[1, 0], [0, 1]] * 20)
    assert rows == prepare(table, decided).dataset
    assert rows_of(prepared_path(table, decided), contract) is rows
    assert stat.S_IMODE(prepared_path(table, decided).stat().st_mode) == 0o600


def test_nothing_changed_is_the_same_contract(site: tuple[Path, SiteFile]) -> None:
    table, decided = site
    assert renew(table, decided) == renew(table, decided)
    assert len(read_log(log_beside(table)).entries) == 1


@pytest.mark.parametrize("change", ["table", "file"])
def test_a_change_is_a_new_contract_which_somebody_confirms(
    site: tuple[Path, SiteFile], change: str
) -> None:
    table, decided = site
    first = renew(table, decided)
    if change == "table":
        table.write_text(TEXT + "ja;1,5\n")
    else:
        file = table.with_suffix(".toml")
        file.write_text(FILE.replace("cuts = [2]", "cuts = [1.9]"))
        decided = read_site_file(file)
        with pytest.raises(ContractError, match="other decisions"):
            contract_of(table, decided)
    with pytest.raises(ContractError, match=r"has changed.*--replace"):
        renew(table, decided)
    second = renew(table, decided, confirmed=True)
    assert (first.number, second.number) == (1, 2)
    assert first.hash != second.hash
    entries = read_log(log_beside(table)).entries
    assert [entry.words.split()[1].rstrip(",") for entry in entries] == [first.hash, second.hash]


def test_the_hash_says_nothing_of_the_rows(site: tuple[Path, SiteFile]) -> None:
    """Who guesses all rows but one must not be told that the guess is right."""
    table, decided = site
    first = prepare(table, decided).contract
    table.write_text(TEXT.replace("ja;1,5", "nein;1,5", 1))
    second = prepare(table, decided).contract
    assert first.digest != second.digest
    assert first.hash == second.hash


def test_a_table_that_was_not_prepared_or_was_edited_is_refused(
    site: tuple[Path, SiteFile],
) -> None:
    table, decided = site
    with pytest.raises(ContractError, match="run fedbn site prepare"):
        contract_of(table, decided)
    contract = renew(table, decided)
    other = prepare(table, decided).contract
    table.write_text(TEXT + "ja;1,5\n")
    renew(table, decided, confirmed=True)
    with pytest.raises(ContractError, match="not those that were prepared"):
        rows_of(prepared_path(table, decided), other)
    prepared_path(table, decided).write_bytes(b"PAR1")
    with pytest.raises(ContractError, match="no prepared table"):
        contract_of(table, decided)
    assert contract == other


@pytest.mark.parametrize(
    ("wish", "refused"),
    [
        ({}, False),
        ({"separator": ";", "decimal": ","}, False),
        ({"missing": ("?",)}, False),
        ({"cuts": ("x=2",)}, False),
        ({"columns": ("smoke", "x")}, False),
        ({"leave_out": ("record",)}, False),
        ({"separator": "|"}, True),
        ({"skip_lines": 1}, True),
        ({"header": "no"}, True),
        ({"encoding": "latin-1"}, True),
        ({"missing": ("NA",)}, True),
        ({"missing_cells": "drop-rows"}, True),
        ({"leave_out_identifiers": True}, True),
        ({"columns": ("smoke",)}, True),
        ({"leave_out": ("x",)}, True),
        ({"cuts": ("x=2.1",)}, True),
        ({"cuts": ("smoke=2",)}, True),
    ],
)
def test_a_run_reads_the_table_as_the_contract_says(
    site: tuple[Path, SiteFile], wish: dict[str, object], refused: bool
) -> None:
    contract = prepare(*site).contract
    asked = TableSettings(**wish)  # type: ignore[arg-type]
    if not refused:
        contract.require_reading(asked)
        return
    with pytest.raises(PolicyError) as error:
        contract.require_reading(asked)
    assert error.value.args[0] == "contract"


@pytest.mark.parametrize(
    ("wish", "refused"),
    [
        ({"columns": ("age", "smoke", "x")}, False),
        ({"columns": ("age", "smoke")}, True),
        ({"numbers": ("age",)}, False),
        ({"numbers": ("age", "smoke")}, True),
        ({"cuts": ("age=2", "x=2")}, False),
        ({"cuts": ("age=2", "x=3")}, True),
    ],
)
def test_a_run_may_name_columns_that_a_site_lacks_where_sites_may_lack_some(
    site: tuple[Path, SiteFile], wish: dict[str, object], refused: bool
) -> None:
    contract = prepare(*site).contract
    asked = TableSettings(**wish)  # type: ignore[arg-type]
    with pytest.raises(PolicyError):
        contract.require_reading(asked)
    if not refused:
        contract.require_reading(asked, may_lack=True)
        return
    with pytest.raises(PolicyError):
        contract.require_reading(asked, may_lack=True)


def test_a_run_names_the_contract_and_its_schema(site: tuple[Path, SiteFile]) -> None:
    contract = prepare(*site).contract
    contract.require_named(())
    contract.require_named(("0" * 64, contract.hash))
    contract.require_schema(contract.schema)
    wider = Schema.from_dict({"smoke": ["maybe", "no", "yes"], "x": {"cuts": [2]}})
    for refuse in (
        lambda: contract.require_named(("0" * 64,)),
        lambda: contract.require_schema(wider),
        lambda: contract.require_kind("gaussian"),
    ):
        with pytest.raises(PolicyError, match="contract"):
            refuse()
