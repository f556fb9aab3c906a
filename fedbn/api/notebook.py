"""Structures shown in a notebook as drawings; the results of `fedbn.api` show themselves."""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd

from fedbn.api.drawing import network_html
from fedbn.graphs.dag import DAG


def dag_html(dag: DAG) -> str:
    """A DAG as SVG, and its edges as a table."""
    frame = pd.DataFrame(list(dag.edges), columns=["parent", "child"])
    return network_html(dag, frame, f"DAG({dag.n} nodes, {dag.n_edges} edges)")


def show_structures() -> bool:
    """Tell the running IPython, if there is one, to show structures so; whether there was one."""
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None:
        return False
    formatter = shell.display_formatter.formatters["text/html"]
    formatter.for_type_by_name("fedbn.graphs.dag", "DAG", dag_html)
    return True
