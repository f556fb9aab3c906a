"""The report's first lines, in words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedbn.graphs.dag import DAG
from fedbn.graphs.directions import directed_words
from fedbn.wording import count_of

__all__ = ["headline", "number", "sentences"]


def headline(run: Mapping[str, Any], clients: int) -> str:
    """What was fused, in a few words."""
    settings = run.get("settings") or {}
    many = count_of(clients, "site") if clients else ""
    learner, score = settings.get("learner"), settings.get("score")
    how = f"{learner} with {score}" if learner and score else str(settings.get("method") or "")
    source = settings.get("network") or settings.get("table")
    what = Path(source).name if isinstance(source, str) and source != "none" else ""
    told = ", ".join(part for part in (many, how) if part) or "structures"
    return f"{what}: {told}" if what else told


def sentences(facts: Mapping[str, Any], dag: DAG, run: Mapping[str, Any]) -> list[str]:
    """What happened, for a reader who reads nothing else."""
    clients, opened = int(facts.get("clients", 0)), facts.get("open_directions")
    if opened is None:
        opened = list(directed_words(dag).values()).count("open")
    found = [
        f"{_whose(clients, facts.get('agreeing'))} a network of {count_of(dag.n, 'variable')} and "
        f"{count_of(dag.n_edges, 'edge')}{_open_words(opened, dag.n_edges)}.",
        _certificate(float(facts["mean_smhd"]), float(facts["lower_bound"])),
    ]
    if facts.get("smhd_to_gold") is not None:
        found.append(_against_gold(facts))
    privacy = run.get("privacy")
    if privacy:
        words_of = privacy.get("words") or "differentially private"
        found.append(f"The structures of the sites are {words_of}.")
    return found


def _whose(clients: int, agreeing: int | None) -> str:
    """The beginning of the first sentence: sites agree only where all sent this very class."""
    if not clients:
        return "The inputs give"
    if agreeing == clients > 1:
        return f"{count_of(clients, 'site')} agree on"
    return f"The consensus of {count_of(clients, 'site')} is"


def _open_words(opened: int, edges: int) -> str:
    """How many edges have no direction, as the end of a sentence."""
    if not edges:
        return ""
    if edges == 1:
        return f"; its direction is {'not ' if opened else ''}determined"
    if not opened:
        return "; all directions are determined"
    return f"; the direction of {opened} of them is not determined"


def _certificate(distance: float, bound: float) -> str:
    if distance == bound:
        return (
            f"Its mean distance to the sites' structures (SMHD) is {number(distance)}, and it is "
            "proven that no network is nearer."
        )
    return (
        f"No network can be nearer to the sites' structures than a mean distance (SMHD) of "
        f"{number(bound)}; this one is at {number(distance)}."
    )


def _against_gold(facts: Mapping[str, Any]) -> str:
    text = f"Its SMHD to the gold network is {number(facts['smhd_to_gold'])}"
    if facts.get("inputs_to_gold") is not None:
        text += f"; a site alone has {number(facts['inputs_to_gold'])} on average"
    if facts.get("pooled_to_gold") is not None:
        text += f", and learning from all rows pooled would have {number(facts['pooled_to_gold'])}"
    return f"{text}."


def number(value: Any, decimals: int = 2) -> str:
    """A number for a reader: with at most so many decimals.

    >>> number(3.0), number(0.333), number(0.12345, 4), number(None)
    ('3', '0.33', '0.1235', '-')
    """
    if value is None:
        return "-"
    return f"{float(value):,.{decimals}f}".rstrip("0").rstrip(".")
