"""Agreement on columns and states before the first round."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbn.errors import QuorumError, SchemaError
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import ConsensusSettings, Experiment
from fedbn.federation.state import FederationResult
from server.server_app import federate
from simulations.in_process_grid import InProcessGrid
from tests.clients.deployed import prepared_nodes

PLAN = Experiment.of(connect_seconds=0.0)
ROWS = ("x,1\n", "y,2\n", "x,2\n", "y,1\n")


def site(folder: Path, name: str, header: str = "a,b", rows: tuple[str, ...] = ROWS) -> None:
    (folder / f"{name}.csv").write_text(header + "\n" + "".join(rows) * 10)
    policy = f"name = '{name}'\n[policy]\ndiagnostics = true\n"
    (folder / f"{name}.toml").write_text(policy)


def run(folder: Path, experiment: Experiment = PLAN) -> FederationResult:
    sharing = experiment.change(share_diagnostics=True)
    nodes = prepared_nodes(folder, (table.stem for table in sorted(folder.glob("*.csv"))))
    return federate(InProcessGrid(to_run_config(sharing), nodes), sharing).result


def test_the_run_stops_and_says_which_site_differs_in_what(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site(tmp_path, "east")
    site(tmp_path, "north", header="a,c")
    site(tmp_path, "south")
    with pytest.raises(SchemaError) as error:
        run(tmp_path)
    words = "client 'north' has no column 'b'; has column 'c', which is not agreed"
    lacking = "; 'c' is not agreed because clients 'east', 'south' lack it"
    advice = "; variables = union (--variables union) takes sites"
    assert words + lacking + advice in str(error.value)
    told = [record.getMessage() for record in caplog.records if record.name == "fedbn.client"]
    assert told == ["the agreed columns and this site: this site " + words.partition("north' ")[2]]


def test_or_it_goes_on_without_those_that_differ(tmp_path: Path) -> None:
    site(tmp_path, "east")
    site(tmp_path, "north", header="a,c")
    site(tmp_path, "south")
    result = run(tmp_path, PLAN.change(on_mismatch="leave-out"))
    assert [reply.client for reply in result.replies] == ["east", "south"]
    ((client, reason),) = result.refused
    assert (client, reason[:17]) == ("north", "handshake: north:")
    everybody = ConsensusSettings(min_fraction=1.0)
    with pytest.raises(QuorumError, match="at least 3 good replies of 3 clients.*has no column"):
        run(tmp_path, PLAN.change(on_mismatch="leave-out", consensus=everybody))


def test_under_a_given_schema_a_foreign_state_is_a_mismatch(tmp_path: Path) -> None:
    site(tmp_path, "east")
    site(tmp_path, "north", rows=("x,1\n", "z,2\n", "x,2\n"))
    (tmp_path / "states.json").write_text('{"a": ["x", "y"], "b": ["1", "2", "3"]}')
    text = (tmp_path / "east.toml").read_text()
    (tmp_path / "east.toml").write_text("schema = 'states.json'\n" + text)
    law = PLAN.change(schema=str(tmp_path / "states.json"))
    with pytest.raises(SchemaError, match="1 client has another contract: 'client 2'"):
        run(tmp_path, law)
    result = run(tmp_path, law.change(on_mismatch="leave-out"))
    assert [reply.client for reply in result.replies] == ["east"]
    assert result.schema.to_dict() == {"a": ["x", "y"], "b": ["1", "2", "3"]}


def test_a_state_that_no_other_site_has_is_remarked_and_not_in_the_contract_of_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site(tmp_path, "east")
    site(tmp_path, "north", rows=("x,1\n", "Y,2\n", "x,2\n", "Y,1\n"))
    site(tmp_path, "south")
    with pytest.raises(SchemaError, match="'a': client 'north' has 'Y', client 'east' has 'y'"):
        run(tmp_path)
    caplog.clear()
    with pytest.raises(QuorumError, match="contract"):
        run(tmp_path, PLAN.change(spellings="accept"))
    assert "under its contract this site lacks states of the run" in caplog.text
    assert "north: no other site has 'Y' of 'a'" in caplog.text


def test_a_mapping_heals_a_mismatch(tmp_path: Path) -> None:
    site(tmp_path, "east")
    site(tmp_path, "north", header="A,b", rows=("ex,1\n", "y,2\n", "ex,2\n", "y,1\n"))
    with (tmp_path / "north.toml").open("a") as file:
        file.write("[columns]\nA = 'a'\n[states.a]\nex = 'x'\n")
    assert run(tmp_path).schema.to_dict() == {"a": ["x", "y"], "b": ["1", "2"]}


def test_without_any_node_there_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(QuorumError, match="at least one node must be connected"):
        run(tmp_path)


def test_a_column_that_is_left_out_in_vain_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site(tmp_path, "east", header="smoker,b")
    site(tmp_path, "south", header="smoker,b")
    result = run(tmp_path, PLAN.change(leave_out=("smokers", "record")))
    assert result.schema.names == ("b", "smoker")
    told = [record.getMessage() for record in caplog.records if record.name == "fedbn.server"]
    assert told == [
        "leave-out names column 'smokers', which no site sent: it has no effect; did you "
        "mean 'smoker'?",
        "leave-out names column 'record', which no site sent: it has no effect",
    ]
