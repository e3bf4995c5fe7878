"""Rows that come in any order up to a watermark, in any split, give what their whole table gives."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies
from tests.conformance.test_random import Case, Rows, check, compiled, same, table
from tests.runs import flatten, lower_run, run_of

import sparkleene as sk
from sparkleene.columns.ipc import to_bytes
from sparkleene.columns.keys import buckets
from sparkleene.engine import cost
from sparkleene.engine.results import add_partial, write_partial, write_results
from sparkleene.engine.run import Run
from sparkleene.ongoing import live as module
from sparkleene.ongoing import segments
from sparkleene.ongoing.live import Bucket, Live, Packed
from sparkleene.ongoing.seal import seal

TIMED = ("tumbling", "sliding", "hopping", "trigger")
DRAWN = ("session", "from max")
START = 1_000  # no row is before the first watermark


class Kept(dict[int, bytes]):
    """A store in memory."""

    def head(self) -> bytes | None:
        return self.get(-1)

    def set_head(self, kept: bytes) -> None:
        self[-1] = kept

    def blob(self, number: int) -> bytes | None:
        return self.get(number)

    def set_blob(self, number: int, kept: bytes) -> None:
        assert number not in self
        self[number] = kept

    def remove(self, number: int) -> None:
        del self[number]


def live_of(query: sk.Query, rows: pa.Table) -> tuple[Live, pa.Table]:
    """Return a query as it runs over a stream, and the rows as it gets them."""
    run = run_of(query, rows.column_names)
    low = lower_run(run)
    flat = flatten(run, low, rows)
    for k in low.plan.needed_keys:
        flat = flat.filter(flat.column(low.plan.bound.keys[k].path[0]).is_valid())
    return Live(Run(low.part, low.options), flat.schema, {"query": query.text}), flat


def streamed(
    query: sk.Query, rows: pa.Table, seed: int, count: int = 3, unit: int = 1, most: int = 6
) -> tuple[Rows, list[Kept]]:
    """Run rows through buckets: shuffled within a delay, in batches, the state read anew for every one.

    Delays are so many times the `unit`, and watermarks far beyond all rows a million times. There are at most so
    many batches.
    """
    live, flat = live_of(query, rows)
    chance = random.Random(seed)
    times = live.times(flat)
    delay = chance.choice([0, 1, 3, 20]) * unit
    order = np.argsort(times + np.array([chance.uniform(0, delay) for _ in times]), kind="stable")
    flat, times = flat.take(pa.array(order)), times[order]
    keys = [live.plan.bound.keys[k].path[0] for k in live.plan.shuffle_keys]
    owner = buckets(flat, keys, count) if keys and flat.num_rows else np.zeros(flat.num_rows, int)
    cuts = split(chance, flat.num_rows, most)
    kept = [Kept() for _ in range(count)]
    watermark, found = 0, []
    for begin, end in [*pairwise(cuts), (0, 0)]:
        for number, store in enumerate(kept):
            mine = np.flatnonzero(owner[begin:end] == number) + begin
            bucket = Bucket.load(live, store)
            if mine.size:
                part, at = flat.take(pa.array(mine)), times[mine]
                half = chance.randint(0, mine.size)
                for some in (slice(0, half), slice(half, None)):
                    if at[some].size:
                        piece = part.take(pa.array(np.arange(mine.size)[some]))
                        given = (int(at[some].min()), int(at[some].max()))
                        assert not bucket.add(seal(to_bytes(piece)), piece.num_rows, *given)
                bucket.tidy()
                bucket.save()
            bucket = Bucket.load(live, store)
            found += [write_partial(evaluated) for evaluated in bucket.advance(watermark)]
            bucket.save()
        if end:
            watermark = max(watermark, int(times[:end].max()) - delay - 1)
        if end == flat.num_rows:
            watermark = 10**6 * unit
    assert all(set(store) <= {-1} for store in kept), kept
    if not any(part.num_rows for part in found):
        return [], kept
    whole = add_partial(
        live.plan,
        pa.concat_tables(found, promote_options="permissive"),
        query.prepared.options.for_engine().numbers,
    )
    names = ["window_start", "window_end", *live.plan.bound.group_names]
    windows = [tuple(row[n] for n in names) for part in found for row in part.to_pylist()]
    if set(live.plan.shuffle_keys) <= set(live.plan.bound.group):
        assert len(windows) == len(set(windows))
    order = ["window_start", *live.plan.bound.group_names, "window_end"]  # as in this process
    return whole.sort_by([(name, "ascending") for name in order]).to_pylist(), kept


def split(chance: random.Random, count: int, most: int = 6) -> list[int]:
    """Return where so many rows are cut into batches."""
    return sorted({0, count, *(chance.randint(0, count) for _ in range(chance.randint(0, most)))})


def later(case: Case) -> Case:
    """Return a case whose rows are late enough for a watermark before them."""
    rows = tuple({**row, "time": row["time"] + START} for row in case.rows)
    return Case(case.text, rows, case.time, case.type, case.tiebreak, case.offset, case.numbers)


def bounded(query: sk.Query, rows: pa.Table) -> bool:
    """Tell whether the trends of a window depend on its own rows alone."""
    plan = query.prepared.plan_for(tuple(rows.column_names))
    return all(key.labels is None or key.labels & plan.mandatory for key in plan.bound.keys)


KINDS: list[dict[str, Any]] = [
    {"semantics": semantics, "negation": negation, "adjacent": adjacent}
    for semantics in strategies.SEMANTICS
    for negation in (False, True)
    for adjacent in (False, True)
]
KINDS += [{"kinds": (window,)} for window in TIMED]
KINDS += [{feature: True} for feature in ("conjunction", "keys", "tiebreak")]
KINDS += [{"numbers": numbers} for numbers in ("double", "exact")]
KINDS += [{"once": True}, {"once": True, "keys": True}]
KINDS += [{"measured": True, "adjacent": adjacent} for adjacent in (False, True)]
KINDS += [{"whole": ("length",)}, {"whole": ("duration", "ends", "general")}]


DRAWN_KINDS: list[dict[str, Any]] = [
    {"kinds": (window,), "keys": keys} for window in DRAWN for keys in (None, True)
]
DRAWN_KINDS += [{"kinds": DRAWN, "once": True}]


@pytest.mark.parametrize("kind", KINDS + DRAWN_KINDS, ids=str)
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=cases(30))
def test_streams(kind: dict[str, Any], data: st.DataObject, seed: int) -> None:
    case = later(data.draw(strategies.case(**{"kinds": TIMED + DRAWN, **kind})))

    def run(case: Case) -> Rows:
        query = compiled(case)
        assume(bounded(query, table(case)))
        with (
            patch.object(module, "FEW", seed % 3 + 2),
            patch.object(module, "PARTS", 5 * (seed % 5 + 1)),
            patch.object(module, "STEPS", seed % 2),
            patch.object(module, "MANY_PANES", 1 if seed % 3 else 64),
            patch.object(module, "LESS", seed % 2),
            patch.object(module, "LARGE", 1),
            patch.object(module, "FAN", 2),
            patch.object(segments, "FAN", 2),
            patch.object(cost, "matrices_are_smaller", lambda *given: bool(seed % 4)),
        ):
            return streamed(query, table(case), seed)[0]

    check(case, run)


def early(query: sk.Query, rows: pa.Table, seed: int) -> None:
    """Compare early values after every batch with those of a table of the rows so far."""
    live, flat = live_of(query, rows)
    chance = random.Random(seed)
    order = list(range(flat.num_rows))
    chance.shuffle(order)
    flat = flat.take(pa.array(order, pa.int64()))
    names = ["window_start", "window_end", *live.plan.bound.group_names]
    store, shown = Kept(), {}
    for begin, end in pairwise(split(chance, flat.num_rows)):
        part = flat.slice(begin, end - begin)
        times = live.times(part)
        bucket = Bucket.load(live, store)
        assert not bucket.add(seal(to_bytes(part)), part.num_rows, int(times.min()), int(times.max()))
        for evaluated in bucket.evaluate_early(part):
            for row in write_results(evaluated, not live.plan.machine.monotone).to_pylist():
                shown[tuple(row[name] for name in names)] = row
        bucket.save()
        wanted = write_results(live.run.evaluate(flat.slice(0, end))).to_pylist()
        there = {key: row for key, row in shown.items() if Fraction(row["n"]) != 0}
        assert there.keys() == {tuple(row[name] for name in names) for row in wanted}
        for row in wanted:
            found = there[tuple(row[name] for name in names)]
            for name, value in row.items():
                assert same(found[name], value), f"{name}: {found} is not {row}"


@pytest.mark.parametrize("kind", [k for k in KINDS if k != {"kinds": ("trigger",)}], ids=str)
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=cases(30))
def test_early_values(kind: dict[str, Any], data: st.DataObject, seed: int) -> None:
    case = later(data.draw(strategies.case(**{"kinds": TIMED[:3], **kind})))
    query = compiled(case)
    assume(bounded(query, table(case)))
    early(query, table(case), seed)


QUERY = "RETURN k, COUNT(*) PATTERN SEQ(A+, B) WHERE [k] GROUP-BY k WITHIN 100 SLIDE 20"


def rows_of(times: Any, seed: int = 0) -> pa.Table:
    """Return rows of A and B at some times, of a few keys."""
    rng = np.random.default_rng(seed)
    times = np.asarray(times)
    return pa.table(
        {
            "time": times,
            "type": rng.choice(["A", "B"], times.size),
            "k": rng.integers(0, 5, times.size),
            "x": rng.integers(0, 9, times.size),
        }
    )


def fed(bucket: Bucket, flat: pa.Table) -> int:
    """Give a bucket rows; return how many were late."""
    times = bucket.live.times(flat)
    return bucket.add(seal(to_bytes(flat)), flat.num_rows, int(times.min()), int(times.max()))


@pytest.mark.parametrize("text", [QUERY, QUERY.replace("[k]", "[k] AND A.x < NEXT(A).x")], ids=["folds", "rows"])
def test_the_state_does_not_grow_with_the_stream(text: str) -> None:
    query, store, sizes, found = sk.query(text), Kept(), [], 0
    whole = [rows_of(np.arange(5 * b, 5 * b + 10) + 1, b) for b in range(500)]
    for b, batch in enumerate(whole):
        live, flat = live_of(query, batch)
        bucket = Bucket.load(live, store)
        assert fed(bucket, flat) == 0
        bucket.tidy()
        for evaluated in bucket.advance(5 * b - 10):
            found += write_results(evaluated).num_rows
        bucket.save()
        sizes.append((len(store), sum(map(len, store.values())), len(store[-1])))
    for place in range(3):
        column = [size[place] for size in sizes]
        assert max(column[250:]) <= 1.2 * max(column[60:250])
    assert max(size[0] for size in sizes) < 60
    wanted = query.run(pa.concat_tables(whole))
    assert found == sum(end <= 5 * 499 - 10 for end in wanted.column("window_end").to_pylist())


def test_late_rows_are_dropped_and_counted() -> None:
    query, store = sk.query(QUERY), Kept()
    live, flat = live_of(query, rows_of([500, 600, 700]))
    bucket = Bucket.load(live, store)
    assert fed(bucket, flat) == 0
    list(bucket.advance(650))
    bucket.save()
    bucket = Bucket.load(live, store)
    assert fed(bucket, live_of(query, rows_of([649, 650, 651, 10, 900]))[1]) == 3
    assert sum(segment.rows for segment in bucket.segments) == 5
    assert fed(bucket, live_of(query, rows_of([1, 2]))[1]) == 2


def test_parcels_of_a_batch_become_one_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    live, flat = live_of(sk.query(QUERY), rows_of(np.arange(400)))
    parts = [flat.slice(start, 100) for start in (0, 100, 200, 300)]
    counted = np.arange(100) % 2 == 0
    packed = [Packed(seal(to_bytes(part)), 100, int(live.times(part).min()), int(live.times(part).max()), counted)
              for part in parts]  # fmt: skip
    one_by_one, together = Bucket(live, Kept(), seen=149), Bucket(live, Kept(), seen=149)
    late = sum(one_by_one.add(*each) for each in packed)
    assert together.add_all(packed) == late == 75
    assert [segment.rows for segment in together.segments] == [250]
    whole = pa.concat_tables([one_by_one.read(segment) for segment in one_by_one.segments])
    assert together.read(together.segments[0]).equals(whole)
    monkeypatch.setattr("sparkleene.ongoing.live.TOGETHER", 2 * len(packed[0].kept) + 8)
    apart = Bucket(live, Kept(), seen=-1)
    assert apart.add_all(packed) == 0
    assert [segment.rows for segment in apart.segments] == [200, 200]
    assert apart.add_all([]) == 0 and len(apart.segments) == 2


def test_a_head_tells_its_batch() -> None:
    live, _ = live_of(sk.query(QUERY), rows_of(np.arange(4)))
    store = Kept()
    for batch, before in ((None, -1), (7, None), (9, 7), (None, 9), (11, None)):
        bucket = Bucket.load(live, store)
        assert bucket.before == before
        bucket.batch = batch
        bucket.save()


def test_silent_substreams_are_forgotten() -> None:
    store = Kept()
    live, flat = live_of(sk.query(QUERY), rows_of(np.arange(1, 500)))
    bucket = Bucket.load(live, store)
    fed(bucket, flat)
    assert sum(e.windows.key.size for e in bucket.advance(10_000)) > 0
    bucket.save()
    assert set(store) == {-1} and len(store[-1]) < 200


def test_a_backfill_reads_its_rows_once_and_keeps_those_of_open_windows() -> None:
    store = Kept()
    live, flat = live_of(sk.query(QUERY), rows_of(np.arange(1, 100_000)))
    bucket = Bucket.load(live, store)
    fed(bucket, flat)
    windows = [write_results(e) for e in bucket.advance(99_990)]
    assert len(windows) == 1 and windows[0].num_rows > 4_900
    assert sum(segment.rows for segment in bucket.segments) <= 2 * 130


def test_a_changed_query_is_named() -> None:
    store = Kept()
    live, flat = live_of(sk.query(QUERY), rows_of([500]))
    bucket = Bucket.load(live, store)
    fed(bucket, flat)
    bucket.save()
    other = replace(live, identity={"query": QUERY.replace("A+", "A")})
    with pytest.raises(sk.DataError, match=r"query-changed.*other query(.|\n)*A\+, B(.|\n)*A, B"):
        Bucket.load(other, store)


@pytest.mark.parametrize("which", ["head", "segment", "missing"])
def test_damage_is_found(which: str) -> None:
    store = Kept()
    live, flat = live_of(sk.query(QUERY), rows_of(np.arange(500, 520)))
    bucket = Bucket.load(live, store)
    fed(bucket, flat)
    bucket.save()
    number = -1 if which == "head" else 0
    if which == "missing":
        del store[0]
    else:
        store[number] = store[number][:-3] + b"?" + store[number][-2:]
    with pytest.raises(sk.DataError, match="damaged-state"):
        list(Bucket.load(live, store).advance(1000))


def test_keys_stay_in_their_buckets() -> None:
    """A checkpoint relies on it: the same in every process, on every machine, in every release."""

    def spread(*columns: list[Any]) -> list[int]:
        names = [f"k{i}" for i in range(len(columns))]
        table = pa.table([pa.array(column) for column in columns], names=names)
        return buckets(table, names, 1000).tolist()

    assert spread([0, 1, -5, 2**40]) == [0, 884, 168, 912]
    assert spread(["", "a", "Zürich"]) == [0, 971, 150]
    assert spread([0.0, -0.0, 1.5, -2.25]) == [0, 0, 344, 128]
    assert spread([True, False]) == [884, 0]
    assert spread([b"\x00\xff"]) == [708]
    assert spread([date(2024, 3, 4)]) == [892]
    assert spread([Decimal("1.10")]) == [468]
    assert spread([1, 2], ["a", "b"]) == [208, 698]


def test_of_groups_that_fall_silent_nothing_is_kept() -> None:
    for window in ("SESSION 30", "SESSION 30 MAX 60", "FROM type = 'A' TO x > 6 MAX 60"):
        query, store = sk.query(f"RETURN k, COUNT(*) PATTERN SEQ(A+, B) GROUP-BY k WITHIN {window}"), Kept()
        found, sizes, whole = [], [], []
        for b in range(200):  # each group has rows for a while, and then never again
            batch = rows_of(np.arange(10 * b, 10 * b + 10) + 1, b)
            keys = pa.array(np.arange(10) % 3 + b // 10 * 3)
            batch = batch.set_column(batch.column_names.index("k"), "k", keys)
            whole.append(batch)
            live, flat = live_of(query, batch)
            bucket = Bucket.load(live, store)
            assert fed(bucket, flat) == 0
            bucket.tidy()
            found += [row for e in bucket.advance(10 * b) for row in write_results(e).to_pylist()]
            bucket.save()
            sizes.append(sum(segment.rows for segment in bucket.segments))
        assert max(sizes[100:]) <= max(sizes[:100]) < 400
        bucket = Bucket.load(live, store)
        found += [row for e in bucket.advance(10_000) for row in write_results(e).to_pylist()]
        assert not bucket.segments
        wanted = query.run(pa.concat_tables(whole)).to_pylist()
        assert sorted(found, key=lambda row: (row["window_start"], row["k"])) == wanted
