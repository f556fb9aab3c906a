"""What a site tells of its columns: what was agreed on before, or names and states of its own.

1. Its own file names the agreed columns and states (`schema`): it tells those, and reads none
   from its table. A table with anything else is refused.
2. The run names them, and the table has no other: the site tells the run's. It names nothing
   of its own, so states of few rows are no secret; but a column with as many states as an
   identifier has is refused all the same, for the run could list all identifiers there are.
3. Otherwise it tells its own, and columns that look like identifiers are refused.

Why: docs/decisions/021.
"""

from __future__ import annotations

from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.errors import SchemaError
from fedbn.federation.policy import SitePolicy, refusal


def schema_to_tell(
    dataset: Dataset,
    policy: SitePolicy,
    *,
    own: Schema | None = None,
    agreed: Schema | None = None,
) -> Schema:
    """The schema that a site tells.

    Parameters
    ----------
    dataset : its table, as the run wants it read.
    policy : what it lets leave.
    own : the agreed columns and states by the site's own file, if it names them.
    agreed : those by the run, if it names them.

    Raises
    ------
    PolicyError : the table is not within `own`, or a column looks like an identifier.
    """
    if own is not None:
        chosen = _restrict(own, dataset.names)
        try:
            dataset.with_schema(chosen, "the table")
        except SchemaError as error:
            raise refusal("schema", str(error)) from None
        return chosen
    if agreed is not None and _fits(dataset, agreed):
        policy.require_no_identifiers(dataset, named=False)
        return agreed
    policy.require_no_identifiers(dataset, named=True)
    return dataset.schema


def _restrict(schema: Schema, names: tuple[str, ...]) -> Schema:
    """The schema's columns among `names`; all of them if none is."""
    kept = tuple(variable for variable in schema.variables if variable.name in set(names))
    return Schema(kept) if kept else schema


def _fits(dataset: Dataset, schema: Schema) -> bool:
    try:
        dataset.with_schema(schema)
    except SchemaError:
        return False
    return True
