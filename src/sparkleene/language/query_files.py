"""Many queries in one text: each ends with a semicolon, or where a line begins with the name of the next.

A query keeps its place: what is before it in the file is blank, so that errors show the file's lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from sparkleene.errors import NOWHERE, Place
from sparkleene.language.cursor import Cursor
from sparkleene.language.parser import MAX_TEXT
from sparkleene.language.tokens import Token, tokenize

_NAMED = re.compile(r"(?:`(?:[^`\n]|``)+`|[^\W\d][\w-]*)\s*:")


def split_queries(text: str, filename: str = "query") -> list[Place]:
    r"""Return the queries of a text, one at least.

    >>> first, second = split_queries("a: RETURN COUNT(*) PATTERN A+\n-- and\nb: RETURN COUNT(*) PATTERN B+")
    >>> second.source
    '\n\nb: RETURN COUNT(*) PATTERN B+'
    """
    whole = [Place(text, filename)]
    if len(text) > MAX_TEXT:  # which the parser complains of
        return whole
    starts = {0}
    for token in tokenize(text)[0]:
        if token.has(";"):
            starts.add(token.span.end)
        elif token.is_name and _first_of_line(text, token) and _NAMED.match(text, token.span.start):
            starts.add(token.span.start)
    ends = [*sorted(starts), len(text)]
    pieces = [(start, text[start:end]) for start, end in pairwise(ends)]
    found = [(start, piece) for start, piece in pieces if _says_something(piece)]
    if len(found) < 2:
        return whole
    return [Place(_blank(text, start) + piece, filename) for start, piece in found]


def _first_of_line(text: str, token: Token) -> bool:
    return not text[text.rfind("\n", 0, token.span.start) + 1 : token.span.start].strip()


def _says_something(piece: str) -> bool:
    """Tell whether there is more than comments."""
    tokens, errors = tokenize(piece)
    return len(tokens) > 1 or bool(errors)


def _blank(text: str, end: int) -> str:
    """Return as many lines, and characters of the last one, as a text has up to a place."""
    return "\n" * text.count("\n", 0, end) + " " * (end - text.rfind("\n", 0, end) - 1)


def name_queries(places: Iterable[Place]) -> dict[str, Place]:
    """Return queries by their names; those without one are called by their number, q1, q2 and so on.

    >>> [*name_queries(split_queries("RETURN COUNT(*) PATTERN A+; long-trips: RETURN COUNT(*) PATTERN B+"))]
    ['q1', 'long-trips']
    """
    found: dict[str, Place] = {}
    for number, place in enumerate(places, 1):
        token = _name(place.source)
        name = f"q{number}" if token is None else token.value
        if name in found:
            help = "write another name before one: 'name: RETURN ...'"
            span = NOWHERE if token is None else token.span
            raise place.mistake("duplicate-name", f"two queries are called '{name}'", span, help)
        found[name] = place
    return found


def _name(text: str) -> Token | None:
    """Return the name before a query."""
    cursor = Cursor(text)
    if not cursor.token.is_name or not _NAMED.match(text, cursor.token.span.start):
        return None
    return cursor.name("a name", hyphens=True)


def read_query_file(path: str | os.PathLike[str]) -> dict[str, Place]:
    """Return the queries of a file by their names."""
    try:
        text = Path(path).read_text(encoding="utf_8")
    except (FileNotFoundError, IsADirectoryError):
        message, help = f"there is no file '{path}'", "give a file of queries, or {'name': 'RETURN ...'}"
        raise Place().mistake("missing-file", message, help=help) from None
    except UnicodeDecodeError:
        raise Place().mistake("unreadable-file", f"the file '{path}' is not text in UTF-8") from None
    return name_queries(split_queries(text, os.fspath(path)))
