"""Fuse structures into one consensus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fedbn.api.drawing import dag_axes, frame_of, network_html, new_axes
from fedbn.api.learning import Learned
from fedbn.api.plugins import name_for
from fedbn.api.progress import progress_bar
from fedbn.consensus.claimed_independences import Claim
from fedbn.consensus.path import DeletionPath
from fedbn.consensus.pooling import Robust
from fedbn.consensus.threshold import Reading
from fedbn.data.table import show
from fedbn.errors import ConfigError, StructureError
from fedbn.federation.fusions import FUSIONS, FusionFunction, fuse_weighted
from fedbn.federation.settings import ConsensusSettings
from fedbn.fusion.inputs import Variables
from fedbn.fusion.weights import checked_weights, integer_weights
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge, knowledge_of
from fedbn.graphs.known_class import class_of
from fedbn.graphs.pdag import PDAG
from fedbn.results.outcome import Client, Outcome
from fedbn.results.rows import ClientRow, EdgeRow, PathRow, client_rows, edge_rows, path_rows
from fedbn.results.summary import summarise
from fedbn.wording import count_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Fused:
    """A consensus and how it came about; `outcome` holds all of it."""

    outcome: Outcome

    @property
    def dag(self) -> DAG:
        """The consensus, names sorted."""
        return self.outcome.consensus.dag

    @property
    def cpdag(self) -> PDAG:
        """The equivalence class of `dag`, with the directions that the knowledge determines."""
        return class_of(self.dag, self.outcome.path.knowledge)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Independences that `dag` claims because knowledge parts a pair, against some site."""
        return self.outcome.claims

    @property
    def theta(self) -> Fraction | None:
        """The threshold θ that was chosen; None where nothing was deleted."""
        return self.outcome.consensus.theta

    @property
    def mean_smhd(self) -> Fraction:
        """Weighted mean SMHD of `dag` to the inputs, exact."""
        return self.outcome.consensus.mean_smhd

    @property
    def lower_bound(self) -> Fraction:
        """No DAG at all has a smaller mean SMHD."""
        return self.outcome.consensus.lower_bound

    @property
    def gap(self) -> Fraction:
        """mean_smhd - lower_bound; 0 proves that no DAG is nearer."""
        return self.outcome.consensus.gap

    @property
    def path(self) -> DeletionPath:
        """Order, union G+ and every deletion with its criticality."""
        return self.outcome.path

    def edges_frame(self) -> pd.DataFrame:
        """One row per pair that an input or the consensus joins: who has it, when it goes."""
        return frame_of(EdgeRow, edge_rows(self.outcome))

    def path_frame(self) -> pd.DataFrame:
        """One row per θ: Ψ, edges, treewidth, distances."""
        return frame_of(PathRow, path_rows(self.outcome))

    def sites_frame(self) -> pd.DataFrame:
        """One row per site: its edges, and how far it is from the consensus."""
        return frame_of(ClientRow, client_rows(self.outcome))

    def plot_path(self, ax: Axes | None = None) -> Axes:
        """Mean SMHD over θ, the chosen one marked, on `ax` or a new pyplot figure; the axes."""
        from fedbn.results.plots import draw_smhd

        axes = ax or new_axes((5.4, 2.9))
        draw_smhd(axes, path_rows(self.outcome), summarise(self.outcome))
        return axes

    def plot(self, ax: Axes | None = None) -> Axes:
        """`dag` in layers, an edge the wider the more sites have it, on `ax` or on axes of a new
        pyplot figure; the matplotlib axes."""
        return dag_axes(self.dag, self._support(), ax)

    def _support(self) -> Mapping[tuple[str, str], float]:
        return self.outcome.edge_support(self.dag.edges)

    def _repr_html_(self) -> str:
        frame = self.edges_frame()
        kept = frame[frame.in_consensus][["parent", "child", "support"]]
        return network_html(self.dag, kept, repr(self), self._support())

    def __repr__(self) -> str:
        theta = "none" if self.theta is None else f"{float(self.theta):g}"
        return (
            f"Fused({count_of(len(self.outcome.clients), 'site')}: "
            f"{count_of(self.dag.n, 'node')}, {count_of(self.dag.n_edges, 'edge')}, "
            f"θ {theta}, mean SMHD {float(self.mean_smhd):g}, gap {float(self.gap):g})"
        )


def fuse(
    structures: Mapping[str, DAG | Learned] | Sequence[DAG | Learned],
    *,
    weights: Mapping[str, int | Fraction] | None = None,
    fusion: str | FusionFunction = "mcbnc",
    reading: Reading = "best",
    robust: Robust = "best",
    theta: Fraction | float | str | None = None,
    k_max: int = 10,
    quorum: int = 1,
    seconds: float | None = None,
    seed: int | None = None,
    knowledge: Knowledge | Mapping[str, Any] | str | Path | None = None,
    max_treewidth: int | None = None,
    variables: Variables = "same",
    min_sites: int = 1,
    min_judges: int = 1,
) -> Fused:
    """Fuse one structure per site, by MCBNC unless another fusion is asked for.

    Parameters
    ----------
    structures : site -> its DAG, or what it learned; all over the same names, in any order, unless
        `variables` says otherwise. Those of a list are called 1, 2, ...
    weights : site -> a positive int or Fraction; 1 each by default.
    fusion : mcbnc, union, intersection, vote, median, genetic-union, genetic-inputs; a name that
        was registered; or a function as `fedbn.register_fusion` takes.
    reading, theta : see `fedbn.consensus.threshold.select_consensus`.
    robust : see `fedbn.consensus.pooling`.
    k_max, quorum, seconds : see `fedbn.consensus.mcbnc.mcbnc_path`.
    seed : break ties at random; by name without it.
    knowledge : what the consensus keeps: a mapping with any of required, forbidden and tiers, or a
        file of them.
    max_treewidth : the most that `dag_treewidth` of the consensus may be.
    variables : "same", or "union" where sites have different variables: then who lacks one has no
        vote on its edges (docs/different-variables.md).
    min_sites : with "union", at least so many sites must have every variable.
    min_judges : see `fedbn.consensus.mcbnc.mcbnc_path`.

    Raises
    ------
    StructureError : no structure, something that is none, or other names at some site.
    ConfigError : a setting or a weight is out of range, weights are for other sites, or the
        knowledge contradicts itself or names another variable.
    PluginError : a fusion of somebody else failed, or gave what is no structure of these variables.

    Examples
    --------
    >>> edge, none = DAG.from_edges("ab", [("a", "b")]), DAG.empty("ab")
    >>> fuse({"north": edge, "south": edge, "east": none})
    Fused(3 sites: 2 nodes, 1 edge, θ none, mean SMHD 0.333333, gap 0)
    """
    structures = _check(structures, variables)
    sites = sorted(structures)
    entries = [_entry(structures[site]) for site in sites]
    own = _weights(sites, weights)
    shares = integer_weights([weight for _, weight in entries], [dags for dags, _ in entries])
    clients = tuple(
        Client(
            site,
            tuple(dag.reorder(sorted(dag.names)) for dag in dags),
            tuple(own[site] * Fraction(share, sum(of_site)) for share in of_site),
        )
        for site, (dags, _), of_site in zip(sites, entries, shares, strict=True)
    )
    weighted = [
        (d, s, c.label) for c in clients for d, s in zip(c.dags, c.shares, strict=True) if s > 0
    ]
    rng = None if seed is None else np.random.default_rng(seed)
    with name_for(FUSIONS, fusion) as name:
        rule = ConsensusSettings(
            fusion=name,
            reading=reading,
            robust=robust,
            k_max=k_max,
            quorum=quorum,
            seconds=seconds,
            max_treewidth=max_treewidth,
            known=None if knowledge is None else knowledge_of(knowledge),
            variables=variables,
            min_sites=min_sites,
            min_judges=min_judges,
        )
        dags, parts = [dag for dag, _, _ in weighted], [share for _, share, _ in weighted]
        owners = [site for _, _, site in weighted]
        with progress_bar("fedbn.fuse, deletions") as count:
            _, path, consensus = fuse_weighted(dags, parts, rule, rng, count, theta, owners)
    return Fused(Outcome(clients, path, consensus))


def _check(
    structures: Mapping[str, DAG | Learned] | Sequence[DAG | Learned], variables: Variables
) -> Mapping[str, DAG | Learned]:
    if isinstance(structures, list | tuple):
        width = len(str(len(structures)))
        structures = {f"{k:0{width}d}": each for k, each in enumerate(structures, start=1)}
    if not isinstance(structures, Mapping) or not structures:
        raise StructureError(
            f"fuse needs a mapping from sites to their structures, not {show(structures)}"
        )
    expected: tuple[str, ...] | None = None
    for site, structure in structures.items():
        if not isinstance(structure, DAG | Learned):
            raise StructureError(
                f"site {site!r}: a structure must be a DAG or what fedbn.learn found, not "
                f"{show(structure)}"
            )
        dag = structure if isinstance(structure, DAG) else structure.dag
        expected = expected or dag.names
        different = sorted(set(dag.names) ^ set(expected))
        if different and variables == "same":
            raise StructureError(
                f"all sites must have the same variables, but {different[0]!r} is not in all of "
                f"them (site {site!r}); variables='union' fuses structures over different ones"
            )
    return structures


def _entry(structure: DAG | Learned) -> tuple[tuple[DAG, ...], tuple[float, ...]]:
    """The DAGs of a site and their weights."""
    if isinstance(structure, DAG):
        return (structure,), (1.0,)
    return structure.dags, structure.weights


def _weights(
    sites: Sequence[str], weights: Mapping[str, int | Fraction] | None
) -> dict[str, Fraction]:
    if weights is None:
        return dict.fromkeys(sites, Fraction(1))
    different = sorted(set(sites) ^ set(weights))
    if different:
        raise ConfigError(f"there must be one weight for every site; see {different[0]!r}")
    checked = checked_weights([weights[site] for site in sites], len(sites))
    return dict(zip(sites, checked, strict=True))
