"""A plugin of pytest that lets all kernels run as plain Python, and none be compiled or loaded.

Only kernels whose arguments share memory are loaded, for these are never interpreted. Nothing is done when this is
imported: pytest looks for examples in every module of the tests.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest

from sparkleene.kernels import ahead, interpret, store

SHARE, LOAD = interpret._share_memory, store.KernelFiles.load_overload
may_load = False


def pytest_configure(config: pytest.Config) -> None:
    """Forbid compiling."""
    os.environ["SPARKLEENE_COMPILE"] = ""
    interpret.LARGEST = interpret.ROOM = interpret.SECONDS = 10**15
    interpret._share_memory = _share_memory
    ahead.tell = _tell_nobody
    store.KernelFiles.is_kept = lambda self, signature: False  # type: ignore[method-assign]
    store.KernelFiles.load_overload = _load  # type: ignore[method-assign]


def _share_memory(arrays: Sequence[Any]) -> bool:
    global may_load
    may_load = SHARE(arrays)
    return may_load


def _tell_nobody(module: str, function: str = "", types: Any = ()) -> None:
    assert function, f"{module} is to be compiled"


def _load(self: store.KernelFiles, sig: Any, target_context: Any) -> Any:
    assert may_load, f"{self.module} is to be compiled for {sig}"
    return LOAD(self, sig, target_context)
