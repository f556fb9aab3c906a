"""What a client says, and what it never says."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Context, Message, RecordDict

import fedbn
from clients.client_app import HANDLERS
from clients.door import FAILED, REFUSED, Answer, enter
from clients.request import Request
from fedbn.data.schema import Schema
from fedbn.federation.message import STRUCTURES
from fedbn.federation.prepared_table import renew
from fedbn.federation.run_config import to_run_config
from fedbn.federation.schema_text import schema_from_text, schema_to_text
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import SiteFile
from simulations.in_process_grid import InProcessGrid
from simulations.sites.client_app import node_here, simulating

ASIA = Experiment.of(network="asia", clients=2, rows=50)
SECRET = "patient 4711"


def ask(
    category: str, content: RecordDict | None = None, experiment: Experiment = ASIA, **node: Any
) -> Message:
    """The app's reply to one request."""
    config = node or {"partition-id": 1, "num-partitions": 2}
    grid = InProcessGrid(to_run_config(experiment), [config])
    (node_id,) = grid.get_node_ids()
    request = Message(content or RecordDict(), node_id, category)
    (reply,) = grid.send_and_receive([request])
    return reply


def task(schema: Schema) -> RecordDict:
    record = ConfigRecord({"text": schema_to_text(schema), "hash": schema.hash, "round": 1})
    return RecordDict({"task": record})


def asia_schema() -> Schema:
    record = ask("query").content["schema"]
    return schema_from_text(record["text"], record["hash"])


def test_the_handshake_carries_columns_and_states_only() -> None:
    reply = ask("query")
    assert set(reply.content) == {"schema"}
    assert set(reply.content["schema"]) == {"text", "hash"}
    assert asia_schema().to_dict()["smoke"] == ["no", "yes"]


def test_other_versions_of_fedbn_are_refused_in_words() -> None:
    same, other = (
        {"task": ConfigRecord({"round": 0, "fedbn": v})} for v in (fedbn.__version__, "9.9")
    )
    assert not ask("query", RecordDict(same)).has_error()
    reason = ask("query", RecordDict(other)).error.reason
    assert reason == (
        f"refused by this site: the server has fedbn 9.9, this site has {fedbn.__version__}; "
        "install the same"
    )


def test_a_round_carries_structures_only() -> None:
    reply = ask("train", task(asia_schema()))
    assert set(reply.content) == {"structures"}
    assert tuple(reply.content["structures"]) == STRUCTURES.keys


def test_rows_and_seconds_travel_only_where_that_is_agreed() -> None:
    sharing = Experiment.of(network="asia", clients=2, rows=50, share_diagnostics=True)
    asked = ask("query", experiment=sharing).content
    assert dict(asked["diagnostics"]) == {"label": "client 2"}
    told = ask("train", task(asia_schema()), experiment=sharing).content["diagnostics"]
    assert set(told) == {"label", "rows", "seconds"}
    assert told["rows"] == 50


def test_a_path_or_a_cell_never_leaves_with_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = tmp_path / "hospital.csv"
    table.write_text(f"a,b\n{SECRET},1\n,2\n")
    with caplog.at_level(logging.WARNING, logger="fedbn.client"):
        reply = ask("query", experiment=Experiment(), **{"data-path": str(table)})
    assert reply.error.reason == f"{REFUSED}: contract"
    assert "hospital.csv" in caplog.text


def test_a_node_reads_its_own_table(tmp_path: Path) -> None:
    table = tmp_path / "hospital.csv"
    table.write_text("b,a\n" + "1,yes\n2,no\n" * 5)
    renew(table, SiteFile())
    sharing = Experiment.of(share_diagnostics=True)
    content = ask("query", experiment=sharing, **{"data-path": str(table)}).content
    assert content["schema"]["text"] == '{"a":["no","yes"],"b":["1","2"]}'
    assert "diagnostics" not in content


def test_a_bad_request_is_answered_with_a_fixed_text() -> None:
    wrong_hash = RecordDict(
        {"task": ConfigRecord({"text": '{"a":["x"]}', "hash": "00", "round": 1})}
    )
    for request in [RecordDict(), wrong_hash, task(Schema.gaussian("ab"))]:
        reply = ask("train", request)
        assert reply.error.reason == FAILED


def answered(category: str, answer: Callable[[Request], Answer], *, share: bool) -> Message:
    """What leaves where the handler of a kind of message does something else."""
    settings = to_run_config(ASIA.change(share_diagnostics=share))
    InProcessGrid({}, [])
    where = Context(1, 2, {"partition-id": 0}, RecordDict(), settings)
    known = HANDLERS.get(category, HANDLERS["query.report"])
    changed = {category: replace(known, answer=answer, needs=())}
    with simulating():
        return enter(Message(RecordDict(), 2, category), where, HANDLERS | changed, node_here)


STRUCTURE = {key: np.zeros(1) for key in STRUCTURES.keys}
TOLD = {"label": "a", "rows": 3, "seconds": 0.5}


def leaves(category: str, record: Mapping[str, Any], *, share: bool = True, **about: Any) -> bool:
    reply = answered(category, lambda _: Answer(record, lambda: about), share=share)
    if reply.has_error():
        return False
    known = {HANDLERS[category].form.name}
    assert set(reply.content) == known | ({"diagnostics"} if about and share else set())
    return True


def test_the_firewall_lets_agreed_records_pass() -> None:
    assert leaves("query", {"text": "{}", "hash": "00"})
    assert leaves("train", STRUCTURE)
    assert leaves("train", STRUCTURE, **TOLD)
    assert leaves("train", STRUCTURE, share=False, **TOLD)


@pytest.mark.parametrize(
    ("category", "record", "about"),
    [
        ("train", {}, {}),
        ("train", {**STRUCTURE, "scores": np.zeros(1)}, {}),
        ("train", {"counts": np.zeros(3)}, {}),
        ("train", {"header": 1}, {}),
        ("train", {"text": "", "hash": ""}, {}),
        ("query", {"text": "", "hash": "", "path": "x"}, {}),
        ("query", {"text": "", "hash": 7}, {}),
        ("evaluate", STRUCTURE, {}),
        ("train", STRUCTURE, {"rows": SECRET}),
        ("train", STRUCTURE, {"table": "x"}),
    ],
)
def test_the_firewall_stops_anything_else(
    category: str, record: dict[str, Any], about: dict[str, Any]
) -> None:
    assert not leaves(category, record, **about)


class PatientError(ValueError):
    """An error whose class fedbn does not know."""


def test_every_failure_is_the_same_word() -> None:
    def failing(_: Request) -> Answer:
        raise PatientError(SECRET)

    reply = answered("train", failing, share=False)
    assert reply.error.reason == FAILED
    assert SECRET not in repr(reply)


def test_what_no_handler_is_for_is_not_answered() -> None:
    for kind in ("evaluate", "query.rows", "train.again"):
        assert ask(kind).error.reason == FAILED
