"""How numba makes code of parts of kernels and of their doors: its own passes, but for the last.

What parts and doors are: `kernel_parts.py` and `kernel_door.py`.
"""

# mypy: disable-error-code="no-untyped-call"
# (numba's own functions have no types)

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import binding
from numba._dynfunc import make_function
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

from fedbn.kernel_compilation import quick_compilation

__all__ = ["OPTIONS", "DoorCompiler", "PartCompiler", "ShortLoopsCompiler"]

# The options with which numba compiles np.zeros and the like, once for callers with the same ones.
# So parts and doors have these, and what else they need is set in the last step.
OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True}

# What Python calls when it calls a part: its environment, which cannot be called: a TypeError.
_REFUSE = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value


class _Library(JITCodeLibrary):
    """Code that is optimised as a whole in its door, and simplified before it is joined to it.

    Without the passes over loops kernels would take twice as long; more than LLVM's first level
    of passes wins nothing.
    """

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        options = binding.create_pipeline_tuning_options(speed_level=1)
        builder = binding.create_pass_builder(self._codegen._tm, options)
        passes = builder.getFunctionPassManager()
        passes.add_refprune_pass()
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


class _PartLibrary(_Library):
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
        state.flags.no_cfunc_wrapper = True
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


class _DoorLibrary(_Library):
    """A door's code. Machine code alone is kept on disk: no other code is made of it."""

    def serialize_using_object_code(self) -> Any:
        self._ensure_finalized()
        called = [
            function.name
            for function in self.get_defined_functions()
            if function.linkage == binding.Linkage.external
        ]
        names = "".join(f'define void @"{name}"() {{ ret void }}\n' for name in called)
        bitcode = binding.parse_assembly(names).as_bitcode()
        return self.name, "object", (self._get_compiled_object(), bitcode)


class _ShortLoopsLibrary(_DoorLibrary):
    """The code of a door whose loops have few rounds: they are not unrolled, nor are they made of
    vector instructions, which would be half of the machine code."""

    def _optimize_final_module(self) -> None:
        before, builder = self._codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap"
        )
        before.run(self._final_module, builder)
        options = binding.create_pipeline_tuning_options(speed_level=3)
        options.loop_unrolling = options.loop_vectorization = options.slp_vectorization = False
        builder = binding.create_pass_builder(self._codegen._tm, options)
        passes = builder.getModulePassManager()
        passes.add_refprune_pass()
        passes.run(self._final_module, builder)


@register_pass(mutates_CFG=True, analysis_only=False)
class _DoorLowering(NativeLowering):
    """Lower a door with what Python needs to call it."""

    _name = "door_lowering"
    library: type[JITCodeLibrary] = _DoorLibrary

    def run_pass(self, state: Any) -> bool:
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.flags.no_cpython_wrapper = False
        state.flags.no_cfunc_wrapper = True
        state.flags.release_gil = True
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _ShortLoopsLowering(_DoorLowering):
    _name = "short_loops_lowering"
    library = _ShortLoopsLibrary


def _pipelines(state: Any, last_step: type[NativeLowering]) -> list[Any]:
    """numba's own passes, but for the last step."""
    passes = DefaultPassBuilder.define_nopython_pipeline(state)
    place = next(i for i, (kind, _) in enumerate(passes.passes) if kind is NativeLowering)
    passes.passes[place] = (last_step, "lower")
    passes._finalized = False
    passes.finalize()
    return [passes]


class PartCompiler(CompilerBase):
    """How a part is compiled."""

    last_step: type[NativeLowering] = _PartLowering

    def define_pipelines(self) -> list[Any]:
        return _pipelines(self.state, self.last_step)


@contextmanager
def _numba_functions_as_parts() -> Iterator[None]:
    """Inside, the functions of numba that kernels call, np.empty and the like, become parts.

    By itself numba makes machine code of each, which nobody runs, and what ctypes would call.
    """
    usual: Any = Compiler
    pipelines = usual.define_pipelines
    usual.define_pipelines = lambda compiler: _pipelines(compiler.state, _PartLowering)
    try:
        yield
    finally:
        usual.define_pipelines = pipelines


class DoorCompiler(PartCompiler):
    """The same for a door, which is compiled only if its machine code is not on disk."""

    last_step = _DoorLowering

    def compile_extra(self, func: Any) -> Any:
        with quick_compilation(), _numba_functions_as_parts():
            return super().compile_extra(func)


class ShortLoopsCompiler(DoorCompiler):
    """The same for a door whose loops have few rounds."""

    last_step = _ShortLoopsLowering
