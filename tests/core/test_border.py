"""The border of the compiled core: what does not fit is refused, whatever it is.

Every function, method and property of `fedbn._core` is called with arguments that fit together
(`calls.CALLS`), then with one of them broken: of another kind, shape, length or memory layout, with
numbers out of range, cycles, NaN. The call succeeds, or it ends with an exception of fedbn.errors;
TypeError where an argument is of another kind, as Python itself has it. It never crashes, never
reads what is not its own (`make sanitize` watches that) and never hangs.
"""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fedbn import _core
from fedbn._core import cg_dca
from fedbn.errors import ArgumentError, FedbnError
from fedbn.graphs.bits import pack
from tests.core.calls import CALLS, LEAST, MOST, Argument, Call, Case, made

HANGS = 300.0  # seconds; the slowest of these tests takes a few
SIZES = (0, 1, 2, 5, 63, 64, 65, 1041)
OTHER_KINDS = {
    "uint64": "int64",
    "int64": "int32",
    "int32": "int64",
    "uint16": "int16",
    "float64": "float32",
    "bool": "uint8",
}
EXTREMES = (-(2**63), -(2**31), -1, 0, 1, 2**31 - 1, 2**31, 2**63 - 1, 2**64)
LONG = 10**4  # turns that a test does not wait for


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    faulthandler.dump_traceback_later(HANGS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@dataclass(frozen=True)
class Break:
    """A value in the place of one that fits, and what must be raised; None if it may fit, too."""

    what: str
    value: Any
    error: type[Exception] | tuple[type[Exception], ...] | None = None


def breaks_of(argument: Argument) -> Iterator[Break]:
    value, role = argument.value, argument.role
    if isinstance(value, np.ndarray):
        yield from other_arrays(value)
        yield from other_shapes(value)
        yield from other_contents(value, role, argument.limit)
    elif isinstance(value, list):
        yield from other_lists(value, role, argument.limit)
    elif isinstance(value, bool):
        yield Break("no flag", "yes", TypeError)
    elif isinstance(value, int):
        yield Break("no number", "1", TypeError)
        yield Break("a fraction", 1.5, TypeError)
        yield from other_numbers(role, argument.limit)
    elif isinstance(value, float):
        yield Break("no number", "1.0", TypeError)
        for other in (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308):
            yield Break(f"the number {other}", other)
    else:
        yield Break("another object", object(), TypeError)
        yield from other_objects(role, argument)


def other_arrays(value: np.ndarray) -> Iterator[Break]:
    """Of another kind or laid out in another way: nothing is converted."""
    other = OTHER_KINDS[value.dtype.name]
    yield Break(f"{other} for {value.dtype}", value.astype(other), TypeError)
    yield Break("objects", value.astype(object), TypeError)
    yield Break("a list", value.tolist(), TypeError)
    yield Break("one dimension more", value[None], TypeError)
    fewer = value.ravel() if value.ndim > 1 else value[0] if value.size else None
    yield Break("one dimension fewer", fewer, TypeError)
    if value.dtype.itemsize > 1:
        yield Break("swapped bytes", value.astype(value.dtype.newbyteorder()), TypeError)
    layouts = {
        "columns first": np.asfortranarray(value),
        "backwards": value[::-1].copy()[::-1],
        "columns backwards": value[..., ::-1].copy()[..., ::-1],
        "every second row": np.repeat(value, 2, axis=0)[::2],
        "every second column": np.repeat(value, 2, axis=-1)[..., ::2],
        "one row many times": np.broadcast_to(value[:1], value.shape) if len(value) else value,
    }
    for what, laid_out in layouts.items():
        if not laid_out.flags.c_contiguous:
            yield Break(what, laid_out, TypeError)


def other_shapes(value: np.ndarray) -> Iterator[Break]:
    for axis in range(value.ndim):
        size = value.shape[axis]
        for length in sorted({0, 1, size - 1, size + 1, 64, 65} - {size, -1}):
            index = np.arange(length) % max(1, size)
            if size:
                other = np.take(value, index, axis=axis)
            else:
                shape = [*value.shape[:axis], length, *value.shape[axis + 1 :]]
                other = np.zeros(shape, dtype=value.dtype)
            yield Break(f"length {length} for {size} of axis {axis}", np.ascontiguousarray(other))
    yield Break("no element", np.zeros((0,) * value.ndim, dtype=value.dtype))


def other_contents(value: np.ndarray, role: str, limit: int) -> Iterator[Break]:
    if not value.size:
        return
    if value.dtype == np.uint64:
        yield from other_bits(value, role, limit)
    elif value.dtype == np.float64:
        error = ArgumentError if role == "draws" else None
        for other in (np.nan, np.inf, -np.inf, -1.0, 1.0, 1e308):
            yield Break(f"a number {other}", replaced(value, other), error)
            yield Break(f"all numbers {other}", np.full_like(value, other), error)
        yield Break("the other way round", np.ascontiguousarray(value[::-1]))
    elif value.dtype != np.bool_:
        yield from other_integers(value, role, limit)


def replaced(value: np.ndarray, other: Any, place: int = -1) -> np.ndarray:
    value = value.copy()
    value.reshape(-1)[place] = other
    return value


def other_bits(value: np.ndarray, role: str, n: int) -> Iterator[Break]:
    stray = (
        ArgumentError
        if role in ("sets", "dag", "dags", "around", "pattern", "set", "masks")
        else None
    )
    if role != "words" and n % 64:
        yield Break("a bit too high", replaced(value, np.uint64(1) << np.uint64(n % 64)), stray)
        yield Break("all bits", np.full_like(value, ~np.uint64(0)), stray)
    if role in ("dag", "dags") and n >= 1:
        cycle, loop = np.roll(np.eye(n, dtype=bool), 1, axis=1), np.zeros((n, n), dtype=bool)
        loop[0, 0] = True
        for what, graph in (("a cycle", cycle), ("a node is its own parent", loop)):
            other = value.copy()
            other[...] = pack(graph)
            yield Break(what, other, ArgumentError)
    if role == "around" and n >= 2:
        one_way = np.zeros((n, n), dtype=bool)
        one_way[0, 1] = True
        yield Break("one is a neighbour of the other alone", pack(one_way), ArgumentError)
        yield Break("a node is its own neighbour", pack(np.eye(n, dtype=bool)), ArgumentError)
    if role == "pattern" and n >= 2:
        everyone = ~np.eye(n, dtype=bool)
        for part in range(3):
            other = value.copy()
            other[part] = pack(everyone & ~np.tri(n, dtype=bool))
            yield Break(f"part {part} of P does not fit the others", other, ArgumentError)


def other_integers(value: np.ndarray, role: str, limit: int) -> Iterator[Break]:
    numbers = role in ("nodes", "order", "members")
    span = np.iinfo(value.dtype)
    if numbers:
        for other in (-1, limit, 2**32):
            if span.min <= other <= span.max:
                yield Break(f"the number {other}", replaced(value, other), ArgumentError)
    if role == "order" and value.size > 1:
        yield Break("a node twice", replaced(value, value[0]), ArgumentError)
    if role == "pairs":
        yield Break("the other way round", np.ascontiguousarray(value[:, ::-1]), ArgumentError)
        yield Break("a node too high", replaced(value, limit), ArgumentError)
        if len(value) > 1:
            yield Break("descending", np.ascontiguousarray(value[::-1]), ArgumentError)
            twice = np.concatenate([value[1:2], value[1:]])
            yield Break("a pair twice", np.ascontiguousarray(twice), ArgumentError)
    if role == "codes":
        yield Break("a code beyond the arity", replaced(value, span.max), ArgumentError)
    if role == "arities":
        for other in (0, -1, 2**17, 2**32 + 2):
            yield Break(f"an arity of {other}", replaced(value, other), ArgumentError)
    if role == "starts":
        for place, other in ((0, 1), (0, -1), (-1, value[-1] + 1), (-1, -1), (value.size // 2, 99)):
            yield Break(f"{other} in place {place}", replaced(value, other, place), ArgumentError)
    for other in (span.min, span.max, -1 if span.min else 0, 0):
        for place in (0, -1):
            yield Break(f"{other} in place {place}", replaced(value, other, place))
        yield Break(f"{other} everywhere", np.full_like(value, other))


def other_lists(value: list[Any], role: str, limit: int) -> Iterator[Break]:
    yield Break("no list", 1, TypeError)
    yield Break("a list of words", ["x"], TypeError)
    yield Break("an empty list", [])
    if role in ("distinct", "order", "members"):
        for other in (-1, limit):
            yield Break(f"the number {other}", [*value, other], ArgumentError)
        yield Break("a number too large", [*value, 2**32], TypeError)
    if role in ("distinct", "order") and value:
        yield Break("a number twice", [*value, value[0]], ArgumentError)
    if role == "arities" and value:
        for other in (0, -1, 2**17):
            yield Break(f"an arity of {other}", [*value[1:], other], ArgumentError)
        yield Break("an arity more", [*value, 2], ArgumentError)
    if role == "rungs":
        for rung in ((0.0, 1.0), (np.nan, 1.0), (1.0, np.nan), (1.0, -1.0),
                     (np.inf, 1.0), (1.0, np.inf)):  # fmt: skip
            yield Break(f"the rung {rung}", [rung], ArgumentError)
        yield Break("no rung", [], ArgumentError)


def other_numbers(role: str, limit: int) -> Iterator[Break]:
    for other in EXTREMES:
        if role == "turns" and other > LONG:
            continue
        negative = role in ("limit", "turns", "memory", "node") and other < 0
        yield Break(f"the number {other}", other, (ArgumentError, TypeError) if negative else None)
    if role == "node":
        yield Break("a node too high", limit, ArgumentError)


def other_objects(role: str, argument: Argument) -> Iterator[Break]:
    if role == "score":
        yield Break("a score of more variables", Case(argument.value.n + 1, 0).discrete())
        yield Break("a Gaussian score of fewer", Case(max(0, argument.value.n - 1), 0).gaussian())
        for matrix in no_covariances(argument.value.n):
            ones = np.ones(argument.value.n + 1)
            other = _core.scores.GaussianScore(matrix, ones, ones)
            yield Break(f"a Gaussian score of {matrix.tolist()}", other)
    if role == "rows":
        for n in (64, 65, 1041):
            other = made(cg_dca.ClusterRows, Case(n, 0).cluster_rows())
            yield Break(f"clusters over {n} variables", other, ArgumentError)
    if role == "ways":
        diagram = Case(3, 1).diagram()
        ways = diagram.ways_to_end(1 << 24, _core.credible.Stop())
        yield Break("ways of another diagram", ways, ArgumentError)


def no_covariances(n: int) -> list[np.ndarray]:
    """Finite matrices whose scores are no numbers, or infinite."""
    rng = np.random.default_rng(n)
    signs = rng.choice([-1.0, 1.0], (n, n))
    return [np.zeros((n, n)), -np.eye(n), signs, 1e308 * signs, 1e-308 * signs]


def try_one(call: Call, name: str, broken: Break) -> None:
    about = f"{name}: {broken.what}"
    raised: Exception | None = None
    try:
        call.run(**{name: broken.value})
    except Exception as error:
        raised = error
    if raised is None:
        assert broken.error is None, f"{about} was accepted: {broken.value!r}"
    else:
        wanted = broken.error or (FedbnError, TypeError)
        assert isinstance(raised, wanted), f"{about}: {raised!r}"
        assert str(raised), about


def public_names() -> Iterator[str]:
    """What Python can call: functions, and constructors, methods and properties of classes."""
    for room, module in vars(_core).items():
        if not isinstance(module, ModuleType):
            continue
        for name, of in vars(module).items():
            if name.startswith("__") or isinstance(of, float):
                continue
            if not isinstance(of, type):
                yield f"{room}.{name}"
            elif not issubclass(of, Enum):
                yield from (
                    f"{room}.{name}.{member}" for member in vars(of) if is_callable(of, member)
                )


def is_callable(of: type, member: str) -> bool:
    if member == "__init__":
        try:
            of()
        except TypeError as error:
            return "no constructor defined" not in str(error)
        return True
    return member == "__setstate__" or not member.startswith("__")


def test_every_public_name_is_in_the_table() -> None:
    assert sorted(public_names()) == sorted(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_what_fits_is_accepted(name: str) -> None:
    for n in SIZES:
        if LEAST[name] <= n <= MOST[name]:
            CALLS[name](Case(n, n)).run()


@pytest.mark.parametrize("name", CALLS)
def test_whatever_is_broken_in_one_place_is_refused_or_works(name: str) -> None:
    n = max(5, LEAST[name])
    for argument, given_ in CALLS[name](Case(n, 1)).arguments.items():
        for broken in breaks_of(given_):
            call = CALLS[name](Case(n, 1))
            try_one(call, argument, broken)


@given(st.sampled_from(sorted(CALLS)), st.sampled_from(SIZES), st.integers(0, 10**6), st.data())
@settings(max_examples=300)
def test_at_any_size(name: str, n: int, seed: int, data: st.DataObject) -> None:
    assume(LEAST[name] <= n <= MOST[name])
    call = CALLS[name](Case(n, seed))
    assume(call.arguments)
    argument = data.draw(st.sampled_from(sorted(call.arguments)))
    broken = data.draw(st.sampled_from(list(breaks_of(call.arguments[argument]))))
    try_one(call, argument, broken)
