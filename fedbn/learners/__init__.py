"""Learners: a data set and settings in, weighted DAGs out."""

from fedbn.learners.learn import LearnedStructures, learn, learn_ladder
from fedbn.learners.learner import Certificate, Found, Learner
from fedbn.learners.settings import LearnerSettings
from fedbn.learners.table import LEARNERS, find_learner, kind_of_score, learner_for

__all__ = [
    "LEARNERS",
    "Certificate",
    "Found",
    "LearnedStructures",
    "Learner",
    "LearnerSettings",
    "find_learner",
    "kind_of_score",
    "learn",
    "learn_ladder",
    "learner_for",
]
