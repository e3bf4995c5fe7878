"""The two ways to compile: kernels, which are stored (see store.py), and their helpers.

Helpers become part of the kernels that call them: they are not stored, and they cannot be called from Python, which
makes compiling shorter.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any

import numba as nb
from llvmlite import binding
from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from sparkleene.collector import without_garbage
from sparkleene.kernels import lowered
from sparkleene.kernels.interpret import find_for
from sparkleene.kernels.lean import Passes, with_memory
from sparkleene.kernels.store import KernelFiles

assert lowered.KNOWN  # to numba, from here on

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


_ENTRY = "_ZN7cpython"  # how the names of what Python calls begin


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel, with loops as they are written unless it asks for more.

    Most loops are over a few states or columns: unrolled and with vectors they are two to three times the code, and
    not faster. What turns Python's arguments into arrays is not optimized.
    """

    vectors = False

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout
        for function in ll_module.functions:
            if function.is_declaration:
                continue
            if function.name.startswith(_ENTRY):
                function.add_function_attribute("noinline")
                function.add_function_attribute("optnone")
                continue
            passes, builder = self._codegen._function_pass_manager()
            passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        options = binding.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization = self.vectors
        options.slp_vectorization = options.loop_unrolling = options.loop_interleaving = False
        builder = binding.create_pass_builder(self._codegen._tm, options)
        passes = builder.getModulePassManager()
        passes.add_refprune_pass()
        passes.run(self._final_module, builder)


class _VectorLibrary(_KernelLibrary):
    """The code of a kernel with loops over many columns."""

    vectors = True


class _HelperLibrary(_KernelLibrary):
    """The code of a helper, which becomes part of kernels: no machine code is made of it, and it has no address."""

    def _optimize_final_module(self) -> None:
        """Do nothing: this is done in the kernels."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _KernelCompiler(Compiler):
    """Compiles with few passes (see lean.py)."""

    library: type[_KernelLibrary] = _KernelLibrary

    def define_pipelines(self) -> list[Passes]:
        """Return the passes."""
        return [Passes(bool(self.state.flags.nrt))]

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        if self.state.library is None:
            self.state.library = self.library(self.state.targetctx.codegen(), func.__qualname__)
            self.state.library.enable_object_caching()
        with without_garbage(), with_memory():
            made = super().compile_extra(func)
        returned = made.signature.return_type
        if not self.state.flags.nrt and self.state.targetctx.data_model_manager[returned].contains_nrt_meminfo():
            raise TypeError(f"{func.__qualname__} returns {returned}: it is to say that it allocates")
        return made


class _VectorCompiler(_KernelCompiler):
    """Compiles kernels with loops over many columns."""

    library = _VectorLibrary


class _HelperCompiler(_KernelCompiler):
    """Compiles helpers up to simplified code of LLVM, and no further."""

    library = _HelperLibrary

    def compile_extra(self, func: Any) -> Any:
        """Compile a helper into a library of its own kind."""
        context = self.state.targetctx  # a copy for this function
        context.get_executable = _without_address
        return super().compile_extra(func)


# What is called if Python calls a helper: it takes the helper's closure for a function, which is a TypeError.
_REFUSE = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value


def _without_address(library: Any, fndesc: Any, env: Any) -> Any:
    """Return what stands for a function that only kernels call."""
    return _dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname, "a helper", _REFUSE, env, (library,))


def make_kernel(function: Any, allocates: bool, vectors: bool, **options: Any) -> Any:
    """Return what finds the compiled forms of a kernel, or makes them. Options are numba's."""
    compiled = nb.njit(
        pipeline_class=_VectorCompiler if vectors else _KernelCompiler,
        no_cfunc_wrapper=True,
        _nrt=allocates,
        **_OPTIONS,
        **options,
    )(function)
    compiled._cache = KernelFiles(function)
    compiled._compile_for_args = partial(find_for, compiled, compiled._cache)
    return compiled


def make_helper(function: Any, allocates: bool, **options: Any) -> Any:
    """Return what compiles a helper. Options are numba's."""
    return nb.njit(
        pipeline_class=_HelperCompiler, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=allocates,
        **_OPTIONS, **options
    )(function)  # fmt: skip
