"""Windows of days, weeks, months, quarters and years in time zones: what Python's own calendar says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies
from tests.conformance.engines import through_tasks
from tests.conformance.strategies import KINDS, Case
from tests.conformance.test_random import check

import sparkleene as sk

EPOCH = datetime(1970, 1, 1)
HOUR = 3_600_000
DAYS = ("1 day", "2 days", "3 days", "1 week", "2 weeks", "10 days")
MONTHS = ("1 month", "2 months", "5 months", "1 quarter", "1 year", "24 months")
STARTS = (
    ("Europe/Berlin", "2024-03-29"),  # 23 hours
    ("Europe/Berlin", "2024-10-26"),  # 25 hours
    ("Europe/Berlin", "1893-03-29"),  # the end of local mean time
    ("America/New_York", "1969-12-20"),
    ("America/Sao_Paulo", "2018-11-02"),  # no midnight
    ("America/Sao_Paulo", "2018-02-16"),  # 23:00 twice
    ("America/St_Johns", "2006-10-28"),  # midnight twice: at 0:01 clocks are set back
    ("Asia/Beirut", "2022-03-25"),
    ("Africa/Cairo", "2010-08-10"),
    ("Pacific/Apia", "2011-12-28"),  # 30 December was left out
    ("Australia/Lord_Howe", "2024-04-05"),  # by half an hour
    ("Asia/Kathmandu", "1985-12-30"),
    ("America/Toronto", "1919-03-29"),  # from 23:30 to 0:30
    ("UTC", "2024-02-27"),
)
UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}


@st.composite
def calendar_case(draw: st.DrawFn, **narrowed: Any) -> Case:
    """Draw a query with windows of a calendar; its times are milliseconds, around a day of odd clocks."""
    drawn = draw(strategies.case(kinds=("none",), **narrowed))
    zone, day = draw(st.sampled_from(STARTS))
    months = draw(st.integers(0, 2)) == 0
    lengths = st.sampled_from(MONTHS if months else DAYS)
    step = draw(st.sampled_from([1, 5, 9, 30, 1000]) if months else st.sampled_from([1, 3, 7, 12, 24])) * HOUR
    begin = (datetime.fromisoformat(day) - EPOCH) // timedelta(milliseconds=1)
    begin += draw(st.sampled_from([0, HOUR, -HOUR, HOUR // 2, HOUR // 60, 1000]))
    return replace(
        drawn,
        text=f"{drawn.text} WITHIN {draw(lengths)} SLIDE {draw(lengths)}",
        rows=tuple(row | {"time": begin + row["time"] * step} for row in drawn.rows),
        offset=draw(st.sampled_from([0, 0, 6 * HOUR, -30 * HOUR, 17 * 24 * HOUR, 1000])),
        timezone=zone,
    )


def run_case(case: Case, kind: pa.DataType, unit: str, engine: Callable[..., Any]) -> list[dict[str, Any]]:
    """Evaluate a case over times of some type; those of the result are milliseconds again."""
    ticks = UNITS[unit]
    kinds: dict[str, Any] = {**KINDS, "time": kind}
    columns = {name: [row.get(name) for row in case.rows] for name in kinds}
    columns["time"] = [row["time"] * ticks // 1000 for row in case.rows]
    table = pa.table({name: pa.array(columns[name], kinds[name]) for name in kinds})
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    words = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
    query = sk.query(
        case.text,
        type=case.type,
        tiebreak=case.tiebreak,
        offset=timedelta(milliseconds=case.offset),
        numbers=case.numbers,  # type: ignore[arg-type]
        timezone=case.timezone,
        time_unit=words[unit] if number else None,  # type: ignore[arg-type]
    )
    rows = engine(query, table)
    for row in rows:
        for name in ("window_start", "window_end"):
            if isinstance(row[name], datetime):
                row[name] = (row[name].replace(tzinfo=None) - EPOCH) // timedelta(milliseconds=1)
            else:
                row[name] = int(row[name] * 1000 // ticks)
    return rows  # type: ignore[no-any-return]


def in_process(query: sk.Query, table: pa.Table) -> list[dict[str, Any]]:
    """Run the in-process engine, and show results by UTC."""
    found = query.run(table)
    for name in ("window_start", "window_end"):
        at = found.column_names.index(name)
        if pa.types.is_timestamp(found.schema.field(at).type):
            plain = found.column(at).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us"))
            found = found.set_column(at, name, plain)
    return found.to_pylist()  # type: ignore[no-any-return]


def in_tasks(query: sk.Query, table: pa.Table) -> list[dict[str, Any]]:
    """Run what the tasks of Spark run."""
    return through_tasks(query, table)


COLUMNS = {
    "us": (pa.timestamp("us", "UTC"), "us"),
    "s": (pa.timestamp("s", "Europe/Berlin"), "s"),
    "ns": (pa.timestamp("ns", "Asia/Tokyo"), "ns"),
    "integers": (pa.int64(), "s"),
    "doubles": (pa.float64(), "ms"),
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("adjacent", [False, True], ids=["linear", "adjacent"])
@given(data=st.data())
@settings(max_examples=cases(30))
def test_types_of_times(column: str, adjacent: bool, data: st.DataObject) -> None:
    case = data.draw(calendar_case(adjacent=adjacent))
    check(case, lambda case: run_case(case, *COLUMNS[column], in_process))


@pytest.mark.parametrize("adjacent", [False, True], ids=["linear", "adjacent"])
@given(data=st.data())
@settings(max_examples=cases(40))
def test_tasks(adjacent: bool, data: st.DataObject) -> None:
    case = data.draw(calendar_case(adjacent=adjacent))
    check(case, lambda case: run_case(case, *COLUMNS["us"], in_tasks))


@pytest.mark.parametrize("adjacent", [False, True], ids=["linear", "adjacent"])
@given(data=st.data())
@settings(max_examples=cases(30))
def test_times_without_a_zone_have_midnights_of_their_own(adjacent: bool, data: st.DataObject) -> None:
    case = replace(data.draw(calendar_case(adjacent=adjacent)), timezone="UTC")
    check(case, lambda case: run_case(case, pa.timestamp("us"), "us", in_process))


DATES = {
    ("Europe/Berlin", "2024-03-31"): 23,
    ("Europe/Berlin", "2024-10-27"): 25,
    ("America/Sao_Paulo", "2018-11-04"): 23,
    ("Australia/Lord_Howe", "2024-04-07"): 24.5,
    ("Asia/Tokyo", "2024-03-31"): 24,
}


@pytest.mark.parametrize(("zone", "day"), DATES)
def test_days_have_23_or_25_hours(zone: str, day: str) -> None:
    noon = datetime.fromisoformat(f"{day}T10:00").replace(tzinfo=UTC)
    table = pa.table({"time": pa.array([noon], pa.timestamp("s", "UTC")), "type": ["A"]})
    query = sk.query("RETURN COUNT(*) PATTERN A WITHIN 1 day SLIDE 1 day", timezone=zone)
    [row] = query.run(table).to_pylist()
    if zone != "Asia/Tokyo":
        assert row["window_end"] - row["window_start"] == timedelta(hours=DATES[zone, day])
    else:
        assert row["window_start"] == datetime(2024, 3, 30, 15, tzinfo=UTC)


@pytest.mark.parametrize("length", ["1 day", "1 week", "1 month", "7 years"])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "+05:30"])
def test_times_far_away_are_in_windows_too(zone: str, length: str) -> None:
    times = [-(10**17), -62_135_596_800, 0, 1_711_843_200, 253_402_300_799, 253_402_300_800, 10**17]
    table = pa.table({"time": pa.array(times), "type": ["A"] * len(times)})
    query = sk.query(
        f"RETURN COUNT(*) PATTERN A WITHIN {length} SLIDE {length}", timezone=zone, time_unit="seconds"
    )
    rows = query.run(table).to_pylist()
    most = {"1 day": 25, "1 week": 7 * 24 + 1, "1 month": 31 * 24 + 1, "7 years": 7 * 366 * 24}[length] * 3600
    for time in times:
        assert (
            sum(row["window_start"] <= time < row["window_end"] <= row["window_start"] + most for row in rows) == 1
        )
