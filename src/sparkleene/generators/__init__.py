"""Event streams of the papers, made up with their published distributions; the same seed gives the same rows."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sparkleene.errors import Diagnostic, QueryError, suggest

if TYPE_CHECKING:
    import pyarrow as pa

    from sparkleene.generators.generator import Generator

__all__ = ["NAMES", "find", "generate"]

NAMES = ("activity", "clicks", "cluster", "homes", "rides", "stock", "traffic")
"""One module each."""


def generate(
    name: str,
    events: int = 1_000_000,
    *,
    seed: int = 0,
    groups: int | None = None,
    rate: float | None = None,
    **more: Any,
) -> pa.Table:
    """Return a stream of a paper as a table; see `sparkleene.generate`.

    >>> generate("stock", 1000).column_names[:3]
    ['time', 'type', 'company']
    """
    found = find(name)
    given = {"events": events, "seed": seed, "groups": groups, "rate": rate} | more
    return found.table(found.options(given))


def find(name: str) -> Generator:
    """Return what is known of a stream, or raise with the names that there are."""
    if name not in NAMES:
        message = f"there is no stream '{name}'"
        notes = (f"the streams are {', '.join(NAMES)}",)
        raise QueryError(Diagnostic("bad-option", message, notes=notes, help=suggest(str(name), NAMES)))
    found: Generator = import_module(f"sparkleene.generators.{name}").GENERATOR
    return found
