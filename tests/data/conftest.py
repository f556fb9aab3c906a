"""Here small files are read as large ones are; what the strict reader finds is compared."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fedbn.data import csv_columns


@pytest.fixture(scope="module", autouse=True)
def no_file_is_small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_columns, "_SMALL", 0)
        yield
