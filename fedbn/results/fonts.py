"""The fonts of figures: DejaVu Sans, and one for Chinese, Japanese and Korean if there is one.

DejaVu Sans comes with matplotlib, so that a figure of names in its scripts has the same bytes
everywhere. A name that no font here can draw is shown by its number.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from functools import cache

from matplotlib.font_manager import findfont, findSystemFonts, fontManager, get_font

from fedbn.errors import FedbnWarning
from fedbn.results.placement import printable_label

FIRST = "DejaVu Sans"

WIDE = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans CJK KR", "Noto Sans JP", "Noto Sans SC",
    "Noto Sans KR", "Source Han Sans", "Source Han Sans SC", "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei", "IPAexGothic", "IPAGothic", "NanumGothic", "Droid Sans Fallback",
    "Hiragino Sans", "PingFang SC", "Apple SD Gothic Neo", "Arial Unicode MS", "Yu Gothic",
    "Meiryo", "MS Gothic", "Microsoft YaHei", "SimHei", "Malgun Gothic",
)  # fmt: skip
"""Families of Linux, macOS and Windows, the ones with most characters first."""

# A font that has one weight only is drawn with that; matplotlib would say so in its log.
logging.getLogger("matplotlib.font_manager").addFilter(
    lambda record: "font weight" not in str(record.msg)
)


@cache
def font_families() -> tuple[str, ...]:
    """The families that figures use: each draws what those before it cannot."""
    installed = {font.name for font in fontManager.ttflist}
    if not installed & set(WIDE):
        _add_new_fonts()
        installed = {font.name for font in fontManager.ttflist}
    return (FIRST, *(family for family in WIDE if family in installed))


def _add_new_fonts() -> None:
    """Fonts that were installed after matplotlib wrote its list of fonts."""
    known = {font.fname for font in fontManager.ttflist}
    for file in sorted(set(findSystemFonts()) - known):
        try:
            fontManager.addfont(file)
        except (OSError, RuntimeError):
            continue  # not a font that matplotlib can read


def drawable_labels(names: Sequence[str]) -> dict[str, str]:
    """Name -> what a figure writes for it: the name, or its number, which a FedbnWarning says.

    Numbers count the names from 1, in their order.
    """
    fonts = [get_font(findfont(family)) for family in font_families()]
    found, numbered = {}, []
    for place, name in enumerate(names, start=1):
        label = printable_label(name)
        if not all(any(font.get_char_index(ord(char)) for font in fonts) for char in label):
            label = f"#{place}"
            numbered.append(name)
        found[name] = label
    if numbered:
        many = (
            "1 name by its number"
            if len(numbered) == 1
            else (f"{len(numbered)} names by their numbers")
        )
        said = (
            f"figures show {many}, for no font here has the script: "
            f"{printable_label(numbered[0])} is {found[numbered[0]]}, as counted in name order; "
            "report.html has the names, and so have figures where a font such as Noto Sans CJK "
            "is installed"
        )
        warnings.warn(said, FedbnWarning, stacklevel=3)
    return found
