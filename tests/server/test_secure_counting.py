"""Counts of families under masks: the choice and the parameters of the open run, and no site's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbn.errors import ConfigError, DataError, MessageError, PolicyError, QuorumError
from fedbn.federation import secure_counting
from fedbn.federation.choice_record import choice_to_dict
from fedbn.federation.disclosure_log import read_log
from fedbn.federation.prepared_table import renew
from fedbn.federation.run_remarks import run_remarks
from fedbn.federation.secure_counting import summed_choice, summed_parameters
from fedbn.federation.secure_rounds import statements
from fedbn.federation.site_file import read_site_file
from fedbn.graphs.dag import DAG
from fedbn.graphs.writing import structure_text
from fedbn.networks.family_counts import Family, FamilyTables, families_of
from fedbn.secure.family_sums import own_counts, sum_families_of_blocks
from fedbn.secure.masks import Key, unmasked_sum
from fedbn.secure.requests import CountRequest, VoteRequest, from_bytes, to_bytes
from fedbn.secure.site import begin, join, reply
from server.server_app import federate
from simulations.benchmarks.secure_sums import cohort
from simulations.run import run_experiment
from tests.server.spies import Seen
from tests.server.test_secure_sums import SUMMED, VOTED, deployed, grid_of, run_deployed

COUNTED = SUMMED.change(choose="climb", count_rounds=2, parameters="federated")


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": "federated"},
        {"choose": "counts"},
        {"choose": "climb", "reading": "search", "parameters": "federated", "robust": "mean"},
    ],
    ids=["parameters", "counts", "climb"],
)
def test_choice_and_parameters_are_those_of_the_open_run(
    change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for the families of what single sites sent, which only the open run can ask for."""
    monkeypatch.setattr("fedbn.federation.counting.sent_families", lambda _: [])
    summed = run_experiment(SUMMED.change(**change))
    opened = run_experiment(SUMMED.change(aggregation="open", **change))
    ours, theirs = summed.result, opened.result
    assert structure_text(ours.consensus.dag, ".json") == structure_text(
        theirs.consensus.dag, ".json"
    )
    for figure in ("mean_smhd", "lower_bound", "gap", "theta", "reading"):
        assert getattr(ours.consensus, figure) == getattr(theirs.consensus, figure)
    assert summed.network == opened.network
    if theirs.choice is not None:
        unknown = replace(theirs.choice, rows={})  # of sums nobody knows whose rows they are
        assert choice_to_dict(ours.choice) == choice_to_dict(unknown)
    assert (summed.network is None) == ("parameters" not in change)
    assert f"counts of {ours.families} families" in " ".join(statements(ours))


def test_of_voted_families_those_that_keep_the_knowledge_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = '{"forbidden": [["smoke", "bronc"]]}'
    more: list[Family] = []
    opens = secure_counting.open_summed
    monkeypatch.setattr(
        secure_counting, "open_summed", lambda *of: more.extend(of[3]) or opens(*of)
    )
    found = run_experiment(SUMMED.change(choose="counts", knowledge=known)).result
    bronc, smoke = map(found.schema.index, ("bronc", "smoke"))
    assert any(smoke in family.parents for family in more)
    assert not any(family.node == bronc and smoke in family.parents for family in more)


def test_moral_votes_have_parameters_too() -> None:
    run = run_experiment(VOTED.change(parameters="federated"))
    assert run.result.cost.rounds == 3  # keys, votes, counts
    assert run.network is not None
    assert run.network.dag == run.result.consensus.dag


def test_the_server_never_holds_one_site_s_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Seen(monkeypatch, "own_counts")
    federated = federate(grid_of(COUNTED), COUNTED)
    seen.hold(federated.result, federated.network)
    assert len(seen.own) >= 3 * 2  # sites, requests
    total = sum(seen.own[-3:])
    assert np.array_equal(federated.network.schema.cardinalities, [2] * 8)
    assert unmasked_sum(seen.parts[-1]).tolist() == total.tolist()
    for counts in seen.own:
        assert not any(counts.tobytes() in data for data in seen.held)
        cells = counts[: len(counts) // 2]
        assert not any(cells.tobytes() in data for data in seen.held)


def test_the_transcript_of_counts_follows_from_the_sums_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = federate(grid_of(SUMMED), SUMMED).result  # of structures alone: no counts are in it
    seen = Seen(monkeypatch, "own_counts")
    federated = federate(grid_of(COUNTED), COUNTED)
    first = next(i for i, data in enumerate(seen.requests) if b'"kind":"counts"' in data)
    sums = [unmasked_sum(parts) for parts in seen.parts[first:]]
    asked: list[bytes] = []
    session = from_bytes(seen.requests[0])[1]

    def simulated(running: Any) -> Any:
        try:
            request = next(running)
            while True:
                asked.append(to_bytes(request, session, first + len(asked) + 1))
                request = running.send(sums[len(asked) - 1])
        except StopIteration as end:
            return end.value

    chosen, _ = simulated(summed_choice(before, COUNTED))
    result, fitted = simulated(summed_parameters(chosen, COUNTED))
    assert asked == seen.requests[first:]
    assert fitted.network == federated.network
    assert choice_to_dict(result.choice) == choice_to_dict(federated.result.choice)


def test_a_site_whose_policy_gives_no_counts_leaves_the_consensus_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for place, allowed in enumerate(("true", "false")):
        folder = tmp_path / str(place)
        folder.mkdir()
        configs = deployed(folder, ("east", "north", "south"), counts="true")
        file = Path(configs[1]["policy"])
        file.write_text(file.read_text().replace("counts = true", f"counts = {allowed}"))
        renew(file.with_suffix(".csv"), read_site_file(file), confirmed=True)
        result = run_deployed(configs, COUNTED)
        assert (result.choice is not None) == (allowed == "true")
        assert (result.families > 0) == (allowed == "true")
    assert "the structures alone chose" in caplog.text
    assert "no parameters" in caplog.text
    assert "client 2: refused by this site's policy: counts" in caplog.text
    log = read_log(tmp_path / "0" / "east.csv.disclosures.jsonl").entries
    assert log[-1].words.endswith("counts of 8 families")


# --- one site ----------------------------------------------------------------------------------

SITES = run_experiment(SUMMED.change(aggregation="open")).simulation.sites
DATA = SITES[0].dataset


def voted_site(counts: int) -> Any:
    """A site of a run that may ask so often for counts, after its votes."""
    site, *_ = cohort(
        [begin([DAG.empty(DATA.names)], [1.0], Key(bytes([i + 1]) * 32)) for i in range(3)],
        aggregation="moral-votes",
    )
    fresh = replace(site, terms=None)
    site = join(fresh, replace(site.terms, counts=counts))
    return site


def test_counts_are_asked_after_the_votes_and_as_often_as_was_agreed() -> None:
    site = voted_site(1)
    session = site.terms.session
    wanted = to_bytes(CountRequest(families_of([DAG.empty(DATA.names)]), False), session, 1)

    def count(request: CountRequest) -> Any:
        return own_counts(request, DATA, 1.0)

    with pytest.raises(PolicyError, match="out of turn"):
        reply(site, wanted, count)
    _, site = reply(site, to_bytes(VoteRequest(None, False), session, 1))
    second = to_bytes(CountRequest(families_of([DAG.empty(DATA.names)]), False), session, 2)
    with pytest.raises(PolicyError, match="no counts"):
        reply(site, second)
    masked, after = reply(site, second, count)
    assert masked.tobytes() == reply(after, second, count)[0].tobytes()
    third = to_bytes(CountRequest(families_of([DAG.empty(DATA.names)]), True), session, 3)
    with pytest.raises(PolicyError, match="1 requests for counts were agreed on"):
        reply(after, third, count)
    for families in ((), (Family(0, (99,)),), (Family(1, ()), Family(0, ()))):
        with pytest.raises(PolicyError, match="query"):
            reply(site, to_bytes(CountRequest(families, False), session, 2), count)


def test_sums_of_another_length_or_of_no_table_are_refused() -> None:
    tables = FamilyTables(DATA.schema, families_of([DAG.empty(DATA.names)]))
    for sums, kind in ((np.zeros(3, np.int64), MessageError), (np.arange(16), DataError)):
        search = sum_families_of_blocks(tables, ())
        next(search)
        with pytest.raises(kind):
            search.send(sums)


def test_what_cannot_be_counted_is_said() -> None:
    with pytest.raises(ConfigError, match="finds no structures among which counts"):
        VOTED.change(choose="counts")


def test_a_climb_whose_site_falls_silent_ends_with_what_is_known() -> None:
    result = run_experiment(SUMMED).result
    search = summed_choice(result, COUNTED)
    next(search)
    with pytest.raises(StopIteration) as end:
        search.throw(QuorumError("north did not"))
    assert end.value.value == (replace(result, lacking="north did not"), "north did not")


@pytest.mark.parametrize("lie", ["no table", "length"])
@pytest.mark.parametrize("request_", [1, 2])
def test_sums_that_no_sites_have_leave_what_the_structures_chose(
    request_: int, lie: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A site lies in the first request for counts, or in one of the climb; no count chooses then,
    and the run goes on to its result."""
    import clients.secure_sums as site

    alone = run_experiment(SUMMED).result
    honest, asked, asked_for = site.own_counts, [], []

    def lying(*given: Any) -> Any:
        asked_for.append(given[0].families)
        asked.append(honest(*given))
        if len(asked) != len(SITES) * request_:
            return asked[-1]
        if lie == "length":
            return asked[-1][:-1]
        return asked[-1] + np.arange(asked[-1].size)

    monkeypatch.setattr(site, "own_counts", lying)
    federated = federate(grid_of(COUNTED), COUNTED)
    assert len(asked) == len(SITES) * request_
    assert federated.result.choice is None
    assert federated.result.consensus.dag == alone.consensus.dag
    assert federated.network is None
    assert federated.result.families == len({each for of in asked_for for each in of})
    assert f"counts of {federated.result.families} families" in " ".join(
        statements(federated.result)
    )
    (told,) = run_remarks(federated.result)
    assert told.startswith("the structures alone chose: ")
    assert told in caplog.text
