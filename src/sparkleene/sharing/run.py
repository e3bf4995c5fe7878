"""A workload over one table, in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from sparkleene.engine import finish
from sparkleene.engine.execute import Results
from sparkleene.engine.fields import describe
from sparkleene.engine.options import Options
from sparkleene.engine.run import evaluate
from sparkleene.engine.threads import threads_of
from sparkleene.errors import DataError, Diagnostic, SparkleeneError
from sparkleene.sharing.merge import Part

QUERY = "query"
"""The column that says which query a row is of."""

Source = tuple[str, str]
"""The text of a query and the name that errors show for it."""


def run(
    parts: Sequence[Part],
    table: pa.Table,
    options: Options,
    threads: int | None,
    sources: Mapping[str, Source],
) -> dict[str, pa.Table]:
    """Return the result of each query."""
    found: dict[str, pa.Table] = {}
    for part in parts:
        try:
            made = evaluate(part.plan, table, options, threads_of(threads), *sources[part.names[0]])
        except SparkleeneError:
            for name, plan in zip(
                part.names, part.alone, strict=True
            ):  # who is at fault tells it, in its own text
                evaluate(plan, table, options, threads_of(threads), *sources[name])
            raise
        compiled, stream, windows, results, integers = made
        if not part.shared:
            found[part.names[0]] = finish.finish(part.plan, *made)
            continue
        for k, name in enumerate(part.names):
            own = replace(compiled, outputs=tuple(compiled.outputs[i] for i in part.outputs[k]))
            of_it = Results(results.values[:, k : k + 1], results.lows[:, k : k + 1])
            whole = None if integers is None else [[classes[k]] for classes in integers]
            rows = finish.finish(part.plan, own, stream, windows, of_it, whole)
            names = dict(zip(part.plan.bound.group_names, part.group_names[k], strict=True))
            found[name] = rows.rename_columns([names.get(column, column) for column in rows.column_names])
    return found


def union(results: Mapping[str, pa.Table]) -> pa.Table:
    """Return all rows in one table, each with the name of its query; columns that a query lacks are NULL."""
    tables = [
        table.add_column(0, pa.field(QUERY, pa.string()), pa.array([name] * table.num_rows, pa.string()))
        for name, table in results.items()
    ]
    kinds: dict[str, tuple[str, pa.DataType]] = {}
    for query, table in results.items():
        for field in table.schema:
            other, kind = kinds.setdefault(field.name, (query, field.type))
            if kind != field.type:
                ways = f"{describe(kind)} in '{other}' and {describe(field.type)} in '{query}'"
                message, help = f"the column '{field.name}' is {ways}", "give one another name, with AS"
                raise DataError(Diagnostic("wrong-type", message, help=help))
    return pa.concat_tables(tables, promote_options="default")
