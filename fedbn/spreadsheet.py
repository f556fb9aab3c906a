"""Names in CSV files that people open with a spreadsheet, which takes some texts for formulas.

A name that begins with =, +, -, @, a tab or a carriage return, and is no number, gets an apostrophe
before it, which spreadsheets read as "text follows" (OWASP, CSV Injection). Signs of full width
count, too, and blanks of any kind before a sign do not hide it: some programs drop the blanks and
narrow the sign. Whoever reads such a file with fedbn gets the name without the apostrophe.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable

_BLANKS = r"[\s\u00ad\u200b-\u200f\u2060\ufeff]*"
_SIGNS = r"[=@\t\r\uff0b\uff0d\uff1d\uff20]|[+\-](?![0-9.]*\Z)"
_FORMULA = re.compile(rf"'*{_BLANKS}(?:{_SIGNS})")


def written_cells(row: Iterable[object]) -> list[object]:
    """The row with its texts as they are safe to be opened.

    >>> written_cells(["=1+1", "-3", "smoke", 0.5, "'=x"])
    ["'=1+1", '-3', 'smoke', 0.5, "''=x"]
    """
    return [f"'{cell}" if isinstance(cell, str) and _FORMULA.match(cell) else cell for cell in row]


def written_text(rows: Iterable[Iterable[object]]) -> str:
    """The text of a CSV file with these rows, safe to be opened.

    >>> written_text([("name", "share"), ("=1+1", 0.5)])
    "name,share\\n'=1+1,0.5\\n"
    """
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(map(written_cells, rows))
    return out.getvalue()


def read_cell(text: str) -> str:
    """The inverse, of one text.

    >>> read_cell("'=1+1"), read_cell("'tis")
    ('=1+1', "'tis")
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text[1:]) else text
