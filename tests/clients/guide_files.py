"""The sites' files of the guide (docs/deployment.md), to the letter."""

from __future__ import annotations

import re
from pathlib import Path

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "deployment.md").read_text("utf-8")

FIRST_SITE = """name = "north"
table = "north.csv"

[policy]
min-rows = 100
max-in-degree = 8
diagnostics = true
"""
"""Of section 3, as the guide had it before sites had contracts."""

FIRST_DECISIONS = """\
name = "north"                  # what the server may call this site (needs diagnostics)
disclosures = "north.jsonl"     # the log; by default beside the table
leave-out = ["record_id"]       # own columns that take no part
missing = ["?"]                 # what stands for a missing cell here, besides the empty one
missing-cells = "drop-rows"     # or "state", "refuse"; instead of what the run says
table = "north.csv"             # only for trying the file out: fedbn check, fedbn simulate --sites

[policy]
min-rows = 500                  # with fewer rows, nothing is sent, not even column names
variables = ["age", "smoke"]    # the only columns that may be named
max-in-degree = 6               # of any structure that is sent
max-dags = 20                   # in one message
structures = "cpdag"            # equivalence classes only; "dag" by default
diagnostics = true              # rows and seconds may be told, if the run asks for them
counts = true                   # exact counts of families may leave; false by default
counts-min-rows = 1000          # but not of a smaller table
counts-max-parents = 4          # nor of a family with more parents
min-cell = 5                    # nor those of a family that has a count from 1 to 4
max-states = 50                 # a column with more states is not named (default)
min-state-rows = 5              # nor one with a state of fewer rows (default; 0: off)
allow-states = ["zip"]          # but these are, by their agreed names
kind = "categorical"            # no runs with gaussian scores
weights = "rounded"             # of several structures (default); or "uniform", "exact"
max-messages = 50               # answers to one run (default)
max-messages-a-day = 100        # and in 24 hours (default)
histograms = false              # no counts of numbers for common cut points; true by default

[offers]                        # what a run may choose; without a key, anything
learner = ["ges", "xges0"]
score = "bdeu"
ess = [1, 10]
row-weight = 1
missing = ["NA"]                # the only tokens of missing cells that a run may name
max-parents = 5                 # at most; also for runs without a limit; so for the next two
learner-seconds = 600
memory-mb = 2048
knowledge = "knowledge.json"    # this site's own, kept besides what the run says
run-knowledge = false           # and the run may say nothing of its own

[columns]                       # own column = agreed column
Raucher = "smoke"

[states.smoke]                  # own state = agreed state, of an agreed column
ja = "yes"
nein = "no"
"""
"""Of section 6, as the guide had it before sites had contracts."""


def decisions_now() -> str:
    """The site's file of section 6 today."""
    blocks = re.findall(r"```toml\n(.*?)```", GUIDE, flags=re.DOTALL)
    (found,) = [block for block in blocks if "[offers]" in block]
    return found
