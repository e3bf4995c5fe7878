"""Kernels as plain Python, for small arguments where nothing compiled is there.

Compiling a kernel takes seconds. Over some thousand rows Python itself is done in a second, so a first question
about a small table need not wait. Each module of kernels has a *twin*: the same source, run without the compiler.
Loops of a twin look at the clock now and then. When a process has used up its time, what a kernel has written is
dropped, and the kernel is compiled: a twin works on copies. Copies of arrays of narrow integers are wide, because
compiled code computes with 64 bits whatever an array holds, where NumPy's narrow integers would overflow.
"""

from __future__ import annotations

import builtins
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from importlib.resources import files as package_files
from itertools import combinations
from threading import Lock, RLock, local
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
Array = np.ndarray[Any, Any]
_FAILED = object()
_ALONE = Lock()  # for one kernel at a time: threads of plain Python run one after the other anyway
_running = local()  # the kernel that a thread runs: `is_kept()` tells that it is compiled by now


class _TooLong(Exception):
    """Raised when there is no time left, or no need to go on."""


def _count_round() -> None:
    global _rounds
    _rounds -= 1
    if _rounds <= 0:
        _rounds = _LOOK
        _count_time()
        if _used > SECONDS or _running.is_kept():
            raise _TooLong


def _count_time() -> None:
    global _used, _begin
    now = time.perf_counter()
    _used, _begin = _used + now - _begin, now


def find_for(kernel: Any, files: KernelFiles, *arguments: Any) -> Any:
    """Return what to call for arguments of types that a kernel has no compiled form for: numba asks for it."""

    def compile_for(*given: Any) -> Any:
        try:
            return type(kernel)._compile_for_args(kernel, *given)
        finally:
            files.unlock_all()

    if os.environ.get("SPARKLEENE_COMPILE") or _used > SECONDS:
        return compile_for(*arguments)
    arrays = list(_arrays(arguments))
    if any(one.size > (ROOM if one.flags.writeable else LARGEST) for one in arrays) or _share_memory(arrays):
        return compile_for(*arguments)
    types = [kernel.typeof_pyval(one) for one in arguments]
    kernel._types_active_call.clear()
    if files.is_kept(types):
        return compile_for(*arguments)
    from sparkleene.kernels import ahead  # which needs what is here

    name = kernel.py_func.__name__
    ahead.tell(files.module, name, tuple(types))

    def run(*given: Any) -> Any:
        global _begin
        copies = _Copies(_arrays(given))
        with _ALONE:
            _begin, _running.is_kept = time.perf_counter(), partial(files.is_kept, types)
            try:
                with np.errstate(all="ignore"):
                    found = getattr(twin(files.module), name)(*copies.take(given))
            except Exception:  # too long, or an error that the compiler tells better
                found = _FAILED
            _count_time()
        if found is _FAILED:
            return compile_for(*given)(*given)
        copies.write_back()
        return found

    return run


def _arrays(arguments: Any) -> Iterator[Array]:
    """Yield all arrays of arguments, those in tuples too."""
    for one in arguments:
        if isinstance(one, np.ndarray):
            yield one
        elif isinstance(one, tuple):
            yield from _arrays(one)


def _share_memory(arrays: Sequence[Array]) -> bool:
    """Tell whether one of some arrays may be written where another is read, unless both are the same memory."""
    for a, b in combinations({_place(one): one for one in arrays}.values(), 2):
        if (a.flags.writeable or b.flags.writeable) and np.may_share_memory(a, b):
            return True
    return False


def _is_narrow(array: Array) -> bool:
    return array.dtype.kind in "iu" and array.itemsize < 8


def _place(array: Array) -> Any:
    """Return what tells whether two arrays are the same memory, perhaps in two shapes or kinds of numbers."""
    layout = array.nbytes if array.flags.c_contiguous else (array.shape, array.strides)
    return array.ctypes.data, layout, array.dtype if _is_narrow(array) else None


class _Copies:
    """What a twin is given in place of arrays that it may write, and of those of narrow integers.

    Other threads may write other elements of the same arrays meanwhile, so only elements that have changed are
    written back.
    """

    def __init__(self, arrays: Iterable[Array]) -> None:
        """Take the arrays of all arguments."""
        self._written = {_place(one): one for one in arrays if one.flags.writeable}
        self._made: dict[Any, tuple[Array, Array]] = {}  # by place: the copy, and the copy as it was

    def take(self, given: Any) -> Any:
        """Return arguments with copies in them. A flag that another thread may set stays what it is."""
        if isinstance(given, tuple):
            items = [self.take(one) for one in given]
            return type(given)(*items) if hasattr(given, "_fields") else tuple(items)
        if not isinstance(given, np.ndarray) or (given.dtype == np.uint8 and given.size == 1):
            return given
        place, narrow = _place(given), _is_narrow(given)
        if not narrow and place not in self._written:
            return given
        if place not in self._made:
            copy = np.array(given, np.int64 if narrow else given.dtype, order="C").reshape(-1)
            self._made[place] = copy, copy.copy()
        copy = self._made[place][0]
        return (copy if narrow else copy.view(given.dtype)).reshape(given.shape)

    def write_back(self) -> None:
        """Write what has changed to the arrays."""
        for place, array in self._written.items():
            if place in self._made:
                kind = np.int64 if _is_narrow(array) else array.dtype
                copy, before = (one.view(kind).reshape(array.shape) for one in self._made[place])
                changed = (_bytes(copy) != _bytes(before)).any(axis=-1)
                array[changed] = copy[changed]


def _bytes(array: Array) -> Array:
    """Return the bytes of each element: a number that is none differs from itself, and its bytes do not."""
    return array.reshape(-1).view(np.uint8).reshape(*array.shape, array.itemsize)


def twin(module: str) -> ModuleType:
    """Return a module of kernels with functions that are not compiled."""
    with _LOCK:
        if module not in _TWINS:
            source = package_files(_PACKAGE) / f"{module}.py"
            made = ModuleType(f"{_PACKAGE}.{module}")
            imports = {**vars(builtins), "__import__": _import_twin}
            made.__dict__.update({"__builtins__": imports, _count_round.__name__: _count_round})
            exec(compile(count_rounds(source.read_text()), str(source), "exec"), made.__dict__)
            _TWINS[module] = made
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
