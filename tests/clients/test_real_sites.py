"""All attacks on real tables whose file `fedbn site new` wrote, and nobody edited."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest
from flwr.app import Array, ArrayRecord

from fedbn.data.schema import Schema
from fedbn.federation.message import STRUCTURES, StructureMessage, from_arrays, to_arrays
from fedbn.federation.settings import Experiment
from fedbn.graphs.dag import DAG
from fedbn.graphs.moral import moral_graph
from fedbn.learners import LearnerSettings
from simulations.benchmarks.sites.deployed_site import ANSWERED, DeployedSite, arrays_of, task, word
from simulations.commands.new_site import site_text
from tests.clients.attacks_on_sites import (
    answers_at_once,
    groups_by_failures,
    moral_graph_of,
    numbers_by_histograms,
    rows_by_differences,
    rows_by_skipped_lines,
    states_by_cuts,
    words_of_forms,
)

pytestmark = pytest.mark.filterwarnings("ignore::fedbn.errors.FedbnWarning")


def cancer() -> pd.DataFrame:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer(as_frame=True)
    named = data.target.map(dict(enumerate(data.target_names.tolist())))
    frame: pd.DataFrame = data.data.assign(diagnosis=named)
    return frame


def voters() -> pd.DataFrame:
    from statsmodels.datasets import anes96

    frame: pd.DataFrame = anes96.load_pandas().data
    return frame


def marriages() -> pd.DataFrame:
    from statsmodels.datasets import fair

    frame: pd.DataFrame = fair.load_pandas().data
    return frame


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    "cancer": cancer,
    "voters": voters,
    "marriages": marriages,
}


@pytest.fixture(params=TABLES, scope="module")
def attacked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[DeployedSite, pd.DataFrame]]:
    """A deployed site, and its table with record numbers before all columns."""
    frame = TABLES[request.param]()
    frame.insert(0, "record", np.random.default_rng(1).permutation(len(frame)) + 100_000)
    folder = tmp_path_factory.mktemp(request.param)
    text = frame.to_csv(index=False)
    (folder / "north.csv").write_text(text)
    site = DeployedSite(folder, text, site_text(folder / "north.csv", name="north"))
    assert site.refusal == ""
    logging.disable(logging.ERROR)
    yield site, frame
    logging.disable(logging.NOTSET)


@pytest.fixture
def site(attacked: tuple[DeployedSite, pd.DataFrame]) -> DeployedSite:
    """The site with all its answers before it: no attack fails for the last one's messages."""
    site = attacked[0]
    site.table.with_name("north.csv.disclosures.jsonl.budget").unlink(missing_ok=True)
    return site


def told_schema(site: DeployedSite) -> Schema:
    described = site.send(Experiment(), "query").content["schema"]
    return Schema.from_dict(json.loads(str(described["text"])))


@pytest.mark.slow
def test_1_and_2_histograms_and_lines_give_nothing(
    site: DeployedSite, attacked: tuple[DeployedSite, pd.DataFrame]
) -> None:
    columns = attacked[1].select_dtypes("number").columns
    records = attacked[1]["record"].head(2).tolist()
    assert numbers_by_histograms(site) == {}
    assert rows_by_differences(site, {name: {0: 1} for name in columns}, records) == []
    assert rows_by_skipped_lines(site, range(1, 6)) == []
    assert words_of_forms(site) == {"contract"}
    assert "record" not in told_schema(site).names


@pytest.mark.slow
def test_3_a_private_run_is_no_oracle(site: DeployedSite) -> None:
    schema = told_schema(site)
    states = [variable for variable in schema.variables if variable.cuts is None]
    groups, last = states[0], schema.variables[-1]
    other = (last.name, (last.states or ("",))[0])
    said = groups_by_failures(site, list(groups.states or ()), groups.name, other)
    assert len(set(said.values())) == 1
    assert ANSWERED not in said.values()
    assert not site.table.with_name("north.csv.privacy.jsonl").exists()


@pytest.mark.slow
def test_4_cut_points_a_row_apart_give_nobody(
    site: DeployedSite, attacked: tuple[DeployedSite, pd.DataFrame]
) -> None:
    schema = told_schema(site)
    number = next(each for each in schema.variables if each.cuts is not None)
    state = next(each for each in schema.variables if each.cuts is None)
    values = np.unique(attacked[1][number.name].to_numpy())
    pairs = list(zip(values[3:6].tolist(), values[4:7].tolist(), strict=True))
    assert states_by_cuts(site, pairs, number.name, state) == []
    (own,) = (number.cuts or ())[:1]
    assert states_by_cuts(site, [(own, own)], number.name, state) == []


@pytest.mark.slow
def test_5_and_6_no_moments_no_tables_and_no_more_than_the_class(site: DeployedSite) -> None:
    schema = told_schema(site)
    dag = DAG.empty(schema.names)
    asked = to_arrays(StructureMessage(schema.hash, schema.names, (dag,), (1.0,), "complete"))
    content = task(schema)
    content["consensus"] = ArrayRecord({key: Array(array) for key, array in asked.items()})
    for score in ("bdeu", "gaussian-bic", "bge"):
        run = Experiment.of(learner=LearnerSettings(score=score))
        assert word(site.send(run, "query.moments", content)) == "counts"
    trained = site.send(Experiment(), "train", task(schema))
    assert word(trained) == ANSWERED
    assert set(trained.content["structures"]) == set(STRUCTURES.keys)
    (told,) = from_arrays(arrays_of(trained, "structures"), schema).dags
    votes = [int(each) for each in moral_graph_of(site, schema).split()]
    moral = moral_graph(told)
    assert votes == moral[np.triu_indices(schema.n, 1)].astype(int).tolist()


@pytest.mark.slow
def test_7_messages_that_arrive_together_share_one_budget(site: DeployedSite) -> None:
    words = answers_at_once(site, 54)
    assert (words.count(ANSWERED), words.count("max-messages")) == (50, 4)
