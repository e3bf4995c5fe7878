"""A plugin of pytest that lets all kernels run as plain Python, and none be compiled or loaded.

Nothing is done when it is imported: pytest looks for examples in every module of the tests.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from sparkleene.kernels import ahead, interpret, store


def pytest_configure(config: pytest.Config) -> None:
    """Forbid compiling."""
    os.environ["SPARKLEENE_PREBUILT"] = "ignore"
    os.environ["SPARKLEENE_COMPILE"] = ""
    interpret.LARGEST = interpret.ROOM = interpret.SECONDS = 10**15
    ahead.tell = _tell_nobody
    store.KernelFiles.is_kept = lambda self, signature: False  # type: ignore[method-assign]
    store.KernelFiles.load_overload = _load  # type: ignore[method-assign]


def _tell_nobody(module: str, function: str = "", types: Any = ()) -> None:
    assert function, f"{module} is to be compiled"


def _load(self: store.KernelFiles, sig: Any, target_context: Any) -> Any:
    raise AssertionError(f"{self.module} is to be compiled for {sig}")
