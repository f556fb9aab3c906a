"""API pages from the docstrings, by pdoc: `make docs`, or `python docs/api.py FOLDER`.

One page per public module of the library. What pdoc warns of (a module that cannot be imported, an
annotation that names nothing) is an error here.
"""

from __future__ import annotations

import pkgutil
import sys
import warnings
from pathlib import Path

import pdoc
import pdoc.render

import fedbn
import fedbn.results.plots  # it asks the system for fonts, which pdoc forbids while it imports

PRIVATE = r"!.*\._.*"

EXPECTED = (
    # pdoc finds most modules of a package by itself, but not those that `__all__` leaves out.
    "The module specification",
    # It looks for names in the wrong module where NamedTuple or dataclass wrote the constructor.
    r"Error parsing type annotation .* for fedbn\.\S*\.__init__\. Import of",
)
"""Beginnings of warnings that are pdoc's own."""


def public_modules() -> list[str]:
    """Every module of fedbn whose name has no part that begins with an underscore."""
    found = [module.name for module in pkgutil.walk_packages(fedbn.__path__, "fedbn.")]
    return ["fedbn", *(name for name in found if "._" not in name)]


def main(folder: str) -> None:
    """Write the pages; raises the first warning of pdoc."""
    pdoc.render.configure(docformat="numpy", footer_text=f"fedbn {fedbn.__version__}")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", module="pdoc")
        for message in EXPECTED:
            warnings.filterwarnings("ignore", message)
        pdoc.pdoc(*public_modules(), PRIVATE, output_directory=Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
