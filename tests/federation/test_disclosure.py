"""The log of what left a site."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from fedbn.federation.disclosure import (
    Content,
    Disclosure,
    digest,
    structure_words,
)
from fedbn.federation.message import StructureMessage, as_classes, to_arrays
from fedbn.graphs.dag import DAG

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def entry(words: str = "1 DAG with 2 arcs over 3 variables") -> Disclosure:
    content = {"structures": {"header": b"12", "edges": b"345"}}
    return Disclosure.of(content, NOON, run="7", round=1, kind="train", words=words)


def test_an_entry_says_when_what_and_how_much() -> None:
    found = entry()
    assert found.time == "2026-05-04T12:00:00.000+00:00"
    assert (found.run, found.round, found.kind, found.bytes) == ("7", 1, "train", 5)
    assert found.records == {"structures": ["edges", "header"]}


def by_definition(content: Content) -> str:
    """The canonical form, built in one piece."""
    whole = b""
    for record in sorted(content):
        for key in sorted(content[record]):
            for part in (record.encode(), key.encode(), content[record][key]):
                whole += len(part).to_bytes(8, "little") + part
    return hashlib.sha256(whole).hexdigest()


CONTENTS = st.dictionaries(
    st.text(max_size=3), st.dictionaries(st.text(max_size=3), st.binary(max_size=5), max_size=3)
)


@given(CONTENTS, CONTENTS)
def test_the_hash_is_of_the_canonical_form(one: Content, other: Content) -> None:
    assert digest(one)[1] == by_definition(one)
    filled = [{name: keys for name, keys in each.items() if keys} for each in (one, other)]
    assert (digest(one) == digest(other)) == (filled[0] == filled[1])


def test_plain_words() -> None:
    chain = DAG.from_edges("abc", [("a", "b"), ("b", "c")])
    collider = DAG.from_edges("abc", [("a", "b"), ("c", "b")])
    message = StructureMessage("00" * 32, chain.names, (chain, collider), (1.0, 1.0), "complete")
    assert structure_words(to_arrays(message), 3) == "2 DAGs with 4 arcs over 3 variables"
    classes = to_arrays(as_classes(message))
    assert structure_words(classes, 3) == "2 equivalence classes with 4 edges over 3 variables"
