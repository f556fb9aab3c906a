"""What a client sends of its credible set."""

import numpy as np
import pytest

from fedbn.credible.client import credible_structures
from fedbn.learners import LearnerSettings, learn
from fedbn.limits import NOTHING_MET, Limit
from tests import naive_credible as naive


def test_one_dag_per_class_with_weights_that_sum_to_one() -> None:
    data = naive.table(np.random.default_rng(31), 40, [2, 2, 3, 2], copied=False)
    sent = credible_structures(data, "bic", bayes_factor=150.0, max_dags=3)
    assert sent.met == NOTHING_MET
    assert len(sent.dags) == len(naive.class_sizes(list(sent.dags))) <= 3
    assert sum(sent.weights) == pytest.approx(1.0)
    assert sent.weights == tuple(sorted(sent.weights, reverse=True))
    whole = credible_structures(data, "bic", bayes_factor=150.0, max_dags=10_000)
    assert whole.dropped == pytest.approx(0.0, abs=1e-12)
    if len(whole.dags) > 3:
        assert sent.dropped == pytest.approx(1.0 - sum(whole.weights[:3]))


@pytest.mark.slow
def test_out_of_reach_is_said() -> None:
    data = naive.table(np.random.default_rng(32), 40, [2] * 8, copied=False)
    sent = credible_structures(data, "bic", memory=1000)
    assert Limit.FALLBACK in sent.met
    assert "MiB" in sent.reason
    assert "6 neighbours" in sent.reason
    assert sum(sent.weights) == pytest.approx(1.0)
    capped = credible_structures(data, "bic", max_parents=1)
    assert capped.met == {Limit.PARENTS}  # the cap is the user's own


def test_the_learner_of_the_table() -> None:
    data = naive.table(np.random.default_rng(33), 60, [2, 2, 2], copied=False)
    learned = learn(data, LearnerSettings(learner="credible"), np.random.default_rng(0))
    direct = credible_structures(data, "bdeu")
    assert learned.dags == direct.dags
    assert learned.weights == direct.weights
    assert learned.status == "complete"
