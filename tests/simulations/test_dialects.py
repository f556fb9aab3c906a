"""The program that writes a public table as three sites would: their files read it back."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from fedbn.data.table_settings import TableSettings
from fedbn.errors import ConfigError
from fedbn.federation.site_table import site_table
from simulations.benchmarks.dialects import TABLES, read_source, write_dialects
from simulations.sites.tables import open_site

pytestmark = pytest.mark.filterwarnings("default::fedbn.errors.FedbnWarning")
PENGUINS = TABLES["penguins"]


def rows() -> list[dict[str, str]]:
    rng = np.random.default_rng(0)
    return [
        {
            "species": str(rng.choice(["Adelie", "Gentoo"])),
            "island": str(rng.choice(["Biscoe", "Dream"])),
            "bill_length_mm": f"{rng.normal(44, 5):.1f}",
            "bill_depth_mm": f"{rng.normal(17, 2):.1f}",
            "flipper_length_mm": str(rng.integers(170, 230)),
            "body_mass_g": "NA" if place % 10 == 0 else str(rng.integers(60, 120) * 50),
            "sex": str(rng.choice(["male", "female"])),
            "year": "2007",
        }
        for place in range(120)
    ]


def test_three_sites_read_what_was_dealt(tmp_path: Path) -> None:
    source = rows()
    write_dialects(PENGUINS, source, tmp_path, np.random.default_rng(1))
    settings = TableSettings(numbers=(",".join(PENGUINS.numbers),))
    found: Counter[tuple[str, ...]] = Counter()
    for name in ("north", "south", "west"):
        path, site = open_site(str(tmp_path / f"{name}.toml"))
        data = site_table(path, "mixed", settings, site).dataset
        assert data.names == tuple(sorted(PENGUINS.columns))
        for place in range(data.n_rows):
            cells = []
            for column, variable in enumerate(data.schema.variables):
                value = data.table[place, column]
                if data.gone is not None and data.gone[place, column]:
                    cells.append("NA")
                elif variable.states is None:
                    cells.append(f"{value:.6g}")
                else:
                    cells.append(variable.states[int(value)])
            found[tuple(cells)] += 1
    dealt: Counter[tuple[str, ...]] = Counter()
    for row in source:
        own = {n: row[n] for n in sorted(PENGUINS.columns)}
        for name in PENGUINS.numbers:
            own[name] = row[name] if row[name] == "NA" else f"{float(row[name]):.6g}"
        dealt[tuple(own.values())] += 1
    missing = sum(count for cells, count in (dealt - found).items() if "NA" not in cells)
    assert missing == 0  # rows with a missing cell are dropped at two sites, and stay at west
    assert not found - dealt


def test_arff_and_a_file_without_the_columns(tmp_path: Path) -> None:
    file = tmp_path / "t.arff"
    file.write_text("@relation t\n@attribute a numeric\n@attribute b {x,y}\n@data\n1,x\n?,y\n")
    assert read_source(file) == [{"a": "1", "b": "x"}, {"a": "?", "b": "y"}]
    nameless = tmp_path / "t.data"
    nameless.write_text("1, x\n?, y\n\n")
    assert read_source(nameless, "a b") == read_source(file)
    with pytest.raises(ConfigError, match="the file has no column 'bill_length_mm'"):
        write_dialects(PENGUINS, read_source(file), tmp_path, np.random.default_rng(0))
