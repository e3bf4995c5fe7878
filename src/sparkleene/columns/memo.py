"""What several plans over one table have in common is worked out once: times, keys, and the order of rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

T = TypeVar("T")

_HELD: ContextVar[dict[Hashable, Any] | None] = ContextVar("held", default=None)


@contextmanager
def remembering() -> Iterator[None]:
    """Let `once` remember for as long as this lasts."""
    token = _HELD.set({})
    try:
        yield
    finally:
        _HELD.reset(token)


def once(key: Hashable, of: object, make: Callable[[], T]) -> T:
    """Return what was made of an object for the key before, or make it.

    >>> rows = [1, 2]
    >>> with remembering():
    ...     print(once("x", rows, lambda: 1), once("x", rows, lambda: 2), once("y", rows, lambda: 3))
    1 1 3
    >>> once("x", rows, lambda: 4)
    4
    """
    held = _HELD.get()
    if held is None:
        return make()
    if (key, id(of)) not in held:
        held[key, id(of)] = of, make()  # with the object, so that no other gets its number
    found: T = held[key, id(of)][1]
    return found
