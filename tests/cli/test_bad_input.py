"""What users get wrong, and machines: a line that says it, no stack trace, and nothing half done."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.command import COMMAND, EVENTS, LOCAL, QUERY, ROWS, bad, environment, good, until

import sparkleene as sk

COUNT = "RETURN COUNT(*) PATTERN A+"


def said(here: Path, query: str, *arguments: str) -> str:
    """Return the first line of the complaint about a run."""
    return bad("run", query, *arguments, *LOCAL, cwd=here).splitlines()[0]


# ---- events


def test_files_that_are_not_there(here: Path) -> None:
    whole = bad("run", COUNT, "event.csv", *LOCAL, cwd=here)
    assert whole == "error[missing-file]: there is no file 'event.csv'\n = help: did you mean 'events.csv'?\n"
    assert said(here, COUNT, "no/*.csv") == "error[missing-file]: no file is named like 'no/*.csv'"
    (here / "empty").mkdir()
    assert said(here, COUNT, "empty") == "error[unreadable-file]: the folder 'empty' has no files of events"


BROKEN = {
    "text.parquet": b"hello, this is text",
    "empty.parquet": b"",
    "empty.csv": b"",
    "ragged.csv": b"time,type\n1,A\n2,A,3\n",
    "cut.json": b'{"time": 1, "type": "A"}\n{"time": 2, "ty',
    "cut.csv.gz": b"\x1f\x8b\x08\x00",
}


@pytest.mark.parametrize("name", ["cut.parquet", *BROKEN])
def test_files_that_cannot_be_read(here: Path, name: str) -> None:
    if name in BROKEN:
        (here / name).write_bytes(BROKEN[name])
    else:
        pq.write_table(pa.table({"time": [1, 2], "type": ["A", "A"]}), here / name)
        (here / name).write_bytes((here / name).read_bytes()[:-20])
    assert said(here, COUNT, name) == f"error[unreadable-file]: cannot read '{name}'"


def test_files_of_other_kinds(here: Path) -> None:
    (here / "notes.doc").write_text("hello")
    assert "'notes.doc' is neither Parquet, CSV nor JSON lines" in said(here, COUNT, "notes.doc")
    pq.write_table(pa.table({"time": [1], "type": ["A"]}), here / "a.parquet")
    assert said(here, COUNT, "events.csv", "a.parquet").endswith("the events are of several kinds: csv, parquet")
    (here / "mixed").mkdir()
    (here / "mixed" / "a.csv").write_text(EVENTS)
    (here / "mixed" / "a.json").write_text('{"time": 1, "type": "A"}\n')
    assert said(here, COUNT, "mixed").endswith("the events are of several kinds: csv, json")


def test_columns_that_do_not_fit(here: Path) -> None:
    (here / "twice.csv").write_text("time,type,x,x\n1,A,2,3\n")
    (here / "words.csv").write_text("time,type\nsoon,A\n")
    (here / "null.csv").write_text("time,type\n1,A\n,A\n")
    summed = "RETURN SUM(A.x) PATTERN A+"
    for query, name, options, wanted in (
        (summed, "twice.csv", (), "error[duplicate-column]: the data has more than one column 'x'"),
        (COUNT, "null.csv", (), "error[null-time]: the time 'time' is NULL in row 1"),
        (COUNT, "events.csv", ("--time", "ts"), "error[missing-column]: the data has no column 'ts'"),
        (COUNT, "events.csv", ("--type", "kind"), "error[missing-column]: the data has no column 'kind'"),
        ("RETURN SUM(A.user) PATTERN A+", "events.csv", (), "error[wrong-type]: "),
        (COUNT, "words.csv", (), "error[wrong-type]: "),
    ):
        assert said(here, query, name, *options).startswith(wanted)


# ---- queries


def test_a_wrong_query_shows_the_place(here: Path) -> None:
    (here / "q.q").write_text("RETURN COUNT(*)\nPATTERN SEQ(A+, B\nWHERE A.x > 3\n")
    whole = bad("run", "q.q", "events.csv", *LOCAL, cwd=here)
    assert " --> q.q:3:1\n" in whole
    shown = whole.splitlines()
    [line] = [i for i, text in enumerate(shown) if text.startswith("3 | ")]
    assert shown[line] == "3 | WHERE A.x > 3" and shown[line + 1] == "  | ^^^^^"
    whole = bad("run", "RETURN SUM(A.xx) PATTERN A+", "events.csv", *LOCAL, cwd=here)
    assert whole.startswith("error[unknown-attribute]: event type 'A' has no attribute 'xx'\n --> query:1:14\n")


def test_queries_that_are_none(here: Path) -> None:
    (here / "folder").mkdir()
    (here / "binary.q").write_bytes(b"RETURN \xff\xfe\x80")
    (here / "nul.q").write_bytes(b"RETURN COUNT(*) \0 PATTERN A")
    (here / "deep.q").write_text("RETURN COUNT(*) PATTERN " + "(" * 20_000 + "A" + ")" * 20_000)
    (here / "empty.q").write_text("\n")
    for query, wanted in (
        ("folder", "error[missing-file]: the query file 'folder' is a folder"),
        ("q.q", "error[missing-file]: the query file 'q.q' is not there"),
        ("binary.q", "error[unreadable-file]: the query file 'binary.q' is not text in UTF-8"),
        ("nul.q", "error[unexpected-character]: character 'U+0000' has no meaning in a query"),
        ("deep.q", "error[nesting-too-deep]: "),
        ("empty.q", "error[empty-query]: query is empty"),
        ("", "error[bad-option]: the query is empty"),
        ("x" * 5000, "error[missing-file]: the query file 'xxxx"),
    ):
        assert said(here, query, "events.csv").startswith(wanted), query[:20]


def test_a_long_query_runs(here: Path) -> None:
    values = ", ".join(map(str, range(5000)))
    (here / "long.q").write_text(f"RETURN COUNT(*) PATTERN A+ WHERE A.x IN ({values}) /* {'long ' * 50_000} */")
    assert good("run", "long.q", "events.csv", *LOCAL, cwd=here) == "count\n7\n"


# ---- options


@pytest.mark.parametrize(
    ("arguments", "code", "wanted"),
    [
        (["run", COUNT, "events.csv", "--engine", "nonsense"], 2, "'--engine'"),
        (["run", COUNT], 2, "Missing argument 'EVENTS'"),
        (["trends", COUNT, "events.csv", "--limit", "-1"], 2, "'--limit'"),
        (["run", COUNT, "events.csv", "--time-unit", "years"], 2, "'--time-unit'"),
        (["generate", "stocks", "-o", "a.csv"], 2, "'stock'"),
        (["generate", "stock"], 2, "'--output'"),
        (["rum"], 2, "Did you mean 'run'"),
        (["run", COUNT, "events.csv", "--limits", "3"], 2, "No such option"),
        (["run", COUNT, "events.csv", "--conf", "spark.x"], 1, "--conf is 'spark.x'"),
        (["run", COUNT, "events.csv", *LOCAL, "--conf", "a=b"], 1, "--conf is for Spark"),
        (["trends", COUNT, "events.csv", *LOCAL, "--master", "local[2]"], 1, "--master is for Spark"),
        (["run", COUNT, "events.csv", *LOCAL, "--define", "A"], 1, "--define is 'A'"),
        (["run", COUNT, "events.csv", *LOCAL, "--define", "A=x >"], 1, "expected an attribute or a constant"),
        (["run", COUNT, "events.csv", *LOCAL, "-f", "parquet"], 1, "Parquet is for files"),
        (["run", COUNT, "events.csv", *LOCAL, "-o", "a.xlsx"], 1, "the format of 'a.xlsx' is not clear"),
        (["run", COUNT, "events.csv", *LOCAL, "-o", "no/a.csv"], 1, "there is no folder 'no' to write to"),
        (["run", COUNT, "events.csv", *LOCAL, "-o", "."], 1, "there is something in the folder '.' already"),
        (["run", COUNT, "events.csv", *LOCAL, "-o", "events.csv/"], 1, "'events.csv/' is a file"),
        (["run", COUNT, "events.csv", *LOCAL, "--offset", "soon"], 1, "--offset is 'soon'"),
        (["run", COUNT, "events.csv", *LOCAL, "--offset", "3 events"], 1, "--offset is '3 events'"),
        (["run", COUNT, "events.csv", *LOCAL, "--delimiter", "::"], 1, "--delimiter is '::'"),
        (["run", COUNT, "events.csv", *LOCAL, "--time-format", "%q"], 1, "the time format has '%q'"),
        (["check", "events.csv"], 1, "'events.csv' is a file of events"),
        (["check", COUNT, "--delimiter", ";"], 1, "are for a file of events"),
        (["explain", COUNT, "--dot", "--svg"], 1, "both --dot and --svg are given"),
        (["generate", "stock", "-o", "a.csv", "--option", "zebra=1"], 1, "has no option 'zebra'"),
        (["generate", "stock", "-o", "a.csv", "--option", "zebra"], 1, "--option is 'zebra'"),
        (["generate", "stock", "-o", "a.csv", "--events", "0"], 1, "events of the stream 'stock' is 0"),
        (["generate", "stock", "-o", "a.csv", "--rate", "-1"], 1, "rate of the stream 'stock' is -1"),
        (["generate", "stock", "-o", "no/a.csv"], 1, "there is no folder 'no' to write to"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense(here: Path, arguments: list[str], code: int, wanted: str) -> None:
    whole = bad(*arguments, cwd=here, code=code)
    lines = [line for line in whole.splitlines() if line.lower().startswith("error")]
    assert len(lines) == 1 and wanted in lines[0], whole
    assert [path.name for path in here.iterdir()] == ["events.csv"]


# ---- outputs


def test_no_space_is_left(here: Path) -> None:
    # by links, so that a command that removed its output would not remove the device
    for kind in ("csv", "json", "parquet", "txt"):
        name = f"full.{kind}"
        (here / name).symlink_to("/dev/full")
        first = said(here, QUERY, "events.csv", "-o", name)
        assert first.startswith(f"error: '{name}': cannot be written: ") and "No space left on device" in first
        assert (here / name).is_symlink()
    whole = bad("generate", "stock", "--events", "100", "-o", "full.parquet", cwd=here)
    assert "'full.parquet': cannot be written: " in whole and (here / "full.parquet").is_symlink()


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", QUERY, "events.csv", *LOCAL], ["trends", QUERY, "events.csv"], ["explain", QUERY], ["--version"],
        ["run", "--help"],
    ],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_no_space_is_left_for_what_is_printed(here: Path, arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        assert bad(*arguments, cwd=here, stdout=full) == "error: No space left on device\n"


def test_nobody_reads_on(here: Path) -> None:
    sk_table = sk.generate("stock", 3000, groups=4, rate=1)
    pq.write_table(sk_table, here / "stock.parquet")
    query = "RETURN company, COUNT(*) PATTERN Stock+ GROUP-BY company WITHIN 2 minutes SLIDE 1 second"
    process = subprocess.Popen(
        [*COMMAND, "run", query, "stock.parquet", *LOCAL],
        cwd=here, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == "window_start,window_end,company,count\n"
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    assert (process.wait(60), said) == (141, "")  # as a process that SIGPIPE ends


def test_what_is_there_stays_when_a_run_fails(here: Path) -> None:
    (here / "out.csv").write_text("precious\n")
    (here / "null.csv").write_text("time,type\n1,A\n,A\n")
    bad("run", COUNT, "null.csv", *LOCAL, "-o", "out.csv", cwd=here)
    bad("run", "RETURN", "events.csv", *LOCAL, "-o", "out.csv", cwd=here)
    assert (here / "out.csv").read_text() == "precious\n"
    assert len(list(here.iterdir())) == 3  # and nothing is left beside it


def test_an_interrupted_command_leaves_nothing(here: Path) -> None:
    (here / "out.json").write_text("precious\n")
    process = subprocess.Popen(
        [*COMMAND, "generate", "rides", "--events", "1000000", "-o", "out.json"],
        cwd=here, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until(lambda: any(path.stat().st_size for path in here.glob(".out-*")), process)
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed, said) == (130, "", "interrupted\n")
    assert sorted(path.name for path in here.iterdir()) == ["events.csv", "out.json"]
    assert (here / "out.json").read_text() == "precious\n"


def test_results_take_the_rights_of_new_files(here: Path) -> None:
    good("run", QUERY, "events.csv", *LOCAL, "-o", "out.csv", cwd=here)
    (here / "new").write_text("")
    assert (here / "out.csv").stat().st_mode == (here / "new").stat().st_mode
    assert (here / "out.csv").read_text() == ROWS


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do anything")
def test_no_permission(here: Path) -> None:
    (here / "locked").mkdir(mode=0o500)
    (here / "secret.csv").touch(mode=0o000)
    (here / "secret.q").touch(mode=0o000)
    assert said(here, QUERY, "events.csv", "-o", "locked/a.csv").startswith(
        "error: 'locked/a.csv': cannot be written"
    )
    assert said(here, QUERY, "secret.csv").startswith("error[unreadable-file]: cannot read 'secret.csv'")
    assert "'secret.q'" in said(here, "secret.q", "events.csv")
