"""Queries in SQL: `SELECT * FROM trends(TABLE(events), 'RETURN COUNT(*) PATTERN A+')`.

Rows arrive as Arrow batches, and a bucket of sub-streams is one run of the engine. Sub-streams of a group stay
together: rows are partitioned by the keys that GROUP-BY lists and that bind every row, and come to one task where
there are none. For large data use `Query.run` on a DataFrame: it combines parts of results, and took less than half
of the time for 5 million rows with keys; PySpark finds where a bucket ends by a look at every row in Python.

PySpark's decorator `arrow_udtf` does not let a class choose its result's columns by the arguments (SPARK-53286),
although Spark 4.3 runs such a class; so the function is built without the decorator, which a later PySpark may
refuse as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import StructType
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, PartitioningColumn, SelectedColumn
from pyspark.util import PythonEvalType

from sparkleene.engine.having import finished_schema
from sparkleene.errors import Diagnostic, Place, SparkleeneError, mistake, suggest
from sparkleene.language.printer import quote
from sparkleene.options import QueryOptions, ReadingKeywords
from sparkleene.plan.plan import Plan
from sparkleene.prepared import PreparedQuery
from sparkleene.spark.jobs import task_cores
from sparkleene.spark.request import find_paths, partitions
from sparkleene.spark.sql.types import empty_table, result_type, schema_to_spark
from sparkleene.spark.tasks import to_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OPTIONS = tuple(ReadingKeywords.__annotations__)
MOST_BUCKETS = 256  # a bucket is one call of the engine


def register(spark: SparkSession, query: Callable[..., Any], name: str = "trends") -> None:
    """Register the table function of SQL; `query` is `sparkleene.query`, whose options are named arguments.

    `SELECT * FROM trends(TABLE(events), 'RETURN ...', time => 'at', type => NULL)`

    Spark puts a short Python traceback before the message of a mistake, unless the session's setting
    `spark.sql.execution.pyspark.udf.hideTraceback.enabled` is true.
    """
    eval_type = getattr(PythonEvalType, "SQL_ARROW_UDTF", None)
    if eval_type is None:
        wrong = Diagnostic(
            "bad-option", "this Spark has no table functions over Arrow", help="use Spark 4.1 or newer"
        )
        raise SparkleeneError(wrong)
    made = handler(query, min(4 * partitions(spark), MOST_BUCKETS))
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        from pyspark.sql.connect.udtf import UserDefinedTableFunction as Function
    else:
        from pyspark.sql.udtf import UserDefinedTableFunction as Function  # type: ignore[assignment]
    spark.udtf.register(name, Function(made, None, name, eval_type, deterministic=True))  # type: ignore[arg-type]


@dataclass
class Analyzed(AnalyzeResult):
    """What Spark is told about a call, and what the tasks need to know of it."""

    text: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    result: pa.Schema | None = None


def handler(compiled: Callable[..., Any], buckets: int) -> type:
    """Return the class that Spark runs: an instance for each bucket of sub-streams."""

    class Trends:
        @staticmethod
        def analyze(events: AnalyzeArgument, query: AnalyzeArgument, **options: AnalyzeArgument) -> Analyzed:
            try:
                return analyze_call(events, query, options, buckets)
            except SparkleeneError as error:
                raise error.with_traceback(None) from None  # what is shown in SQL should be the message

        def __init__(self, analysis: Analyzed) -> None:
            self._analysis = analysis
            self._batches: list[pa.RecordBatch] = []

        def eval(self, events: pa.RecordBatch, query: pa.Array, **options: pa.Array) -> Iterable[pa.Table]:
            self._batches.append(events)
            return ()

        def terminate(self) -> Iterable[pa.Table]:
            if not self._batches:
                return ()
            given = self._analysis
            table = pa.Table.from_batches(self._batches).rename_columns(list(given.columns))
            found = compiled(given.text, **given.options).run(table, threads=task_cores())
            return to_batches(found, given.result)

    return Trends


def analyze_call(
    events: AnalyzeArgument, text: AnalyzeArgument, options: dict[str, AnalyzeArgument], buckets: int
) -> Analyzed:
    """Compile the query for the table's columns and say how its rows are to be partitioned."""
    schema = events.dataType
    if not events.isTable or not isinstance(schema, StructType):
        raise mistake("the first argument is not a table", "write trends(TABLE(events), 'RETURN ...')")
    if not isinstance(text.value, str):
        raise mistake("the second argument is not a text", "write the query as a constant: 'RETURN ...'")
    chosen: Any = {name: option(name, argument) for name, argument in options.items()}
    query = PreparedQuery(text.value, QueryOptions().change(Place(text.value), **chosen))
    query.check_types(schema.names)
    plan, place = query.plan_for(tuple(schema.names)), query.place
    needed = query.columns(plan)
    found = finished_schema(plan, empty_table(schema, needed), query.options.for_engine(), place)
    result = pa.schema([(column.name, result_type(column.name, column.type, place)) for column in found])
    return Analyzed(
        schema_to_spark(result),
        text=text.value,
        options=chosen,
        columns=tuple(needed),
        result=result,
        select=[SelectedColumn(quote(name)) for name in needed],
        **partitioning(plan, buckets),
    )


def partitioning(plan: Plan, buckets: int) -> dict[str, Any]:
    """Return how rows are partitioned such that all sub-streams of a group come together."""
    paths = find_paths(plan, [k for k in plan.universal if k in plan.bound.group])
    keys = [".".join(map(quote, path)) for path in paths]
    finish = plan.bound.finish
    if not keys or (finish is not None and finish.limit is not None):
        return {"withSinglePartition": True}
    return {"partitionBy": [PartitioningColumn(f"pmod(hash({', '.join(keys)}), {buckets})")]}


def option(name: str, argument: AnalyzeArgument) -> Any:
    """Return an argument of `sparkleene.query` from one of SQL."""
    if name not in OPTIONS:
        raise mistake(f"there is no argument '{name}'", suggest(name, OPTIONS) or f"they are {', '.join(OPTIONS)}")
    if not argument.isConstantExpression:
        raise mistake(f"the argument '{name}' is not a constant", "write a constant")
    value = argument.value
    return Fraction(value) if isinstance(value, Decimal) else value
