"""What the records of a reply must be: the agreed keys, with the agreed types, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flwr.app import ArrayRecord, ConfigRecord

from fedbn.federation.family_message import ANSWER_KEYS
from fedbn.federation.message import ARRAY_KEYS
from fedbn.federation.moments_message import MOMENTS_KEYS

__all__ = [
    "is_counts",
    "is_diagnostics",
    "is_key",
    "is_masked",
    "is_moments",
    "is_receipt",
    "is_schema",
    "is_structures",
    "is_text",
]

Is = Callable[[object], bool]

SCHEMA_KEYS = {"text": str, "hash": str}
KEY_KEYS = {"public": bytes, "name": str, "signature": bytes}
DIAGNOSTIC_KEYS = {"label": str, "rows": int, "rows_dropped": int, "seconds": float}


def _has_types(record: object, types: Mapping[str, type]) -> bool:
    return isinstance(record, ConfigRecord) and all(
        type(value) is types.get(key) for key, value in record.items()
    )


def _exactly(types: Mapping[str, type]) -> Is:
    """Records with all of these keys."""

    def check(record: object) -> bool:
        return _has_types(record, types) and set(record) == set(types)  # type: ignore[call-overload]

    return check


def _arrays(keys: tuple[str, ...]) -> Is:
    """Records of exactly these arrays."""

    def check(record: object) -> bool:
        return isinstance(record, ArrayRecord) and set(record) == set(keys)

    return check


is_structures = _arrays(ARRAY_KEYS)
is_moments = _arrays(MOMENTS_KEYS)
is_counts = _arrays(ANSWER_KEYS)
is_schema = _exactly(SCHEMA_KEYS)
is_receipt = _exactly({"received": bool})
is_text = _exactly({"text": str})


def is_diagnostics(record: object) -> bool:
    """Some of label, rows and seconds."""
    return _has_types(record, DIAGNOSTIC_KEYS)


def is_key(record: object) -> bool:
    """A public key, possibly with a name and a signature."""
    return _has_types(record, KEY_KEYS) and "public" in record  # type: ignore[operator]


def is_masked(record: object) -> bool:
    """A vector of words."""
    if not isinstance(record, ArrayRecord) or set(record) != {"masked"}:
        return False
    words = ("uint16", "uint32", "uint64")
    return record["masked"].dtype in words and len(record["masked"].shape) == 1
