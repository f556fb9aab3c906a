"""What a private structure promises, in words: never ε alone.

Threats by name: S a curious server, C curious other sites, S+m the server with m sites, P the
public that sees the consensus. A structure that is private when it leaves its site is so against
all of them: whatever is computed from it later costs no row any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from fedbn.errors import ConfigError
from fedbn.privacy.zcdp import rho_of

UNIT = "row"
ADJACENCY = "add or remove"
THREATS = "S, C, S+m, P"


WEAK_EPSILON, WEAK_DELTA = 10.0, 1e-3
"""Beyond these a promise is told to be weak."""


@dataclass(frozen=True)
class Guarantee:
    """(ε, δ) per row of one site's table, one row added or removed, against `THREATS`.

    Attributes
    ----------
    epsilon, delta : of the run at one site.
    seeded : the noise came from a known seed, as in a simulation: then nothing is promised.

    Raises
    ------
    ConfigError : ε is not positive and finite, or δ does not lie between 0 and 1.

    Examples
    --------
    >>> Guarantee(1.0, 1e-6).words
    'ε 1 at δ 1e-06 per row (add or remove), against S, C, S+m, P'
    """

    epsilon: float
    delta: float
    seeded: bool = False

    def __post_init__(self) -> None:
        if not self.rho > 0:
            raise ConfigError(f"ε {self.epsilon} at δ {self.delta} leaves nothing to draw with")

    @cached_property
    def rho(self) -> float:
        """The zCDP that may be spent: the largest whose ε is not above this one."""
        return rho_of(self.epsilon, self.delta)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the figures promise next to nothing, if they do: ε above `WEAK_EPSILON`, for then a
        row may change the odds of what is sent by more than a factor of 22,000; δ above
        `WEAK_DELTA`, for with this probability there is no promise at all."""
        said = []
        if self.epsilon > WEAK_EPSILON:
            said.append(f"ε {self.epsilon:g} is above {WEAK_EPSILON:g}: it hides hardly anything")
        if self.delta > WEAK_DELTA:
            said.append(
                f"δ {self.delta:g} is above {WEAK_DELTA:g}: it is the probability that nothing is "
                "promised, and should be far below one in the number of rows"
            )
        return tuple(said)

    @property
    def words(self) -> str:
        """The promise with its unit, adjacency, δ and threats."""
        figures = f"ε {self.epsilon:g} at δ {self.delta:g} per {UNIT} ({ADJACENCY})"
        return f"{figures}: seeded, not private" if self.seeded else f"{figures}, against {THREATS}"
