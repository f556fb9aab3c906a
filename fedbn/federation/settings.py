"""Settings of one federated run, and their flat form as a Flower run config.

A Flower run config is a flat table whose values are text, integers, floats or booleans; a key can
be overridden only when `[tool.flwr.app.config]` already has it, and an empty text breaks Flower's
byte counting. So every setting always has a key, in kebab-case, and

* a setting that is not given is the word `none`;
* a list of texts is JSON text (`["a.csv", "b.csv"]`), or the bare text when it has one element.

Unknown keys are errors: a misspelt setting that is silently ignored costs a wrong experiment.
"""

from __future__ import annotations

import difflib
import json
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Union, get_args, get_origin, get_type_hints

from fedbn.errors import ConfigError
from fedbn.federation.message import Limits
from fedbn.learners import LearnerSettings

RunConfigValue = str | int | float | bool
"""What Flower allows as a value of a run config."""

NOT_GIVEN = "none"
"""The word that stands for a setting without a value."""

PARTITIONS = ("iid", "dirichlet", "dirichlet-latent", "column")
SIZES = ("equal", "skewed")
READINGS = ("best", "search", "refusion")
ROBUST = ("best", "mean", "clip", "median")
ENGINES = ("flower", "in-process")
MISMATCHES = ("stop", "leave-out")


def one_of(what: str, value: str, known: tuple[str, ...]) -> str:
    """Return `value` if it is one of `known`; raise ConfigError naming the nearest one."""
    if value in known:
        return value
    nearest = difflib.get_close_matches(value, known, n=1, cutoff=0.5)
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    raise ConfigError(f"unknown {what} {value!r}: it must be one of {', '.join(known)}{hint}")


def at_least(what: str, value: float | None, lowest: float) -> None:
    """Raise ConfigError unless `value` is None or at least `lowest`."""
    if value is not None and not value >= lowest:
        raise ConfigError(f"{what} must be at least {lowest:g}, not {value}")


@dataclass(frozen=True)
class ConsensusSettings:
    """How the server turns replies into a consensus.

    Attributes
    ----------
    reading : "best", "search" or "refusion"
        Which DAG of a path state is the consensus (see `fedbn.consensus.threshold`).
    robust : "best", "mean", "clip" or "median"
        How the inputs' cuts become one number, against hostile inputs: as in the paper (mean), each
        counting as at most 1 (clip), or the better result of both (see `fedbn.consensus.pooling`).
    k_max : int
        Largest number of neighbours that one deletion may turn away (|H| in the paper).
    min_replies, min_fraction : int, float
        The round fails unless at least this many, and this fraction of all clients, gave a good
        reply.
    seconds : float or None
        Time budget of the consensus search, in seconds.
    """

    reading: str = "best"
    robust: str = "best"
    k_max: int = 10
    min_replies: int = 1
    min_fraction: float = 0.5
    seconds: float | None = None

    def __post_init__(self) -> None:
        one_of("reading", self.reading, READINGS)
        one_of("robust", self.robust, ROBUST)
        at_least("k-max", self.k_max, 0)
        at_least("min-replies", self.min_replies, 1)
        at_least("consensus-seconds", self.seconds, 0)
        if not 0 <= self.min_fraction <= 1:
            raise ConfigError(f"min-fraction must lie between 0 and 1, not {self.min_fraction}")


@dataclass(frozen=True)
class Experiment:
    """One federated run: whose data, how it is learned, how it is fused.

    The data come from at most one of `network`, `table`, `sites` and `sites_dir`; from none
    of them in a deployment, where each node's configuration says where its table is.

    Attributes
    ----------
    network : str or None
        Name of a network of the catalogue, or path of a BIF or JSON file, to sample tables from.
    table : str or None
        Path of one table whose rows are divided over the clients.
    sites : tuple of str
        Paths of the clients' own tables, one each.
    sites_dir : str or None
        Folder whose tables, sorted by name, are the clients' own.
    rows : int
        Rows per client, on average, sampled from `network` (tables are used whole).
    clients : int
        Number of clients for `network` and `table` (sites count themselves).
    partition, partition_column, alpha, sizes
        How rows are divided: "iid", "dirichlet" over `partition_column`, "dirichlet-latent" over
        latent clusters, or "column" (one client per value); the Dirichlet concentration; and
        "equal" or "skewed" sizes.
    schema : str or None
        Path of a JSON file `{column: [states]}`; without it the clients' states are united.
    missing : tuple of str
        Cells that count as missing, besides the empty cell.
    learner, consensus : LearnerSettings, ConsensusSettings
        What each client does, and what the server does.
    limits : Limits
        What the server accepts of a client's message.
    on_mismatch : "stop" or "leave-out"
        What happens when some clients do not have the agreed columns: the run ends and says which,
        or it goes on without them.
    connect_seconds : float
        How long a deployed run waits until `min_replies` sites are connected.
    reply_seconds : float or None
        How long the server waits for the replies of one round; None: a day.
    rounds_limit : int
        At most this many rounds; 1 is one-shot fusion.
    test_rows : int
        Held-out rows on which clients' DAGs and the consensus are scored; 0 for none.
    network_dir : str or None
        Folder of BIF files to look for `network` in.
    seed : int
        Seed of everything random.
    share_diagnostics : bool
        Whether clients also send their row count and seconds.
    out_dir : str or None
        Folder that the server app writes results to.
    checkpoint : str or None
        File that keeps the server's state after every round, until the results are written; None:
        beside `out_dir`, if that is given.
    resume : bool
        Whether to go on from the checkpoint instead of the first round.
    engine, processes
        How the run is executed here: "flower" or "in-process", and with how many processes. They
        are no part of the run config, for they must not change a byte of the result.
    """

    network: str | None = None
    table: str | None = None
    sites: tuple[str, ...] = ()
    sites_dir: str | None = None
    rows: int = 5000
    clients: int = 10
    partition: str = "iid"
    partition_column: str | None = None
    alpha: float = 0.5
    sizes: str = "equal"
    schema: str | None = None
    missing: tuple[str, ...] = ()
    learner: LearnerSettings = LearnerSettings()
    consensus: ConsensusSettings = ConsensusSettings()
    limits: Limits = Limits()
    on_mismatch: str = "stop"
    connect_seconds: float = 300.0
    reply_seconds: float | None = None
    rounds_limit: int = 1
    test_rows: int = 0
    network_dir: str | None = None
    seed: int = 1
    share_diagnostics: bool = False
    out_dir: str | None = None
    checkpoint: str | None = None
    resume: bool = False
    engine: str = field(default="flower", metadata={"local": True})
    processes: int | None = field(default=None, metadata={"local": True})

    def __post_init__(self) -> None:
        self._check_source()
        self._check_partition()
        one_of("on-mismatch", self.on_mismatch, MISMATCHES)
        at_least("connect-seconds", self.connect_seconds, 0)
        at_least("reply-seconds", self.reply_seconds, 1)
        at_least("rounds-limit", self.rounds_limit, 1)
        at_least("test-rows", self.test_rows, 0)
        at_least("seed", self.seed, 0)
        at_least("processes", self.processes, 1)
        one_of("engine", self.engine, ENGINES)

    def _check_source(self) -> None:
        sources = {
            "network": self.network,
            "table": self.table,
            "sites": self.sites,
            "sites-dir": self.sites_dir,
        }
        given = [name for name, value in sources.items() if value]
        if len(given) > 1:
            raise ConfigError(
                f"the data must come from one place, but {' and '.join(given)} are given"
            )
        at_least("rows", self.rows, 1)
        at_least("clients", self.clients, 1)

    def _check_partition(self) -> None:
        one_of("partition", self.partition, PARTITIONS)
        one_of("sizes", self.sizes, SIZES)
        if not self.alpha > 0:
            raise ConfigError(f"alpha must be positive, not {self.alpha}")
        if self.partition in ("dirichlet", "column") and self.partition_column is None:
            raise ConfigError(
                f"partition {self.partition!r} needs a partition-column: the column that rows are "
                "divided by"
            )


_GROUPS: Mapping[str, type] = {
    "learner": LearnerSettings,
    "consensus": ConsensusSettings,
    "limits": Limits,
}
"""The fields of Experiment that hold settings of their own."""

_RENAMED = {
    ("learner", "seconds"): "learner-seconds",
    ("learner", "bayes_factor"): "bf",
    ("limits", "max_dags"): "max-dags-per-reply",
    ("consensus", "seconds"): "consensus-seconds",
}
"""Keys that would be ambiguous without the name of their group."""


@dataclass(frozen=True)
class _Setting:
    key: str
    group: str | None
    name: str
    type: Any


def _settings() -> Iterator[_Setting]:
    hints = get_type_hints(Experiment)
    for entry in fields(Experiment):
        if entry.name in _GROUPS:
            group = _GROUPS[entry.name]
            inner = get_type_hints(group)
            for part in fields(group):
                key = _RENAMED.get((entry.name, part.name), part.name.replace("_", "-"))
                yield _Setting(key, entry.name, part.name, inner[part.name])
        elif not entry.metadata.get("local"):
            yield _Setting(entry.name.replace("_", "-"), None, entry.name, hints[entry.name])


def run_config_keys() -> tuple[str, ...]:
    """All keys of the flat run config, in the order of the settings."""
    return tuple(setting.key for setting in _settings())


def to_run_config(experiment: Experiment) -> dict[str, RunConfigValue]:
    """Flatten an experiment into a Flower run config with every key.

    >>> to_run_config(Experiment(network="asia", missing=("?", "-")))["missing"]
    '["?", "-"]'
    >>> to_run_config(Experiment(network="asia"))["table"]
    'none'
    """
    flat: dict[str, RunConfigValue] = {}
    for setting in _settings():
        holder = experiment if setting.group is None else getattr(experiment, setting.group)
        flat[setting.key] = _encode(getattr(holder, setting.name))
    return flat


def from_run_config(config: Mapping[str, Any], **local: Any) -> Experiment:
    """Build the experiment that a flat run config describes.

    Parameters
    ----------
    config : mapping
        Kebab-case keys as in :func:`run_config_keys`; absent keys keep their defaults.
    **local
        `engine` and `processes`, which no run config holds.

    Raises
    ------
    ConfigError
        For an unknown key (the nearest known one is named), a value of the wrong type, or a value
        that no run can have.
    """
    known = {setting.key: setting for setting in _settings()}
    grouped: dict[str | None, dict[str, Any]] = {None: dict(local)}
    for key, value in config.items():
        if key not in known:
            raise ConfigError(_unknown_key(key, tuple(known)))
        setting = known[key]
        grouped.setdefault(setting.group, {})[setting.name] = _decode(key, value, setting.type)
    whole = grouped.pop(None)
    for group, values in grouped.items():
        assert group is not None
        whole[group] = _GROUPS[group](**values)
    return Experiment(**whole)


def _unknown_key(key: str, known: tuple[str, ...]) -> str:
    nearest = difflib.get_close_matches(key.replace("_", "-"), known, n=1, cutoff=0.0)
    return f"unknown setting {key!r}: did you mean {nearest[0]!r}?"


def _encode(value: Any) -> RunConfigValue:
    if value is None or value == ():
        return NOT_GIVEN
    if isinstance(value, tuple):
        plain = len(value) == 1 and not value[0].startswith("[") and value[0] not in ("", NOT_GIVEN)
        return str(value[0]) if plain else json.dumps(list(value), ensure_ascii=False)
    if isinstance(value, (str, int, float)):
        return value
    return str(value)


def _decode(key: str, value: Any, wanted: Any) -> Any:
    options = get_args(wanted) if get_origin(wanted) in (Union, types.UnionType) else (wanted,)
    if any(get_origin(option) is tuple for option in options):
        return _decode_texts(key, value)
    if type(None) in options and value == NOT_GIVEN:
        return None
    kind = next(option for option in options if option is not type(None))
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind or value == "":
        name = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
        raise ConfigError(f"setting {key!r} must be {name.get(kind, kind)}, not {value!r}")
    return value


def _decode_texts(key: str, value: Any) -> tuple[str, ...]:
    if value == NOT_GIVEN:
        return ()
    parts = value
    if isinstance(value, str) and value.startswith("["):
        try:
            parts = json.loads(value)
        except json.JSONDecodeError:
            parts = None
    elif isinstance(value, str):
        parts = [value]
    if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
        raise ConfigError(f"setting {key!r} must be a list of texts, not {value!r}")
    return tuple(parts)
