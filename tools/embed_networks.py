"""Write the embedded networks of fedbn from BIF files.

    python tools/embed_networks.py FOLDER_WITH_BIF_FILES

The folder must have NAME.bif or NAME.bif.gz for every name below, as published by the Bayesian
Network Repository (https://www.bnlearn.com/bnrepository/, CC BY-SA 3.0).
"""

from __future__ import annotations

import sys
from pathlib import Path

from fedbn.networks.bif import read_bif
from fedbn.networks.json_file import write_json_network

NAMES = (
    "alarm",
    "andes",
    "asia",
    "cancer",
    "child",
    "earthquake",
    "hailfinder",
    "hepar2",
    "insurance",
    "pigs",
    "sachs",
    "survey",
    "win95pts",
)
EMBEDDED = Path(__file__).resolve().parents[1] / "fedbn" / "networks" / "embedded"
LIMIT = 1_000_000
"""Bytes of all embedded networks together."""


def embed(source: Path, target: Path) -> int:
    """Write NAME.json in `target` for every name, from `source`; returns the bytes written."""
    written = 0
    for name in NAMES:
        files = [source / f"{name}{suffix}" for suffix in (".bif", ".bif.gz")]
        found = next((file for file in files if file.is_file()), None)
        if found is None:
            raise FileNotFoundError(f"{source} must have {name}.bif or {name}.bif.gz")
        write_json_network(read_bif(found), target / f"{name}.json")
        written += (target / f"{name}.json").stat().st_size
    return written


def main() -> int:
    """Run the command line."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    EMBEDDED.mkdir(exist_ok=True)
    written = embed(Path(sys.argv[1]), EMBEDDED)
    print(f"{len(NAMES)} networks, {written:,} bytes, in {EMBEDDED}")
    return 0 if written < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
