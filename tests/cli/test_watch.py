"""`sparkleene stream --watch`: queries that are edited while a stream runs."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.command import COMMAND, SECONDS, bad, environment
from tests.cli.test_spark import QUICK
from tests.spark.test_streaming import SIMPLE, events

from sparkleene.cli.progress import StatusLine
from sparkleene.cli.stream import Printer
from sparkleene.cli.stream_sources import StreamRequest
from sparkleene.cli.watch import Watch
from sparkleene.workload import workload

WINDOW = "WITHIN 10 seconds SLIDE 10 seconds"
PAIRS = f"pairs: RETURN COUNT(*) AS n PATTERN SEQ(A, B) {WINDOW}\n"
ALONE = f"alone: RETURN COUNT(*) AS n PATTERN C {WINDOW}\n"


def test_an_edited_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, line = tmp_path / "queries.q", StatusLine("")
    path.write_text(PAIRS)
    watch = Watch(str(path), lambda: workload(path))
    assert [*watch.queries.queries] == ["pairs"]
    assert watch.look(line) is None
    path.write_text(PAIRS + "alone: RETURN COUNT(")
    assert watch.look(line) is None and watch.look(line) is None
    told = capsys.readouterr().err
    assert told.count("the queries before go on") == 1 and f"{path}:2" in told
    path.unlink()
    assert watch.look(line) is None
    path.write_text(PAIRS + ALONE)
    found = watch.look(line)
    assert found is not None and [*found.queries] == ["pairs", "alone"]


def test_a_batch_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    made = workload({"pairs": PAIRS, "alone": ALONE})
    printer = Printer(StreamRequest(made, "."), StatusLine(""))

    def batch(*rows: dict[str, Any]) -> Any:
        return SimpleNamespace(toArrow=lambda: pa.Table.from_pylist(list(rows)))

    printer.show(batch({"query": "alone", "n": 1}, {"query": "gone", "n": 3}, {"query": "pairs", "n": 2}), 4)
    printer.show(batch({"query": "alone", "n": 1}), 4)
    printer.show(batch({"query": "alone", "n": 5}), 5)
    printer.show(batch({"query": "alone", "n": 5, "m": 6}), 6)
    lines = ["query,n", "pairs,2", "alone,1", "gone,3", "alone,5", "query,n,m", "alone,5,6"]
    assert capsys.readouterr().out.splitlines() == lines


def test_what_cannot_be_watched(tmp_path: Path) -> None:
    (tmp_path / "queries.q").write_text(PAIRS)
    assert "--watch is for a file" in bad("stream", PAIRS, "generate:stock", "--watch", cwd=tmp_path)
    assert "leave out --watch or --once" in bad(
        "stream", "queries.q", "generate:stock", "--watch", "--once", cwd=tmp_path
    )


@pytest.mark.slow
@pytest.mark.spark
def test_a_query_comes_while_a_stream_runs(tmp_path: Path) -> None:
    incoming, queries = tmp_path / "incoming", tmp_path / "queries.q"
    incoming.mkdir()
    queries.write_text(PAIRS)

    def send(text: str) -> None:
        hidden = incoming / "_new.parquet"
        pq.write_table(pa.Table.from_pylist(events(text), SIMPLE), hidden)
        hidden.rename(incoming / f"{len([*incoming.iterdir()])}.parquet")

    send("a1 b2 a12 b13 a21")
    words = [*COMMAND, "stream", "queries.q", "incoming", "--watch", "--watermark", "1 second", *QUICK]
    with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
        process = subprocess.Popen(words, cwd=tmp_path, env=environment(), stdout=out, stderr=err, text=True)
        try:

            def wait(done: Callable[[], bool]) -> None:
                end = time.monotonic() + SECONDS
                while not done():
                    assert process.poll() is None and time.monotonic() < end, (tmp_path / "err").read_text()
                    time.sleep(0.1)

            wait(lambda: (tmp_path / "out").read_text().count("pairs,") == 2)
            queries.write_text(PAIRS + ALONE)
            wait(lambda: "begins with the window at" in (tmp_path / "err").read_text())
            send("c24 b25 a31 c32 b33 c45")
            send("c60")
            wait(lambda: (tmp_path / "out").read_text().count("alone,") == 2)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(SECONDS)
    assert "note: 'alone' begins with the window at 2024-01-01 00:00:30" in (tmp_path / "err").read_text()
    rows = [
        line.split(",") for line in (tmp_path / "out").read_text().splitlines() if not line.startswith("query,")
    ]
    found = sorted((name, start[-5:], count) for name, start, _, count in rows)
    assert found == [
        ("alone", "00:30", "1"),
        ("alone", "00:40", "1"),
        ("pairs", "00:00", "1"),
        ("pairs", "00:10", "1"),
        ("pairs", "00:20", "1"),
        ("pairs", "00:30", "1"),
    ]
