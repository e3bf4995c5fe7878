"""Kernels compiled ahead, by a process beside the one that misses them: where nothing prebuilt fits.

A process that misses a kernel tells another, which it starts, and that compiles what is wanted with such a kernel
while the first compiles what it misses, or does without (see interpret.py). When nothing was missed for some
seconds, it goes on with all other forms. It ends with the process that has started it. One of them is enough,
however many processes miss kernels.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import signal
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from sparkleene.kernels.store import own_folder

_TOGETHER = {
    "sort": ("results.add_to_cells",),  # which nearly every query wants, and asks for at its end
    "trends": ("linear.run, double, byte", "walks.weigh", "trends.step_back"),
    "fenwick": ("fenwick, exact", "fenwick, wide"),
    "divide": ("divide, exact", "divide, wide"),
    "heap": ("heap, exact", "heap, wide"),
    "scan": ("scan, exact", "scan, wide"),
}
"""Forms that are often wanted with a kernel, by its module, in the order in which they are compiled."""

_SILENCE = 10.0  # seconds; two processes on two cores that share a cache take longer each
_COMMAND = "from sparkleene.kernels.ahead import compile_ahead; compile_ahead()"
_started: list[subprocess.Popen[bytes]] = []


def tell(module: str, function: str = "", types: Any = ()) -> None:
    """Tell the process that compiles ahead which kernel's module is missed; start it at the first time.

    It compiles what is wanted with such a kernel, and before that the function of that name, if there is one.
    """
    folder = own_folder()
    if folder is None:
        return
    if not _started:
        source = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
        quiet = subprocess.DEVNULL
        with suppress(OSError):  # then this process compiles what it needs, as it would do anyway
            process = subprocess.Popen(
                [sys.executable, "-c", _COMMAND],
                env={**os.environ, "PYTHONPATH": path, "SPARKLEENE_COMPILE": "alone"},
                stdin=subprocess.PIPE,
                stdout=quiet,
                stderr=quiet,
                bufsize=0,  # what it cannot be told is not told at the end either
            )
            assert process.stdin is not None
            os.set_blocking(process.stdin.fileno(), False)  # nobody waits for one that does not listen
            _started.append(process)
    for process in _started:
        with suppress(OSError):  # another is at work, and this one has ended
            assert process.stdin is not None
            process.stdin.write(b64encode(pickle.dumps((module, function, types))) + b"\n")


def compile_ahead() -> None:
    """Compile what is wanted with the kernels that are named on the standard input, then all other forms."""
    folder = own_folder()
    assert folder is not None
    with (folder / "ahead.lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return
        _compile_told()


def _compile_told() -> None:
    told: SimpleQueue[bytes] = SimpleQueue()

    def listen() -> None:
        for line in sys.stdin.buffer:
            told.put(line)
        os.kill(os.getpid(), signal.SIGTERM)  # nobody wants kernels now; one that is half written is not there

    Thread(target=listen, daemon=True).start()
    from sparkleene.kernels.forms import forms

    waiting = {form.name: form for form in forms()}
    wanted: list[Callable[[], object]] = []
    while waiting or wanted:
        with suppress(Empty):
            while True:
                module, function, types = pickle.loads(b64decode(told.get(timeout=0 if wanted else _SILENCE)))
                if function:
                    wanted.append(partial(_compile, module, function, types))
                wanted += [waiting.pop(name).compile for name in _TOGETHER.get(module, ()) if name in waiting]
        compile = wanted.pop(0) if wanted else waiting.pop(next(iter(waiting))).compile
        compile()


def _compile(module: str, function: str, types: Any) -> None:
    getattr(import_module(f"{__package__}.{module}"), function).compile(types)
