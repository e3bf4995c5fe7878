"""`sparkleene run` on the local engine: what it reads, and where results go."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.parquet as pq
import pytest
from tests.cli.command import EVENTS, LOCAL, QUERY, ROWS, bad, environment, good, sparkleene

import sparkleene as sk

FALLING = """
    RETURN sector, COUNT(*) PATTERN Stock S+ WHERE [company, sector] AND S.price > NEXT(S).price
    GROUP-BY sector WITHIN 10 seconds SLIDE 10 seconds
"""


def test_the_script_and_the_module_are_the_same(here: Path) -> None:
    script = Path(sys.executable).with_name("sparkleene")
    command = [str(script), "run", QUERY, "events.csv", *LOCAL]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, timeout=240, env=environment())
    assert (done.returncode, done.stdout, done.stderr) == (0, ROWS, "")
    assert good("run", QUERY, "events.csv", *LOCAL, cwd=here) == ROWS  # CSV in a pipe


# ---- queries


def test_a_query_in_a_file_and_on_standard_input(here: Path) -> None:
    (here / "a query.q").write_text(f"-- with a name of two words\n{QUERY};\n", encoding="utf-8")
    assert good("run", "a query.q", "events.csv", *LOCAL, cwd=here) == ROWS
    assert good("run", "-", "events.csv", *LOCAL, cwd=here, input=QUERY) == ROWS


# ---- formats


def test_formats_in_a_pipe(here: Path) -> None:
    rows = good("run", QUERY, "events.csv", *LOCAL, "-f", "json", cwd=here)
    assert [json.loads(line) for line in rows.splitlines()] == [
        {"user": "ann", "count": 3.0, "sum_A_x": 18.0},
        {"user": "bob", "count": 1.0, "sum_A_x": 6.0},
    ]
    table = good("run", QUERY, "events.csv", *LOCAL, "--format", "table", cwd=here)
    assert table == "user  count  sum_A_x\n----  -----  -------\nann       3       18\nbob       1        6\n"


def test_formats_by_the_name_of_the_output(here: Path) -> None:
    for name in ("out.csv", "out.json", "out.parquet", "out.txt", "folder"):
        assert good("run", QUERY, "events.csv", *LOCAL, "--output", name, cwd=here) == ""
    assert (here / "out.csv").read_text() == ROWS
    assert len((here / "out.json").read_text().splitlines()) == 2
    wanted = [
        {"user": "ann", "count": 3.0, "sum_A_x": 18.0}, {"user": "bob", "count": 1.0, "sum_A_x": 6.0}
    ]  # fmt: skip
    assert pq.read_table(here / "out.parquet").to_pylist() == wanted
    assert pq.read_table(here / "folder").to_pylist() == wanted
    assert (here / "out.txt").read_text().splitlines()[1] == "----  -----  -------"
    left = {path.name for path in here.iterdir()}
    assert left == {"events.csv", "out.csv", "out.json", "out.parquet", "out.txt", "folder"}  # nothing beside


def test_a_file_is_replaced_and_a_link_stays_one(here: Path) -> None:
    (here / "real.csv").write_text("old")
    (here / "link.csv").symlink_to(here / "real.csv")
    good("run", QUERY, "events.csv", *LOCAL, "-o", "link.csv", cwd=here)
    assert (here / "real.csv").read_text() == ROWS and (here / "link.csv").is_symlink()


def test_standard_output_by_name_stays_what_it_is(here: Path) -> None:
    with (here / "out.csv").open("w") as file:
        good("run", QUERY, "events.csv", *LOCAL, "-o", "/dev/stdout", "-f", "csv", cwd=here, stdout=file)
    assert (here / "out.csv").read_text() == ROWS
    assert Path("/dev/stdout").is_symlink()


# ---- kinds of events


def test_kinds_of_files_give_the_same(streams: Path) -> None:
    wanted = good("run", FALLING, streams / "stock.parquet", *LOCAL, cwd=streams)
    assert wanted.startswith("window_start,window_end,sector,count\n2024-03-04 00:00:00,2024-03-04 00:00:10,")
    result = sk.query(FALLING).run(sk.generate("stock", 2000, groups=5))
    counts = pc_csv.read_csv(io.BytesIO(wanted.encode()))["count"]
    assert counts.cast(pa.float64()).equals(result["count"])
    for kind in ("csv", "json"):
        assert good("run", FALLING, streams / f"stock.{kind}", *LOCAL, cwd=streams) == wanted


def test_folders_patterns_and_several_files(here: Path) -> None:
    header, *rows = EVENTS.splitlines(keepends=True)
    (here / "parts" / "deeper").mkdir(parents=True)
    (here / "parts" / "1.csv").write_text(header + "".join(rows[:2]))
    (here / "parts" / "2.csv").write_text(header + "".join(rows[2:4]))
    (here / "parts" / "deeper" / "3.csv").write_text(header + "".join(rows[4:]))
    (here / "parts" / "_SUCCESS").write_text("")
    for events in (
        ["parts"], ["parts/**/*.csv"], ["parts/*.csv", "parts/deeper"],
        ["parts/2.csv", "parts/deeper/3.csv", "parts/1.csv"],
    ):  # fmt: skip
        assert good("run", QUERY, *events, *LOCAL, cwd=here) == ROWS


def test_names_of_columns_can_be_anything(here: Path) -> None:
    (here / "odd.csv").write_text('time,type,unit price,order,ä,a.b,"q""`x",-o\n1,A,2,1,3,4,5,6\n2,A,3,1,3,4,5,7\n')
    query = (
        'RETURN `unit price`, SUM(A.`ä`), SUM(A.`a.b`), SUM(A.`order`), SUM(A.`q"``x`), MAX(A.`-o`) '
        "PATTERN A+ GROUP-BY `unit price`"
    )
    assert good("run", query, "odd.csv", *LOCAL, cwd=here) == (
        'unit price,sum_A_ä,sum_A_a.b,sum_A_order,"sum_A_q""`x",max_A_-o\n2,3,4,1,5,6\n3,3,4,1,5,7\n'
    )


def test_numbers_spelled_out_and_words_left_alone(here: Path) -> None:
    (here / "na.csv").write_text("time,type,country\n1,A,NA\n2,A,\n3,A,NULL\n")
    query = "RETURN COUNT(*) PATTERN A+ GROUP-BY country"
    assert good("run", query, "na.csv", *LOCAL, cwd=here) == "country,count\nNA,1\n"


def test_no_rows_are_a_header(here: Path) -> None:
    done = sparkleene("run", "RETURN COUNT(*) PATTERN Z+", "events.csv", *LOCAL, cwd=here)
    assert (done.returncode, done.stdout) == (0, "count\n")
    assert done.stderr.splitlines() == [
        "note: no event is of the type 'Z'; the types are A, B",
        "note: there are no trends in 5 events, from 1 to 5",
    ]


# ---- options of reading


@pytest.mark.parametrize(
    ("query", "options", "rows"),
    [
        ("RETURN COUNT(*) PATTERN SEQ(Low+, High)", ["--define", "Low=x < 5", "--define", "High = x >= 5"], "2"),
        ("RETURN COUNT(*) PATTERN Any+", ["--one-type"], "31"),
        ("RETURN COUNT(*) PATTERN ann+", ["--type", "user"], "7"),
        ("RETURN COUNT(*) PATTERN A+", ["--time", "x"], None),
        ("RETURN COUNT(*) PATTERN A+ WITHIN 1 minute SLIDE 1 minute", ["--time-unit", "seconds"], "0,60,7"),
        ("RETURN COUNT(*) PATTERN A+ WITHIN 1 minute SLIDE 1 minute", ["--time-unit", "minutes"], "1,2,1"),
    ],
)  # fmt: skip
def test_options_say_how_events_are_read(here: Path, query: str, options: list[str], rows: str | None) -> None:
    if rows is None:  # a time is empty
        assert bad("run", query, "events.csv", *options, *LOCAL, cwd=here).startswith("error[null-time]: ")
    else:
        assert good("run", query, "events.csv", *options, *LOCAL, cwd=here).splitlines()[1] == rows


def test_ties_are_broken_by_a_column(here: Path) -> None:
    (here / "ties.csv").write_text("time,type,n\n1,B,2\n1,A,1\n")
    query = "RETURN COUNT(*) PATTERN SEQ(A, B)"
    assert sparkleene("run", query, "ties.csv", *LOCAL, cwd=here).stdout == "count\n"
    assert good("run", query, "ties.csv", *LOCAL, "--tiebreak", "n", cwd=here) == "count\n1\n"


def test_exact_numbers(here: Path) -> None:
    rows = "".join(f"{i},A\n" for i in range(200))
    (here / "many.csv").write_text("time,type\n" + rows)
    query = "RETURN COUNT(*) PATTERN A+"
    assert good("run", query, "many.csv", *LOCAL, "--exact", cwd=here) == f"count\n{2**200 - 1}\n"
    assert good("run", query, "many.csv", *LOCAL, cwd=here) == f"count\n{2.0**200}\n"
    table = good("run", query, "many.csv", *LOCAL, "--exact", "-f", "table", cwd=here)
    assert table.splitlines()[2] == str(2**200 - 1)


# ---- charts


def test_charts(here: Path) -> None:
    options = ["--plot", "--plot-value", "sum_A_x", "--plot-file", "chart.svg"]
    shown = good("run", QUERY, "events.csv", *LOCAL, *options, cwd=here)
    assert shown.startswith(ROWS) and "sum_A_x by user\n" in shown and "█" in shown
    assert "<svg" in (here / "chart.svg").read_text() and "sum_A_x" in (here / "chart.svg").read_text()
    good("run", QUERY, "events.csv", *LOCAL, "--plot-file", "chart.png", "-o", "out.csv", cwd=here)
    assert (here / "chart.png").read_bytes().startswith(b"\x89PNG")
    assert (here / "out.csv").read_text() == ROWS


def test_a_chart_of_what_is_not_there(here: Path) -> None:
    said = bad("run", QUERY, "events.csv", *LOCAL, "--plot", "--plot-value", "summ", cwd=here)
    assert said.startswith("error[bad-option]: the result has no aggregate 'summ'\n")
    for name, what in (
        ("a.gif", "'a.gif' does not end in .png, .svg or .pdf"),
        ("no/a.svg", "there is no folder 'no'"),
    ):
        said = bad("run", QUERY, "events.csv", *LOCAL, "--plot-file", name, "-o", "out.csv", cwd=here)
        assert what in said.splitlines()[0]
        assert not (here / "out.csv").exists()  # it is said before the work is done


def test_warnings_are_notes_in_the_words_of_commands(here: Path) -> None:
    (here / "twice.csv").write_text("time,type\n1,A\n2,A\n2,A\n")
    done = sparkleene("run", "RETURN COUNT(*) PATTERN A+ SEMANTICS contiguous", "twice.csv", *LOCAL, cwd=here)
    assert (done.returncode, done.stdout) == (0, "count\n5\n")
    [said] = done.stderr.splitlines()
    assert said.startswith("note: 1 row has the time of another row") and "add --tiebreak with a column" in said
