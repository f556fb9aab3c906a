"""Schema negotiation: what every site has, what the run agrees on, and how each site differs.

A given schema is the law: a site matches when it has exactly its columns and no other state. With
none given, the columns (and their kind) that most sites have are agreed, ties going to the column
names that come first as text, and the states are the union of the matching sites'. With `variables`
"union" every column is agreed on by itself among the sites that have it, and lacking one is no
mismatch.

A site that matches is told the agreed schema, without which it cannot count states, and which of
its own states no other site has, as these are often a spelling of its own. One that does not match
is told which of its columns are not agreed and which it lacks; of states only when the run gave the
schema, never those of other sites.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fedbn.data.schema import MISSING_COLUMNS, Schema, union_schema
from fedbn.data.spellings import require_one_spelling, require_shared_states
from fedbn.errors import SchemaError
from fedbn.wording import count_of, list_some

LoneStates = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Site -> column -> states that no other site has."""

SHOWN = 3
"""How many sites, columns or states a report lists."""

LONGEST = 60
"""How many characters of a name it shows."""


@dataclass(frozen=True)
class Mismatch:
    """How one site differs from what is agreed; empty when it does not.

    Attributes
    ----------
    missing : agreed columns that the site lacks.
    unknown : columns of the site that are not agreed.
    kind : "categorical" or "gaussian" where the site has columns of the other kind.
    states : column -> states of the site that the given schema does not have.
    cuts : columns that the site does not cut as agreed.
    numbers : columns that are numbers at the site and categories as agreed, or the reverse.
    """

    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    kind: str = ""
    states: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cuts: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return self != Mismatch()

    def words(self) -> str:
        """The report, for people.

        >>> Mismatch(missing=("smoke",), unknown=("Raucher",)).words()
        "has no column 'smoke'; has column 'Raucher', which is not agreed"
        """
        parts = []
        if self.missing:
            parts.append(f"has no {_columns(self.missing)}")
        if self.unknown:
            which = "is" if len(self.unknown) == 1 else "are"
            parts.append(f"has {_columns(self.unknown)}, which {which} not agreed")
        if self.kind:
            parts.append(f"its columns are not {self.kind}")
        if self.numbers:
            parts.append(f"has {_columns(self.numbers)} as numbers or categories, not as agreed")
        if self.cuts:
            parts.append(f"does not cut {_columns(self.cuts)} as agreed")
        parts += [
            f"column {name!r} has state {_list(states)}, which is not agreed"
            for name, states in self.states.items()
        ]
        return "; ".join(parts)


@dataclass(frozen=True)
class Agreement:
    """The agreed schema, and how each site that does not match differs.

    `lacking`: where sites had to have the same columns and none were given, the sites that lack a
    column which is not agreed.
    """

    schema: Schema
    mismatches: Mapping[str, Mismatch]
    lacking: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def require_all(self) -> None:
        """Raise SchemaError, naming sites and differences, unless every site matches."""
        if not self.mismatches:
            return
        sites = sorted(self.mismatches)
        shown = [f"client {site!r} {self.mismatches[site].words()}" for site in sites[:SHOWN]]
        more = f"; and {count_of(len(sites) - SHOWN, 'more client')}" if len(sites) > SHOWN else ""
        words = "every client must have the agreed columns: " + "; ".join(shown) + more
        for column, without in list(self.lacking.items())[:SHOWN]:
            words += f"; {column[:LONGEST]!r} is not agreed because {_without(without)} it"
        if self.lacking or any(mismatch.missing for mismatch in self.mismatches.values()):
            words += f"; {MISSING_COLUMNS}"
        raise SchemaError(words)


def negotiate(
    schemas: Mapping[str, Schema],
    agreed: Schema | None = None,
    *,
    spellings: str = "accept",
    variables: str = "same",
    min_sites: int = 1,
) -> Agreement:
    """Settle the schema of a run.

    Parameters
    ----------
    schemas : site -> what it has.
    agreed : the schema that the run gives, if it does.
    spellings : "refuse" states that sites spell differently where states are united, and columns
        for which sites have no state in common, or "accept".
    variables : "same", or "union" where sites may have different columns.
    min_sites : with "union", so many matching sites must have every agreed column.

    Raises SchemaError: there is no site, a state has two spellings, sites have no state in common,
    or a column has too few sites.

    >>> north, south = ({"a": ["x", "y"]}, {"a": ["y", "z"]})
    >>> found = negotiate({"n": Schema.categorical(north), "s": Schema.categorical(south)})
    >>> found.schema.to_dict(), found.mismatches
    ({'a': ['x', 'y', 'z']}, {})
    """
    if not schemas:
        raise SchemaError("an agreement needs at least one client")
    if variables == "union":
        return _negotiate_columns(schemas, agreed, spellings, min_sites)
    reference = agreed or _most_common(schemas)
    differences = {
        site: _mismatch(schema, reference, given=agreed is not None)
        for site, schema in schemas.items()
    }
    mismatches = {site: found for site, found in differences.items() if found}
    if agreed is not None:
        return Agreement(agreed, mismatches)
    matching = {site: schema for site, schema in schemas.items() if site not in mismatches}
    return Agreement(_unite(matching, spellings), mismatches, _lacking(schemas, mismatches))


def _unite(matching: Mapping[str, Schema], spellings: str) -> Schema:
    if spellings == "refuse":
        require_one_spelling(matching)
        require_shared_states(matching)
    return union_schema(matching)


def _lacking(
    schemas: Mapping[str, Schema], mismatches: Mapping[str, Mismatch]
) -> dict[str, tuple[str, ...]]:
    """Column that is not agreed -> the sites that lack it, sorted."""
    columns = sorted({name for mismatch in mismatches.values() for name in mismatch.unknown})
    return {
        column: tuple(sorted(site for site in schemas if column not in schemas[site].names))
        for column in columns
    }


def _negotiate_columns(
    schemas: Mapping[str, Schema], agreed: Schema | None, spellings: str, min_sites: int
) -> Agreement:
    """`negotiate` column by column, each among the sites that have it."""
    told = sorted({name for schema in schemas.values() for name in schema.names})
    reference = agreed or Schema(
        tuple(_most_common(_having(name, schemas)).variables[0] for name in told)
    )
    known, mismatches = set(reference.names), dict[str, Mismatch]()
    for site, schema in schemas.items():
        unknown = tuple(sorted(set(schema.names) - known))
        whole = replace(_of_both(schema, reference, given=bool(agreed)), unknown=unknown)
        if whole:
            mismatches[site] = whole
    matching = {site: schema for site, schema in schemas.items() if site not in mismatches}
    having = Counter(name for schema in matching.values() for name in schema.names)
    names = agreed.names if agreed else having
    rare = sorted(name for name in names if having[name] < min_sites)
    if rare:
        raise SchemaError(
            f"at least {count_of(min_sites, 'site')} must have every column (min-sites), but fewer "
            f"have {list_some(rare, 5)}: leave these out (--leave-out), or lower min-sites"
        )
    if agreed or not matching:
        return Agreement(reference, mismatches)
    parts_of = [_unite(_having(name, matching), spellings).variables[0] for name in sorted(having)]
    lost = {site: _with_lost(each, schemas[site], having) for site, each in mismatches.items()}
    return Agreement(Schema(tuple(parts_of)), lost)


def _having(name: str, schemas: Mapping[str, Schema]) -> dict[str, Schema]:
    """A column of the sites that have it."""
    return {site: own.restrict([name]) for site, own in schemas.items() if name in own.names}


def _with_lost(mismatch: Mismatch, schema: Schema, kept: Iterable[str]) -> Mismatch:
    """The mismatch with the columns that no site has which matches: they are not agreed."""
    told = {*mismatch.numbers, *mismatch.cuts, *mismatch.states}
    lost = set(schema.names) - set(kept) - told
    return replace(mismatch, unknown=tuple(sorted({*mismatch.unknown, *lost})))


def own_part(schema: Schema, names: Sequence[str]) -> Schema:
    """The agreed columns that a site has; raises SchemaError where one of the site's own is not
    agreed."""
    unknown = sorted(set(names) - set(schema.names))
    if unknown:
        raise SchemaError(f"column {unknown[0]!r} of this site is not in the schema")
    return schema.restrict(names)


def list_alone(alone: LoneStates) -> tuple[tuple[str, str, str], ...]:
    """The same as (site, column, state), sorted.

    >>> list_alone({"n": {"a": ("y", "z")}})
    (('n', 'a', 'y'), ('n', 'a', 'z'))
    """
    return tuple(
        sorted(
            (site, column, state)
            for site, columns in alone.items()
            for column, states in columns.items()
            for state in states
        )
    )


def remark(alone: Mapping[str, tuple[str, ...]]) -> str:
    """What a site is told of its states that no other site has.

    >>> remark({"a": ("Yes",), "b": ("1", "2")})
    "no other site has 'Yes' of 'a'; '1', '2' of 'b'"
    """
    parts = [f"{_list(states)} of {name[:LONGEST]!r}" for name, states in alone.items()]
    more = (
        f"; and states of {count_of(len(parts) - SHOWN, 'more column')}"
        if len(parts) > SHOWN
        else ""
    )
    return "no other site has " + "; ".join(parts[:SHOWN]) + more


def own_states(schemas: Mapping[str, Schema]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Site -> column -> states that no other site has, of columns that another site has, too.

    A single site has none, and neither has a site without such a state.

    >>> schema = Schema.categorical
    >>> own_states({"n": schema({"a": ["x", "y"]}), "s": schema({"a": ["x"]})})
    {'n': {'a': ('y',)}}
    """
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    kinds = {schema.kind for schema in schemas.values()}
    if len(schemas) < 2 or "gaussian" in kinds:
        return found
    counts = Counter(
        (name, state)
        for schema in schemas.values()
        for name, states in zip(schema.names, schema.states, strict=True)
        for state in states
    )
    having = Counter(name for schema in schemas.values() for name in schema.names)
    for site, schema in schemas.items():
        alone = {
            name: tuple(state for state in states if counts[name, state] == 1)
            for name, states in zip(schema.names, schema.states, strict=True)
            if having[name] > 1
        }
        if any(alone.values()):
            found[site] = {name: states for name, states in alone.items() if states}
    return found


def dividing_columns(schemas: Mapping[str, Schema]) -> tuple[str, ...]:
    """The columns that have one state at every site, and not the same one at all of them.

    No site's rows say anything of such a column: it differs between sites only. Sorted.

    >>> schema = Schema.categorical
    >>> north, south = schema({"a": "x", "b": "01"}), schema({"a": "y", "b": "0"})
    >>> dividing_columns({"n": north, "s": south})
    ('a',)
    """
    if any(schema.kind == "gaussian" for schema in schemas.values()):
        return ()
    states: dict[str, set[tuple[str, ...]]] = {}
    for schema in schemas.values():
        for name, own in zip(schema.names, schema.states, strict=True):
            states.setdefault(name, set()).add(own)
    return tuple(
        sorted(
            name
            for name, found in states.items()
            if len(found) > 1 and all(len(own) == 1 for own in found)
        )
    )


def _most_common(schemas: Mapping[str, Schema]) -> Schema:
    """A schema with the columns and kind that most sites have."""
    counts = Counter((schema.names, schema.kinds) for schema in schemas.values())
    wanted = min(counts, key=lambda columns: (-counts[columns], columns))
    return next(s for s in schemas.values() if (s.names, s.kinds) == wanted)


def _mismatch(schema: Schema, reference: Schema, *, given: bool) -> Mismatch:
    missing = tuple(sorted(set(reference.names) - set(schema.names)))
    unknown = tuple(sorted(set(schema.names) - set(reference.names)))
    if schema.kind != reference.kind and "mixed" not in (schema.kind, reference.kind):
        return Mismatch(missing, unknown, reference.kind)
    return replace(_of_both(schema, reference, given=given), missing=missing, unknown=unknown)


def _of_both(schema: Schema, reference: Schema, *, given: bool) -> Mismatch:
    """How the columns differ that both have."""
    own = {variable.name: variable for variable in schema.variables}
    both = [(known, own[known.name]) for known in reference.variables if known.name in own]
    numbers = tuple(known.name for known, found in both if known.kind != found.kind)
    both = [pair for pair in both if pair[0].name not in numbers]
    cuts = tuple(known.name for known, found in both if known.cuts != found.cuts)
    foreign = {
        known.name: tuple(sorted(set(found.states or ()) - set(known.states or ())))
        for known, found in both
        if given and known.cuts == found.cuts
    }
    states = {name: found for name, found in foreign.items() if found}
    return Mismatch(states=states, cuts=cuts, numbers=numbers)


def _without(sites: tuple[str, ...]) -> str:
    one = len(sites) == 1
    return f"client{'s' * (not one)} {_list(sites)} lack{'s' * one}"


def _columns(names: tuple[str, ...]) -> str:
    return f"column{'s' * (len(names) > 1)} {_list(names)}"


def _list(texts: tuple[str, ...]) -> str:
    return list_some([text[:LONGEST] for text in texts], SHOWN)
