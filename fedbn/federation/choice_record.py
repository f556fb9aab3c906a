"""What counts chose, as a part of the result and of its JSON text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedbn.choice.by_counts import CountedChoice, JudgedMove, Mechanism, counted_families
from fedbn.choice.candidates import cells_of
from fedbn.consensus.threshold import Consensus
from fedbn.consensus.votes import mean_smhd_by_votes, votes_of
from fedbn.data.schema import Schema
from fedbn.federation.state import FederationResult
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import mean_smhd
from fedbn.networks.family_counts import Family, FamilyCounts, FamilyTables

_PLAIN = (
    "score",
    "row_weight",
    "candidate_score",
    "requests",
    "families",
    "cells",
)


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
        **_worth(choice),
        "requests": choice.requests,
        "families": choice.families,
        "cells": choice.cells,
        "sites": list(choice.sites),
        "unheard": list(choice.unheard),
        "pivotal": list(choice.pivotal),
        "moved": choice.moved,
        "cut_short": choice.cut_short,
        "unguarded": choice.unguarded,
        "stands": choice.stands,
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


def _worth(choice: CountedChoice) -> dict[str, Any]:
    """The score; where sites have different columns and nothing has one, the moves."""
    if choice.moves is None:
        return {"score": choice.score}
    return {"moves": [asdict(each) for each in choice.moves]}


def choice_to_dict(choice: CountedChoice) -> dict[str, Any]:
    """Ready for JSON; exact."""
    counts = {}
    if choice.counts is not None:
        counts = {key: getattr(choice.counts, key).tolist() for key in ("places", "counts")}
    return {name: getattr(choice, name) for name in _PLAIN} | {
        "edges": choice.dag.arcs.tolist(),
        "mechanisms": [asdict(each) for each in choice.mechanisms],
        "left_out": [[node, list(parents)] for node, parents in choice.left_out],
        "unscored": [[node, list(parents)] for node, parents in choice.unscored],
        "unjudged": [[node, list(parents)] for node, parents in choice.unjudged],
        **counts,
        **({} if choice.moves is None else _worth(choice)),
        "sites": list(choice.sites),
        "rows": dict(choice.rows),
        "unheard": list(choice.unheard),
        "pivotal": list(choice.pivotal),
        "moved": choice.moved,
        "cut_short": choice.cut_short,
        "unguarded": choice.unguarded,
        "stands": choice.stands,
    }


def _families_from_list(content: Iterable[Any]) -> tuple[Family, ...]:
    return tuple(Family(node, tuple(parents)) for node, parents in content)


def choice_from_dict(content: Mapping[str, Any], schema: Schema) -> CountedChoice:
    """The inverse of `choice_to_dict`.

    Raises
    ------
    KeyError, TypeError, ValueError, FedbnError : the content is not as above.
    """
    dag = DAG.from_arcs(schema.names, content["edges"])
    left_out = _families_from_list(content["left_out"])
    counts = None
    moves = None
    if "moves" in content:
        moves = tuple(
            JudgedMove(**{**each, "judges": tuple(each["judges"])}) for each in content["moves"]
        )
    elif schema.kind == "categorical":
        tables = FamilyTables(schema, counted_families(dag, left_out))
        arrays = (np.array(content[key], dtype=np.int64) for key in ("places", "counts"))
        counts = FamilyCounts(tables, *arrays)
    mechanisms = (
        Mechanism(**{**each, "parents": tuple(each["parents"])}) for each in content["mechanisms"]
    )
    return CountedChoice(
        dag=dag,
        mechanisms=tuple(mechanisms),
        counts=counts,
        left_out=left_out,
        unscored=_families_from_list(content.get("unscored", ())),
        unjudged=_families_from_list(content.get("unjudged", ())),
        sites=tuple(str(site) for site in content["sites"]),
        rows={str(site): int(rows) for site, rows in content.get("rows", {}).items()},
        unheard=tuple(str(site) for site in content.get("unheard", ())),
        pivotal=tuple(str(site) for site in content.get("pivotal", ())),
        moved=int(content.get("moved", 0)),
        cut_short=bool(content.get("cut_short", False)),
        unguarded=bool(content.get("unguarded", False)),
        stands=bool(content.get("stands", False)),
        moves=moves,
        **{name: content[name] for name in _PLAIN},
    )
