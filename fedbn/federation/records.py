"""The records of a run's messages that hold single values, and masked sums.

task         what a request is about: the agreed schema, the round, the run of secure sums; with
             the question for columns, the server's version and the common cut points
question     a question for histograms       -> histogram   the answer
report       what the server says of columns -> receipt     that it was heard
sums         a request for a masked sum, the first one with the terms of the run
schema, keys a site's columns and states, and its public key of secure sums
diagnostics  what a site tells about itself, where both sides want it
"""

from __future__ import annotations

import numpy as np

from fedbn.wire.arrays import ArrayFormat, Field
from fedbn.wire.records import RecordFormat

TASK = RecordFormat(
    "task",
    {"round": int},
    {"text": str, "hash": str, "report": str, "run": str, "fedbn": str, "cuts": str}
    | {"columns": str},
)
QUESTION = RecordFormat("question", {"text": str})
REPORT = RecordFormat("report", {"text": str})
SUMS = RecordFormat("sums", {"request": bytes}, {"terms": str})

SCHEMA = RecordFormat("schema", {"text": str, "hash": str})
HISTOGRAM = RecordFormat("histogram", {"text": str})
RECEIPT = RecordFormat("receipt", {"received": bool})
KEYS = RecordFormat("keys", {"public": bytes}, {"name": str, "signature": bytes}, {"public": 32})
MASKED = ArrayFormat("sums", (Field("masked", (np.uint16, np.uint32, np.uint64), ("L",)),))
DIAGNOSTICS = RecordFormat(
    "diagnostics",
    {},
    {"label": str, "rows": int, "rows_dropped": int, "seconds": float, "missing": str},
)
