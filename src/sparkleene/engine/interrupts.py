"""Ctrl-C while compiled code runs: held back until it has handed over its results.

Numba builds the results of a kernel out of Python objects and does not look whether that went wrong. If Ctrl-C
arrives just then, its exception makes a result that is not there, and the process ends with a fault of memory.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class _Held:
    """Whether Ctrl-C was pressed since it is held back."""

    depth = 0
    pressed = False


def _press(number: int, frame: FrameType | None) -> None:
    _Held.pressed = True


@contextmanager
def held() -> Iterator[None]:
    """Hold Ctrl-C back; `check` lets it through where that does no harm, and so does the end.

    Other threads than the main one never see Ctrl-C.
    """
    if threading.current_thread() is not threading.main_thread() or _Held.depth:
        yield
        return
    before = signal.signal(signal.SIGINT, _press)
    _Held.depth, _Held.pressed = 1, False
    try:
        yield
        check()
    finally:
        _Held.depth = 0
        signal.signal(signal.SIGINT, before)


def check() -> None:
    """Raise if Ctrl-C was pressed while it was held back."""
    if _Held.pressed and threading.current_thread() is threading.main_thread():
        _Held.pressed = False
        raise KeyboardInterrupt
