"""Helpers are part of kernels; in Python they are an error."""

import numpy as np
import pytest

from sparkleene.kernels.forms import forms
from sparkleene.kernels.ticks import symbol_of


def test_a_helper_called_from_python_is_an_error() -> None:
    with pytest.raises(TypeError, match="not callable"):
        symbol_of(np.arange(2, dtype=np.uint64), np.uint64(1))


def test_every_form_has_a_name_of_its_own() -> None:
    names = [form.name for form in forms()]
    assert len(names) == len(set(names)) > 100
