"""A site's own names of columns and states, translated to the agreed ones.

Renaming happens where the table is read, so own names never reach a message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from fedbn.data.dataset import Dataset
from fedbn.data.schema import MISSING_STATE, Schema, Variable
from fedbn.errors import SchemaError


@dataclass(frozen=True)
class SiteMapping:
    """What a site's columns and states are called in the federation.

    Parameters
    ----------
    columns : own column name -> agreed name; a column that is not listed keeps its name.
    states : agreed column name -> {own state: agreed state}; a state that is not listed keeps its
        name. Several own states may become one.
    leave_out : own columns that take no part.

    Examples
    --------
    >>> data = Dataset(Schema.categorical({"Raucher": ["ja", "nein"]}), np.array([[0], [1]]))
    >>> mapping = SiteMapping({"Raucher": "smoke"}, {"smoke": {"ja": "yes", "nein": "no"}})
    >>> mapping.apply(data).schema.to_dict()
    {'smoke': ['no', 'yes']}
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    states: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    leave_out: tuple[str, ...] = ()

    def without(self, columns: Iterable[str]) -> SiteMapping:
        """The mapping of a table from which these own columns are left out."""
        gone = set(columns)
        agreed = {self.columns.get(name, name) for name in gone}
        return replace(
            self,
            columns={own: name for own, name in self.columns.items() if own not in gone},
            states={name: states for name, states in self.states.items() if name not in agreed},
        )

    def require_read(self, source: str, schema: Schema, missing: Collection[str]) -> None:
        """Refuse to map a text that the reader of the table took for a missing cell.

        Such a line would do nothing: no cell is left that it is about.

        Parameters
        ----------
        source : the file, for messages.
        schema : of the table, under the site's own names.
        missing : the tokens, besides the empty cell, that stand for a missing value.

        Raises
        ------
        SchemaError : such a text is mapped; names file, column and token.
        """
        for variable in schema.variables:
            if variable.states is None or variable.cuts is not None:
                continue  # `apply` refuses any state here
            agreed = self.columns.get(variable.name, variable.name)
            # A token may also be a state, where missing cells are one: it is spelt as MISSING_STATE
            # and is what they are mapped by. Then the line does what it says.
            read = {"", *missing}.difference(variable.states)
            for token in sorted(read & self.states.get(agreed, {}).keys()):
                what = f"{token!r}, a token that stands for a missing cell"
                cure = f"take out this line, or {token!r} in missing"
                if not token:
                    what = "the empty cell, which is a missing one"
                    cure = f'take out this line, or map {MISSING_STATE!r} (missing-cells = "state")'
                raise SchemaError(
                    f"{source}: [states.{agreed}] maps, of column {variable.name!r}, {what}: {cure}"
                )

    def apply(
        self, dataset: Dataset, written: Mapping[str, Collection[str | None]] | None = None
    ) -> Dataset:
        """The same cases under the agreed names.

        `leave_out` is for the reader of the table (`Preparation.leave_out`), not for this.

        Parameters
        ----------
        dataset : under the site's own names.
        written : own column -> the states that the file has, those of rows that were dropped among
            them: a state may be mapped of which no row is left.

        Raises
        ------
        SchemaError : a mapping names a column or state that the table lacks, or two columns get
            one name, or states are mapped in float columns.
        """
        self._require_known(dataset.schema, written or {})
        renamed = [self.columns.get(name, name) for name in dataset.names]
        order = sorted(range(dataset.n), key=renamed.__getitem__)
        names = [renamed[i] for i in order]
        cuts = [dataset.schema.variables[i].cuts for i in order]
        gone = None if dataset.gone is None else dataset.gone[:, order]
        maps = [self.states.get(name, {}) for name in names]
        own = [dataset.schema.variables[i].states for i in order]
        variables, table = [], np.empty_like(dataset.table, order="F")
        for k, (name, states, texts, points) in enumerate(zip(names, maps, own, cuts, strict=True)):
            column = dataset.cells(order[k])
            if texts is None:
                variables.append(Variable(name))
                table[:, k] = column
                continue
            agreed = [states.get(state, state) for state in texts]
            variables.append(Variable(name, tuple(set(agreed)), points))
            position = {state: code for code, state in enumerate(variables[k].states or ())}
            table[:, k] = np.array([position[state] for state in agreed])[column]
        return Dataset(Schema(tuple(variables)), table, gone)

    def _require_known(self, schema: Schema, written: Mapping[str, Collection[str | None]]) -> None:
        for name in sorted(self.columns):
            schema.index(name)
        renamed = [self.columns.get(name, name) for name in schema.names]
        cut = {self.columns.get(name, name) for name in schema.cuts}
        twice = sorted({name for name in renamed if renamed.count(name) > 1})
        if twice:
            raise SchemaError(f"two columns must not both be mapped to {twice[0]!r}")
        for name in sorted(self.states):
            if name not in renamed:
                raise SchemaError(f"states are mapped for column {name!r}, which is not there")
            variable = schema.variables[renamed.index(name)]
            own = variable.states
            if own is None:
                raise SchemaError(f"column {name!r} has floats, no states to be mapped")
            if name in cut:
                raise SchemaError(f"column {name!r} has cuts, no states to be mapped")
            unknown = sorted(set(self.states[name]) - {*own, *written.get(variable.name, ())})
            if unknown:
                raise SchemaError(f"column {name!r} has no state {unknown[0]!r} to be mapped")
