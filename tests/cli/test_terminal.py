"""What a person at a terminal sees: tables, a line while it works, colours."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.cli.command import LOCAL, QUERY, ROWS, terminal

RED = "\033[1;31m"


def test_a_table_and_a_chart(here: Path) -> None:
    code, seen = terminal("run", QUERY, "events.csv", *LOCAL, "--plot", cwd=here)
    assert code == 0
    assert "user  count  sum_A_x\n----  -----  -------\nann       3       18\nbob       1        6\n" in seen
    assert "count by user" in seen and "█" in seen
    assert max(map(len, seen.splitlines())) < 200


def test_a_pipe_gets_csv_and_nothing_of_the_progress(here: Path) -> None:
    with (here / "out").open("w") as file:
        code, _ = terminal("run", QUERY, "events.csv", *LOCAL, cwd=here, stdout=file)
    assert code == 0 and (here / "out").read_text() == ROWS


def test_a_line_says_what_is_going_on(here: Path) -> None:
    code, seen = terminal("generate", "rides", "--events", "5000000", "-o", "rides.parquet", cwd=here)
    assert code == 0
    assert "making 5,000,000 events" in seen
    assert "\033[2K" in seen  # the line is taken away again
    last = seen.strip().splitlines()[-1]
    assert "rides.parquet: 5,000,000 events with columns time, type, driver" in last
    (here / "rides.parquet").unlink()


def test_errors_are_red(here: Path) -> None:
    code, seen = terminal("run", "RETURN COUNT(*) PATERN A", "events.csv", *LOCAL, cwd=here)
    assert code == 1 and f"{RED}error[unknown-clause]" in seen and f"{RED}^^^^^^" in seen
    code, seen = terminal("check", "RETURN COUNT(*) PATERN A", QUERY, cwd=here)
    assert code == 1 and f"{RED}error[unknown-clause]" in seen and "query: ok" in seen


def last_line(seen: str) -> str:
    """Return the last line with text in it, without what moves the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen).strip().splitlines()[-1]


def test_trends_say_how_many_there_are(here: Path) -> None:
    code, seen = terminal("trends", QUERY, "events.csv", cwd=here)
    assert code == 0 and last_line(seen).endswith("all 4 trends")
    _, seen = terminal("trends", QUERY, "events.csv", "--limit", "2", cwd=here)
    assert last_line(seen).endswith("the first 2 trends; --limit N shows more")


def test_errors_stay_on_the_terminal(here: Path) -> None:
    code, seen = terminal("run", QUERY, "no.csv", *LOCAL, cwd=here, stdout=subprocess.DEVNULL)
    assert code == 1 and "there is no file 'no.csv'" in seen
