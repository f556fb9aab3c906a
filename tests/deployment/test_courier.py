"""Runs whose messages are files: their results are those of a network, to the byte."""

from __future__ import annotations

import json
import shutil
import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

from fedbn.data.tables import write_schema, write_table
from fedbn.errors import ConfigError, QuorumError, SchemaError
from fedbn.federation.disclosure_log import log_beside, read_log
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.networks.catalog import load_network
from fedbn.privacy.ledger import Ledger, ledger_beside
from server.server_app import of_run, run_and_write
from simulations.deployment.courier_server import go_on
from simulations.deployment.courier_site import answer, forget
from simulations.deployment.executor import site_config
from simulations.in_process_grid import InProcessGrid
from simulations.run import run_experiment
from tests.deployment.conftest import SITES, Simulated
from tests.deployment.couriers import Couriers, contents, write_tables

ONCE = Experiment.of(min_replies=2)
OPEN = ONCE.change(rounds_limit=2, choose="climb", count_rounds=2, parameters="federated")


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Site -> its table of five columns; the agreed states lie beside them."""
    return write_tables(tmp_path_factory.mktemp("courier") / "small")


@pytest.fixture
def couriers(tmp_path: Path, small: dict[str, Path]) -> Couriers:
    return Couriers(tmp_path, small, small["east"].with_name("states.json"))


def log_of(couriers: Couriers, site: str) -> Path:
    return log_beside(couriers.folder / site / f"{site}.csv")


def kept(couriers: Couriers, site: str) -> Path:
    """What a site keeps of the run."""
    return couriers.folder / site / f"{site}.csv.courier" / couriers.state().run


@pytest.mark.slow
def test_structures_counts_and_parameters_by_hand_give_the_bytes_of_the_network(
    tmp_path: Path, tables: dict[str, Path], schema: str, simulated: Simulated
) -> None:
    couriers = Couriers(tmp_path, tables, schema)
    couriers.begin(OPEN)
    results = couriers.carry_all()
    assert contents(results) == contents(couriers.by_network(OPEN))
    assert (results / "consensus.json").read_text() == simulated(OPEN, list(SITES))
    first, *entries = read_log(log_of(couriers, "north")).entries
    half = len(entries) // 2
    told = [(entry.kind, entry.round, entry.sha256, entry.words) for entry in entries]
    assert first.kind == "contract"
    assert told[:half] == told[half:]
    assert {"query", "train", "query.counts"} == {kind for kind, *_ in told}
    assert {entry.run for entry in entries[:half]} == {couriers.state().run}
    left = json.loads((results / "run.json").read_text())
    assert left["settings"]["couriers"] == list(SITES)
    assert (results / "consensus.bif").is_file()
    assert not (couriers.run / "checkpoint.json").exists()


@pytest.mark.slow
def test_secure_sums_by_hand_give_the_bytes_of_the_network(couriers: Couriers) -> None:
    summed = Experiment.of(aggregation="secure-sums", robust="mean", parameters="federated")
    couriers.begin(summed)
    couriers.carry()
    couriers.carry()
    place = kept(couriers, "north")
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in place.iterdir()} == {0o600}
    state = json.loads((place / "kept.json").read_text())["state"]
    assert len(state["sums-session"]["values"]["private"]["base64"]) == 44
    results = couriers.carry_all()
    assert contents(results) == contents(couriers.by_network(summed))
    assert (results / "consensus.bif").is_file()


def test_moments_by_hand_give_the_bytes_of_the_network(tmp_path: Path) -> None:
    rng, tables = np.random.default_rng(3), {}
    (tmp_path / "made").mkdir()
    for site in SITES:
        a = rng.normal(size=200)
        rows = np.column_stack([a, a + rng.normal(size=200)])
        tables[site] = tmp_path / "made" / f"{site}.csv"
        np.savetxt(tables[site], rows, delimiter=",", header="a,b", comments="")
    nothing = tmp_path / "made" / "states.json"
    nothing.write_text("{}")

    def gaussian(text: str) -> str:
        return text.replace('schema = "states.json"\n', "").replace(
            "[policy]", '[policy]\nkind = "gaussian"'
        )

    couriers = Couriers(tmp_path, tables, nothing, gaussian)
    run = ONCE.change(score="gaussian-bic", parameters="federated")
    couriers.begin(run)
    results = couriers.carry_all()
    assert contents(results) == contents(couriers.by_network(run))
    assert [each.kind for each in couriers.state().asked][-1] == "query.moments"


def test_cut_points_are_found_by_hand(tmp_path: Path) -> None:
    rng, tables = np.random.default_rng(5), {}
    (tmp_path / "made").mkdir()
    for site in SITES:
        tables[site] = tmp_path / "made" / f"{site}.csv"
        lines = (f"{age:.3f},{'yes' if age > 50 else 'no'}" for age in rng.normal(50, 9, size=300))
        tables[site].write_text("age,old\n" + "\n".join(lines) + "\n")
    states = tmp_path / "made" / "states.json"
    states.write_text('{"age": {"cuts": [50.0]}, "old": ["no", "yes"]}')
    couriers = Couriers(
        tmp_path, tables, states, lambda text: text.replace("counts", "histograms = true\ncounts")
    )
    run = ONCE.change(discretise=("age:2",))
    couriers.begin(run)
    with pytest.raises(QuorumError, match="refused by this site's policy: contract") as by_hand:
        couriers.carry_all()
    with pytest.raises(QuorumError) as by_network:
        couriers.by_network(run)
    assert str(by_hand.value) == str(by_network.value)
    kinds = [each.kind for each in couriers.state().asked]
    assert kinds.count("query.histogram") >= 6
    with pytest.raises(QuorumError):  # whoever goes on is told the same again
        go_on(couriers.run)


def test_a_private_learner_draws_and_pays_once(couriers: Couriers) -> None:
    private = ONCE.change(
        learner="dp-climb", epsilon=1.0, schema=str(couriers.folder / "north" / "states.json")
    )
    couriers.begin(private)
    couriers.carry()
    first, again = couriers.answer("north"), couriers.answer("north")
    assert (first.before, again.before, first.data == again.data) == (False, True, True)
    ledger = ledger_beside(couriers.folder / "north" / "north.csv")
    assert len(Ledger.read(ledger).entries) == 1
    results = couriers.carry_all()
    assert (results / "consensus.json").is_file()
    assert len(Ledger.read(ledger).entries) == 1


def test_a_run_is_left_and_gone_on_with_whenever_replies_come(couriers: Couriers) -> None:
    assert [each.site for each in couriers.begin(ONCE).run.awaited] == list(SITES)
    couriers.answer("south")
    early = go_on(couriers.run, [couriers.reply("south")])
    assert [each.site for each in early.run.awaited] == ["east", "north"]
    assert go_on(couriers.run, [couriers.reply("south")]).taken == ()
    for site in ("east", "north"):
        couriers.answer(site)
        shutil.copy(couriers.reply(site), couriers.run / "replies" / f"from-{site}")
    step = go_on(couriers.run)
    assert {each.kind for each in step.run.awaited} == {"train"}
    assert couriers.state() == step.run
    results = couriers.carry_all()
    assert contents(results) == contents(couriers.by_network(ONCE))
    assert go_on(couriers.run).run.results == str(results)


@pytest.mark.slow
def test_a_site_that_is_not_waited_for_is_as_a_node_that_is_late(couriers: Couriers) -> None:
    couriers.begin(OPEN)
    couriers.carry()
    for site in ("east", "north"):
        couriers.answer(site)
    late = couriers.answer("south")
    replies = [couriers.reply(site) for site in ("east", "north")]
    step = go_on(couriers.run, replies, without=["south"])
    assert {each.site for each in step.run.awaited} == set(SITES)  # as a late node is, asked again
    late_file = couriers.folder / "late.fedbn"
    late_file.write_bytes(late.data)
    with pytest.raises(Exception, match="came too late: the run went on without south"):
        go_on(couriers.run, [late_file])
    results = couriers.carry_all()
    trained: list[Message] = []

    def late_once(node: int, reply: Message) -> Message | None:
        if (node, reply.metadata.message_type) != (4, "train"):
            return reply
        trained.append(reply)
        return reply if len(trained) > 1 else None

    assert contents(results) == contents(couriers.by_network(OPEN, late_once))
    assert len(trained) == OPEN.rounds.rounds_limit


def test_too_few_replies_end_the_run(couriers: Couriers) -> None:
    couriers.begin(ONCE)
    couriers.answer("east")
    with pytest.raises(QuorumError, match="client 2: no reply"):
        go_on(couriers.run, [couriers.reply("east")], without=["north", "south"])
    with pytest.raises(ConfigError, match="--without south: nothing is awaited from it"):
        go_on(couriers.run, without=["south"])
    with pytest.raises(ConfigError, match="--without must be one of east, north, south, not 'w'"):
        go_on(couriers.run, without=["w"])


def test_secure_sums_end_where_a_site_is_not_waited_for(couriers: Couriers) -> None:
    couriers.begin(Experiment.of(aggregation="moral-votes"))
    couriers.carry()
    for site in ("east", "north"):
        couriers.answer(site)
    replies = [couriers.reply(site) for site in ("east", "north")]
    with pytest.raises(QuorumError, match="every site of a secure sum must answer, client 3"):
        go_on(couriers.run, replies, without=["south"])


def test_a_site_whose_columns_differ_is_told_and_nobody_waits_for_it(couriers: Couriers) -> None:
    file = couriers.file("south")
    file.write_text(file.read_text() + '\n[states.smoker]\nTrue = "True"\n')  # another contract
    couriers.begin(ONCE)
    couriers.answer("south")
    notice = couriers.answer("south")
    assert (notice.word, notice.before) == ("refused by this site's policy: contract", False)
    for site in ("east", "north"):
        couriers.answer(site)
    with pytest.raises(SchemaError, match="1 client has another contract: 'client 3'"):
        go_on(couriers.run, [couriers.reply(site) for site in SITES])


def test_what_a_site_keeps_is_deleted_at_the_end_or_when_it_is_told(couriers: Couriers) -> None:
    couriers.begin(ONCE)
    couriers.carry()
    couriers.carry()
    request, place = couriers.folder / "old.fedbn", kept(couriers, "north")
    couriers.run = couriers.folder / "another"
    couriers.begin(ONCE)
    shutil.copy(couriers.request("north"), request)
    months = datetime.now(UTC) + timedelta(days=31)
    with pytest.raises(Exception, match=r"run \d+ ended on \d{4}-\d\d-\d\d"):
        answer(request, couriers.file("north"), months)
    assert place.exists()
    assert answer(request, couriers.file("north")).word == ""
    run = couriers.state().run
    assert forget(couriers.file("north"), run)
    assert not forget(couriers.file("north"), run)
    assert not place.with_name(run).exists()
    with pytest.raises(Exception, match=f"run {run} is over and forgotten at this site"):
        answer(request, couriers.file("north"))
    assert place.exists()


@pytest.mark.slow
def test_nodes_and_couriers_in_one_run_give_the_bytes_of_nodes_alone(
    couriers: Couriers, caplog: pytest.LogCaptureFixture
) -> None:
    run = OPEN.change(
        couriers=("east",),
        courier_dir=str(couriers.run.parent / "{run}"),
        courier_keys=str(couriers.keys),
        out_dir=str(couriers.folder / "mixed"),
        min_replies=3,
        reply_seconds=60.0,
    )
    configs = [site_config(couriers.file(site)) for site in SITES]
    grid = InProcessGrid(to_run_config(run), configs)
    grid.get_node_ids = lambda: [3, 4]  # type: ignore[method-assign]
    couriers.run.parent.mkdir()
    couriers.run = couriers.run.parent / "7"
    done = threading.Event()

    def carry() -> None:
        while not done.wait(0.05):
            for file in sorted(couriers.run.glob("requests/*.fedbn")):
                reply = couriers.run / "replies" / file.name
                (couriers.run / "replies" / "a-junk").write_bytes(b"junk")
                if not reply.exists():
                    data = answer(file, couriers.file("east")).data
                    (couriers.run / "replies" / ".part").write_bytes(data)
                    (couriers.run / "replies" / ".part").replace(reply)

    carrier = threading.Thread(target=carry)
    carrier.start()
    try:
        run_and_write(grid, of_run(run, 7), 7)
    finally:
        done.set()
        carrier.join()
    assert contents(couriers.folder / "mixed") == contents(couriers.by_network(OPEN))
    said = [record.getMessage() for record in caplog.records if "a-junk" in record.getMessage()]
    assert said
    assert all("a-junk is no file of a courier run" in line for line in said)


def test_where_files_and_keys_are_must_be_said(couriers: Couriers) -> None:
    run = ONCE.change(couriers=("east",), out_dir=str(couriers.folder / "out"))
    grid = InProcessGrid(to_run_config(run), [])
    with pytest.raises(ConfigError, match="couriers need a courier-dir for their files"):
        run_and_write(grid, run, 1)
    with pytest.raises(ConfigError, match="couriers are for sites with tables of their own"):
        run_experiment(Experiment.of(network="asia", couriers=("east",), engine="in-process"))


@pytest.mark.slow
def test_sites_with_different_columns_give_the_bytes_of_the_network(tmp_path: Path) -> None:
    """Each is asked for its own families alone; the large table of all of them is nowhere."""
    network, own = load_network("cancer"), tmp_path / "tables"
    own.mkdir()
    lacking = {"east": "Xray", "north": "Pollution", "south": "Smoker"}
    tables = {site: own / f"{site}.csv" for site in lacking}
    for seed, (site, gone) in enumerate(lacking.items()):
        table = network.sample(300, np.random.default_rng(seed))
        write_table(table.select([name for name in table.names if name != gone]), tables[site])
    write_schema(network.schema, own / "states.json")
    here = tmp_path / "here"
    here.mkdir()
    couriers = Couriers(
        here, tables, own / "states.json", lambda text: text.replace('schema = "states.json"', "")
    )
    union = OPEN.change(variables="union")
    couriers.begin(union)
    results = couriers.carry_all()
    assert contents(results) == contents(couriers.by_network(union))
    told = json.loads((results / "run.json").read_text())
    assert "moves" in told["counts"]
    assert (results / "variables.csv").is_file()
    logs = [read_log(log_of(couriers, site)).entries for site in lacking]
    assert all({"train", "query.counts"} <= {entry.kind for entry in log} for log in logs)
