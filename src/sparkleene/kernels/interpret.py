"""Kernels as plain Python, for small arguments where nothing compiled is there.

Compiling a kernel takes seconds. Over some thousand rows Python itself is done in a second, so a first question
about a small table need not wait. Each module of kernels has a *twin*: the same source, run without the compiler.
Loops of a twin look at the clock now and then. When a process has used up its time, what a kernel has written is
taken back, and the kernel is compiled.

Compiled code computes with integers of 64 bits whatever an array holds; NumPy's narrow ones would overflow. So a
twin is given wide copies of arrays of narrow integers.
"""

from __future__ import annotations

import builtins
import os
import re
import time
from collections.abc import Iterator
from functools import partial
from importlib.resources import files as package_files
from threading import RLock, local
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from sparkleene.kernels.store import KernelFiles

_PACKAGE = __name__.rpartition(".")[0]
_LOOP = re.compile(r"^( +)(?:for|while) .*:(?:  #.*)?$", re.MULTILINE)
_TWINS: dict[str, ModuleType] = {}
_LOCK = RLock()
LARGEST = 100_000  # elements of an array that is read: for more, kernels are compiled at once
ROOM = 1_000_000  # elements of an array to work in
SECONDS = 4.5  # that a process may run kernels as plain Python: most compile in little more
_LOOK = 1000  # rounds after which a loop looks at the clock
_rounds = _LOOK
_used = 0.0  # seconds
_begin = 0.0
Wide = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
_running = local()  # the kernel that a thread runs: `is_kept()` tells that it is compiled by now


class _TooLong(Exception):
    """Raised when there is no time left, or no need to go on."""


def _count_round() -> None:
    global _rounds, _used, _begin
    _rounds -= 1
    if _rounds <= 0:
        _rounds, now = _LOOK, time.perf_counter()
        _used, _begin = _used + now - _begin, now
        if _used > SECONDS or _running.is_kept():
            raise _TooLong


def find_for(kernel: Any, files: KernelFiles, *arguments: Any) -> Any:
    """Return what to call for arguments of types that a kernel has no compiled form for: numba asks for it."""
    compile_for = partial(type(kernel)._compile_for_args, kernel)
    if os.environ.get("SPARKLEENE_COMPILE") or _used > SECONDS:
        return compile_for(*arguments)
    if any(one.size > (ROOM if one.flags.writeable else LARGEST) for one in _arrays(arguments)):
        return compile_for(*arguments)
    types = [kernel.typeof_pyval(one) for one in arguments]
    kernel._types_active_call.clear()
    if files.is_kept(types):
        return compile_for(*arguments)
    from sparkleene.kernels import ahead  # which needs what is here

    name = kernel.py_func.__name__
    ahead.tell(files.module, name, tuple(types))
    plain = getattr(twin(files.module), name)

    def run(*given: Any) -> Any:
        global _begin
        _begin, _running.is_kept = time.perf_counter(), partial(files.is_kept, types)
        before = [(one, one.copy()) for one in _arrays(given) if one.flags.writeable]
        wide: dict[int, Wide] = {}
        try:
            with np.errstate(all="ignore"):
                found = plain(*_widen(given, wide))
        except Exception:  # too long, or an error that the compiler tells better
            for one, values in before:
                one[...] = values
            return compile_for(*given)(*given)
        for one, values in wide.values():
            if one.flags.writeable:
                one[...] = values
        return found

    return run


def _arrays(arguments: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Yield all arrays of arguments, those in tuples too."""
    for one in arguments:
        if isinstance(one, np.ndarray):
            yield one
        elif isinstance(one, tuple):
            yield from _arrays(one)


def _widen(given: Any, wide: dict[int, Wide]) -> Any:
    """Return arguments with wide copies of arrays of narrow integers; note the copies with the arrays.

    Arrays of one element stay: they are flags that other threads set.
    """
    if isinstance(given, np.ndarray) and given.dtype.kind in "iu" and given.itemsize < 8 and given.size > 1:
        return wide.setdefault(id(given), (given, given.astype(np.int64)))[1]
    if isinstance(given, tuple):
        items = [_widen(one, wide) for one in given]
        return type(given)(*items) if hasattr(given, "_fields") else tuple(items)
    return given


def twin(module: str) -> ModuleType:
    """Return a module of kernels with functions that are not compiled."""
    with _LOCK:
        if module not in _TWINS:
            source = package_files(_PACKAGE) / f"{module}.py"
            made = _TWINS[module] = ModuleType(f"{_PACKAGE}.{module}")
            imports = {**vars(builtins), "__import__": _import_twin}
            made.__dict__.update({"__builtins__": imports, _count_round.__name__: _count_round})
            exec(compile(count_rounds(source.read_text()), str(source), "exec"), made.__dict__)
        return _TWINS[module]


def count_rounds(source: str) -> str:
    r"""Let every loop of a module count its rounds; the head of each is one line.

    >>> print(count_rounds("def run():\n    while True:\n        go()"))
    def run():
        while True:
            _count_round()
            go()
    """
    return _LOOP.sub(rf"\g<0>\n\1    {_count_round.__name__}()", source)


def _as_it_is(function: Any = None, **options: Any) -> Any:
    """Do what `kernel` and `helper` do, without a compiler."""
    return function or _as_it_is


_JIT = SimpleNamespace(kernel=_as_it_is, helper=_as_it_is, COMPILES=False)


def _import_twin(name: str, globals: Any = None, locals: Any = None, names: Any = (), level: int = 0) -> Any:
    """Import twins where modules of kernels are asked for, and all else as it is."""
    if name == _PACKAGE and names:
        return SimpleNamespace(**{one: twin(one) for one in names})
    if name == f"{_PACKAGE}.jit":
        return _JIT
    if name.startswith(f"{_PACKAGE}."):
        return twin(name.removeprefix(f"{_PACKAGE}."))
    return builtins.__import__(name, globals, locals, names, level)
