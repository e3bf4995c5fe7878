"""A query over a stream: where its windows go, and how it is doing."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkleene.cli import show
from sparkleene.cli.failures import usage_error
from sparkleene.cli.progress import StatusLine, note, print_warnings, show_progress
from sparkleene.cli.results import sort_rows
from sparkleene.cli.spark_session import few_partitions, start_spark
from sparkleene.cli.stream_sources import StreamRequest, check_request, read_windows
from sparkleene.cli.watch import tell_failure
from sparkleene.errors import SparkleeneError
from sparkleene.spark.status import read_status, to_text
from sparkleene.spark.tally import Tally
from sparkleene.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PATIENCE = 60.0
"""Seconds without a row after which the command says why."""


def run_stream(wanted: StreamRequest, master: str | None, conf: Sequence[str] | None) -> None:
    """Run a query over a stream until it ends or is interrupted."""
    if wanted.output is None and (master or "").startswith("sc://"):
        raise usage_error("rows of a stream on Spark Connect are not printed here", "add --output FOLDER")
    check_request(wanted)
    with (
        show_progress("starting Spark") as line,
        open_checkpoint(wanted) as checkpoint,
        start_spark(master, conf, few_partitions(master)) as spark,
    ):
        line.text = f"waiting for events from {wanted.source}"
        stream = Running(wanted, spark, checkpoint, line)
        printer, report, quiet = stream.printer, stream.report, Quiet()
        try:
            while not stream.wait():
                if quiet.is_over(report.sent + printer.rows) and report.notes:
                    with line.aside():
                        print(f"note: no row for a while: {report.notes[0]}", file=sys.stderr)
        except Exception:
            if printer.failure is not None:
                raise printer.failure from None
            raise
        finally:
            stream.query.stop()
        report.update(stream.query.recentProgress)
    if wanted.output is None and not printer.rows:
        print(f"note: no window has ended; the watermark is {report.mark or 'not known yet'}", file=sys.stderr)
        for text in report.notes:
            print(f"note: {text}", file=sys.stderr)
    note(f"{report.rows:,} events in {report.batches:,} batches, {report.late:,} late")
    if wanted.stats and isinstance(printer.query, Workload):
        print(printer.query.stats, file=sys.stderr)


class Running:
    """A stream that runs, and is started anew when the file of its queries was edited."""

    def __init__(self, wanted: StreamRequest, spark: SparkSession, checkpoint: str, line: StatusLine) -> None:
        """Start it."""
        self._wanted, self._spark, self._checkpoint, self._line = wanted, spark, checkpoint, line
        self.printer, self.report = Printer(wanted, line), Report()
        self.query = self._start(wanted)

    def _start(self, wanted: StreamRequest) -> StreamingQuery:
        with print_warnings(self._line):
            windows = read_windows(self._spark, wanted, self._checkpoint)
        writer = windows.writeStream.option("checkpointLocation", self._checkpoint)
        writer = writer.outputMode("update" if wanted.update else "append")
        if wanted.once:
            writer = writer.trigger(availableNow=True)
        elif wanted.trigger:
            writer = writer.trigger(processingTime=wanted.trigger)
        self.printer.query = wanted.query
        if wanted.output is None:
            return writer.foreachBatch(self.printer.show).start()
        return writer.format(wanted.format).option("header", True).start(wanted.output)

    def wait(self) -> bool:
        """Wait a second, and tell whether the stream has ended; take up queries that were edited."""
        ended = self.query.awaitTermination(1)
        self.report.update(self.query.recentProgress)
        self._line.text = self.report.text or self._line.text
        watch = self._wanted.watch
        edited = None if watch is None or ended else watch.look(self._line)
        if edited is not None:
            self._change(replace(self._wanted, query=edited))
        return bool(ended)

    def _change(self, wanted: StreamRequest) -> None:
        """Stop, and go on with other queries, or with those before if a stream cannot be asked the others.

        A batch that is interrupted is done again, with the same rows for queries that were there before.
        """
        self.query.stop()
        self.report.update(self.query.recentProgress)
        try:
            self.query = self._start(wanted)
            self._wanted = wanted
        except SparkleeneError as error:
            tell_failure(error, self._line)
            self.query = self._start(self._wanted)


@contextmanager
def open_checkpoint(wanted: StreamRequest) -> Iterator[str]:
    """Yield the folder of the checkpoint: the one asked for, one in the output folder, or one for this run."""
    if wanted.checkpoint is None and wanted.output is None:
        folder = tempfile.mkdtemp(prefix="sparkleene-")
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    place = wanted.checkpoint or os.path.join(str(wanted.output), "_checkpoint")
    if "://" not in place:
        place = str(Path(place).absolute())
        if Path(place).is_dir():
            from sparkleene.spark import check_checkpoint

            check_checkpoint(place)
    yield place


class Printer:
    """Prints the rows of each batch."""

    def __init__(self, wanted: StreamRequest, line: StatusLine) -> None:
        """Print a header before the first rows, and where columns have changed."""
        self._line, self._format = line, wanted.format
        self._columns: list[str] = []
        self._last = -1
        self.query = wanted.query
        self.rows = 0
        self.failure: Exception | None = None

    def show(self, batch: DataFrame, number: int) -> None:
        """Print a batch, in order of windows and groups, unless it was printed before a stop."""
        if number <= self._last:
            return
        try:
            table = batch.toArrow()
            self.rows += table.num_rows
            if table.num_rows:
                table = sort_rows(table, self.query)
                with self._line.aside():
                    show.write_text(table, self._format, sys.stdout, table.column_names != self._columns)
                    sys.stdout.flush()
                self._columns = table.column_names
            self._last = number
        except Exception as error:
            self.failure = error  # Spark would tell it in other words
            raise


@dataclass
class Report(Tally):
    """What a stream has done so far, in words."""

    text: str = ""
    mark: str = ""
    notes: tuple[str, ...] = ()  # why there is no row

    def update(self, progress: Sequence[Any]) -> None:
        """Take in what is new."""
        if self.count(progress):
            found = read_status(progress, "waiting for events")
            self.notes = found.notes
            self.mark = "" if found.watermark is None else to_text(found.watermark)
            self.text = " · ".join([f"{self.rows:,} events", found.line, f"{self.late:,} late"])


class Quiet:
    """Tells when a stream has sent no row for a while, so that a person may wonder why."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        """Count the time from now on."""
        self._now, self._since = now, now()
        self._rows, self._patience = 0, PATIENCE

    def is_over(self, rows: int) -> bool:
        """Tell whether to say something, after a while without new rows, then after twice as long."""
        if rows > self._rows:
            self._rows, self._since, self._patience = rows, self._now(), PATIENCE
        if self._now() - self._since < self._patience:
            return False
        self._since, self._patience = self._now(), 2 * self._patience
        return True
