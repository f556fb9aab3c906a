"""The agreed columns and states as text, and the check of a text that somebody else wrote."""

from __future__ import annotations

import json
import unicodedata

from fedbn.bounded_file import json_value
from fedbn.data.schema import Schema
from fedbn.errors import FedbnError, MessageError
from fedbn.federation.reply_limits import Limits
from fedbn.wire.sender import said_by
from fedbn.wording import count_of

MAX_NAME = 1000
"""Most characters of a column or a state in another party's schema."""


def schema_to_text(schema: Schema) -> str:
    """The JSON text of a schema, `{column: [states]}`, as the handshake carries it."""
    return json.dumps(schema.to_dict(), ensure_ascii=True, separators=(",", ":"))


@said_by()
def schema_from_text(text: object, schema_hash: object, *, limits: Limits | None = None) -> Schema:
    """Check the JSON text of another party's schema, and its hash, and build it.

    Without `limits` only the length of the text is limited. Raises MessageError: no text, longer
    than `limits.max_bytes`, no JSON, no schema, more columns than a DAG of `limits.max_bytes` has,
    a name that is longer than MAX_NAME or holds control characters, another hash, or a column of
    more than `limits.max_states` states.
    """
    schema = _schema(text, (limits or Limits()).max_bytes)
    if schema.hash != schema_hash:
        raise MessageError("the schema does not have the hash that came with it")
    most = max(len(variable.states or ()) for variable in schema.variables)
    if limits is not None and most > limits.max_states:
        words = f"a column must have at most {count_of(limits.max_states, 'state')}, not {most}"
        raise MessageError(words)
    return schema


def _schema(text: object, max_bytes: int) -> Schema:
    if not isinstance(text, str) or len(text) > max_bytes:
        raise MessageError(f"a schema must be a text of at most {max_bytes} characters")
    try:
        content = json_value(text)
        _require_short(content, max_bytes)
        return Schema.from_dict(content)
    except FedbnError:
        raise
    except (ValueError, TypeError, OverflowError):
        raise MessageError("a schema must be JSON, {column: [states]}") from None


def _require_short(content: object, max_bytes: int) -> None:
    """Names and states that can be shown and written, and no more columns than a DAG can have."""
    if not isinstance(content, dict):
        raise MessageError("a schema must be JSON, {column: [states]}")
    if len(content) ** 2 > max_bytes:
        raise MessageError(f"{len(content)} columns are more than a message can join")
    for name, states in content.items():
        if len(name) > MAX_NAME or any(unicodedata.category(c) == "Cc" for c in name):
            raise MessageError(
                f"a column name must have at most {MAX_NAME} characters and no control character, "
                f"not {name!r:.60}"
            )
        for state in states if isinstance(states, list) else ():
            if isinstance(state, str) and len(state) > MAX_NAME:
                raise MessageError(
                    f"column {name!r:.60}: a state must have at most {MAX_NAME} characters, not "
                    f"{len(state)}"
                )
