"""Experiments from TOML files and options."""

from pathlib import Path

import pytest

from fedbn.errors import ConfigError
from fedbn.federation.settings import Experiment
from simulations.experiment import experiment_from, result_name, with_absolute_paths


def write(folder: Path, text: str) -> Path:
    path = folder / "experiment.toml"
    path.write_text(text)
    return path


def test_options_override_the_file_and_the_file_the_base(tmp_path: Path) -> None:
    config = write(tmp_path, 'network = "asia"\nclients = 3\nengine = "in-process"\n')
    experiment = experiment_from({"clients": 4}, config=config, base={"clients": 2, "rows": 9})
    assert experiment == Experiment.of(network="asia", clients=4, rows=9, engine="in-process")


def test_options_that_are_not_given_change_nothing() -> None:
    assert experiment_from({"rows": None, "seed": 5}) == Experiment.of(seed=5)


def test_paths_of_a_file_are_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n")
    config = write(tmp_path, 'sites = ["a.csv", "nowhere.csv"]\n')
    assert experiment_from({}, config=config).data.sites == (str(tmp_path / "a.csv"), "nowhere.csv")


def test_absolute_paths_leave_names_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.bif").write_text("")
    assert with_absolute_paths(Experiment.of(network="asia")).data.network == "asia"
    assert with_absolute_paths(Experiment.of(network="net.bif")).data.network == str(
        tmp_path / "net.bif"
    )
    sites = with_absolute_paths(Experiment.of(sites=("a.csv",), schema="s.json")).data
    assert (sites.sites, sites.schema) == ((str(tmp_path / "a.csv"),), str(tmp_path / "s.json"))


def test_results_are_named_after_their_source() -> None:
    assert result_name(Experiment.of(network="nets/mine.bif.gz")) == "mine"
    assert result_name(Experiment.of(sites=("a.csv", "b.csv"))) == "sites"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("networks = 'asia'", "unknown setting 'networks'; did you mean 'network'"),
        ("network = ", "is not valid TOML"),
        ("[data]\nnetwork = 'asia'", "settings are flat, but 'data' is a table"),
        ("learner = 'gse'", "unknown learner 'gse'"),
        ("score = 'bdue'", "unknown score 'bdue'"),
        ("engine = 'ray'", "unknown engine 'ray'"),
        ("processes = 'all'", "processes must be a whole number"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        experiment_from({}, config=write(tmp_path, text))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*No such file"):
        experiment_from({}, config=tmp_path / "nowhere.toml")
