"""What no compiler says: two types of one name in one namespace are one type to the linker.

It keeps one of the two `std::vector<Name>` then, and the other's elements are written with the
wrong size. Types in unnamed namespaces are their file's own.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

CORE = Path(__file__).parents[2] / "core"
UNNAMED = re.compile(r"^namespace \{$.*?^\}  // namespace$", re.MULTILINE | re.DOTALL)
TYPE = re.compile(
    r"^(?:struct|class|enum class|enum|using) (\w+)\b(?! *;|::)[^;]*[{=]", re.MULTILINE
)


def test_no_two_types_have_the_same_name() -> None:
    found = [
        name
        for path in sorted(CORE.rglob("*.[ch]pp"))
        for name in TYPE.findall(UNNAMED.sub("", path.read_text(encoding="utf-8")))
    ]
    assert "NodeSets" in found
    assert "DiagramArc" in found
    assert [name for name, times in Counter(found).items() if times > 1] == []
