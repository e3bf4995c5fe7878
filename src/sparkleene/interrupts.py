"""Ctrl-C while compiled code runs: held back until that has handed over its results, and told to stop.

Numba builds the results of a kernel out of Python objects and does not look whether that went wrong. If Ctrl-C
arrives just then, its exception makes a result that is not there, and the process ends with a fault of memory. So
the exception is held back until a kernel has returned.

Python runs handlers of signals in the main thread alone, and not while that is in compiled code. But the handler
below it writes a byte to a file at once (`signal.set_wakeup_fd`). A thread waits for that and sets a flag, which
kernels look at: they return within a moment, whatever is left to do, and `check` raises what Ctrl-C means. What
they have written is lost. So the flag is only for programs in which Ctrl-C raises KeyboardInterrupt, as it does by
default; another answer may let the program go on, and then kernels run to their end.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _read_only(flag: Array) -> Array:
    view = flag.view()
    view.flags.writeable = False
    return view


NEVER = _read_only(np.zeros(1, np.uint8))


class _Held:
    """Whether Ctrl-C was pressed since it is held back, and who answers it; nobody where it is not held."""

    pressed = False
    answer: Callable[[int, FrameType | None], object] | None = None
    stop = NEVER


def _press(number: int, frame: FrameType | None) -> None:
    _Held.pressed = True


def stop_flag() -> Array:
    """Return the flag for kernels that this thread starts: set once Ctrl-C is pressed, or never."""
    return _Held.stop if threading.current_thread() is threading.main_thread() else NEVER


@contextmanager
def hold_back() -> Iterator[None]:
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
        with _allow_stop(before is signal.default_int_handler or _is_of_pyspark(before)):
            yield
        check()
    finally:
        _Held.answer = None
        signal.signal(signal.SIGINT, before)


def _is_of_pyspark(answer: object) -> bool:
    """Tell whether an answer to Ctrl-C is PySpark's: it cancels jobs, then does as the default one."""
    return str(getattr(answer, "__module__", "")).startswith("pyspark.")


@contextmanager
def _allow_stop(possible: bool) -> Iterator[None]:
    """Let Ctrl-C set the flag of kernels, unless the program listens to signals in the same way."""
    other = signal.set_wakeup_fd(-1)
    if not possible or other >= 0:
        signal.set_wakeup_fd(other)
        yield
        return
    flag = np.zeros(1, np.uint8)
    heard, told = socket.socketpair()
    told.setblocking(False)

    def listen() -> None:
        while numbers := heard.recv(64):
            if signal.SIGINT in numbers:
                _Held.pressed = True
                flag[0] = 1

    listener = threading.Thread(target=listen, name="sparkleene Ctrl-C", daemon=True)
    with heard, told:
        signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
        listener.start()
        _Held.stop = _read_only(flag)
        try:
            yield
        finally:
            _Held.stop = NEVER
            signal.set_wakeup_fd(-1)
            told.shutdown(socket.SHUT_RDWR)  # and not `close`: a process that was forked meanwhile has it open, too
            listener.join()


def check() -> None:
    """Answer Ctrl-C, if it was pressed while it was held back, as before: mostly by an exception."""
    if _Held.pressed and threading.current_thread() is threading.main_thread():
        _Held.pressed = False
        if _Held.answer is not None:
            _Held.answer(signal.SIGINT, None)
