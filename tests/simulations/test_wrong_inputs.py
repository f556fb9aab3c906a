"""Wrong inputs of every command: one line that names what is wrong, and nothing left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.simulations.conftest import Fedbn

FILES: dict[str, bytes | str] = {
    "good.csv": "a,b,c\n" + "0,1,0\n1,0,1\n0,0,1\n1,1,0\n" * 3,
    "empty.csv": "",
    "header.csv": "a,b,c\n",
    "twice.csv": "a,a\n0,1\n1,0\n",
    "mixed.csv": "a;b\n0;1\n1,0\n",
    "binary.csv": bytes(range(256)),
    "ragged.csv": "a,b\n0,1\n1\n",
    "nan.csv": "a,b\n0.5,nan\n1.5,2.5\n",
    "dag.json": json.dumps({"nodes": ["a", "b", "c"], "edges": [["a", "b"]]}),
    "cycle.json": json.dumps({"nodes": ["a", "b"], "edges": [["a", "b"], ["b", "a"]]}),
    "torn.json": '{"nodes": [',
    "torn.bif": "network x {\nvariable a {",
    "torn.toml": "[policy\n",
    "unknown.toml": 'lerner = "ges"\n',
    "knowledge.toml": 'required = [["a", "z"]]\n',
    "torn.jkl": "2\na 1\n-1.0 0\n",
    "cases.csv": "smoke,zz\nno,0\n",
    "wide.csv": "a,b,c,d,e\n0,1,0,1,0\n",
    "plan.toml": 'network = "asia"\n[grid]\nrows = [20]\nclients = [2]\n',
    "mine/thesis.tex": "years of work",
}

ASIA = ("simulate", "--network", "asia", "--clients", "2", "--rows", "20")
WRONG: list[tuple[tuple[str, ...], str]] = [
    (("learn", "nowhere.csv"), "nowhere.csv cannot be read: No such file"),
    (("learn", "mine"), "mine: a table's name must end in"),
    (("learn", "empty.csv"), "empty.csv is empty"),
    (("learn", "header.csv"), "header.csv has a header but no row"),
    (("learn", "twice.csv"), "twice.csv: column name 'a' must occur once"),
    (("learn", "mixed.csv"), "mixed.csv has a single column, 'a;b'"),
    (
        ("learn", "binary.csv"),
        "binary.csv: line 2 must be UTF-8, found byte 0x80; text of another program may need "
        "--encoding latin-1; a file that is no text is no CSV",
    ),
    (("learn", "ragged.csv"), "ragged.csv: row 2 has 1 cell"),
    (("learn", "nan.csv", "--score", "gaussian-bic"), "nan.csv: column 'b', row 1: 'nan' must be"),
    (("learn", "good.csv", "--separator", "xx"), "one of ',', ';', '|', 'tab', '\\t', 'space'"),
    (("learn", "good.csv", "--discretise", "z:3"), "there must be a column 'z' of numbers only"),
    (("learn", "good.csv", "--knowledge", "knowledge.toml"), "names 'z', which is no variable of"),
    (("learn", "good.csv", "--knowledge", "no.toml"), "no.toml: No such file or directory"),
    (("learn", "good.csv", "--schema", "no.json"), "schema no.json: No such file or directory"),
    (("learn", "good.csv", "--schema", "torn.json"), "schema torn.json is not JSON: "),
    (("learn", "good.csv", "--out", "no/such.json"), "there is no folder no"),
    (("fuse", "wide.csv", "wide.csv"), "wide.csv: line 1 must be a header with parent and child"),
    (("compare", "asia", "wide.csv"), "a table of rows is no list of edges"),
    (("sample", "asia", "--out", "t.sas7bdat"), "to write must end in .csv, .csv.gz, .parquet"),
    (("site", "new", "good.csv", "--allow", "all", "--out", "s.toml"), "must be one of counts, "),
    (("site", "prepare", "no.toml"), "cannot read no.toml: No such file or directory"),
    (("check", "twice.csv"), "twice.csv: column name 'a' must occur once"),
    (("sweep", "plan.toml", "--out", "good.csv"), "must be a folder: good.csv is a file"),
    (("sweep", "torn.toml"), "torn.toml is not valid TOML"),
    ((*ASIA[:-1], "0"), "rows must be at least 1, not 0"),
    (("simulate", "--table", "good.csv", "--clients", "99"), "99 clients, 12 rows"),
    (("credible", "torn.jkl"), "torn.jkl, near line 3: a file of local scores has"),
    (("credible", "good.csv", "--out", "no/t.csv"), "cannot write no/t.csv: there is no folder no"),
    (("credible", "good.csv", "--out", "t.dot", "--threshold", "7"), "--threshold must be above 0"),
    (
        ("credible", "good.csv", "--figures", "good.csv/f"),
        "write figures to good.csv/f: Not",
    ),
    (("audit", "nowhere.csv"), "nowhere.csv cannot be read: No such file"),
    (("bootstrap", "good.csv", "--strengths", "mine"), "cannot write mine: it is a folder"),
    (("fuse", "cycle.json"), "cycle.json: a DAG must have no directed cycle, found a -> b -> a"),
    (("fuse", "torn.json"), "torn.json: not valid JSON"),
    (("fuse", "dag.json", "--weights", "1,2"), "one per DAG (1), not '1,2'"),
    (("fuse", "dag.json", "--theta", "x"), "theta must be"),
    (("fuse", "dag.json", "--reading", "no"), "unknown reading 'no'"),
    (("fuse", "dag.json", "--quorum", "5"), "at most the number of structures, 1, not 5"),
    (("fuse", "dag.json", "--first", "9"), "--first 9 needs as many DAGs, the files have 1"),
    (("fuse", "dag.json", "--out", "mine"), "mine exists and is not a result of fedbn"),
    (("compare", "asia", "alarm"), "'ANAPHYLAXIS', 'ARTCO2', 'BP' and 34 more"),
    (("sample", "torn.bif"), "torn.bif, line 2"),
    (("sample", "dag.json"), "dag.json must have"),
    (("sample", "no.bif"), "no.bif cannot be read: No such file or directory"),
    (("sample", "asia", "--network-dir", "no"), "no: must be a folder with networks"),
    ((*ASIA, "--config", "torn.toml"), "torn.toml is not valid TOML"),
    ((*ASIA, "--config", "unknown.toml"), "'lerner'; did you mean 'learner'? (settings of unknown"),
    ((*ASIA, "--engine", "in-process", "--gold", "dag.json"), "must have the same variables"),
    (("query", "mine", "--all"), "mine is no results folder: it has no run.json"),
    (("query", "asia", "--all", "--given-file", "no.csv"), "no.csv cannot be read: No such file"),
    (("query", "asia", "--all", "--given-file", "binary.csv"), "must be UTF-8 text, byte 128 is"),
    (("query", "asia", "--all", "--given-file", "empty.csv"), "a header and at least one case"),
    (("query", "asia", "--all", "--given-file", "cases.csv"), "cases.csv: the network has no"),
    (("report", "mine"), "mine must be a results folder with report.json"),
    (("update", "mine", "--remove", "a"), "no result of a federated run: state.json: No such"),
    (("parameters", "mine", "--sites", "good.csv"), "federated run: state.json: No such file"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=[" ".join(each) for each, _ in WRONG])
def test_wrong_input_is_one_line_and_leaves_nothing(
    fedbn: Fedbn,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    for name, content in FILES.items():
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
    quiet = () if arguments[0] in ("sample",) else ("--quiet",)
    error = fedbn(*arguments, *quiet).error
    assert words in error
    assert "Errno" not in error
    assert error.count("cannot write") <= 1
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert left == set(FILES)
