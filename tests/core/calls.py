"""A valid call of everything that Python can call of the compiled core, for a number of nodes.

`CALLS` is a table by name, "search.Hill.climb" for one. Each entry takes a `Case` and gives a
`Call`: what to call, and arguments that fit together. What an argument stands for is its role; from
the role follow values that do not fit (see `test_border`). Whoever adds a kernel adds a line here.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fedbn._core import (
    cg_dca,
    consensus,
    credible,
    families,
    fusion,
    graphs,
    privacy,
    scores,
    search,
    secure,
)
from fedbn.graphs.bits import pack

LARGEST = 6  # nodes, where a call's work grows fast


@dataclass(frozen=True)
class Argument:
    """`limit` is what its members are below, where they are numbers of something."""

    value: Any
    role: str = "any"
    limit: int = 0


@dataclass(frozen=True)
class Call:
    function: Callable[..., Any]
    arguments: dict[str, Argument] = field(default_factory=dict)

    def run(self, **instead: Any) -> Any:
        """With some arguments replaced."""
        values = {name: argument.value for name, argument in self.arguments.items()} | instead
        return self.function(**values)


def read(of: Any, name: str) -> Call:
    """A property."""
    return Call(lambda: getattr(of, name))


def bits(matrix: np.ndarray, role: str = "sets") -> Argument:
    return Argument(pack(matrix.astype(bool)), role, matrix.shape[1])


def many_bits(matrices: list[np.ndarray], role: str = "dags") -> Argument:
    return Argument(np.stack([pack(m.astype(bool)) for m in matrices]), role, matrices[0].shape[1])


def nodes(values: Any, n: int) -> Argument:
    return Argument(np.asarray(values, dtype=np.int64), "nodes", n)


def order(values: Any, n: int) -> Argument:
    return Argument(np.asarray(values, dtype=np.int64), "order", n)


def floats(values: Any) -> Argument:
    return Argument(np.ascontiguousarray(values, dtype=np.float64), "floats")


def weights(values: Any) -> Argument:
    return Argument(np.asarray(values, dtype=np.int64), "weights")


def starts(values: Any) -> Argument:
    return Argument(np.asarray(values, dtype=np.int64), "starts")


def node(value: int, n: int) -> Argument:
    return Argument(int(value), "node", n)


def score(value: Any) -> Argument:
    return Argument(value, "score")


@dataclass(frozen=True)
class Case:
    """Random values over n nodes."""

    n: int
    seed: int

    @cached_property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    # -- graphs

    def dag(self, n: int | None = None) -> np.ndarray:
        """bool [n, n]: row y has the parents of y, about two of them."""
        n = self.n if n is None else n
        place = self.rng.permutation(n)
        lower = np.tril(self.rng.random((n, n)) < min(0.6, 2.0 / max(1, n)), k=-1)
        return lower[np.ix_(place, place)]

    def dags(self, number: int = 2) -> list[np.ndarray]:
        return [self.dag() for _ in range(number)]

    def around(self) -> np.ndarray:
        dag = self.dag()
        return dag | dag.T

    def none(self) -> np.ndarray:
        return np.zeros((self.n, self.n), dtype=bool)

    def sets(self, number: int) -> np.ndarray:
        return self.rng.random((number, self.n)) < 0.3

    def symmetric(self) -> np.ndarray:
        half = np.tril(self.rng.integers(-3, 4, (self.n, self.n)))
        return half + half.T

    def pairs(self) -> np.ndarray:
        """int64 [m, 2]: all pairs of the first nodes, the smaller first."""
        return np.argwhere(np.triu(np.ones((min(self.n, 9),) * 2, bool), k=1)).copy("C")

    def two(self) -> tuple[int, int]:
        x, y = self.rng.permutation(max(2, self.n))[:2]
        return int(x), int(y)

    def some_nodes(self) -> Argument:
        return Argument(self.rng.permutation(self.n)[:3].tolist(), "distinct", self.n)

    # -- scores

    def table(self, rows: int = 20) -> tuple[np.ndarray, list[int]]:
        arities = self.rng.integers(1, 4, self.n)
        codes = np.array([self.rng.integers(a, size=rows) for a in arities], dtype=np.uint16)
        return codes.reshape(self.n, rows), arities.tolist()

    def discrete(self, kind: Any = scores.ScoreKind.information, rows: int = 20) -> Any:
        codes, arities = self.table(rows)
        return scores.DiscreteScore.rungs(kind, codes, arities, [(1.0, 1.0)], 1 << 20)[0]

    def gaussian_parts(self) -> dict[str, Argument]:
        rows = self.rng.normal(size=(self.n + 20, self.n))
        return {
            "gram": Argument(rows.T @ rows, "square"),
            "constant": floats(self.rng.normal(size=self.n + 1)),
            "exponent": floats(self.rng.uniform(0.5, 2.0, self.n + 1)),
        }

    def gaussian_rows(self) -> dict[str, Argument]:
        parts = self.gaussian_parts()
        del parts["gram"]
        return {"columns": floats(self.rng.normal(size=(self.n, 9))), **parts}

    def gaussian(self) -> Any:
        return scores.GaussianScore(*(part.value for part in self.gaussian_parts().values()))

    def mixed_parts(self) -> dict[str, Argument]:
        rows = self.rng.normal(size=(2 * self.n + 20, 2 * self.n))
        return {
            "covariance": Argument(rows.T @ rows, "square"),
            "widths": Argument([2] * self.n, "ranks"),
            "rungs": Argument([(20.0, 1.5), (40.0, 2.0)], "rungs"),
            "memory": Argument(1 << 20, "memory"),
        }

    def mixed(self) -> Any:
        return scores.MixedScore.rungs(*(part.value for part in self.mixed_parts().values()))[0]

    def family(self) -> dict[str, Argument]:
        y, *parents = self.rng.permutation(self.n)[:3].tolist() or [0]
        return {"y": node(y, self.n), "parents": Argument(parents, "distinct", self.n)}

    # -- search

    def knowledge(self) -> dict[str, Argument]:
        dag = self.dag()
        forbidden = self.rng.random((self.n, self.n)) < 0.1
        return {"forbidden": bits(forbidden & ~dag), "required": bits(self.none())}

    def hill_arguments(self) -> dict[str, Argument]:
        return {
            "score": score(self.discrete()),
            "parents": bits(self.dag(), "dag"),
            **self.knowledge(),
            "max_parents": Argument(3, "limit"),
            "tabu_length": Argument(2, "limit"),
            "patience": Argument(2, "limit"),
        }

    def kick_arguments(self) -> dict[str, Argument]:
        hill = self.hill_arguments()
        del hill["tabu_length"]
        return hill | {
            "patience": Argument(3, "turns"),
            "reversals": Argument(2, "turns"),
            "candidates": Argument(2, "limit"),
            "strongest": Argument(2, "limit"),
            "seed": Argument(1, "seed"),
        }

    def boss_arguments(self) -> dict[str, Argument]:
        return {
            "score": score(self.discrete()),
            "order": Argument(self.rng.permutation(self.n).tolist(), "order", self.n),
            **self.knowledge(),
            "max_parents": Argument(3, "limit"),
            "memory": Argument(1 << 20, "limit"),
            "candidates": Argument(4, "limit"),
        }

    def boss(self) -> Any:
        return made(search.Boss, self.boss_arguments())

    def class_search(self) -> Any:
        return search.ClassSearch(self.discrete(), pack(self.dag()))

    def hill(self) -> Any:
        return made(search.Hill, self.hill_arguments())

    def kicks(self) -> Any:
        return made(search.Kicks, self.kick_arguments())

    # -- fusion and consensus

    def inputs(self) -> dict[str, Argument]:
        return {"inputs": many_bits(self.dags()), "weights": weights([1, 2])}

    def deletions(self) -> Any:
        return made(consensus.Deletions, self.deletion_arguments())

    def deletion_arguments(self) -> dict[str, Argument]:
        found = self.inputs()
        heuristic = fusion.OrderHeuristic(
            found["inputs"].value, found["weights"].value, np.zeros(0)
        )
        heuristic.extend(self.n)
        maps = fusion.minimal_imaps(found["inputs"].value, heuristic.order)
        return found | {
            "fusion": Argument(np.bitwise_or.reduce(maps), "dag", self.n),
            "k_max": Argument(2, "limit"),
            "pooling": Argument(consensus.Pooling.mean),
            "memory": Argument(1 << 20, "memory"),
            "observed": bits(np.ones((2, self.n), bool)),
            "members": weights([1, 1]),
            "min_judges": Argument(1, "whole"),
        }

    def precedence(self) -> dict[str, Argument]:
        return {
            "forbidden": bits(self.dag()),
            "required": bits(self.none()),
            "after": bits(self.dag(), "dag"),
        }

    def known_pattern(self) -> dict[str, Argument]:
        parents, _, neighbours = graphs.cpdag(pack(self.dag()))
        known = {name: bits(self.none()) for name in ("forbidden", "required")}
        return {
            "parents": Argument(parents, "sets", self.n),
            "neighbours": Argument(neighbours, "around", self.n),
        } | known

    def pattern(self) -> Argument:
        return Argument(np.stack(graphs.cpdag(pack(self.dag()))), "pattern", self.n)

    # -- families

    def family_list(self, n: int | None = None) -> dict[str, Argument]:
        """For each node the empty set and one more; ascending costs."""
        n = self.n if n is None else n
        sets = np.zeros((2 * n, n), dtype=bool)
        for v in range(n):
            sets[2 * v + 1] = self.rng.random(n) < 0.4
            sets[2 * v + 1, v] = False
        costs = np.sort(self.rng.integers(12, size=(n, 2)) / 4.0, axis=1)
        costs = costs.ravel()
        return {
            "node": Argument(np.repeat(np.arange(n), 2).astype(np.int32), "nodes", n),
            "cost": floats(costs),
            "parents": bits(sets),
            "start": starts(np.arange(0, 2 * n + 1, 2)),
        }

    def masks(self) -> dict[str, Argument]:
        """The same in one word."""
        found = self.family_list()
        return {
            "node": found["node"],
            "cost": found["cost"],
            "parents": Argument(found["parents"].value[:, 0].copy(), "masks", self.n),
        }

    def best_families(self) -> np.ndarray:
        return families.best_families(**plain(self.masks()), m=self.n)

    def walk_arguments(self) -> dict[str, Argument]:
        rows = self.rng.normal(size=(self.n + 20, self.n))
        covariance = rows.T @ rows / (self.n + 20)
        return {
            "covariance": Argument(covariance, "square"),
            "precision": Argument(np.linalg.inv(covariance), "square"),
            "scale": Argument(10.0, "float"),
            "penalty": Argument(1.0, "float"),
            "slack": Argument(0.0, "float"),
            "margin": Argument(1e-9, "float"),
            "max_parents": Argument(3, "limit"),
            "large_first": Argument(False),
            "clusters": Argument(self.sets(2), "flags"),
            "duals": floats([0.5, 0.25]),
        }

    def levels(self) -> Any:
        return families.ParentSetLevels.discrete(self.discrete(rows=12), 0.0)

    def level_values(self, levels: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
        return levels.joint_values(np.arange(levels.count(self.n, size)), size)

    # -- credible sets

    def problem_arguments(self) -> dict[str, Argument]:
        found = self.family_list()
        del found["node"]
        lowest = found["cost"].value[::2]
        order_ = np.arange(self.n)
        limit = float(lowest.sum()) + 2.0
        return {
            "start": found["start"],
            "cost": found["cost"],
            "parents": found["parents"],
            "limit": Argument(limit, "float"),
            "lowest": floats(lowest),
            "completion": floats(self.completion(lowest, order_)),
        }

    def completion(self, lowest: np.ndarray, order_: np.ndarray) -> np.ndarray:
        """A lower bound: every node left takes its cheapest family."""
        left = ~np.arange(1 << self.n)[:, None] >> order_ & 1
        return (left * lowest).sum(axis=1).astype(np.float64)

    def cluster_problem(self) -> dict[str, Argument]:
        table = self.problem_arguments()
        del table["completion"]
        cost, lowest = table["cost"].value, table["lowest"].value
        return table | {
            "least": floats(lowest),
            "reduced": floats(cost - np.repeat(lowest, 2)),
            "clusters": bits(self.sets(2)),
            "duals": floats([0.0, 0.0]),
        }

    def problem(self) -> Any:
        return made(credible.Problem.by_table, self.problem_arguments())

    def diagram(self) -> Any:
        return credible.build_diagram(self.problem(), 2.0, 1 << 24, credible.Stop())

    # -- CG-DCA

    def cluster_rows(self, n: int | None = None) -> dict[str, Argument]:
        n = self.n if n is None else n
        return {
            "members": bits(self.rng.random((2, n)) < 0.5),
            "duals": floats([0.5, 0.25]),
            "sizes": Argument(np.array([1, 2]), "weights"),
            "n": Argument(n, "size", n),
        }

    def rows(self) -> Argument:
        return Argument(made(cg_dca.ClusterRows, self.cluster_rows()), "rows")

    def likelihood(self) -> Any:
        return cg_dca.GaussianLikelihood(np.eye(self.n), 10.0, 1.0)

    def priced(self) -> dict[str, Argument]:
        return {"clusters": self.rows(), "node": node(0, self.n)}


def plain(arguments: dict[str, Argument]) -> dict[str, Any]:
    return {name: argument.value for name, argument in arguments.items()}


def made(kind: Callable[..., Any], arguments: dict[str, Argument]) -> Any:
    return kind(**plain(arguments))


CALLS: dict[str, Callable[[Case], Call]] = {}
LEAST: dict[str, int] = {}  # nodes that a call takes
MOST: dict[str, int] = {}  # nodes, where the work grows fast


def call(name: str, least: int = 0, most: int = 65) -> Callable[[Callable[[Case], Call]], Any]:
    """Enter a function of a case into the table."""

    def enter(make: Callable[[Case], Call]) -> Callable[[Case], Call]:
        assert name not in CALLS
        CALLS[name], LEAST[name], MOST[name] = make, least, most
        return make

    return enter


def enter_all(room: str, least: int, most: int, **makers: Callable[[Case], Call]) -> None:
    for name, make in makers.items():
        call(f"{room}.{name}", least, most)(make)


enter_all(
    "graphs", 0, 1041,
    transposed=lambda c: Call(graphs.transposed, {"rows": bits(c.dag())}),
    topological_order=lambda c: Call(graphs.topological_order, {"parents": bits(c.dag())}),
    cpdag=lambda c: Call(graphs.cpdag, {"parents": bits(c.dag(), "dag")}),
    moral_pairs=lambda c: Call(graphs.moral_pairs, {
        "arcs": Argument(np.argwhere(c.dag().T).astype(np.int32, order="C"), "nodes", c.n),
        "n": Argument(c.n, "size", c.n),
    }),
    extension=lambda c: Call(
        graphs.extension, {"parents": bits(c.dag()), "neighbours": bits(c.none(), "around")}
    ),
    maximally_oriented=lambda c: Call(graphs.maximally_oriented, c.known_pattern()),
    constrained_extension=lambda c: Call(graphs.constrained_extension, c.known_pattern()),
    averaged_arcs=lambda c: Call(graphs.averaged_arcs, {
        "pairs": Argument(
            np.hstack([c.pairs(), c.rng.integers(1, 4, (len(c.pairs()), 4))]), "numbers"
        ),
        "forbidden": bits(c.none()), "required": bits(c.none()),
    }),
)  # fmt: skip
enter_all(
    "graphs", 0, 65,
    fill_order=lambda c: Call(graphs.fill_order, {"around": bits(c.around(), "around")}),
    cardinality_order=lambda c: Call(
        graphs.cardinality_order, {"around": bits(c.around(), "around")}
    ),
    order_width=lambda c: Call(
        graphs.order_width,
        {
            "around": bits(c.around(), "around"),
            "order": Argument(c.rng.permutation(c.n).tolist(), "order", c.n),
        },
    ),
)  # fmt: skip


# -- scores

for _name in ("kind", "n", "counted", "emptied", "threads"):
    call(f"scores.Score.{_name}")(lambda c, name=_name: read(c.discrete(), name))
for _name in ("arities", "rows_outside_modes"):
    call(f"scores.DiscreteScore.{_name}")(lambda c, name=_name: read(c.discrete(), name))
for _name in ("gram", "constant", "exponent"):
    call(f"scores.GaussianScore.{_name}")(lambda c, name=_name: read(c.gaussian(), name))


call("scores.MixedScore.ranks")(lambda c: read(c.mixed(), "ranks"))


def _rungs(c: Case) -> Call:
    codes, arities = c.table()
    return Call(
        scores.DiscreteScore.rungs,
        {
            "kind": Argument(scores.ScoreKind.bdeu),
            "codes": Argument(codes, "codes"),
            "arities": Argument(arities, "arities"),
            "rungs": Argument([(1.0, 1.0), (2.0, 1.0)], "rungs"),
            "memory": Argument(1 << 20, "memory"),
            "threads": Argument(2, "limit"),
        },
    )


@call("scores.draw_missing", 0, 1041)
def _draw_missing(c: Case) -> Call:
    codes, arities = c.table()
    dag = c.dag()
    return Call(
        scores.draw_missing,
        {
            "codes": Argument(codes, "codes"),
            "gone": Argument(c.rng.random(codes.shape) < 0.3, "flags"),
            "arities": Argument(arities, "arities"),
            "parents": Argument([np.flatnonzero(dag[:, v]).tolist() for v in range(c.n)]),
            "ess": Argument(1.0, "float"),
            "fits": Argument(2, "limit"),
            "sweeps": Argument(2, "limit"),
            "seed": Argument(7),
        },
    )


@call("scores.draw_missing_mixed", 0, 1041)
def _draw_missing_mixed(c: Case) -> Call:
    codes, arities = c.table()
    states = [0 if v % 2 else size for v, size in enumerate(arities)]
    dag = c.dag()
    return Call(
        scores.draw_missing_mixed,
        {
            "table": Argument(codes.astype(np.float64), "floats"),
            "gone": Argument(c.rng.random(codes.shape) < 0.3, "flags"),
            "states": Argument(states),
            "blankets": Argument([np.flatnonzero(dag[:, v]).tolist() for v in range(c.n)]),
            "fits": Argument(2, "limit"),
            "sweeps": Argument(2, "limit"),
            "seed": Argument(7),
        },
    )


def _revived(kind: type, of: Any) -> Call:
    """What pickle calls: a state is set on an object without one."""

    def revive(**state: Any) -> Any:
        fresh = kind.__new__(kind)
        fresh.__setstate__(tuple(state.values()))
        return copy.deepcopy(fresh)

    roles = {
        scores.GaussianScore: ("square", "floats", "floats", "any"),
        scores.DiscreteScore: ("any", "codes", "arities", "rungs", "memory", "any", "distinct"),
        scores.MixedScore: ("square", "any", "any", "any", "any", "memory", "distinct"),
    }
    state = of.__getstate__()
    limit = of.n
    return Call(
        revive,
        {
            f"part{i}": Argument(part, role, limit)
            for i, (part, role) in enumerate(zip(state, roles[kind], strict=True))
        },
    )


enter_all(
    "scores", 0, 65,
    **{
        "DiscreteScore.rungs": _rungs,
        "DiscreteScore.merged_rows": lambda c: Call(c.discrete().merged_rows),
        "DiscreteScore.over": lambda c: Call(
            c.discrete().over, {"nodes": c.some_nodes()}
        ),
        "DiscreteScore.__setstate__": lambda c: _revived(scores.DiscreteScore, c.discrete()),
        "GaussianScore.__setstate__": lambda c: _revived(scores.GaussianScore, c.gaussian()),
        "GaussianScore.over": lambda c: Call(
            c.gaussian().over, {"nodes": c.some_nodes()}
        ),
        "GaussianScore.of_rows": lambda c: Call(scores.GaussianScore.of_rows, c.gaussian_rows()),
        "MixedScore.rungs": lambda c: Call(scores.MixedScore.rungs, c.mixed_parts()),
        "MixedScore.over": lambda c: Call(c.mixed().over, {"nodes": c.some_nodes()}),
        "MixedScore.__setstate__": lambda c: _revived(scores.MixedScore, c.mixed()),
        "GaussianScore.__init__": lambda c: Call(scores.GaussianScore, c.gaussian_parts()),
    },
)  # fmt: skip
enter_all(
    "scores.Score", 1, 1041,
    joint=lambda c: Call(
        c.gaussian().joint, {"members": c.some_nodes()}
    ),
    local=lambda c: Call((c.discrete if c.seed % 2 else c.mixed)().local, c.family()),
)  # fmt: skip


def _local_with(c: Case) -> Call:
    y, x, *parents = c.rng.permutation(c.n)[:4].tolist()
    return Call(
        (c.discrete if c.seed % 2 else c.gaussian)().local_with,
        {
            "y": node(y, c.n),
            "parents": Argument(parents, "distinct", c.n),
            "xs": Argument([x, x], "members", c.n),
        },
    )


call("scores.Score.local_with", 2)(_local_with)
call("scores.Score.use_threads")(
    lambda c: Call(c.discrete().use_threads, {"threads": Argument(2, "limit")})
)
call("scores.MixedScore.refuses", 1)(lambda c: Call(c.mixed().refuses, c.family()))


for _name in ("logarithm", "exponential", "log_gamma"):
    call(f"scores.{_name}")(
        lambda c, name=_name: Call(getattr(scores, name), {"x": Argument(c.n + 0.5, "float")})
    )
call("scores.logarithms")(
    lambda c: Call(scores.logarithms, {"xs": floats(c.rng.uniform(0, 9, c.n))})
)


# -- search


def _class_search(c: Case) -> Call:
    return Call(
        search.ClassSearch,
        {
            "score": score(c.discrete()),
            "parents": bits(c.dag(), "dag"),
            **c.knowledge(),
            "max_parents": Argument(3, "limit"),
            "max_t": Argument(3, "limit"),
            "seed": Argument(1, "seed"),
        },
    )


_KINDS = [search.Kind.delete, search.Kind.turn, search.Kind.insert]
call("search.ClassSearch.__init__")(_class_search)
call("search.ClassSearch.climb", 0, 65)(
    lambda c: Call(
        c.class_search().climb, {"kinds": Argument(_KINDS, "kinds"), "budget": Argument(9, "limit")}
    )
)
for _name in ("member", "total", "cpdag"):
    call(f"search.ClassSearch.{_name}")(lambda c, name=_name: Call(getattr(c.class_search(), name)))
for _name in ("steps", "met_max_parents", "met_max_t"):
    call(f"search.ClassSearch.{_name}")(lambda c, name=_name: read(c.class_search(), name))
call("search.leads", 0, 20)(
    lambda c: Call(
        search.leads,
        {
            "score": score(c.discrete()),
            "parents": bits(c.dag(), "dag"),
            "kind": Argument(search.Kind.insert),
        },
    )
)


def _look_around(c: Case) -> Call:
    """The families of the DAG, and those of one parent, have scores."""
    dag = c.dag()
    rows = np.concatenate([dag, *(np.roll(np.eye(c.n, dtype=bool), k, axis=1) for k in (1, 2))])
    of = [*range(c.n)] * 3
    keep = [k for k, node in enumerate(of) if not rows[k, node]]
    return Call(
        search.look_around,
        {
            "nodes": Argument([of[k] for k in keep], "members", c.n),
            "parents": bits(rows[keep].reshape(len(keep), c.n)),
            "scores": floats(-c.rng.random(len(keep))),
            "start": bits(dag, "dag"),
            **c.knowledge(),
            "kicks": Argument(value=True),
            "patience": Argument(20, "turns"),
        },
    )


call("search.look_around", 0, 1041)(_look_around)
call("search.Hill.__init__")(lambda c: Call(search.Hill, c.hill_arguments()))
call("search.Hill.climb", 0, 20)(lambda c: Call(c.hill().climb, {"budget": Argument(5, "limit")}))
for _name in ("best", "parents", "candidates", "changes", "bounds"):
    call(f"search.Hill.{_name}")(lambda c, name=_name: Call(getattr(c.hill(), name)))
for _name in ("steps", "met_max_parents"):
    call(f"search.Hill.{_name}")(lambda c, name=_name: read(c.hill(), name))
call("search.Kicks.__init__")(lambda c: Call(search.Kicks, c.kick_arguments()))


def _iterate(c: Case) -> Call:
    """All that a search is made of is an argument here: kicks are where its rules tell."""

    def iterate(budget: Any, **rules: Any) -> bool:
        return search.Kicks(**rules).iterate(budget)

    return Call(iterate, c.kick_arguments() | {"budget": Argument(3, "limit")})


call("search.Kicks.iterate", 0, LARGEST)(_iterate)
for _name in ("hill", "kicks"):
    call(f"search.Kicks.{_name}")(lambda c, name=_name: read(c.kicks(), name))
call("search.Boss.__init__")(lambda c: Call(search.Boss, c.boss_arguments()))
call("search.Boss.improve", 0, 1041)(
    lambda c: Call(c.boss().improve, {"budget": Argument(5, "limit")})
)
call("search.Boss.go_to", 0, 1041)(
    lambda c: Call(c.boss().go_to, {"order": c.boss_arguments()["order"]})
)
call("search.Boss.parents", 0, 1041)(lambda c: Call(c.boss().parents))
for _name in ("order", "total", "moves", "emptied", "met_max_parents", "met_candidates"):
    call(f"search.Boss.{_name}")(lambda c, name=_name: read(c.boss(), name))


# -- fusion


def _heuristic(c: Case) -> Any:
    return fusion.OrderHeuristic(many_bits(c.dags()).value, np.array([1, 2]), np.zeros(0))


enter_all(
    "fusion", 0, 65,
    **{
        "OrderHeuristic.__init__": lambda c: Call(
            fusion.OrderHeuristic,
            {
                "parents": many_bits(c.dags()),
                "weights": weights([1, 2]),
                "draws": Argument(c.rng.random(c.n), "draws"),
                "observed": bits(np.ones((2, c.n), bool)),
            },
        ),
        "OrderHeuristic.extend": lambda c: Call(
            _heuristic(c).extend, {"places": Argument(c.n, "limit")}
        ),
        "OrderHeuristic.order": lambda c: read(_heuristic(c), "order"),
        "minimal_imaps": lambda c: Call(
            fusion.minimal_imaps,
            {"parents": many_bits(c.dags()), "order": order(c.rng.permutation(c.n), c.n)},
        ),
        "Precedence.__init__": lambda c: Call(fusion.Precedence, c.precedence()),
        "Precedence.after": lambda c: read(made(fusion.Precedence, c.precedence()), "after"),
        "Precedence.settle": lambda c: Call(
            made(fusion.Precedence, c.precedence()).settle, {"parents": bits(c.dag(), "dag")}
        ),
        "Precedence.kept": lambda c: Call(
            made(fusion.Precedence, c.precedence()).kept, {"parents": bits(c.dag(), "dag")}
        ),
        "arcs_of_quorum": lambda c: Call(
            fusion.arcs_of_quorum,
            {
                "maps": many_bits(c.dags()),
                "members": weights([1, 2]),
                "quorum": Argument(2, "whole"),
            },
        ),
        "descend_to_median": lambda c: Call(
            fusion.descend_to_median,
            {
                "parents": bits(c.dag(), "dag"),
                "gain": Argument(c.symmetric(), "numbers"),
            },
        ),
    },
)  # fmt: skip


# -- consensus


def _search_states(c: Case) -> Call:
    path = c.deletions()
    path.advance(1000, 1 << 40, 1 << 40)
    steps = path.steps()
    again = Case(c.n, c.seed)
    return Call(
        consensus.search_states,
        {
            "fusion": again.deletion_arguments()["fusion"],
            "xy": Argument(
                np.array([s[:2] for s in steps], dtype=np.int32).reshape(len(steps), 2),
                "nodes",
                c.n,
            ),
            "h": Argument([h for _, _, h, _ in steps], "lists"),
            "cuts": Argument(np.array([0, len(steps) // 2, len(steps)]), "cuts"),
        },
    )


def _refusion_states(c: Case) -> Call:
    path = c.deletions()
    path.advance(1000, 1 << 40, 1 << 40)
    again = Case(c.n, c.seed)
    return Call(
        consensus.refusion_states,
        again.inputs()
        | {
            "arcs": Argument(path.lost_arcs(), "arcs", c.n),
            "cuts": Argument(np.array([0, path.done]), "cuts"),
            "members": weights([1, 1]),
            "quorum": Argument(1, "whole"),
            "observed": bits(np.ones((2, c.n), bool)),
        },
    )


def _reverse_covered(c: Case) -> Call:
    pairs = c.pairs().astype(np.int32)
    return Call(
        consensus.reverse_covered,
        {
            "parents": bits(c.dag(), "dag"),
            "pairs": Argument(pairs, "pairs", c.n),
            "margins": Argument(c.rng.integers(-3, 4, (1, len(pairs))), "margins"),
        },
    )


def _sums(of: Callable[..., Any], kinds: int) -> Callable[[Case], Call]:
    """A call for the distances of two DAGs by votes on pairs."""

    def make(c: Case) -> Call:
        pairs = c.pairs().astype(np.int32)
        arcs = [np.argwhere(dag.T).astype(np.int32, order="C") for dag in c.dags()]
        return Call(
            of,
            {
                "states": Argument(arcs, "arcs", c.n),
                "n": Argument(c.n, "size", c.n),
                "pairs": Argument(pairs, "pairs", c.n),
                "votes": Argument(c.rng.integers(0, 4, (kinds, len(pairs))), "numbers"),
                "total": Argument(3, "whole"),
                "seen": Argument(np.full((c.n, c.n), 3), "numbers"),
            },
        )

    return make


def _min_cut(c: Case) -> Call:
    x, y = c.two()
    given = c.sets(1)
    given[0, [x, y]] = False
    return Call(
        consensus.min_cut,
        {
            "parents": bits(c.dag(), "dag"),
            "x": node(x, c.n),
            "y": node(y, c.n),
            "given": bits(given),
        },
    )


call("consensus.Deletions.__init__")(lambda c: Call(consensus.Deletions, c.deletion_arguments()))


def _advance(c: Case) -> Call:
    def advance(steps: Any, patience: Any, largest: Any, **rest: Any) -> Any:
        return consensus.Deletions(**rest).advance(steps, patience, largest)

    return Call(
        advance,
        c.deletion_arguments()
        | {
            "steps": Argument(5, "whole"),
            "patience": Argument(1 << 40, "whole"),
            "largest": Argument(1 << 40, "whole"),
        },
    )


call("consensus.Deletions.advance", 0, 65)(_advance)
for _name in ("n_edges", "done", "entries"):
    call(f"consensus.Deletions.{_name}")(lambda c, name=_name: read(c.deletions(), name))
for _name in ("steps", "given", "lost_arcs", "known"):
    call(f"consensus.Deletions.{_name}")(lambda c, name=_name: Call(getattr(c.deletions(), name)))
call("consensus.search_states", 0, 20)(_search_states)
call("consensus.refusion_states", 0, 20)(_refusion_states)
call("consensus.reverse_covered")(_reverse_covered)
call("consensus.min_cut", 2)(_min_cut)
enter_all(
    "consensus", 0, 65,
    pair_votes=lambda c: Call(consensus.pair_votes, c.inputs()),
    smhd_sums=_sums(consensus.smhd_sums, 1),
    shd_sums=_sums(consensus.shd_sums, 3),
)  # fmt: skip


# -- families

enter_all(
    "families", 1, LARGEST,
    best_families=lambda c: Call(
        families.best_families, c.masks() | {"m": Argument(c.n, "size", c.n)}
    ),
    forward=lambda c: Call(families.forward, {"table": floats(c.best_families())}),
    backward=lambda c: Call(families.backward, {"table": floats(c.best_families())}),
    gaussian_subset_values=lambda c: Call(families.gaussian_subset_values, c.gaussian_parts()),
    best_within=lambda c: Call(
        families.best_within,
        {"values": floats(c.rng.normal(size=1 << c.n)), "n": Argument(c.n, "size", c.n)},
    ),
    undominated_sets=lambda c: Call(
        families.undominated_sets,
        {
            "values": floats(c.rng.normal(size=1 << c.n)),
            "node": node(0, c.n),
            "n": Argument(c.n, "size", c.n),
            "slack": Argument(0.0, "float"),
        },
    ),
)  # fmt: skip


def _marginals(c: Case) -> Call:
    masks = c.masks()
    table = families.best_families(**plain(masks), m=c.n)
    return Call(
        families.marginals,
        masks
        | {
            "best": floats(families.forward(table)),
            "rest": floats(families.backward(table)),
            "m": Argument(c.n, "size", c.n),
        },
    )


def _optimal_order(c: Case) -> Call:
    table = c.best_families()
    return Call(
        families.optimal_order, {"table": floats(table), "best": floats(families.forward(table))}
    )


call("families.marginals", 1, LARGEST)(_marginals)
call("families.optimal_order", 1, LARGEST)(_optimal_order)


def _walk_on(c: Case) -> Call:
    def walk_on(threshold: Any, steps: Any, most: Any, **rest: Any) -> Any:
        return families.GaussianWalk(**rest).walk_on(threshold, steps, most)

    return Call(
        walk_on,
        c.walk_arguments()
        | {
            "threshold": Argument(1e9, "float"),
            "steps": Argument(200, "turns"),
            "most": Argument(50, "whole"),
        },
    )


call("families.GaussianWalk.__init__", 1)(lambda c: Call(families.GaussianWalk, c.walk_arguments()))
call("families.GaussianWalk.walk_on", 1)(_walk_on)
call("families.GaussianWalk.capped", 1)(
    lambda c: read(made(families.GaussianWalk, c.walk_arguments()), "capped")
)
call("families.gaussian_costs", 2)(
    lambda c: Call(
        families.gaussian_costs,
        c.gaussian_parts()
        | {
            "node": node(0, c.n),
            "has_parent": Argument(c.sets(3) & (np.arange(c.n) > 0), "flags"),
        },
    )
)
call("families.are_undominated")(
    lambda c: Call(
        families.are_undominated,
        {
            "bits": Argument(pack(c.sets(4)), "words"),
            "cost": floats(np.arange(4) / 4.0),
            "slack": Argument(0.0, "float"),
        },
    )
)


for _kind in ("discrete", "gaussian", "mixed"):
    call(f"families.ParentSetLevels.{_kind}")(
        lambda c, kind=_kind: Call(
            getattr(families.ParentSetLevels, kind),
            {"score": Argument(getattr(c, kind)()), "slack": Argument(0.0, "float")},
        )
    )


def _sets_of_size(c: Case, levels: Any) -> dict[str, Argument]:
    """A node and all sets of two of the other variables."""
    total = levels.count(c.n - 1, 2)
    return {
        "node": node(0, c.n),
        "ranks": Argument(np.arange(total), "ranks", total),
        "size": Argument(2, "size", c.n),
    }


def _level(
    method: str, *more: Callable[[Case, Any], dict[str, Argument]]
) -> Callable[[Case], Call]:
    def make(c: Case) -> Call:
        levels = c.levels()
        arguments = _sets_of_size(c, levels)
        for part in more:
            arguments |= part(c, levels)
        return Call(getattr(levels, method), arguments)

    return make


def _ranked_values(c: Case, levels: Any, size: int, name: str) -> dict[str, Argument]:
    values, _ = c.level_values(levels, size)
    ranks = np.arange(values.size)
    return {f"ranks_{name}": Argument(ranks, "ranks"), f"values_{name}": floats(values)}


def _bounds(c: Case, levels: Any, name: str = "best") -> dict[str, Argument]:
    return {name: floats(np.zeros(levels.count(c.n - 1, 2)))}


enter_all(
    "families.ParentSetLevels", 4, LARGEST,
    count=lambda c: Call(
        c.levels().count,
        {"members": Argument(c.n, "size", c.n), "size": Argument(2, "size", c.n)},
    ),
    all_joint_values=lambda c: Call(
        families.ParentSetLevels.discrete(c.discrete(scores.ScoreKind.bdeu), 0.0).all_joint_values
    ),
    global_ranks=_level("global_ranks"),
    bits=_level("bits"),
    extend=_level("extend", _bounds, lambda c, levels: {"floor": Argument(0.0, "float")}),
    worth_scoring=_level(
        "worth_scoring",
        lambda c, levels: {"floors": floats(np.zeros(c.n))},
        lambda c, levels: _ranked_values(c, levels, 2, "below"),
        lambda c, levels: _ranked_values(c, levels, 2, "own"),
    ),
    costs=_level(
        "costs",
        lambda c, levels: _bounds(c, levels, "bounds"),
        lambda c, levels: _ranked_values(c, levels, 2, "own"),
        lambda c, levels: {"occupied": Argument(c.level_values(levels, 2)[1], "counts")},
        lambda c, levels: _ranked_values(c, levels, 3, "above"),
    ),
)  # fmt: skip


@call("families.ParentSetLevels.joint_values", 2, 1041)
def _joint_values(c: Case) -> Call:
    levels = c.levels()
    return Call(
        levels.joint_values,
        {
            "wanted": Argument(
                np.array([0, levels.count(c.n, 2) - 1]), "ranks", levels.count(c.n, 2)
            ),
            "size": Argument(2, "size", c.n),
        },
    )


@call("families.ParentSetLevels.last_level", 4, LARGEST)
def _last_level(c: Case) -> Call:
    levels = c.levels()
    each = levels.count(c.n - 1, 1)
    return Call(
        levels.last_level,
        {
            "first": Argument(0, "size", levels.count(c.n, 3)),
            "last": Argument(levels.count(c.n, 3), "size", levels.count(c.n, 3)),
            "size": Argument(2, "size", c.n),
            "values": floats(c.level_values(levels, 2)[0]),
            "start": starts(np.arange(c.n + 1) * each),
            "ranks": Argument(np.tile(np.arange(each), c.n), "ranks"),
            "best": floats(np.zeros(each * c.n)),
            "limit": floats(np.full(c.n, 100.0)),
        },
    )


def _columns(c: Case, *names: str) -> dict[str, Argument]:
    found = c.family_list()
    return {name: found["cost" if name == "x" else name] for name in names}


_STEERED = ("node", "x", "parents")
enter_all(
    "families", 1, 20,
    covering=lambda c: Call(
        families.covering,
        {
            "node": Argument(c.family_list()["node"].value, "nodes", 64),
            "parents": Argument(c.family_list()["parents"].value, "words"),
        }
        | {"cluster": Argument(pack(c.sets(1))[0], "words"), "k": Argument(1, "k")},
    ),
    reduced_costs=lambda c: Call(
        families.reduced_costs,
        _columns(c, "node", "cost", "parents")
        | {
            "clusters": bits(c.sets(2)),
            "duals": floats([0.5, 0.25]),
            "n": Argument(c.n, "size", c.n),
        },
    ),
    grow_clusters=lambda c: Call(
        families.grow_clusters,
        _columns(c, *_STEERED)
        | {
            "n": Argument(c.n, "size", c.n),
            "seeds": bits(c.sets(2)),
            "k": Argument(1, "k"),
            "least": Argument(0.1, "float"),
        },
    ),
    walk_clusters=lambda c: Call(
        families.walk_clusters,
        _columns(c, *_STEERED)
        | {
            "n": Argument(c.n, "size", c.n),
            "seeds": bits(c.sets(2)),
            "k": Argument(1, "k"),
            "steps": Argument(20, "turns"),
        },
    ),
)  # fmt: skip


def _ordering(c: Case) -> Any:
    return families.Ordering(**plain(_columns(c, "start", "cost", "parents")))


enter_all(
    "families.Ordering", 0, 65,
    __init__=lambda c: Call(families.Ordering, _columns(c, "start", "cost", "parents")),
    fit=lambda c: Call(_ordering(c).fit, {"order": order(c.rng.permutation(c.n), c.n)}),
    descend=lambda c: Call(_ordering(c).descend, {"order": order(c.rng.permutation(c.n), c.n)}),
)  # fmt: skip


# -- credible sets

_MEMORY = 1 << 24
call("credible.Stop.__init__")(lambda c: Call(credible.Stop))
call("credible.Stop.set")(lambda c: Call(credible.Stop().set))
call("credible.Stop.is_set")(lambda c: read(credible.Stop(), "is_set"))


def _stoppable(**others: Argument) -> dict[str, Argument]:
    return others | {"stop": Argument(credible.Stop())}


def _used(make: Callable[..., Any]) -> Callable[..., Any]:
    """A problem is looked at when something is made of it."""

    def use(**arguments: Any) -> Any:
        problem, stop = make(**arguments), credible.Stop()
        diagram = credible.build_diagram(problem, 1.0, _MEMORY, stop)
        credible.PathListing(diagram, 1.0, None).next(10)
        search_ = credible.DepthFirst(problem)
        return diagram, search_.next(10, 1000, stop)

    return use


enter_all(
    "credible", 1, LARGEST,
    **{
        "Problem.by_table": lambda c: Call(_used(credible.Problem.by_table), c.problem_arguments()),
        "Problem.by_clusters": lambda c: Call(
            _used(credible.Problem.by_clusters), c.cluster_problem()
        ),
        "build_diagram": lambda c: Call(
            credible.build_diagram,
            _stoppable(
                problem=Argument(c.problem()),
                budget=Argument(2.0, "float"),
                memory=Argument(_MEMORY, "memory"),
            ),
        ),
        "Diagram.shift": lambda c: read(c.diagram(), "shift"),
        "Diagram.profile": lambda c: Call(
            c.diagram().profile,
            _stoppable(memory=Argument(_MEMORY, "memory"), piece=Argument(100, "whole")),
        ),
        "Diagram.ways_from_top": lambda c: Call(
            c.diagram().ways_from_top, _stoppable(memory=Argument(_MEMORY, "memory"))
        ),
        "Diagram.ways_to_end": lambda c: Call(
            c.diagram().ways_to_end, _stoppable(memory=Argument(_MEMORY, "memory"))
        ),
        "PathListing.__init__": lambda c: _listing(c),
        "PathListing.next": lambda c: Call(
            credible.PathListing(c.diagram(), 2.0, None).next, {"most": Argument(10, "whole")}
        ),
        "DepthFirst.__init__": lambda c: Call(
            credible.DepthFirst, {"problem": Argument(c.problem())}
        ),
        "DepthFirst.done": lambda c: read(credible.DepthFirst(c.problem()), "done"),
        "DepthFirst.steps": lambda c: read(credible.DepthFirst(c.problem()), "steps"),
        "DepthFirst.next": lambda c: Call(
            credible.DepthFirst(c.problem()).next,
            _stoppable(most=Argument(10, "whole"), max_steps=Argument(1000, "whole")),
        ),
    },
)  # fmt: skip


def _listing(c: Case) -> Call:
    diagram, size = c.diagram(), 2 * c.n

    def listing(budget: Any, first: Any, barred: Any) -> Any:
        return credible.PathListing(diagram, budget, (first, barred)).next(10)

    return Call(
        listing,
        {
            "budget": Argument(2.0, "float"),
            "first": starts(np.minimum(np.arange(size + 1), 1)),
            "barred": Argument(np.array([size - 1], dtype=np.int32), "nodes", size),
        },
    )


def _ways(c: Case) -> tuple[Any, Any, Any]:
    diagram, stop = c.diagram(), credible.Stop()
    return diagram, diagram.ways_from_top(_MEMORY, stop), diagram.ways_to_end(_MEMORY, stop)


@call("credible.Diagram.family_weights", 1, LARGEST)
def _family_weights(c: Case) -> Call:
    diagram, above, below = _ways(c)
    return Call(
        diagram.family_weights,
        {
            "from_top": Argument(above, "ways"),
            "to_end": Argument(below, "ways"),
            "budget": Argument(2.0, "float"),
            "other_excess": floats([0.0, 1.0]),
            "other_weight": floats([1.0, 0.5]),
        },
    )


@call("credible.Diagram.draw", 1, LARGEST)
def _draw(c: Case) -> Call:
    diagram, _, below = _ways(c)
    excess, _ = diagram.profile(_MEMORY, 100, credible.Stop())
    return Call(
        diagram.draw,
        {
            "to_end": Argument(below, "ways"),
            "excess": Argument(float(excess[0]), "float"),
            "uniform": Argument(c.rng.random(c.n), "draws"),
        },
    )


@call("credible.class_keys", 1)
def _class_keys(c: Case) -> Call:
    found = c.family_list()
    return Call(
        credible.class_keys,
        {
            "rows": Argument(np.arange(0, 2 * c.n, 2, dtype=np.int32)[None], "nodes", 2 * c.n),
            "nodes": Argument(np.arange(c.n), "nodes", 64 * max(1, (c.n + 63) // 64)),
            "node": Argument(
                found["node"].value.astype(np.int64), "nodes", 64 * max(1, (c.n + 63) // 64)
            ),
            "parents": Argument(found["parents"].value, "words"),
            "shielded": Argument(True),
        },
    )


# -- CG-DCA

enter_all(
    "cg_dca", 2, 20,
    **{
        "ClusterRows.__init__": lambda c: Call(cg_dca.ClusterRows, c.cluster_rows()),
        "GaussianLikelihood.__init__": lambda c: Call(
            cg_dca.GaussianLikelihood,
            {
                "correlation": Argument(np.eye(c.n), "square"),
                "fit": Argument(10.0, "float"),
                "penalty": Argument(1.0, "float"),
            },
        ),
        "CategoricalLikelihood.__init__": lambda c: Call(
            cg_dca.CategoricalLikelihood, {"score": score(c.discrete())}
        ),
        "Likelihood.prefixes": lambda c: Call(
            (c.likelihood() if c.seed % 2 else cg_dca.CategoricalLikelihood(c.discrete())).prefixes,
            c.priced() | {"order": nodes(np.arange(1, c.n), c.n), "cut": Argument(False)},
        ),
        "descend": lambda c: Call(
            cg_dca.descend,
            {"score": score(c.discrete()), **c.priced()}
            | {
                "start": Argument(pack(c.none()[:1])[0], "set", c.n),
                "most": Argument(3, "limit"),
            },
        ),
        "greedy_order": lambda c: Call(
            cg_dca.greedy_order,
            {"score": score(c.discrete()), **c.priced()}
            | {
                "order": nodes(np.arange(1, c.n), c.n),
                "ends": nodes(np.full(c.n - 1, c.n - 1), c.n),
                "places": Argument(2, "limit"),
            },
        ),
    },
)  # fmt: skip
for _name in ("correlation", "fit", "penalty"):
    call(f"cg_dca.GaussianLikelihood.{_name}")(lambda c, name=_name: read(c.likelihood(), name))


@call("cg_dca.Likelihood.minimum_norm_point", 2, 20)
def _minimum_norm_point(c: Case) -> Call:
    likelihood = c.likelihood() if c.seed % 2 else cg_dca.CategoricalLikelihood(c.discrete())
    free = np.arange(2, c.n)
    return Call(
        likelihood.minimum_norm_point,
        c.priced()
        | {
            "base": nodes([1], c.n),
            "free": nodes(free, c.n),
            "y": floats(np.zeros(c.n)),
            "start": floats(np.zeros(free.size)),
            "tolerance": Argument(1e-4, "float"),
            "rounds": Argument(20, "turns"),
        },
    )


# -- secure sums and privacy


def _own(c: Case) -> Any:
    return secure.OwnInputs(many_bits(c.dags()).value)


def _given(c: Case, x: int, y: int) -> Argument:
    given = c.sets(1)
    given[0, [x, y]] = False
    return bits(given)


@call("secure.OwnInputs.prune", 2)
def _prune(c: Case) -> Call:
    x, y = c.two()
    return Call(_own(c).prune, {"x": node(x, c.n), "y": node(y, c.n), "given": _given(c, x, y)})


@call("secure.OwnInputs.cut_sums", 2)
def _cut_sums(c: Case) -> Call:
    x, y = c.two()
    return Call(
        _own(c).cut_sums,
        {
            "weights": weights([1, 2]),
            "xy": Argument(np.array([[x, y]]), "nodes", c.n),
            "given": _given(c, x, y),
            "largest": Argument(1 << 40, "whole"),
        },
    )


@call("secure.delete", 2)
def _delete(c: Case) -> Call:
    p = c.pattern()
    found = secure.valid_deletions(p.value, 2, 100)
    x, y = found[0][0] if found and len(found[0]) else (0, 1)
    h = found[2][:1] if found and len(found[0]) else pack(c.none()[:1])
    return Call(
        secure.delete,
        {"p": p, "x": node(x, c.n), "y": node(y, c.n), "h": Argument(h.copy(), "sets", c.n)},
    )


enter_all(
    "secure", 0, 65,
    **{
        "OwnInputs.__init__": lambda c: Call(secure.OwnInputs, {"parents": many_bits(c.dags())}),
        "OwnInputs.parents": lambda c: Call(_own(c).parents),
        "cost_sums": lambda c: Call(
            secure.cost_sums,
            {
                "parents": many_bits(c.dags()),
                "weights": weights([1, 2]),
                "taken": nodes(np.arange(c.n)[:1], c.n),
                "chain": nodes(np.arange(c.n)[1:2], c.n),
            },
        ),
        "valid_deletions": lambda c: Call(
            secure.valid_deletions,
            {
                "p": c.pattern(),
                "k_max": Argument(2, "limit"),
                "max_operators": Argument(100, "whole"),
            },
        ),
    },
)  # fmt: skip


@call("privacy.dependence_sum")
def _dependence_sum(c: Case) -> Call:
    rows = c.n
    return Call(
        privacy.dependence_sum,
        {
            "a": Argument(c.rng.integers(2, size=rows).astype(np.int32), "nodes", 2),
            "b": Argument(c.rng.integers(3, size=rows).astype(np.int32), "nodes", 3),
            "strata": Argument(c.rng.integers(4, size=rows), "nodes", 4),
            "r_a": Argument(2, "whole"),
            "r_b": Argument(3, "whole"),
            "count": Argument(4, "whole"),
        },
    )
