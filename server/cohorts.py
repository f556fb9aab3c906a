"""Secure sums in groups that are given: every group is a cohort of its own, one after the other.

Sites agree on the schema together; keys, roster, terms and all sums are those of one group. A group
that does not come to its end ends the run: what was found of other groups is not written.
"""

from __future__ import annotations

from dataclasses import replace

from fedbn.errors import QuorumError
from fedbn.federation.grouped_sums import GroupedSums, GroupOfSums, numbered_groups
from fedbn.federation.runs import ServerRun
from fedbn.groups.given import groups_of_sites
from fedbn.wording import list_some
from server.handshake import Handshake
from server.replies import LOG
from server.secure_sums import secure_federation

__all__ = ["grouped_federation"]


def grouped_federation(
    shaken: Handshake, run: ServerRun, name: str | None = None
) -> tuple[GroupedSums, float]:
    """The results of all groups, and the CPU seconds of the server; parameters as of
    `secure_federation`.

    Raises ConfigError: a site has no group, the file cannot be read, or as `secure_federation`;
    QuorumError: a site did not answer, or refused; the message names the group.
    """
    assert run.consensus.groups_file is not None
    given, missing = groups_of_sites(run.consensus.groups_file, shaken.sites.clients.values())
    if missing:
        LOG.warning("groups are given for sites that are not here: %s", ", ".join(missing))
    groups, seconds = [], 0.0
    for called, sites in numbered_groups(given):
        LOG.info("group %r: a cohort of %s", called, list_some(sites, 8))
        own = replace(shaken, sites=shaken.sites.only(sites))
        try:
            result, fitted, spent = secure_federation(own, run, name)
        except QuorumError as error:
            raise QuorumError(f"group {called!r}: {error}") from None
        network, sources = (None, None) if fitted is None else (fitted.network, fitted.sources)
        groups.append(GroupOfSums(called, result, network, sources))
        seconds += spent
    return GroupedSums(tuple(groups), shaken.state.refused, run.consensus.known), seconds
