"""A site's contract: how its table is read, what it names of it, and what may leave.

The site's file holds every decision (one that it does not mention has the default of the file,
never the run's); the table is read once under them (`fedbn.federation.prepared_table`), and a run
is compared with the contract before a cell is looked at. So two runs cannot read one table in two
ways and tell a row from the difference.

A contract has a name, its hash. Of the rows it holds their number of preparation alone: a hash of
the rows would tell who guesses them that the guess is right.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from fedbn.data.cuts import Cuts
from fedbn.data.preparation import Preparation
from fedbn.data.schema import Kind, Schema, find_kind, suits
from fedbn.data.table_settings import TableSettings
from fedbn.errors import ContractError, SchemaError
from fedbn.federation.agreement import negotiate
from fedbn.federation.policy import refusal
from fedbn.federation.site_file import FORM, SiteFile


@dataclass(frozen=True)
class Contract:
    """What was decided, and what the table was found to be under it.

    Attributes
    ----------
    decisions : canonical JSON of `decisions_of` the site's file.
    schema : agreed columns with their states or cut points: all that may be named.
    rows, rows_dropped : of the table as it was prepared.
    digest : SHA-256 (hex) of schema and rows. It stays at the site.
    number : how often the table has been prepared, from 1.
    """

    decisions: str
    schema: Schema
    rows: int
    rows_dropped: int
    digest: str
    number: int

    @cached_property
    def hash(self) -> str:
        """The contract's name (hex): of the decisions, the schema and the number."""
        content = json.dumps([self.decisions, self.schema.to_dict(), self.number], sort_keys=True)
        return hashlib.sha256(content.encode("utf-8")).hexdigest()

    def to_text(self) -> str:
        """The contract as JSON."""
        return json.dumps({**asdict(self), "schema": self.schema.to_dict()}, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> Contract:
        """The inverse; raises ContractError for anything else."""
        try:
            content = json.loads(text)
            found = cls(**{**content, "schema": Schema.from_dict(content["schema"])})
        except (ValueError, KeyError, TypeError, SchemaError) as error:
            raise ContractError(f"a contract must be as it was written: {error}") from None
        return found

    def require_named(self, hashes: tuple[str, ...]) -> None:
        """Raise PolicyError where a run names contracts, and not this one."""
        if hashes and self.hash not in hashes:
            raise refusal("contract", f"the run wants other contracts than {self.hash}")

    def require_kind(self, kind: str) -> None:
        """Raise PolicyError for a run on data of another kind; mixed scores take every kind."""
        if not suits(kind, self.schema.kind):
            words = f"the run's columns are {kind}, the contract's {self.schema.kind}"
            raise refusal("contract", words)

    def require_schema(self, schema: Schema) -> None:
        """Raise PolicyError for any other columns, states or cut points."""
        if schema != self.schema:
            differs = negotiate({"": self.schema}, schema).mismatches.get("")
            words = differs.words() if differs else "lacks states of the run"
            raise refusal("contract", f"under its contract this site {words}")

    def require_cuts(self, cuts: Mapping[str, Cuts]) -> None:
        """Raise PolicyError for any other cut points."""
        for name, found in cuts.items():
            if self.schema.cuts.get(name) != found:
                raise refusal("contract", f"the run cuts column {name!r} in another way")

    def require_reading(self, asked: TableSettings, *, may_lack: bool = False) -> None:
        """Raise PolicyError where a run wants the table read in another way; a setting with its
        default value asks for nothing, nor does a name of a column that a site may lack, and does.
        """
        for key, (wish, own) in self._wishes(asked, may_lack).items():
            if wish != own:
                raise refusal("contract", f"the run wants {key} {wish!r}, the contract has {own!r}")

    def _wishes(self, asked: TableSettings, may_lack: bool) -> Mapping[str, tuple[Any, Any]]:
        """Key of a setting that is not the default -> what is wanted, and what the contract has."""
        decided, usual = json.loads(self.decisions), TableSettings()
        how = asked.preparation()
        tokens, names = decided["missing"], self.schema.names
        wishes = {key: (getattr(asked, key), decided["form"].get(key)) for key in FORM}
        wishes["missing_cells"] = asked.missing_cells, decided["missing-cells"]
        wishes["leave_out_identifiers"] = asked.leave_out_identifiers, False
        found = {
            key.replace("_", "-"): pair
            for key, pair in wishes.items()
            if getattr(asked, key) != getattr(usual, key)
        }
        found["missing"] = [token for token in asked.missing if token not in tokens], []
        found["leave-out"] = sorted(set(how.leave_out) & set(names)), []
        meant = set(names) if may_lack else {*how.columns, *how.numbers, *how.cuts}
        if how.columns:
            found["columns"] = sorted(meant.intersection(how.columns)), sorted(names)
        if how.numbers:
            found["numbers"] = sorted(meant.intersection(how.numbers)), sorted(self.schema.numbers)
        for name in sorted(meant.intersection(how.cuts)):
            found[f"cuts of {name!r}"] = how.cuts[name], self.schema.cuts.get(name)
        return found


def decisions_of(site: SiteFile) -> Mapping[str, Any]:
    """What a site's file decides of its table, ready for JSON; its own names are in it."""
    how = site.prepare(Preparation())
    return {
        "form": {key: value for key, value in asdict(how.form).items() if value is not None},
        "columns": list(how.columns),
        "leave-out": list(how.leave_out),
        "missing": list(how.missing),
        "missing-cells": how.missing_cells,
        **({"factors": dict(how.factors)} if how.factors else {}),
        "own-columns": dict(site.mapping.columns),
        "own-states": {name: dict(states) for name, states in site.mapping.states.items()},
        "kind": kind_of(site),
        "schema": None if site.schema is None else site.schema.to_dict(),
        "policy": asdict(site.policy),
    }


def kind_of(site: SiteFile) -> Kind:
    """The kind of the site's columns: that of its schema, or of its policy; else categories."""
    if site.schema is not None:
        return site.schema.kind
    return find_kind(site.policy.kind or "categorical")
