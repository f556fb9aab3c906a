"""Parts of kernels: functions that only kernels call, compiled once, with the kernel itself.

numba optimises every function that it compiles, with all that the function calls, and makes machine
code of it, although only the outermost one, the door, is run: a function below five others is
optimised six times. A part is translated and simplified, and joined to its callers as it is; the
door is optimised as a whole.
"""

# mypy: disable-error-code="no-untyped-call"
# (numba's own functions have no types)

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, TypeVar, cast

from numba import types
from numba.core.registry import CPUDispatcher

from fedbn.kernel_lowering import OPTIONS, PartCompiler

__all__ = ["Part", "inner", "inner_in_place", "inner_with_arrays"]

Function = TypeVar("Function", bound=Callable[..., Any])


class _PartKernel(CPUDispatcher):
    """What numba compiles of a part."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """A number that is written into a call, like True or 0, is one argument of its kind among
        others: numba would compile the part once more for every such number."""
        named = {name: types.unliteral(arg) for name, arg in kws.items()}
        return super().get_call_template([types.unliteral(arg) for arg in args], named)


class Part:
    """A part as Python sees it: nothing is made of it until a kernel that calls it is compiled."""

    def __init__(self, function: Any, **options: Any) -> None:
        update_wrapper(cast(Any, self), function)
        self._options = options

    @cached_property
    def _kernel(self) -> Any:
        function = self.__wrapped__  # type: ignore[attr-defined]
        options = {"nopython": True, **OPTIONS, **self._options}
        return _PartKernel(function, targetoptions=options, pipeline_class=PartCompiler)

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self._kernel)


def inner(function: Function) -> Function:
    """A part that makes no arrays.

    Without reference counts on the rows that it looks at, which would be half of its time, it
    runs faster.
    """
    return cast(Function, Part(function, _nrt=False))


def inner_in_place(function: Function) -> Function:
    """`inner` for a part of few kernels that is called so often that passing its arguments counts:
    LLVM puts it where it is called."""
    return cast(Function, Part(function, _nrt=False, forceinline=True))


def inner_with_arrays(function: Function) -> Function:
    """A part that makes arrays."""
    return cast(Function, Part(function))
