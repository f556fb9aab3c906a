"""Networks of files that give a table as one list of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedbn.errors import NetworkError, SchemaError
from fedbn.networks.network import BayesianNetwork, ConditionalTable, table_shape


def network_of_numbers(
    source: str,
    states: Mapping[str, Sequence[str]],
    tables: Mapping[str, tuple[Sequence[str], Sequence[float]]],
) -> BayesianNetwork:
    """The network of these variables.

    Parameters
    ----------
    source : the file, for the error text.
    states : of every variable.
    tables : variable -> its parents, and the numbers of its table: a row per configuration of the
        parents, the last one fastest, with one number per state.

    Raises
    ------
    NetworkError : a variable has no table, a name is unknown, or a table has another size or is
        none of probabilities; names file and variable.
    """
    if not states:
        raise NetworkError(f"{source} declares no variable")
    for name in (*tables, *(parent for parents, _ in tables.values() for parent in parents)):
        if name not in states:
            raise NetworkError(f"{source}: {name!r} is no variable")
    found = {}
    try:
        for name, own in states.items():
            if name not in tables:
                raise NetworkError(f"variable {name!r} has no probability table")
            parents, numbers = tables[name]
            shape = table_shape(name, [len(states[each]) for each in parents], len(own))
            if len(numbers) != shape[0] * shape[1]:
                raise NetworkError(
                    f"the table of {name!r} must have {shape[0]} x {shape[1]} numbers, "
                    f"not {len(numbers)}"
                )
            rows = np.array(numbers, dtype=np.float64).reshape(shape)
            found[name] = ConditionalTable(tuple(own), tuple(parents), rows)
        return BayesianNetwork.from_tables(found)
    except (NetworkError, SchemaError) as error:
        raise NetworkError(f"{source}: {error}") from None
