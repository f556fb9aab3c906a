"""After the last round: the groups of the sites, each a cohort of its own.

Every group is fused from its own sites' replies, its candidates are judged by its own sites'
counts, and its parameters are of their rows. One more request tells what differs between groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import add

from fedbn.errors import DataError
from fedbn.federation.family_message import FamilyRequest
from fedbn.federation.rounds import update_clients
from fedbn.federation.settings import Experiment
from fedbn.federation.state import FederationResult, ServerState
from fedbn.federation.whole_families import columns_differ
from fedbn.groups.families import FamilyDifference, family_differences
from fedbn.groups.grouping import Grouping
from fedbn.networks.family_counts import FamilyTables, families_of
from fedbn.networks.parameter_sources import FittedParameters
from server.counting import answers_to, choose_by_counts
from server.parameters import fit_parameters
from server.replies import LOG, Sites


def find_groups(
    sites: Sites, state: ServerState, run: Experiment, whole: FittedParameters | None = None
) -> Grouping | None:
    """The groups that the run asks for, or None: with what counts choose in each, with parameters
    and with differences by counts, where the run wants these. `state` is that after the last round;
    `whole` are the parameters of the consensus of all sites, those of the one group, where it is
    one."""
    from fedbn.results.groups import with_groups
    from fedbn.results.outcome import Outcome

    outcome, resampled = Outcome.of_federation(state.fused), run.learner.learner == "bootstrap"
    grouping = with_groups(outcome, run.consensus, resampled=resampled).grouping
    if grouping is None:
        return None
    if grouping.count == 1:
        return grouping if whole is None else _with_parameters(grouping, [whole])
    if run.consensus.choose == "smhd" and whole is None:
        return grouping
    parts = [
        _ask_group(sites, state, grouping, group, run) for group in range(1, grouping.count + 1)
    ]
    names = state.fused.schema.names
    consensuses = tuple(result.consensus.dag.extend(names) for result, _ in parts)
    told = _with_parameters(
        replace(grouping, consensuses=consensuses), [own for _, own in parts if own is not None]
    )
    families = _compare(sites, state.fused, told, run)
    return replace(told, families=families)


def _with_parameters(grouping: Grouping, fitted: Sequence[FittedParameters]) -> Grouping:
    return replace(
        grouping,
        networks=tuple(own.network for own in fitted),
        sources=tuple(own.sources.to_dict() for own in fitted),
    )


def _ask_group(
    sites: Sites, state: ServerState, grouping: Grouping, group: int, run: Experiment
) -> tuple[FederationResult, FittedParameters | None]:
    """The result of a run of one group's sites, over the columns that they have, and its parameters
    if the run wants them."""
    members = grouping.members(group)
    own = _settings_of(run, grouping, group)
    others = [site for site in grouping.tree.profiles.sites if site not in members]
    replies = [reply for reply in state.fused.replies if reply.client in members]
    columns = sorted({name for reply in replies for name in reply.dags[0].names})
    here = replace(state, schema=state.schema.restrict(columns))
    alone = update_clients(here, own.consensus, removed=others)
    asked = sites.only(members)
    alone = choose_by_counts(asked, alone, own)
    return alone.fused, fit_parameters(asked, alone.fused, own)


def _settings_of(run: Experiment, grouping: Grouping, group: int) -> Experiment:
    """The settings of a run of one group's sites: no quorum is above what there is, nobody and no
    column that was fused with all is left out, and of what is known the group keeps what is about
    its columns."""
    entries = [
        entry
        for entry, of in zip(grouping.structures, grouping.cut.groups, strict=True)
        if of == group - 1
    ]
    structures = sum(len(entry.dags) for entry in entries)
    rule = replace(
        run.consensus,
        known=grouping.known_in(group),
        quorum=min(run.consensus.quorum, structures),
        min_sites=1,
        min_replies=min(run.consensus.min_replies, len(entries)),
        max_edges_ratio=None,
    )
    return replace(run, consensus=rule)


def _compare(
    sites: Sites, result: FederationResult, grouping: Grouping, run: Experiment
) -> tuple[FamilyDifference, ...]:
    """What of every variable differs between groups, by counts of all groups' families; nothing
    where sites have different columns, or, with a warning in the log, where sites of a group give
    no counts."""
    if result.schema.kind != "categorical" or columns_differ(result):
        return ()
    asked = sites.only(grouping.tree.profiles.sites)
    try:
        tables = FamilyTables(result.schema, families_of(grouping.consensuses))
        wanted = FamilyRequest(tables, with_own=True)
        answers, refused = answers_to(asked, wanted, result, run)
    except DataError as error:
        LOG.warning("families of groups are not compared: %s", error)
        return ()
    counts = []
    for group in range(1, grouping.count + 1):
        own = [answers[site].counts for site in grouping.members(group) if site in answers]
        if not own:
            reason = next(iter(refused.values()), "nobody answered")
            LOG.warning("families of groups are not compared: group %d: %s", group, reason)
            return ()
        counts.append(reduce(add, own))
    return family_differences(grouping.consensuses, counts, run.learner.ess)
