"""Collections of garbage in Spark's workers."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from types import ModuleType

import pyarrow as pa
import pytest

from sparkleene.spark import garbage


@pytest.fixture(autouse=True)
def unfrozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(garbage, "_known", 0)
    yield
    gc.unfreeze()


def is_spared(thing: object) -> bool:
    """Tell whether collections pass over an object: those that do not are all in Python's list."""
    return all(other is not thing for other in gc.get_objects())


def test_modules_are_spared_once_a_task_has_loaded_them(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = pa.RecordBatch.from_pydict({"x": [1]})
    early: list[object] = [[]]
    assert not is_spared(early)
    task = garbage.Spared(lambda batches: iter(batches))
    assert list(task([batch])) == [batch]
    assert is_spared(early)
    late: list[object] = [[]]
    garbage.spare_modules()
    assert not is_spared(late), "no module was loaded since"
    monkeypatch.setitem(sys.modules, "a_module_of_this_test", ModuleType("a_module_of_this_test"))
    garbage.spare_modules()
    assert is_spared(late)


def test_garbage_is_collected_before_objects_are_spared() -> None:
    class Ring:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            gone.append(1)

    gone: list[int] = []
    Ring()
    garbage.spare_modules()
    assert gone == [1]
