"""Modules that only some of fedbn needs, each with the extra that installs it.

    from fedbn.extras import highspy

imports the module, or raises MissingExtraError, one line with the command that installs it. Write
it where the module is used, never at the top: a learner that needs no solver runs without them.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from fedbn.errors import MissingExtraError

if TYPE_CHECKING:
    import highspy as highspy
    import openpyxl as openpyxl
    import pyreadstat as pyreadstat
    import pyscipopt as pyscipopt

EXTRAS = {
    "flwr": "flower",
    "cryptography": "flower",
    "ray": "simulation",
    "pgmpy": "pgmpy",
    "highspy": "exact",
    "pyscipopt": "exact",
    "openpyxl": "tables",
    "pyreadstat": "tables",
}
"""Module -> extra of fedbn that installs it."""


def __getattr__(name: str) -> ModuleType:
    """The module of this name, imported; raises MissingExtraError where it is not installed."""
    if name not in EXTRAS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    require_installed(name)
    return import_module(name)


def require_installed(name: str) -> None:
    """Raise MissingExtraError unless this key of EXTRAS is installed; nothing is imported."""
    if find_spec(name) is None:
        raise missing(name)


def missing(name: str) -> MissingExtraError:
    """The error for this key of EXTRAS, which is not installed."""
    how = f"pip install 'fedbn[{EXTRAS[name]}]'"
    return MissingExtraError(f"this needs {name}, which is not installed: {how}")
