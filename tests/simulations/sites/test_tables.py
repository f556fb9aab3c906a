"""Where the tables of a simulation come from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedbn.data.dataset import Dataset
from fedbn.errors import ConfigError, DataError, FedbnWarning, QuorumError, SchemaError
from fedbn.federation.settings import Experiment
from fedbn.learners import LearnerSettings
from fedbn.networks.catalog import load_network
from simulations.run import run_experiment
from simulations.sites.divided_table import SAMPLE_STREAM
from simulations.sites.tables import local_site, simulation, site_files


def tables_of(experiment: Experiment) -> list[Dataset]:
    return [site.dataset for site in simulation(experiment).sites]


ASIA = Experiment.of(network="asia", clients=4, rows=25, seed=3)


def csv(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_the_parts_are_the_sample() -> None:
    pooled = load_network("asia").sample(100, np.random.default_rng([3, SAMPLE_STREAM]))
    parts = np.concatenate([site.codes for site in tables_of(ASIA)])
    assert sorted(map(tuple, parts)) == sorted(map(tuple, pooled.codes))


@pytest.mark.parametrize("partition", ["iid", "dirichlet", "dirichlet-latent", "column"])
@pytest.mark.parametrize("sizes", ["equal", "skewed"])
def test_a_client_makes_the_very_table_that_the_simulation_knows(
    partition: str, sizes: str
) -> None:
    experiment = ASIA.change(partition=partition, partition_column="smoke", sizes=sizes)
    sites = simulation(experiment).sites
    for i, site in enumerate(sites):
        own = local_site(experiment, {"partition-id": i, "num-partitions": len(sites)})
        assert (own.label, own.dataset) == (site.label, site.dataset)


def test_held_out_rows_do_not_change_the_clients_of_a_network() -> None:
    with_test = simulation(ASIA.change(test_rows=30))
    assert with_test.held_out is not None
    assert with_test.held_out.n_rows == 30
    assert [site.dataset for site in with_test.sites] == tables_of(ASIA)


@pytest.mark.filterwarnings("ignore:.*has 20 states in 20 rows")
def test_a_table_is_divided_and_its_held_out_rows_are_nobodys(tmp_path: Path) -> None:
    rows = "".join(f"r{i},{i % 2}\n" for i in range(20))
    experiment = Experiment.of(
        table=csv(tmp_path / "t.csv", "id,b\n" + rows), clients=3, test_rows=5
    )
    made = simulation(experiment)
    assert made.held_out is not None
    seen = [
        site.dataset.schema.states[1][code]
        for site in (*made.sites, *[type(made.sites[0])("", made.held_out)])
        for code in site.dataset.codes[:, 1]
    ]
    assert [site.dataset.n_rows for site in made.sites] == [5, 5, 5]
    assert sorted(seen) == sorted(f"r{i}" for i in range(20))


def test_a_site_column_names_the_clients_and_is_no_variable(tmp_path: Path) -> None:
    text = "hospital,a,b\nsouth,1,2\nnorth,1,1\nsouth,2,2\nnorth,2,1\n"
    experiment = Experiment.of(
        table=csv(tmp_path / "t.csv", text), partition="column", partition_column="hospital"
    )
    sites = simulation(experiment).sites
    assert [site.label for site in sites] == ["north", "south"]
    assert sites[0].dataset.names == ("a", "b")
    assert [site.dataset.n_rows for site in sites] == [2, 2]


def test_a_changed_table_is_read_again(tmp_path: Path) -> None:
    path = csv(tmp_path / "t.csv", "a,b\n1,2\n2,1\n")
    experiment = Experiment.of(table=path, clients=1)
    assert tables_of(experiment)[0].n_rows == 2
    csv(tmp_path / "t.csv", "a,b\n1,2\n2,1\n2,2\n")
    assert tables_of(experiment)[0].n_rows == 3


def test_sites_keep_their_names_and_share_the_held_out_rows(tmp_path: Path) -> None:
    body = "a,b\n" + "x,y\ny,x\n" * 10
    files = tuple(csv(tmp_path / f"{name}.csv", body) for name in ("b", "a"))
    made = simulation(Experiment.of(sites=files, test_rows=5))
    assert [site.label for site in made.sites] == ["b", "a"]
    assert [site.dataset.n_rows for site in made.sites] == [17, 18]
    assert made.held_out is not None
    assert made.held_out.n_rows == 5
    own = local_site(Experiment.of(sites=files, test_rows=5), {"partition-id": 1})
    assert own.dataset == made.sites[1].dataset


def test_a_folder_of_sites_is_sorted_by_name(tmp_path: Path) -> None:
    for name in ("c.csv", "a.csv", "b.parquet", "notes.txt", "d.CSV", "e.Csv.GZ"):
        csv(tmp_path / name, "a,b\n1,2\n")
    files = site_files(Experiment.of(sites_dir=str(tmp_path)))
    found = [Path(file).name for file in files]
    assert found == ["a.csv", "b.parquet", "c.csv", "d.CSV", "e.Csv.GZ"]


def test_suffixes_of_either_case_are_no_part_of_a_label(tmp_path: Path) -> None:
    file = csv(tmp_path / "North.CSV", "a,b\n" + "1,2\n2,1\n" * 5)
    assert [site.label for site in simulation(Experiment.of(sites=(file,))).sites] == ["North"]


def test_files_of_the_same_name_get_numbers(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    files = tuple(
        csv(tmp_path / f / "data.csv", "a,b\n" + "1,2\n2,1\n" * many)
        for f, many in (("one", 5), ("two", 6))
    )
    assert [s.label for s in simulation(Experiment.of(sites=files)).sites] == ["1 data", "2 data"]


def test_what_a_deployed_site_would_refuse_is_said_in_a_simulation(tmp_path: Path) -> None:
    rows = [f"p{i},{'yn'[i % 2]}" for i in range(30)]
    files = (csv(tmp_path / "north.csv", "\n".join(["id,b", *rows])),)
    with pytest.warns(FedbnWarning) as said:
        simulation(Experiment.of(sites=files))
    words = "a deployed site would refuse: column 'id' has 30 states in 30 rows; to name it"
    assert any(words in str(each.message) for each in said)


@pytest.mark.filterwarnings("always::fedbn.errors.FedbnWarning")
def test_a_site_s_own_file_binds_in_a_simulation_as_where_it_is_deployed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Decision 021: a bare table has nobody who decides, so it is warned of, and goes on."""
    files = []
    for name in ("north", "south"):
        rows = [f"{name}{i},{'yn'[i % 2]}" for i in range(29)] + ["both,n"]
        files.append(csv(tmp_path / f"{name}.csv", "\n".join(["id,b", *rows])))
        (tmp_path / f"{name}.toml").write_text(f"table = '{name}.csv'\n")
    bare = Experiment.of(sites=tuple(files), engine="in-process")
    with pytest.warns(FedbnWarning, match="a deployed site would refuse"):
        assert len(run_experiment(bare).result.refused) == 0
    decided = bare.change(sites=tuple(file.replace(".csv", ".toml") for file in files))
    words = "handshake: client 1: refused by this site's policy: states"
    with pytest.raises(QuorumError, match=words):
        run_experiment(decided)
    assert 'allow-states = ["id"] under [policy]' in caplog.text
    mixed = bare.change(sites=(files[0], decided.data.sites[1]))
    with pytest.warns(FedbnWarning, match=r"north\.csv: a deployed site would refuse: column 'id'"):
        (refused,) = run_experiment(mixed).result.refused
    assert refused[1].endswith("policy: states")


def test_what_cannot_be_made_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="101 clients, 100 rows"):
        tables_of(
            Experiment.of(table=csv(tmp_path / "t.csv", "a,b\n" + "1,2\n2,1\n" * 50), clients=101)
        )
    with pytest.raises(ConfigError, match="must name its data"):
        local_site(Experiment(), {"partition-id": 0})
    with pytest.raises(ConfigError, match="below 4, the number of clients, not 4"):
        local_site(ASIA, {"partition-id": 4})
    with pytest.raises(ConfigError, match="needs data"):
        simulation(Experiment())
    with pytest.raises(ConfigError, match="is none"):
        site_files(Experiment.of(sites_dir=str(tmp_path / "nowhere")))
    (tmp_path / "void").mkdir()
    with pytest.raises(ConfigError, match="has none"):
        site_files(Experiment.of(sites_dir=str(tmp_path / "void")))
    with pytest.raises(ConfigError, match="gaussian data"):
        simulation(ASIA.change(learner=LearnerSettings(score="bge")))
    with pytest.raises(SchemaError, match="smoking"):
        simulation(ASIA.change(partition="column", partition_column="smoking"))
    with pytest.raises(DataError, match="held-out rows must leave some"):
        simulation(
            Experiment.of(table=csv(tmp_path / "u.csv", "a,b\n1,2\n2,1\n"), clients=1, test_rows=2)
        )
