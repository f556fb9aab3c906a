"""Networks by name: embedded, in a folder, or inside pgmpy; or by path; or at random."""

from __future__ import annotations

import re
from importlib import resources
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from fedbn.errors import NetworkError, SchemaError, StructureError, did_you_mean
from fedbn.extras import require_installed
from fedbn.graphs.random import random_dag
from fedbn.networks.bif import from_pgmpy
from fedbn.networks.conditional_gaussian import Network
from fedbn.networks.formats import READERS, SUFFIXES
from fedbn.networks.json_file import network_from_json
from fedbn.networks.network import BayesianNetwork
from fedbn.networks.random import (
    node_names,
    random_bayesian_network,
    random_linear_gaussian_network,
)

PGMPY_NAMES = (
    "barley",
    "diabetes",
    "link",
    "mildew",
    "munin",
    "munin1",
    "munin2",
    "munin3",
    "munin4",
    "pathfinder",
    "water",
)
"""Networks of the repository that are too large to embed; the installed pgmpy has their files."""

MAX_RANDOM_NODES = 10_000

_RANDOM = re.compile(r"random(-gaussian)?:([0-9]+):([0-9]+)(?::([0-9]+))?")


def network_names() -> tuple[str, ...]:
    """The embedded networks, sorted.

    >>> network_names()[:3]
    ('alarm', 'andes', 'asia')
    """
    folder = resources.files("fedbn.networks") / "embedded"
    return tuple(
        sorted(
            entry.name.removesuffix(".json")
            for entry in folder.iterdir()
            if entry.name.endswith(".json")
        )
    )


def pgmpy_folder() -> Path | None:
    """Where the installed pgmpy keeps networks as BIF files; None if there is no such folder.

    pgmpy is not imported: that takes seconds. The folder is no interface of pgmpy's, so its absence
    is no error here, but of the network that is looked for.
    """
    found = find_spec("pgmpy")
    for place in () if found is None else found.submodule_search_locations or ():
        folder = Path(place) / "utils" / "example_models"
        if folder.is_dir():
            return folder
    return None


def networks_in(folder: str | Path) -> tuple[str, ...]:
    """The names under which `load_network` finds the files of this folder, sorted.

    Raises
    ------
    NetworkError : there is no such folder.
    """
    if not Path(folder).is_dir():
        raise NetworkError(f"{folder}: must be a folder with networks")
    files = [path.name for path in Path(folder).iterdir() if path.is_file()]
    found = {
        name.removesuffix(suffix) for name in files for suffix in SUFFIXES if name.endswith(suffix)
    }
    return tuple(sorted(found))


def known_networks(network_dir: str | Path | None = None) -> tuple[str, ...]:
    """The names for which `load_network` has a file here: embedded, pgmpy's, then the folder's.

    Raises
    ------
    NetworkError : there is no such folder.
    """
    inside = pgmpy_folder()
    found = () if inside is None else networks_in(inside)
    names = [*network_names(), *(name for name in PGMPY_NAMES if name in found)]
    more = () if network_dir is None else networks_in(network_dir)
    return tuple(dict.fromkeys((*sorted(names), *more)))


def load_network(name_or_path: str | Path, network_dir: str | Path | None = None) -> Network:
    """The network of this name or file.

    Looked for in this order: an embedded network; random:NODES:EDGES[:SEED], tables with 2 to 4
    states, or random-gaussian:NODES:EDGES[:SEED], linear equations; a file, if the text ends like
    one or has a path separator; NAME.bif, .bif.gz, .json or .json.gz in `network_dir`; for the
    names in `PGMPY_NAMES` the files of the installed pgmpy, and where it has none pgmpy's loader,
    which needs a connection.

    Raises
    ------
    NetworkError : no such network, or it cannot be read or fetched; says what can be given.

    Examples
    --------
    >>> load_network("asia").dag
    DAG(8 nodes, 8 edges)
    >>> load_network("random-gaussian:25:50:7").dag
    DAG(25 nodes, 50 edges)
    """
    name = str(name_or_path)
    if network_dir is not None:
        networks_in(network_dir)
    if name in network_names():
        text = (resources.files("fedbn.networks") / "embedded" / f"{name}.json").read_text("utf-8")
        return network_from_json(text, name)
    if name.startswith(("random:", "random-gaussian:")):
        return _random(name)
    if name.lower().endswith(SUFFIXES) or Path(name).name != name:
        return read_network(name)
    for folder in (network_dir, pgmpy_folder() if name in PGMPY_NAMES else None):
        found = None if folder is None else _file_in(folder, name)
        if found is not None:
            return read_network(found)
    if name in PGMPY_NAMES:
        return _fetch(name)
    if Path(name).exists():
        return read_network(name)
    raise NetworkError(_unknown(name, network_dir))


def network_in(folder: str | Path, name: str) -> Network:
    """The network of this name in a folder, even if there is an embedded one of the same name.

    Raises
    ------
    NetworkError : there is no such folder or network, or its file is wrong.
    """
    networks_in(folder)
    found = _file_in(folder, name)
    if found is None:
        raise NetworkError(f"{folder}: has no network {name!r}")
    return read_network(found)


def _file_in(folder: str | Path, name: str) -> Path | None:
    files = (Path(folder) / f"{name}{suffix}" for suffix in SUFFIXES)
    return next((file for file in files if file.is_file()), None)


def read_network(path: str | Path) -> Network:
    """The network of a BIF, JSON, XMLBIF, GeNIe or Hugin file, plain or gzipped.

    Raises
    ------
    NetworkError : there is no such path, it does not end like a network file, or it is none.
    """
    reader = READERS.get(Path(str(path).lower().removesuffix(".gz")).suffix)
    if reader is not None:
        return reader(path)
    missing = "" if Path(path).exists() else " does not exist"
    raise NetworkError(f"{path}{missing}: a network file must end in {', '.join(SUFFIXES)}")


def _random(name: str) -> Network:
    found = _RANDOM.fullmatch(name)
    if found is None:
        raise NetworkError(
            "a random network is random:NODES:EDGES[:SEED] or "
            f"random-gaussian:NODES:EDGES[:SEED], not {name!r}"
        )
    gaussian, nodes, edges, seed = found.groups(default="0")
    if not 1 <= int(nodes) <= MAX_RANDOM_NODES:
        raise NetworkError(f"{name}: the number of nodes must be 1 to {MAX_RANDOM_NODES}")
    rng = np.random.default_rng(int(seed))
    try:
        dag = random_dag(node_names(int(nodes)), edges=int(edges), rng=rng)
    except StructureError as error:
        raise NetworkError(f"{name}: {error}") from error
    if gaussian == "0":
        return random_bayesian_network(dag, rng=rng)
    return random_linear_gaussian_network(dag, rng=rng)


def _fetch(name: str) -> BayesianNetwork:
    require_installed("pgmpy")
    from pgmpy.example_models import load_model

    try:
        model = load_model(f"bnlearn/{name}")
    except Exception as error:  # no connection shows as any of a dozen exceptions
        reason = str(error).strip().partition("\n")[0]
        raise NetworkError(
            f"network {name!r} is not embedded, the installed pgmpy has no file of it in "
            f"utils/example_models, and it could not be fetched ({reason}); "
            f"give the path of {name}.bif, or the folder that has it with --network-dir"
        ) from error
    try:
        return from_pgmpy(model)
    except (NetworkError, SchemaError) as error:
        raise NetworkError(f"network {name!r}, as fetched: {error}") from error


def _unknown(name: str, network_dir: str | Path | None) -> str:
    known = (*network_names(), *PGMPY_NAMES)
    hint = did_you_mean(name, known) or "."
    where = "" if network_dir is None else f" and not in {network_dir}"
    return (
        f"unknown network {name!r}{where}{hint} There is no file or folder of this name, either. "
        f"Embedded are {', '.join(network_names())}; any other can be given as a BIF or JSON file"
    )
