"""Build the C++ program of the authors of XGES, which `simulations.benchmarks.search` races.

    python -m simulations.benchmarks.build_xges SOURCES PROGRAM
    XGES_PROGRAM=PROGRAM python -m simulations.benchmarks.search --score gaussian-bic \\
        --networks random-gaussian:100:400 --peers "xges in C++ (xges-0)"

SOURCES is a copy of github.com/ANazaret/XGES (commit 3c60d7a was raced); nothing is written there.
It takes g++ 12 or a newer compiler of C++23, and headers and libraries of Eigen 3, Boost, spdlog
with fmt, and BLAS (Debian: libeigen3-dev libboost-dev libspdlog-dev libfmt-dev libblas-dev). It is
compiled with -O2, single-threaded. Headers that the sources use without naming them are named here.

The sources read tables by cnpy, a submodule of theirs. Where SOURCES/cnpy is empty a reader of the
same interface takes its place; it has no part in the search.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fedbn.errors import ConfigError, FedbnError, system_errors_as
from simulations.benchmarks.arguments import parser_of
from simulations.terminal import show_error

_UNITS = ("BICScorer", "EdgeQueueSet", "Operators", "PDAG", "XGES", "set_ops", "main")
_UNNAMED_HEADERS = (
    "chrono",
    "functional",
    "iostream",
    "map",
    "memory",
    "stdexcept",
    "string",
    "unordered_map",
    "vector",
)
_DEFINED = ("-DSPDLOG_FMT_EXTERNAL", "-DFMT_DEPRECATED_OSTREAM")
_LIBRARIES = ("-lspdlog", "-lfmt", "-lblas")
_EIGEN = "/usr/include/eigen3"
_LAST_LINES = 10
_CNPY = r"""
#pragma once
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>
namespace cnpy {
struct NpyArray {
    std::vector<size_t> shape;
    std::vector<double> values;
    template <typename T> T *data() { return values.data(); }
};
// A table of little-endian doubles in C order, version 1 of the format.
inline NpyArray npy_load(const std::string &name) {
    std::ifstream file(name, std::ios::binary);
    unsigned char begin[10];
    file.read(reinterpret_cast<char *>(begin), sizeof begin);
    std::string header(begin[8] + 256 * begin[9], ' ');
    file.read(header.data(), header.size());
    if (!file || header.find("'<f8'") == std::string::npos ||
        header.find("'fortran_order': False") == std::string::npos)
        throw std::runtime_error(name + " must be a table of doubles in C order");
    size_t place = header.find('(', header.find("'shape'")) + 1;
    size_t rows = std::stoul(header.substr(place));
    size_t columns = std::stoul(header.substr(header.find(',', place) + 1));
    NpyArray table{{rows, columns}, std::vector<double>(rows * columns)};
    file.read(reinterpret_cast<char *>(table.values.data()), rows * columns * sizeof(double));
    if (!file) throw std::runtime_error(name + " is cut off");
    return table;
}
}
"""


def build(sources: Path, program: Path, compiler: str = "g++", eigen: str = _EIGEN) -> None:
    """Compile and link; the program is written whole or not at all.

    Parameters
    ----------
    sources : the folder of the authors' repository.
    program : the file to write; its folder must exist.
    compiler, eigen : a C++ compiler, and the folder with Eigen's headers.

    Raises
    ------
    ConfigError : a source is missing, the compiler cannot be run, or it fails.
    """
    code, headers = sources / "src-cpp", sources / "lib"
    for unit in _UNITS:
        if not (code / f"{unit}.cpp").is_file():
            raise ConfigError(f"{sources} must have src-cpp/{unit}.cpp of XGES")
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        made = Path(folder)
        include = [headers, made, Path(eigen)]
        if (sources / "cnpy" / "cnpy.h").is_file():
            include.insert(0, sources)
        else:
            (made / "cnpy").mkdir()
            (made / "cnpy" / "cnpy.h").write_text(_CNPY, encoding="utf-8")
        options = ["-std=c++23", "-O2", *_DEFINED]
        options += [part for place in include for part in ("-I", str(place))]
        options += [part for header in _UNNAMED_HEADERS for part in ("-include", header)]
        objects = [str(made / f"{unit}.o") for unit in _UNITS]
        for unit, target in zip(_UNITS, objects, strict=True):
            _run([compiler, *options, "-c", str(code / f"{unit}.cpp"), "-o", target])
        _run([compiler, *objects, "-o", str(made / "program"), *_LIBRARIES])
        os.replace(made / "program", program)


def _run(command: list[str]) -> None:
    with system_errors_as(ConfigError, f"{command[0]} cannot be run"):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = "\n".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
        raise ConfigError(f"{' '.join(command)} failed:\n{said}")


def main(arguments: list[str] | None = None) -> int:
    """Build the program and say where it is."""
    parser = parser_of("build_xges", __doc__)
    parser.add_argument("sources", type=Path, help="folder of the authors' repository")
    parser.add_argument("program", type=Path, help="file to write")
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--eigen", default=_EIGEN, help="folder with Eigen's headers")
    options = parser.parse_args(arguments)
    try:
        build(options.sources, options.program, options.compiler, options.eigen)
    except FedbnError as error:
        show_error(error)
        return 1
    print(f"XGES_PROGRAM={options.program}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
