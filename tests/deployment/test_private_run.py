"""A private learner at three deployed sites: real processes, noise of the system, ledgers."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbn.federation.prepared_table import renew
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.site_file import read_site_file
from fedbn.learners import LearnerSettings
from fedbn.privacy.ledger import Ledger
from simulations.deployment.deployment import Deployment
from simulations.flower.bundle import write_bundle
from tests.deployment.conftest import SITES

PRIVATE = LearnerSettings(learner="dp-ges", epsilon=1)


@pytest.mark.slow
def test_every_site_reserves_before_it_draws_and_refuses_what_it_has_not(
    tmp_path: Path, tables: dict[str, Path], schema: str
) -> None:
    experiment = Experiment.of(schema=schema, learner=PRIVATE, min_replies=3)
    config = to_run_config(experiment)
    assert "noise" not in config  # a run cannot ask a site for noise of its seed
    write_bundle(tmp_path / "app", config)
    ledgers = {site: tmp_path / f"{site}.privacy.jsonl" for site in SITES}
    with Deployment(tmp_path / "flower") as deployment:
        deployment.start_superlink()
        for site in SITES:
            policy = tmp_path / f"{site}.toml"
            policy.write_text(
                f'schema = "{schema}"\nledger = "{ledgers[site]}"\n[policy]\nmax-epsilon = 1.2\n'
            )
            renew(tables[site], read_site_file(policy), confirmed=True)
            deployment.start_node(site, tables[site], policy)
        out = tmp_path / "out"
        run = deployment.submit(tmp_path / "app", out_dir=str(out))
        deployment.require_completed(run, out.is_dir)
        entries = [Ledger.read(path).entries for path in ledgers.values()]
        assert [(e.mechanism, e.rho) for (e,) in entries] == [("dp-ges", entries[0][0].rho)] * 3
        again = deployment.submit(tmp_path / "app", out_dir=str(tmp_path / "again"))
        status, details = deployment.wait_for_end(again, lambda: refuses(deployment))
        assert status == "finished:failed"
        assert "max-epsilon" in details
        assert [len(Ledger.read(path).entries) for path in ledgers.values()] == [1, 1, 1]


def refuses(deployment: Deployment) -> bool:
    """Whether every site has said that ε is spent."""
    return all("max-epsilon" in deployment.node_log(site) for site in SITES)
