"""Groups that are given, by courier under masks: a site's answers are those of its own group."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from fedbn.data.tables import write_schema, write_table
from fedbn.errors import QuorumError
from fedbn.federation.settings import Experiment
from fedbn.networks.catalog import load_network
from simulations.deployment.courier_server import go_on
from tests.deployment.couriers import Couriers, contents

WEST, EAST = ("a1", "a2", "a3"), ("b1", "b2", "b3")


@pytest.fixture
def couriers(tmp_path: Path) -> Couriers:
    """Six sites with tables of two columns; the first three are one group."""
    network = load_network("cancer")
    own = tmp_path / "tables"
    own.mkdir()
    tables = {site: own / f"{site}.csv" for site in ("a1", "a2", "a3", "b1", "b2", "b3")}
    for seed, path in enumerate(tables.values()):
        table = network.sample(200, np.random.default_rng(seed)).select(["Dyspnoea", "Smoker"])
        write_table(table, path)
    write_schema(table.schema, own / "states.json")
    return Couriers(tmp_path, tables, own / "states.json")


def voted(couriers: Couriers, west: tuple[int, ...] = (1, 2, 3)) -> Experiment:
    """Moral votes in two groups; `west` are the sites of the one."""
    rows = [f"client {k},{'west' if k in west else 'east'}" for k in range(1, 7)]
    file = couriers.folder / "groups.csv"
    file.write_text("\n".join(["site,group", *rows]) + "\n")
    return Experiment.of(min_replies=6, aggregation="moral-votes", groups_file=str(file))


@pytest.mark.slow
def test_groups_by_courier_give_the_bytes_of_the_network(couriers: Couriers) -> None:
    couriers.begin(voted(couriers))
    results = couriers.carry_all()
    assert contents(results) == contents(couriers.by_network(voted(couriers)))
    sums = [json.loads((results / f"cohorts/{k}/sums.json").read_text()) for k in (1, 2)]
    assert [found["sites"] for found in sums] == [["a1", "a2", "a3"], ["b1", "b2", "b3"]]


def test_a_reply_is_for_the_group_that_was_asked_and_no_other(couriers: Couriers) -> None:
    """A server that moves a site after its sum gets neither its old reply nor a new one."""
    couriers.begin(voted(couriers))
    for _ in range(3):
        couriers.carry()
    old = couriers.folder / "old.fedbn"
    shutil.copy(couriers.reply("a1"), old)
    assert couriers.state().awaited[0].site == "b1"  # the sum of the first group is there
    voted(couriers, west=(2, 3))
    couriers.carry()
    assert {each.kind for each in couriers.state().awaited} == {"train.sums"}
    assert [each.site for each in couriers.state().awaited] == ["a1", "b1", "b2", "b3"]
    step = go_on(couriers.run, [old])
    assert (step.taken, len(step.run.awaited)) == ((), 4)
    assert couriers.answer("a1").word == "refused by this site's policy: query"
    assert couriers.answer("b1").word == ""
    with pytest.raises(QuorumError, match="group 'east'.*query"):
        couriers.carry()
