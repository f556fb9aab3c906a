"""The command `fedbn budget`: what private runs have spent on a site's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fedbn.errors import ResultsError
from simulations.options import Json


def budget(
    ledger: Annotated[Path, typer.Argument(help="A ledger: TABLE.privacy.jsonl.")],
    delta: Annotated[float, typer.Option(help="The δ at which ε is stated.")] = 1e-6,
    max_epsilon: Annotated[
        float | None, typer.Option(help="Also show what is left below this ε.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what the private runs of a ledger have spent together, and what is left.

    ε is per row of one site's table (one row added or removed), whoever sees the structures: the
    server, other sites, the public. The costs of runs are added up in zCDP: two runs of ε 1 cost
    less than ε 2 together. A run counts from the moment it was reserved, whether it ended or not.
    """
    from simulations.terminal import print_json, print_table, rows_table

    content = budget_of(ledger, delta, max_epsilon)
    if as_json:
        print_json(content)
        return
    runs = content.pop("runs")
    print_table(rows_table(("of all runs", ""), [(k, _show(v)) for k, v in content.items()]))
    if runs:
        rows = [tuple(_show(value) for value in run.values()) for run in runs]
        print_table(rows_table(tuple(runs[0]), rows))


def budget_of(ledger: Path, delta: float, max_epsilon: float | None) -> dict[str, Any]:
    """The content of the answer; raises ResultsError where there is no ledger, or a torn one."""
    from fedbn.privacy.guarantee import ADJACENCY, THREATS, UNIT
    from fedbn.privacy.ledger import Ledger
    from fedbn.privacy.zcdp import rho_of

    if not ledger.exists():
        raise ResultsError(f"there is no ledger {ledger}: no private run has been reserved in it")
    read = Ledger.read(ledger)
    left = None if max_epsilon is None else max(0.0, rho_of(max_epsilon, delta) - float(read.spent))
    runs = [
        {
            "time": entry.time,
            "run": entry.run,
            "round": entry.round,
            "table": entry.table[:12],
            "mechanism": entry.mechanism,
            "rho": entry.rho,
        }
        for entry in read.entries
    ]
    return {
        "ledger": str(ledger),
        "epsilon": read.epsilon(delta),
        "delta": delta,
        "unit": UNIT,
        "adjacency": ADJACENCY,
        "threats": THREATS,
        "rho": float(read.spent),
        "max-epsilon": max_epsilon,
        "left-rho": left,
        "left-epsilon": _epsilon_of_a_run(left, delta),
        "tables": len(read.tables),
        "runs": runs,
    }


def _epsilon_of_a_run(rho: float | None, delta: float) -> float | None:
    """The ε that one more run may have."""
    from fedbn.privacy.zcdp import epsilon_of

    return None if rho is None else epsilon_of(rho, delta)


def _show(value: Any) -> str:
    """As text: four digits of a number, which --json has whole."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
