"""The examples of Hypothesis do not depend on what was imported before."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import hashlib, sys
import tests.conftest
if sys.argv[1] == "more":
    import fedbn.wire.arrays, simulations.cli.command_table
from hypothesis import given, settings
from hypothesis import strategies as st

drawn = []

@settings(max_examples=300, database=None)
@given(st.integers(), st.text(), st.floats())
def draw(number, text, real):
    drawn.append(repr((number, text, real)))

draw()
print(hashlib.sha256("".join(drawn).encode()).hexdigest())
"""


def test_examples_are_the_same_whatever_was_imported(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    first, second = (
        subprocess.run(
            [sys.executable, script, how],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for how in ("few", "more")
    )
    assert first == second
