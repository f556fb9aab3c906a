"""A node without a table of its own takes part in simulations, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flwr.app import Context, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from clients import client_app as deployed
from clients.door import FAILED
from clients.site import site_file
from fedbn.errors import ConfigError
from fedbn.federation.disclosure_log import read_log
from fedbn.federation.prepared_table import renew
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import read_site_file
from simulations.sites.client_app import app, is_simulated, node_here, simulating

SECRET = "patient 4711"


@pytest.fixture(autouse=True)
def _in_a_runtime() -> None:
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 2


def context(experiment: Experiment, **node: Any) -> Context:
    config = {key.replace("_", "-"): value for key, value in node.items()}
    return Context(1, 2, config, RecordDict(), to_run_config(experiment))


def described(where: Context, by: Callable[[Message, Context], Message] = app) -> Message:
    """An app's answer to the question for columns, as a SuperNode gets it."""
    request = Message(RecordDict(), 2, "query")
    request.metadata.__dict__["_message_id"] = "1"
    return by(request, where)


@pytest.fixture
def secret(tmp_path: Path) -> str:
    table = tmp_path / "secret.csv"
    table.write_text("name,b\n" + f"{SECRET},1\nother,2\n" * 20)
    return str(table)


@pytest.mark.parametrize(
    "node", [{"partition_id": 0}, {"partition_id": 0, "num_partitions": 3}, {}]
)
def test_no_run_can_name_a_file_of_a_deployed_node(secret: str, node: dict[str, int]) -> None:
    """It got the columns and states of any file; now it gets the fixed notice.

    The app of a deployed site has nothing else to give, even inside a simulation.
    """
    where = context(Experiment.of(sites=(secret,)), **node)
    for by in (app, deployed.app):
        reply = described(where, by)
        assert reply.has_error()
        assert reply.error.reason == FAILED
    assert not list(Path(secret).parent.glob("*.jsonl"))
    with simulating():
        assert described(where, deployed.app).error.reason == FAILED
        if node:
            assert SECRET in described(where).content["schema"]["text"]


def test_a_ray_worker_is_in_a_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    for running in (False, True):
        ray = SimpleNamespace(is_initialized=lambda running=running: running)
        monkeypatch.setitem(sys.modules, "ray", ray)
        assert is_simulated({"partition-id": 0}) is running
        assert not is_simulated({"partition-id": 0, "data-path": "a.csv"})


@pytest.mark.parametrize("numbered", [{}, {"partition_id": 0}])
def test_the_run_s_sites_never_decide_for_a_node_with_a_table(
    secret: str, tmp_path: Path, numbered: dict[str, int]
) -> None:
    """With a number beside the table, the run could name another policy, and no log was kept."""
    rules = "[policy]\nmin-rows = 1000\nallow-states = ['name']\n"
    (tmp_path / "own.toml").write_text(rules)
    (tmp_path / "evil.toml").write_text(f'table = "{secret}"\n')
    run = Experiment.of(sites=(str(tmp_path / "evil.toml"),))
    own = context(run, data_path=secret, policy=str(tmp_path / "own.toml"), **numbered)
    renew(secret, read_site_file(tmp_path / "own.toml"))
    assert node_here(own).site.policy.min_rows == 1000
    assert described(own).error.reason.endswith(": min-rows")
    with simulating():
        assert described(own).error.reason.endswith(": min-rows")
    kinds = [entry.kind for entry in read_log(f"{secret}.disclosures.jsonl").entries]
    assert kinds == ["contract", "query", "query"]


def test_who_has_a_policy_or_a_table_has_a_log(secret: str, tmp_path: Path) -> None:
    policy = tmp_path / "own.toml"
    policy.write_text("[policy]\nmin-rows = 3\n")
    beside_table = tmp_path / "secret.csv.disclosures.jsonl"
    assert site_file({"data-path": secret}).disclosures == beside_table
    assert site_file({"data-path": secret, "policy": str(policy)}).disclosures == beside_table
    with simulating():
        simulated = node_here(context(Experiment(), partition_id=0, policy=str(policy))).site
    assert simulated.disclosures == tmp_path / "own.toml.disclosures.jsonl"
    assert simulated.policy.min_rows == 3


@pytest.mark.parametrize(
    ("key", "hint"),
    [("polcy", "did you mean 'policy'"), ("data", "data"), ("x", "unknown key 'x'")],
)
def test_an_unknown_key_of_a_node_is_an_error(secret: str, key: str, hint: str) -> None:
    """A policy that is misspelt is not a site without limits."""
    with pytest.raises(ConfigError, match=hint):
        site_file({"data-path": secret, key: "own.toml"})
