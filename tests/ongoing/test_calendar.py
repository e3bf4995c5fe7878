"""Windows of days and months of a time zone over streams, over rows in order, and of workloads."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance.strategies import Case
from tests.conformance.test_calendar import COLUMNS, HOUR, calendar_case, run_case
from tests.conformance.test_random import check
from tests.ongoing import test_sorted_rows
from tests.ongoing.test_live import Kept, bounded, early, fed, live_of, streamed

import sparkleene as sk
from sparkleene.engine import cost
from sparkleene.engine.results import write_partial
from sparkleene.ongoing import live as module
from sparkleene.ongoing.live import Bucket

NARROW: list[dict[str, Any]] = [{"adjacent": False}, {"adjacent": True}, {"keys": True}, {"numbers": "exact"}]


def recent(case: Case) -> Case:
    """Return a case whose rows are after the epoch, where the first watermark is."""
    assume(all(row["time"] > 30 * 24 * HOUR for row in case.rows))
    return case


@pytest.mark.parametrize("narrow", NARROW, ids=str)
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=cases(25))
def test_streams(narrow: dict[str, Any], data: st.DataObject, seed: int) -> None:
    case = recent(data.draw(calendar_case(**narrow)))

    def engine(query: sk.Query, table: pa.Table) -> list[dict[str, Any]]:
        assume(bounded(query, table))
        with (
            patch.object(module, "PARTS", 5 * (seed % 5 + 1)),
            patch.object(module, "STEPS", seed % 2),
            patch.object(cost, "matrices_are_smaller", lambda *given: bool(seed % 4)),
        ):
            return streamed(query, table, seed, unit=2 * 10**6 * HOUR)[0]

    check(case, lambda case: run_case(case, *COLUMNS["us"], engine))


@pytest.mark.parametrize("narrow", NARROW[:3], ids=str)
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=cases(25))
def test_early_values(narrow: dict[str, Any], data: st.DataObject, seed: int) -> None:
    case = recent(data.draw(calendar_case(**narrow)))

    def engine(query: sk.Query, table: pa.Table) -> list[dict[str, Any]]:
        assume(bounded(query, table))
        early(query, table, seed)
        return []

    run_case(case, *COLUMNS["us"], engine)


def test_a_day_ends_at_the_local_midnight() -> None:
    """A watermark one microsecond before it does not close the day, one at it does, also when it has 23 hours."""
    query = sk.query("RETURN COUNT(*) PATTERN A WITHIN 1 day SLIDE 1 day", timezone="Europe/Berlin")
    times = [datetime(2024, 3, 31, hour) for hour in (0, 12, 21)]
    rows = pa.table(
        {"time": pa.array(times, pa.timestamp("us")).cast(pa.timestamp("us", "UTC")), "type": ["A"] * 3}
    )
    live, flat = live_of(query, rows)
    bucket = Bucket.load(live, Kept())
    assert not fed(bucket, flat)
    midnight = int(np.datetime64("2024-03-31T22:00", "us").astype(np.int64))
    assert not list(bucket.advance(midnight - 1))
    [evaluated] = bucket.advance(midnight)
    [row] = write_partial(evaluated).to_pylist()
    assert (row["window_end"] - row["window_start"]).total_seconds() == 23 * 3600
    assert not bucket.segments


@pytest.mark.parametrize("narrow", NARROW[:3], ids=str)
@given(data=st.data())
@settings(max_examples=cases(25))
def test_rows_in_order_of_time(narrow: dict[str, Any], data: st.DataObject) -> None:
    case = data.draw(calendar_case(**narrow))

    def engine(query: sk.Query, table: pa.Table) -> list[dict[str, Any]]:
        carry = test_sorted_rows.carried(query, table.schema, data.draw(st.integers(1, 6)))
        rows = test_sorted_rows.as_sorted(carry, table, "time")
        found = [
            write_partial(part) for part in test_sorted_rows.parts(carry, data.draw(test_sorted_rows.cut(rows)))
        ]
        expected = query.run(table)
        if found:
            test_sorted_rows.agree(test_sorted_rows.told(query, carry, found), expected)
        else:
            assert not expected.num_rows
        return []

    run_case(case, *COLUMNS["us"], engine)


@given(data=st.data())
@settings(max_examples=cases(40))
def test_workloads_share_panes(data: st.DataObject) -> None:
    """Days, weeks and months of one zone, and hours, are cut at the borders of all."""
    case = data.draw(calendar_case(adjacent=False, numbers="double"))
    base = case.text.partition(" WITHIN ")[0]
    lengths = st.sampled_from(
        ["1 day SLIDE 1 day", "3 days SLIDE 1 day", "1 week SLIDE 1 week", "1 month SLIDE 1 month",
         "1 year SLIDE 1 quarter", "30 hours SLIDE 7 hours", "1 day SLIDE 2 days", "5 months SLIDE 2 months"]
    )  # fmt: skip
    texts = {
        f"q{i}": f"{base} WITHIN {one}"
        for i, one in enumerate(data.draw(st.lists(lengths, min_size=2, max_size=4)))
    }

    def engine(query: sk.Query, table: pa.Table) -> list[dict[str, Any]]:
        options: Any = query.prepared.options.keywords
        shared = sk.workload(texts, sharing="always", **{k: v for k, v in options.items() if k != "hierarchy"})
        found = shared.run(table).to_pylist()
        for name, text in texts.items():
            alone = sk.query(text, **options).run(table)
            mine = [row for row in found if row["query"] == name]
            wanted = alone.to_pylist()
            assert len(mine) == len(wanted)
            for one, other in zip(mine, wanted, strict=True):
                assert all(one[key] == other[key] or np.isclose(one[key], other[key]) for key in other)
        return []

    run_case(replace(case, numbers="double"), *COLUMNS["us"], engine)
