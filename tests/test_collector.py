"""Collections of garbage are put off while queries are made, and that costs nothing where little is made."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from sparkleene.collector import MANY, without_garbage


@pytest.fixture(autouse=True)
def unfrozen() -> Iterator[None]:
    gc.unfreeze()
    gc.collect()
    yield
    gc.unfreeze()


def is_old(thing: object) -> bool:
    """Tell whether an object is among those that are looked at least often."""
    return any(other is thing for other in gc.get_objects(generation=2))


def test_many_new_objects_count_as_old() -> None:
    with without_garbage():
        assert not gc.isenabled()
        made: list[object] = [[] for _ in range(2 * MANY)]
    assert gc.isenabled() and is_old(made[0]) and not gc.get_freeze_count()


def test_what_a_program_has_frozen_stays_so() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with without_garbage():
        made: list[object] = [[] for _ in range(2 * MANY)]
    assert gc.get_freeze_count() == pytest.approx(frozen, rel=0.1)
    assert not is_old(made[0])


def test_what_is_frozen_is_not_counted_where_little_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "get_freeze_count", lambda: pytest.fail("that takes long"))
    with without_garbage():
        pass


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    try:
        with without_garbage():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
