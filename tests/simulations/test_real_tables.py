"""From tables with identifiers, numbers and empty cells to a network that answers questions."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.networks.bif import read_bif
from fedbn.networks.json_file import read_json_network
from fedbn.networks.network import BayesianNetwork
from server.cut_points import find_cuts
from simulations.in_process_grid import InProcessGrid
from tests.simulations.conftest import Fedbn

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
    file.write_text(
        f'name = "{name}"\ntable = "{name}.csv"\nmissing = ["?"]\n[policy]\ncounts = true\n'
    )
    return file


def simulate(fedbn: Fedbn, files: list[Path], out: Path) -> Path:
    ran = fedbn(
        "simulate", "--sites", *files, "--leave-out", "id", "--discretise", "age:3",
        "--missing-cells", "state", "--engine", "in-process", "--out", out, "--quiet",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    assert "cannot be written in BIF" in ran.err
    return out


def require_tables_by_definition(
    network: BayesianNetwork, rows: list[tuple[str, ...]], cuts: list[int], ess: float
) -> None:
    """P = (N_ijk + ess / (r q)) / (N_ij + ess / q), counted row by row."""
    ages = network.schema.states[network.names.index("age")]
    cells = []
    for row in rows:
        named = dict(zip(COLUMNS, row, strict=True))
        named["age"] = ages[sum(int(row[1]) > cut for cut in cuts)]
        named["job"] = "missing" if row[2] == "?" else row[2]
        cells.append(named)
    assert set(network.names) == set(COLUMNS[1:])
    for node, name in enumerate(network.names):
        own = network.schema.states[node]
        parents = network.dag.parents(node)
        grid = list(product(*(network.schema.states[parent] for parent in parents)))
        assert network.cpts[node].shape == (len(grid), len(own))
        for j, given in enumerate(grid):
            wanted = {network.names[p]: state for p, state in zip(parents, given, strict=True)}
            case = [c[name] for c in cells if all(c[p] == state for p, state in wanted.items())]
            for k, state in enumerate(own):
                share = (case.count(state) + ess / (len(own) * len(grid))) / (
                    len(case) + ess / len(grid)
                )
                assert network.cpts[node][j, k] == pytest.approx(share, rel=1e-12)


def require_pgmpy_reads(network: BayesianNetwork, bif: Path) -> None:
    """States have other words in BIF, sorted anew; age's keep their places, as does job's."""
    from pgmpy.readwrite import BIFReader

    words = {"<=50K": "le_50K", ">50K": "gt_50K"}
    model = BIFReader(str(bif)).get_model()
    assert model.check_model()
    assert set(model.nodes()) == set(network.names)
    for node, name in enumerate(network.names):
        found = model.get_cpds(name)
        assert found.variables[1:] == [network.names[p] for p in network.dag.parents(node)]
        assert "income" not in found.variables[1:]
        states = list(network.schema.states[node])
        if name != "age":
            there = found.state_names[name]
            places = [there.index(words.get(state, state)) for state in states]
        else:
            places = list(range(3))
        cells = found.get_values().T[:, places]
        np.testing.assert_allclose(cells, network.cpts[node], rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("always::fedbn.errors.FedbnWarning")
def test_three_site_files_to_a_network_in_one_command(tmp_path: Path, fedbn: Fedbn) -> None:
    rows = adult_like(600)
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    sites = [rows[:100], rows[100:350], rows[350:]]
    usual, other = [0, 1, 2, 3, 4], [4, 2, 0, 3, 1]
    files = [write_site(first, f"s{i}", part, usual) for i, part in enumerate(sites)]
    changed = [write_site(second, f"s{i}", part[::-1], other) for i, part in enumerate(sites)]
    one = simulate(fedbn, files, tmp_path / "one")
    two = simulate(fedbn, changed[::-1], tmp_path / "two")
    for name in ("consensus.csv", "consensus.bif", "schema.json", "network.json"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    network = read_json_network(one / "network.json")
    ages = np.array([float(row[1]) for row in rows])
    cuts = np.quantile(ages, [1 / 3, 2 / 3], method="inverted_cdf").astype(int)
    assert network.schema.to_dict()["age"][0] == f"1: (-inf, {cuts[0]}]"
    assert network.schema.to_dict()["job"] == ["Exec", "Sales", "missing"]
    words = read_bif(one / "consensus.bif")
    assert words.dag == network.dag
    assert words.schema.to_dict()["age"][0] == f"1___-inf__{cuts[0]}_"
    require_tables_by_definition(network, rows, cuts.tolist(), ess=1)
    require_pgmpy_reads(network, one / "consensus.bif")
    for name in ("network.json", "consensus.bif"):
        (two / name).unlink()
    assert fedbn("parameters", two, "--sites", *changed).status == 0
    assert (two / "network.json").read_bytes() == (one / "network.json").read_bytes()
    ruled = changed[0].with_name("ruled.toml")
    ruled.write_text(changed[0].read_text() + 'disclosure = "pcornet"\n')
    refused = fedbn("parameters", two, "--sites", ruled, *changed[1:])
    assert (refused.status, "counts all rows exactly" in refused.err) == (1, True)
    # Another split of the same rows: the cuts and, given the structure, the sums stay.
    (third := tmp_path / "third").mkdir()
    divided = [write_site(third, f"s{i}", rows[i::2], other) for i in range(2)]
    prepared = ["--leave-out", "id", "--discretise", "age:3", "--missing", "?"]
    drafted = fedbn(
        "schema", *(file.with_suffix(".csv") for file in divided), *prepared,
        "--missing-cells", "state", "--out", third / "schema.json", "--quiet",
    )  # fmt: skip
    assert drafted.status == 0, drafted.err
    assert (third / "schema.json").read_bytes() == (one / "schema.json").read_bytes()
    assert fedbn("parameters", two, "--sites", *divided).status == 0
    assert (two / "network.json").read_bytes() == (one / "network.json").read_bytes()
    assert fedbn("parameters", two, "--sites", *divided, "--parameter-ess", 10).status == 0
    smoothed = read_json_network(two / "network.json")
    assert smoothed.dag == network.dag
    require_tables_by_definition(smoothed, rows, cuts.tolist(), ess=10)
    asked = fedbn("query", one, "--ask", "income", "--given", "job=Exec", "--json").json
    assert sum(asked["income"].values()) == pytest.approx(1)
    assert fedbn("parameters", two, "--sites", *changed, "--average").status == 0
    mixed = fedbn("query", two, "--average", "--ask", "income", "--given", "job=Exec")
    assert "the consensus alone differs by at most" in mixed.out


def test_a_server_finds_the_cuts_that_the_tables_at_hand_have(tmp_path: Path) -> None:
    rows = adult_like(90)
    for i in range(3):
        write_site(tmp_path, f"s{i}", rows[30 * i : 30 * i + 30], [0, 1, 2, 3, 4])
    experiment = Experiment.of(discretise=("4",), leave_out=("id",))
    nodes = []
    for i in range(3):
        file = tmp_path / f"s{i}.toml"
        file.write_text(file.read_text() + "histograms = true\nmin-state-rows = 0\n")
        nodes.append({"data-path": str(file.with_suffix(".csv")), "policy": str(file)})
    with InProcessGrid(to_run_config(experiment), nodes) as grid:
        found = find_cuts(grid, grid.get_node_ids(), experiment)
    ages = np.array([float(row[1]) for row in rows])
    expected = np.quantile(ages, [0.25, 0.5, 0.75], method="inverted_cdf")
    assert found == {"age": tuple(expected)}
    log = (tmp_path / "s0.csv.disclosures.jsonl").read_text()
    assert "which 1 column holds numbers" in log
    assert "counts of the numbers of 1 column" in log
