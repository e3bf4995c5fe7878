"""Concepts above event types: an event of the type Dallas is one of Texas too (the 2016 survey, section 4)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sparkleene.errors import Diagnostic, QueryError, mistake
from sparkleene.language.printer import quote


@dataclass(frozen=True)
class Hierarchy:
    """Which concept each type or concept is directly below."""

    parents: Mapping[str, str]

    def __post_init__(self) -> None:
        """Raise if a concept is above itself."""
        for name in self.parents:
            seen = [name]
            while (above := self.parents.get(seen[-1])) is not None:
                if above in seen:
                    circle = " is a ".join([*seen[seen.index(above) :], above])
                    raise _mistake(f"the hierarchy goes in a circle: {circle}")
                seen.append(above)

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for child, parent in self.parents.items():
            found.setdefault(parent, []).append(child)
        return found

    @property
    def names(self) -> frozenset[str]:
        """All types and concepts."""
        return frozenset(self.parents) | frozenset(self.parents.values())

    def below(self, name: str) -> tuple[str, ...]:
        """Return a concept and all that is below it.

        >>> Hierarchy({"Dallas": "Texas", "Austin": "Texas", "Texas": "USA"}).below("Texas")
        ('Texas', 'Dallas', 'Austin')
        """
        found = [name]
        for one in found:
            found += self._children.get(one, [])
        return tuple(found)

    def type_conditions(self, names: Iterable[str], column: str) -> dict[str, str]:
        """Return each type as a condition on the column of the most specific types.

        >>> Hierarchy({"Dallas": "Texas"}).type_conditions(["Texas", "Bus"], "type")
        {'Texas': "`type` IN ('Texas', 'Dallas')", 'Bus': "`type` IN ('Bus')"}
        """
        place = quote(column)
        return {name: f"{place} IN ({', '.join(map(_constant, self.below(name)))})" for name in names}


def _constant(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def read_hierarchy(given: Mapping[str, str] | str | os.PathLike[str]) -> Hierarchy:
    """Return a hierarchy from a mapping of names to those above them, or from a file.

    A file is JSON with such a mapping, or text with a name on each line, further in than the one it belongs to.
    """
    if isinstance(given, Mapping):
        return Hierarchy(dict(given))
    path = Path(given)
    try:
        text = path.read_text(encoding="utf_8")
        return Hierarchy(json.loads(text) if path.suffix == ".json" else parse_outline(text))
    except FileNotFoundError:
        raise QueryError(Diagnostic("missing-file", f"there is no file '{path}'")) from None
    except ValueError as error:
        raise _mistake(f"'{path}' is not a hierarchy: {error}") from error


def parse_outline(text: str) -> dict[str, str]:
    r"""Return what is directly above each name of an indented list.

    >>> parse_outline("USA\n  Texas\n    Dallas\n    Austin\n  Utah")
    {'Texas': 'USA', 'Dallas': 'Texas', 'Austin': 'Texas', 'Utah': 'USA'}
    """
    parents: dict[str, str] = {}
    open_: list[tuple[int, str]] = []
    for line in text.expandtabs().splitlines():
        name = line.strip()
        if not name:
            continue
        depth = len(line) - len(line.lstrip())
        while open_ and open_[-1][0] >= depth:
            open_.pop()
        if open_:
            if name in parents:
                raise ValueError(f"'{name}' is there twice")
            parents[name] = open_[-1][1]
        open_.append((depth, name))
    return parents


def _mistake(message: str) -> QueryError:
    return mistake(message, "give each name the one above it: {'Dallas': 'Texas'}")
