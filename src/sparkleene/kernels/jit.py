"""Kernels, which Python calls, and their helpers, which only kernels call.

numba takes a while to load. It is loaded when a kernel is called for the first time, so that whoever only plans,
like a driver of Spark, does without. Helpers are part of the kernels that call them: numba asks for one when it
compiles such a kernel, and not where the kernel is there already.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial, update_wrapper
from threading import Lock
from typing import Any

from sparkleene.collector import without_garbage

COMPILES = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")  # else all kernels are plain Python
_LOCK = Lock()


class _Deferred:
    """A function that is given to numba when it is needed."""

    def __init__(self, function: Any, give: Callable[[], Any]) -> None:
        """Take a function, and what gives it to numba."""
        update_wrapper(self, function)
        self.py_func, self._give, self._given = function, give, None

    @property
    def given(self) -> Any:
        """What numba has made of the function."""
        if self._given is None:
            with _LOCK, without_garbage():
                self._given = self._given or self._give()
        return self._given

    @property
    def _numba_type_(self) -> Any:
        """What numba asks of a value that a kernel uses."""
        return self.given._numba_type_


class _Kernel(_Deferred):
    """A kernel."""

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel; load or compile it before, if arguments of these types are new."""
        return self.given(*arguments)

    def compile(self, types: Any) -> Any:
        """Compile the kernel for arguments of these types."""
        return self.given.compile(types)


def kernel(function: Any = None, *, allocates: bool = True, vectors: bool = False, **options: Any) -> Any:
    """Compile a function that Python calls; it runs without the interpreter's lock. Options are numba's.

    One that makes no arrays, nor by its helpers, may say so: then it counts no references. One whose
    innermost loops are over many columns may ask for vectors.
    """
    if function is None:
        return partial(kernel, allocates=allocates, vectors=vectors, **options)

    def give() -> Any:
        from sparkleene.kernels.compiler import make_kernel

        return make_kernel(function, allocates, vectors, **options)

    return _Kernel(function, give) if COMPILES else function


def helper(function: Any = None, *, allocates: bool = False, **options: Any) -> Any:
    """Compile a function that only kernels call. Options are numba's.

    The kernel holds whatever arrays it is given, so it counts no references to them: with tuples of many arrays
    that takes longer than what the helper is for. One that makes arrays, or returns some, must say so.
    """
    if function is None:
        return partial(helper, allocates=allocates, **options)

    def give() -> Any:
        from sparkleene.kernels.compiler import make_helper

        return make_helper(function, allocates, **options)

    return _Deferred(function, give) if COMPILES else function
