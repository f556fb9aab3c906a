"""Doors of kernels: what Python calls, compiled once for a machine and kept on disk.

numba keeps a compiled function as long as the file that it stands in is unchanged. A door is
compiled with all that it calls, and much of that stands in other files: whoever changed or upgraded
one of those would go on with the old machine code. So what is kept of a door counts only as long as
its own file and all files of kernels and states that it imports are what they were.
"""

# mypy: disable-error-code="no-untyped-call"
# (numba's own functions have no types)

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from numba.core.caching import FunctionCache
from numba.core.compiler import CompilerBase
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys

from fedbn.kernel_lowering import OPTIONS, DoorCompiler, ShortLoopsCompiler
from fedbn.kernel_parts import Part
from fedbn.kernel_sources import digest_of

__all__ = ["door", "door_to_sets", "is_compiled"]

Function = TypeVar("Function", bound=Callable[..., Any])


class _Cache(FunctionCache):
    """Machine code of a door on disk.

    numba gets ready to compile before it loads what is compiled already, which takes longer than
    all else that a warm start does. What machine code calls is numba's runtime alone.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        file = self._cache_file
        digest = digest_of(Path(inspect.getfile(function)).resolve())
        file._source_stamp = (file._source_stamp, digest)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


class _Door(CPUDispatcher):
    """What Python calls. Called by another kernel the same function is a part of that one."""

    def _compilation_chain_init_hook(self) -> None:
        """numba looks among all installed packages for what adds to it here; kernels need none."""

    @cached_property
    def part(self) -> Part:
        return Part(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        return self.part._numba_type_


def door(function: Function) -> Function:
    """njit for a kernel that Python calls: cached on disk, without the interpreter's lock."""
    return _compiled_by(DoorCompiler, function)


def door_to_sets(function: Function) -> Function:
    """`door` for kernels whose inner loops go over the few words of a set of nodes.

    Those loops are not unrolled, nor made of vector instructions: that runs no slower and is
    compiled in less time.
    """
    return _compiled_by(ShortLoopsCompiler, function)


def _compiled_by(compiler: type[CompilerBase], function: Function) -> Function:
    options = {"nopython": True, **OPTIONS}
    kernel: Any = _Door(function, targetoptions=options, pipeline_class=compiler)
    kernel._cache = _Cache(function)
    return cast(Function, kernel)


def is_compiled(kernel: Any) -> bool:
    """Whether machine code of this door is on disk, made of its sources as they are now.

    A door that takes several kinds of arguments counts when it is compiled for one of them.
    """
    return bool(kernel._cache._cache_file._load_index())
