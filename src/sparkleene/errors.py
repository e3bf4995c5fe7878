"""Errors a person can act on: a structured Diagnostic, the Place it points into, and the one renderer."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches

WIDEST = 160
"""Characters of a line of a query that are shown."""


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets into the query text, end exclusive."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """Return the span from the start of this one to the end of the other."""
        return Span(self.start, other.end)


NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What is wrong, where, and what to do about it.

    `code` is stable and listed in docs/reference/errors.md; `start` and `end` are offsets into the query text,
    or None where the fault is not in the text.
    """

    code: str
    message: str
    start: int | None = None
    end: int | None = None
    notes: tuple[str, ...] = ()
    help: str | None = None


class SparkleeneError(Exception):
    """Base of all errors raised on purpose; carries its diagnostics and the text they point into."""

    def __init__(
        self, diagnostics: Diagnostic | Iterable[Diagnostic], source: str = "", filename: str = "query"
    ) -> None:
        """Keep the diagnostics in the order of their place in the text."""
        found = (diagnostics,) if isinstance(diagnostics, Diagnostic) else tuple(diagnostics)
        self.diagnostics = tuple(sorted(found, key=lambda d: (d.start is not None, d.start or 0)))
        self.source = source
        self.filename = filename
        super().__init__(self.render())

    def render(self, color: bool = False) -> str:
        """Return the message as shown to a person."""
        return "\n".join(render(d, self.source, self.filename, color) for d in self.diagnostics)

    def short(self) -> str:
        """Return a line for each error as editors read it: the file, line and column, and what is wrong.

        >>> print(QueryError(Diagnostic("syntax", "expected a name", 7, 8), "RETURN *", "a.q").short())
        a.q:1:8: error[syntax]: expected a name
        """
        lines = []
        for one in self.diagnostics:
            row, column = _row_and_column(self.source, one.start or 0)
            lines.append(f"{self.filename}:{row}:{column}: error[{one.code}]: {one.message}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[type[SparkleeneError], tuple[tuple[Diagnostic, ...], str, str]]:
        """Survive pickling, as exceptions cross process borders on Spark."""
        return type(self), (self.diagnostics, self.source, self.filename)


class QueryError(SparkleeneError):
    """The query text, or an argument beside it, is wrong."""


class DataError(SparkleeneError):
    """The data does not fit the query: a missing column, a wrong type, a NULL time."""


class SparkleeneWarning(UserWarning):
    """Something to know about a query and its data that is no error; filter it as any warning of Python."""


def warn(text: str) -> None:
    """Warn of something, at the line outside of this package that led to it."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, SparkleeneWarning, stacklevel=level)


@dataclass(frozen=True, slots=True)
class Place:
    """The query text that errors point into."""

    source: str = ""
    filename: str = "query"

    def error(
        self, code: str, message: str, span: Span = NOWHERE, help: str | None = None, notes: Iterable[str] = ()
    ) -> DataError:
        """Return an error in the data, with a caret where a place in the text is known."""
        return DataError(diagnostic_at(code, message, span, help, notes), self.source, self.filename)

    def mistake(
        self, code: str, message: str, span: Span = NOWHERE, help: str | None = None, notes: Iterable[str] = ()
    ) -> QueryError:
        """Return an error in the query or in an argument beside it."""
        return QueryError(diagnostic_at(code, message, span, help, notes), self.source, self.filename)


def mistake(message: str, help: str | None, *notes: str) -> QueryError:
    """Return the error for an argument."""
    return QueryError(Diagnostic("bad-option", message, notes=notes, help=help))


def diagnostic_at(code: str, message: str, span: Span, help: str | None, notes: Iterable[str]) -> Diagnostic:
    """Return a diagnostic at a place in the text, or of no place for NOWHERE."""
    start, end = (None, None) if span == NOWHERE else (span.start, span.end)
    return Diagnostic(code, message, start, end, tuple(notes), help)


@contextmanager
def report_faults(*places: Place) -> Iterator[None]:
    """Turn an error of numba into one of ours: whoever asked these queries can do nothing but report it."""
    try:
        yield
    except Exception as error:
        if not any(kind.__module__.startswith("numba.") for kind in type(error).__mro__):
            raise
        said = " ".join(line.strip() for line in str(error).splitlines() if line.strip())
        texts = (" ".join(place.source.split()) for place in places)
        notes = (f"numba says: {said[:300]}", *(f"the query is {text}" for text in texts if text))
        message = "no compiled code fits the query and its data: that is a mistake of Sparkleene, not yours"
        help = "please report it, with this message and the types of the columns"
        raise SparkleeneError(Diagnostic("internal-error", message, notes=notes, help=help)) from error


def suggest(word: str, known: Iterable[str]) -> str | None:
    """Return a did-you-mean line for a misspelt name, or None.

    >>> suggest("prise", ["price", "volume"])
    "did you mean 'price'?"
    """
    close = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else None


def suggest_column(name: str, known: Iterable[str]) -> str | None:
    """Return advice for a column that is not there, or None: a name like it, or that the names are no names.

    >>> suggest_column("prise", ["price", "2024"]), suggest_column("price", ["1", "A", "0.5"])
    ("did you mean 'price'?", 'the names look like data: name the columns')
    """
    names = list(known)
    values = any(_VALUE.match(one) for one in names)
    return suggest(name, names) or ("the names look like data: name the columns" if values else None)


_VALUE = re.compile(r"[+-]?\d+([.]\d*)?([eE][+-]?\d+)?$|\d{4}-\d\d-\d\d")
"""A number, or what begins with a date."""


def first_line(error: BaseException) -> str:
    """Return what an error of another library says, in one line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _row_and_column(source: str, offset: int) -> tuple[int, int]:
    """Return where an offset into a text is, both counted from 1."""
    before = source[:offset]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def render(diagnostic: Diagnostic, source: str, filename: str, color: bool = False) -> str:
    """Render one diagnostic with its line, a caret below the place, notes and help."""
    red, bold, blue, reset = ("\033[1;31m", "\033[1m", "\033[1;34m", "\033[0m") if color else ("", "", "", "")
    lines = [f"{red}error[{diagnostic.code}]{reset}{bold}: {diagnostic.message}{reset}"]
    gutter = ""
    if diagnostic.start is not None:
        start = min(diagnostic.start, len(source))
        row, column = _row_and_column(source, start)
        text = source.split("\n")[row - 1].replace("\t", " ").rstrip("\r")
        end = start if diagnostic.end is None else diagnostic.end
        place = column - 1
        width = max(1, min(end - start, len(text) - place))
        if len(text) > WIDEST:  # of a very long line, the part around the place
            cut = max(0, min(place - WIDEST // 3, len(text) - WIDEST))
            text, place = text[cut : cut + WIDEST], place - cut
            width = min(width, max(1, WIDEST - place))
        gutter = " " * len(str(row))
        lines += [
            f"{blue}{gutter}-->{reset} {filename}:{row}:{column}",
            f"{blue}{gutter} |{reset}",
            f"{blue}{row} |{reset} {text}",
            f"{blue}{gutter} |{reset} {' ' * place}{red}{'^' * width}{reset}",
        ]
    lines += [f"{blue}{gutter} ={reset} note: {note}" for note in diagnostic.notes]
    if diagnostic.help:
        lines.append(f"{blue}{gutter} ={reset} help: {diagnostic.help}")
    return "\n".join(lines)
