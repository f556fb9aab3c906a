"""The one table of fusions: name -> how several DAGs become one, ours and other people's alike.

    def mine(dags, weights, rng, settings): ...

A fusion gets DAGs over the same names, sorted as text, and a positive exact weight for each; it
returns one DAG over these names, or a path of deletions from a union (`McbncPath`), on which θ is
then chosen as ever. A DAG is kept as it is: it has no path and no θ; the bound holds for it, too.
Only where knowledge is to be kept is it brought to that (`fedbn.fusion.known`). Some of ours take
DAGs over different names, too, and return one over all of them (the setting `variables`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from fedbn.consensus.mcbnc import mcbnc_paths
from fedbn.consensus.path import McbncPath
from fedbn.consensus.pooling import Robust, poolings_of, select_among
from fedbn.consensus.threshold import Consensus, Reading, select_consensus
from fedbn.data.table import show
from fedbn.errors import ConfigError, FedbnError, PluginError
from fedbn.federation.settings import ConsensusSettings
from fedbn.fusion.baselines import BASELINES, Baseline
from fedbn.fusion.genetic import genetic_inputs, genetic_union
from fedbn.fusion.inputs import MergedInputs, Variables, merge_inputs
from fedbn.fusion.known import brought_to
from fedbn.fusion.weights import Weight
from fedbn.graphs.dag import DAG
from fedbn.graphs.treewidth import dag_treewidth
from fedbn.learners.plugins import checked_dag, require_parameters
from fedbn.own_settings import with_own
from fedbn.registry import Registry, origin_of
from fedbn.wording import count_of, list_some

Progress = Callable[[int, int], None]
Made = DAG | tuple[McbncPath, ...]

FusionFunction = Callable[..., Any]
"""(DAGs, weights, rng, settings) -> a DAG or an McbncPath."""


@dataclass(frozen=True)
class FusionCall:
    """What a fusion is called with.

    Attributes
    ----------
    dags, weights : over the same names, sorted as text, or, with `settings.variables` "union", each
        over its own; positive and exact.
    sites : the site that each DAG comes from; None: each from another one.
    settings : of the server, with the fusion's own.
    rng : for fusions that are random; None: ties by name.
    progress : called as progress(deletions done, edges of G+), where there are deletions.
    """

    dags: tuple[DAG, ...]
    weights: tuple[Weight, ...]
    sites: tuple[Hashable, ...] | None
    settings: ConsensusSettings
    rng: np.random.Generator | None
    progress: Progress | None

    @property
    def variables(self) -> Variables:
        """Whether the DAGs are over the same names."""
        return cast(Variables, self.settings.variables)

    def merge(self) -> MergedInputs:
        """The distinct inputs."""
        return merge_inputs(self.dags, self.weights, self.variables, self.sites)


@dataclass(frozen=True)
class Fusion:
    """One way to make one DAG of several: `run` gives a DAG, or the paths among whose states the
    consensus is chosen; `own` is the class of its settings, which adds those of its own
    (`fedbn.own_settings`); `function` what somebody else wrote, None for fedbn's own."""

    run: Callable[[FusionCall], Made]
    own: type[ConsensusSettings] = ConsensusSettings
    function: FusionFunction | None = None


def fusion_of(
    name: str,
    function: Any,
    origin: str = "",
    *,
    settings: type[ConsensusSettings] = ConsensusSettings,
) -> Fusion:
    """The fusion that calls a function; raises ConfigError for what is none."""
    if isinstance(function, Fusion):
        return function
    of = f"fusion {name!r} ({origin or origin_of(function)})"
    require_parameters(function, 4, of)
    if not (isinstance(settings, type) and issubclass(settings, ConsensusSettings)):
        raise ConfigError(f"the settings of the {of} must derive from ConsensusSettings")
    return Fusion(partial(_checked_call, function, of), settings, function)


def require_fusion(settings: ConsensusSettings) -> tuple[Fusion, ConsensusSettings]:
    """The fusion that the settings name, and the settings with those of its own; raises ConfigError
    where there is none, or a setting of its own is not as it must be."""
    fusion, of = FUSIONS.find(settings.fusion), FUSIONS.describe(settings.fusion)
    return fusion, with_own(settings, fusion.own, ConsensusSettings, settings.own, of)


def fuse_weighted(
    dags: Sequence[DAG],
    weights: Sequence[Weight],
    settings: ConsensusSettings,
    rng: np.random.Generator | None = None,
    progress: Progress | None = None,
    theta: Any = None,
    sites: Sequence[Hashable] | None = None,
) -> tuple[tuple[McbncPath, ...], McbncPath, Consensus]:
    """All paths, the one that was taken, and the consensus of the fusion that the settings name.

    `sites` are those that each DAG comes from, for what counts sites; each is one by default. A
    fusion that gives a DAG has a path of no deletions, whose G+ is that DAG.

    Raises ConfigError: a setting is wrong, or θ is given and the fusion has none; PluginError:
    somebody else's fusion failed, or gave no DAG over these names.
    """
    fusion, whole = require_fusion(settings)
    if settings.variables == "union":
        require_sites(dags, settings.min_sites, sites)
        placed = tuple(dag.reorder(sorted(dag.names)) for dag in dags)
    else:
        names = tuple(sorted(dags[0].names)) if dags else ()
        placed = tuple(dag.reorder(names) for dag in dags)
    owners = None if sites is None else tuple(sites)
    call = FusionCall(placed, tuple(weights), owners, whole, rng, progress)
    end = None if settings.seconds is None else time.monotonic() + settings.seconds
    made, known = fusion.run(call), settings.known
    if known is not None and isinstance(made, DAG):
        made = brought_to(made, known)
    if not isinstance(made, DAG):
        reading = cast(Reading, settings.reading)
        by_judges = settings.choose == "smhd"  # counts begin where they do under masks
        width = settings.max_treewidth
        return made, *select_among(made, reading, theta, width, end, by_judges)
    if settings.max_treewidth is not None:
        _require_width(made, settings)
    if theta is not None:
        raise ConfigError(f"the fusion {settings.fusion!r} gives one structure, without any θ")
    path = _path_of(made, call)
    return (path,), path, replace(select_consensus(path, "search"), dag=made, complete=True)


def require_sites(dags: Sequence[DAG], least: int, sites: Sequence[Hashable] | None = None) -> None:
    """Raise ConfigError, naming them, where fewer sites than `least` have some variables."""
    owners = range(len(dags)) if sites is None else sites
    found: dict[str, set[Hashable]] = {}
    for dag, site in zip(dags, owners, strict=True):
        for name in dag.names:
            found.setdefault(name, set()).add(site)
    rare = sorted(name for name, of in found.items() if len(of) < least)
    if rare:
        raise ConfigError(
            f"at least {count_of(least, 'site')} must have every variable (min-sites), but fewer "
            f"have {list_some(rare, 5)}: leave these out, or lower min-sites"
        )


def _require_width(dag: DAG, settings: ConsensusSettings) -> None:
    """Refuse what a fusion made without heed of the bound."""
    width, most = dag_treewidth(dag), settings.max_treewidth
    if most is not None and width > most:
        raise ConfigError(
            f"the fusion {settings.fusion!r} gave a structure of treewidth {width}, above "
            f"max-treewidth {most}: use mcbnc, or a genetic fusion"
        )


def _path_of(dag: DAG, call: FusionCall) -> McbncPath:
    """A path that begins and ends with a DAG."""
    return McbncPath(
        names=dag.names,
        order=tuple(dag.names[i] for i in dag.topological_order()),
        union=dag,
        k_max=0,
        steps=(),
        status="threshold",
        inputs=call.merge(),
        lost_arcs=np.zeros((0, 4), dtype=np.int32),
        knowledge=call.settings.known,
    )


def _checked_call(function: FusionFunction, of: str, call: FusionCall) -> Made:
    """What somebody else's function gives, checked."""
    rng = np.random.default_rng(0) if call.rng is None else call.rng
    try:
        made = function(call.dags, call.weights, rng, call.settings)
    except FedbnError as error:
        raise PluginError(f"{of}: {error}") from error
    except Exception as error:
        raise PluginError(f"{of} raised {type(error).__name__}: {error}") from error
    names = call.dags[0].names
    if not isinstance(made, McbncPath):
        if not isinstance(made, DAG):
            raise PluginError(f"{of} must give a DAG or an McbncPath, not {show(made)}")
        return checked_dag(made, names, of)
    expected = merge_inputs(call.dags, call.weights)
    if made.names != names or made.inputs.dags != expected.dags:
        raise PluginError(f"{of} gave a path of other inputs than it was called with")
    if made.knowledge != call.settings.known:
        raise PluginError(f"{of} gave a path whose knowledge is not settings.known")
    return (made,)


def _mcbnc(call: FusionCall) -> Made:
    """Min-cut consensus (AAAI-26): the paths of all poolings of the setting `robust`."""
    settings = call.settings
    return mcbnc_paths(
        call.dags,
        call.weights,
        poolings_of(cast(Robust, settings.robust)),
        k_max=settings.k_max,
        quorum=settings.quorum,
        rng=call.rng,
        seconds=settings.seconds,
        progress=call.progress,
        knowledge=settings.known,
        variables=call.variables,
        min_judges=settings.min_judges,
        sites=call.sites,
    )


def _baseline(baseline: Baseline, call: FusionCall) -> Made:
    rng = np.random.default_rng(0) if call.rng is None else call.rng
    most, more = call.settings.max_treewidth, dict[str, Any]()
    if most is not None and baseline in (genetic_inputs, genetic_union):
        more = {"max_treewidth": max(1, most)}
    elif call.variables == "union":
        more = {"variables": "union"}
    return cast(Callable[..., DAG], baseline)(call.dags, call.weights, rng, **more)


FUSIONS: Registry[Fusion] = Registry("fusion", "fedbn.fusions", fusion_of)
"""Name -> fusion; the names are those of the setting `fusion`."""

FUSIONS.add("mcbnc", Fusion(_mcbnc))
for _name, _function in BASELINES.items():
    FUSIONS.add(_name, Fusion(partial(_baseline, _function)))
