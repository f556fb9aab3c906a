"""How a CSV or Excel file is written: separator, decimal mark, encoding, header."""

from __future__ import annotations

from dataclasses import dataclass

from fedbn.errors import ConfigError

SEPARATORS = {",": ",", ";": ";", "|": "|", "tab": "\t", "\t": "\t", "space": " "}
ENCODINGS = ("utf-8", "latin-1", "cp1252", "utf-16")
DECIMALS = (".", ",")
HEADERS = ("yes", "no")


@dataclass(frozen=True)
class TableFormat:
    """How a CSV file is written, or an Excel file; a Parquet file says so itself.

    Parameters
    ----------
    separator : ",", ";", "|", "tab" or "space".
    decimal : "." or ",", of numbers.
    encoding : "utf-8", "latin-1", "cp1252" or "utf-16" (which then has a byte order mark).
    header : "yes": the first line names the columns; "no": they are V1, V2, ... by their places.
    skip_lines : lines before the header, or before the first row, that are not of the table.
    sheet : of an Excel file; None for the first one.

    Raises
    ------
    ConfigError : none of these, or separator and decimal are the same.
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    header: str = "yes"
    skip_lines: int = 0
    sheet: str | None = None

    def __post_init__(self) -> None:
        for name, value, known in (
            ("separator", self.separator, tuple(SEPARATORS)),
            ("decimal", self.decimal, DECIMALS),
            ("encoding", self.encoding, ENCODINGS),
            ("header", self.header, HEADERS),
        ):
            if value not in known:
                raise ConfigError(
                    f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}"
                )
        if self.skip_lines < 0:
            raise ConfigError(f"skip-lines must be at least 0, not {self.skip_lines}")
        if self.separator == self.decimal:
            raise ConfigError(f"separator and decimal must differ, both are {self.decimal!r}")

    @property
    def mark(self) -> str:
        """The character between cells."""
        return SEPARATORS[self.separator]
