"""What `fedbn learn` on a CSV file loads: a command of milliseconds waits for its imports."""

import json
import subprocess
import sys
from pathlib import Path

HEAVY = {
    "cryptography",
    "fedbn.federation.fusions",
    "fedbn.federation.site_file",
    "fedbn.privacy.ledger",
    "flwr",
    "matplotlib",
    "networkx",
    "pandas",
    "pgmpy",
    "pyarrow.parquet",
    "ray",
    "scipy",
}
SCRIPT = """
import json, sys
from simulations.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
json.dump(sorted(sys.modules), sys.stderr)
"""


def test_learn_loads_no_library_that_it_has_no_use_for(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("a,b\n" + "0,0\n1,1\n" * 20)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "learn", str(table), "--quiet"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(json.loads(done.stderr.splitlines()[-1]))
    assert "fedbn._core" in loaded
    assert not loaded & HEAVY
