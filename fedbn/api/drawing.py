"""Results as pandas frames and matplotlib axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from fedbn.graphs.dag import DAG

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["dag_axes", "frame_of"]


def frame_of(row_type: type, rows: Sequence[Any]) -> pd.DataFrame:
    """One row per frozen value, one column per field of `row_type`; rows may be none."""
    import pandas as pd

    names = [field.name for field in fields(row_type)]
    return pd.DataFrame([[getattr(row, name) for name in names] for row in rows], columns=names)


def dag_axes(dag: DAG, support: Mapping[tuple[str, str], float] | None = None) -> Axes:
    """The axes of a new figure with the DAG in layers; wider lines where `support` [0, 1] is more.

    `axes.figure` is the figure, which a notebook shows and `savefig` writes.
    """
    from fedbn.graphs.directions import directed_words
    from fedbn.results.network_plot import network_figure

    return network_figure(dag, support=support, directed=directed_words(dag)).axes[0]
