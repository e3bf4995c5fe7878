"""How a stream is doing, and what its next row waits for: read from the progress that Spark keeps of a query."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sparkleene.errors import Diagnostic, SparkleeneError
from sparkleene.spark.source_lag import describe_sources

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

METRICS = "sparkleene"
"""The name under which a stream's own metrics are in the progress of its query, before the name of ours."""

METRIC_NAMES = ("late_rows", "kept_rows", "open_windows", "next_end_ms", "keys", "delay_ms", "batches_apart")
"""The metrics, in their order: Spark Connect gives values without names."""

COUNTED = "late rows are counted here and in observedMetrics; numRowsDroppedByWatermark stays 0"


@dataclass(frozen=True)
class Status:
    """How a stream is doing; `str` of it, or `print`, says it in lines."""

    doing: str
    """What the query does now, in Spark's words, or why it ended."""
    batches: int = 0
    """How many batches the numbers are from: Spark keeps the last hundred."""
    rows: int = 0
    """Events that these batches have read."""
    watermark: datetime | None = None
    newest: datetime | None = None
    """The time of the newest event."""
    next_end: datetime | None = None
    """When the next window ends, by event time; None where no window is open, or rows to come decide it."""
    needed: datetime | None = None
    """The next window's row comes after an event of this time, or a later one."""
    open_windows: int | None = None
    """Windows that are open, in the bucket that has most; None for sessions and windows without SLIDE."""
    keys: int | None = None
    """Sub-streams with rows in the windows that ended last; None before one has."""
    kept_rows: int = 0
    """Rows in the state, or the matrices in their place."""
    state_bytes: int = 0
    late_rows: int = 0
    """Rows that these batches dropped."""
    input_rate: float = 0.0
    done_rate: float = 0.0
    """Events in a second: those that come, and those that a batch gets done."""
    slowest: str | None = None
    """The source that the others, or its own newest rows, are ahead of."""
    notes: tuple[str, ...] = ()
    """What to know, above all why there is no row."""

    @property
    def line(self) -> str:
        """The status in one line."""
        parts = [
            f"{self.done_rate:,.0f}/s",
            f"watermark {to_text(self.watermark)}" if self.watermark else "no watermark yet",
            f"next window ends {to_text(self.next_end)}" if self.next_end else "",
            f"{self.open_windows:,} open" if self.open_windows else "",
            f"state {size(self.state_bytes)}",
        ]
        return " · ".join(part for part in parts if part)

    def __str__(self) -> str:
        """Return all of it in lines."""
        if not self.batches:
            return "\n".join(f"note: {note}" for note in self.notes)
        shown = {
            "doing": self.doing,
            "watermark": _watermark(self),
            "next window": _next_window(self),
            "open windows": "known when they end" if self.open_windows is None else f"{self.open_windows:,}",
            "keys": "known when a window has ended"
            if self.keys is None
            else f"{self.keys:,} in the windows before",
            "state": f"{size(self.state_bytes)}, {self.kept_rows:,} rows or matrices",
            "late rows": f"{self.late_rows:,} in {self.batches:,} batches",
            "events": f"{self.rows:,}, {self.input_rate:,.0f}/s come, {self.done_rate:,.0f}/s can be done",
            "slowest": self.slowest,
        }
        lines = [f"{name:<13} {text}" for name, text in shown.items() if text]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def status(query: StreamingQuery) -> Status:
    """Return how a stream is doing: its watermark, what the next window waits for, its state, late rows.

    Print it where rows do not come: the notes say why.

    Args:
        query: what `writeStream ... .start()` gave, on Spark or on Spark Connect.
    """
    if not hasattr(query, "recentProgress"):
        message = f"a status is of a running query, not of a {type(query).__name__}"
        help = "pass what q.run(df).writeStream ... .start() returns"
        raise SparkleeneError(Diagnostic("bad-option", message, help=help))
    failure = query.exception()
    doing = str(query.status["message"]) if query.isActive else "ended" if failure is None else "failed"
    return read_status(query.recentProgress, doing)


def read_status(progress: Sequence[Mapping[str, Any]], doing: str = "") -> Status:
    """Return what reports of batches say together, the last of them first of all."""
    ran = [one for one in progress if "addBatch" in (one["durationMs"] or {})]
    if not ran:
        return Status(doing, notes=(f"no batch has ended yet: {doing}",))
    metrics = [read_metrics(one["observedMetrics"] or {}) for one in ran]
    if not any(metrics):
        help = "pass the query of q.run(df).writeStream ... .start()"
        raise SparkleeneError(Diagnostic("bad-option", "no query of Sparkleene is in this stream", help=help))
    last = next(each for each in reversed(metrics) if each)
    times = [one["eventTime"] or {} for one in progress]
    mark, ends = read_time(times[-1].get("watermark")), last.get("next_end_ms")
    next_end = None if ends is None else datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=ends)
    found = Status(
        doing,
        len(ran),
        sum(one["numInputRows"] for one in ran),
        mark if mark is not None and mark.timestamp() > 0 else None,
        max((time for each in times if (time := read_time(each.get("max")))), default=None),
        next_end,
        None if next_end is None else next_end + timedelta(milliseconds=last["delay_ms"]),
        last.get("open_windows"),
        next((each["keys"] for each in reversed(metrics) if each.get("keys") is not None), None),
        last.get("kept_rows") or 0,
        sum(one["memoryUsedBytes"] for one in ran[-1]["stateOperators"]),
        sum(each.get("late_rows") or 0 for each in metrics),
        _rate(ran, "inputRowsPerSecond"),
        _rate(ran, "processedRowsPerSecond"),
    )
    slowest, held = describe_sources([one["sources"] for one in progress])
    return replace(found, slowest=slowest, notes=(*_notes(found), *held))


def _notes(found: Status) -> list[str]:
    """Say why there is no row."""
    notes = []
    if not found.rows and not found.kept_rows:
        notes.append("no event has come")
    elif found.needed is not None and (found.newest is None or found.newest < found.needed):
        newest = f"; the newest is at {to_text(found.newest)}" if found.newest else ""
        notes.append(f"the next row waits for an event at {to_text(found.needed)} or later{newest}")
    elif found.needed is not None:
        notes.append("the event that ends the next window is there: its row comes with the next batch")
    elif not found.kept_rows and found.keys is None and found.late_rows < found.rows:
        notes.append("no event so far has a part in a pattern: look at types, conditions and keys")
    if found.late_rows:
        share = "all" if found.late_rows >= found.rows else f"{found.late_rows:,} of {found.rows:,}"
        notes.append(f"{share} rows were late, for which the watermark's delay is too short; {COUNTED}")
    if 0 < found.done_rate < found.input_rate:
        notes.append("events come faster than they are done, so rows come later and later")
    return notes


def _watermark(found: Status) -> str:
    if found.watermark is None:
        return "none yet: it is set after the first batch with events"
    behind = f", {found.newest - found.watermark} behind the newest event" if found.newest else ""
    return f"{to_text(found.watermark)}{behind}"


def _next_window(found: Status) -> str:
    if found.next_end is None:
        return "none is open" if found.open_windows == 0 else "ends where rows to come decide it"
    return f"ends {to_text(found.next_end)}, needs an event at {to_text(found.needed)} or later"


def read_metrics(observed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics of all queries in a stream, as one."""
    found: dict[str, Any] = {}
    for name, row in observed.items():
        if name != METRICS and not name.startswith(f"{METRICS} "):
            continue
        each = row.asDict() if hasattr(row, "asDict") else dict(row)
        if isinstance(each.get("values"), list):  # Spark Connect
            each = dict(zip(METRIC_NAMES, each["values"], strict=False))
        for key, value in each.items():
            if value is not None:
                how = min if key == "next_end_ms" else max if key in ("open_windows", "delay_ms") else operator.add
                found[key] = value if key not in found else how(found[key], value)
    return found


def _rate(reports: Sequence[Mapping[str, Any]], name: str) -> float:
    """Return a rate of the last batch that had rows; it may be absent or no number."""
    value = next((one[name] for one in reversed(reports) if one["numInputRows"]), None)
    return float(value) if value is not None and math.isfinite(value) else 0.0


def read_time(text: str | None) -> datetime | None:
    """Return a time of a report."""
    return None if not text else datetime.fromisoformat(text.replace("Z", "+00:00"))


def to_text(time: datetime | None) -> str:
    """Return a time to read.

    >>> to_text(datetime(2024, 3, 4, tzinfo=UTC)), to_text(datetime(2024, 3, 4, 0, 0, 9, 500_000, tzinfo=UTC))
    ('2024-03-04 00:00:00', '2024-03-04 00:00:09.500')
    """
    if time is None:
        return "unknown"
    return time.isoformat(" ", "milliseconds" if time.microsecond else "seconds")[: 23 if time.microsecond else 19]


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
