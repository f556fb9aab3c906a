"""Parts of kernels: functions that only kernels call, compiled once, with the kernel itself.

numba optimises every function that it compiles, with all that the function calls, and makes machine
code of it, although only the outermost one, the door, is run: a function below five others is
optimised six times. A part is translated and simplified, and joined to its callers as it is; the
door is optimised as a whole.
"""

# mypy: disable-error-code="no-untyped-call"
# (numba's own functions have no types)

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numba._dynfunc import make_function
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["inner", "inner_in_place", "inner_with_arrays"]

Function = TypeVar("Function", bound=Callable[..., Any])


# What Python calls when it calls a part: its environment, which cannot be called: a TypeError.
_REFUSE = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value


class _PartLibrary(JITCodeLibrary):
    """A part's code, with what it calls; neither optimised as a whole nor made machine code."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Lower a part into a library of its own kind."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        description = lowered.fndesc
        entry = make_function(
            description.lookup_module(), description.qualname, "", _REFUSE, lowered.env, ()
        )
        state.targetctx.insert_user_function(entry, description, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = lowered._replace(cfunc=entry)
        return True


class _PartCompiler(CompilerBase):
    """numba's own passes, but for the last step."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        place = next(i for i, (kind, _) in enumerate(passes.passes) if kind is NativeLowering)
        passes.passes[place] = (_PartLowering, "lower a part")
        passes._finalized = False
        passes.finalize()
        return [passes]


_PART: dict[str, Any] = {
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _PartCompiler,
}
_UNCOUNTED: dict[str, Any] = {**_PART, "_nrt": False}


def inner(function: Function) -> Function:
    """njit for a part that makes no arrays.

    Without reference counts on the rows that it looks at, which would be half of its time, it
    runs faster.
    """
    return cast(Function, njit(**_UNCOUNTED)(function))


def inner_in_place(function: Function) -> Function:
    """`inner` for a part of few kernels that is called so often that passing its arguments counts:
    LLVM puts it where it is called."""
    return cast(Function, njit(**_UNCOUNTED, forceinline=True)(function))


def inner_with_arrays(function: Function) -> Function:
    """njit for a part that makes arrays."""
    return cast(Function, njit(**_PART)(function))
