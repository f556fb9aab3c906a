"""Background knowledge from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedbn.errors import ConfigError
from fedbn.graphs.knowledge import Knowledge, read_knowledge


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
