"""The build of the C++ peer, with a stand-in for the compiler."""

from __future__ import annotations

from pathlib import Path

from simulations.benchmarks import build_xges

COMPILER = """#!/bin/sh
printf '%s\\n' "$*" >> "{log}"
while [ "$1" != -o ]; do shift; done
echo made > "$2"
exit {status}
"""


def prepare(tmp_path: Path, status: int = 0) -> tuple[list[str], Path]:
    """Arguments of the command, and what the stand-in writes of its calls."""
    code = tmp_path / "sources" / "src-cpp"
    code.mkdir(parents=True)
    for unit in build_xges._UNITS:
        (code / f"{unit}.cpp").touch()
    compiler, log = tmp_path / "compiler", tmp_path / "log"
    compiler.write_text(COMPILER.format(log=log, status=status))
    compiler.chmod(0o755)
    paths = [str(tmp_path / "sources"), str(tmp_path / "program")]
    return [*paths, "--compiler", str(compiler)], log


def test_every_source_is_compiled_and_the_program_written(tmp_path: Path, capsys) -> None:
    arguments, log = prepare(tmp_path)
    assert build_xges.main(arguments) == 0
    calls = log.read_text().splitlines()
    assert len(calls) == len(build_xges._UNITS) + 1
    assert all("-O2" in call for call in calls[:-1])
    assert (tmp_path / "program").read_text() == "made\n"
    assert capsys.readouterr().out == f"XGES_PROGRAM={tmp_path / 'program'}\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "compiler",
        "log",
        "program",
        "sources",
    ]


def test_what_fails_is_told_and_leaves_nothing(tmp_path: Path, capsys) -> None:
    arguments, _ = prepare(tmp_path, status=1)
    assert build_xges.main(arguments) == 1
    assert "BICScorer.cpp" in capsys.readouterr().err
    assert not (tmp_path / "program").exists()
    assert build_xges.main([str(tmp_path), str(tmp_path / "program")]) == 1
    assert "must have src-cpp/BICScorer.cpp" in capsys.readouterr().err.replace("\n", "")
