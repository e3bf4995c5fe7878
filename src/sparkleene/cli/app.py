"""The commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from sparkleene import __version__
from sparkleene.charts.trend_picture import TrendPicture
from sparkleene.cli import inputs, output_files, show
from sparkleene.cli.engines import check_engine, choose_engine
from sparkleene.cli.evaluate import check_picture, count_events, run_on_spark, write_chart
from sparkleene.cli.examples import EXAMPLES
from sparkleene.cli.failures import render_error, report_failures, usage_error
from sparkleene.cli.funnel import funnel
from sparkleene.cli.options import (
    Compiler,
    Conf,
    Engine,
    Events,
    Format,
    Master,
    More,
    Output,
    Plot,
    PlotFile,
    Queries,
    QueryText,
    Shared,
    Stats,
    queries_of,
    with_reading_options,
)
from sparkleene.cli.progress import note, print_warnings, show_progress
from sparkleene.cli.results import draw_charts, explain_no_trends, hint_unknown_types, key_names, summary
from sparkleene.cli.serve import serve
from sparkleene.cli.spark_session import describe_jobs, require_pyspark, start_spark
from sparkleene.columns.files import is_event_file
from sparkleene.errors import Place, SparkleeneError
from sparkleene.plan.trend_selection import Order
from sparkleene.query import Query
from sparkleene.workload import Workload


class Commands(TyperGroup):
    """The commands; what goes wrong in one is printed."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with report_failures():
            return super().invoke(ctx)


app = typer.Typer(
    name="sparkleene",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Exit codes: 0 done, 1 an error in query, data or Spark, 2 a wrong command line, 130 interrupted,"
    " 141 nobody reads on.",
)


@app.command(epilog=EXAMPLES["run"])
@with_reading_options
def run(
    compiler: Compiler,
    reader: inputs.Reader,
    query: QueryText,
    events: Events,
    more: More = None,
    sharing: Shared = None,
    engine: Engine = "auto",
    output: Output = None,
    format: Format = None,
    plot: Plot = False,
    plot_file: PlotFile = None,
    plot_value: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What to draw; by default the first aggregate.")
    ] = None,
    stats: Stats = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Run a query, or several, over files of events."""
    kind = output_files.choose_format(format, output)
    if output is not None:
        output_files.check_output(output)
    check_picture(plot_file)
    check_engine(engine, master, conf)
    asked = compiler.several(query, more, sharing)
    names = dict.fromkeys(name for q in queries_of(asked) for name in q.plan.bound.value_names)
    if isinstance(asked, Workload) and plot_file is not None:
        raise usage_error("a picture is of one query", "leave out --plot-file; --plot draws them all as text")
    _check_stats(asked, stats, master)
    if plot_value is not None and plot_value not in names:
        raise usage_error(f"the result has no aggregate '{plot_value}'", f"choose from {', '.join(names)}")
    drawn = plot or plot_file is not None
    found = reader.open(events, compiler.time)
    engine = choose_engine(engine, found, master, conf)
    if engine == "local":
        with show_progress(f"counting trends in {count_events(found)}") as line, print_warnings(line):
            result = asked.run(found)
    else:
        folder = output if output is not None and output_files.is_folder(output) and not drawn else None
        result = run_on_spark(asked, events, found, master, conf, kind, folder)
        if result is None:
            _tell_stats(asked, stats)
            return
    output_files.write(result, kind, output)
    note(summary(result, output))
    if not result.num_rows:
        explain_no_trends(asked, found, types=engine == "spark")
    _tell_stats(asked, stats)
    for chart in draw_charts(result, asked, plot_value) if drawn else ():
        write_chart(chart, plot, plot_file)


def _check_stats(asked: Query | Workload, wanted: bool, master: str | None) -> None:
    if wanted and not isinstance(asked, Workload):
        raise usage_error("--stats is for several queries", "leave it out, or add one: --query FILE")
    if wanted and (master or "").startswith("sc://"):
        raise usage_error("tasks of Spark Connect cannot report what they share", "leave out --stats")


def _tell_stats(asked: Query | Workload, wanted: bool) -> None:
    if wanted and isinstance(asked, Workload):
        print(asked.stats, file=sys.stderr)


app.command("funnel", epilog=EXAMPLES["funnel"])(funnel)


@app.command(epilog=EXAMPLES["trends"])
@with_reading_options
def trends(
    compiler: Compiler,
    reader: inputs.Reader,
    query: QueryText,
    events: Events,
    limit: Annotated[
        int, typer.Option(min=0, metavar="N", help="How many; but for the first, of each window and group.")
    ] = 20,
    order: Annotated[Order, typer.Option(help="Which trends: sample draws them at random.")] = "first",
    seed: Annotated[int, typer.Option(metavar="N", help="Another sample for another number.")] = 0,
    plot_file: Annotated[
        str | None, typer.Option("--plot-file", metavar="PATH", help="A picture of them: SVG, PNG or PDF.")
    ] = None,
    engine: Engine = "auto",
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Show the trends behind a number, a line each."""
    check_engine(engine, master, conf)
    q = compiler.one(query)
    given = reader.open(events, compiler.time)
    engine = choose_engine(engine, given, master, conf)
    if engine == "local":
        with show_progress(f"looking for trends in {count_events(given)}") as line, print_warnings(line):
            if plot_file is not None:
                _save(q.plot_trends(given, limit=limit, order=order, seed=seed), plot_file)
                return
            found = q.trends(given, limit=limit, order=order, seed=seed)
    else:
        with show_progress("starting Spark") as line, start_spark(master, conf) as spark:
            line.text = "looking for trends"
            line.more = lambda: describe_jobs(spark)
            data = events if given.kind == "parquet" else inputs.read_frame(spark, given)
            if plot_file is not None:
                _save(q.plot_trends(data, limit=limit, order=order, seed=seed, engine="spark"), plot_file)
                return
            found = q.trends(data, limit=limit, order=order, seed=seed, engine="spark").toArrow()
    for row in found.to_pylist():
        print(show.trend_line(row, q.plan.bound.group_names, q.time, key_names(q)))
    if not found.num_rows and limit:
        explain_no_trends(q, given, types=engine == "spark")
    note(show.tell_how_many(found.column("trends"), limit, order))


def _save(picture: TrendPicture, plot_file: str) -> None:
    """Write a picture, whole or not at all."""
    with output_files.replace_file(plot_file) as path:
        picture.save(path)


@app.command(epilog=EXAMPLES["why"])
@with_reading_options
def why(
    compiler: Compiler,
    reader: inputs.Reader,
    query: QueryText,
    events: Events,
    group: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="A value of a key; repeat it for each.")
    ] = None,
    window: Annotated[
        str | None, typer.Option(metavar="TIME", help="A time in the window that is meant; by default all.")
    ] = None,
) -> None:
    """Tell why a group has no trend, or few: which step nobody passed, and what each condition holds back."""
    q = compiler.one(query)
    given = reader.open(events, compiler.time)
    chosen = inputs.parse_pairs(group, "--group", "user=ann")
    with show_progress(f"looking at {count_events(given)}") as line, print_warnings(line):
        found = q.why(given, group=chosen, window=window)
    print(found)


@app.command(epilog=EXAMPLES["explain"])
@with_reading_options
def explain(
    compiler: Compiler,
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
        raise usage_error("both --dot and --svg are given", "leave one of them out")
    asked = compiler.several(query, more, sharing)
    if isinstance(asked, Workload):
        if dot or svg:
            raise usage_error("a picture is of one query", f"leave out --{'dot' if dot else 'svg'}")
        text = asked.explain()
    else:
        text = (asked.to_dot() if dot else asked.to_svg() if svg else asked.explain()).rstrip("\n")
    if output is None:
        print(text)
        return
    with output_files.replace_file(output) as path:
        Path(path).write_text(text + "\n", encoding="utf_8")


@app.command(epilog=EXAMPLES["check"])
@with_reading_options
def check(
    compiler: Compiler,
    reader: inputs.Reader,
    query: Queries,
    schema: Annotated[
        str | None, typer.Option(metavar="EVENTS", help="A file of events whose columns the queries should fit.")
    ] = None,
    short: Annotated[
        bool, typer.Option("--short", help="An error is one line, file:line:column, for editors.")
    ] = False,
) -> None:
    """Check queries, and the columns they use.

    With --schema, or with files of events among the queries, their columns and types are checked too; nothing is
    counted.
    """
    events = [given for given in query if is_event_file(given)]
    query = [given for given in query if given not in events]
    if not query:
        raise usage_error(f"'{events[0]}' is a file of events", "give a query too: sparkleene check QUERY EVENTS")
    events += [] if schema is None else [schema]
    if reader != inputs.Reader() and not events:
        raise usage_error("--columns and its like are for a file of events", "add --schema EVENTS")
    found = reader.open(events, compiler.time) if events else None
    empty = None if found is None else found.empty()
    failed = False
    for given in query:
        try:
            sources = inputs.read_queries(given)
            errors = _find_errors(compiler, sources, empty)
        except SparkleeneError as error:  # there is no such file
            errors = [error]
        for one in errors:
            print(one.short() if short else render_error(one), file=sys.stderr)
        failed = failed or bool(errors)
        if not errors:
            if found is not None:
                hint_unknown_types(compiler.compile(sources), found)
            note(f"{given if len(given.split()) == 1 else 'query'}: ok")
    if failed:
        raise typer.Exit(1)


def _find_errors(compiler: Compiler, sources: Sequence[Place], empty: Any) -> list[SparkleeneError]:
    """Return what is wrong with queries and the columns they use: with each of them, or else with all together."""
    if len(sources) > 1 and (
        errors := [error for one in sources for error in _find_errors(compiler, [one], empty)]
    ):
        return errors
    try:
        asked = compiler.compile(sources)
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
        typer.Option("--output", "-o", metavar="PATH", help="A file .parquet, .csv or .json.", show_default=False),
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
    from sparkleene.generators import generate as generate_table

    kind = output_files.choose_format(None, output)
    output_files.check_output(output)
    more: dict[str, Any] = dict(inputs.parse_pairs(option, "--option", "tick=1"))
    with show_progress(f"making {events:,} events"):
        table = generate_table(name, events, seed=seed, groups=groups, rate=rate, **more)
    with show_progress(f"writing {output}"):
        output_files.write_events(table, kind, output)
    note(f"{output}: {table.num_rows:,} events with columns {', '.join(table.column_names)}")


@app.command(epilog=EXAMPLES["stream"])
@with_reading_options
def stream(
    compiler: Compiler,
    reader: inputs.Reader,
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
    headers: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES", help="Headers of Kafka's messages that become columns, such as device,trace."
        ),
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Rows of open windows too, whenever they change.")
    ] = False,
    trigger: Annotated[
        str | None, typer.Option(metavar="INTERVAL", help="The time between batches, such as '5 seconds'.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Take what is there by now, then end.")] = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FOLDER", help="Write files to a folder, not rows here.")
    ] = None,
    format: Format = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Where to go on from after a stop; by default in the output folder."),
    ] = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Take up the file of queries again whenever it was edited.")
    ] = False,
    stats: Stats = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Run a query, or several, over a stream.

    Windows are printed or written as they close. Ctrl-C ends it.
    """
    from sparkleene.cli.stream import run_stream
    from sparkleene.cli.stream_sources import StreamRequest
    from sparkleene.cli.watch import Watch

    if output is not None and update:
        raise usage_error("files take each window once", "leave out --update or --output")
    kind = format or ("parquet" if output is not None else "table" if sys.stdout.isatty() else "csv")
    if kind == "parquet" and output is None:
        raise usage_error("Parquet is for files", "add --output FOLDER")
    if kind == "table" and output is not None:
        raise usage_error("tables are not written to folders", "choose --format csv, json or parquet")
    options = inputs.parse_pairs(option, "--option", "rate=10000")
    names = tuple(name.strip() for name in headers.split(",")) if headers else ()
    if watch and once:
        raise usage_error("--watch goes on until it is stopped", "leave out --watch or --once")
    seen = Watch(query, lambda: compiler.workload(query, more, sharing)) if watch else None
    where = (output, kind, checkpoint, reader, names, seen, stats)
    asked = compiler.several(query, more, sharing) if seen is None else seen.queries
    _check_stats(asked, stats, master)
    run_stream(
        StreamRequest(asked, source, options, schema, watermark, update, trigger, once, *where), master, conf
    )


app.command("serve", epilog=EXAMPLES["serve"])(serve)


@app.command()
def demo(
    events: Annotated[int, typer.Option(min=1000, metavar="N", help="Events of the largest stream.")] = 1_000_000,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Where data and chart go.")
    ] = "sparkleene-demo",
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Answer questions about streams that it makes.

    Each is shown in words, as a query, and with what the numbers mean; the last one runs on Spark, too, and live,
    if PySpark is installed. It takes less than a minute.
    """
    from sparkleene.cli.demo import run_demo

    run_demo(events, output, master, conf)


@app.command()
def doctor(no_spark: Annotated[bool, typer.Option("--no-spark", help="Leave Java and Spark out.")] = False) -> None:
    """Tell what is installed here and what is wrong with it.

    It runs a small query in this process and on Spark. The exit code is 1 if something is wrong.
    """
    from sparkleene.cli.doctor import run_doctor

    if not run_doctor(spark=not no_spark):
        raise typer.Exit(1)


@app.command()
def warm(
    spark: Annotated[
        bool, typer.Option("--spark", help="Also keep Spark's classes, so that sessions start in half the time.")
    ] = False,
) -> None:
    """Compile all kernels for this machine now, so that no query waits for it later.

    Where the package has prebuilt kernels for the machine there is nothing to do. Spark's classes take about 200 MB
    in your cache folder.
    """
    from sparkleene.kernels.build import compile_all, count_forms
    from sparkleene.kernels.store import describe, prebuilt_folder

    if prebuilt_folder() is None:
        count = count_forms()
        with show_progress("compiling") as line:
            for done, _ in enumerate(compile_all([{}] * (os.cpu_count() or 1)), 1):
                line.text = f"compiling: {done} of {count} kernels"
    print(f"kernels: {describe()}")
    if spark:
        require_pyspark()
        from sparkleene.cli.spark_classes import keep_classes
        from sparkleene.spark.session import find_java

        with show_progress("starting Spark once, to keep its classes"):
            kept = keep_classes(find_java()[0])
        print(f"Spark's classes: {kept}")


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
