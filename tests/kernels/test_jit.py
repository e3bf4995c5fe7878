"""Helpers are part of kernels; in Python they are an error."""

import numba as nb
import numpy as np
import pytest

from sparkleene.kernels.forms import forms
from sparkleene.kernels.jit import helper
from sparkleene.kernels.ticks import symbol_of


def test_a_helper_called_from_python_is_an_error() -> None:
    with pytest.raises(TypeError, match="not callable"):
        symbol_of(np.arange(2, dtype=np.uint64), np.uint64(1))


def test_every_form_has_a_name_of_its_own() -> None:
    names = [form.name for form in forms()]
    assert len(names) == len(set(names)) > 100


def test_a_helper_that_returns_arrays_counts_references_or_is_an_error() -> None:
    @helper
    def both(array: np.ndarray) -> tuple[np.ndarray, int]:
        return array, 1

    with pytest.raises(TypeError, match=r"both returns .*: it is to say that it allocates"):
        both.given.compile((nb.typeof(np.zeros(1)),))


def test_a_helper_that_allocates_says_so() -> None:
    @helper
    def room(size: int) -> float:
        return np.zeros(size)[0]

    @helper(allocates=True)
    def own_room(size: int) -> float:
        return np.zeros(size)[0]

    with pytest.raises(nb.TypingError, match="Only accept returning of array passed"):
        room.given.compile((nb.int64,))
    own_room.given.compile((nb.int64,))
