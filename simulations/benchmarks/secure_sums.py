"""Secure sums on given structures: equality with the open run, rounds, bytes and CPU per site.

    python -m simulations.benchmarks.secure_sums alarm.r100.txt.gz --first 10

Every DAG is a site of its own; masks are on. `up` are the masked bytes that one site sends, `down`
those of the requests that it gets.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import typer

from fedbn.arrays import Masked
from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.pooling import Robust, poolings_of, select_among
from fedbn.graphs.dag import DAG
from fedbn.secure.masks import unmasked_sum
from fedbn.secure.path import secure_path
from fedbn.secure.requests import SumRequest, to_bytes
from fedbn.secure.selection import secure_consensus
from fedbn.secure.session import Member, Terms
from fedbn.secure.site import Site, begin, join, reply
from simulations.inputs import read_inputs

T = TypeVar("T")
Watch = Callable[[bytes, Sequence[Masked]], None]


@dataclass
class Cost:
    """What a run cost: rounds of sums, bytes and CPU seconds of one site (their mean)."""

    rounds: int = 0
    up: int = 0
    down: int = 0
    site_seconds: float = 0.0


def cohort(
    sites: Sequence[Site],
    *,
    aggregation: str = "secure-sums",
    k_max: int = 10,
    quorum: int = 1,
    poolings: tuple[str, ...] = ("mean", "clip"),
    units: int = 1,
) -> tuple[Site, ...]:
    """The sites in one run, as they are after they were told its terms."""
    members = [Member(f"site {i:03}", site.key.public.hex()) for i, site in enumerate(sites)]
    terms = Terms(
        run="1",
        schema="00" * 32,
        aggregation=aggregation,
        units=units,
        k_max=k_max,
        quorum=quorum,
        poolings=poolings,
        members=tuple(members),
    )
    return tuple(join(site, terms) for site in sites)


def masked_run(
    search: Generator[SumRequest, Any, T], sites: Sequence[Site], watch: Watch | None = None
) -> tuple[T, Cost]:
    """Drive a search over sites of one cohort in this process; what it finds and what it cost.

    watch : called with the bytes of every request and the masked replies: all that a server sees.
    """
    cost, joined = Cost(), list(sites)
    assert joined[0].terms is not None
    session = joined[0].terms.session
    try:
        request = next(search)
        while True:
            cost.rounds += 1
            data = to_bytes(request, session, cost.rounds)
            parts = []
            began = time.process_time()
            for number, site in enumerate(joined):
                part, joined[number] = reply(site, data)
                parts.append(part)
            cost.site_seconds += (time.process_time() - began) / len(joined)
            cost.up += parts[0].nbytes
            cost.down += len(data)
            if watch is not None:
                watch(data, parts)
            request = search.send(unmasked_sum(parts))
    except StopIteration as end:
        return end.value, cost


def compare(dags: Sequence[DAG], look_ahead: int, robust: Robust) -> dict[str, Any]:
    """The secure and the open path of the same DAGs, one site each."""
    names = tuple(sorted(dags[0].names))
    sites = [begin([dag.reorder(names)], [1.0]) for dag in dags]
    joined = cohort(sites, poolings=poolings_of(robust))
    search = secure_path(names, len(dags), 1, look_ahead=look_ahead, robust=robust)
    path, cost = masked_run(search, joined)
    plain = mcbnc_paths(dags, poolings=poolings_of(robust))
    (_, ours), (_, theirs) = secure_consensus(path), select_among(plain)
    return {
        "sites": len(dags),
        "variables": len(names),
        "edges of G+": path.branches[0].union.n_edges,
        "equal paths": all(
            (branch.order, branch.union, branch.steps) == (other.order, other.union, other.steps)
            for branch, other in zip(path.branches, plain, strict=True)
        ),
        "equal consensus": ours.dag == theirs.dag and ours.gap == theirs.gap,
        "rounds, with that of the keys": cost.rounds + 1,
        "up, MB per site": cost.up / 1e6,
        "down, MB per site": cost.down / 1e6,
        "CPU, ms per site and round": 1000 * cost.site_seconds / cost.rounds,
    }


def main(
    file: Annotated[Path, typer.Argument(help="Several DAGs in one file, as `fedbn fuse` reads.")],
    first: Annotated[int | None, typer.Option(min=1, help="Use only the first R DAGs.")] = None,
    look_ahead: Annotated[int, typer.Option(min=0, max=16, help="Choices guessed ahead.")] = 8,
    robust: Annotated[str, typer.Option(help="best, mean or clip.")] = "best",
) -> None:
    """Run secure sums over the DAGs of a file, with masks, and print what it took."""
    entries = read_inputs([file], nodes=None, first=first, weights=None)
    dags, pooled = [entry.dag for entry in entries], cast(Robust, robust)
    compare(dags[:2], 0, pooled)
    for name, value in compare(dags, look_ahead, pooled).items():
        print(f"{name:30} {value:.3f}" if isinstance(value, float) else f"{name:30} {value}")


if __name__ == "__main__":
    typer.run(main)
