"""What counts and structures still tell of one person, where a site tells every count once.

A hostile server asks a site whose file `fedbn site new` wrote with `--allow counts` (no count from
1 to 10 leaves). The secret is one person's state of `ill`, as likely "no" as "yes". The server
knows the person's age; for the last attack all other rows, too. It knows the state by answers or by
a refusal, or has to guess.

    python -m simulations.benchmarks.sites.remaining
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from fedbn.arrays import Ints
from fedbn.data.schema import Schema, Variable
from fedbn.federation.answer_budget import budget_beside
from fedbn.federation.disclosure_log import log_beside
from fedbn.federation.family_message import FamilyRequest
from fedbn.federation.settings import Experiment
from fedbn.networks.family_counts import Family, FamilyTables
from simulations.benchmarks.sites.deployed_site import DeployedSite, arrays_of, task
from simulations.commands.new_site import site_text

STATES = ("no", "yes")
ILL = Variable("ill", STATES)
LEAST = 11
"""The smallest count that leaves."""


@dataclass(frozen=True)
class Table:
    """Rows in the order of their ages, which all differ; the person is somewhere in the middle.

    Attributes
    ----------
    ages : 20 + k / 10.
    ill : 0 or 1.
    person : which row is the secret's.
    """

    ages: Ints
    ill: Ints
    person: int

    @classmethod
    def draw(cls, rows: int, rng: np.random.Generator) -> Table:
        """A table in which one in three is ill, more of the old."""
        ages = 200 + np.arange(rows)
        ill = (rng.random(rows) < np.linspace(0.2, 0.5, rows)).astype(np.int64)
        person = int(rng.integers(rows // 3, 2 * rows // 3))
        ill[person] = rng.integers(2)
        return cls(ages, ill, person)

    @property
    def cuts(self) -> tuple[float, float]:
        """Two cut points with the person alone between them."""
        return float(self.ages[self.person - 1]) / 10, float(self.ages[self.person]) / 10

    def text(self, more: str = "") -> str:
        """The file: age, its double under another name, ill; and further lines."""
        rows = zip((self.ages / 10).tolist(), self.ill.tolist(), strict=True)
        lines = [f"{age},{age},{STATES[ill]}\n" for age, ill in rows]
        return "age,since,ill\n" + "".join(lines) + more


@dataclass(frozen=True)
class Attack:
    """An attack: gives the person's state, or None where it has to guess.

    Attributes
    ----------
    words : what is done.
    knows : what the server must bring about or know, beside the other rows.
    run : the attack, on the site of a table in a folder.
    """

    words: str
    knows: str
    run: Callable[[Path, Table], int | None]


def _site(folder: Path, table: Table, schema: Schema) -> DeployedSite:
    (folder / "north.csv").write_text(table.text())
    return DeployedSite(folder, table.text(), _file(folder, schema))


def _file(folder: Path, schema: Schema) -> str:
    return site_text(folder / "north.csv", name="north", schema=schema, allow=["counts"])


def _new_contract(site: DeployedSite, schema: Schema, text: str) -> None:
    """What the operator does: another file, or another table, and says yes."""
    site.file.write_text(_file(site.table.parent, schema))
    site.table.write_text(text)
    assert site.prepare(confirmed=True) == ""
    budget_beside(log_beside(site.table)).unlink(missing_ok=True)


def _cut(name: str, cut: float) -> Schema:
    return Schema((Variable.cut(name, [cut]), ILL))


def _counts(site: DeployedSite, schema: Schema, parent: str) -> Ints | None:
    """The table of ill by a column that is cut, [below or above, ill]; None where it is refused."""
    names = schema.names
    family = Family(names.index("ill"), (names.index(parent),))
    request = FamilyRequest(FamilyTables(schema, (family,)), with_own=False)
    answer, _ = site.counts(Experiment(), request)
    return None if answer is None else answer.counts.table(family)


def _between(low: Ints | None, high: Ints | None) -> int | None:
    """The state of the one who is below the higher cut and not below the lower one."""
    if low is None or high is None:
        return None
    more = high[0] - low[0]
    return int(np.argmax(more)) if sorted(more.tolist()) == [0, 1] else None


def two_contracts(folder: Path, table: Table) -> int | None:
    """The cut point of age moves past the person."""
    low, high = (_cut("age", cut) for cut in table.cuts)
    site = _site(folder, table, low)
    before = _counts(site, low, "age")
    _new_contract(site, high, table.text())
    return _between(before, _counts(site, high, "age"))


def another_name(folder: Path, table: Table) -> int | None:
    """The second contract has another column instead, with the same numbers in it."""
    low, high = _cut("age", table.cuts[0]), _cut("since", table.cuts[1])
    site = _site(folder, table, low)
    before = _counts(site, low, "age")
    _new_contract(site, high, table.text())
    return _between(before, _counts(site, high, "since"))


def two_columns(folder: Path, table: Table) -> int | None:
    """One contract has both columns, cut on either side of the person."""
    columns = [Variable.cut(n, [cut]) for n, cut in zip(("age", "since"), table.cuts, strict=True)]
    schema = Schema((columns[0], ILL, columns[1]))
    site = _site(folder, table, schema)
    return _between(_counts(site, schema, "age"), _counts(site, schema, "since"))


def one_row_more(folder: Path, table: Table) -> int | None:
    """The table is prepared anew when the person has come."""
    return _with_rows_more(folder, table, 1)


def rows_of_its_own(folder: Path, table: Table) -> int | None:
    """The table is prepared anew when the person has come, and ten that the server sent."""
    return _with_rows_more(folder, table, LEAST)


def _with_rows_more(folder: Path, table: Table, rows: int) -> int | None:
    """Ill as new rows make them: the person and further ones, who are all ill."""
    schema, before = Schema((ILL,)), Table(table.ages, table.ill, table.person)
    site = _site(folder, before, schema)
    family = Family(0, ())
    request = FamilyRequest(FamilyTables(schema, (family,)), with_own=False)
    first, _ = site.counts(Experiment(), request)
    state = STATES[int(table.ill[table.person])]
    more = f"99,99,{state}\n" + "99,99,yes\n" * (rows - 1)
    _new_contract(site, schema, table.text(more))
    second, _ = site.counts(Experiment(), request)
    if first is None or second is None:
        return 0 if rows > 1 else None  # one not ill beside ten: refused, and so known
    added = second.counts.table(family) - first.counts.table(family)
    return int(added.ravel()[1] == rows)


def updated_structure(folder: Path, table: Table) -> int | None:
    """A new structure when the person has come (`fedbn update`), which the server makes itself for
    either state."""
    schema = Schema((Variable.cut("age", [table.ages.mean() / 10]), ILL))
    site = _site(folder, table, schema)
    state = int(table.ill[table.person])
    found = []
    for ill in (0, 1):
        _new_contract(site, schema, table.text(f"99,99,{STATES[ill]}\n"))
        reply = site.send(Experiment(), "train", task(schema))
        arrays = arrays_of(reply, "structures")
        found.append({key: array.tolist() for key, array in arrays.items()})
    return None if found[0] == found[1] else state


ATTACKS = (
    Attack("two contracts, the cut point moved past the person", "a new contract", two_contracts),
    Attack("two contracts, the numbers under another name", "a column twice", another_name),
    Attack("one contract, two columns with the person between", "such columns", two_columns),
    Attack("a table with one row more", "a new contract", one_row_more),
    Attack("a table with 11 rows more", "ten of them, all ill", rows_of_its_own),
    Attack("a structure with one row more (`fedbn update`)", "a new contract", updated_structure),
)


def known_share(attack: Attack, rows: int, tables: int, seed: int) -> tuple[float, float]:
    """Of so many tables, the share in which the state is known, and in which it is then right."""
    known = right = 0
    for number in range(tables):
        table = Table.draw(rows, np.random.default_rng([seed, rows, number]))
        with tempfile.TemporaryDirectory() as folder:
            said = attack.run(Path(folder), table)
        known += said is not None
        right += said == int(table.ill[table.person])
    return known / tables, right / known if known else 0.0


def main(
    tables: Annotated[int, typer.Option(help="Tables for every attack.")] = 100,
    seed: Annotated[int, typer.Option(help="Of the tables.")] = 1,
) -> None:
    """Print a row of a Markdown table for every attack and number of rows."""
    logging.disable(logging.ERROR)
    print("| attack | the server brings about | rows | known | of these right |")
    print("|---|---|---|---|---|")
    for attack in ATTACKS:
        for rows in (150, 600):
            known, right = known_share(attack, rows, tables, seed)
            of_these = f"{right:.0%}" if known else ""
            print(f"| {attack.words} | {attack.knows} | {rows} | {known:.0%} | {of_these} |")


if __name__ == "__main__":
    typer.run(main)
