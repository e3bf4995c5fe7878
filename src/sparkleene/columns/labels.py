"""The labels that each row can have, as bits of a mask: by its type and by predicates on one event."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import as_numpy, fill_null, make_array, make_scalar
from sparkleene.columns.expressions import evaluate_condition
from sparkleene.columns.fields import bounds, describe_column, find_column, kind, map_pieces, simplify
from sparkleene.errors import DataError, Place, suggest
from sparkleene.language.bound import Bound, Literal_, Term
from sparkleene.threads import Pool

Masks = np.ndarray[Any, Any]

PIECE = 1 << 20
"""Rows that one thread looks up at a time."""


def label_masks(
    bound: Bound, table: pa.Table, type_column: str | None, place: Place = Place(), threads: int = 1
) -> Masks:
    """Return for each row the bits of the labels that it can have.

    A bit is set where the row is of the label's type and satisfies all local predicates of the label.
    """
    return apply_local(bound, table, type_masks(bound, table, type_column, place, threads), place)


def type_masks(
    bound: Bound, table: pa.Table, type_column: str | None, place: Place = Place(), threads: int = 1
) -> Masks:
    """Return for each row the bits of the labels that it can have by its type alone."""
    dtype = _mask_type(bound, place)
    if bound.types is not None:
        return _defined_types(bound, table, dtype, place)
    if type_column is None:
        return np.full(table.num_rows, (1 << len(bound.labels)) - 1, dtype)
    bits: dict[str, int] = {}
    for i, label in enumerate(bound.labels):
        bits[label.type] = bits.get(label.type, 0) | 1 << i
    return _masks_by_type(find_column(table, (type_column,), place), bits, dtype, type_column, threads, place)


def apply_local(bound: Bound, table: pa.Table, typed: Masks, place: Place = Place()) -> Masks:
    """Return masks by types without the bits of labels whose local predicates do not hold."""
    if not any(bound.local):
        return typed
    masks, dtype = typed.copy(), typed.dtype
    seen: dict[Term, Masks] = {}
    for i, terms in enumerate(bound.local):
        for term in terms:
            holds = seen.get(term)
            if holds is None:
                holds, everywhere = _holds(term, table, masks, i, place)
                if everywhere:
                    seen[term] = holds
            masks &= ~((~holds).astype(dtype) << dtype.type(i))
    return masks


def unknown_types(types: Iterable[str], column: Any) -> Iterator[str]:
    """Yield a note for each type that no event has, by the values of the column of types; none if it has none.

    >>> list(unknown_types(["Kindel", "View"], pa.chunked_array([["Kindle", "View"]])))
    ["no event is of the type 'Kindel'; did you mean 'Kindle'?"]
    """
    known = {str(value) for value in column.unique().to_pylist() if value is not None}
    for name in dict.fromkeys(types) if len(column) else ():
        if name not in known:
            some = ", ".join(sorted(known)[:10]) + (", ..." if len(known) > 10 else "")
            yield f"no event is of the type '{name}'; {suggest(name, known) or f'the types are {some}'}"


def read_masks(bound: Bound, table: pa.Table, name: str) -> Masks:
    """Return a column of label masks as they are; integers of any width will do."""
    return as_numpy(table.column(name)).astype(_mask_type(bound, Place()), copy=False)


def _mask_type(bound: Bound, place: Place) -> np.dtype[Any]:
    """Return a type that has a bit for every label."""
    count = len(bound.labels)
    if count > 64:
        message = f"the pattern has {count} labels, and 64 is the most"
        raise place.mistake("too-many-labels", message, help="repeat a label, or split the query")
    return mask_type(count)


def mask_type(labels: int) -> np.dtype[Any]:
    """Return a type that has a bit for each of so many labels: two forms of a kernel are enough."""
    return np.dtype(np.uint8 if labels <= 8 else np.uint64)


def _defined_types(bound: Bound, table: pa.Table, dtype: np.dtype[Any], place: Place) -> Masks:
    """Return the masks where types are predicates; a row may be of several types."""
    assert bound.types is not None
    masks = np.zeros(table.num_rows, dtype)
    for name, term in bound.types:
        bits = sum(1 << i for i, label in enumerate(bound.labels) if label.type == name)
        if term == Literal_(True):
            masks |= dtype.type(bits)
        elif bits:
            masks |= evaluate_condition(term, table, place).astype(dtype) * dtype.type(bits)
    return masks


def _holds(term: Term, table: pa.Table, masks: Masks, label: int, place: Place) -> tuple[Masks, bool]:
    """Return where a local predicate holds; if other rows overflow, ask only those of the label."""
    try:
        return evaluate_condition(term, table, place), True
    except DataError as error:
        if error.diagnostics[0].code != "overflow":
            raise
    own = np.flatnonzero(masks >> masks.dtype.type(label) & masks.dtype.type(1))
    holds = np.zeros(table.num_rows, bool)
    holds[own] = evaluate_condition(term, table.take(make_array(own)), place)
    return holds, False


def _masks_by_type(
    column: Any, bits: Mapping[str, int], dtype: np.dtype[Any], name: str, threads: int, place: Place
) -> Masks:
    """Return the masks of the values of a type column; no type has no bits."""
    integer = pa.types.is_integer(column.type.value_type if pa.types.is_dictionary(column.type) else column.type)
    if kind(column.type) not in ("text", "null") and not integer:
        help = f"cast '{name}' to text in the data"
        message = f"an event type is text or an integer: {describe_column((name,), column)}"
        raise place.error("wrong-type", message, help=help)
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype)
    if not pa.types.is_dictionary(column.type):
        lut, indices = _match_types(simplify(column), bits, dtype)
        return _look_up([(lut, chunk) for chunk in indices.chunks], dtype, threads)
    parts = []
    for chunk in column.chunks:
        names = chunk.dictionary.to_pylist()
        lut = np.array([0 if name is None else bits.get(str(name), 0) for name in names], dtype)
        parts.append((lut, chunk.indices))
    return _look_up(parts, dtype, threads)


def _match_types(column: Any, bits: Mapping[str, int], dtype: np.dtype[Any]) -> tuple[Masks, pa.ChunkedArray]:
    """Return a table of masks, and for each row its place in it, NULL for none."""
    if kind(column.type) == "text":
        names = list(bits)
        values = make_array(names, column.type)
    else:
        numbers = {int(name): name for name in bits if _is_integer(name)}
        low, high = (-(2**63), 2**63) if column.type == pa.int64() else (0, 2**64)
        ends = bounds(column) if low else None
        if ends is not None and ends[1] - ends[0] < 1 << 16:
            span = range(ends[0], ends[1] + 1)
            lut = np.array([bits[numbers[value]] if value in numbers else 0 for value in span], dtype)
            return lut, pc.subtract(column, make_scalar(ends[0]))
        inside = {value: name for value, name in numbers.items() if low <= value < high}
        names = list(inside.values())
        values = make_array(inside, pa.int64() if low else pa.uint64()).cast(column.type)
    lut = np.array([bits[name] for name in names], dtype)
    return lut, map_pieces(lambda piece: pc.index_in(piece, value_set=values), column)


def _is_integer(name: str) -> bool:
    """Tell whether a type's name is the text of an integer."""
    return name.removeprefix("-").isdecimal() and str(int(name)) == name


def _look_up(parts: Sequence[tuple[Masks, pa.Array]], dtype: np.dtype[Any], threads: int) -> Masks:
    """Return the masks at indices into tables, 0 for NULL; Arrow takes at the speed of memory."""
    masks = np.empty(sum(len(indices) for _, indices in parts), dtype)
    pieces = []
    start = 0
    for lut, indices in parts:
        for begin in range(0, len(indices), PIECE):
            pieces.append((start + begin, make_array(lut), indices.slice(begin, PIECE)))
        start += len(indices)

    def task(part: slice) -> None:
        for at, lut, indices in pieces[part]:
            found = pc.take(lut, indices, boundscheck=False)
            masks[at : at + len(indices)] = as_numpy(fill_null(found, 0) if found.null_count else found)

    Pool(threads).map(task, [slice(i, i + 1) for i in range(len(pieces))])
    return masks
