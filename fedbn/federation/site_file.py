"""A site's own configuration: its name, its policy, its table, its mapping, its disclosure log.

The TOML file has the fields of `SiteFile` as keys, in kebab-case: those of `TableFormat`,
`leave-out` and `schema` (a file) at the top, and as sections [policy], [offers], [courier],
[peers], [schema] (in place of a file), [columns] (own column = agreed column; `columns` at the top
lists those to read), [states.NAME] (own state = agreed state, of an agreed column) and [factors].
docs/deployment.md shows a whole file, and what each key does. No run has a say in any of it.

A list of one value may be written as this value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from inspect import isfunction
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from fedbn.bounded_file import read_toml
from fedbn.data.mapping import SiteMapping
from fedbn.data.preparation import Preparation
from fedbn.data.schema import Schema
from fedbn.data.table_format import TableFormat
from fedbn.data.tables import read_schema
from fedbn.errors import ConfigError, SchemaError, did_you_mean
from fedbn.federation.offers import Offers
from fedbn.federation.policy import SitePolicy
from fedbn.setting import sha256


@dataclass(frozen=True)
class CourierKeys:
    """How a site knows its server's requests, and signs its replies (docs/courier.md): the paths of
    its private key and of the authority's certificate, and the server's name in its own."""

    key: Path
    authority: Path
    server: str


@dataclass(frozen=True)
class SiteFile:
    """What a site decided: the keys of its file.

    Attributes
    ----------
    name : None: the server calls the site by a number.
    mapping : `columns`, `states` and `leave-out` of the file.
    columns, missing_cells, form : empty, None, or without a key for what a simulation's run says.
    missing : what stands for a missing cell here, besides what the run says.
    disclosures, ledger, cohorts, prepared : None for a file beside the table.
    bundles, peers : empty, or None, for any.
    schema : None for the columns and states that the table is found to have.
    courier : None where it answers no messages as files.
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
        """What a run wants, in this site's own names, with what the site itself decided; a column
        that the run leaves out everywhere need not be here."""
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
    """Read a site's TOML file, as in the module's docstring; its paths are relative to it. Raises
    ConfigError: the file cannot be read, a key is unknown, or a value is wrong."""
    content = read_toml(path)
    try:
        return _site(content, Path(path).absolute().parent)
    except (ConfigError, SchemaError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _site(content: Mapping[str, Any], folder: Path) -> SiteFile:
    found = _values(content, _KEYS, folder)
    if ("peers" in found or "identity_key" in found) and "name" not in found:
        raise ConfigError("a site with peers or an identity-key must have a name")
    for digest in found.get("bundles", ()):
        sha256("bundles", digest)
    if peers := found.get("peers"):
        _require_keys(peers.values())
    columns, schema = found.pop("columns", {}), found.pop("schema", None)
    mapping = SiteMapping(
        columns={} if isinstance(columns, tuple) else columns,
        states=found.pop("states", {}),
        leave_out=found.pop("leave_out", ()),
    )
    site = SiteFile(
        mapping=mapping,
        columns=columns if isinstance(columns, tuple) else (),
        schema=read_schema(schema) if isinstance(schema, Path) else schema,
        form={key: found.pop(key) for key in FORM if key in found},
        **found,
    )
    site.prepare(Preparation())
    return site


def _columns(columns: Any, folder: Path) -> tuple[str, ...] | Mapping[str, str]:
    """Own columns to read, or what they are called."""
    kind: Any = tuple[str, ...] if isinstance(columns, list) else Mapping[str, str]
    found: tuple[str, ...] | Mapping[str, str] = _value("columns", columns, kind, folder)
    return found


def _schema(schema: Any, folder: Path) -> Path | Schema:
    """A file, or the columns of the file's own table."""
    if isinstance(schema, dict):
        return Schema.from_dict(schema)
    file: Path = _value("schema", schema, Path, folder)
    return file


def _kinds(group: Any) -> dict[str, Any]:
    """Key -> type of the fields of a dataclass; of one that may be None that of its values."""
    hints = {each.name: get_type_hints(group)[each.name] for each in fields(group)}
    return {
        name.replace("_", "-"): get_args(hint)[0] if isinstance(hint, UnionType) else hint
        for name, hint in hints.items()
    }


FORM = tuple(each.name for each in fields(TableFormat))
"""The keys that say how the table's file is written."""

_KEYS = {
    **_kinds(SiteFile),
    **_kinds(TableFormat),
    "columns": _columns,
    "schema": _schema,
    "states": Mapping[str, Mapping[str, str]],
    "leave-out": tuple[str, ...],
}
del _KEYS["form"], _KEYS["mapping"]


def _values(content: Mapping[str, Any], kinds: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Field -> value of a table of the file, whose keys have these types."""
    for key in content:
        if key not in kinds:
            raise ConfigError(f"unknown key {key!r}{_hint(key, kinds)}")
    return {
        key.replace("-", "_"): _value(key, value, kinds[key], folder)
        for key, value in content.items()
    }


def _value(key: str, value: Any, kind: Any, folder: Path) -> Any:
    """A value of a type; one value may stand for a list, and paths are relative to `folder`."""
    if isfunction(kind):
        return kind(value, folder)
    if is_dataclass(kind):
        return _group(key, _single(key, value, dict), kind, folder)
    if kind is Path:
        return folder / _single(key, value, str)
    of = get_args(kind)
    if get_origin(kind) is tuple:
        listed = value if isinstance(value, list) else [_single(key, value, of[0])]
        if not all(_is(of[0], each) for each in listed):
            raise ConfigError(f"{key!r} must be a list of {_LISTED[of[0]]}, not {value!r}")
        return tuple(listed)
    if kind == Mapping[str, str]:
        if not isinstance(value, dict) or not all(isinstance(v, str) and v for v in value.values()):
            raise ConfigError(f'[{key}] must have lines of the form own = "agreed"')
        return value
    if of:
        table = _single(key, value, dict)
        return {name: _value(f"{key}.{name}", each, of[1], folder) for name, each in table.items()}
    return _single(key, value, kind)


def _group(key: str, content: Mapping[str, Any], group: Any, folder: Path) -> Any:
    """A table of the file, [key], as a value."""
    found = _values(content, _kinds(group), folder)
    needed = [each.name for each in fields(group) if each.default is MISSING]
    if lacking := [name for name in needed if name not in found]:
        raise ConfigError(f"[{key}] must have {', '.join(needed)}; it lacks {lacking[0]!r}")
    return group(**found)


def _is(kind: type, value: Any) -> bool:
    return type(value) is kind or (kind is float and type(value) is int)


def _single(key: str, value: Any, kind: type) -> Any:
    if not _is(kind, value) or value == "":
        raise ConfigError(f"{key!r} must be {_WORDS[kind]}, not {value!r}")
    return value


_WORDS: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
}
_LISTED = {str: "texts", float: "numbers"}


def _hint(key: str, known: Iterable[str]) -> str:
    if key in _kinds(SitePolicy):
        return "; it belongs under [policy]"
    if key in _KEYS:
        return "; it belongs above all [sections]"
    return did_you_mean(key, known)


def _require_keys(peers: Iterable[str]) -> None:
    from fedbn.secure.session import identity_key  # loads cryptography, which few sites need

    for peer in peers:
        identity_key(peer)
