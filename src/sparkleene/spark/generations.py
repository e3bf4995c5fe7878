"""A workload that is not the one that a checkpoint has: which parts go on, which end, and which begin.

A part whose queries are all wanted goes on as it is. One with a query that is gone or another ends at a border in
event time: it serves the windows that start before. Those of its queries that stay, and new ones, become parts that
begin at the border. It is after all that was read so far, the watermark and its delay, so that new parts have every
row of their windows. It is decided here, once, and written to the checkpoint before a query starts, see ledger.py.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from pyspark.sql import DataFrame

from sparkleene.engine.run import Run
from sparkleene.errors import DataError, Diagnostic, Place, mistake
from sparkleene.language.bound import Drawn
from sparkleene.ongoing.live import Live
from sparkleene.ongoing.tenure import Tenure
from sparkleene.plan.part import Member, Part
from sparkleene.prepared import PreparedQuery
from sparkleene.spark import batch, streaming
from sparkleene.spark.request import Request, ask_alone, join_requests
from sparkleene.spark.sql.types import empty_table
from sparkleene.spark.state.checkpoint_folder import CheckpointFolder
from sparkleene.spark.state.ledger import (
    Generation,
    KeptPart,
    KeptQuery,
    Moment,
    find_generation,
    find_moment,
    write_generation,
)
from sparkleene.spark.state.standing import Standing, number_parts, spread_keys
from sparkleene.spark.workers import check_workers
from sparkleene.workload.joints import divide_stream, merge_stream
from sparkleene.workload.merge import divide


@dataclass(frozen=True)
class Wanted:
    """The queries of a workload, by name, over a stream with some columns."""

    queries: Mapping[str, PreparedQuery]
    alone: Mapping[str, Request]  # what Spark would be asked of each by itself
    columns: tuple[str, ...]
    sharing: str
    empty: Callable[[Request], pa.Table]  # gives a table without rows, with the columns that a request needs

    def divide(self, names: Sequence[str]) -> list[list[Request]]:
        """Return queries in parts that are evaluated together."""
        if self.sharing == "never":
            return [[self.alone[name]] for name in names]
        members, always = [self.alone[name].part.members[0] for name in names], self.sharing == "always"
        parts = divide_stream(divide(members, always), self.alone[names[0]].options, always)
        return [[self.alone[name] for name in part.names] for part in parts]

    def keep(self, name: str) -> KeptQuery:
        """Return a query as a checkpoint keeps it."""
        query = self.queries[name]
        types = None if query.conditions is None else dict(query.conditions)
        return KeptQuery(name, query.text, types, self.alone[name].checksum)

    def revive(self, kept: KeptQuery, name: str, number: int) -> Request:
        """Return a query as it was, under a name and a number of its own."""
        one = next(iter(self.alone.values()))
        options = replace(next(iter(self.queries.values())).options, types=kept.types, hierarchy=None)
        query = PreparedQuery(kept.text, options, kept.name)
        return ask_alone(name, query, self.columns, one.options, one.output_mode, number=number)

    def make_live(self, request: Request, tenure: Tenure) -> Live:
        """Return a part as it serves its windows."""
        return Live(Run(request.part, request.options), self.empty(request).schema, {}, tenure)


@dataclass(frozen=True)
class Change:
    """What is asked of Spark now, and what the checkpoint's ledger has to say."""

    requests: list[Request]
    generation: Generation
    border: int | None  # event time in milliseconds, None where no query comes or goes
    notes: tuple[str, ...]  # what to tell


def run_from(
    checkpoint: str,
    frame: DataFrame,
    queries: Mapping[str, PreparedQuery],
    alone: Mapping[str, Request],
    sharing: str,
) -> tuple[DataFrame, tuple[str, ...]]:
    """Return the windows of a workload over a stream that goes on from a checkpoint, and what changes with it."""
    check_workers(frame.sparkSession)
    folder = CheckpointFolder.open(checkpoint)

    def empty(request: Request) -> pa.Table:
        batch.check_columns(request, frame)
        return empty_table(frame.schema, request.needed)

    wanted = Wanted(queries, alone, tuple(frame.columns), sharing, empty)
    change = plan_change(wanted, folder, streaming.find_delay(next(iter(alone.values())), frame))
    if change.border is not None:
        check_stream(frame, folder)
    result = streaming.run(change.requests, frame)
    write_generation(folder, change.generation)
    return result, change.notes


def plan_change(wanted: Wanted, folder: CheckpointFolder, delay: int) -> Change:
    """Return what the workload becomes on the checkpoint; `delay` is that of the watermark, in milliseconds."""
    moment = find_moment(folder)
    before = find_generation(folder, moment)
    if before is None:
        now, border = _begin(wanted, moment, delay), None
    else:
        now, border = _change(wanted, before, moment, max(delay, before.delay))
    requests = list(_ask_parts(wanted, now))
    if border is not None:
        now = _close_parts(wanted, requests, now)
        _check_windows(requests)
    return Change(requests, now, border, tuple(_tell(wanted, requests, now, border)))


def _begin(wanted: Wanted, moment: Moment, delay: int) -> Generation:
    """Return the first generation; a checkpoint without a ledger has had the same queries from its beginning."""
    parts = wanted.divide([*wanted.alone])
    update = parts[0][0].output_mode == "update"
    keyed = [bool(spread_keys(_merge(some).plan, update)) for some in parts]
    kept = [
        KeptPart(one.rank, one.turn, one.narrow, 0, tuple(wanted.keep(query.part.names[0]) for query in some))
        for one, some in zip(number_parts(keyed), parts, strict=True)
    ]
    return Generation(0, moment.batch, (None,), delay, len(kept), tuple(kept))


def _change(wanted: Wanted, before: Generation, moment: Moment, delay: int) -> tuple[Generation, int | None]:
    """Return the generation after another, with the border between them, or the same if no query comes or goes."""
    sums = {name: one.checksum for name, one in wanted.alone.items()}
    there = [part for part in before.parts if part.over is None or not _has_ended(part.over, before, moment)]
    kept = [
        part for part in there if part.end is None and all(sums.get(one.name) == one.sum for one in part.queries)
    ]
    served = {one.name for part in kept for one in part.queries}
    fresh = [name for name in wanted.alone if name not in served]
    if not fresh and all(part in kept or part.end is not None for part in there):
        return replace(before, delay=delay, parts=tuple(there)), None
    number, border = before.number + 1, moment.watermark + delay + 1
    parts = [part if part in kept or part.end is not None else replace(part, end=border) for part in there]
    rank = before.ranks
    for some in wanted.divide(fresh) if fresh else ():
        queries = tuple(wanted.keep(one.part.names[0]) for one in some)
        parts.append(KeptPart(rank, rank, False, number, queries, border))
        rank += 1
    arrivals = (*before.arrivals, moment.watermark)
    return Generation(number, moment.batch, arrivals, delay, rank, tuple(parts)), border


def _has_ended(over: int, before: Generation, moment: Moment) -> bool:
    """Tell whether the buckets of a part know that its last window has ended, at a time, and have no timer left.

    They learn it when the watermark moves in the generation that ended the part, or a later one.
    """
    arrival = before.arrivals[-1]
    return over < moment.passed and (arrival is None or arrival < moment.passed)


def _ask_parts(wanted: Wanted, now: Generation) -> Iterator[Request]:
    """Yield what Spark is asked of each part, in the order of their ranks."""
    used, number = set(wanted.alone), len(wanted.alone)
    for part in sorted(now.parts, key=lambda part: part.rank):
        tenure = Tenure(now.number, part.birth, now.arrivals, part.begin, part.end)
        names = tuple(one.name for one in part.queries)
        alone = []
        for one in part.queries:
            if part.end is None:
                alone.append(wanted.alone[one.name])
                continue
            name = f"{one.name} before {_time_text(part.end)}"
            while name in used:
                name += "'"
            used.add(name)
            alone.append(wanted.revive(one, name, number))
            number += 1
        standing = Standing(part.rank, part.turn, part.narrow, tenure, names)
        yield replace(join_requests(_merge(alone), alone, wanted.sharing != "never"), standing=standing)


def _merge(alone: Sequence[Request]) -> Part:
    """Return one part for queries that were found to go together."""
    members: list[Member] = [one.part.members[0] for one in alone]
    if len(members) == 1:
        return alone[0].part
    part = merge_stream(members, always=True)
    if part is None:
        message = f"{', '.join(member.name for member in members)} are no longer evaluated together in this release"
        help = "go on with the release that the checkpoint was written by"
        raise DataError(Diagnostic("state-version", message, help=help))
    return part


def _close_parts(wanted: Wanted, requests: Sequence[Request], now: Generation) -> Generation:
    """Return the same with the time at which the last window of each part that ends has ended."""
    over = {}
    for request in requests:
        rank, *_, tenure, _ = request.standing or Standing()
        if tenure is not None and tenure.end is not None and not isinstance(request.plan.bound.window, Drawn):
            live = wanted.make_live(request, tenure)
            assert live.reach.stop is not None
            over[rank] = live.milliseconds(live.reach.stop)
    parts = [replace(part, over=over.get(part.rank)) for part in now.parts]
    return replace(now, parts=tuple(parts))


def _check_windows(requests: Sequence[Request]) -> None:
    """Raise if windows that rows draw would begin or end at a border: where they lie depends on rows before."""
    for request in requests:
        tenure = request.standing.tenure if request.standing is not None else None
        if tenure is not None and tenure.is_bounded and isinstance(request.plan.bound.window, Drawn):
            names = ", ".join(request.standing.names if request.standing is not None else ())
            message = f"{names}: sessions and windows with FROM neither come nor go while a stream runs"
            help = "run the query beside this workload, from a checkpoint of its own"
            notes = ("where such a window begins depends on rows before the change",)
            raise request.place.mistake("unsupported-stream", message, help=help, notes=notes)


def _tell(wanted: Wanted, requests: Sequence[Request], now: Generation, border: int | None) -> Iterator[str]:
    """Yield what becomes of the queries that come, change or go."""
    if border is None:
        return
    ends = {
        name for one in requests if one.standing is not None and one.standing.tenure is not None
        for name in one.standing.names if one.standing.tenure.end == border
    }  # fmt: skip
    sums = {one.name: one.sum for part in now.parts if part.end == border for one in part.queries}
    for request in requests:
        standing = request.standing
        if standing is None or standing.tenure is None or standing.tenure.birth != now.number:
            continue
        live = wanted.make_live(request, standing.tenure)
        for place, name in enumerate(standing.names):
            if sums.get(name) == wanted.alone[name].checksum:
                continue  # it goes on, in other company
            begin = live.find_begin(place)
            first = border if begin is None else live.milliseconds(begin)
            also = "; until then it is what it was" if name in ends else ""
            yield f"'{name}' begins with the window at {_time_text(first)}{also}"
    for name in sorted(ends - set(wanted.alone)):
        yield f"'{name}' ends: its last windows are those that start before {_time_text(border)}"


def _time_text(milliseconds: int) -> str:
    """Return a time as people write it, in UTC.

    >>> _time_text(1709510400000), _time_text(1709510400250)
    ('2024-03-04 00:00:00', '2024-03-04 00:00:00.250')
    """
    time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    return time.strftime("%Y-%m-%d %H:%M:%S") + (f".{milliseconds % 1000:03}" if milliseconds % 1000 else "")


# ---- what cannot be


def check_stream(frame: DataFrame, folder: CheckpointFolder) -> None:
    """Raise if a workload cannot change now: its query runs, or the watermark does not tell what was read."""
    if "metadata" in folder.names:
        id = json.loads(folder.read("metadata")).get("id")
        if any(str(one.id) == id for one in frame.sparkSession.streams.active):
            message = "a query runs from the checkpoint, and would go on while its workload changes"
            raise mistake(message, "stop it first, then call run, then start what it returns")
    if len(folder.folders("state")) > 1:
        message = "there is another stateful operator in the stream, so the watermark does not tell what was read"
        raise Place().mistake("unsupported-stream", message, help="change the workload from a new checkpoint")
    shown = io.StringIO()
    with redirect_stdout(shown):
        frame.explain(True)
    analyzed = shown.getvalue().partition("== Analyzed Logical Plan ==")[2].partition("\n== ")[0]
    if analyzed.count("EventTimeWatermark") > 1:
        message = "the stream has several watermarks, so none of them tells what was read"
        help = "set one watermark, after the streams are united, or change the workload from a new checkpoint"
        raise Place().mistake("unsupported-stream", message, help=help)
