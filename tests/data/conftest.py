"""Both readers of CSV files are tested: tests that write a file run with each of them.

As shipped small files go to the strict reader; here a file is large by choice. `test_csv_columns`
compares the two itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fedbn.data import csv_columns

SMALL_UP_TO = {"pyarrow": 0, "strict": csv_columns._SMALL}
"""Who reads the files of tests -> bytes of a small file."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    files = {"tmp_path", "tmp_path_factory"} & set(metafunc.fixturenames)
    if files and metafunc.module.__name__ != "tests.data.test_csv_columns":
        metafunc.parametrize("csv_reader", list(SMALL_UP_TO), indirect=True, scope="module")


@pytest.fixture(scope="module", autouse=True)
def csv_reader(request: pytest.FixtureRequest) -> Iterator[str]:
    """Who reads."""
    reader = getattr(request, "param", "pyarrow")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_columns, "_SMALL", SMALL_UP_TO[reader])
        yield reader
