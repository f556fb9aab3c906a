"""What a reader of a federated run must be told besides what is said of every consensus."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np

from fedbn.arrays import Bools
from fedbn.choice.by_counts import CountedChoice
from fedbn.choice.candidates import cells_of
from fedbn.data.dataset import Schema
from fedbn.federation.far_sites import distances_of_sites, far_sites
from fedbn.federation.secure_rounds import SecureResult
from fedbn.federation.state import FederationResult
from fedbn.networks.family_counts import Family
from fedbn.wording import count_of, list_some

__all__ = ["run_remarks"]

SHOWN = 3
"""How many families, sites or columns a sentence names."""


def run_remarks(result: FederationResult | SecureResult) -> tuple[str, ...]:
    """Sentences about a run, the same in the log, on the terminal, in `run.json` and in the report:
    on columns that are constant within every site, on sites that are two groups or far from the
    consensus, on sites that were left out of the counts, on a site with most of the counted rows,
    on row weights that broke a limit, on families of more parameters than all rows pay for, on
    columns that no site answered for together, on counts that are lacking, and on families that
    could not be judged."""
    said: list[str] = []
    if isinstance(result, FederationResult):
        said += [
            *_on_divided(result),
            *_on_groups(result),
            *_on_outliers(result),
            *_on_rungs(result),
            *_on_unpaid(result),
        ]
    else:
        said += [*_on_unknown(result), *_on_lacking(result)]
    if result.choice is not None:
        said += [
            *_on_unheard(result.choice),
            *_on_largest(result.choice),
            *_on_families(result.choice, result.schema),
        ]
    return tuple(said)


def _on_unknown(result: SecureResult) -> list[str]:
    unknown = result.unknown
    if not unknown:
        return []
    pairs = list_some([f"{a} and {b}" for a, b in unknown], SHOWN, quoted=False)
    return [
        f"{count_of(len(unknown), 'pair')} of columns are not known, since no site answered for "
        f"both under masks: {pairs}; that the consensus does not join them says nothing"
    ]


def _on_divided(result: FederationResult) -> list[str]:
    adjacency, names = result.consensus.dag.adjacency, result.schema.names
    lone = [name for name in result.divided if not _has_edge(adjacency, names.index(name))]
    if not lone:
        return []
    columns = list_some(lone, SHOWN)
    return [
        f"every site has a single state of {columns}, and different sites have different ones: no "
        "site can see an edge there, but counts over all sites can (choose = counts, site-column)"
    ]


def _has_edge(adjacency: Bools, node: int) -> bool:
    return bool(adjacency[node].any() or adjacency[:, node].any())


def _on_groups(result: FederationResult) -> list[str]:
    if not result.groups:
        return []
    larger, smaller = (list_some(names, 20, quoted=False) for names in result.groups)
    return [
        f"the sites are two groups with structures of their own, {larger} and {smaller}: counts "
        "over both would mix them, so the structures alone chose; run each group by itself"
    ]


def _on_outliers(result: FederationResult) -> list[str]:
    """Who is far from the consensus (`fedbn.consensus.others`): a hostile site, or one with another
    table."""
    far = distances_of_sites(result)
    usual = statistics.median_low(far.values())
    named = [f"{client} ({far[client]:.1f})" for client in far_sites(result)]
    if not named:
        return []
    return [
        "some sites' structures are far from the consensus (SMHD; "
        f"{usual:.1f} for the median site): {list_some(named, SHOWN, quoted=False)}; "
        "see whether their tables are like the others"
    ]


def _on_unheard(choice: CountedChoice) -> list[str]:
    """Whose rows alone would have decided (`fedbn.choice.decisive`)."""
    if not choice.unheard:
        return []
    named = list_some(choice.unheard, len(choice.unheard), quoted=False)
    one = len(choice.unheard) == 1
    return [
        f"{named} {'was' if one else 'were'} left out of the counts: by the rows of the other "
        "sites another structure is far better than what the rows of all sites chose; see whether "
        f"{'its table is' if one else 'their tables are'} like the others"
    ]


def _on_largest(choice: CountedChoice) -> list[str]:
    """Whose rows are more than those of all other sites together. Of two sites one mostly has
    more."""
    if len(choice.rows) < 3:
        return []
    total = sum(choice.rows.values())
    largest = max(choice.rows, key=lambda site: choice.rows[site])
    if 2 * choice.rows[largest] <= total:
        return []
    return [
        f"{largest} has {choice.rows[largest]:,} of the {total:,} rows that had a say in the "
        "counts, more than all other sites together: what the counts chose is mostly what its "
        "table supports"
    ]


def _on_rungs(result: FederationResult) -> list[str]:
    said = []
    for row_weight in sorted({k for reply in result.replies for k, _ in reply.left_out}):
        without = {
            reply.client: why
            for reply in result.replies
            for k, why in reply.left_out
            if k == row_weight
        }
        reasons = [f"{client}: {why}" for client, why in without.items()]
        said.append(
            f"row weight {row_weight:g} was left out at {count_of(len(without), 'site')} of "
            f"{len(result.replies)}: {list_some(reasons, 1, quoted=False)}"
        )
    return said


def _on_unpaid(result: FederationResult) -> list[str]:
    """The variables that lost parents before the fusion (`fedbn.choice.ladder`)."""
    lost: dict[str, set[str]] = {}
    fused = {reply.client: reply for reply in result.fused_replies}
    for reply in result.replies:
        if reply.client not in fused:
            continue
        sent = reply.of_class(result.row_weight).dags
        for before, after in zip(sent, fused[reply.client].dags, strict=True):
            for node in np.flatnonzero((before.adjacency & ~after.adjacency).any(axis=0)).tolist():
                lost.setdefault(before.names[node], set()).add(reply.client)
    if not lost:
        return []
    sites = count_of(len(set().union(*lost.values())), "site")
    return [
        f"structures of row weight {result.row_weight:g} had families of more parameters than the "
        f"rows of all sites pay for, at {sites} of {len(result.replies)}; these families keep the "
        "parents with which the next smaller row weight joins them: "
        f"{list_some(sorted(lost), SHOWN)}"
    ]


def _on_lacking(result: SecureResult) -> list[str]:
    """Why counts did not choose, or chose by what was known until then."""
    if not result.lacking:
        return []
    known = "structures alone" if result.choice is None else "counts that were known until then"
    return [f"the {known} chose: {result.lacking}"]


def _on_families(choice: CountedChoice, schema: Schema) -> list[str]:
    said = []
    if choice.unscored:
        names = list_some([_name(each, schema) for each in choice.unscored], SHOWN, quoted=False)
        said.append(
            "sums of products give some families no score, since some of their columns determine "
            f"others or they have more parents than rows, so the structures decide: {names}"
        )
    kept = [family for family in choice.uncounted if family not in choice.unscored]
    if kept:
        names = _name_all(kept, schema)
        said.append(f"some families are too large to be counted, so the structures decide: {names}")
    others = sorted(set(choice.left_out) - set(kept), key=lambda family: _size(family, schema))
    if others:
        said.append(
            f"{count_of(len(others), 'family')} of other candidates were beyond the limits of what "
            f"is counted, the smallest {_name_all(others[:1], schema)}"
        )
    return said


def _size(family: Family, schema: Schema) -> tuple[int, Family]:
    return cells_of(schema, family), family


def _name_all(families: Sequence[Family], schema: Schema) -> str:
    """
    >>> schema = Schema.categorical({"a": "01", "b": "012"})
    >>> _name_all([Family(1, (0,))], schema)
    'b given a (6 cells)'
    """
    told = [f"{_name(each, schema)} ({cells_of(schema, each)} cells)" for each in families]
    return list_some(told, SHOWN, quoted=False)


def _name(family: Family, schema: Schema) -> str:
    parents = list_some([schema.names[p] for p in family.parents], quoted=False)
    return f"{schema.names[family.node]} given {parents}"
