"""Arrays by their buffers are those that pyarrow's own functions give."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkleene.columns.arrow import as_numpy, fill_null, make_array, make_scalar

TYPES = {
    **{
        str(type): (type, st.integers(0, 100))
        for type in (pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64())
    },
    "float": (pa.float32(), st.floats(width=32)),
    "double": (pa.float64(), st.floats()),
    "bool": (pa.bool_(), st.booleans()),
    "string": (pa.string(), st.text(st.characters(codec="utf-8"), max_size=3)),
    "large_string": (pa.large_string(), st.text(st.characters(codec="utf-8"), max_size=3)),
    "timestamp": (pa.timestamp("us"), st.integers(0, 10**9)),
}


def same(one: np.ndarray[Any, Any], two: np.ndarray[Any, Any]) -> bool:
    if one.dtype != two.dtype:
        return False
    return np.array_equal(one, two, equal_nan=one.dtype.kind in "fM")


@pytest.mark.parametrize("name", TYPES)
@given(data=st.data())
def test_from_arrow(name: str, data: st.DataObject) -> None:
    """Slices, NULLs and chunks are where pyarrow has them."""
    type, values = TYPES[name]
    some = data.draw(st.sampled_from((values, values | st.none())))
    chunks = []
    for _ in range(data.draw(st.integers(0, 3))):
        array = pa.array(data.draw(st.lists(some, max_size=20)), type)
        start = data.draw(st.integers(0, len(array)))
        chunks.append(array.slice(start, data.draw(st.integers(0, len(array)))))
        assert same(as_numpy(chunks[-1]), chunks[-1].to_numpy(zero_copy_only=False))
    column = pa.chunked_array(chunks, type)
    assert same(as_numpy(column), column.to_numpy())


def test_one_chunk_is_not_copied() -> None:
    column = pa.chunked_array([pa.array(range(10), pa.int64()).slice(3, 4)])
    found = as_numpy(column)
    assert found.ctypes.data == column.chunk(0).buffers()[1].address + 24
    assert not found.flags.writeable
    values = np.arange(5.0)
    assert make_array(values).buffers()[1].address == values.ctypes.data


@given(
    st.sampled_from(["?", "i1", "i4", "i8", "u1", "u8", "f4", "f8", "M8[us]"]),
    st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=20),
    st.booleans(),
    st.booleans(),
    st.sampled_from([1, 2, -1]),
)
def test_from_numpy(dtype: str, rows: list[tuple[int, bool]], masked: bool, nan: bool, step: int) -> None:
    values = np.array([value for value, _ in rows], "i8").astype(dtype)
    if nan and values.dtype.kind == "f":
        values[1::3] = np.nan
    values = values[::step]
    mask = np.array([hidden for _, hidden in rows], bool)[::step] if masked else None
    for nan_is_null in (False, True):
        made = make_array(values, mask=mask, nan_is_null=nan_is_null)
        made.validate(full=True)
        hidden = mask  # with a mask of its own Arrow takes no NaN for NULL
        if nan_is_null and mask is not None and values.dtype.kind == "f":
            hidden = mask | np.isnan(values)
        expected = pa.array(values, mask=hidden, from_pandas=nan_is_null)
        assert made.type == expected.type and made.null_count == expected.null_count
        assert str(made) == str(expected)
    if values.dtype.kind == "i":
        assert make_array(values, pa.float64()).equals(pa.array(values, pa.float64()))


@pytest.mark.parametrize("name", TYPES)
@given(data=st.data())
def test_from_python(name: str, data: st.DataObject) -> None:
    type, values = TYPES[name]
    given = data.draw(st.lists(values | st.none(), max_size=20))
    made = make_array(given, type)
    made.validate(full=True)
    assert made.type == type and str(made) == str(pa.array(given, type))
    for value in given[:3]:
        assert str(make_scalar(value, type)) == str(pa.scalar(value, type))
        if value is not None:
            assert make_scalar(value).type == pa.scalar(value).type
            assert fill_null(made, value).null_count == 0


@pytest.mark.parametrize(("values", "type"), [([2**63], pa.int64()), ([1], pa.string()), (["a"], pa.float64())])
def test_what_does_not_fit_is_an_error(values: list[Any], type: pa.DataType) -> None:
    with pytest.raises((pa.ArrowException, OverflowError)):
        make_array(values, type)
    with pytest.raises((pa.ArrowException, OverflowError)):
        make_scalar(values[0], type)
