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
    """Let `once` remember for as long as this lasts; the objects that its keys name by `id` must outlast it."""
    token = _HELD.set({})
    try:
        yield
    finally:
        _HELD.reset(token)


def once(key: Hashable, make: Callable[[], T]) -> T:
    """Return what was made for the key before, or make it.

    >>> with remembering():
    ...     print([once("x", lambda: 1), once("x", lambda: 2)], once("y", lambda: 3))
    [1, 1] 3
    >>> once("x", lambda: 4)
    4
    """
    held = _HELD.get()
    if held is None:
        return make()
    if key not in held:
        held[key] = make()
    found: T = held[key]
    return found
