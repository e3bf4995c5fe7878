"""A query over a stream: where its windows go, and how it is doing."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkleene.cli import show
from sparkleene.cli.failures import usage_error
from sparkleene.cli.progress import StatusLine, note, show_progress
from sparkleene.cli.results import sort_rows
from sparkleene.cli.spark_session import few_partitions, start_spark
from sparkleene.cli.stream_sources import StreamRequest, check_request, read_windows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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
        printer = Printer(wanted, line)
        writer = read_windows(spark, wanted).writeStream.option("checkpointLocation", checkpoint)
        writer = writer.outputMode("update" if wanted.update else "append")
        if wanted.once:
            writer = writer.trigger(availableNow=True)
        elif wanted.trigger:
            writer = writer.trigger(processingTime=wanted.trigger)
        if wanted.output is None:
            running = writer.foreachBatch(printer.show).start()
        else:
            running = writer.format(wanted.format).option("header", True).start(wanted.output)
        tally = Tally()
        try:
            while not running.awaitTermination(1):
                tally.update(running.recentProgress)
                line.text = tally.text or line.text
        except Exception:
            if printer.failure is not None:
                raise printer.failure from None
            raise
        finally:
            running.stop()
        tally.update(running.recentProgress)
    if wanted.output is None and not printer.rows:
        print(f"note: no window has ended; the watermark is {tally.mark or 'not known yet'}", file=sys.stderr)
    note(f"{tally.rows:,} events in {tally.batches:,} batches, {tally.late:,} late")


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
        """Print a header before the first rows."""
        self._wanted, self._line = wanted, line
        self._header = True
        self.rows = 0
        self.failure: Exception | None = None

    def show(self, batch: DataFrame, number: int) -> None:
        """Print a batch, in order of windows and groups."""
        try:
            table = batch.toArrow()
            self.rows += table.num_rows
            if table.num_rows:
                table = sort_rows(table, self._wanted.query)
                with self._line.aside():
                    show.write_text(table, self._wanted.format, sys.stdout, self._header)
                    sys.stdout.flush()
                self._header = False
        except Exception as error:
            self.failure = error  # Spark would tell it in other words
            raise


@dataclass
class Tally:
    """What a stream has done so far, from the progress of its batches."""

    rows: int = 0
    late: int = 0
    batches: int = 0
    text: str = ""
    mark: str = ""
    last: str = ""

    def update(self, progress: Sequence[Any]) -> None:
        """Take in what is new, by the time at which it began: an idle stream reports the batch to come, too."""
        for one in progress:
            if one.timestamp <= self.last:
                continue
            self.last = one.timestamp
            self.batches += "addBatch" in one.durationMs
            self.rows += one.numInputRows
            self.late += sum(row["late_rows"] for row in (one.observedMetrics or {}).values())
            state = sum(store.memoryUsedBytes for store in one.stateOperators)
            mark = (one.eventTime or {}).get("watermark", "")  # 2024-03-04T00:41:30.301Z
            self.mark = mark[:19].replace("T", " ") if mark[:4] > "1970" else ""
            parts = [
                f"{self.rows:,} events",
                f"{one.processedRowsPerSecond:,.0f}/s",
                f"watermark {self.mark}" if self.mark else "no watermark yet",
                f"state {size(state)}",
                f"{self.late:,} late",
            ]
            self.text = " · ".join(parts)


def size(count: float) -> str:
    """Return a number of bytes to read.

    >>> size(800), size(3_500_000)
    ('800 B', '3.5 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
