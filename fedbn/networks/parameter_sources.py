"""Whose rows the parameters of a consensus are of: what `run.json` keeps of it, and reads back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbn.errors import ResultsError
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge
from fedbn.graphs.moral import ancestral_set
from fedbn.networks.family_counts import Family
from fedbn.wording import count_of, list_some, printable

if TYPE_CHECKING:
    from fedbn.networks.conditional_gaussian import Network

SHOWN = 8
"""Variables or sites that a line names."""

UNKNOWN = "every table needs another one that is not known"
"""Why there are no parameters where sites with different columns gave counts."""


@dataclass(frozen=True)
class LackingFamily:
    """A family of which nobody told anything, so that its table or equation is not known.

    Attributes
    ----------
    variable, parents : names.
    lacks : (site, the columns of the family that it lacks) of every site that lacks some.
    silent : the sites that have all of it, and told nothing of it.
    number : whether the variable is a number.
    summed : whether sites answered in blocks: what a site lacks is then what its block does.
    """

    variable: str
    parents: tuple[str, ...]
    lacks: tuple[tuple[str, tuple[str, ...]], ...]
    silent: tuple[str, ...] = ()
    number: bool = False
    summed: bool = False

    def to_dict(self) -> dict[str, Any]:
        """For `run.json`."""
        return {
            "variable": self.variable,
            "parents": list(self.parents),
            "lacks": {site: list(columns) for site, columns in self.lacks},
            "silent": list(self.silent),
            **({"number": True} if self.number else {}),
            **({"summed": True} if self.summed else {}),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> LackingFamily:
        """The inverse; raises KeyError, TypeError, ValueError or AttributeError for anything
        else."""
        lacks = tuple((site, _texts(of)) for site, of in content["lacks"].items())
        variable, parents = str(content["variable"]), _texts(content["parents"])
        number, summed = (bool(content.get(key, False)) for key in ("number", "summed"))
        return cls(variable, parents, lacks, _texts(content["silent"]), number, summed)

    @property
    def words(self) -> str:
        """The family, and why its table is not known, in one printable line.

        >>> print(LackingFamily("c", ("a", "b"), (("north", ("a",)), ("south", ("b",)))).words)
        the table of 'c' given 'a', 'b' is not known: north lacks 'a'; south lacks 'b'
        """
        given = f" given {list_some(self.parents, SHOWN)}" if self.parents else ""
        lacks = "did not answer under masks for" if self.summed else "lacks"
        who = [
            f"{printable(site)} {lacks} {list_some(columns, SHOWN)}" for site, columns in self.lacks
        ]
        what, of = ("equation", "sums") if self.number else ("table", "counts")
        who += [f"{printable(site)} gave no {of} of it" for site in self.silent]
        why = "; ".join(who[:SHOWN]) + ("; and others" if len(who) > SHOWN else "")
        return f"the {what} of {printable(self.variable)!r}{given} is not known: {why}"


@dataclass(frozen=True)
class ParameterSources:
    """Who gave counts or moments of the consensus' families, and who did not.

    Parameters
    ----------
    sites : that gave some.
    refused : (site, reason) of those that gave none.
    held_back : (variable, sites) of tables that are without the rows of these sites, since the
        family has a count below their `min-cell`.
    not_given : where sites have different columns, the families of which nobody gave counts: the
        network is then that of the variables whose tables, and those of all their ancestors, are
        known.
    beyond : (variable, ancestors) of the other variables: these ancestors have no table.
    failure : why there are no parameters; empty where there are.
    turned : edges of the consensus that its network has the other way round, as (parent, child)
        there: in it categories come before numbers.
    added : edges that the network has beside those of the consensus, where no member of its class
        has its numbers last; then its arrows are no causes.
    against : how the network breaks the knowledge that the consensus keeps, in words; then its
        arrows are no causes.
    shifts : (number, (site, what its values lie above the common equation)), where sites have
        constants of their own; under masks nobody knows what these are.
    apart : the numbers with such constants, and their children, where sites with different columns
        told their families, and not the same ones all of them.
    spreads : (number, (site, mean, standard deviation)), as sites sent them.
    cut : (number, cut points), of those that are intervals in the network, not in the structure.
    """

    sites: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    held_back: tuple[tuple[str, tuple[str, ...]], ...] = ()
    not_given: tuple[LackingFamily, ...] = ()
    beyond: tuple[tuple[str, tuple[str, ...]], ...] = ()
    failure: str = ""
    turned: tuple[tuple[str, str], ...] = ()
    added: tuple[tuple[str, str], ...] = ()
    against: tuple[str, ...] = ()
    shifts: tuple[tuple[str, tuple[tuple[str, float], ...]], ...] = ()
    apart: tuple[str, ...] = ()
    spreads: tuple[tuple[str, tuple[tuple[str, float, float], ...]], ...] = ()
    cut: tuple[tuple[str, tuple[float, ...]], ...] = ()

    def without(
        self,
        dag: DAG,
        families: Iterable[Family],
        columns: Mapping[str, frozenset[int]],
        numbers: Collection[str] = (),
    ) -> ParameterSources:
        """The same where nobody gave these families of the consensus; `columns`: site -> its
        columns, as places among the agreed names; `numbers`: those of them that are no
        categories."""
        lacking = tuple(lacking_of(family, dag.names, columns, numbers) for family in families)
        gone = {each.variable for each in lacking}
        beyond = []
        for node, name in enumerate(dag.names):
            above = np.flatnonzero(ancestral_set(dag, [node]))
            ancestors = sorted(gone & {dag.names[k] for k in above})
            if ancestors and name not in gone:
                beyond.append((name, tuple(ancestors)))
        return replace(self, not_given=lacking, beyond=tuple(beyond))

    def of_dag(self, fitted: DAG, consensus: DAG, known: Knowledge | None) -> ParameterSources:
        """The same of a network whose DAG need not be the consensus: the edges that it has turned
        or added, and how it breaks what is known."""
        joined = {frozenset(edge) for edge in consensus.edges}
        there = set(consensus.edges)
        return replace(
            self,
            turned=tuple(edge for edge in fitted.edges if edge[::-1] in there),
            added=tuple(edge for edge in fitted.edges if frozenset(edge) not in joined),
            against=() if known is None else known.breaches(fitted),
        )

    def in_blocks(self) -> ParameterSources:
        """The same where sites answered in blocks, for the columns of these."""
        return replace(self, not_given=tuple(replace(e, summed=True) for e in self.not_given))

    def to_dict(self) -> dict[str, Any]:
        """For `run.json`."""
        told: dict[str, Any] = {}
        if self.not_given:
            told["not_given"] = [each.to_dict() for each in self.not_given]
            told["beyond"] = {variable: list(of) for variable, of in self.beyond}
        more = {
            "turned": [list(edge) for edge in self.turned],
            "added": [list(edge) for edge in self.added],
            "against": list(self.against),
            "shifts": {variable: dict(sites) for variable, sites in self.shifts},
            "apart": list(self.apart),
            "spreads": {
                variable: {site: [mean, deviation] for site, mean, deviation in sites}
                for variable, sites in self.spreads
            },
            "cut": {variable: list(points) for variable, points in self.cut},
        }
        return {
            "sites": list(self.sites),
            "refused": [{"client": site, "reason": reason} for site, reason in self.refused],
            "held_back": {variable: list(sites) for variable, sites in self.held_back},
            **told,
            **{key: of for key, of in more.items() if of},
            "failure": self.failure or None,
        }


@dataclass(frozen=True)
class FittedParameters:
    """The consensus with parameters, or None, and whose rows they are of."""

    network: Network | None
    sources: ParameterSources

    @classmethod
    def of_known(cls, network: Network | None, sources: ParameterSources) -> FittedParameters:
        """Those of the variables that are known; there need not be any."""
        return cls(network, sources) if network is not None else cls.without(UNKNOWN, sources)

    @classmethod
    def without(cls, why: str, sources: ParameterSources | None = None) -> FittedParameters:
        """None, for this reason."""
        return cls(None, replace(sources or ParameterSources(), failure=why))


def remarks_on(sources: ParameterSources) -> list[str]:
    """One line for each site whose rows are missing, for tables that lack some, and for a failure.

    >>> sources = ParameterSources(refused=(("east", "no reply"),), failure="no site answered")
    >>> for line in remarks_on(sources):
    ...     print(line)
    the parameters are without the rows of east: no reply
    the consensus has no parameters: no site answered
    """
    lines = [
        f"the parameters are without the rows of {site}: {_reason(site, reason)}"
        for site, reason in sources.refused
    ]
    lines += held_back_words(dict(sources.held_back))
    lines += [each.words for each in sources.not_given]
    lines += _network_words(
        sources.added,
        sources.turned,
        dict(sources.shifts),
        dict(sources.cut),
        sources.apart,
    )
    failure = [f"the consensus has no parameters: {sources.failure}"] if sources.failure else []
    return lines + failure


def _network_words(
    added: Sequence[Sequence[str]],
    turned: Sequence[Sequence[str]],
    shifted: Mapping[str, Collection[object]],
    cut: Mapping[str, Sequence[float]],
    apart: Sequence[str] = (),
) -> list[str]:
    """How the network with parameters differs from the consensus, and from what a site has."""
    lines = [added_words(added, turned)] if added else []
    if shifted:
        own = "; fedbn query --site uses those of one site"
        if not any(shifted.values()):
            own = "; they were summed under masks, so nobody knows a site's"
        lines.append(
            f"sites differ by a constant in {list_some(list(shifted), SHOWN)}: the equations are "
            f"those within sites, with the mean of the constants over all rows{own}"
        )
    if apart:
        lines.append(
            f"the equations of {list_some(apart, SHOWN)} are not of the same sites, and sites "
            "differ by a constant there: each is true of its own sites, but together they may be "
            "of no population"
            + ("; fedbn query --site asks about one site" if any(shifted.values()) else "")
        )
    return lines + ([cut_words(cut)] if cut else [])


def remarks_in(run: Mapping[str, Any], source: str) -> list[str]:
    """The lines of `remarks_on` that a report has nowhere else, as the content of a `run.json` says
    them; raises ResultsError, naming the source, where it has them in another form."""
    told = run.get("parameters") or {}
    if not isinstance(told, Mapping):
        return []
    try:
        lines = [
            f"the parameters are without the rows of {each['client']}: "
            f"{_reason(each['client'], each['reason'])}"
            for each in told.get("refused", ())
        ]
        lines += _network_words(
            told.get("added", ()), told.get("turned", ()), dict(told.get("shifts", {})),
            told.get("cut", {}), told.get("apart", ()),
        )  # fmt: skip
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ResultsError(
            f'{source}: "parameters" must name the sites whose rows they are of, found {told!r:.80}'
        ) from None
    failure = told.get("failure")
    return lines + ([f"the consensus has no parameters: {failure}"] if failure else [])


def _reason(site: str, reason: str) -> str:
    """Why a site's rows are missing, without its name, which was said; and what `counts` may mean.

    >>> _reason("east", "counts 1: east: no reply")
    'counts 1: no reply'
    """
    words = reason.replace(f"{site}: ", "", 1)
    if not words.endswith(": counts"):
        return words
    return (
        f"{words} (its policy lets none leave, or cells of its table are imputed: these never do)"
    )


def cut_words(cut: Mapping[str, Sequence[float]]) -> str:
    """Which numbers the network has as intervals.

    >>> cut_words({"age": [40, 60.5]}).partition(": ")[2]
    'age (40, 60.5)'
    """
    told = (f"{name} ({', '.join(f'{p:g}' for p in points)})" for name, points in cut.items())
    return (
        "the network with parameters has intervals of these columns, which are numbers in the "
        "structure: "
        f"{list_some(list(told), SHOWN, quoted=False)}"
    )


def added_words(added: Sequence[Sequence[str]], turned: Sequence[Sequence[str]]) -> str:
    """Why a network has more edges than the consensus.

    >>> words = added_words([("ill", "age")], [("ill", "crp")])
    >>> words.partition(": ")[2].partition("; ")[0].partition("the network with parameters ")[2]
    'has 1 edge more than the consensus, ill → age, and turned ill → crp'
    """
    more, around = (
        list_some([f"{parent} → {child}" for parent, child in edges], SHOWN, quoted=False)
        for edges in (added, turned)
    )
    return (
        "exact answers need categories before numbers: the network with parameters has "
        f"{count_of(len(added), 'edge')} more than the consensus, {more}"
        + (f", and turned {around}" if turned else "")
        + "; ask it with --given, not with --do"
    )


def against_words(against: Sequence[str]) -> str:
    """Why a network of the consensus' class answers nothing that is set.

    >>> against_words(["bmi -> sex is forbidden"]).partition(": ")[2].partition(";")[0]
    'no network of the class keeps the knowledge as well (bmi -> sex is forbidden)'
    """
    return (
        "exact answers need categories before numbers: no network of the class keeps the knowledge "
        f"as well ({list_some(against, SHOWN, quoted=False)}); ask it with --given, not "
        "with --do"
    )


def turned_words(turned: Sequence[Sequence[str]]) -> str:
    """Which edges a network has the other way round.

    >>> turned_words([("sex", "bmi")])
    'categories come first in this network of the class; the consensus has turned: sex → bmi'
    """
    edges = [f"{parent} → {child}" for parent, child in turned]
    return (
        "categories come first in this network of the class; the consensus has turned: "
        f"{list_some(edges, SHOWN, quoted=False)}"
    )


def held_back_in(run: Mapping[str, Any], source: str) -> dict[str, tuple[str, ...]]:
    """Variable -> sites whose rows its table is without, as the content of a `run.json` says;
    raises ResultsError, naming the source, where it is in another form."""
    told = run.get("parameters") or {}
    found = told.get("held_back", {}) if isinstance(told, Mapping) else None
    if not isinstance(found, Mapping) or not all(
        isinstance(sites, list) and sites and all(isinstance(site, str) for site in sites)
        for sites in found.values()
    ):
        raise ResultsError(
            f'{source}: "held_back" must be {{variable: [sites]}}, found {told!r:.80}'
        )
    return {variable: tuple(sites) for variable, sites in found.items()}


def not_given_in(run: Mapping[str, Any], source: str) -> tuple[LackingFamily, ...]:
    """The families of which nobody gave counts, as the content of a `run.json` says; raises
    ResultsError, naming the source, where it is in another form."""
    told = run.get("parameters") or {}
    try:
        return tuple(LackingFamily.from_dict(each) for each in told.get("not_given", ()))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ResultsError(
            f'{source}: "not_given" must be a list of families and who lacks what, found '
            f"{told!r:.80}"
        ) from None


def unanswered_in(run: Mapping[str, Any], source: str) -> dict[str, str]:
    """Variable -> why no question about it has an answer, as the content of a `run.json` says;
    raises ResultsError as `not_given_in`."""
    lacking = {each.variable: each.words for each in not_given_in(run, source)}
    if not lacking:
        return {}
    found = dict(lacking)
    beyond = run["parameters"].get("beyond", {})
    try:
        for variable, ancestors in beyond.items():
            of = "; ".join(lacking[each] for each in ancestors)
            found[str(variable)] = f"it descends from a variable without a table or equation: {of}"
    except (AttributeError, KeyError, TypeError):
        raise ResultsError(
            f'{source}: "beyond" must be {{variable: [ancestors]}}, found {beyond!r:.80}'
        ) from None
    return found


def held_back_words(held_back: Mapping[str, Sequence[str]]) -> list[str]:
    """One printable line for each group of sites, with the tables that are without their rows.

    >>> for line in held_back_words({"age": ["north"], "sex": ["north"], "smoke": ["east"]}):
    ...     print(line)
    the tables of 'age', 'sex' are without the rows of north: min-cell
    the table of 'smoke' is without the rows of east: min-cell
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for variable, sites in held_back.items():
        groups.setdefault(tuple(map(printable, sites)), []).append(repr(variable))
    lines = []
    for sites, variables in groups.items():
        what = f"the table of {variables[0]} is"
        if len(variables) > 1:
            what = f"the tables of {list_some(variables, SHOWN, quoted=False)} are"
        missing = list_some(sites, SHOWN, quoted=False)
        lines.append(f"{what} without the rows of {missing}: min-cell")
    return lines


def lacking_of(
    family: Family,
    names: Sequence[str],
    columns: Mapping[str, frozenset[int]],
    numbers: Collection[str] = (),
) -> LackingFamily:
    """Who lacks what of a family that nobody gave; `columns` are the agreed ones of every site."""
    whole = {family.node, *family.parents}
    gone = {site: sorted(whole - own) for site, own in sorted(columns.items())}
    return LackingFamily(
        names[family.node],
        tuple(names[p] for p in family.parents),
        tuple((site, tuple(names[k] for k in of)) for site, of in gone.items() if of),
        tuple(site for site, of in gone.items() if not of),
        names[family.node] in numbers,
    )


def _texts(given: Any) -> tuple[str, ...]:
    """A list of texts; raises ValueError for anything else."""
    if not isinstance(given, list) or not all(isinstance(text, str) for text in given):
        raise ValueError(f"{given!r} must be a list of texts")
    return tuple(given)
