"""Windows of many panes over streams: what is settled is put together and taken apart, results stay the same."""

from __future__ import annotations

import json
import random
import zlib
from base64 import b64decode
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases, rest
from tests.conformance.strategies import Case
from tests.conformance.test_random import compare, compiled, same, table
from tests.ongoing.test_live import Kept, fed, later, live_of, rows_of, streamed

import sparkleene as sk
from sparkleene.engine import cost
from sparkleene.engine.results import write_results
from sparkleene.ongoing import live as module
from sparkleene.ongoing import segments
from sparkleene.ongoing.live import Bucket, Live
from sparkleene.ongoing.segments import PENDING, ROWS, UNITS, WHOLE, Segment, find_joint, split

ASKED = [
    "RETURN COUNT(*), SUM(A.f), MIN(A.f) PATTERN SEQ(A+, B)",
    "RETURN k, COUNT(*), AVG(B.x), MAX(A.f) PATTERN SEQ(A, B, A) WHERE [k] GROUP-BY k",
    "RETURN k, COUNT(A), MAX(LENGTH) PATTERN SEQ(A, NOT C, B) WHERE [k] GROUP-BY k",
    "RETURN k, COUNT(*), SUM(B.x) PATTERN SEQ(A+, B) SEMANTICS skip-till-next-match WHERE [k] GROUP-BY k",
    "RETURN COUNT(*), MIN(B.f) PATTERN SEQ(A+, B) SEMANTICS contiguous WHERE [k]",
    "RETURN COUNT(*), AVG(DURATION) PATTERN SEQ(A, B) | C",
]


def draw_rows(chance: random.Random, count: int, span: int) -> tuple[dict[str, Any], ...]:
    """Return rows in so long a time, with ties, NULLs, and now and then a gap."""
    times = [chance.randrange(span) for _ in range(count)]
    gap = chance.randrange(span)
    return tuple(
        {
            "time": at + (span if at > gap and chance.random() < 0.9 else 0),
            "type": chance.choice("AABBC"),
            "k": chance.choice([1, 1, 2, 3, None]),
            "x": chance.choice([None, *range(9)]),
            "f": chance.choice([None, 0.5, 1.0, 4.0]),
        }
        for at in times
    )


def settle_often(chance: random.Random) -> Any:
    """Patch what decides how state is kept, so that a few rows are many."""
    kinds = chance.random()

    def are_smaller(plan: Any, columns: int, rows: int, count: int, times: int = 1) -> bool:
        return times == 0 or chance.random() < kinds

    fan = chance.choice([2, 3, 8])
    return (
        patch.object(module, "PARTS", chance.choice([2, 4, 16])),
        patch.object(module, "MANY_PANES", 1),
        patch.object(module, "LARGE", chance.choice([1, 4, 16])),
        patch.object(module, "LESS", chance.choice([1, 2])),
        patch.object(module, "FAN", fan),
        patch.object(segments, "FAN", fan),
        patch.object(cost, "matrices_are_smaller", are_smaller),
    )


def run(query: sk.Query, rows: pa.Table, seed: int, batches: int) -> list[dict[str, Any]]:
    """Run rows through buckets in some batches."""
    chance = random.Random(seed)
    patches = settle_often(chance)
    for one in patches:
        one.start()
    try:
        return streamed(query, rows, seed, chance.choice([1, 3]), most=batches)[0]
    finally:
        for one in patches:
            one.stop()


@pytest.mark.parametrize("text", ASKED)
@given(seed=st.integers(0, 2**32), size=st.integers(8, 120), slide=st.sampled_from([1, 2, 5]))
@settings(max_examples=cases(20))
def test_few_rows(text: str, seed: int, size: int, slide: int) -> None:
    rows = draw_rows(random.Random(seed), 9, 60)
    case = later(Case(f"{text} WITHIN {size * slide} SLIDE {slide}", rows, "time", "type", None, 0, "double"))
    compare(run(compiled(case), table(case), seed, 12), case.expected())


@pytest.mark.parametrize("text", ASKED)
@given(seed=st.integers(0, 2**32), size=st.integers(20, 400), slide=st.sampled_from([1, 3]))
@settings(max_examples=cases(20))
def test_many_rows(text: str, seed: int, size: int, slide: int) -> None:
    rows = draw_rows(random.Random(seed), 400, 500)
    case = later(Case(f"{text} WITHIN {size * slide} SLIDE {slide}", rows, "time", "type", None, 0, "double"))
    query = compiled(case)
    found, wanted = run(query, table(case), seed, 60), query.run(table(case)).to_pylist()
    assert len(found) == len(wanted)
    for row, expected in zip(found, wanted, strict=True):
        assert all(same(row[name], value) for name, value in expected.items()), (row, expected)


COUNTED = "RETURN k, COUNT(*), SUM(A.x) PATTERN SEQ(A, B) WHERE [k] GROUP-BY k WITHIN {panes} SLIDE 1"


STEP = 8  # panes of a batch


def advanced(panes: int, rate: int) -> tuple[list[int], list[int], list[int]]:
    """Run a stream for two windows; return what windows read in batches of the second, what is written and kept."""
    query, store = sk.query(COUNTED.format(panes=panes)), Kept()
    whole = rows_of(1 + np.arange(2 * panes * rate) // rate)
    found: list[dict[str, Any]] = []
    read, written, kept = [], [], []
    for begin in range(0, whole.num_rows, STEP * rate):
        live, flat = live_of(query, whole.slice(begin, STEP * rate))
        bucket = Bucket.load(live, store)
        fed(bucket, flat)
        with (
            patch.object(Live, "evaluate", autospec=True, side_effect=Live.evaluate) as reader,
            patch.object(Bucket, "_put", autospec=True, side_effect=Bucket._put) as writer,
        ):
            for evaluated in bucket.advance(begin // rate + STEP - 2):
                found += write_results(evaluated).to_pylist()
        tables = [table for call in reader.call_args_list for table in (call.args[1].rows, *call.args[1].units)]
        read.append(sum(table.num_rows for table in tables))
        written.append(sum(call.args[3] for call in writer.call_args_list if call.args[1] != PENDING))
        kept.append(sum(segment.rows for segment in bucket.segments))
        bucket.save()
    wanted = [row for row in query.run(whole).to_pylist() if row["window_end"] <= found[-1]["window_end"]]
    found.sort(key=lambda row: (row["window_start"], row["k"]))
    assert len(found) == len(wanted)
    assert all(same(a[name], b[name]) for a, b in zip(found, wanted, strict=True) for name in b)
    half = len(read) // 2
    return read[half:], written[half:], kept[half:]


@pytest.mark.parametrize("rate", [40, *rest([20])], ids=["units", "rows"])
def test_what_is_read_grows_with_the_logarithm_of_panes(rate: int) -> None:
    with patch.object(module, "LARGE", 16):
        short, long = (advanced(panes, rate) for panes in (128, 1024))
    fine = {20: 20, 40: 5}[rate]  # rows or units of a pane that are kept
    assert np.mean(long[0]) < 1.7 * np.mean(short[0])
    assert np.mean(long[0]) < fine * 1024 / 8  # where a first and a last sixteenth are read by panes
    assert np.mean(long[1]) < 6 * fine * STEP
    assert max(long[2]) < 1.3 * fine * 1024


def test_state_of_the_version_before_goes_on() -> None:
    kept = json.loads((Path(__file__).parent / "fixtures" / "long_windows_before.json").read_text())
    store = Kept({int(number): zlib.decompress(b64decode(blob)) for number, blob in kept["state"].items()})
    query, whole = sk.query(kept["text"]), rows_of(1 + np.arange(8000) // 40)
    found: list[dict[str, Any]] = []
    with patch.object(module, "LARGE", 16):
        for begin in range(kept["rows"], whole.num_rows, 80):
            live, flat = live_of(query, whole.slice(begin, 80))
            bucket = Bucket.load(live, store)
            assert fed(bucket, flat) == 0
            for evaluated in bucket.advance((begin + 80) // 40 - 2):
                found += write_results(evaluated).to_pylist()
            bucket.save()
    found.sort(key=lambda row: (row["window_start"], row["k"]))
    last = found[-1]["window_end"]
    wanted = [row for row in query.run(whole).to_pylist() if kept["watermark"] < row["window_end"] <= last]
    assert len(found) == len(wanted) > 200
    assert all(same(a[name], b[name]) for a, b in zip(found, wanted, strict=True) for name in b)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=cases(40))
def test_few_segments_of_each_size(seed: int) -> None:
    """Segments are put together as numbers are counted: how many there are, and how often a row is moved."""
    chance = random.Random(seed)
    longest, moved, kept = 1000, 0, list[Segment]()
    total = at = 0
    for number in range(600):
        rows, length = chance.randint(1, 40), chance.randint(0, 5)
        at += length + (chance.randrange(2000) if chance.random() < 0.01 else 0)
        kept.append(Segment(number, chance.choice([ROWS, UNITS]), rows, at - length, at, 0))
        at, total = at + 1, total + rows
        while parts := find_joint(kept, longest):
            assert len(parts) > 1 and parts[-1].last - parts[0].first <= longest
            assert [
                s for s in sorted(kept, key=lambda s: s.first) if parts[0].first <= s.first <= parts[-1].last
            ] == parts
            rows = sum(s.rows for s in parts)
            moved += rows
            joint = Segment(10_000 + number, UNITS, rows, parts[0].first, parts[-1].last, 0)
            kept = [s for s in kept if s not in parts] + [joint]
        here = [s for s in kept if s.last > at - longest]
        assert len(here) < 8 * 7
    assert moved < 6 * total


def test_the_first_piece_is_small() -> None:
    panes = np.repeat(np.arange(1000, 5000), 3)
    np.random.default_rng(0).shuffle(panes)
    pieces = list(split(panes, 1100, 60))
    assert sorted(np.concatenate(pieces).tolist()) == np.flatnonzero(panes >= 1100).tolist()
    ends = [(panes[piece].min(), panes[piece].max()) for piece in pieces]
    assert all(before[1] < after[0] for before, after in pairwise(ends))
    assert pieces[0].size <= 60 and len(pieces) < 3 * segments.FAN + 2
    assert [piece.tolist() for piece in split(np.array([5, 5, 5]), 5, 1)] == [[0, 1, 2]]


def test_a_sum_of_a_segment_is_not_a_row() -> None:
    assert not find_joint([Segment(n, WHOLE, 5, n, n, 0) for n in range(99)], 1000)
