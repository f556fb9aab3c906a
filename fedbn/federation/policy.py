"""What a site lets leave, whatever a run asks for; decided at the site, before anything is sent.

A refusal says one of the words of REASONS and nothing else; the full reason is for the site's own
log. Policies bind what an honest app sends; they cannot bind code that a site lets in without
looking at it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fedbn.arrays import Ints
from fedbn.data.dataset import Dataset
from fedbn.data.identifiers import IdentifierRule, identifying_columns
from fedbn.data.schema import KINDS, Schema
from fedbn.errors import PolicyError
from fedbn.federation.message import StructureMessage, as_classes
from fedbn.networks.family_counts import Family, FamilyCounts
from fedbn.privacy.guarantee import Guarantee
from fedbn.privacy.small_counts import COMPARED_CELLS, RULES, CountRule, round_counts
from fedbn.setting import Settings, at_least, one_of, setting, sha256
from fedbn.wording import count_of

REASONS = (
    "min-rows",
    "variables",
    "max-in-degree",
    "max-dags",
    "max-epsilon",
    "counts",
    "min-cell",
    "histograms",
    "secure-sums",
    "min-cohort",
    "cohort",
    "cohort-changed",
    "query",
    "schema",
    "schema-hash",
    "contract",
    "states",
    "kind",
    "offers",
    "max-messages",
)
"""The words that a refusal may say: the keys of a policy that can stop a message; of secure sums,
company that the site does not want, or a question that the protocol does not ask; `states`, for
columns that look like identifiers; `offers`, for what the site does not offer; `contract`, for a
table read, named or cut in another way than the site's contract has it."""

MAX_EPSILON = 10.0
"""More promises nothing that is worth the word."""


@dataclass(frozen=True)
class SitePolicy(Settings):
    """The limits of one site, which its file has under [policy]. On by default are those on
    identifiers, on the number of messages, on histograms, and the rounding of weights; every other
    is off unless given."""

    min_rows: int = setting(
        0, "Minimum number of rows. Below it nothing leaves, not even column names.", at_least(0)
    )
    variables: tuple[str, ...] | None = setting(
        None,
        "The columns (agreed names) that may be named. If the table has others, nothing leaves.",
    )
    max_in_degree: int | None = setting(
        None, "Maximum number of parents of a variable in a structure that leaves.", at_least(0)
    )
    max_dags: int | None = setting(
        None, "Maximum number of structures in one message.", at_least(0)
    )
    structures: str = setting(
        "dag",
        "cpdag: only equivalence classes leave (see `fedbn.federation.message`), so no direction "
        "that the data do not determine.",
        one_of("dag", "cpdag"),
    )
    diagnostics: bool = setting(
        False, "Whether rows and seconds may leave when the run asks for them."
    )
    max_epsilon: float | None = setting(
        None,
        "Only private structures leave, and all runs on the site's tables together stay within "
        "this ε at `delta` (see `fedbn.privacy.ledger`).",
    )
    delta: float = setting(1e-6, "The δ that belongs to max-epsilon.")
    histograms: bool = setting(
        False, "Whether counts of a column's numbers may leave, for cut points common to all sites."
    )
    counts: bool = setting(
        False, "Whether exact counts of families may leave. They reveal far more than a structure."
    )
    counts_min_rows: int = setting(0, "Minimum number of rows for counts to leave.", at_least(0))
    counts_max_parents: int | None = setting(
        None,
        "Maximum number of parents of a family whose counts leave. If a request has a larger "
        "family, the whole request is refused.",
        at_least(0),
    )
    min_cell: int = setting(
        0,
        "Minimum count that leaves the site. A family with a smaller count above 0 is held back "
        "whole. Where counts choose between structures the whole answer is held back, because "
        "scores of families must be of the same rows (decision 022). Moments and sums of products "
        "are held back where the number of rows, or a count that they contain, is smaller. Under "
        "masks no count is held back if the site has [peers]: nobody sees its own.",
        at_least(0),
    )
    disclosure: str = setting(
        "none",
        "A rule for small counts beside min-cell (see `fedbn.privacy.small_counts`).",
        one_of(*RULES),
    )
    secure_sums: bool = setting(
        False, "Whether structures may leave only under secure sums, never in the open."
    )
    min_cohort: int = setting(
        3, "Minimum number of sites of a secure sum, this one among them.", at_least(0)
    )
    weights: str = setting(
        "rounded",
        "rounded: relative to the heaviest structure of a message, to the nearest power of two. "
        "uniform: all the same. exact: as they are; of several structures they are ratios of "
        "scores, which nearly every row changes: with the number of rows they give small tables "
        "exactly.",
        one_of("rounded", "uniform", "exact"),
    )
    max_states: int = setting(
        50,
        "Maximum number of states of a column that is named. A column that has more states than a "
        "third of its rows, or a state of fewer rows than min-state-rows, is not named either. 0 "
        "switches off the limits on the number of states.",
        at_least(0),
    )
    min_state_rows: int = setting(5, "See max-states; 0 switches it off.", at_least(0))
    allow_states: tuple[str, ...] = setting(
        (),
        "Columns (agreed names) that are named whatever their states: max-states and "
        "min-state-rows do not apply to them.",
    )
    kind: str | None = setting(
        None, "The only kind of data that the site takes part with.", one_of(*KINDS)
    )
    max_messages: int | None = setting(
        50,
        "Maximum number of answers to one run. Receipts count, shares of masked sums do not.",
        at_least(0),
    )
    max_messages_a_day: int | None = setting(
        100, "Maximum number of answers to all runs in 24 hours.", at_least(0)
    )
    max_sums: int | None = setting(
        1000, "Maximum number of shares of masked sums to one run.", at_least(0)
    )
    weak_privacy: bool = setting(
        False, "Whether private runs may have ε above 10, or δ of 1 / rows or more."
    )
    missing_shares: bool = setting(
        False,
        "Whether the share of missing cells of each column may leave with the diagnostics, rounded "
        "up to a multiple of 5 %.",
    )
    schema_hash: str | None = setting(
        None, "SHA-256 (hex) of the only schema under which the site learns.", sha256
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_epsilon is not None:
            Guarantee(self.max_epsilon, self.delta)

    def require_open(self) -> None:
        """Raise PolicyError where structures may not leave in the open."""
        if self.secure_sums:
            raise refusal("secure-sums", "structures leave under secure sums only")

    def require_private(self, guarantee: Guarantee | None) -> None:
        """Raise PolicyError where only private structures may leave and these are not; the sum over
        all runs is the ledger's to limit."""
        if guarantee is None and self.max_epsilon is not None:
            raise refusal("max-epsilon", "the run's learner is not private")

    def require_kind(self, kind: str) -> None:
        """Raise PolicyError unless the site takes part with data of this kind."""
        if self.kind is not None and kind != self.kind:
            raise refusal("kind", f"the run's columns are {kind}, only {self.kind} ones may be")

    def require_table(self, dataset: Dataset) -> None:
        """Raise PolicyError unless this table may take part at all."""
        self.require_rows(dataset.n_rows)
        self.require_names(dataset.names)

    def permit_exact(self, dataset: Dataset) -> Dataset:
        """The table, which may be counted; raises PolicyError where cells of it are imputed."""
        if dataset.gone is not None:
            raise refusal("counts", "its missing cells are imputed, and no imputed cell is counted")
        return dataset

    def require_sums(self, in_run: int, in_day: int) -> None:
        """Raise PolicyError where a run has had so many shares of masked sums that it is enough."""
        if self.max_sums is not None and in_run >= self.max_sums:
            raise refusal(
                "max-messages", f"{count_of(in_run, 'share')}; max-sums = {self.max_sums}"
            )

    def require_budget(self, in_run: int, in_day: int) -> None:
        """Raise PolicyError where so many answers, to this run and in a day, are enough."""
        for given, limit, key, words in (
            (in_run, self.max_messages, "max-messages", "to this run"),
            (in_day, self.max_messages_a_day, "max-messages-a-day", "in 24 hours"),
        ):
            if limit is not None and given >= limit:
                raise refusal(
                    "max-messages",
                    f"{count_of(given, 'answer')} {words}; {key} = {limit} under [policy]",
                )

    def require_rows(self, rows: int) -> None:
        """Raise PolicyError unless a table of so many rows may take part."""
        if rows < self.min_rows:
            raise refusal("min-rows", f"{count_of(rows, 'row')}, at least {self.min_rows} wanted")

    def require_names(self, names: Iterable[str]) -> None:
        """Raise PolicyError unless every one of these columns may be named."""
        if self.variables is None:
            return
        forbidden = sorted(set(names) - set(self.variables))
        if forbidden:
            raise refusal("variables", f"column {forbidden[0]!r} is not among those allowed")

    def require_schema(self, schema: Schema) -> None:
        """Raise PolicyError unless the site may learn under this agreed schema."""
        self.require_names(schema.names)
        if self.schema_hash is not None and schema.hash != self.schema_hash:
            raise refusal("schema-hash", f"the run's schema has the hash {schema.hash}")

    def require_no_identifiers(self, dataset: Dataset, *, named: bool) -> None:
        """Raise PolicyError where states of a column tell of single rows (see `max_states`). Rare
        states count only where the site itself names them (`named`), not where they were agreed
        before."""
        rule = IdentifierRule(
            max_states=self.max_states or dataset.n_rows,
            rows_per_state=3 if self.max_states else 0,
            min_state_rows=self.min_state_rows if named else 0,
        )
        found = identifying_columns(dataset, rule, self.allow_states)
        if found:
            raise refusal("states", identifier_words(found))

    def require_exact(self) -> None:
        """Raise PolicyError unless exact counts may leave."""
        if self.max_epsilon is not None:
            raise refusal("max-epsilon", "counts are not private")
        if not self.counts:
            raise refusal("counts", "this site sends no counts")

    def require_meaningful(self, guarantee: Guarantee, rows: int) -> None:
        """Raise PolicyError for a promise that promises hardly anything, unless the site wants it.

        Beyond ε = MAX_EPSILON an answer may tell any row; with δ of 1 / rows or more, publishing a
        row drawn at random would be as private. The rows are taken as the next power of two:
        refusals are free, and many values of δ would tell the number.
        """
        if self.weak_privacy:
            return
        if guarantee.epsilon > MAX_EPSILON or guarantee.delta * (1 << (rows - 1).bit_length()) >= 1:
            words = f"{guarantee.words} in {count_of(rows, 'row')}; weak-privacy = true allows it"
            raise refusal("max-epsilon", words)

    def require_counts(self, rows: int, families: Iterable[Family]) -> None:
        """Raise PolicyError unless the counts of these families may leave a table of `rows`."""
        self.require_exact()
        if rows < self.counts_min_rows:
            raise refusal(
                "counts", f"{count_of(rows, 'row')}, at least {self.counts_min_rows} wanted"
            )
        largest = max((len(family.parents) for family in families), default=0)
        _require_at_most("counts", self.counts_max_parents, largest, "parent")

    def permit_counts(self, counts: FamilyCounts, *, compared: bool) -> FamilyCounts:
        """The counts of the families that may leave, rounded where the policy's rule says so: those
        without a count that is too small and, where small counts are held back, not too large to be
        compared with what was told before (`fedbn.federation.counted`).

        Where families are `compared` with each other, all or none leave. Raises PolicyError where
        none may.
        """
        rule, tables = self.rule, counts.tables
        kept = [
            each
            for each in tables.families
            if not rule.is_small(counts.filled_cells(each)[1])
            and (rule.least <= 1 or tables.cells_of(each) <= COMPARED_CELLS)
        ]
        if compared or not kept:
            self.require_cells(counts.counts)
            if len(kept) < len(tables.families):
                words = f"a table of more than {COMPARED_CELLS} cells is not compared with others"
                raise refusal("min-cell", words)
        return round_counts(counts if len(kept) == len(tables.families) else counts.of(kept), rule)

    @property
    def rule(self) -> CountRule:
        """What is done with small counts: the office's rule, or min-cell where that is more."""
        preset = RULES[self.disclosure]
        return replace(preset, least=max(preset.least, self.min_cell))

    def require_unrounded(self) -> None:
        """Raise PolicyError where counts leave rounded, or small ones not at all: moments cannot be
        rounded, and in a masked sum nobody sees which counts are small."""
        if self.disclosure != "none":
            raise refusal("min-cell", f"disclosure = {self.disclosure!r} holds of single counts")

    def require_cells(self, cells: Ints) -> None:
        """Raise PolicyError unless every one of these counts is 0 or large enough."""
        least = self.rule.least
        small = int(((cells > 0) & (cells < least)).sum())
        if small:
            raise refusal("min-cell", f"{count_of(small, 'count')} from 1 to {least - 1}")

    @property
    def fewest_numbers(self) -> int:
        """Fewest numbers of a bucket of a histogram that is told."""
        return max(self.rule.least, self.min_state_rows)

    def require_histograms(self) -> None:
        """Raise PolicyError unless counts of a column's numbers may leave."""
        if self.max_epsilon is not None:
            raise refusal("max-epsilon", "histograms are not private")
        if not self.histograms:
            raise refusal("histograms", "this site sends no histograms")

    def permit(self, message: StructureMessage) -> StructureMessage:
        """The message in the form that may leave; raises PolicyError if none may."""
        allowed = as_classes(message) if self.structures == "cpdag" else message
        if self.weights == "uniform":
            allowed = replace(allowed, weights=(1.0,) * len(allowed.dags))
        if self.weights == "rounded":
            allowed = replace(allowed, weights=round_weights(allowed.weights))
        _require_at_most("max-dags", self.max_dags, len(allowed.dags), "structure")
        largest = max(dag.in_degree for dag in allowed.dags)
        _require_at_most("max-in-degree", self.max_in_degree, largest, "parent")
        return allowed


def _require_at_most(reason: str, limit: int | None, found: int, what: str) -> None:
    """Raise PolicyError where there are more than a limit."""
    if limit is not None and found > limit:
        raise refusal(reason, f"{count_of(found, what)}, limit {limit}")


def identifier_words(found: Mapping[str, str]) -> str:
    """What the site is told of columns that look like identifiers, and how to go on.

    >>> print(identifier_words({"zip": "60 states, more than 50"}))
    column 'zip' has 60 states, more than 50; to name it all the same, say allow-states = ["zip"] \
under [policy] in the site's file; to leave it out, leave-out at its top, by the table's own name
    """
    columns = "; ".join(f"column {name!r} has {why}" for name, why in found.items())
    it = "it" if len(found) == 1 else "them"
    return (
        f"{columns}; to name {it} all the same, say allow-states = {json.dumps(sorted(found))} "
        f"under [policy] in the site's file; to leave {it} out, leave-out at its top, by the "
        "table's own name"
    )


def round_weights(weights: Sequence[float]) -> tuple[float, ...]:
    """Weights relative to the largest, to the nearest power of two by its exponent.

    >>> round_weights([0.5, 0.3, 0.1])
    (1.0, 0.5, 0.25)
    """
    largest = max(weights)
    return tuple(2.0 ** round(math.log2(max(weight / largest, 2.0**-64))) for weight in weights)


def refusal(reason: str, details: str) -> PolicyError:
    """The error of a refusal: its `args` are the word that may leave, and what may not."""
    assert reason in REASONS
    return PolicyError(reason, details)
