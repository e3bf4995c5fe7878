"""CSV and JSON files as other programs write them: delimiters, formats of times, and windows that start later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.chance import rest
from tests.cli.command import EVENTS, LOCAL, QUERY, ROWS, bad, good, sparkleene

SPARK = ("--engine", "spark", "--master", "local[2]")
WINDOWS = "RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN 1 hour SLIDE 1 hour"
EXPORT = """when;type
28.02.2024 09:30;A
28.02.2024 10:15;A
29.02.2024 10:20;A
28.02.2024 10:29;B
"""
GERMAN = ("--time", "when", "--time-format", "%d.%m.%Y %H:%M")


@pytest.fixture(params=[LOCAL, pytest.param(SPARK, marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The options that choose an engine."""
    if request.param == SPARK:
        request.getfixturevalue("commands_share_spark")
    return request.param  # type: ignore[no-any-return]


@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_a_delimiter_is_recognised_and_noted(tmp_path: Path, sign: str, engine: tuple[str, ...]) -> None:
    (tmp_path / "other.csv").write_text(EVENTS.replace(",", sign))
    done = sparkleene("run", QUERY, "other.csv", *engine, cwd=tmp_path)
    shown = "tabs" if sign == "\t" else f"'{sign}'"
    note = f"note: 'other.csv' has {shown} between its cells; --delimiter says what else\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, ROWS, note)
    assert good("run", QUERY, "other.csv", "--delimiter", sign, *engine, cwd=tmp_path) == ROWS


def test_what_is_no_delimiter(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("time\n1\n2\n")
    (tmp_path / "some.csv").write_text("time,type\n1,A;B\n2,A;B\n")
    query = "RETURN COUNT(*) PATTERN A+"
    assert good("run", query, "one.csv", "--one-type", *LOCAL, cwd=tmp_path) == "count\n3\n"
    assert sparkleene("run", query, "some.csv", *LOCAL, cwd=tmp_path).stdout == "count\n"
    (tmp_path / "a.json").write_text('{"time": 1, "type": "A"}\n')
    assert "a delimiter is for CSV files" in bad("run", query, "a.json", "--delimiter", ";", *LOCAL, cwd=tmp_path)


def test_times_in_a_format(tmp_path: Path, engine: tuple[str, ...]) -> None:
    (tmp_path / "export.csv").write_text(EXPORT)
    lines = [line.split(";") for line in EXPORT.splitlines()[1:]]
    rows = [{"when": when, "type": type} for when, type in lines]
    (tmp_path / "export.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    wanted = "window_start,window_end,count\n2024-02-28 09:30:00,2024-02-28 10:30:00,3\n"
    offset = ("--offset", "30 minutes")
    given = ("--delimiter", ";")
    assert good("run", WINDOWS, "export.csv", *GERMAN, *offset, *given, *engine, cwd=tmp_path) == wanted
    assert good("run", WINDOWS, "export.json", *GERMAN, *offset, *engine, cwd=tmp_path) == wanted
    bare = EXPORT.partition("\n")[2]
    (tmp_path / "bare.csv").write_text(bare)
    named = ("--columns", "when,type", *given)
    assert good("run", WINDOWS, "bare.csv", *GERMAN, *offset, *named, *engine, cwd=tmp_path) == wanted


def test_iso_times_are_read_by_the_format_too(tmp_path: Path) -> None:
    """What Arrow would take for a time is text for a format: here the day comes last."""
    (tmp_path / "a.json").write_text('{"time": "2024-02-10", "type": "A"}\n')
    (tmp_path / "a.csv").write_text("time,type\n2024-02-10,A\n")
    query = "RETURN MAX(A.time) PATTERN A"
    for name in ("a.json", "a.csv"):
        shown = good("run", query, name, "--time-format", "%Y-%d-%m", *LOCAL, cwd=tmp_path)
        assert shown.splitlines()[1].startswith("2024-10-02")


def test_text_that_is_no_time_of_the_format(tmp_path: Path, engine: tuple[str, ...]) -> None:
    (tmp_path / "export.csv").write_text(EXPORT + "30.02.2024 10:00;A\n")
    said = bad("run", WINDOWS, "export.csv", *GERMAN, "--delimiter", ";", *engine, cwd=tmp_path)
    where = "row 4" if engine == LOCAL else "some row"
    first = f"'when' is '30.02.2024 10:00' in {where}, which is no time of the format '%d.%m.%Y %H:%M'"
    assert said.splitlines()[0] == f"error[unreadable-time]: {first}"


@pytest.mark.spark
@pytest.mark.usefixtures("commands_share_spark")
@pytest.mark.parametrize("name", ["events.csv", *rest(["events.json"])])
def test_times_finer_than_those_of_spark(tmp_path: Path, name: str) -> None:
    def write(*times: str) -> None:
        rows = [{"time": time, "type": "A"} for time in times]
        lines = (
            [json.dumps(row) for row in rows]
            if name.endswith("json")
            else ["time,type", *(f"{t},A" for t in times)]
        )
        (tmp_path / "in" / name).write_text("".join(f"{line}\n" for line in lines))

    (tmp_path / "in").mkdir()
    query = "RETURN COUNT(*), MIN(A.time) PATTERN A+ WITHIN 1 day SLIDE 1 day"
    stream = ("--watermark", "1 second", "--once", "--master", "local[2]")
    for zone in ("", "Z"):
        whole = (
            "2024-03-04T00:00:00.000001000",
            "2024-03-04 00:00:01.5",
            "2024-03-04T10:30:00",
            "2024-03-06T00:00:00",
        )
        write(*(f"{time}{zone}" for time in whole))
        shown = good("run", query, f"in/{name}", *SPARK, cwd=tmp_path)
        assert shown.splitlines()[1].endswith(",7,2024-03-04 00:00:00.000001")
        assert ",7," in good("stream", query, "in", *stream, cwd=tmp_path)
        write(f"2024-03-04T00:00:00.0000011{zone}", f"2024-03-04T00:00:01{zone}")
        for said in (
            bad("run", query, f"in/{name}", *SPARK, cwd=tmp_path),
            bad("stream", query, "in", *stream, cwd=tmp_path),
        ):
            assert "error[time-too-fine]: a time in 'time' does not fit Spark's" in said
            assert f"note: it is 2024-03-04T00:00:00.0000011{zone}\n" in said and "--engine local" in said


def test_offsets(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text(EVENTS)
    query = "RETURN COUNT(*) PATTERN A+ WITHIN 10 SLIDE 10"
    shown = good("run", query, "events.csv", "--offset", "-2", *LOCAL, cwd=tmp_path)
    assert shown == "window_start,window_end,count\n-2,8,7\n"


def test_check_takes_a_file_of_events(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text(EVENTS)
    assert good("check", QUERY, "events.csv", cwd=tmp_path) == ""
    said = bad("check", QUERY.replace("A.x", "A.y"), "events.csv", cwd=tmp_path)
    assert said.startswith("error[unknown-attribute]: event type 'A' has no attribute 'y'\n")


@pytest.mark.spark
@pytest.mark.usefixtures("commands_share_spark")
def test_a_stream_of_files_with_times_in_a_format(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [f"04.03.2024 00:0{minute};{type}" for minute, type in enumerate("AABAA")]
    (tmp_path / "in" / "1.csv").write_text("\n".join(["when;type", *lines]))
    text = "RETURN COUNT(*) PATTERN SEQ(A+, B) WITHIN 3 minutes SLIDE 3 minutes"
    more = ("--delimiter", ";", "--watermark", "1 second", "--once", "--master", "local[2]")
    shown = good("stream", text, "in", *GERMAN, *more, cwd=tmp_path).splitlines()
    assert len(shown) == 2 and shown[0].endswith(",count") and shown[1].endswith(",3"), shown
