"""The value of an expression for each row as a column."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import make_scalar
from sparkleene.columns.durations import PER_SECOND, Unit, count_ticks
from sparkleene.columns.expressions import evaluate
from sparkleene.columns.fields import decode, value_type
from sparkleene.errors import Place
from sparkleene.language.bound import Term


def row_values(term: Term, table: pa.Table, place: Place = Place()) -> pa.ChunkedArray:
    """Return the value of an expression over one row for each row of a table.

    Numbers are int64, float64 or decimals, text is not encoded, a duration is float64 in seconds, and a time a
    timestamp. Durations of number columns are numbers in the columns' own unit.

    >>> from sparkleene.language.bound import Call, Field
    >>> ms = pa.timestamp("ms")
    >>> table = pa.table({"a": pa.array([0, 500], ms), "b": pa.array([1500, None], ms)})
    >>> row_values(Call("-", (Field(("b",)), Field(("a",)))), table).to_pylist()
    [1.5, None]
    """
    value = evaluate(term, table, place)
    if isinstance(value, pa.Scalar):
        value = pa.repeat(value, table.num_rows)
    if pa.types.is_duration(value.type):
        unit: Unit = "nanos" if value.type.unit == "ns" else "micros"
        ticks = count_ticks(value, unit).cast(pa.float64(), safe=False)
        value = pc.divide(ticks, make_scalar(float(PER_SECOND[unit])))
    value = decode(value)
    value = value if isinstance(value, pa.ChunkedArray) else pa.chunked_array([value])
    wanted = value_type(value.type)
    return value if value.type == wanted else value.cast(wanted)
