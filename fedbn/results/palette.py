"""Colours of figures and report.

Those of Okabe and Ito for kinds of edges, and five shades from light to dark for the share of the
inputs that have an edge; every distinction is also one of dash or width.
"""

from __future__ import annotations

BLUE, ORANGE, GREEN, VERMILLION, PURPLE = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7"
GREY, INK = "#767676", "#222222"

SHADES = ("#7F97B2", "#5F7FA6", "#3F6796", "#1F4B80", "#0B2A55")
"""Of edges, by support; report.css has the same."""

_BORDERS = (0.5, 0.7, 0.85, 0.999)


def shade_of(support: float | None) -> int:
    """The place in SHADES: most consensuses differ only above one half.

    >>> [shade_of(share) for share in (None, 0.2, 0.6, 0.8, 0.9, 1.0)]
    [4, 0, 1, 2, 3, 4]
    """
    if support is None:
        return len(SHADES) - 1
    return sum(support >= border for border in _BORDERS)
