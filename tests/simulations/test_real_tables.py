"""From tables with identifiers, numbers and empty cells to a network that answers questions."""

from pathlib import Path

import numpy as np

from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from server.cut_points import found_cuts
from simulations.in_process_grid import InProcessGrid

COLUMNS = ("id", "age", "job", "sex", "income")


def adult_like(rows: int) -> list[tuple[str, ...]]:
    """Rows with a name, a number, text with '?', and two categories."""
    rng = np.random.default_rng(5)
    found = []
    for i in range(rows):
        age = int(rng.integers(17, 91))
        job = str(rng.choice(["Exec", "Sales", "?"], p=[0.4, 0.5, 0.1]))
        sex = str(rng.choice(["F", "M"]))
        rich = rng.random() < 0.15 + 0.6 * (age > 50)
        found.append((f"p{i}", str(age), job, sex, ">50K" if rich else "<=50K"))
    return found


def write_site(folder: Path, name: str, rows: list[tuple[str, ...]], order: list[int]) -> Path:
    lines = [[COLUMNS[k] for k in order], *([row[k] for k in order] for row in rows)]
    (folder / f"{name}.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    file = folder / f"{name}.toml"
    file.write_text(f'name = "{name}"\ntable = "{name}.csv"\nmissing = ["?"]\n')
    return file


def test_a_server_finds_the_cuts_that_the_tables_at_hand_have(tmp_path: Path) -> None:
    rows = adult_like(90)
    for i in range(3):
        write_site(tmp_path, f"s{i}", rows[30 * i : 30 * i + 30], [0, 1, 2, 3, 4])
    experiment = Experiment.of(discretise=("4",), leave_out=("id",))
    nodes = [
        {"data-path": str(tmp_path / f"s{i}.csv"), "policy": str(tmp_path / f"s{i}.toml")}
        for i in range(3)
    ]
    with InProcessGrid(to_run_config(experiment), nodes) as grid:
        found = found_cuts(grid, grid.get_node_ids(), experiment, None)
    ages = np.array([float(row[1]) for row in rows])
    expected = np.quantile(ages, [0.25, 0.5, 0.75], method="inverted_cdf")
    assert found == {"age": tuple(expected)}
    log = (tmp_path / "s0.csv.disclosures.jsonl").read_text()
    assert "which 1 column holds numbers" in log
    assert "counts of the numbers of 1 column" in log
