"""Types of Spark as Arrow's and back, only those that a query can read or return."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import types as T

from sparkleene.errors import Place

_PLAIN: tuple[tuple[type[T.DataType], pa.DataType], ...] = (
    (T.ByteType, pa.int8()),
    (T.ShortType, pa.int16()),
    (T.IntegerType, pa.int32()),
    (T.LongType, pa.int64()),
    (T.FloatType, pa.float32()),
    (T.DoubleType, pa.float64()),
    (T.BooleanType, pa.bool_()),
    (T.StringType, pa.string()),
    (T.BinaryType, pa.binary()),
    (T.DateType, pa.date32()),
    (T.TimestampType, pa.timestamp("us", "UTC")),
    (T.TimestampNTZType, pa.timestamp("us")),
    (T.DayTimeIntervalType, pa.duration("us")),
    (T.NullType, pa.null()),
)


def to_arrow(type: T.DataType) -> pa.DataType:
    """Return a type as tasks see it; what Arrow has no type for becomes a list of nothing, which no query reads.

    >>> to_arrow(T.StructType([T.StructField("price", T.DoubleType())]))
    StructType(struct<price: double>)
    """
    if isinstance(type, T.StructType):
        return pa.struct([pa.field(field.name, to_arrow(field.dataType)) for field in type.fields])
    if isinstance(type, T.ArrayType):
        return pa.list_(to_arrow(type.elementType))
    if isinstance(type, T.MapType):
        return pa.map_(to_arrow(type.keyType), to_arrow(type.valueType))
    if isinstance(type, T.DecimalType):
        return pa.decimal128(type.precision, type.scale)
    return next((arrow for kind, arrow in _PLAIN if isinstance(type, kind)), pa.list_(pa.null()))


def empty_table(schema: T.StructType, names: Iterable[str]) -> pa.Table:
    """Return a table without rows that has some of the columns of a DataFrame."""
    wanted = set(names)
    fields = [(field.name, to_arrow(field.dataType)) for field in schema.fields if field.name in wanted]
    return pa.schema(fields).empty_table()


_RETURNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.date64(): pa.date32(),
}


def result_type(name: str, type: pa.DataType, place: Place) -> pa.DataType:
    """Return the type in which Spark holds a result's column, or raise where it has none."""
    type = _RETURNED.get(type, type)
    if pa.types.is_timestamp(type) and type.unit != "ns":
        return pa.timestamp("us", None if type.tz is None else "UTC")
    if pa.types.is_duration(type) and type.unit != "ns":
        return pa.duration("us")
    if pa.types.is_fixed_size_binary(type):
        return pa.binary()
    if pa.types.is_decimal(type) and type.precision <= 38:
        return pa.decimal128(type.precision, type.scale)
    if pa.types.is_dictionary(type):
        return result_type(name, type.value_type, place)
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return pa.list_(result_type(name, type.value_type, place))
    if pa.types.is_struct(type):
        return pa.struct([(field.name, result_type(field.name, field.type, place)) for field in type])
    if pa.types.is_map(type):
        return pa.map_(result_type(name, type.key_type, place), result_type(name, type.item_type, place))
    if type not in [arrow for _, arrow in _PLAIN]:
        message = f"Spark has no type for the result's column '{name}', which is {type}"
        help = "convert the column in the data"
        if pa.types.is_timestamp(type) or pa.types.is_duration(type):
            message += " (Spark's times are in microseconds)"
            help += ", choose windows of whole microseconds, or pass engine='local'"
        raise place.error("unsupported-data", message, help=help)
    return type


def to_spark(type: pa.DataType) -> T.DataType:
    """Return the type of Spark for a type that `returned` returns."""
    if pa.types.is_struct(type):
        return schema_to_spark(pa.schema(list(type)))
    if pa.types.is_list(type):
        return T.ArrayType(to_spark(type.value_type))
    if pa.types.is_map(type):
        return T.MapType(to_spark(type.key_type), to_spark(type.item_type))
    if pa.types.is_decimal(type):
        return T.DecimalType(type.precision, type.scale)
    return next(spark() for spark, arrow in _PLAIN if arrow == type)


def schema_to_spark(schema: pa.Schema) -> T.StructType:
    """Return the schema of results."""
    return T.StructType([T.StructField(field.name, to_spark(field.type)) for field in schema])
