"""Cut points common to tables at hand, by the rounds of `fedbn.data.quantiles`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from fedbn.arrays import Floats
from fedbn.data.cuts import cuts_text
from fedbn.data.quantiles import (
    MANY_NUMBERS,
    Selection,
    histogram,
    total_of,
    uncut_remarks,
    wanted_intervals,
    weights_of,
)
from fedbn.data.scales import scale_remarks
from fedbn.data.table_settings import TableSettings
from fedbn.errors import FedbnWarning

Numbers = Mapping[str, Floats]


def many_numbers(numbers: Numbers) -> dict[str, bool]:
    """Column of numbers -> whether there are more than MANY_NUMBERS different ones."""
    return {name: np.unique(found).size > MANY_NUMBERS for name, found in numbers.items()}


def tables_with_cuts(
    sites: Mapping[str, Numbers], settings: TableSettings, variables: str = "same"
) -> TableSettings:
    """The settings with the cut points that `discretise` asks for in place of it, found over the
    numbers of tables at hand (table, as messages name it -> its columns of numbers) by the three
    rounds that a server and its sites go through.

    With `variables` "union" a column is cut over the tables that have it.

    Raises ConfigError where a column asked for does not hold numbers at every site. Warns where
    there are fewer intervals than asked for, where a column that holds numbers at one table does
    not at another, and is not cut, and where a table's numbers are on another scale.
    """
    kinds = {table: many_numbers(numbers) for table, numbers in sites.items()}
    given = settings.preparation().cuts
    asked = settings.intervals, kinds, given, variables
    state = Selection(wanted_intervals(*asked))
    weights: list[dict[str, int]] = []
    scales: list[str] = []
    while not state.done:
        question = state.question()
        answers = [
            histogram(question.only(numbers), numbers).over(question) for numbers in sites.values()
        ]
        if question.round == 1:
            weights = weights_of(answers)
            scales = scale_remarks(dict(zip(sites, answers, strict=True)))
        state = state.after(total_of(answers, weights))
    for words in [*uncut_remarks(*asked), *state.remarks(), *scales]:
        warnings.warn(words, FedbnWarning, stacklevel=2)
    cuts = {**settings.preparation().cuts, **state.cuts()}
    return replace(settings, cuts=cuts_text(cuts), discretise=())
