"""trends, explain, check and generate; help, version and completion."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pyarrow.csv as pc_csv
import pyarrow.json as pc_json
import pyarrow.parquet as pq
import pytest
from tests.cli.command import QUERY, bad, environment, good, sparkleene

import sparkleene as sk
from sparkleene.generators import NAMES

# ---- around commands


def test_version_and_help(tmp_path: Path) -> None:
    assert good("--version", cwd=tmp_path) == f"sparkleene {sk.__version__}\n"
    shown = good("--help", cwd=tmp_path)
    for command in ("run", "trends", "explain", "check", "generate", "stream", "demo"):
        assert f"\n  {command} " in shown
    assert sparkleene(cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("command", ["run", "trends", "explain", "check", "generate", "stream"])
def test_help_has_examples(tmp_path: Path, command: str) -> None:
    shown = good(command, "-h", cwd=tmp_path)
    assert f"\n    sparkleene {command} " in shown.partition("Examples:")[2]
    assert "--output" in shown or command in ("check", "trends")


def test_completion(tmp_path: Path) -> None:
    settings = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    shown = good("--show-completion", "bash", cwd=tmp_path, env=environment(**settings))
    assert "_SPARKLEENE_COMPLETE=complete_bash" in shown
    asked = {"_SPARKLEENE_COMPLETE": "complete_bash", "COMP_WORDS": "sparkleene ex", "COMP_CWORD": "1"}
    assert good(cwd=tmp_path, env=environment(**asked)).split() == ["explain"]


# ---- trends


def test_trends(here: Path) -> None:
    shown = good("trends", QUERY, "events.csv", cwd=here)
    assert shown == "user=ann  A@1 B@4\nuser=ann  A@3 B@4\nuser=ann  A@1 A@3 B@4\nuser=bob  A@2 B@5\n"
    assert good("trends", QUERY, "events.csv", "--limit", "1", cwd=here) == "user=ann  A@1 B@4\n"
    assert good("trends", QUERY, "events.csv", "--limit", "0", cwd=here) == ""


def test_trends_have_windows_and_times(here: Path) -> None:
    (here / "times.csv").write_text("time,type\n2024-03-04 12:00:05,A\n2024-03-04 12:00:07,A\n")
    query = "RETURN COUNT(*) PATTERN A{2} WITHIN 1 minute SLIDE 1 minute"
    assert good("trends", query, "times.csv", cwd=here) == (
        "[2024-03-04 12:00:00, 2024-03-04 12:01:00)  A@12:00:05 A@12:00:07\n"
    )


# ---- explain


def test_explain(here: Path) -> None:
    (here / "q.q").write_text(QUERY)
    q = sk.query(QUERY)
    assert good("explain", "q.q", cwd=here).strip() == q.explain().strip()
    assert good("explain", "-", "--dot", cwd=here, input=QUERY).startswith("digraph")
    good("explain", "q.q", "--svg", "--output", "automaton.svg", cwd=here)
    picture = ElementTree.fromstring((here / "automaton.svg").read_text(encoding="utf-8"))
    assert picture.tag.endswith("svg")
    assert bad("explain", "RETURN COUNT(*) PATTERN SEQ(A+", cwd=here).startswith("error[")


# ---- check


def test_check_is_silent_where_all_is_well(here: Path, streams: Path) -> None:
    (here / "a.q").write_text(QUERY)
    assert good("check", "a.q", "RETURN COUNT(*) PATTERN A+", cwd=here) == ""
    assert good("check", "a.q", "--schema", "events.csv", cwd=here) == ""
    query = "RETURN SUM(S.volume) PATTERN Stock S+ WHERE [company] WITHIN 1 minute SLIDE 1 minute"
    for kind in ("parquet", "csv", "json"):
        assert good("check", query, "--schema", streams / f"stock.{kind}", cwd=here) == ""


def test_check_tells_all_that_is_wrong(here: Path) -> None:
    (here / "a.q").write_text("RETURN COUNT(*)\nPATERN A+")
    (here / "b.q").write_text("RETURN SUM(A.xx)\nPATTERN A+")
    (here / "c.q").write_text(QUERY)
    done = sparkleene("check", "a.q", "b.q", "c.q", "--schema", "events.csv", "--short", cwd=here)
    assert done.returncode == 1 and done.stdout == ""
    first, second = done.stderr.splitlines()
    assert first == "a.q:2:1: error[unknown-clause]: unknown clause 'PATERN'"
    assert second == "b.q:1:14: error[unknown-attribute]: event type 'A' has no attribute 'xx'"
    whole = bad("check", "b.q", "a.q", cwd=here)  # without a schema b is right
    assert " --> a.q:2:1\n" in whole and "b.q" not in whole
    assert bad("check", "c.q", "--schema", "no.csv", cwd=here).startswith("error[missing-file]: ")


# ---- generate


@pytest.mark.parametrize("name", NAMES)
def test_generate(tmp_path: Path, name: str) -> None:
    good("generate", name, "--events", "500", "--groups", "7", "--seed", "3", "-o", "a.parquet", cwd=tmp_path)
    wanted = sk.generate(name, 500, groups=7, seed=3)
    assert pq.read_table(tmp_path / "a.parquet").equals(wanted)


def test_generate_every_kind_of_file(tmp_path: Path) -> None:
    options = ["--events", "300", "--rate", "10", "--option", "tick=1", "--option", "sectors=2"]
    for kind in ("parquet", "csv", "json", "jsonl"):
        assert good("generate", "stock", *options, "-o", f"a.{kind}", cwd=tmp_path) == ""
    wanted = sk.generate("stock", 300, rate=10, tick=1, sectors=2)
    assert pq.read_table(tmp_path / "a.parquet").equals(wanted)
    prices = wanted["price"].to_pylist()
    assert pc_csv.read_csv(tmp_path / "a.csv")["price"].to_pylist() == prices
    assert pc_json.read_json(tmp_path / "a.json")["price"].to_pylist() == prices
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "a.jsonl").read_bytes()


# ---- why


def test_why_of_a_key_that_is_a_number(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("time,type,u\n1,A,2\n2,B,2\n3,A,1\n")
    asked = ("why", "RETURN u, COUNT(*) PATTERN SEQ(A, B) GROUP-BY u", "e.csv", "--group")
    assert good(*asked, "u=2", cwd=tmp_path).startswith("1 trend in 2 rows of u=2")
    assert "'two' is no int64" in bad(*asked, "u=two", cwd=tmp_path)
