"""What counts chose, as a part of the result and of its JSON text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_type_hints

import numpy as np

from fedbn.choice.by_counts import CountedChoice, counted_families
from fedbn.choice.candidates import cells_of
from fedbn.consensus.threshold import Consensus
from fedbn.consensus.votes import mean_smhd_by_votes, votes_of
from fedbn.data.schema import Schema
from fedbn.federation.state import FederationResult
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd
from fedbn.networks.family_counts import Family, FamilyCounts, FamilyTables
from fedbn.wire.texts import plain, reader_of

_NOTED = ("unheard", "pivotal", "moved", "cut_short", "unguarded", "stands")
"""Fields that say how the choice came about."""

_READERS = {
    name: reader_of(kind)
    for name, kind in get_type_hints(CountedChoice).items()
    if name not in ("dag", "counts")
}
"""What reads the other fields; each has the name of its key."""


def with_choice(result: FederationResult, choice: CountedChoice) -> FederationResult:
    """The result with the structure that counts chose as its consensus. The certificate is that of
    the class of the best candidate: how near the structure is to the class's inputs."""
    fused = next(each for each in result.classes if each.row_weight == choice.row_weight)
    inputs = fused.path.inputs
    if choice.moves is None:
        distance = mean_smhd(choice.dag, inputs.dags, inputs.weights)
    else:
        distance = mean_smhd_by_votes(choice.dag, votes_of(inputs))
    return replace(
        result,
        path=fused.path,
        consensus=counted_consensus(fused.consensus, choice, distance),
        row_weight=choice.row_weight,
        choice=choice,
    )


def counted_consensus(consensus: Consensus, choice: CountedChoice, distance: Fraction) -> Consensus:
    """A consensus with the structure that counts chose, and its mean SMHD to the inputs."""
    return replace(
        consensus,
        dag=choice.dag,
        theta=None,
        reading="counts",
        mean_smhd=distance,
        gap=distance - consensus.lower_bound,
    )


def choice_facts(choice: CountedChoice, schema: Schema) -> dict[str, Any]:
    """What `run.json` and the command's JSON say of the counts."""
    names = choice.dag.names
    return {
        **_as_json(choice, "score" if choice.moves is None else "moves"),
        **_as_json(choice, "requests", "families", "cells", "sites", *_NOTED),
        "left_out": [
            {
                "variable": names[family.node],
                "parents": [names[p] for p in family.parents],
                "cells": cells_of(schema, family),
                "in_consensus": family in choice.uncounted,
            }
            for family in choice.left_out
        ],
        "without_score": _words(choice.unscored, names),
        **({} if choice.moves is None else {"without_site": _words(choice.unjudged, names)}),
    }


def _words(families: Iterable[Family], names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"variable": names[node], "parents": [names[p] for p in parents]}
        for node, parents in families
    ]


def _as_json(choice: CountedChoice, *fields: str) -> dict[str, Any]:
    """Fields of a choice as JSON has them."""
    return {name: plain(getattr(choice, name)) for name in fields}


def choice_to_dict(choice: CountedChoice) -> dict[str, Any]:
    """Ready for JSON; exact."""
    counts = {}
    if choice.counts is not None:
        counts = {key: getattr(choice.counts, key).tolist() for key in ("places", "counts")}
    return {
        **_as_json(
            choice, "score", "row_weight", "candidate_score", "requests", "families", "cells"
        ),
        "edges": choice.dag.arcs.tolist(),
        **_as_json(choice, "mechanisms", "left_out", "unscored", "unjudged"),
        **counts,
        **({} if choice.moves is None else _as_json(choice, "moves")),
        **_as_json(choice, "sites", "rows", *_NOTED),
    }


def choice_from_dict(content: Mapping[str, Any], schema: Schema) -> CountedChoice:
    """The inverse of `choice_to_dict`; fields that an older version did not write have their
    defaults.

    Raises
    ------
    KeyError, TypeError, ValueError, FedbnError : the content is not as above.
    """
    dag = DAG.from_arcs(schema.names, content["edges"])
    given = {name: read(content[name]) for name, read in _READERS.items() if name in content}
    counts = None
    if "moves" not in given and schema.kind == "categorical":
        tables = FamilyTables(schema, counted_families(dag, given["left_out"]))
        arrays = (np.array(content[key], dtype=np.int64) for key in ("places", "counts"))
        counts = FamilyCounts(tables, *arrays)
    return CountedChoice(dag=dag, counts=counts, **given)
