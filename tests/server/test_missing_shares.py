"""What deployed sites tell of their imputed cells is in the results."""

import json
import random
from dataclasses import replace
from pathlib import Path

from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from server.server_app import federate, write_folder
from simulations.in_process_grid import InProcessGrid
from tests.clients.deployed import prepared_nodes


def test_shares_of_sites_that_tell_them_are_in_the_report(tmp_path: Path) -> None:
    for name, allowed in (("north", "true"), ("south", "false")):
        draw = random.Random(name)
        rows = [f"{draw.choice('xy')},{draw.choice('uv')}" for _ in range(55)]
        rows += [f"{draw.choice('xy')}," for _ in range(5)]
        (tmp_path / f"{name}.csv").write_text("a,b\n" + "\n".join(rows) + "\n")
        (tmp_path / f"{name}.toml").write_text(
            f'missing-cells = "impute"\n[policy]\ndiagnostics = true\nmissing-shares = {allowed}\n'
        )
    experiment = Experiment.of(share_diagnostics=True)
    nodes = prepared_nodes(tmp_path, ("north", "south"))
    with InProcessGrid(to_run_config(experiment), nodes) as grid:
        run = experiment
        federated = federate(grid, run)
    out = tmp_path / "out"
    write_folder(federated, replace(run, output=replace(run.output, out_dir=str(out))), 7)
    told = json.loads((out / "run.json").read_text())["imputed_at_most"]
    assert list(told.values()) == [{"b": 10}]
    page = (out / "report.html").read_text().replace("\n", "")
    assert "<td>b</td><td>at most 10 %</td>" in page
