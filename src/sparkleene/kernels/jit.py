"""The two ways to compile: kernels, which Python calls, and their helpers, which only kernels call.

Kernels are stored (see store.py). Helpers become part of the kernels that call them: they are not stored, and they
cannot be called from Python, which makes compiling shorter.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import Any

import numba as nb
from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from sparkleene.kernels.store import KernelFiles

_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


class _HelperLibrary(JITCodeLibrary):
    """The code of a helper, which becomes part of kernels: no machine code is made of it, and it has no address."""

    def _optimize_final_module(self) -> None:
        """Do nothing: this is done in the kernels."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class _HelperCompiler(Compiler):
    """Compiles helpers up to simplified code of LLVM, and no further."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a helper into a library of its own kind."""
        context = self.state.targetctx  # a copy for this function
        context.get_executable = _without_address
        self.state.library = _HelperLibrary(context.codegen(), func.__qualname__)
        made = super().compile_extra(func)
        returned = made.signature.return_type
        if not self.state.flags.nrt and context.data_model_manager[returned].contains_nrt_meminfo():
            raise TypeError(f"{func.__qualname__} returns {returned}: it is to be a helper that allocates")
        return made


# What is called if Python calls a helper: it takes the helper's closure for a function, which is a TypeError.
_REFUSE = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value


def _without_address(library: Any, fndesc: Any, env: Any) -> Any:
    """Return what stands for a function that only kernels call."""
    return _dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname, "a helper", _REFUSE, env, (library,))


def kernel(function: Any = None, **options: Any) -> Any:
    """Compile a function that Python calls; it runs without the interpreter's lock. Options are numba's."""
    if function is None:
        return partial(kernel, **options)
    compiled = nb.njit(no_cfunc_wrapper=True, **_OPTIONS, **options)(function)
    if not nb.config.DISABLE_JIT:
        compiled._cache = KernelFiles(function)
    return compiled


def helper(function: Any = None, *, allocates: bool = False, **options: Any) -> Any:
    """Compile a function that only kernels call. Options are numba's.

    The kernel holds whatever arrays it is given, so it counts no references to them: with tuples of many arrays
    that takes longer than what the helper is for. One that makes arrays, or returns some, must say so.
    """
    if function is None:
        return partial(helper, allocates=allocates, **options)
    return nb.njit(
        pipeline_class=_HelperCompiler, no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=allocates,
        **_OPTIONS, **options
    )(function)  # fmt: skip
