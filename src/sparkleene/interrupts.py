"""Ctrl-C while compiled code runs: held back until it has handed over its results.

Numba builds the results of a kernel out of Python objects and does not look whether that went wrong. If Ctrl-C
arrives just then, its exception makes a result that is not there, and the process ends with a fault of memory.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class _Held:
    """Whether Ctrl-C was pressed since it is held back, and who answers it; nobody where it is not held."""

    pressed = False
    answer: Callable[[int, FrameType | None], object] | None = None


def _press(number: int, frame: FrameType | None) -> None:
    _Held.pressed = True


@contextmanager
def held() -> Iterator[None]:
    """Hold Ctrl-C back; `check` lets it through where that does no harm, and so does the end.

    Other threads than the main one never see Ctrl-C, and where it is ignored it stays so.
    """
    before = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if not main or not callable(before) or _Held.answer is not None:
        yield
        return
    _Held.pressed, _Held.answer = False, before
    signal.signal(signal.SIGINT, _press)
    try:
        yield
        check()
    finally:
        _Held.answer = None
        signal.signal(signal.SIGINT, before)


def check() -> None:
    """Answer Ctrl-C, if it was pressed while it was held back, as before: mostly by an exception."""
    if _Held.pressed and threading.current_thread() is threading.main_thread():
        _Held.pressed = False
        if _Held.answer is not None:
            _Held.answer(signal.SIGINT, None)
