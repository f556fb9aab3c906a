"""How the command `fedbn` starts; installed, this is the package `fedbn_apps`.

The apps are called `clients`, `server` and `simulations` wherever they run: in a checkout, in the
bundle that Flower sends, and in the command. A wheel must not put such common names at the top of
site-packages, so there they lie below `fedbn_apps`, and the command looks for them there first
(docs/decisions/008-the-apps-are-installed-below-fedbn-apps.md).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Run the command with the apps that belong to this file, whatever else the path holds.

    numpy's linear algebra gets one thread, unless the environment says otherwise: sums of products
    then have the same bytes on machines with more cores, and no pool of threads is started. The
    core has threads of its own (`--threads`).
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(_folder()))
    from simulations.cli import main as command

    command()


def _folder() -> Path:
    """The folder that holds the apps: this one when installed, else the checkout's root."""
    here = Path(__file__).resolve().parent
    return here if (here / "simulations").is_dir() else here.parent
