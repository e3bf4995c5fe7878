"""Queries in a file that a person edits while a stream runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from sparkleene.cli.failures import usage_error
from sparkleene.cli.progress import StatusLine
from sparkleene.errors import SparkleeneError

if TYPE_CHECKING:
    from sparkleene.workload import Workload


class Watch:
    """A file of queries, and what was made of it last."""

    def __init__(self, path: str, compile: Callable[[], Workload]) -> None:
        """Take the file, and what compiles the queries in it."""
        if not Path(path).is_file():
            raise usage_error("--watch is for a file of queries", "give the name of one in place of the query")
        self._path, self._compile = Path(path), compile
        self._text = self._path.read_bytes()
        self.queries = compile()

    def look(self, line: StatusLine) -> Workload | None:
        """Return the queries if the file was edited, None if not; say what is wrong with it, once."""
        try:
            text = self._path.read_bytes()
        except OSError:
            return None  # an editor may be writing it anew
        if text == self._text:
            return None
        self._text = text
        try:
            return self._compile()
        except SparkleeneError as error:
            tell_failure(error, line)
            return None


def tell_failure(error: SparkleeneError, line: StatusLine) -> None:
    """Say why an edited file is not taken up."""
    with line.aside():
        print(error.render(), file=sys.stderr)
        print("note: the queries before go on", file=sys.stderr)
