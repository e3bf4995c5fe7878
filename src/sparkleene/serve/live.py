"""A query over a stream, watched: events are replayed in the order in which they come, windows told as they end."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns.ipc import to_bytes
from sparkleene.engine.having import finish_rows
from sparkleene.engine.results import write_results
from sparkleene.engine.run import Run
from sparkleene.errors import Diagnostic, QueryError, report_faults
from sparkleene.ongoing.live import Bucket, Live
from sparkleene.ongoing.seal import seal
from sparkleene.query import Query
from sparkleene.serve.plain import columns_of, rows_of
from sparkleene.serve.queries import compile_query
from sparkleene.serve.worker import Context
from sparkleene.spark.lower import Lowering, lower, lower_table
from sparkleene.threads import threads_of

STEP = 0.25  # seconds between batches
MOST = 300  # rows of a batch that are sent to the page
SEED = 7


class Kept(dict[int, bytes]):
    """The state of a stream, in memory."""

    def head(self) -> bytes | None:
        """Return the head, None for a new bucket."""
        return self.get(-1)

    def set_head(self, kept: bytes) -> None:
        """Keep the bytes that say where the stream is."""
        self[-1] = bytes(kept)

    def blob(self, number: int) -> bytes | None:
        """Return the blob of a segment."""
        return self.get(number)

    def set_blob(self, number: int, kept: bytes) -> None:
        """Keep the blob of a segment."""
        self[number] = bytes(kept)

    def remove(self, number: int) -> None:
        """Let the blob of a segment go."""
        del self[number]


class Player:
    """A query over rows that come piece by piece, in this process."""

    def __init__(self, q: Query, table: pa.Table) -> None:
        """Take the query and all rows that will come."""
        from sparkleene.evaluation import PreparedWorkload

        prepared = PreparedWorkload({"query": q.prepared})
        read = prepared.read(table)
        [part] = prepared.parts(read.columns)
        self.q, self.place = q, q.prepared.place
        type = read.table.schema.field(q.time).type
        if not pa.types.is_timestamp(type):
            help = "choose data whose times are timestamps"
            raise QueryError(Diagnostic("unsupported-data", "the times of a stream are timestamps", help=help))
        self.bound = q.prepared.plan_for(read.columns).bound
        if self.bound.window is None or self.bound.window.unit == "events":
            help = "add WITHIN 5 minutes SLIDE 5 minutes"
            raise QueryError(
                Diagnostic("unsupported-stream", "a query over a stream needs windows of time", help=help)
            )
        options = q.prepared.options.for_engine(type.tz)
        run = Run(part, options, threads_of(None))
        low = lower(run.part, run.options, Lowering(lambda term: True, True, {}))
        rows = lower_table(run.part, low, read.table, run.options, 1)
        for k in low.plan.needed_keys:
            rows = rows.filter(rows.column(low.plan.bound.keys[k].path[0]).is_valid())
        self.live = Live(Run(low.part, low.options, threads_of(None)), rows.schema, {"query": q.text})
        self.rows = rows
        self.times = self.live.times(rows)
        self.store = Kept()
        self.bucket = Bucket.load(self.live, self.store)
        self.watermark: int | None = None
        self.late = 0
        self.newest: int | None = None

    @property
    def second(self) -> int:
        """How many units of time a second has."""
        return self.live.clock(1000)

    def feed(self, which: Any, delay: float) -> pa.Table | None:
        """Take rows, let the watermark follow the latest of them, and return the windows that end."""
        times = self.times[which]
        if times.size:
            kept = seal(to_bytes(self.rows.take(pa.array(which))))
            self.late += self.bucket.add(kept, int(times.size), int(times.min()), int(times.max()))
            self.newest = max(int(times.max()), self.newest or int(times.min()))
        tables = []
        if self.newest is not None:
            mark = self.newest - round(delay * self.second)
            if self.watermark is None or mark > self.watermark:
                self.watermark = mark
                with report_faults(self.place):
                    tables = [write_results(one) for one in self.bucket.advance(mark)]
        self.bucket.tidy()
        self.bucket.save()
        found = pa.concat_tables(tables, promote_options="permissive") if tables else None
        if found is None:
            return None
        return finish_rows(self.bound, found, self.q.prepared.options.numbers, self.place)

    @property
    def state(self) -> int:
        """The bytes of the state."""
        return sum(map(len, self.store.values()))


def run_live(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """Play events as a stream until they end, and send windows as they close."""
    if body.get("engine") == "spark" or str(body["data"]["name"]).startswith("kafka:"):
        from sparkleene.serve.live_spark import run_live_on_spark

        return run_live_on_spark(context, body)
    q = compile_query(body)
    context.tell(phase="reading the events")
    player = Player(q, context.table(body["data"]))
    speed, delay = float(body.get("speed", 60)), float(body.get("delay", 10))
    jitter = float(body.get("shuffle", 0)) * np.random.default_rng(SEED).random(player.times.size)
    first = int(player.times.min()) if player.times.size else 0
    arrival = (player.times - first) / player.second + jitter
    order = np.argsort(arrival, kind="stable")
    arrival = arrival[order]
    taken, clock, windows = 0, 0.0, 0
    last = time.monotonic()
    while taken < order.size:
        time.sleep(STEP)
        if context.pipe.poll():
            last += wait_while_paused(context)
        now = time.monotonic()
        clock, last = clock + (now - last) * speed, now
        upto = int(np.searchsorted(arrival, clock, "right"))
        begin = time.perf_counter()
        found = player.feed(order[taken:upto], delay)
        spent = time.perf_counter() - begin
        count = upto - taken
        taken = upto
        windows += 0 if found is None else found.num_rows
        send_windows(context, found)
        context.tell(
            stats={
                "rows": taken,
                "of": int(order.size),
                "rate": count / max(spent, 1e-6) if count else 0.0,
                "arriving": count / STEP,
                "watermark": show_time(player),
                "state": player.state,
                "late": player.late,
                "windows": windows,
            }
        )
    return {"ended": True, "windows": windows, "late": player.late, "events": taken}


def wait_while_paused(context: Context) -> float:
    """Take what the server says: wait from "pause" to "go on"; return how long that was."""
    begin = time.monotonic()
    while context.pipe.recv() == "pause" or context.pipe.poll():
        pass
    return time.monotonic() - begin


def send_windows(context: Context, found: pa.Table | None) -> None:
    """Send rows of windows that have closed."""
    if found is not None and found.num_rows:
        context.tell(
            columns=columns_of(found.schema), rows=rows_of(found.slice(0, MOST)), more=max(0, found.num_rows - MOST)
        )


def show_time(player: Player) -> str | None:
    """Return the watermark as a time to read."""
    if player.watermark is None:
        return None
    micros = player.watermark * 1_000_000 // player.second
    return str(np.datetime64(micros, "us").astype("M8[s]"))
