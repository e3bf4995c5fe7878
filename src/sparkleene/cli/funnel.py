"""The command that runs a funnel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from sparkleene.cli import inputs, output_files
from sparkleene.cli.engines import check_engine, choose_engine
from sparkleene.cli.evaluate import check_picture, count_events, run_on_spark, write_chart
from sparkleene.cli.failures import usage_error
from sparkleene.cli.options import (
    FILES,
    Compiler,
    Conf,
    Engine,
    Format,
    Master,
    Output,
    Plot,
    PlotFile,
    with_reading_options,
)
from sparkleene.cli.progress import note, print_warnings, show_progress
from sparkleene.cli.results import explain_no_trends, summary
from sparkleene.funnel import Funnel
from sparkleene.funnel.queries import AnyOrder, Order, Touch

NAMED = re.compile(r"\s*(\w[\w ]*?)\s*=(?!=)\s*(.*)", re.DOTALL)


@with_reading_options
def funnel(
    compiler: Compiler,
    reader: inputs.Reader,
    events: Annotated[str, typer.Argument(metavar="EVENTS", help=FILES, show_default=False)],
    steps: Annotated[
        list[str],
        typer.Argument(
            metavar="STEP", help="Event types, patterns, or conditions NAME=PREDICATE.", show_default=False
        ),
    ],
    by: Annotated[
        list[str],
        typer.Option(metavar="COLUMN", help="What tells users apart; repeat it for each.", show_default=False),
    ],
    within: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="The longest time from the first event to the last.")
    ] = None,
    session: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="All steps in one session; a longer pause ends it.")
    ] = None,
    every: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="A funnel for each window of this length.")
    ] = None,
    window: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="How long windows are, if longer than --every.")
    ] = None,
    order: Annotated[Order, typer.Option(help="What may come between steps.")] = "any",
    touch: Annotated[Touch, typer.Option(help="Which events of a step count.")] = "every",
    any_order: Annotated[AnyOrder, typer.Option(help="Which steps may be done in any order.")] = "none",
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="What must not come between steps; STEP=PATTERN on the way to one."),
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="PREDICATE", help="A condition on all events; repeat it for each.")
    ] = None,
    breakdown: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A funnel for each value; repeat it for each.")
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(metavar="MEASURE", help="users, trends or times; by default all. Repeat it for each."),
    ] = None,
    engine: Engine = "auto",
    output: Output = None,
    format: Format = None,
    plot: Plot = False,
    plot_file: PlotFile = None,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Tell how many users come how far along some steps."""
    kind = output_files.choose_format(format, output)
    if output is not None:
        output_files.check_output(output)
    check_picture(plot_file)
    check_engine(engine, master, conf)
    options: dict[str, Any] = {**compiler.options, "within": within, "session": session}
    options |= {"every": every, "window": window, "order": order, "touch": touch, "any_order": any_order}
    options |= {"exclude": _exclude(exclude or []), "where": where or (), "breakdown": breakdown or ()}
    options |= {"measures": measure} if measure else {}
    asked = Funnel([_step(one) for one in steps], by, **options)
    found = reader.open(events, compiler.time)
    engine = choose_engine(engine, found, master, conf)
    drawn = plot or plot_file is not None
    if engine == "local":
        with show_progress(f"counting users in {count_events(found)}") as line, print_warnings(line):
            result = asked.run(found)
    else:
        folder = output if output is not None and output_files.is_folder(output) and not drawn else None
        result = run_on_spark(asked, [events], found, master, conf, kind, folder)
        if result is None:
            return
    output_files.write(result, kind, output)
    note(summary(result, output))
    if not any(result.column("users").to_pylist()):
        explain_no_trends(asked, found, types=engine == "spark")
    if drawn:
        write_chart(asked.plot(result), plot, plot_file)


def _step(given: str) -> str | Mapping[str, str]:
    """Return a step, a condition with its name.

    >>> _step("View V+"), _step("Till=page = '/till'")
    ('View V+', {'Till': "page = '/till'"})
    """
    named = NAMED.fullmatch(given)
    return given if named is None else {named[1]: named[2]}


def _exclude(given: list[str]) -> Any:
    """Return what must not come between steps: everywhere, or on the way to some.

    >>> _exclude(["Remove"]), _exclude(["Buy=Remove", "Buy=Error"])
    (['Remove'], {'Buy': ['Remove', 'Error']})
    """
    named = [NAMED.fullmatch(one) for one in given]
    if not any(named):
        return given
    found: dict[str, list[str]] = {}
    for one in named:
        if one is None:
            help = "write STEP=PATTERN for each, or for none"
            raise usage_error("some of --exclude name a step, and some do not", help)
        found.setdefault(one[1], []).append(one[2])
    return found
