"""What a run under secure sums leaves behind: the folder of `report.py` without the sites' rows.

`edges.csv` and `clients.csv` are not there, as nobody who writes them knows a site's structures.
`sums.json` and `learned.txt` say what the run cost and what the server has learned. A run of moral
votes alone has no path: the consensus, `run.json` and these two are all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedbn.consensus.threshold import Consensus
from fedbn.federation.secure_rounds import SecureResult, VotedConsensus, statements
from fedbn.graphs.dag import DAG
from fedbn.graphs.distances import shd, smhd
from fedbn.results.outcome import Outcome
from fedbn.results.page.content import NO_SITES
from fedbn.results.report import write_results, write_voted

if TYPE_CHECKING:
    from fedbn.networks.conditional_gaussian import Network


def outcome_of_sums(result: SecureResult, gold: DAG | None = None) -> Outcome | None:
    """The outcome for tables and figures; None of moral votes alone, which have no path."""
    if result.branch is None or not isinstance(result.consensus, Consensus):
        return None
    return Outcome.of_sums(result.branch, result.consensus, result, gold)


def sums_content(result: SecureResult) -> dict[str, Any]:
    """What the sums were, for JSON."""
    columns = dict(zip(result.clients, map(list, result.answered), strict=False))
    different = {"columns": columns, "never_together": list(map(list, result.unknown))}
    return {
        "sites": list(result.clients),
        **(different if columns else {}),
        "signed": result.signed,
        "quorum": 1 if result.path is None else result.path.quorum,
        "cost": asdict(result.cost),
        "learned": list(statements(result)),
    }


def voted_content(result: SecureResult, gold: DAG | None = None) -> dict[str, Any]:
    """The figures of a consensus of moral votes alone, for JSON."""
    consensus = result.consensus
    return {
        "clients": len(result.clients),
        "edges": consensus.dag.n_edges,
        "mean_smhd": float(consensus.mean_smhd),
        "lower_bound": float(consensus.lower_bound),
        "gap": float(consensus.gap),
        "smhd_to_gold": None if gold is None else smhd(consensus.dag, gold),
        "shd_to_gold": None if gold is None else shd(consensus.dag, gold),
    }


def write_sums(
    result: SecureResult,
    folder: str | Path,
    *,
    run: Mapping[str, Any],
    outcome: Outcome | None = None,
    gold: DAG | None = None,
    network: Network | None = None,
) -> Path:
    """Write the results folder and return its absolute path.

    Parameters
    ----------
    folder, run, network : as for `write_results`.
    outcome : of `outcome_of_sums`, or with held-out scores; made here by default.
    gold : the true DAG, where known.

    Raises
    ------
    ResultsError : the folder may not be replaced or cannot be written.
    """
    files = {
        "sums.json": _json(sums_content(result)),
        "schema.json": _json(result.schema.to_dict()),
        "learned.txt": "\n".join(statements(result)) + "\n",
    }
    whole = outcome or outcome_of_sums(result, gold)
    if whole is not None:
        return write_results(whole, folder, run=run, network=network, more=files)
    summary = voted_content(result, gold)
    assert isinstance(result.consensus, VotedConsensus)
    dag, refused = result.consensus.dag, result.refused
    return write_voted(
        dag,
        folder,
        run=run,
        summary=summary,
        refused=refused,
        network=network,
        more=files,
        missing=(NO_SITES,),
        knowledge=result.consensus.knowledge,
    )


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
