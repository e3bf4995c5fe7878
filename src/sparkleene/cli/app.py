"""The commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from sparkleene import __version__
from sparkleene.cli import inputs, show, sparks
from sparkleene.cli.examples import EXAMPLES
from sparkleene.cli.failures import rendered, told, wrong
from sparkleene.cli.options import (
    Ask,
    Asked,
    Columns,
    Conf,
    Engine,
    Events,
    Format,
    Master,
    More,
    Output,
    Queries,
    QueryText,
    Shared,
    queries_of,
    reading,
)
from sparkleene.cli.progress import note, working
from sparkleene.cli.results import by_window, charts, hint, key_names, nothing, summary
from sparkleene.columns.files import Files
from sparkleene.errors import SparkleeneError
from sparkleene.language.query_files import Source
from sparkleene.workload import Workload


class Commands(TyperGroup):
    """The commands; what goes wrong in one is told."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with told():
            return super().invoke(ctx)


app = typer.Typer(
    name="sparkleene",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 done, 1 an error in query, data or Spark, 2 a wrong command line, 130 interrupted.",
)


@app.command(epilog=EXAMPLES["run"])
@reading
def run(
    ask: Ask,
    query: QueryText,
    events: Events,
    more: More = None,
    sharing: Shared = None,
    engine: Engine = "spark",
    output: Output = None,
    format: Format = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw the result as text, too.")] = False,
    plot_file: Annotated[
        str | None, typer.Option(metavar="PATH", help="Draw the result to a file .png or .svg.")
    ] = None,
    plot_value: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What to draw; by default the first aggregate.")
    ] = None,
    stats: Annotated[
        bool, typer.Option("--stats", help="Tell on standard error what several queries shared.")
    ] = False,
    columns: Columns = None,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Run a query, or several, over files of events."""
    kind = show.format_of(format, output)
    if output is not None:
        show.check_output(output)
    if plot_file is not None:
        show.check_output(plot_file, folders=False)
        if not plot_file.lower().endswith((".png", ".svg")):
            raise wrong(f"'{plot_file}' does not end in .png or .svg", "a chart is saved as PNG or as SVG")
    _fits(engine, master, conf)
    asked = ask.several(query, more, sharing)
    names = dict.fromkeys(output.name for q in queries_of(asked) for output in q.plan.bound.outputs)
    if isinstance(asked, Workload) and plot_file is not None:
        raise wrong("a picture is of one query", "leave out --plot-file; --plot draws them all as text")
    if stats and not (isinstance(asked, Workload) and engine == "local"):
        raise wrong("--stats is for several queries in this process", "leave it out, or add --engine local")
    if engine == "spark":
        sparks.need()
    if plot_file is not None and find_spec("matplotlib") is None:
        help = "pip install 'sparkleene[plot]', in a checkout '.[plot]'; --plot needs nothing"
        raise wrong("pictures need matplotlib", help, code="missing-matplotlib")
    if plot_value is not None and plot_value not in names:
        raise wrong(f"the result has no aggregate '{plot_value}'", f"choose from {', '.join(names)}")
    drawn = plot or plot_file is not None
    found = inputs.events_of(events, columns)
    if engine == "local" or found.blank:
        with working(f"counting trends in {_many(found)}"):
            result = asked.run(found)
    else:
        folder = output if output is not None and show.is_folder(output) and not drawn else None
        result = _on_spark(asked, events, found, master, conf, kind, folder)
        if result is None:
            return
    show.write(result, kind, output)
    note(summary(result, output))
    if not result.num_rows:
        nothing(asked, found)
    if stats and isinstance(asked, Workload):
        print(asked.stats, file=sys.stderr)
    for chart in charts(result, asked, plot_value) if drawn else ():
        if plot:
            print(chart.text(color=sys.stdout.isatty()))
        if plot_file is not None:
            with show.written(plot_file) as path:
                chart.save(path)


def _fits(engine: str, master: str | None, conf: Any) -> None:
    """Raise for settings of Spark where Spark has nothing to do."""
    if engine == "local" and (master is not None or conf):
        given = "--master" if master is not None else "--conf"
        raise wrong(f"{given} is for Spark", "leave it out, or choose --engine spark")


def _many(events: Files) -> str:
    """Return how many events there are, for a person who waits, where the files tell it at once."""
    rows = events.rows if sys.stderr.isatty() else None
    return "events" if rows is None else f"{rows:,} events"


def _on_spark(
    asked: Asked,
    events: list[str],
    found: Files,
    master: str | None,
    conf: Any,
    kind: str,
    folder: str | None,
) -> Any:
    """Return the result on Spark by query, window and group, or have it written to a folder."""
    many = _many(found)
    with working("starting Spark") as line, sparks.started(master, conf) as spark:
        line.text = f"counting trends in {many}"
        line.more = lambda: sparks.work_of(spark)
        frame = asked.run(
            events if found.kind == "parquet" else inputs.frame_of(spark, found), engine="spark"
        )
        if folder is not None:
            mode = "errorifexists" if "://" in folder else "append"  # a folder here is empty or not there yet
            frame.write.format(kind).option("header", True).mode(mode).save(folder)
            return None
        result = frame.toArrow()
    return by_window(result, asked)


@app.command(epilog=EXAMPLES["trends"])
@reading
def trends(
    ask: Ask,
    query: QueryText,
    events: Events,
    limit: Annotated[int, typer.Option(min=0, metavar="N", help="How many trends.")] = 20,
    engine: Engine = "local",
    columns: Columns = None,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Show the trends behind a number, a line each."""
    _fits(engine, master, conf)
    q = ask(query)
    given = inputs.events_of(events, columns)
    if engine == "local" or given.blank:
        with working(f"looking for trends in {_many(given)}"):
            found = q.trends(given, limit=limit)
    else:
        with working("starting Spark") as line, sparks.started(master, conf) as spark:
            line.text = "looking for trends"
            line.more = lambda: sparks.work_of(spark)
            found = q.trends(inputs.frame_of(spark, given), limit=limit).toArrow()
    for row in found.to_pylist():
        print(show.trend(row, q.plan.bound.group_names, q.time, key_names(q)))
    if not found.num_rows and limit:
        nothing(q, given)
    all_ = found.num_rows < limit
    note(f"all {found.num_rows} trends" if all_ else f"the first {limit} trends; --limit N shows more")


@app.command(epilog=EXAMPLES["explain"])
@reading
def explain(
    ask: Ask,
    query: QueryText,
    more: More = None,
    sharing: Shared = None,
    dot: Annotated[bool, typer.Option("--dot", help="The automaton for Graphviz.")] = False,
    svg: Annotated[bool, typer.Option("--svg", help="The automaton as a picture.")] = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PATH", help="A file to write to.")
    ] = None,
) -> None:
    """Tell how a query runs, or draw its automaton; of several, what they share."""
    if dot and svg:
        raise wrong("both --dot and --svg are given", "leave one of them out")
    asked = ask.several(query, more, sharing)
    if isinstance(asked, Workload):
        if dot or svg:
            raise wrong("a picture is of one query", f"leave out --{'dot' if dot else 'svg'}")
        text = asked.explain()
    else:
        text = (asked.to_dot() if dot else asked.to_svg() if svg else asked.explain()).rstrip("\n")
    if output is None:
        print(text)
        return
    with show.written(output) as path:
        Path(path).write_text(text + "\n", encoding="utf_8")


@app.command(epilog=EXAMPLES["check"])
@reading
def check(
    ask: Ask,
    query: Queries,
    schema: Annotated[
        str | None,
        typer.Option(metavar="EVENTS", help="A file of events whose columns the queries should fit."),
    ] = None,
    columns: Columns = None,
    short: Annotated[
        bool, typer.Option("--short", help="An error is one line, file:line:column, for editors.")
    ] = False,
) -> None:
    """Check queries, and the columns they use.

    With --schema the columns and types of a file of events are checked too; nothing is counted.
    """
    if columns is not None and schema is None:
        raise wrong("--columns is for a file of events", "add --schema EVENTS")
    found = None if schema is None else inputs.events_of(schema, columns)
    empty = None if found is None else found.empty()
    failed = False
    for given in query:
        try:
            sources = inputs.read_queries(given)
            errors = _mistakes(ask, sources, empty)
        except SparkleeneError as error:  # there is no such file
            errors = [error]
        for one in errors:
            print(one.short() if short else rendered(one), file=sys.stderr)
        failed = failed or bool(errors)
        if not errors:
            if found is not None:
                hint(ask.of(sources), found)
            note(f"{given if len(given.split()) == 1 else 'query'}: ok")
    if failed:
        raise typer.Exit(1)


def _mistakes(ask: Ask, sources: Sequence[Source], empty: Any) -> list[SparkleeneError]:
    """Return what is wrong with queries and the columns they use: with each of them, or else with all together."""
    if len(sources) > 1 and (errors := [error for one in sources for error in _mistakes(ask, [one], empty)]):
        return errors
    try:
        asked = ask.of(sources)
        if empty is not None:
            asked.run(empty)
    except SparkleeneError as error:
        return [error]
    return []


@app.command(epilog=EXAMPLES["generate"])
def generate(
    name: Annotated[
        Literal["activity", "clicks", "cluster", "homes", "rides", "stock", "traffic"],
        typer.Argument(help="Which stream.", show_default=False),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="PATH", help="A file .parquet, .csv or .json.", show_default=False
        ),
    ],
    events: Annotated[int, typer.Option(metavar="N", help="How many events.")] = 1_000_000,
    seed: Annotated[int, typer.Option(metavar="N", help="Another stream of the same kind.")] = 0,
    groups: Annotated[
        int | None, typer.Option(metavar="N", help="How many companies, drivers, users and so on.")
    ] = None,
    rate: Annotated[float | None, typer.Option(metavar="N", help="Events in a second.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of this stream alone; repeat it for each."),
    ] = None,
) -> None:
    """Write an event stream like those of the papers.

    The same options give the same events.
    """
    from sparkleene.generators import generate as made

    kind = show.format_of(None, output)
    show.check_output(output)
    more: dict[str, Any] = dict(inputs.pairs(option, "--option", "tick=1"))
    with working(f"making {events:,} events"):
        table = made(name, events, seed=seed, groups=groups, rate=rate, **more)
    with working(f"writing {output}"):
        show.write_events(table, kind, output)
    note(f"{output}: {table.num_rows:,} events with columns {', '.join(table.column_names)}")


@app.command(epilog=EXAMPLES["stream"])
@reading
def stream(
    ask: Ask,
    query: QueryText,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A folder that files come into, kafka://HOST:PORT/TOPIC, replay:FILES or generate:NAME.",
            show_default=False,
        ),
    ],
    more: More = None,
    sharing: Shared = None,
    watermark: Annotated[
        str, typer.Option(metavar="DELAY", help="How long to wait for events that come late.")
    ] = "1 minute",
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of the source, such as rate=10000; repeat it."),
    ] = None,
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS", help="The columns, 'time timestamp, type string', or a file like the source's."
        ),
    ] = None,
    columns: Columns = None,
    update: Annotated[
        bool, typer.Option("--update", help="Rows of open windows too, whenever they change.")
    ] = False,
    trigger: Annotated[
        str | None, typer.Option(metavar="INTERVAL", help="The time between batches, such as '5 seconds'.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Take what is there by now, then end.")] = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Write files to a folder, not rows here."),
    ] = None,
    format: Format = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="Where to go on from after a stop; by default in the output folder."
        ),
    ] = None,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Run a query, or several, over a stream.

    Windows are printed or written as they close. Ctrl-C ends it.
    """
    from sparkleene.cli.live import live
    from sparkleene.cli.sources import Wanted

    if output is not None and update:
        raise wrong("files take each window once", "leave out --update or --output")
    kind = format or ("parquet" if output is not None else "table" if sys.stdout.isatty() else "csv")
    if kind == "parquet" and output is None:
        raise wrong("Parquet is for files", "add --output FOLDER")
    if kind == "table" and output is not None:
        raise wrong("tables are not written to folders", "choose --format csv, json or parquet")
    options = inputs.pairs(option, "--option", "rate=10000")
    where = (output, kind, checkpoint, columns)
    asked = ask.several(query, more, sharing)
    live(Wanted(asked, source, options, schema, watermark, update, trigger, once, *where), master, conf)


@app.command()
def demo(
    events: Annotated[
        int, typer.Option(min=1000, metavar="N", help="Events of the largest stream.")
    ] = 1_000_000,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Where data and chart go.")
    ] = "sparkleene-demo",
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Run queries of the papers on Spark.

    The data is made here; they run as a batch and one of them as a stream. It takes a minute or two.
    """
    from sparkleene.cli.demo import demo as shown

    sparks.need()
    shown(events, output, master, conf)


def _version(asked: bool) -> None:
    if asked:
        print(f"sparkleene {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Aggregate event trends, the matches of Kleene patterns, without building them."""
