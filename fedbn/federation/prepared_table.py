"""A site's table, read once under its contract, and kept, as `NAME.prepared.parquet` beside it.

The file holds a code per cell (or a float), under the agreed names, and the contract in its
metadata. It is written whole or not at all, readable by its owner alone. A deployed site answers
from it, until somebody prepares the table anew.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.data.preparation import Prepared
from fedbn.data.table_settings import TableSettings
from fedbn.errors import ContractError, DataError, system_errors_as
from fedbn.federation.contract import Contract, decisions_of, kind_of
from fedbn.federation.disclosure import Disclosure
from fedbn.federation.disclosure_log import append, log_beside
from fedbn.federation.site_file import SiteFile
from fedbn.federation.site_table import site_table
from fedbn.whole_file import write_whole
from fedbn.wording import count_of

CONTRACT = b"fedbn.contract"
"""The key of the contract in the file's metadata."""


@dataclass(frozen=True)
class PreparedTable:
    """A contract, and the rows that it is about."""

    contract: Contract
    dataset: Dataset


def prepared_path(table: str | Path, site: SiteFile) -> Path:
    """Where the prepared form of a table is: beside it, unless the site's file says otherwise."""
    return site.prepared or Path(table).with_name(f"{Path(table).name}.prepared.parquet")


def prepare(table: str | Path, site: SiteFile, number: int = 1) -> PreparedTable:
    """Read a table once, as its site's file says and no run; `number` is how often it has been
    prepared, this time included.

    Raises DataError, SchemaError: the table cannot be read like this, or is not within the file's
    schema; PolicyError: "states": the file names no schema, and a column looks like identifiers.
    """
    own = {agreed: name for name, agreed in site.mapping.columns.items()}
    decided = site
    if site.schema is not None and not site.columns:
        decided = replace(site, columns=tuple(own.get(name, name) for name in site.schema.names))
    cuts = None if site.schema is None else site.schema.cuts
    numbers: tuple[str, ...] = ()  # of a mixed schema; of numbers alone, every column is one anyway
    if site.schema is not None and site.schema.kind == "mixed":
        numbers = site.schema.numbers
    found: Prepared = site_table(
        table, kind_of(site), TableSettings(numbers=numbers), decided, cuts
    )
    if site.schema is None:
        site.policy.require_no_identifiers(found.dataset, named=True)
        dataset = found.dataset
    else:
        dataset = found.dataset.with_schema(site.schema, str(table))
    contract = Contract(
        decisions=json.dumps(decisions_of(site), sort_keys=True),
        schema=dataset.schema,
        rows=dataset.n_rows,
        rows_dropped=found.rows_dropped,
        digest=_digest(dataset),
        number=number,
    )
    return PreparedTable(contract, dataset)


def renew(table: str | Path, site: SiteFile, *, confirmed: bool = False) -> Contract:
    """Prepare a table and keep it; the site's log has a line for every new contract. Returns the
    contract, the one there is where nothing has changed.

    Raises ContractError: the table or the decisions have changed, and nobody has `confirmed` that a
    new contract is wanted; ResultsError: it or the log cannot be written; others as `prepare`.
    """
    path = prepared_path(table, site)
    before = _contract_in(path) if path.exists() else None
    number = 1 if before is None else before.number
    prepared = prepare(table, site, number)
    if before is not None:
        if prepared.contract == before:
            return before
        if not confirmed:
            what = "table" if prepared.contract.decisions == before.decisions else "site's file"
            raise ContractError(
                f"{table} has a contract, number {number}, and its {what} has changed: a new one "
                "allows further questions about the same people; use --replace to make it"
            )
        contract = replace(prepared.contract, number=number + 1)
        prepared = replace(prepared, contract=contract)
    _log(prepared.contract, site.disclosures or log_beside(table))
    write_prepared(prepared, path)
    return prepared.contract


def _log(contract: Contract, path: Path) -> None:
    words = (
        f"contract {contract.hash}, number {contract.number}: "
        f"{count_of(contract.schema.n, 'column')}, {count_of(contract.rows, 'row')}"
    )
    now = datetime.now(UTC)
    append(path, Disclosure.of({}, now, run="", round=0, kind="contract", words=words))


def write_prepared(prepared: PreparedTable, path: Path) -> None:
    """Keep a prepared table; raises ResultsError when it cannot be written."""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    dataset = prepared.dataset
    gone = [None] * dataset.n if dataset.gone is None else list(dataset.gone.T)
    cells = zip(np.ascontiguousarray(dataset.table.T), gone, strict=True)
    columns = [pa.array(column, mask=lacking) for column, lacking in cells]
    content = pa.table(columns, names=list(dataset.names))
    metadata = {CONTRACT: prepared.contract.to_text().encode("utf-8")}
    buffer = io.BytesIO()
    write_table(content.replace_schema_metadata(metadata), buffer)
    write_whole(path, buffer.getvalue(), mode=0o600)


def contract_of(table: str | Path, site: SiteFile) -> Contract:
    """The contract under which a table was prepared; no row is read. Raises ContractError: it was
    not prepared, or under other decisions than the site's now."""
    contract = _contract_in(prepared_path(table, site))
    if contract.decisions != json.dumps(decisions_of(site), sort_keys=True):
        raise ContractError(
            f"{table} was prepared under other decisions than those of its site's file: run fedbn "
            "site prepare"
        )
    return contract


def _contract_in(path: Path) -> Contract:
    from pyarrow.parquet import read_metadata

    try:
        metadata: Mapping[bytes, bytes] = read_metadata(path).metadata or {}
        return Contract.from_text(metadata[CONTRACT].decode("utf-8"))
    except FileNotFoundError:
        raise ContractError(f"there is no {path}: run fedbn site prepare") from None
    except (OSError, ValueError, KeyError) as error:  # pyarrow's errors are ValueErrors
        raise ContractError(f"{path} is no prepared table: {error}") from None


def rows_of(path: Path, contract: Contract) -> Dataset:
    """The rows of a prepared table, which a process reads once; raises ContractError where they are
    not those of the contract."""
    with system_errors_as(ContractError, f"cannot read {path}"):
        status = path.stat()
    return _read(path, (status.st_mtime_ns, status.st_size, status.st_ino), contract)


@lru_cache(maxsize=2)
def _read(path: Path, stamp: tuple[int, int, int], contract: Contract) -> Dataset:
    """The rows; `stamp` renews them when the file is another."""
    from pyarrow.parquet import ParquetFile

    try:
        columns: Any = ParquetFile(path).read()
        found = [columns[name] for name in contract.schema.names]
        values = np.column_stack([column.fill_null(0).to_numpy() for column in found])
        gone = np.column_stack([column.is_null().to_numpy() for column in found])
        dataset = Dataset(contract.schema, values, gone if gone.any() else None)
    except (OSError, ValueError, KeyError, DataError) as error:
        raise ContractError(f"{path} cannot be read: {error}") from None
    if _digest(dataset) != contract.digest:
        raise ContractError(f"{path}: its rows are not those that were prepared")
    return dataset


def _digest(dataset: Dataset) -> str:
    """SHA-256 (hex) of schema and rows."""
    kind = "<i4" if dataset.kind == "categorical" else "<f8"
    summed = hashlib.sha256(dataset.schema.hash.encode("ascii"))
    summed.update(np.ascontiguousarray(dataset.table, dtype=kind).tobytes())
    if dataset.gone is not None:
        summed.update(np.packbits(dataset.gone).tobytes())
    return summed.hexdigest()
