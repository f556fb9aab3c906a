"""Parameters of a given DAG, estimated from data.

Categorical: the posterior mean of every conditional probability under the prior of the BDeu score
(Heckerman, Geiger and Chickering 1995), (N_ijk + ess / (r_i q_i)) / (N_ij + ess / q_i). For numbers
see `fedbn.networks.moments`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from fedbn.arrays import Floats, Ints
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import DataError, NetworkError
from fedbn.graphs.dag import DAG
from fedbn.networks.family_counts import (
    MAX_ROWS,
    Family,
    FamilyCounts,
    count_families,
    families_of,
)
from fedbn.networks.network import BayesianNetwork, table_shape


def fit_parameters(dag: DAG, dataset: Dataset, ess: float = 1.0) -> BayesianNetwork:
    """The network on `dag` with smoothed conditional probabilities.

    Parameters
    ----------
    dag : over the data's variables, in any order.
    dataset : categorical.
    ess : equivalent sample size, at least 0. With 0 these are relative frequencies, and rows
        that no case has are uniform.

    Returns
    -------
    The network over the data's schema: states that no case has keep their place.

    Raises
    ------
    NetworkError : ess is negative, or a table is too large (see `table_shape`).
    DataError : the data are Gaussian.
    StructureError : the variables differ.

    Examples
    --------
    >>> from fedbn.data.dataset import Schema
    >>> coin = Dataset(Schema.categorical({"x": ["h", "t"]}), np.array([[0], [0], [0], [1]]))
    >>> fit_parameters(DAG.empty(["x"]), coin, ess=2.0).cpts[0].round(3).tolist()
    [[0.667, 0.333]]
    """
    if dataset.kind != "categorical":
        raise DataError("Gaussian data have values, not codes")
    dag = dag.reorder(dataset.names)
    for family in families_of([dag]):
        sizes = dataset.cardinalities
        table_shape(dag.names[family.node], sizes[list(family.parents)], int(sizes[family.node]))
    return parameters_of(dag, count_families(dataset, families_of([dag])), ess)


def parameters_of(dag: DAG, counts: FamilyCounts, ess: float = 1.0) -> BayesianNetwork:
    """The network on `dag` from counts of its families, which may be sums over several sites.

    Parameters
    ----------
    dag : over the names of the counts' schema, in any order.
    counts : of all families of the DAG, and maybe others.
    ess : equivalent sample size, at least 0, as in `fit_parameters`.

    Raises
    ------
    NetworkError : ess is negative, or a family of the DAG was not counted.
    StructureError : the variables differ.
    """
    return parameters_of_sites(dag, [counts], ess)


def parameters_of_sites(
    dag: DAG, sites: Sequence[FamilyCounts], ess: float = 1.0
) -> BayesianNetwork:
    """The network on `dag`, every table from the rows of the sites that gave its family.

    Parameters
    ----------
    dag, ess : as for `parameters_of`.
    sites : at least one; the counts of each, under one schema. Whole numbers: no order matters.

    Raises
    ------
    NetworkError : ess is negative, or no site counted some family of the DAG.
    DataError : the schemas differ, or the rows are more than MAX_ROWS.
    StructureError : the variables differ.
    """
    schema, cpts, lacking = _tables_of_sites(dag, sites, ess)
    if lacking:
        families = "family" if len(lacking) == 1 else "families"
        names = ", ".join(repr(schema.names[family.node]) for family in lacking)
        raise NetworkError(f"nobody counted the {families} of {names}")
    return BayesianNetwork(dag.reorder(schema.names), schema, tuple(cpts.values()))


def parameters_where_known(
    dag: DAG, sites: Sequence[FamilyCounts], ess: float = 1.0
) -> tuple[BayesianNetwork | None, tuple[Family, ...]]:
    """The network of the variables whose own tables and those of all ancestors are known, and the
    families that no site counted.

    The joint distribution of these variables is that of the whole network: a set with all its
    ancestors needs no other table. None where no variable is such.

    Parameters
    ----------
    dag, sites, ess : as for `parameters_of_sites`, which says what is raised else.

    Examples
    --------
    >>> from fedbn.data.dataset import Schema
    >>> schema = Schema.categorical({"a": "01", "b": "01", "c": "01"})
    >>> rows = Dataset(schema, np.array([[0, 1, 1], [1, 1, 0]]))
    >>> counted = count_families(rows, families_of([DAG.empty("abc")]))
    >>> chain = DAG.from_edges("abc", ["ab"])
    >>> network, lacking = parameters_where_known(chain, [counted])
    >>> network.names, lacking
    (('a', 'c'), (Family(node=1, parents=(0,)),))
    """
    schema, cpts, lacking = _tables_of_sites(dag, sites, ess)
    dag = dag.reorder(schema.names)
    nodes = with_known_ancestors(dag, cpts)
    if not nodes:
        return None, lacking
    names = [schema.names[node] for node in nodes]
    tables = tuple(cpts[node] for node in nodes)
    return BayesianNetwork(dag.restrict(names), schema.restrict(names), tables), lacking


def with_known_ancestors(dag: DAG, nodes: Iterable[int]) -> tuple[int, ...]:
    """Of these nodes those whose ancestors are all among them, ascending."""
    known = np.zeros(dag.n, dtype=np.bool_)
    known[list(nodes)] = True
    for node in dag.topological_order():
        known[node] &= known[list(dag.parents(node))].all()
    return tuple(np.flatnonzero(known).tolist())


def _tables_of_sites(
    dag: DAG, sites: Sequence[FamilyCounts], ess: float
) -> tuple[Schema, dict[int, Floats], tuple[Family, ...]]:
    """The schema of the counts, the table of every node whose family a site counted, ascending, and
    the other families."""
    if not (ess >= 0 and np.isfinite(ess)):
        raise NetworkError(f"the equivalent sample size must be at least 0, not {ess}")
    schema = sites[0].tables.schema
    if any(site.tables.schema != schema for site in sites):
        raise DataError("counts can be added only under the same schema")
    if sum(site.rows for site in sites) > MAX_ROWS:
        raise DataError(f"the sites may have at most {MAX_ROWS} rows together")
    dag = dag.reorder(schema.names)
    cpts, lacking = {}, []
    for family in families_of([dag]):
        given = [site.table(family) for site in sites if family in site.tables.place]
        if given:
            cpts[family.node] = smoothed_table(np.sum(given, axis=0), ess)
        else:
            lacking.append(family)
    return schema, cpts, tuple(lacking)


def smoothed_table(counts: Ints, ess: float) -> Floats:
    """float [q, r]: smoothed relative frequencies per row; uniform where there is nothing."""
    q, r = counts.shape
    weight = counts + ess / (q * r)
    total = weight.sum(axis=1, keepdims=True)
    mean = np.full((q, r), 1 / r)
    np.divide(weight, total, out=mean, where=total > 0)
    return mean
