"""Several queries at once, in a file or beside each other: their results in one table, and where mistakes are."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.command import LOCAL, QUERY, ROWS, bad, good, sparkleene, terminal

import sparkleene as sk

SEVERAL = f"""-- both begin alike; a comment may say name: or ;
sums: {QUERY}
# with a line in between

ends-with-b: RETURN user, COUNT(*) PATTERN SEQ(A, B)
  WHERE [user] AND A.x > 4 GROUP-BY user;
RETURN COUNT(*) PATTERN B+;  -- the end
"""
RESULT = """query,user,count,sum_A_x
sums,ann,3,18
sums,bob,1,6
ends-with-b,ann,1,
ends-with-b,bob,1,
q3,,3,
"""


@pytest.fixture
def here(here: Path) -> Path:
    """A folder with events and a file of queries."""
    (here / "several.q").write_text(SEVERAL)
    return here


def where(said: str) -> list[str]:
    """The places that errors show."""
    return [line.split("--> ")[1] for line in said.splitlines() if "--> " in line]


# ---- run


def test_a_file_of_queries(here: Path) -> None:
    assert good("run", "several.q", "events.csv", *LOCAL, cwd=here) == RESULT
    assert good("run", "-", "events.csv", *LOCAL, cwd=here, input=SEVERAL) == RESULT
    for sharing in ("auto", "always", "never"):
        assert good("run", "several.q", "events.csv", *LOCAL, "--sharing", sharing, cwd=here) == RESULT
    assert sk.workload(here / "several.q").run(here / "events.csv").num_rows == 5


def test_queries_beside_each_other(here: Path) -> None:
    (here / "one.q").write_text(f"sums: {QUERY}")
    shown = good("run", "one.q", "events.csv", *LOCAL, "-q", "RETURN COUNT(*) PATTERN B+", cwd=here)
    assert shown == "query,user,count,sum_A_x\nsums,ann,3,18\nsums,bob,1,6\nq2,,3,\n"
    more = ["--query", "a: RETURN COUNT(*) PATTERN A; b: RETURN COUNT(*) PATTERN B"]
    assert good("run", "several.q", "events.csv", *LOCAL, *more, cwd=here) == f"{RESULT}a,,3,\nb,,2,\n"


def test_one_query_is_as_it_was(here: Path) -> None:
    for text in (f"-- one\nsums:\n{QUERY};\n-- more\n", f"\n\n`a name`: {QUERY}", f"{QUERY} -- b: ;"):
        (here / "one.q").write_text(text)
        assert good("run", "one.q", "events.csv", *LOCAL, cwd=here) == ROWS


def test_formats(here: Path) -> None:
    rows = good("run", "several.q", "events.csv", *LOCAL, "-f", "json", cwd=here).splitlines()
    assert json.loads(rows[-1]) == {"query": "q3", "user": None, "count": 3.0, "sum_A_x": None}
    table = good("run", "several.q", "events.csv", *LOCAL, "-f", "table", cwd=here).splitlines()
    assert table[0].split() == ["query", "user", "count", "sum_A_x"] and len(table) == 7
    good("run", "several.q", "events.csv", *LOCAL, "-o", "out.parquet", cwd=here)
    assert pq.read_table(here / "out.parquet").column("query").to_pylist()[::2] == ["sums", "ends-with-b", "q3"]


def test_a_chart_of_each_query(here: Path) -> None:
    shown = good("run", "several.q", "events.csv", *LOCAL, "--plot", cwd=here).removeprefix(RESULT)
    assert [line for line in shown.splitlines() if "█" not in line] == [
        *("sums", "count by user"), *("ends-with-b", "count by user"), *("q3", "count"),
    ]  # fmt: skip
    value = ["--plot", "--plot-value", "sum_A_x"]
    shown = good("run", "several.q", "events.csv", *LOCAL, *value, cwd=here).removeprefix(RESULT)
    assert shown.startswith("sums\nsum_A_x by user\n") and "q3" not in shown
    said = bad("run", "several.q", "events.csv", *LOCAL, "--plot-file", "chart.svg", cwd=here)
    assert "a picture is of one query" in said and not (here / "chart.svg").exists()


def test_windows_are_drawn_where_others_have_none(here: Path) -> None:
    more = ["-q", "windows: RETURN COUNT(*) PATTERN A+ WITHIN 2 SLIDE 2", "--plot"]
    shown = good("run", "several.q", "events.csv", *LOCAL, *more, cwd=here)
    assert "sums\ncount by user\nann █" in shown and "windows\ncount" in shown


def test_stats(here: Path) -> None:
    done = sparkleene("run", "several.q", "events.csv", *LOCAL, "--sharing", "always", "--stats", cwd=here)
    made = sk.workload(here / "several.q", "always")
    made.run(here / "events.csv")
    assert (done.stdout, done.stderr) == (RESULT, f"{made.stats}\n")
    assert "--stats is for" in bad("run", QUERY, "events.csv", *LOCAL, "--stats", cwd=here)
    remote = ("several.q", "events.csv", "--stats", "--master", "sc://localhost")
    assert "cannot report what they share" in bad("run", *remote, cwd=here)
    assert "cannot report what they share" in bad("stream", *remote, cwd=here)


def test_concepts(here: Path) -> None:
    (here / "kinds.txt").write_text("Any\n  A\n  B\n")
    kinds = [*LOCAL, "--hierarchy", "kinds.txt"]
    assert good("run", "RETURN COUNT(*) PATTERN Any", "events.csv", *kinds, cwd=here) == "count\n5\n"
    both = "all: RETURN COUNT(*) PATTERN Any; some: RETURN COUNT(*) PATTERN SEQ(Any, B)"
    assert good("run", both, "events.csv", *kinds, cwd=here) == "query,count\nall,5\nsome,7\n"
    said = bad("run", both, "events.csv", *kinds, "--one-type", cwd=here)
    assert "a hierarchy is for types in a column" in said and "leave out --define and --one-type" in said
    assert "there is no file 'none'" in bad("explain", both, "--hierarchy", "none", cwd=here)


def test_no_trends(here: Path) -> None:
    both = "RETURN COUNT(*) PATTERN Aa; RETURN COUNT(*) PATTERN SEQ(B, Cc)"
    done = sparkleene("run", both, "events.csv", *LOCAL, cwd=here)
    assert (done.returncode, done.stdout) == (0, "query,count\n")
    assert [line.partition(";")[0] for line in done.stderr.splitlines()] == [
        "note: no event is of the type 'Aa'",
        "note: no event is of the type 'Cc'",
        "note: there are no trends in 5 events, from 1 to 5",
    ]


def test_on_a_terminal(here: Path) -> None:
    code, seen = terminal("run", "several.q", "events.csv", *LOCAL, cwd=here)
    assert code == 0 and "query        user  count  sum_A_x" in seen and "5 rows" in seen and "bursts" not in seen


@pytest.mark.spark
@pytest.mark.usefixtures("commands_share_spark")
def test_on_spark(here: Path) -> None:
    assert good("run", "several.q", "events.csv", "--master", "local[2]", cwd=here) == RESULT


# ---- mistakes


def test_errors_show_the_place_in_the_file(here: Path) -> None:
    (here / "wrong.q").write_text(SEVERAL.replace("SEQ(A, B)", "SEQ(A, B").replace("PATTERN B+", "PATERN B+"))
    said = bad("run", "wrong.q", "events.csv", *LOCAL, cwd=here)
    assert where(said) == ["wrong.q:6:3"]
    assert "6 |   WHERE [user] AND A.x > 4 GROUP-BY user;\n  |   ^^^^^\n" in said
    assert where(bad("check", "wrong.q", cwd=here)) == ["wrong.q:6:3", "wrong.q:7:17"]
    short = sparkleene("check", "wrong.q", "--short", cwd=here).stderr
    assert [line.partition(": error")[0] for line in short.splitlines()] == ["wrong.q:6:3", "wrong.q:7:17"]


def test_what_only_the_columns_show(here: Path) -> None:
    (here / "wrong.q").write_text(SEVERAL.replace("A.x > 4", "A.xx > 4"))
    for command in (["run", "wrong.q", "events.csv", *LOCAL], ["check", "wrong.q", "--schema", "events.csv"]):
        said = bad(*command, cwd=here)
        assert where(said) == ["wrong.q:6:22"] and "did you mean 'x'?" in said


def test_two_queries_of_one_name(here: Path) -> None:
    (here / "twice.q").write_text(f"{SEVERAL}sums: RETURN COUNT(*) PATTERN A")
    for command in (["run", "twice.q", "events.csv"], ["explain", "twice.q"], ["check", "twice.q"]):
        said = bad(*command, cwd=here)
        assert "error[duplicate-name]: two queries are called 'sums'" in said and where(said) == ["twice.q:8:1"]
    said = bad("explain", f"q2: {QUERY}", "-q", QUERY, cwd=here)
    assert "two queries are called 'q2'" in said


def test_columns_that_do_not_fit_together(here: Path) -> None:
    both = "RETURN COUNT(*) AS n PATTERN A; RETURN type AS n, COUNT(*) PATTERN A GROUP-BY type"
    assert "give one another name, with AS" in bad("check", both, "--schema", "events.csv", cwd=here)
    assert good("check", "several.q", "--schema", "events.csv", cwd=here) == ""


def test_what_is_for_one_query_or_for_several(here: Path) -> None:
    assert "there are 3 queries in 'several.q'" in bad("trends", "several.q", "events.csv", cwd=here)
    assert "a picture is of one query" in bad("explain", "several.q", "--svg", cwd=here)
    assert "--sharing is for several" in bad("explain", QUERY, "--sharing", "never", cwd=here)


# ---- explain


def test_explain(here: Path) -> None:
    assert good("explain", "several.q", cwd=here) == f"{sk.workload(here / 'several.q').explain()}\n"
    shown = good("explain", QUERY, "-q", QUERY, "--sharing", "never", cwd=here)
    assert shown == sk.workload({"q1": QUERY, "q2": QUERY}, "never").explain() + "\n"
    good("explain", "several.q", "-o", "told.txt", cwd=here)
    assert (here / "told.txt").read_text().startswith("Workload of 3 queries")


# ---- files in Python


def test_files_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for name, code in (("none", "missing-file"), (".", "missing-file"), ("binary", "unreadable-file")):
        with pytest.raises(sk.QueryError) as caught:
            sk.workload(tmp_path / name)
        assert caught.value.diagnostics[0].code == code
