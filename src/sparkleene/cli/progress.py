"""A line that says what is going on, on a terminal and nowhere else."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sparkleene.cli.failures import in_command_words
from sparkleene.errors import SparkleeneWarning

LATE = 0.5
"""Seconds after which work counts as long."""


class StatusLine:
    """A status line: its text, and what more there is to say by now."""

    def __init__(self, text: str, status: Any = None) -> None:
        """Begin to count the seconds."""
        self.text = text
        self.more: Callable[[], str] = str
        self._status = status
        self._begin = time.monotonic()

    @property
    def now(self) -> str:
        """What the line says now."""
        seconds = f"{time.monotonic() - self._begin:.0f} s"
        return " · ".join(part for part in (self.text, self.more(), seconds) if part)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the line away while something else is printed."""
        if self._status is not None:
            self._status.stop()
        yield
        if self._status is not None:
            self._status.start()


@contextmanager
def show_progress(text: str) -> Iterator[StatusLine]:
    """Show a line on standard error while work goes on.

    Nothing is shown if standard error is not a terminal, or if the work is short.
    """
    if not sys.stderr.isatty():
        yield StatusLine(text)
        return
    from rich.console import Console
    from rich.text import Text

    # a way to the terminal of its own, for standard error is elsewhere while Spark starts
    with open(os.dup(sys.stderr.fileno()), "w", encoding="utf_8") as terminal:
        status = Console(file=terminal).status(Text(text), spinner="dots")
        yield from _tick(text, status)


def _tick(text: str, status: Any) -> Iterator[StatusLine]:
    """Show a status from a thread of its own, once the work turns out to be long."""
    from rich.text import Text

    line = StatusLine(text, status)
    ended = threading.Event()

    def tick() -> None:
        if ended.wait(LATE):
            return
        status.start()
        while not ended.wait(LATE):
            status.update(Text(line.now, no_wrap=True, overflow="ellipsis"))

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    try:
        yield line
    finally:
        ended.set()
        ticker.join()
        status.stop()


@contextmanager
def print_warnings(line: StatusLine | None = None) -> Iterator[None]:
    """Print warnings of the library as notes, each once, as soon as they come."""
    told: set[str] = set()
    shown = StatusLine("") if line is None else line

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        text = in_command_words(str(message))
        if not issubclass(category, SparkleeneWarning):
            usual(message, category, *where, **more)
        elif text not in told:
            told.add(text)
            with shown.aside():
                print(f"note: {text}", file=sys.stderr)

    with warnings.catch_warnings():
        usual = warnings.showwarning
        warnings.simplefilter("always", SparkleeneWarning)
        warnings.showwarning = show
        yield


def note(text: str) -> None:
    """Say something beside the results, to a person at a terminal."""
    if sys.stderr.isatty():
        print(text, file=sys.stderr)
