"""Arguments and options that commands have in common."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_type_hints

import typer

from sparkleene.cli import inputs, show
from sparkleene.cli.failures import usage_error
from sparkleene.errors import Place
from sparkleene.evaluation import Sharing
from sparkleene.funnel import Funnel
from sparkleene.language.query_files import name_queries
from sparkleene.options import TimeUnit
from sparkleene.query import Query
from sparkleene.workload import Workload

QUERY = "A file with a query or several, the text itself in quotes, or - for standard input."
QueryText = Annotated[str, typer.Argument(metavar="QUERY", help=QUERY, show_default=False)]
Queries = Annotated[list[str], typer.Argument(metavar="QUERY", help=QUERY, show_default=False)]
More = Annotated[
    list[str] | None,
    typer.Option("--query", "-q", metavar="QUERY", help="One more query over the same events; repeat it for each."),
]
Shared = Annotated[
    Sharing | None,
    typer.Option("--sharing", help="What several queries do together: what pays, all they can, or nothing."),
]
Stats = Annotated[bool, typer.Option("--stats", help="Tell on standard error what several queries shared.")]
FILES = "Parquet, CSV or JSON lines: files, folders, patterns."
Events = Annotated[list[str], typer.Argument(metavar="EVENTS", help=FILES, show_default=False)]
Master = Annotated[
    str | None, typer.Option(metavar="URL", help="Where Spark runs: local[4], spark://host:7077, sc://host:15002.")
]
Conf = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark; repeat it for each.")
]
Engine = Annotated[
    Literal["auto", "local", "spark"],
    typer.Option(help="This very process, which answers at once, or Spark; by default by the size of the files."),
]
Output = Annotated[
    str | None, typer.Option("--output", "-o", metavar="PATH", help="A file, or a folder that Spark's tasks write.")
]
Format = Annotated[
    show.Format | None,
    typer.Option("--format", "-f", help="By default by PATH's ending, else a table on a terminal, CSV in a pipe."),
]

Plot = Annotated[bool, typer.Option("--plot", help="Draw the result as text, too.")]
PlotFile = Annotated[str | None, typer.Option(metavar="PATH", help="Draw the result to a file .png, .svg or .pdf.")]

Asked = Query | Workload | Funnel
"""One query, several, or those of a funnel."""


@dataclass(frozen=True)
class Compiler:
    """Compiles the queries that a command is given, with the options for all of them."""

    options: Mapping[str, Any]

    @property
    def time(self) -> str:
        """The column of times."""
        return str(self.options["time"])

    def one(self, given: str) -> Query:
        """Return the one query that is given."""
        sources = inputs.read_queries(given)
        if len(sources) > 1:
            raise usage_error(f"there are {len(sources)} queries in '{given}'", "give one of them", filename=given)
        return self._query(*sources)

    def several(self, given: str, more: Sequence[str] | None, sharing: Sharing | None) -> Query | Workload:
        """Return the query that is given, or a workload if there are more."""
        return self.compile(
            [source for one in (given, *(more or ())) for source in inputs.read_queries(one)], sharing
        )

    def workload(self, given: str, more: Sequence[str] | None, sharing: Sharing | None) -> Workload:
        """Return a workload of all queries that are given, if it is of one."""
        sources = [source for one in (given, *(more or ())) for source in inputs.read_queries(one)]
        return Workload(name_queries(sources), sharing or "auto", **self.options)

    def compile(self, sources: Sequence[Place], sharing: Sharing | None = None) -> Query | Workload:
        """Compile a query, or several as a workload."""
        if len(sources) > 1:
            return Workload(name_queries(sources), sharing or "auto", **self.options)
        if sharing is not None:
            raise usage_error("--sharing is for several queries", "leave it out, or add --query QUERY")
        return self._query(*sources)

    def _query(self, place: Place) -> Query:
        return Query(place.source, filename=place.filename, **self.options)


def queries_of(ask: Asked) -> list[Query]:
    """Return the queries one by one."""
    return [ask] if isinstance(ask, Query) else [*ask.queries.values()]


def _reading_options(
    time: Annotated[str, typer.Option(metavar="COLUMN", help="The column of times.")] = "time",
    type: Annotated[str, typer.Option("--type", metavar="COLUMN", help="The column of event types.")] = "type",
    one_type: Annotated[bool, typer.Option("--one-type", help="All rows are of the one event type.")] = False,
    define: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=PREDICATE", help="An event type by a condition; repeat it for each."),
    ] = None,
    tiebreak: Annotated[str | None, typer.Option(metavar="COLUMN", help="What orders rows of one time.")] = None,
    time_unit: Annotated[TimeUnit | None, typer.Option(help="What a time column of numbers counts.")] = None,
    offset: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="How much later windows start, such as '15 minutes'.")
    ] = None,
    timezone: Annotated[
        str, typer.Option(metavar="ZONE", help="Whose midnights days, weeks and months of windows begin at.")
    ] = "UTC",
    long: Annotated[
        bool, typer.Option("--long", help="Counts as whole numbers up to 2^63 - 1; beyond it is an error.")
    ] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Exact numbers of any length instead of doubles.")] = False,
    hierarchy: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Concepts above event types: names further and further in, or JSON."),
    ] = None,
) -> Compiler:
    return Compiler(
        {
            "time": time,
            "type": None if one_type else type,
            "types": inputs.parse_pairs(define, "--define", "Name='price > 10'") or None,
            "tiebreak": tiebreak,
            "time_unit": time_unit,
            "numbers": "exact" if exact else "long" if long else "double",
            "offset": inputs.parse_offset(offset),
            "timezone": timezone,
            "hierarchy": hierarchy,
        }
    )


def _file_options(
    columns: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="The columns of CSV files without a header, such as time,type,price."),
    ] = None,
    delimiter: Annotated[
        str | None,
        typer.Option(metavar="SIGN", help="What is between the cells of CSV files; by default what is there."),
    ] = None,
    time_format: Annotated[
        str | None,
        typer.Option(metavar="FORMAT", help="How CSV and JSON files write times, such as '%d.%m.%Y %H:%M'."),
    ] = None,
) -> inputs.Reader:
    return inputs.Reader(columns, delimiter, time_format)


GROUPS: dict[str, Callable[..., Any]] = {"compiler": _reading_options, "reader": _file_options}
"""What a parameter of a command stands for: options, and what is made of them."""


def with_reading_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say how events are read, in place of its parameters in GROUPS."""
    own = inspect.signature(command)
    groups = {name: make for name, make in GROUPS.items() if name in own.parameters}
    hints = get_type_hints(command, include_extras=True)
    chosen = [own.parameters[name] for name in own.parameters if name not in groups]
    for make in reversed(groups.values()):
        hints |= get_type_hints(make, include_extras=True)
        chosen += inspect.signature(make).parameters.values()
    parameters = [one.replace(annotation=hints[one.name], kind=one.KEYWORD_ONLY) for one in chosen]

    @functools.wraps(command)
    def ask(**given: Any) -> None:
        made = {}
        for name, make in groups.items():
            made[name] = make(**{option: given.pop(option) for option in inspect.signature(make).parameters})
        command(**made, **given)

    ask.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    ask.__annotations__ = {one.name: one.annotation for one in parameters}
    return ask
