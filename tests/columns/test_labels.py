"""Label masks of rows."""

import numpy as np
import pyarrow as pa
import pytest
from tests.columns.faults import code

from sparkleene.columns.labels import label_masks
from sparkleene.errors import DataError, QueryError
from sparkleene.language.ast import Atom
from sparkleene.language.bound import Bound, Call, Field, Label, Literal_


def bound(*labels, local=None, types=None):
    made = tuple(Label(name, type, False) for name, type in labels)
    local = local or ((),) * len(made)
    return Bound(Atom("A"), made, "skip-till-any-match", local, (), (), (), (), (), None, types)


X = Field(("x",))


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([["A", "C", None], ["B"]]),
        pa.chunked_array([["A", "C", None], ["B"]], pa.large_string()),
        pa.chunked_array([["A", "C", None], ["B"]], pa.string_view()),
        pa.chunked_array([["A", "C", None], ["B"]]).dictionary_encode(),
        pa.chunked_array(
            [
                pa.DictionaryArray.from_arrays(pa.array([2, 1, 0], pa.int8()), [None, "C", "A"]),
                pa.DictionaryArray.from_arrays(pa.array([1], pa.int8()), ["B", "B"]),
            ]
        ),
    ],
)
def test_masks_of_a_type_column(column):
    masks, plain = label_masks(
        bound(("x", "A"), ("y", "A"), ("None", "None"), ("B", "B")), pa.table({"t": column}), "t"
    )
    assert masks.tolist() == [3, 0, 0, 8] and masks.dtype == np.uint8 and plain and masks.flags.writeable


@pytest.mark.parametrize("type", [pa.int8(), pa.uint64(), pa.int64(), pa.dictionary(pa.int8(), pa.int32())])
def test_masks_of_numbered_types(type):
    values = pa.array([1, 20, None, 7], type.value_type if pa.types.is_dictionary(type) else type)
    column = values.dictionary_encode() if pa.types.is_dictionary(type) else values
    names = bound(("a", "1"), ("b", "20"), ("c", "020"), ("d", "99999999999999999999"))
    assert label_masks(names, pa.table({"t": column}), "t")[0].tolist() == [1, 2, 0, 0]


def test_masks_of_far_numbers():
    for type, far in ((pa.int64(), 2**62), (pa.uint64(), 2**64 - 1)):
        table = pa.table({"t": pa.array([1, far, None], type)})
        assert label_masks(bound(("a", "1"), ("b", str(far)), ("c", "x")), table, "t")[0].tolist() == [
            1,
            2,
            0,
        ]


def test_masks_without_a_type_column_and_with_predicates():
    table = pa.table({"x": [1, 5, None]})
    low, high = Call("<", (X, Literal_(3))), Call(">", (X, Literal_(0)))
    assert label_masks(bound(("a", "A"), ("b", "B")), table, None)[0].tolist() == [3, 3, 3]
    defined = bound(("a", "Low"), ("b", "High"), types=(("Low", low), ("High", high), ("Other", low)))
    assert label_masks(defined, table, None)[0].tolist() == [3, 2, 0]
    local = bound(("a", "A"), ("b", "A"), local=((low,), (high, low)))
    masks, plain = label_masks(local, table, None)
    assert masks.tolist() == [3, 0, 0] and not plain


@pytest.mark.parametrize(
    ("count", "dtype"), [(8, np.uint8), (9, np.uint16), (17, np.uint32), (64, np.uint64)]
)
def test_masks_are_as_wide_as_needed(count, dtype):
    term = Call("=", (X, Literal_(1)))
    names = bound(*((f"l{i}", "A") for i in range(count)), local=((),) * (count - 1) + ((term,),))
    masks, _ = label_masks(names, pa.table({"t": ["A", "A"], "x": [1, 2]}), "t")
    assert masks.dtype == dtype
    assert [int(mask) for mask in masks] == [2**count - 1, 2 ** (count - 1) - 1]


def test_masks_that_cannot_be():
    table = pa.table({"t": [0.5], "x": [1]})
    assert code(DataError, label_masks, bound(("a", "A")), table, "t") == "wrong-type"
    assert code(DataError, label_masks, bound(("a", "A")), table, "u") == "missing-column"
    many = bound(*((f"l{i}", "A") for i in range(65)))
    assert code(QueryError, label_masks, many, table, None) == "too-many-labels"


def test_a_predicate_that_overflows_on_rows_of_another_type_is_fine():
    term = Call(">", (Call("*", (X, Literal_(4))), Literal_(4)))
    names = bound(("A", "A"), ("B", "B"), local=((term,), ()))
    table = pa.table({"t": ["A", "B", "A"], "x": [1, 2**62, 2]})
    assert label_masks(names, table, "t")[0].tolist() == [0, 2, 1]
    assert (
        code(DataError, label_masks, names, table.slice(0).set_column(0, "t", [["A"] * 3]), "t") == "overflow"
    )
