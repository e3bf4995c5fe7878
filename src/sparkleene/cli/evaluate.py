"""What commands that evaluate queries over files have in common: Spark, and charts of results."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

from sparkleene.charts import Drawable
from sparkleene.cli import inputs, output_files
from sparkleene.cli.failures import usage_error
from sparkleene.cli.options import Asked
from sparkleene.cli.progress import show_progress
from sparkleene.cli.results import sort_rows
from sparkleene.cli.spark_session import describe_jobs, start_spark
from sparkleene.columns.files import Files


def count_events(events: Files) -> str:
    """Return how many events there are, for a person who waits, where the files tell it at once."""
    rows = events.rows if sys.stderr.isatty() else None
    return "events" if rows is None else f"{rows:,} events"


def run_on_spark(
    asked: Asked, events: list[str], found: Files, master: str | None, conf: Any, kind: str, folder: str | None
) -> Any:
    """Return the result on Spark by query, window and group, or have it written to a folder."""
    many = count_events(found)
    with show_progress("starting Spark") as line, start_spark(master, conf) as spark:
        line.text = f"counting trends in {many}"
        line.more = lambda: describe_jobs(spark)
        frame = asked.run(events if found.kind == "parquet" else inputs.read_frame(spark, found), engine="spark")
        if folder is not None:
            mode = "errorifexists" if "://" in folder else "append"  # a folder here is empty or not there yet
            frame.write.format(kind).option("header", True).mode(mode).save(folder)
            return None
        result = frame.toArrow()
    return sort_rows(result, asked)


def check_picture(path: str | None) -> None:
    """Raise if a picture cannot be written to a file."""
    if path is None:
        return
    output_files.check_output(path, folders=False)
    if not path.lower().endswith((".png", ".svg", ".pdf")):
        raise usage_error(f"'{path}' does not end in .png, .svg or .pdf", "a chart is saved as PNG, SVG or PDF")
    if find_spec("matplotlib") is None:
        help = "pip install 'sparkleene[plot]', in a checkout '.[plot]'; --plot needs nothing"
        raise usage_error("pictures need matplotlib", help, code="missing-matplotlib")


def write_chart(chart: Drawable, printed: bool, path: str | None) -> None:
    """Print a chart, or write a picture of it, or both."""
    if printed:
        print(chart.text(color=sys.stdout.isatty()))
    if path is not None:
        with output_files.replace_file(path) as hidden:
            chart.save(hidden)
