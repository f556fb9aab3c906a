"""What a reader of a federated run must be told besides what is said of every consensus."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence

from fedbn.choice.by_counts import CountedChoice
from fedbn.choice.candidates import cells_of
from fedbn.choice.site_sums import most_left_out
from fedbn.data.schema import Schema
from fedbn.federation.far_sites import distances_of_sites, far_sites
from fedbn.federation.secure_rounds import SecureResult
from fedbn.federation.state import FederationResult
from fedbn.networks.family_counts import Family, families_of
from fedbn.wording import count_of, list_some

SHOWN = 3
"""How many families, sites or columns a sentence names."""


def run_remarks(result: FederationResult | SecureResult) -> tuple[str, ...]:
    """Sentences about a run, the same in the log, on the terminal, in `run.json` and in the report:
    on columns that are constant within every site, on sites that are two groups or far from the
    consensus, on sites that were left out of the counts, on sites on which the choice hangs, on a
    site with most of the counted rows, on what a time limit left undone, on row weights that broke
    a limit, on families of more parameters than all rows pay for, on columns that no site answered
    for together, on counts that are lacking, and on families that could not be judged."""
    return tuple(_remarks(result))


def _remarks(result: FederationResult | SecureResult) -> Iterator[str]:
    if isinstance(result, FederationResult):
        yield from _on_divided(result)
        yield from _on_groups(result)
        yield from _on_outliers(result)
        yield from _on_rungs(result)
        yield from _on_unpaid(result)
    else:
        yield from _on_unknown(result)
        yield from _on_lacking(result)
    if result.choice is not None:
        groups = result.groups if isinstance(result, FederationResult) else ()
        yield from _on_unheard(result.choice, groups[1] if groups else ())
        yield from _on_standing(result.choice)
        yield from _on_pivotal(result.choice)
        yield from _on_largest(result.choice)
        yield from _on_time(result.choice)
        yield from _on_families(result.choice, result.schema)
        yield from _on_unjudged(result.choice, isinstance(result, SecureResult))


def _on_unknown(result: SecureResult) -> Iterator[str]:
    if unknown := result.unknown:
        pairs = list_some([f"{a} and {b}" for a, b in unknown], SHOWN, quoted=False)
        yield (
            f"{count_of(len(unknown), 'pair')} of columns could not be judged, because no site "
            f"answered for both under masks: {pairs}; that the consensus does not join them is no "
            "sign of independence"
        )


def _on_divided(result: FederationResult) -> Iterator[str]:
    joined = set(itertools.chain(*result.consensus.dag.edges))
    lone = [name for name in result.divided if name not in joined]
    if lone:
        yield (
            f"every site has a single state of {list_some(lone, SHOWN)}, and sites differ in it: "
            "no site can find an edge there, but counts over all sites can show one (choose = "
            "counts, site-column)"
        )


def _on_groups(result: FederationResult) -> Iterator[str]:
    if result.groups:
        larger, smaller = (list_some(names, 20, quoted=False) for names in result.groups)
        chosen = "structures" if result.choice is None else "counts of the first"
        yield (
            f"the sites are two groups with different structures, {larger} and {smaller}: counts "
            f"over both would mix them, so the consensus was chosen by the {chosen} alone; run "
            "each group by itself"
        )


def _on_outliers(result: FederationResult) -> Iterator[str]:
    """Who is far from the consensus (`fedbn.consensus.far_inputs`): a hostile site, or one with
    another table."""
    far = distances_of_sites(result)
    named = [f"{client} ({far[client]:.1f})" for client in far_sites(result)]
    if named:
        yield (
            "some sites' structures are far from the consensus (SMHD; "
            f"{statistics.median_low(far.values()):.1f} for the median site): "
            f"{list_some(named, SHOWN, quoted=False)}; check whether their tables are like the "
            "others"
        )


def _on_unheard(choice: CountedChoice, apart: Sequence[str]) -> Iterator[str]:
    """Whose rows alone would have decided (`fedbn.choice.decisive`)."""
    unheard = [site for site in choice.unheard if site not in apart]
    if unheard:
        one = len(unheard) == 1
        by_sums = "" if choice.counts is not None else ", or that one has no score"
        yield (
            f"{list_some(unheard, len(unheard), quoted=False)} "
            f"{'was' if one else 'were'} left out of the counts: on the rows of the other sites "
            "another structure scores far better than the one that the rows of all sites chose"
            f"{by_sums}; "
            f"check whether {'its table is' if one else 'their tables are'} like the others"
        )


def _on_standing(choice: CountedChoice) -> Iterator[str]:
    """Where more than structures would be worse than structures (`fedbn.choice.decisive`)."""
    if choice.stands:
        yield (
            "what the counts prefer is better than the consensus of the structures by the rows of "
            "few sites alone, so the consensus of the structures stands"
        )


def _on_pivotal(choice: CountedChoice) -> Iterator[str]:
    """On whose rows the choice hangs (`fedbn.choice.decisive`)."""
    if choice.pivotal:
        named = list_some(choice.pivotal, len(choice.pivotal), quoted=False)
        tables = "its table is" if len(choice.pivotal) == 1 else "their tables are"
        yield (
            f"what the counts chose hangs on {named}: the rows of the other sites choose a "
            f"structure that is {choice.moved} away (SMHD); see whether {tables} like the others"
        )


def _on_largest(choice: CountedChoice) -> Iterator[str]:
    """The fewest sites, fewer than a third, whose rows are more than those of all others together:
    such are never left out (`fedbn.choice.decisive`). Of two sites one mostly has more."""
    total, sites = sum(choice.rows.values()), len(choice.rows)
    largest = sorted(choice.rows, key=lambda site: (-choice.rows[site], site))
    most = max(1, most_left_out(sites)) if sites > 2 else 0
    for number in range(1, most + 1):
        few = largest[:number]
        own = sum(choice.rows[site] for site in few)
        if 2 * own > total:
            has, decide = "has", "its table decides"
            if number > 1:
                has, decide = "have", "their tables decide"
            yield (
                f"{list_some(few, number, quoted=False)} {has} {own:,} of the {total:,} rows that "
                f"were counted, more than all other sites together: {decide} most of what the "
                "counts chose"
            )
            return


def _on_time(choice: CountedChoice) -> Iterator[str]:
    """What the time limit left undone."""
    if choice.cut_short:
        yield (
            "the time limit ended the search for what counts choose after "
            f"{count_of(choice.requests, 'request')}: the consensus is the best structure until "
            "then"
        )
    if choice.unguarded:
        yield (
            "the time limit ended before it was known whether few sites alone "
            "decide what counts choose"
        )


def _on_rungs(result: FederationResult) -> Iterator[str]:
    reasons: dict[float, list[str]] = {}
    for reply in result.replies:
        for row_weight, why in reply.left_out:
            reasons.setdefault(row_weight, []).append(f"{reply.client}: {why}")
    for row_weight, told in sorted(reasons.items()):
        yield (
            f"row weight {row_weight:g} was left out at {count_of(len(told), 'site')} of "
            f"{len(result.replies)}: {list_some(told, 1, quoted=False)}"
        )


def _on_unpaid(result: FederationResult) -> Iterator[str]:
    """The variables that lost parents before the fusion (`fedbn.choice.ladder`)."""
    lost: dict[str, set[str]] = {}
    sent = {reply.client: reply.of_class(result.row_weight).dags for reply in result.replies}
    for reply in result.fused_replies:
        for before, after in zip(sent[reply.client], reply.dags, strict=True):
            for _, child in set(before.edges) - set(after.edges):
                lost.setdefault(child, set()).add(reply.client)
    if lost:
        sites = count_of(len(set().union(*lost.values())), "site")
        yield (
            f"at {sites} of {len(result.replies)}, row weight {result.row_weight:g} gave some "
            "variables parents with more parameters than the rows of all sites support; these "
            "variables keep only the parents with which the next smaller row weight joins them: "
            f"{list_some(sorted(lost), SHOWN)}"
        )


def _on_lacking(result: SecureResult) -> Iterator[str]:
    """Why counts did not choose, or chose by what was known until then."""
    if result.lacking:
        known = "structures alone" if result.choice is None else "counts that were known until then"
        yield f"the {known} chose: {result.lacking}"


def _on_families(choice: CountedChoice, schema: Schema) -> Iterator[str]:
    if choice.unscored:
        names = list_some(
            [_name(each, schema.names) for each in choice.unscored], SHOWN, quoted=False
        )
        yield (
            "sums of products give some families no score, because some of their columns determine "
            f"others or they have more parents than rows; the structures decide instead: {names}"
        )
    kept = [family for family in choice.uncounted if family not in choice.unscored]
    if kept:
        names = _name_all(kept, schema)
        yield f"some families are too large to be counted; the structures decide instead: {names}"
    others = set(choice.left_out) - set(kept)
    if others:
        smallest = min(others, key=lambda family: (cells_of(schema, family), family))
        yield (
            f"{count_of(len(others), 'family')} of other candidates "
            f"{'was' if len(others) == 1 else 'were'} not counted, because of the limits on "
            f"counts; the smallest is {_name_all([smallest], schema)}"
        )


def _on_unjudged(choice: CountedChoice, masked: bool) -> Iterator[str]:
    """What nobody counts where sites have different columns."""
    if not choice.unjudged:
        return
    having = "no site answers under masks for" if masked else "no site has"
    names, families = choice.dag.names, set(choice.unjudged)
    kept = [family for family in families_of([choice.dag]) if family in families]
    if kept:
        told = list_some([_name(each, names) for each in kept], SHOWN, quoted=False)
        yield (
            f"{having} all columns of some families, so nobody counted them; the structures decide "
            f"instead: {told}"
        )
    if others := len(families) - len(kept):
        yield (
            f"{count_of(others, 'family')} of other candidates {'was' if others == 1 else 'were'} "
            f"not counted, because {having} all of their columns"
        )


def _name_all(families: Sequence[Family], schema: Schema) -> str:
    """
    >>> schema = Schema.categorical({"a": "01", "b": "012"})
    >>> _name_all([Family(1, (0,))], schema)
    'b given a (6 cells)'
    """
    told = [f"{_name(each, schema.names)} ({cells_of(schema, each)} cells)" for each in families]
    return list_some(told, SHOWN, quoted=False)


def _name(family: Family, names: Sequence[str]) -> str:
    if not family.parents:
        return names[family.node]
    parents = list_some([names[p] for p in family.parents], quoted=False)
    return f"{names[family.node]} given {parents}"
