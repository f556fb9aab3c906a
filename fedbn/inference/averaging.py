"""One answer of several weighted networks.

P(X | e) = sum_k w_k P_k(X, e) / sum_k w_k P_k(e): the evidence counts in the weights, too, so that
a network under which the evidence is unlikely says less. (The mean of the networks' answers,
sum_k w_k P_k(X | e), is something else, and not the posterior of the mixture.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from fedbn.errors import ImpossibleEvidenceError, QueryError
from fedbn.inference.elimination import MAX_CELLS
from fedbn.inference.queries import Answer, query
from fedbn.networks.network import BayesianNetwork


def average_query(
    networks: Sequence[BayesianNetwork],
    weights: Sequence[float],
    ask: Sequence[str] | None = None,
    given: Mapping[str, str] | None = None,
    *,
    max_cells: int = MAX_CELLS,
) -> Answer:
    """The posterior marginals of the mixture of networks.

    Parameters
    ----------
    networks : at least one, all with the same variables and states.
    weights : one positive number per network, before the evidence; only ratios matter.
    ask, given, max_cells : as for `query`.

    Returns
    -------
    The answer; its `log_evidence` is that of the mixture.

    Raises
    ------
    QueryError : as for `query`, or the networks or weights are not as above. A network under which
        the evidence has probability 0 has no say; it is an error only if that is so for all.
    """
    require_weights(networks, weights)
    if any(network.schema != networks[0].schema for network in networks):
        raise QueryError("networks must have the same variables and states to be averaged")
    answers: list[tuple[float, Answer]] = []
    impossible = ""
    for network, weight in zip(networks, weights, strict=True):
        try:
            answer = query(network, ask, given, max_cells=max_cells)
        except ImpossibleEvidenceError as error:
            impossible = str(error)
            continue
        answers.append((math.log(weight) + answer.log_evidence, answer))
    if not answers:
        raise ImpossibleEvidenceError(impossible)
    return _mix(answers, math.log(math.fsum(weights)))


def require_weights(networks: Sequence[object], weights: Sequence[float]) -> None:
    """Raise QueryError unless there is a network, and a positive number for each."""
    if not networks or len(networks) != len(weights):
        raise QueryError(f"{len(networks)} networks need as many weights, not {len(weights)}")
    for weight in weights:
        if not (weight > 0 and math.isfinite(weight)):
            raise QueryError(f"the weight of a network must be a positive number, not {weight}")


def _mix(answers: Sequence[tuple[float, Answer]], log_weights: float) -> Answer:
    """The mixture of answers with log weights that have the evidence in them."""
    heaviest = max(log_weight for log_weight, _ in answers)
    shares = [math.exp(log_weight - heaviest) for log_weight, _ in answers]
    total = math.fsum(shares)
    posteriors = {
        name: {
            state: math.fsum(
                share * answer.posteriors[name][state]
                for share, (_, answer) in zip(shares, answers, strict=True)
            )
            / total
            for state in states
        }
        for name, states in answers[0][1].posteriors.items()
    }
    return Answer(posteriors, heaviest + math.log(total) - log_weights)
