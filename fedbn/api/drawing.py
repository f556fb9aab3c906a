"""Results as pandas frames and matplotlib axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from fedbn.graphs.dag import DAG

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MAX_DRAWN = 80
"""Variables up to which a notebook shows a drawing."""

MAX_ROWS = 20


def frame_of(row_type: type, rows: Sequence[Any]) -> pd.DataFrame:
    """One row per frozen value, one column per field of `row_type`; rows may be none."""
    import pandas as pd

    names = [field.name for field in fields(row_type)]
    return pd.DataFrame([[getattr(row, name) for name in names] for row in rows], columns=names)


def dag_axes(
    dag: DAG, support: Mapping[tuple[str, str], float] | None = None, ax: Axes | None = None
) -> Axes:
    """The axes with the DAG in layers; wider lines where `support` [0, 1] is more."""
    from fedbn.graphs.directions import directed_words
    from fedbn.results.network_plot import draw_network, network_size

    axes = ax or new_axes(network_size(dag))
    draw_network(axes, dag, support=support, directed=directed_words(dag))
    return axes


def new_axes(size: tuple[float, float]) -> Axes:
    """Axes of a new figure of pyplot, which a notebook shows; `size` in inches."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=size, layout="constrained")
    return figure.add_subplot()


def network_html(
    dag: DAG, rows: pd.DataFrame, title: str, support: Mapping[tuple[str, str], float] | None = None
) -> str:
    """A drawing as SVG, a line and a table, for a notebook.

    Above MAX_DRAWN variables there is no drawing, which nobody could read.
    """
    parts = [f"<p><code>{escape(title)}</code></p>"]
    if dag.n <= MAX_DRAWN:
        parts.append(f'<div style="max-width:100%;overflow-x:auto">{_svg(dag, support)}</div>')
    if len(rows):
        parts.append(rows.to_html(index=False, max_rows=MAX_ROWS, border=0))
    return "".join(parts)


def _svg(dag: DAG, support: Mapping[tuple[str, str], float] | None) -> str:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from fedbn.results.plots import STYLE

    with mpl.rc_context(STYLE):
        from fedbn.graphs.directions import directed_words
        from fedbn.results.network_plot import draw_network, network_size

        figure = Figure(figsize=network_size(dag))
        axes = figure.add_axes((0, 0, 1, 1))
        draw_network(axes, dag, support=support, directed=directed_words(dag))
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    whole = text.getvalue()
    return whole[whole.index("<svg") :]
