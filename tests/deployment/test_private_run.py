"""A private learner at three deployed sites: a ledger each, which lasts from run to run."""

from __future__ import annotations

from pathlib import Path

import pytest
from flwr.supercore.task_identity import TaskIdentity

from fedbn.errors import FedbnError
from fedbn.federation.prepared_table import renew
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import read_site_file
from fedbn.learners import LearnerSettings
from fedbn.privacy.ledger import Ledger
from server.server_app import run_and_write
from simulations.in_process_grid import InProcessGrid
from tests.deployment.conftest import SITES

PRIVATE = LearnerSettings(learner="dp-ges", epsilon=1)


def run_deployed(experiment: Experiment, nodes: list[dict[str, str]], out: Path, run: int) -> None:
    """A run with this number: sites know runs apart by it."""
    here = experiment.change(out_dir=str(out))
    grid = InProcessGrid(to_run_config(here), nodes)
    TaskIdentity.run_id = run
    for context in grid._contexts.values():
        context.run_id = run
    run_and_write(grid, here, run)


def test_every_site_reserves_before_it_draws_and_refuses_what_it_has_not(
    tmp_path: Path, tables: dict[str, Path], schema: str
) -> None:
    experiment = Experiment.of(schema=schema, learner=PRIVATE, min_replies=3)
    assert "noise" not in to_run_config(experiment)  # a run cannot ask for noise of its seed
    ledgers = {site: tmp_path / f"{site}.privacy.jsonl" for site in SITES}
    nodes = []
    for site in SITES:
        policy = tmp_path / f"{site}.toml"
        policy.write_text(
            f'schema = "{schema}"\nledger = "{ledgers[site]}"\n[policy]\nmax-epsilon = 1.2\n'
        )
        renew(tables[site], read_site_file(policy), confirmed=True)
        nodes.append({"data-path": str(tables[site]), "policy": str(policy)})
    run_deployed(experiment, nodes, tmp_path / "out", 1)
    assert (tmp_path / "out").is_dir()
    entries = [Ledger.read(path).entries for path in ledgers.values()]
    assert [(e.mechanism, e.rho) for (e,) in entries] == [("dp-ges", entries[0][0].rho)] * 3
    with pytest.raises(FedbnError, match="max-epsilon"):
        run_deployed(experiment, nodes, tmp_path / "again", 2)
    assert not (tmp_path / "again").exists()
    assert [len(Ledger.read(path).entries) for path in ledgers.values()] == [1, 1, 1]
