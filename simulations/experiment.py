"""An experiment from a TOML file and from options, later ones taking precedence.

The file has the keys of the flat run config (see `fedbn.federation.settings`), and `engine`,
`processes`; lists are lists. Paths in it are relative to the file:

    network = "alarm"
    clients = 10
    rows = 5000
    learner = "ges"
    score = "bdeu"
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fedbn.bounded_file import read_toml
from fedbn.data.tables import read_schema
from fedbn.errors import ConfigError
from fedbn.federation.plugin_keys import with_all_own
from fedbn.federation.run_config import NOT_GIVEN, from_run_config, to_run_config
from fedbn.federation.settings import Experiment, all_settings
from fedbn.graphs.knowledge import is_text, read_knowledge
from fedbn.learners import kind_of_score

_LOCAL = tuple(each.key for _, each in all_settings() if each.local)
_PATHS = (
    "table",
    "sites_dir",
    "schema",
    "network_dir",
    "groups_file",
    "out_dir",
    "checkpoint",
    "courier_dir",
    "courier_keys",
)


def experiment_from(
    options: Mapping[str, Any], *, config: Path | None = None, base: Mapping[str, Any] | None = None
) -> Experiment:
    """The experiment of a TOML file, overridden by options.

    Parameters
    ----------
    options : keys of settings, those that no run config has too; None means not given.
    config : a TOML file.
    base : defaults that differ from those of the settings; the file overrides them.

    Raises
    ------
    ConfigError
        The file cannot be read, a key is unknown, or a value is wrong; the learner or score is not
        known.
    """
    said: dict[str, Any] = {} if config is None else _read_config(config)
    said |= {key: value for key, value in options.items() if value is not None}
    flat = {**(base or {}), **said}
    local = {key.replace("-", "_"): flat.pop(key) for key in _LOCAL if key in flat}
    if "processes" in local and type(local["processes"]) is not int:
        raise ConfigError(f"processes must be a whole number, not {local['processes']!r}")
    try:
        experiment = from_run_config(flat, **local)
    except ConfigError as error:
        if config is None:
            raise
        raise ConfigError(f"{error} (settings of {config} and options)") from None
    experiment = with_all_own(experiment)
    kind = kind_of_score(experiment.learner.score)
    if kind == "mixed" and experiment.data.schema is not None and not experiment.tables.numbers:
        experiment = experiment.change(numbers=read_schema(experiment.data.schema).numbers)
    if experiment.consensus.aggregation == "moral-votes" and "parameters" not in said:
        experiment = experiment.change(parameters="none")
    return _with_knowledge(experiment)


def _with_knowledge(experiment: Experiment) -> Experiment:
    """With what the file of knowledge says in its place, for every site and the server."""
    told = experiment.learner.knowledge
    return experiment if told is None else experiment.change(knowledge=read_knowledge(told).text)


def with_absolute_paths(experiment: Experiment) -> Experiment:
    """The same experiment for a process with another working directory."""
    data, flat = experiment.data, to_run_config(experiment)

    def absolute(text: str) -> str:
        return str(Path(text).expanduser().absolute())

    changes: dict[str, Any] = {
        name: absolute(str(path))
        for name in _PATHS
        if (path := flat[name.replace("_", "-")]) != NOT_GIVEN
    }
    changes["sites"] = tuple(absolute(site) for site in data.sites)
    if data.network is not None and Path(data.network).is_file():
        changes["network"] = absolute(data.network)
    return experiment.change(**changes)


def result_name(experiment: Experiment) -> str:
    """What a result is called unless the caller says: after its network, table or sites.

    >>> result_name(Experiment.of(table="data/patients.csv.gz"))
    'patients'
    """
    source = experiment.data.network or experiment.data.table
    if source is None:
        return "sites"
    return Path(source).name.split(".")[0]


def _read_config(path: Path) -> dict[str, Any]:
    content = read_toml(path)
    for key, value in content.items():
        if isinstance(value, dict):
            raise ConfigError(f"{path}: settings are flat, but {key!r} is a table")
    return locate_files(content, path.parent)


def locate_files(settings: Mapping[str, Any], here: Path) -> dict[str, Any]:
    """The settings, with files that are in the folder `here` named from where this process is."""
    content = dict(settings)

    def locate(text: Any) -> Any:
        inside = here / text if isinstance(text, str) and text and not is_text(text) else None
        return str(inside) if inside is not None and inside.exists() else text

    for key in ("network", "knowledge", *(name.replace("_", "-") for name in _PATHS)):
        if key in content:
            content[key] = locate(content[key])
    if isinstance(content.get("sites"), list):
        content["sites"] = [locate(site) for site in content["sites"]]
    return content
