"""Bound terms as Spark columns, so that the JVM labels rows and drops others before Python sees them.

A column means exactly what `columns.expressions` means, whatever the session's settings; where that cannot be
shown there is none, and the engine has to be asked. Names and constants never become SQL text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkleene.columns.durations import TIMES
from sparkleene.errors import Place, Span
from sparkleene.language.bound import Bound, Term
from sparkleene.spark.sql.translate import Translator
from sparkleene.spark.sql.values import INTEGERS, LONG, NO_TEXT, Unsure, column, combine, is_comparable

_MASKS = ((7, T.ByteType()), (15, T.ShortType()), (31, T.IntegerType()), (64, LONG))


def value(
    term: Term, schema: T.StructType, place: Place = NO_TEXT, zone: str | None = None
) -> tuple[Column, T.DataType] | None:
    """Return the value of a term on one event, whichever side it is on, and its type; None where unsure.

    Integers are long, floats are double with NULL for NaN. `zone` is the session's time zone: without it a time
    that is written without an offset is not compared with timestamps.
    """
    translator = Translator(schema, place, zone)
    try:
        settled = translator.settle(term)
        if settled.kind in (*TIMES, "duration") and not settled.is_plain:
            return None
        found = translator.check_overflow(settled.term)
    except Unsure:
        return None
    if isinstance(found.type, INTEGERS):
        return found.column.cast(LONG), LONG
    return (found.column, found.type) if is_comparable(found.type) else None


def condition(term: Term, schema: T.StructType, place: Place = NO_TEXT, zone: str | None = None) -> Column | None:
    """Return a condition on one event, which may be NULL; None where unsure."""
    try:
        return Translator(schema, place, zone).condition(term)
    except Unsure:
        return None


def masks(
    bound: Bound,
    schema: T.StructType,
    type_column: str | None,
    local: bool = True,
    place: Place = NO_TEXT,
    zone: str | None = None,
    places: Mapping[tuple[Term, Span], Place] | None = None,
) -> Column | None:
    """Return the bits of the labels that a row can have, as `columns.labels.label_masks`; None where unsure.

    Without `local` types alone decide. The column is tinyint, smallint, int or bigint, whichever has room; the
    last of 64 labels is its sign. A local predicate is asked only of rows that its label can still have. `places`
    tells whose predicates are in other texts than `place`.
    """
    count = len(bound.labels)
    width = next((type for most, type in _MASKS if count <= most), None)
    if width is None:
        return None

    def mask(labels: Iterable[int]) -> Column:
        bits = sum(1 << i for i in labels)
        return F.lit(bits - (1 << 64) if bits >= 1 << 63 else bits).cast(width)

    def having(labels: list[int]) -> Column:
        """Return the labels, of those of a row's types, whose predicates hold."""
        free = [i for i in labels if not (local and bound.local[i])]
        found = [mask(free)]
        for i in sorted({*labels} - {*free}):
            terms = [
                replace(translator, place=(places or {}).get((term, term.span), place)).condition(term)
                for term in bound.local[i]
            ]
            # nested, not AND: Spark may compute in advance what the sides of an AND have in common
            nested = reduce(lambda inner, each: F.when(each, inner), reversed(terms), mask([i]))
            found.append(F.coalesce(nested, mask([])))
        return combine(Column.bitwiseOR, found)

    translator = Translator(schema, place, zone)
    labels: dict[str, list[int]] = {}
    for i, label in enumerate(bound.labels):
        labels.setdefault(label.type, []).append(i)
    try:
        if bound.types is not None:
            own = [(translator.condition(term), labels[name]) for name, term in bound.types if name in labels]
            cases = [F.when(each, having(numbers)).otherwise(mask([])) for each, numbers in own]
            return reduce(Column.bitwiseOR, cases, mask([]))
        if type_column is None:
            return having(list(range(count)))
        types = translator.types(bound, type_column)
        typed = column((type_column,))
        found: Any = reduce(lambda case, name: case.when(typed == types[name], having(labels[name])), types, F)
        return found.otherwise(mask([])) if types else mask([])
    except Unsure:
        return None
