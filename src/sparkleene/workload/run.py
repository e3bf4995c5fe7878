"""A workload over one table, in this process: in a user's own, or in a worker of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from sparkleene.columns.fields import describe_type
from sparkleene.columns.memo import remembering
from sparkleene.columns.options import Options
from sparkleene.engine import finish
from sparkleene.engine.execute import Results
from sparkleene.engine.graphlets import Sharing
from sparkleene.engine.panes import together
from sparkleene.engine.run import Evaluated, evaluate
from sparkleene.errors import DataError, Diagnostic, Place, SparkleeneError
from sparkleene.workload.merge import Joint, Part

QUERY = "query"
"""The column that says which query a row is of."""

Write = Callable[..., pa.Table]
"""`finish.finish`, or `partial.partial` for results that are added up elsewhere."""


def results(
    parts: Sequence[tuple[Part, Options]],
    table: pa.Table,
    threads: int,
    places: Mapping[str, Place],
    write: Write = finish.finish,
    joints: Sequence[Joint] = (),
    runs: list[tuple[Part, Sharing | None]] | None = None,
) -> Iterator[tuple[str, pa.Table]]:
    """Evaluate the parts of a workload over a table; give each query's name and result.

    `joints` are parts that may share panes; `runs` is given what was counted.
    """
    with remembering():
        yield from _results(parts, table, threads, places, write, joints, runs)


def _results(
    parts: Sequence[tuple[Part, Options]],
    table: pa.Table,
    threads: int,
    places: Mapping[str, Place],
    write: Write,
    joints: Sequence[Joint],
    runs: list[tuple[Part, Sharing | None]] | None,
) -> Iterator[tuple[str, pa.Table]]:
    done: set[str] = set()
    for joint in joints:
        options = next(options for part, options in parts if part.names == joint.members[0].names)
        for name, result in _by_panes(joint, table, options, threads, places, write):
            done.add(name)
            yield name, result
    for part, options in parts:
        if part.names[0] in done:
            continue
        try:
            made = evaluate(part.plan, table, options, threads, places[part.names[0]])
        except SparkleeneError:
            for name, plan in zip(part.names, part.alone, strict=True):  # who is at fault tells it
                evaluate(plan, table, options, threads, places[name])
            raise
        if runs is not None:
            runs.append((part, made[0].sharing))
        yield from written(part, made, write)


def _by_panes(
    joint: Joint, table: pa.Table, options: Options, threads: int, places: Mapping[str, Place], write: Write
) -> Iterator[tuple[str, pa.Table]]:
    """Evaluate parts that differ in their windows by common panes; give nothing where that costs more."""
    windows = [part.plan.bound.window for part in joint.members]
    states = [len(part.plan.machine.states) for part in joint.members]
    place = places[joint.part.names[0]]
    whole = joint.part
    try:
        found = together(whole.plan, [one for one in windows if one], states, table, options, threads, place)
    except SparkleeneError:
        return  # the query at fault tells it
    for part, evaluated in zip(joint.members, found or (), strict=False):
        for name in part.names:
            k = whole.names.index(name)
            yield name, write(whole.alone[k], *own(whole, k, evaluated))


def written(part: Part, evaluated: Evaluated, write: Write = finish.finish) -> Iterator[tuple[str, pa.Table]]:
    """Write what the plan of a part gave: for each of its queries the name and the result."""
    for k, name in enumerate(part.names):
        yield name, write(part.alone[k], *(own(part, k, evaluated) if part.shared else evaluated))


def own(part: Part, k: int, evaluated: Evaluated) -> Evaluated:
    """Return what query k of a part would have given by itself."""
    compiled, stream, windows, results, integers = evaluated
    outputs = [compiled.outputs[i] for i in part.outputs[k]]
    lows = {low: None for output, made_of in outputs if output.function in ("min", "max") for low in made_of}
    totals = {
        total: None
        for output, made_of in outputs
        if output.function not in ("min", "max")
        for total in made_of
    }
    low_place = {low: i for i, low in enumerate(lows)}
    total_place = {total: i for i, total in enumerate(totals)}
    columns = [column for total in totals for column, _ in compiled.totals[total]]
    column_place = {column: i for i, column in enumerate(columns)}
    mine = replace(
        compiled,
        totals=tuple(
            tuple((column_place[column], scale) for column, scale in compiled.totals[total])
            for total in totals
        ),
        lows=tuple(compiled.lows[low] for low in lows),
        outputs=tuple(
            (
                output,
                tuple((low_place if output.function in ("min", "max") else total_place)[i] for i in made_of),
            )
            for output, made_of in outputs
        ),
    )
    chosen = [0, *(1 + column for column in columns)]
    kept, whole = chosen, None
    if integers is not None:  # then the values in doubles only tell where there are trends
        kept, whole = [0], [[[classes[k][column] for column in chosen]] for classes in integers]
    of_it = Results(results.values[:, k : k + 1][:, :, kept], results.lows[:, k : k + 1][:, :, list(lows)])
    groups = stream.groups.rename_columns(list(part.group_names[k]))
    return mine, replace(stream, groups=groups), windows, of_it, whole


def union(results: Mapping[str, pa.Table]) -> pa.Table:
    """Return all rows in one table, each with the name of its query; columns that a query lacks are NULL."""
    united({name: table.schema for name, table in results.items()})
    tables = [
        table.add_column(0, pa.field(QUERY, pa.string()), pa.array([name] * table.num_rows, pa.string()))
        for name, table in results.items()
    ]
    return pa.concat_tables(tables, promote_options="default")


def united(schemas: Mapping[str, pa.Schema]) -> pa.Schema:
    """Return the columns of all queries, after that of their names, or raise where two do not fit."""
    kinds: dict[str, tuple[str, pa.Field]] = {}
    for query, schema in schemas.items():
        for field in schema:
            if field.name == QUERY:
                message = f"a column of '{query}' is called '{QUERY}', as the one that tells queries apart"
                raise DataError(Diagnostic("unsupported-data", message, help="give it another name, with AS"))
            other, known = kinds.setdefault(field.name, (query, field))
            if known.type != field.type:
                ways = (
                    f"{describe_type(known.type)} in '{other}' and {describe_type(field.type)} in '{query}'"
                )
                message, help = f"the column '{field.name}' is {ways}", "give one another name, with AS"
                raise DataError(Diagnostic("wrong-type", message, help=help))
    return pa.schema([pa.field(QUERY, pa.string()), *(field for _, field in kinds.values())])
