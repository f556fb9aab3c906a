"""A site's own configuration: its name, its policy, its table, its mapping, its disclosure log.

name = "north"                      # how the server may call this site; not needed
disclosures = "north.jsonl"         # the log of what left; beside the table by default
keep-messages = true                # a copy of each beside the log
ledger = "north.privacy.jsonl"      # what private runs have spent; beside the table by default
prepared = "north.prepared.parquet" # the table as it was read once; beside it by default
cohorts = "north.cohorts.jsonl"     # with whom it summed; beside the table by default
identity-key = "north.identity"     # an Ed25519 key (ssh-keygen -t ed25519), for signed rosters
bundles = ["3a6e..."]               # SHA-256 of the only runs' bundles that are answered
schema = "states.json"              # agreed columns and states; or a table of them, [schema]
leave-out = ["record_id"]           # own columns that take no part
table = "north.csv"                 # for trying the file out: fedbn check, fedbn simulate --sites
missing = ["?"]                     # what stands for a missing cell here
missing-cells = "drop-rows"         # refuse by default; no run has a say, nor in the next five
separator = ";"
decimal = ","
encoding = "latin-1"
header = "no"                       # then the columns are V1, V2, ...
skip-lines = 2
sheet = "visits"                    # of an Excel file; the first one by default

[schema]                            # in place of the file of this name
smoke = ["no", "yes"]
age = {cuts = [40, 60]}

[policy]                            # see fedbn.federation.policy; every key may be left out
min-rows = 500
variables = ["age", "smoke"]
max-in-degree = 6
max-dags = 20
structures = "cpdag"
diagnostics = true
counts = true                       # exact counts of families may leave
counts-min-rows = 1000
counts-max-parents = 4
min-cell = 5                        # no count from 1 to 4
disclosure = "pcornet"              # an office's rule for small counts; or "opensafely", "none"
histograms = true                   # counts of numbers may leave, for common cut points
weights = "uniform"                 # of several structures; rounded by default
max-states = 50                     # a column with more, or with rare states, is not named
min-state-rows = 5
allow-states = ["zip"]              # but this one is
kind = "categorical"                # no runs with numbers
max-messages = 50                   # answers to one run
max-messages-a-day = 100
max-sums = 1000                     # shares of masked sums to one run
schema-hash = "9c0f..."             # the only agreed schema
max-epsilon = 3.0                   # then only private structures leave
delta = 1e-6
weak-privacy = true                 # ε above 10, or δ of 1 / rows and more, all the same
secure-sums = true                  # then structures never leave in the open
min-cohort = 5

[offers]                            # see fedbn.federation.offers; what a run may choose
learner = ["ges", "xges0"]
score = "bdeu"

[peers]                             # every other site of a secure sum, by its identity
south = "ssh-ed25519 AAAAC3..."

[courier]                           # answers by files, for a site without a network
key = "keys/north.key"              # signs this site's replies
authority = "keys/ca.pem"           # of the server's certificate
server = "flower.example.org"       # the server's name or address in it

[columns]                           # own column = agreed column; or a list of those to read
Raucher = "smoke"

[states.smoke]                      # own state = agreed state, of an agreed column
ja = "yes"
nein = "no"

[factors]                           # own column of numbers = what they are multiplied by: its unit
Kreatinin = 0.0113097               # from µmol/L to the agreed mg/dL
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fedbn.bounded_file import MAX_SETTINGS, read_bounded
from fedbn.data.mapping import SiteMapping
from fedbn.data.preparation import Preparation
from fedbn.data.schema import Schema
from fedbn.data.tables import read_schema
from fedbn.errors import ConfigError, SchemaError, did_you_mean
from fedbn.federation.offers import Offers, offers_from
from fedbn.federation.policy import SitePolicy

__all__ = ["CourierKeys", "SiteFile", "is_site_file", "read_site_file"]

_KEYS: Mapping[str, type | tuple[type, ...]] = {
    "name": str,
    "disclosures": str,
    "keep-messages": bool,
    "ledger": str,
    "cohorts": str,
    "prepared": str,
    "identity-key": str,
    "bundles": list,
    "schema": (str, dict),
    "leave-out": list,
    "table": str,
    "missing": list,
    "missing-cells": str,
    "separator": str,
    "decimal": str,
    "encoding": str,
    "header": str,
    "skip-lines": int,
    "sheet": str,
    "policy": dict,
    "offers": dict,
    "peers": dict,
    "courier": dict,
    "states": dict,
    "factors": dict,
}
_FORM = ("separator", "decimal", "encoding", "header", "skip-lines", "sheet")
_POLICY = {
    "min-rows": int,
    "variables": list,
    "max-in-degree": int,
    "max-dags": int,
    "structures": str,
    "diagnostics": bool,
    "counts": bool,
    "counts-min-rows": int,
    "counts-max-parents": int,
    "min-cell": int,
    "disclosure": str,
    "histograms": bool,
    "weights": str,
    "max-epsilon": float,
    "delta": float,
    "weak-privacy": bool,
    "secure-sums": bool,
    "min-cohort": int,
    "max-states": int,
    "min-state-rows": int,
    "allow-states": list,
    "kind": str,
    "max-messages": int,
    "max-messages-a-day": int,
    "max-sums": int,
    "schema-hash": str,
}
_OFFERS: Mapping[str, type | tuple[type, ...]] = {
    "learner": (str, list),
    "score": (str, list),
    "ess": (float, list),
    "row-weight": (float, list),
    "missing": (str, list),
    "max-parents": int,
    "learner-seconds": float,
    "memory-mb": float,
    "knowledge": str,
    "run-knowledge": bool,
}


_COURIER = {"key": str, "authority": str, "server": str}


@dataclass(frozen=True)
class CourierKeys:
    """How a site knows its server's requests, and signs its replies (docs/courier.md).

    Attributes
    ----------
    key : path of the site's private key.
    authority, server : path of the authority's certificate, and the server's name in its own.
    """

    key: Path
    authority: Path
    server: str


@dataclass(frozen=True)
class SiteFile:
    """What a site decided.

    Attributes
    ----------
    name : how the server may call the site; None: by a number.
    policy : what may leave.
    mapping : own names to agreed ones.
    table : path of the table, for trying things out; a node's own configuration names another.
    columns : own columns to read; empty for what the run says.
    missing : what stands for a missing cell here, besides what the run says.
    missing_cells : in place of what the run says; None for that.
    factors : own column -> what its numbers are multiplied by, to be in the agreed unit.
    form : key of `TableFormat` -> value, in place of what the run says.
    disclosures, ledger, cohorts, prepared : paths of the log, of the ledger, of the file that says
        with whom the site has summed, and of the prepared table; None for the default.
    identity_key : path of the key with which the site signs its keys of secure sums.
    bundles : SHA-256 (hex) of the bundles that `fedbn executor` answers; empty for any that has the
        installed client app.
    peers : name -> identity of every other site with which it sums; None: any.
    offers : what a run may choose.
    keep_messages : whether a copy of every message is kept beside the log.
    schema : the agreed columns and states; None for those that its table is found to have.
    courier : for messages as files; None where it answers none.
    """

    name: str | None = None
    policy: SitePolicy = SitePolicy()
    mapping: SiteMapping = SiteMapping()
    disclosures: Path | None = None
    ledger: Path | None = None
    schema: Schema | None = None
    table: Path | None = None
    columns: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    missing_cells: str | None = None
    factors: Mapping[str, float] = field(default_factory=dict)
    form: Mapping[str, Any] = field(default_factory=dict)
    cohorts: Path | None = None
    prepared: Path | None = None
    identity_key: Path | None = None
    peers: Mapping[str, str] | None = None
    bundles: tuple[str, ...] = ()
    offers: Offers = Offers()
    keep_messages: bool = False
    courier: CourierKeys | None = None

    def prepare(self, how: Preparation) -> Preparation:
        """What a run wants, in this site's own names, with what the site itself decided.

        A column that the run leaves out everywhere need not be here.
        """
        return replace(
            how,
            columns=self.columns or how.columns,
            leave_out=self.mapping.leave_out,
            leave_out_if_there=how.leave_out,
            missing=(*how.missing, *self.missing),
            missing_cells=self.missing_cells or how.missing_cells,
            form=replace(how.form, **self.form),
            factors=self.factors,
        )


def is_site_file(path: str | Path) -> bool:
    """Whether this is the name of a site's file and not of a table."""
    return str(path).lower().endswith(".toml")


def read_site_file(path: str | Path) -> SiteFile:
    """Read a site's TOML file, as in the module's docstring; its paths are relative to it.

    Raises
    ------
    ConfigError : the file cannot be read, a key is unknown, or a value is wrong.
    """
    try:
        content = tomllib.loads(read_bounded(path, MAX_SETTINGS).decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # of TOML, of UTF-8, of long numbers
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    try:
        return _site(content, Path(path).absolute().parent)
    except (ConfigError, SchemaError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _site(content: Mapping[str, Any], folder: Path) -> SiteFile:
    columns = content.get("columns", {})
    _require_types({key: value for key, value in content.items() if key != "columns"}, _KEYS)
    policy = _policy(content.get("policy", {}))
    offers = content.get("offers", {})
    _require_types(offers, _OFFERS)
    paths = {
        key.replace("-", "_"): folder / content[key]
        for key in ("disclosures", "ledger", "cohorts", "prepared", "identity-key", "table")
        if key in content
    }
    if ("peers" in content or "identity-key" in content) and "name" not in content:
        raise ConfigError("a site with peers or an identity-key must have a name")
    if content.get("peers"):
        _require_keys(content["peers"].values())
    site = SiteFile(
        name=content.get("name"),
        policy=policy,
        offers=offers_from(offers, folder),
        keep_messages=content.get("keep-messages", False),
        schema=_schema(content["schema"], folder) if "schema" in content else None,
        mapping=_mapping(content),
        peers=_translation("peers", content["peers"]) if "peers" in content else None,
        columns=_texts("columns", columns) if isinstance(columns, list) else (),
        bundles=_digests(content.get("bundles", [])),
        missing=_texts("missing", content.get("missing", [])),
        missing_cells=content.get("missing-cells"),
        factors=_factors(content.get("factors", {})),
        form={key.replace("-", "_"): content[key] for key in _FORM if key in content},
        courier=_courier(content["courier"], folder) if "courier" in content else None,
        **paths,
    )
    site.prepare(Preparation())
    return site


def _courier(content: Mapping[str, Any], folder: Path) -> CourierKeys:
    _require_types(content, _COURIER)
    if lacking := [key for key in _COURIER if key not in content]:
        raise ConfigError(f"[courier] must have key, authority and server; it lacks {lacking[0]!r}")
    key, authority = (folder / content[name] for name in ("key", "authority"))
    return CourierKeys(key, authority, content["server"])


def _schema(said: str | Mapping[str, Any], folder: Path) -> Schema:
    """The columns of the file's own table, or of another file."""
    if isinstance(said, str):
        return read_schema(folder / said)
    return Schema.from_dict(said)


def _policy(content: Mapping[str, Any]) -> SitePolicy:
    _require_types(content, _POLICY)
    limits = {key.replace("-", "_"): value for key, value in content.items()}
    for key in ("variables", "allow_states"):
        if key in limits:
            limits[key] = _texts(key.replace("_", "-"), limits[key])
    return SitePolicy(**limits)


def _mapping(content: Mapping[str, Any]) -> SiteMapping:
    columns = content.get("columns", {})
    return SiteMapping(
        columns={} if isinstance(columns, list) else _translation("columns", columns),
        states={
            name: _translation(f"states.{name}", states)
            for name, states in content.get("states", {}).items()
        },
        leave_out=_texts("leave-out", content.get("leave-out", [])),
    )


def _require_types(
    content: Mapping[str, Any], types: Mapping[str, type | tuple[type, ...]]
) -> None:
    for key, value in content.items():
        if key not in types:
            raise ConfigError(f"unknown key {key!r}{_hint(key, types)}")
        found = types[key]
        wanted = found if isinstance(found, tuple) else (found,)
        fits = type(value) in wanted or (float in wanted and type(value) is int)
        if not fits or value == "":
            words = " or ".join(_WORDS[each] for each in wanted)
            raise ConfigError(f"{key!r} must be {words}, not {value!r}")


_WORDS: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


def _hint(key: str, known: Iterable[str]) -> str:
    if key in _POLICY:
        return "; it belongs under [policy]"
    if key in _KEYS:
        return "; it belongs above all [sections]"
    return did_you_mean(key, known)


def _texts(key: str, values: list[Any]) -> tuple[str, ...]:
    if not all(isinstance(value, str) for value in values):
        raise ConfigError(f"{key!r} must be a list of texts, not {values!r}")
    return tuple(values)


def _digests(values: list[Any]) -> tuple[str, ...]:
    for value in _texts("bundles", values):
        if re.fullmatch("[0-9a-f]{64}", value) is None:
            raise ConfigError(f"'bundles' must be SHA-256 in 64 hexadecimal digits, not {value!r}")
    return tuple(values)


def _factors(table: Mapping[str, Any]) -> Mapping[str, float]:
    for name, factor in table.items():
        if type(factor) not in (int, float):
            raise ConfigError(f"[factors]: {name!r} must be a number, not {factor!r}")
    return {name: float(factor) for name, factor in table.items()}


def _translation(key: str, table: Any) -> Mapping[str, str]:
    if not isinstance(table, dict) or not all(isinstance(v, str) and v for v in table.values()):
        raise ConfigError(f'[{key}] must have lines of the form own = "agreed"')
    return table


def _require_keys(peers: Iterable[str]) -> None:
    from fedbn.secure.session import identity_key  # loads cryptography, which few sites need

    for peer in peers:
        identity_key(peer)
