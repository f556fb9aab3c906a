"""One site that adds states to every column: the others learn as without it."""

import json

import numpy as np

from fedbn.api.simulation import simulate
from fedbn.data.dataset import Dataset
from fedbn.data.schema import Schema
from fedbn.federation.checkpoint import Checkpoint, checkpoint_text, read_checkpoint
from fedbn.federation.rounds import client_round
from fedbn.federation.run_config import to_run_config
from fedbn.federation.settings import Experiment
from fedbn.federation.state import ServerState
from fedbn.learners import LearnerSettings
from fedbn.results.report import write_results

NAMES = "abcd"
STATES = ("0", "1")
ADDED = tuple(f"z{k}" for k in range(10))


def chain(seed: int, rows: int = 150) -> np.ndarray:
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=(rows, 4))
    for j in range(1, 4):
        codes[:, j] = np.where(rng.random(rows) < 0.25, codes[:, j], codes[:, j - 1])
    return codes


def sites(added: tuple[str, ...]) -> dict[str, Dataset]:
    honest = Schema.categorical(dict.fromkeys(NAMES, STATES))
    wide = Schema.categorical(dict.fromkeys(NAMES, STATES + added))
    found = {f"site {k}": Dataset(honest, chain(k)) for k in range(9)}
    extra = np.repeat(np.arange(2, 2 + len(added))[:, None], 4, axis=1)
    return found | {"tenth": Dataset(wide, np.concatenate([chain(9), extra]))}


def test_nine_honest_sites_are_not_silenced() -> None:
    without = simulate(sites(()), learner="hc", score="bic", seed=1)
    attacked = simulate(sites(ADDED), learner="hc", score="bic", seed=1)
    honest = [reply.dags for reply in without.result.replies[:9]]
    assert [reply.dags for reply in attacked.result.replies[:9]] == honest
    assert attacked.dag.n_edges == without.dag.n_edges == 3


def test_a_given_schema_is_the_law() -> None:
    schema = Schema.categorical(dict.fromkeys(NAMES, STATES + ADDED))
    data = Dataset(Schema.categorical(dict.fromkeys(NAMES, STATES)), chain(0))
    settings, rng = LearnerSettings(learner="hc", score="bic"), np.random.default_rng(0)
    message, _ = client_round(data, schema, settings, rng)
    assert message.dags[0].n_edges == 3
    assert message.schema_hash == schema.hash
    message, _ = client_round(data, schema, settings, rng, given=True)
    assert message.dags[0].n_edges == 0


def test_lone_states_are_listed(tmp_path) -> None:
    attacked = simulate(sites(ADDED[:2]), learner="hc", score="bic", seed=1)
    expected = tuple(("tenth", name, state) for name in NAMES for state in ADDED[:2])
    assert attacked.result.lone_states == expected
    write_results(attacked.outcome, tmp_path / "out", run={}, figures=False)
    listed = json.loads((tmp_path / "out" / "run.json").read_text())["lone_states"]
    assert listed[0] == {"client": "tenth", "column": "a", "state": "z0"}
    assert len(listed) == len(expected)
    state = ServerState(attacked.result.schema, 10, (), attacked.result, expected)
    text = checkpoint_text(Checkpoint(to_run_config(Experiment()), state))
    assert read_checkpoint(text, "here").state.lone_states == expected
