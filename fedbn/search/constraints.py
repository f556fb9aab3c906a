"""What a greedy search starts from and keeps to, whether over classes or over DAGs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedbn.errors import ConfigError
from fedbn.graphs.knowledge import Knowledge

if TYPE_CHECKING:
    import numpy as np

    from fedbn.graphs.dag import DAG


@dataclass(frozen=True, eq=False)
class SearchRules:
    """Start, limits, background knowledge and ties of a greedy search.

    Parameters
    ----------
    start : a DAG to begin at, or at whose class; the empty graph by default.
    max_parents : largest in-degree that an operator may make; None for any.
    max_t : largest |T| of an Insert, for the searches over classes; None for any.
    seconds : wall-clock limit; what was found until then is the result.
    knowledge : required and forbidden edges and tiers.
    rng : for ties, which go by names without it, and for the restarts of hill climbing.

    Raises
    ------
    ConfigError : a limit is out of range, or the required edges do not fit `max_parents`.
    """

    start: DAG | None = None
    max_parents: int | None = None
    max_t: int | None = None
    seconds: float | None = None
    knowledge: Knowledge | None = None
    rng: np.random.Generator | None = None

    def __post_init__(self) -> None:
        for name, value in (("max_parents", self.max_parents), ("max_t", self.max_t)):
            if value is not None and value < 0:
                raise ConfigError(f"{name} must be at least 0, not {value}")
        if self.seconds is not None and not self.seconds > 0:
            raise ConfigError(f"the time limit must be positive, not {self.seconds} seconds")
        self.known.require_room(self.max_parents)

    @property
    def known(self) -> Knowledge:
        """The knowledge; without any, that of nothing."""
        return Knowledge() if self.knowledge is None else self.knowledge


FREE = SearchRules()
"""No limit, no knowledge, from the empty graph, ties by names."""
