"""What a hostile site told the server: each of these ended the run, or filled its memory or log."""

from __future__ import annotations

import json
import logging

import pytest
from flwr.app import ConfigRecord, Message

from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from server.handshake import client_names
from server.server_app import federate
from simulations.in_process_grid import InProcessGrid
from simulations.run import node_configs
from tests.work import counted

PLAN = Experiment.of(network="asia", clients=4, rows=60, seed=2, share_diagnostics=True)
LIAR = 3
"""Node 3 is client 2: node ids count from 2."""

LONG = 4_000_000


def columns_of(count: int) -> str:
    return json.dumps({f"v{i}": ["0", "1"] for i in range(count)})


SCHEMAS = {
    "half a character as a state": '{"asia": ["\\ud800", "yes"]}',
    "half a character as a column": '{"\\ud800": ["no", "yes"]}',
    "a state of 4 MB": json.dumps({"asia": ["x" * LONG, "yes"]}),
    "a column of 4 MB": json.dumps({"x" * LONG: ["no", "yes"]}),
    "a control character": '{"asia\\u0007": ["no", "yes"]}',
    "140,000 columns": columns_of(140_000),
    "deep JSON": "[" * 100_000,
    "deep objects": '{"asia":' * 100_000,
    "endless numbers": '{"asia": 1' + "0" * 100_000 + "}",
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_such_columns_leave_the_site_out_in_a_line_and_the_others_go_on(
    case: str, caplog: pytest.LogCaptureFixture
) -> None:
    def lie(node: int, reply: Message) -> Message:
        if node == LIAR and reply.metadata.message_type == "query":
            reply.content["schema"] = ConfigRecord({"text": SCHEMAS[case], "hash": "0" * 64})
        return reply

    grid = InProcessGrid(to_run_config(PLAN), node_configs(4), fault=lie)
    with caplog.at_level(logging.INFO):
        result = federate(grid, PLAN).result
    assert [reply.client for reply in result.replies] == ["client 1", "client 3", "client 4"]
    ((client, reason),) = result.refused
    assert client == "client 2"
    assert reason.startswith("handshake: client 2: ")
    assert len(reason) < 300
    assert "hash" not in reason
    assert max(len(record.getMessage()) for record in caplog.records) < 1000


def test_a_schema_of_a_million_letters_costs_little() -> None:
    from fedbn.errors import MessageError
    from fedbn.federation.schema_text import schema_from_text

    text = SCHEMAS["140,000 columns"]
    with counted() as work, pytest.raises(MessageError, match="140000 columns are more than"):
        schema_from_text(text, "0" * 64)
    assert work.calls < 14_000  # no call per column; collecting garbage calls back, too
    assert work.peak < 200_000_000


COLLIDING = [
    {2: "a", 3: "a", 4: "a (2)"},
    {2: "a (2)", 3: "a (3)", 4: "a", 5: "a", 6: "a (4)"},
    {2: "client 3", 3: None, 4: None},
    {2: "North", 3: "north", 4: "NORTH"},
    {2: "\u00e9", 3: "e\u0301", 4: "\ufb01", 5: "fi"},
]


@pytest.mark.parametrize("labels", COLLIDING)
def test_no_labels_make_two_sites_share_a_name(labels: dict[int, str | None]) -> None:
    """Two sites named `a`, and one `a (2)`, were two names: a site's reply stood for another's."""
    names = client_names(labels)
    assert list(names) == sorted(labels)
    assert len({name.casefold() for name in names.values()}) == len(labels)


def test_sites_with_colliding_labels_all_take_part() -> None:
    """Before, one of them was lost without a word."""
    labels = {2: "x", 3: "x (3)", 4: "x", 5: "x (4)"}

    def tell(node: int, reply: Message) -> Message:
        if "diagnostics" in reply.content:
            reply.content["diagnostics"]["label"] = labels[node]
        return reply

    grid = InProcessGrid(to_run_config(PLAN), node_configs(4), fault=tell)
    result = federate(grid, PLAN).result
    assert len({reply.client for reply in result.replies}) == 4
    assert result.refused == ()
