"""What a reader of a consensus must be told: sentences, the same in every output."""

from __future__ import annotations

from fedbn.consensus.far_inputs import far_from
from fedbn.consensus.judges import judges_of, never_together, variables_of_one
from fedbn.consensus.path import DeletionPath, McbncPath
from fedbn.consensus.threshold import Consensus
from fedbn.consensus.votes import divided_pairs
from fedbn.fusion.inputs import MergedInputs
from fedbn.wording import count_of, list_some

PAIRS_NAMED, APART_NAMED = 10, 20
DIVIDED_SITES = 4


def remarks(path: DeletionPath, consensus: Consensus) -> tuple[str, ...]:
    """Warnings about a consensus on `path`: none where all is well.

    - A path was cut short by its limit of time or memory, and what the consensus is instead.
    - Every input joins a pair of variables that the consensus does not join.
    - Inputs are far from what the others agree on, and are ignored; or a limit was met before that
      was known.
    - Sites have different variables, and the consensus is what judges leave of the edge vote; or
      a limit was met before that was known.
    - At least `DIVIDED_SITES` inputs agree on little: a third of them would decide more pairs than
      there are variables.
    - A quorum kept rare arcs out of the fusions.
    - Sites have different variables: which pairs no site has both of, which variables one site
      alone has, and which edges no site could judge with all of what separates them.
    - The gap is more than half of the lower bound: a sign of an input that is unlike the others.
    """
    said = []
    if path.cut_short:
        said.append(_cut_short(path, consensus))
    if consensus.missing_pairs:
        named = ", ".join(f"{a} - {b}" for a, b in consensus.missing_pairs[:PAIRS_NAMED])
        more = len(consensus.missing_pairs) - PAIRS_NAMED
        rest = f" and {count_of(more, 'more pair')}" if more > 0 else ""
        lacking = isinstance(path, McbncPath) and path.inputs.observed is not None
        seen = " that has both variables" if lacking else ""
        said.append(f"the consensus does not join {named}{rest}, although every input does{seen}")
    if isinstance(path, McbncPath) and consensus.reading == "others":
        far = int(path.inputs.counts[far_from(consensus.state.dag, path.inputs)].sum())
        said.append(
            f"the consensus ignores {far} of {count_of(path.inputs.count, 'structure')}, which "
            f"{'is' if far == 1 else 'are'} far from what the others agree on (the readings search "
            "and refusion count all)"
        )
    if consensus.rest_cut_short:
        said.append(_rest_cut_short(path))
    if is_judged_vote(path, consensus):
        said.append(_ON_LED_AWAY if consensus.led_away else _ON_JUDGED_VOTE)
    if isinstance(path, McbncPath):
        said += _on_divided(path.inputs)
    if isinstance(path, McbncPath) and path.quorum > 1:
        said.append(
            f"the quorum kept arcs of fewer than {path.quorum} structures out of the fusion: it is "
            "not the union of all, and the consensus may lack edges that it would have without"
        )
    if isinstance(path, McbncPath):
        said += [*on_inputs(path.inputs), *_on_judges(path, consensus)]
    if consensus.gap > consensus.lower_bound / 2:
        said.append(
            "the consensus is far from the inputs: its mean SMHD to them is "
            f"{float(consensus.mean_smhd):.2f}, the lower bound only "
            f"{float(consensus.lower_bound):.2f}; look for inputs unlike the others, or try "
            "another pooling (robust)"
        )
    return tuple(said)


def on_inputs(inputs: MergedInputs) -> list[str]:
    """What follows from variables that not all sites have; nothing where all have the same."""
    if inputs.observed is None:
        return []
    said, apart = [], never_together(inputs)
    if apart:
        named = list_some([f"{a} - {b}" for a, b in apart], APART_NAMED, quoted=False)
        said.append(
            f"no site has both variables of {count_of(len(apart), 'pair')}: {named}; whether these "
            "are joined is not known, and a missing edge between them is no sign of independence"
        )
    alone = variables_of_one(inputs)
    if alone:
        said.append(
            f"only one site has {list_some(alone, PAIRS_NAMED)}: the edges of "
            f"{'this variable are' if len(alone) == 1 else 'these variables are'} that site's alone"
        )
    return said


def _on_judges(path: McbncPath, consensus: Consensus) -> list[str]:
    """Edges that no site could judge with all that may separate their ends."""
    if path.inputs.observed is None:
        return []
    joined = {frozenset(edge) for edge in consensus.dag.edges}
    unjudged = [f"{step.x} - {step.y}" for step, judges in judges_of(path)
                if judges.lacking and frozenset((step.x, step.y)) in joined]  # fmt: skip
    if not unjudged:
        return []
    return [
        f"{count_of(len(unjudged), 'edge')} of the consensus could be tested by no site with all "
        "variables that may separate its ends, or by fewer sites than min-judges: "
        f"{list_some(sorted(unjudged), PAIRS_NAMED, quoted=False)}"
    ]


def _rest_cut_short(path: DeletionPath) -> str:
    if isinstance(path, McbncPath) and path.inputs.observed is not None:
        return (
            "the limit of time or memory ended the search for the edge vote without the edges that "
            "judges separate, and no judges of pairs chose: another structure may be much nearer"
        )
    return (
        "some inputs are far from the consensus, and the limit of time or memory ended the search "
        "for what the others agree on: no input is ignored"
    )


def is_judged_vote(path: DeletionPath, consensus: Consensus) -> bool:
    """Whether a consensus is what judges leave of the edge vote (`fedbn.consensus.judged_vote`), or
    what the votes of judges elect (`fedbn.consensus.votes_of_judges`)."""
    if consensus.reading != "vote" or not isinstance(path, McbncPath):
        return False
    return path.inputs.observed is not None and not path.cut_short


_ON_JUDGED_VOTE = (
    "the consensus is the edge vote without the edges that judges separate, or what the sites "
    "elect that judge a pair: it is nearer to the judges of pairs, or much nearer to all sites, "
    "than what the path gives (the readings search and refusion keep to the path)"
)


_ON_LED_AWAY = (
    "what the judges of pairs prefer is far from half of the sites, so the consensus is the edge "
    "vote without the edges that judges separate: a few structures may be false and have led the "
    "path away"
)


def _on_divided(inputs: MergedInputs) -> list[str]:
    if inputs.observed is not None or inputs.count < DIVIDED_SITES:
        return []
    divided = divided_pairs(inputs)
    if divided <= len(inputs.names):
        return []
    return [
        f"the inputs agree on little: on {divided} pairs of variables a third of them could turn "
        "the majority, so a few hostile or unusual sites can change much"
    ]


def _cut_short(path: DeletionPath, consensus: Consensus) -> str:
    ends = [(path.pooling, path.status), *path.rivals]
    stopped = " and ".join(f"{pooling} ({status})" for pooling, status in ends if _is_cut(status))
    source = f"a state of the path {consensus.pooling}"
    if consensus.reading == "vote":
        source = "the edge vote of the inputs"
    return f"the search was cut short, path {stopped}: the consensus is {source}, not the best one"


def _is_cut(status: str) -> bool:
    return status in ("time limit", "memory limit")
