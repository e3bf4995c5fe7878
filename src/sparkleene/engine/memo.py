"""What several runs over one table have in common is worked out once: times and keys."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Memo:
    """Remembers what was made of objects, as long as it lives.

    >>> memo, rows = Memo(), [1, 2]
    >>> memo.once("x", rows, lambda: 1), memo.once("x", rows, lambda: 2), memo.once("y", rows, lambda: 3)
    (1, 1, 3)
    """

    def __init__(self) -> None:
        """Begin without anything to remember."""
        self._made: dict[tuple[Hashable, int], tuple[object, Any]] = {}

    def once(self, key: Hashable, of: object, make: Callable[[], T]) -> T:
        """Return what was made of an object for the key before, or make it."""
        if (key, id(of)) not in self._made:
            self._made[key, id(of)] = of, make()  # with the object, so that no other gets its number
        found: T = self._made[key, id(of)][1]
        return found
