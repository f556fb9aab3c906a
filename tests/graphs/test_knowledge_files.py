"""Background knowledge from files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from fedbn.errors import ConfigError
from fedbn.fusion.minimal_imap import marginal_imap
from fedbn.graphs.dag import DAG
from fedbn.graphs.knowledge import Knowledge, is_text, knowledge_of, read_knowledge


def test_json_and_toml_say_the_same(tmp_path: Path) -> None:
    content = {
        "required": [["a", "b"]],
        "forbidden": [["c", "a"], ["b", "c"]],
        "tiers": [["a", "b"], ["d"]],
    }
    as_json, as_toml = tmp_path / "k.json", tmp_path / "k.toml"
    as_json.write_text(json.dumps(content))
    as_toml.write_text("\n".join(f"{key} = {json.dumps(value)}" for key, value in content.items()))
    expected = Knowledge(
        required=(("a", "b"),), forbidden=(("c", "a"), ("b", "c")), tiers=(("a", "b"), ("d",))
    )
    assert read_knowledge(as_json) == read_knowledge(as_toml) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"required": [["a", "b"]], "forbidden": [["a", "b"]]}', "a -> b is both required and"),
        ('{"required": [["a", "b"], ["b", "a"]]}', "cycle"),
        ('{"requires": []}', "no keys but required, forbidden, tiers"),
        ('{"required": [["a"]]}', r"required must be a list of pairs \[parent, child\]"),
        ('{"tiers": ["a", "b"]}', "tiers must be a list of groups"),
        ("[]", "no keys but"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "k.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=f"k.json.*{reason}"):
        read_knowledge(path)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read the background knowledge"):
        read_knowledge(tmp_path / "none.json")


def test_text_is_read_back() -> None:
    known = Knowledge((("a", "b"),), (("é", '"'),), (("a",), ("b", "c")))
    assert is_text(known.text)
    assert read_knowledge(known.text) == known
    assert knowledge_of(known) is known
    assert knowledge_of({"required": [("a", "b")]}) == Knowledge((("a", "b"),))
    with pytest.raises(ConfigError, match="the knowledge is not JSON"):
        read_knowledge("{")
    with pytest.raises(ConfigError, match="no keys but required"):
        knowledge_of({"require": []})
    with pytest.raises(ConfigError, match="knowledge must be lists of names"):
        knowledge_of({"tiers": [{1}]})


def test_two_say_more_than_one() -> None:
    tiers = Knowledge(tiers=(("a",), ("b", "c")))
    other = Knowledge((("b", "c"),), tiers=(("b",), ("c",)))
    both = tiers.and_also(other)
    assert both.tiers == tiers.tiers
    assert both.required == (("b", "c"),)
    assert both.forbidden == (("c", "b"),)
    with pytest.raises(ConfigError, match="b -> a is required, but the tiers put a first"):
        tiers.and_also(Knowledge((("b", "a"),)))


@pytest.mark.parametrize("seed", range(30))
def test_what_is_known_of_some_holds_for_a_marginal_of_what_keeps_it(seed: int) -> None:
    """The minimal I-map over some variables, of a DAG that keeps required edges and tiers."""
    rng = np.random.default_rng(seed)
    names = tuple("abcdefg")
    dag = DAG(names, np.triu(rng.random((7, 7)) < 0.4, k=1))
    edges = [dag.edges[k] for k in rng.permutation(len(dag.edges))[:4]]
    tiers = (names[:2], names[2:4], names[5:])
    known = Knowledge(required=tuple(edges), tiers=tiers)
    some = [name for name in names if rng.random() < 0.6]
    assert not known.breaches(dag)
    assert not known.of_some(some).breaches(marginal_imap(dag, some))
    assert known.of_some(names) == known
