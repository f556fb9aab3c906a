"""What has been spent on a table: one JSON line per run, on disk before the first draw.

    {"time": "2026-05-04T09:00:00.123+00:00", "run": "7", "round": 1, "table": "5c1f...",
     "event": "reserve", "mechanism": "dp-climb", "unit": "row", "adjacency": "add or remove",
     "rho": 0.02436, "parameters": {"dp-edges": 1.5}, "spent-rho": 0.02436, "delta": 1e-06,
     "epsilon": 1.0}

zCDP adds: the ρ of a table is the sum over its runs, whatever became of them; `spent-rho` and
`epsilon` are the sum with this run and its ε at δ. `table` is the table's SHA-256 keyed with a
secret of the site (the file beside the ledger that ends in .key), so the line does not tell which
table it is. Tables with other rows have another digest, but may share rows: all lines of a file
add up. The file is locked while it is read and written: two runs at once cannot both take the rest.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from fedbn.bounded_file import json_value, read_bounded
from fedbn.data.dataset import Dataset
from fedbn.errors import PolicyError, ResultsError, system_errors_as
from fedbn.locked_file import append, last_byte, open_locked
from fedbn.privacy.guarantee import ADJACENCY, UNIT, Guarantee
from fedbn.privacy.zcdp import epsilon_of


@dataclass(frozen=True)
class Reservation:
    """One line of a ledger: what a run may draw, with the sum so far.

    Attributes
    ----------
    time : of the reservation, ISO 8601 with its zone.
    run, round : for which it was made.
    table : keyed digest of the table.
    mechanism, parameters : what draws.
    rho : of this run.
    spent_rho, delta, epsilon : the sum of the file with this run, and its ε at δ.
    """

    time: str
    run: str
    round: int
    table: str
    mechanism: str
    rho: float
    spent_rho: float
    delta: float
    epsilon: float
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """The line, without its end."""
        fixed = {"event": "reserve", "unit": UNIT, "adjacency": ADJACENCY}
        own = {name.replace("_", "-"): value for name, value in vars(self).items()}
        return json.dumps(own | fixed, ensure_ascii=False)

    @classmethod
    def from_json(cls, line: bytes) -> Reservation:
        """The inverse; raises ValueError, KeyError or TypeError for anything else."""
        content = json_value(line)
        if content["event"] != "reserve" or (content["unit"], content["adjacency"]) != (
            UNIT,
            ADJACENCY,
        ):
            raise ValueError("not a reservation")
        found = cls(**{n: content[n.replace("_", "-")] for n in cls.__dataclass_fields__})
        if not 0 < found.rho < math.inf:
            raise ValueError("ρ must be positive and finite")
        return found


@dataclass(frozen=True)
class Ledger:
    """All reservations of a file, oldest first."""

    path: Path
    entries: tuple[Reservation, ...]

    @classmethod
    def read(cls, path: str | Path) -> Ledger:
        """The ledger of a file; a file that is not there has no reservations.

        Raises
        ------
        ResultsError : the file cannot be read, or a line is no reservation: then nobody knows what
            was spent, and a person has to look. A last line without its end counts if it is whole.
        """
        try:
            lines = read_bounded(path).splitlines()
        except FileNotFoundError:
            return cls(Path(path), ())
        except OSError as error:
            raise ResultsError(f"cannot read the ledger {path}: {error.strerror}") from None
        entries = []
        for number, line in enumerate(lines, start=1):
            try:
                entries.append(Reservation.from_json(line))
            except (ValueError, KeyError, TypeError):
                raise ResultsError(
                    f"{path}, line {number}: must be a whole reservation, is {line[:60]!r}; what "
                    "was spent is not known until somebody has mended the line by hand"
                ) from None
        return cls(Path(path), tuple(entries))

    @property
    def spent(self) -> Fraction:
        """Σ ρ over all reservations, exact."""
        return sum((Fraction(entry.rho) for entry in self.entries), Fraction(0))

    def epsilon(self, delta: float) -> float:
        """ε at δ of all reservations together."""
        return epsilon_of(_round_up(self.spent), delta)

    @property
    def tables(self) -> tuple[str, ...]:
        """The digests of the tables, in the order of their first run."""
        return tuple(dict.fromkeys(entry.table for entry in self.entries))


def would_exceed(ledger: Ledger, rho: float, max_epsilon: float, delta: float) -> bool:
    """Whether ρ more on this ledger takes the ε at δ beyond `max_epsilon`."""
    return epsilon_of(_round_up(ledger.spent + Fraction(rho)), delta) > max_epsilon


def reserve(
    path: str | Path,
    guarantee: Guarantee,
    *,
    run: str,
    round: int,
    table: str,
    mechanism: str,
    parameters: Mapping[str, Any],
    max_epsilon: float = math.inf,
    max_delta: float = 1.0,
) -> Reservation:
    """Write down that a run spends all of its ρ, force it to disk, and only then return.

    Parameters
    ----------
    path : of the ledger; made if it is not there.
    guarantee : of the run.
    run, round, table, mechanism, parameters : as in `Reservation`.
    max_epsilon, max_delta : limits of the site on the sum over all runs; the sum's ε is taken at
        the smaller of the run's δ and max_delta.

    Raises
    ------
    PolicyError : the limits would be exceeded; nothing is written, nothing may be drawn.
    ResultsError : the ledger cannot be read or written.
    """
    rho, delta = guarantee.rho, min(guarantee.delta, max_delta)
    with _lock(path) as file:
        ledger = Ledger.read(path)
        if guarantee.delta > max_delta or would_exceed(ledger, rho, max_epsilon, delta):
            raise PolicyError(
                "max-epsilon",
                f"{guarantee.words}, after ε {ledger.epsilon(delta):.4g} already spent; the limit "
                f"is ε {max_epsilon:g} at δ {max_delta:g}",
            )
        spent = _round_up(ledger.spent + Fraction(rho))
        entry = Reservation(
            time=datetime.now(UTC).isoformat(timespec="milliseconds"),
            run=run,
            round=round,
            table=table,
            mechanism=mechanism,
            rho=rho,
            spent_rho=spent,
            delta=delta,
            epsilon=epsilon_of(spent, delta),
            parameters=dict(parameters),
        )
        _append(file, Path(path), entry.to_json().encode("utf-8") + b"\n")
    return entry


def ledger_beside(table: str | Path) -> Path:
    """Where the ledger of a table is unless the site says otherwise."""
    return Path(table).with_name(f"{Path(table).name}.privacy.jsonl")


def table_digest(dataset: Dataset, ledger: str | Path) -> str:
    """SHA-256 (hex) of schema and rows in sorted order, keyed with the site's secret.

    The secret is the file beside the ledger that ends in .key; it is made where there is none.

    Raises
    ------
    ResultsError : the secret cannot be read or written.
    """
    table = dataset.table + 0  # of zeros, that below and that above are one number
    rows = table[np.lexsort(table.T[::-1])]
    keyed = hmac.new(_secret(Path(ledger)), dataset.schema.hash.encode(), hashlib.sha256)
    exact = "<f8" if dataset.kind == "gaussian" else "<i4"
    keyed.update(np.ascontiguousarray(rows, dtype=exact).tobytes())
    return keyed.hexdigest()


def keyed_digest(digest: str, ledger: str | Path) -> str:
    """SHA-256 (hex) of a table's digest, keyed with the site's secret; raises ResultsError."""
    return hmac.new(_secret(Path(ledger)), digest.encode("ascii"), hashlib.sha256).hexdigest()


def _secret(ledger: Path) -> bytes:
    path = ledger.with_name(f"{ledger.name}.key")
    with system_errors_as(ResultsError, f"the ledger's key {path} cannot be used"):
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            return path.read_bytes()
        with os.fdopen(handle, "wb") as file:
            key = secrets.token_bytes(32)
            file.write(key)
        return key


@contextmanager
def _lock(path: str | Path) -> Iterator[int]:
    """The ledger open for appending, and locked until the end."""
    unwritable = system_errors_as(ResultsError, f"the ledger {path} cannot be written")
    with unwritable, open_locked(path, private=False) as file:
        yield file


def _append(file: int, path: Path, line: bytes) -> None:
    """Write one line after what is there and force file and folder to disk; raises OSError."""
    new = not os.fstat(file).st_size
    if last_byte(file) not in b"\n":
        line = b"\n" + line  # the last line is whole, but its end was cut off
    append(file, line)
    if new and os.name == "posix":  # elsewhere a folder cannot be opened
        folder = os.open(path.absolute().parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def _round_up(value: Fraction) -> float:
    """The nearest float that is not below."""
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
