"""Learners: a name and a data set in, weighted DAGs out."""

from fedbn.learners.learn import (
    INNER_SOLVERS,
    ISOLATED,
    LEARNERS,
    PRICINGS,
    START_POINTS,
    STARTED,
    USERS,
    Certificate,
    Found,
    LearnedStructures,
    LearnerSettings,
    kind_of_score,
    learn,
    learner_named,
)

__all__ = [
    "INNER_SOLVERS",
    "ISOLATED",
    "LEARNERS",
    "PRICINGS",
    "STARTED",
    "START_POINTS",
    "USERS",
    "Certificate",
    "Found",
    "LearnedStructures",
    "LearnerSettings",
    "kind_of_score",
    "learn",
    "learner_named",
]
