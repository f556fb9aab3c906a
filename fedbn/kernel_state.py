"""States of kernels that are passed by reference.

A kernel's state is a named tuple of arrays and numbers. numba passes a tuple as its flattened
fields, hundreds of values at every call from kernel to kernel. A class under `by_reference` goes
as one address instead: the door to Python writes the place and the shape of every array, and every
number, into a table of eight-byte words, and kernels read from that table what they use.

Kernels may write into the arrays of a state and read its fields by name, no more: they neither make
a state nor return a field, which lives only as long as the call.
"""

# mypy: disable-error-code="no-untyped-call"
# (numba's own functions have no types)

from __future__ import annotations

import hashlib
from functools import cache, reduce
from typing import Any, TypeVar

from llvmlite import ir
from numba.core import cgutils, errors, types
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    models,
    register_model,
    typeof_impl,
    unbox,
)

__all__ = ["by_reference"]

State = TypeVar("State", bound=type)

WORD = 8  # bytes
_WORD = ir.IntType(8 * WORD)


class _StateType(types.Type):
    """A named tuple that is passed by reference; fields as (name, type)."""

    def __init__(self, kind: type, fields: tuple[tuple[str, Any], ...]) -> None:
        self.kind = kind
        self.fields = fields
        said = ", ".join(f"{name}: {field}" for name, field in fields)
        digest = hashlib.sha256(said.encode()).hexdigest()[:16]
        super().__init__(name=f"{kind.__module__}.{kind.__qualname__}({digest})")

    def place(self, name: str) -> tuple[int, Any]:
        """The first word of a field, and its type."""
        word = 0
        for other, field in self.fields:
            if other == name:
                return word, field
            word += _words(field)
        raise AttributeError(name)

    @property
    def words(self) -> int:
        return sum(_words(field) for _, field in self.fields)


def _words(field: Any) -> int:
    """The address of an array, its shape, and its strides unless they follow; or a number."""
    if not isinstance(field, types.Array):
        if not isinstance(field, types.Number | types.Boolean | _StateType):
            raise errors.TypingError(f"a state has arrays, numbers and states, not {field}")
        return 1
    return 1 + int(field.ndim) * (1 if field.layout == "C" else 2)


def by_reference(kind: State) -> State:
    """Class decorator: kernels get this named tuple by reference."""

    @typeof_impl.register(kind)
    def _typeof(value: Any, context: Any) -> _StateType:
        found = [typeof_impl(entry, context) for entry in value]
        return _StateType(kind, tuple(zip(value._fields, found, strict=True)))

    return kind


@register_model(_StateType)
class _StateModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: _StateType) -> None:
        super().__init__(dmm, fe_type, _WORD.as_pointer())


@infer_getattr
class _StateAttribute(AttributeTemplate):
    key = _StateType

    def generic_resolve(self, state: _StateType, name: str) -> Any:  # type: ignore[override]
        return dict(state.fields).get(name)


@unbox(_StateType)
def _write_table(state: _StateType, value: Any, c: Any) -> NativeValue:
    """Write the table, at the door.

    The door is not optimised, so no kernel becomes a part of it: what kernels read is written
    before they begin, and nothing may be read before it is written.
    """
    c.builder.function.attributes.add("noinline")
    c.builder.function.attributes.add("optnone")
    table = cgutils.alloca_once(c.builder, _WORD, size=state.words)
    word = 0
    failed = cgutils.false_bit
    for i, (_, field) in enumerate(state.fields):
        entry = c.pyapi.tuple_getitem(value, i)
        if isinstance(field, types.Array):
            for part in _array_words(field, entry, c):
                c.builder.store(part, _at(c.builder, table, word))
                word += 1
        else:
            native = c.unbox(field, entry)
            failed = c.builder.or_(failed, native.is_error)
            place = _at(c.builder, table, word)
            c.builder.store(native.value, c.builder.bitcast(place, native.value.type.as_pointer()))
            word += 1
    return NativeValue(table, is_error=failed)


def _array_words(field: Any, entry: Any, c: Any) -> list[Any]:
    """What the table holds of an array that Python owns."""
    native = c.context.make_array(field)(c.context, c.builder)
    signature = ir.FunctionType(ir.IntType(32), [c.pyapi.pyobj, c.pyapi.voidptr])
    adapt = cgutils.get_or_insert_function(c.builder.module, signature, "numba_adapt_ndarray")
    c.builder.call(adapt, [entry, c.builder.bitcast(native._getpointer(), c.pyapi.voidptr)])
    words = [
        c.builder.ptrtoint(native.data, _WORD),
        *cgutils.unpack_tuple(c.builder, native.shape, field.ndim),
    ]
    if field.layout != "C":
        words += cgutils.unpack_tuple(c.builder, native.strides, field.ndim)
    return words


@lower_getattr_generic(_StateType)
def _read_field(context: Any, builder: Any, state: _StateType, table: Any, name: str) -> Any:
    """A field, read from the table."""
    word, field = state.place(name)
    if not isinstance(field, types.Array):
        return _read(builder, table, word, context.get_value_type(field))
    itemsize = _WORD(_itemsize(context, field.dtype))
    shape = [_read(builder, table, word + 1 + d, _WORD) for d in range(field.ndim)]
    if field.layout == "C":
        strides = [itemsize]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(length, strides[0]))
    else:
        strides = [
            _read(builder, table, word + 1 + field.ndim + d, _WORD) for d in range(field.ndim)
        ]
    model = context.data_model_manager[field]
    kinds = dict(zip(model._fields, model.get_value_type().elements, strict=True))
    entries = {
        "meminfo": ir.Constant(kinds["meminfo"], None),
        "parent": ir.Constant(kinds["parent"], None),
        "nitems": reduce(builder.mul, shape),
        "itemsize": itemsize,
        "data": _read(builder, table, word, kinds["data"]),
        "shape": cgutils.pack_array(builder, shape),
        "strides": cgutils.pack_array(builder, strides),
    }
    array = ir.Constant(model.get_value_type(), ir.Undefined)
    for entry, value in entries.items():
        array = builder.insert_value(array, value, model.get_field_position(entry))
    return array


@cache
def _itemsize(context: Any, kind: Any) -> int:
    """Bytes of an entry of an array."""
    return int(context.get_abi_sizeof(context.get_data_type(kind)))


def _at(builder: Any, table: Any, word: int) -> Any:
    return builder.gep(table, [ir.IntType(32)(word)], inbounds=True)


def _read(builder: Any, table: Any, word: int, kind: Any) -> Any:
    """Read one word; it is the same for as long as the kernel runs."""
    place = builder.bitcast(_at(builder, table, word), kind.as_pointer())
    value = builder.load(place)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value
