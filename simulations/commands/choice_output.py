"""What `fedbn simulate` says of row weights, counts and pooling."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from fedbn.federation.choice_record import choice_facts
from fedbn.wording import count_of, list_some
from simulations.pooled import pooled_reference

if TYPE_CHECKING:
    from fedbn.choice.by_counts import CountedChoice
    from fedbn.data.schema import Schema
    from fedbn.federation.settings import Experiment
    from fedbn.federation.state import FederationResult
    from fedbn.results.outcome import Outcome
    from simulations.run import ExperimentRun


def add_pooled(
    outcome: Outcome, run: ExperimentRun, result: FederationResult, experiment: Experiment
) -> Outcome:
    """The outcome with what pooling would have given."""
    tables = [site.dataset for site in run.simulation.sites]
    reference = pooled_reference(tables, result, experiment.learner, outcome.gold)
    return replace(outcome, pooled=reference)


def choice_json(
    result: FederationResult, experiment: Experiment, outcome: Outcome
) -> dict[str, Any]:
    """What the JSON says about row weights, counts and pooling."""
    pooled = outcome.pooled
    content: dict[str, Any] = {
        "row_weight": result.row_weight,
        "choose": experiment.consensus.choose,
        **counts_json(result.choice, result.schema),
    }
    if pooled is not None:
        edges = [list(edge) for edge in pooled.dag.edges]
        content["pooled"] = {"edges": edges, "closed": pooled.closed}
    return content


def counts_json(choice: CountedChoice | None, schema: Schema) -> dict[str, Any]:
    """What the JSON says about counts; nothing where there were none."""
    if choice is None:
        return {}
    mechanisms = [asdict(each) for each in choice.mechanisms]
    return {"counts": choice_facts(choice, schema), "mechanisms": mechanisms}


def print_choice(result: FederationResult) -> None:
    """In words: the row weight, and what counts said."""
    weights = {k for reply in result.replies for k in reply.row_weights}
    if len(weights) > 1:
        print(f"Row weight {result.row_weight:g} of {len(weights)} was taken.")
    print_counts(result.choice)


def print_counts(choice: CountedChoice | None) -> None:
    """In words: what counts said of the sites' mechanisms."""
    if choice is None:
        return
    own = [each.variable for each in choice.mechanisms if not each.shared]
    if choice.moves is not None:
        print(f"{_moves_words(choice)} {_asked_words(choice)}.")
        return
    print(
        f"Chosen by counts of {count_of(choice.families, 'family')} at "
        f"{count_of(len(choice.sites), 'site')}, "
        f"{count_of(choice.requests, 'request')}{_left_out(choice)}. The sites share the "
        f"mechanisms of {len(choice.mechanisms) - len(own)} of "
        f"{count_of(len(choice.mechanisms), 'variable')}."
    )
    if own:
        print(f"Each site has its own for {list_some(own, 8, quoted=False)}.")


def _moves_words(choice: CountedChoice) -> str:
    moves = choice.moves or ()
    if not moves:
        return "Counts left the structure as the structures chose it:"
    fewest = min(len(move.judges) for move in moves)
    return (
        f"Counts changed the structure by {count_of(len(moves), 'move')}, each judged by the sites "
        f"that have all its columns, at least {count_of(fewest, 'site')}:"
    )


def _asked_words(choice: CountedChoice) -> str:
    return (
        f"{count_of(choice.families, 'family')} counted at {count_of(len(choice.sites), 'site')}, "
        f"{count_of(choice.requests, 'request')}{_left_out(choice)}"
    )


def _left_out(choice: CountedChoice) -> str:
    said = ""
    if choice.left_out:
        said += f"; {count_of(len(choice.left_out), 'family')} beyond the limits of what is counted"
    if choice.unscored:
        said += f"; {count_of(len(choice.unscored), 'family')} without a score"
    if choice.unjudged:
        said += f"; {count_of(len(choice.unjudged), 'family')} that no site can count"
    return said
