"""Commands that start Spark: the same rows as the local engine, errors in our words, and Ctrl-C."""

from __future__ import annotations

import csv
import fcntl
import os
import pty
import select
import shutil
import signal
import subprocess
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import StringType, StructType
from tests import conftest
from tests.cli.command import COMMAND, LOCAL, bad, environment, good, sparkleene

import sparkleene as sk
from sparkleene.cli.stream_sources import decode_messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

QUICK = ("--master", "local[2]", "--conf", f"spark.driver.extraJavaOptions={conftest.QUICK}")
FALLING = """
    RETURN sector, COUNT(*), MIN(S.price) PATTERN Stock S+ WHERE [company, sector] AND S.price > NEXT(S).price
    GROUP-BY sector WITHIN 10 seconds SLIDE 10 seconds
"""


@pytest.fixture(scope="module")
def local(streams: Path) -> str:
    """What the local engine prints."""
    return good("run", FALLING, streams / "stock.parquet", *LOCAL, cwd=streams)


def rows(folder: Path) -> list[list[str]]:
    """Return the rows of the CSV files in a folder, each of which has a header."""
    found = [list(csv.reader(path.open())) for path in folder.glob("*.csv")]
    assert len({tuple(lines[0]) for lines in found if lines}) == 1
    return sorted(line for lines in found for line in lines[1:])


# ---- run


@pytest.mark.usefixtures("commands_share_spark")
def test_the_same_rows_as_the_local_engine(streams: Path, local: str) -> None:
    assert good("run", FALLING, "stock.csv", *QUICK, cwd=streams) == local


@pytest.mark.usefixtures("commands_share_spark")
def test_tasks_tell_what_they_share(streams: Path) -> None:
    more = ["--query", FALLING, "--stats", *QUICK]
    done = sparkleene("run", FALLING, "stock.csv", *more, cwd=streams)
    assert done.returncode == 0 and "one automaton: " in done.stderr
    (streams / "in").mkdir()
    shutil.copy(streams / "stock.parquet", streams / "in")
    done = sparkleene("stream", FALLING, "in", *more, "--once", "--watermark", "1 second", cwd=streams)
    shutil.rmtree(streams / "in")
    assert done.returncode == 0 and "one automaton: " in done.stderr


@pytest.mark.repeat
def test_a_process_of_its_own(streams: Path, local: str, tmp_path: Path) -> None:
    files = [streams / "stock.parquet", "-o", "rows", "-f", "csv"]
    assert good("run", FALLING, *files, *QUICK, cwd=tmp_path, env=environment()) == ""
    lines = [line.split(",") for line in local.splitlines()[1:]]
    found, wanted = (
        sorted((sector, float(count), float(low)) for _, _, sector, count, low in some)
        for some in (rows(tmp_path / "rows"), lines)
    )
    assert found == wanted != []
    assert {path.name for path in streams.iterdir()} == {"stock.parquet", "stock.csv", "stock.json"}


@pytest.mark.usefixtures("commands_share_spark")
def test_tasks_write_to_a_folder(streams: Path, local: str, tmp_path: Path) -> None:
    output = tmp_path / "rows"
    assert good("run", FALLING, streams / "stock.json", *QUICK, "-o", output, "-f", "json", cwd=tmp_path) == ""
    assert (output / "_SUCCESS").exists()
    found = sum(len(path.read_text().splitlines()) for path in output.glob("*.json"))
    assert found == len(local.splitlines()) - 1
    said = bad("run", FALLING, streams / "stock.json", *QUICK, "-o", output, "-f", "json", cwd=tmp_path)
    assert said.startswith(f"error[bad-option]: there is something in the folder '{output}' already\n")


@pytest.mark.usefixtures("commands_share_spark")
def test_what_is_wrong_with_the_data_is_said_in_our_words(tmp_path: Path) -> None:
    (tmp_path / "null.csv").write_text("time,type\n1,A\n,A\n")
    said = bad("run", "RETURN COUNT(*) PATTERN A+", "null.csv", *QUICK, "-o", "out.csv", cwd=tmp_path)
    assert said.startswith("error[null-time]: the time 'time' is NULL in some row\n") and "= help: drop" in said
    assert len(said.splitlines()) < 6
    assert [path.name for path in tmp_path.iterdir()] == ["null.csv"]


def session_of(leader: int) -> list[int]:
    """Return the processes of a session that run, Spark's workers too."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session, *_ = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(session) == leader and state != "Z":
            found.append(int(path.parent.name))
    return found


def until_gone(leader: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while left := session_of(leader):
        assert time.monotonic() < deadline, left
        time.sleep(0.2)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_ctrl_c(tmp_path: Path) -> None:
    """A key on a terminal ends a run on Spark with all its processes, and leaves no output."""
    pq.write_table(sk.generate("stock", 400_000, groups=1), tmp_path / "stock.parquet")
    steep = "S.price > NEXT(S).price AND S.volume < NEXT(S).volume"  # one by one: minutes
    query = f"RETURN COUNT(*) PATTERN Stock S+ WHERE {steep}"
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "run", query, "stock.parquet", "-o", "o.csv", *QUICK],
        cwd=tmp_path, env=environment(), stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(slave)
    seen, pressed, deadline = "", False, time.monotonic() + 180
    try:
        while time.monotonic() < deadline:
            if select.select([master], [], [], 1)[0]:
                try:
                    seen += os.read(master, 1 << 16).decode(errors="replace")
                except OSError:  # all who held the terminal have ended
                    break
            if not pressed and "tasks" in seen:  # the line that tells how far it is
                os.write(master, b"\x03")
                pressed, deadline = True, time.monotonic() + 120
        assert pressed, seen
        assert process.wait(30) == 130, seen
        until_gone(process.pid, 30)
        while select.select([master], [], [], 0)[0]:  # what a slow machine printed after the deadline
            try:
                seen += os.read(master, 1 << 16).decode(errors="replace")
            except OSError:
                break
    finally:
        for number in session_of(process.pid):
            os.kill(number, signal.SIGKILL)
        process.wait(10)
        os.close(master)
    assert "starting Spark" in seen and "counting trends in 400,000 events" in seen
    assert "interrupted" in seen.splitlines()[-1] and "Traceback" not in seen and "Exception" not in seen
    assert [path.name for path in tmp_path.iterdir()] == ["stock.parquet"]


# ---- stream


def test_sources_that_cannot_be(tmp_path: Path) -> None:
    """Nothing of this needs Spark."""
    for source, wanted in (
        ("generate:stocks", "error[bad-option]: there is no stream 'stocks'"),
        ("replay:no.csv", "error[missing-file]: there is no file 'no.csv'"),
        ("no", "error[missing-file]: there is no folder 'no'"),
        ("kafka://host:9092", "error[bad-option]: 'kafka://host:9092' names no topic"),
        ("kafka://host:9092/topic", "error[bad-option]: nothing says what the topic's JSON has"),
    ):
        assert bad("stream", FALLING, source, cwd=tmp_path).splitlines()[0] == wanted
    for options, wanted in (
        (["--update", "-o", "x"], "error[bad-option]: files take each window once"),
        (["-f", "parquet"], "error[bad-option]: Parquet is for files"),
        (["-f", "table", "-o", "x"], "error[bad-option]: tables are not written to folders"),
        (["--option", "rate"], "error[bad-option]: --option is 'rate'"),
        (["--conf", "x"], "error[bad-option]: --conf is 'x'"),
        (["--headers", "device"], "error[bad-option]: --headers is for messages of Kafka"),
    ):
        said = bad("stream", FALLING, "generate:stock", *options, cwd=tmp_path)
        assert said.splitlines()[0] == wanted


@pytest.mark.usefixtures("commands_share_spark")
def test_kafka_without_its_connector(tmp_path: Path) -> None:
    columns = "time timestamp, type string, company string, sector string, price double"
    said = bad("stream", FALLING, "kafka://localhost:9/topic", "--schema", columns, *QUICK, cwd=tmp_path)
    assert said.startswith("error[unsupported-data]: Spark's Kafka connector is not there\n")
    assert "--conf spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:" in said


def test_headers_of_messages_are_columns(spark: SparkSession) -> None:
    headers = "array<struct<key: string, value: binary>>"
    sent = [
        ("a", [{"key": "device", "value": b"phone"}, {"key": "trace", "value": b"1"}]),
        ("b", [{"key": "device", "value": b"phone"}, {"key": "device", "value": b"desk"}]),
        ("c", None),
    ]
    rows = [(b"k", f'{{"type": "{kind}"}}'.encode(), given) for kind, given in sent]
    messages = spark.createDataFrame(rows, f"key binary, value binary, headers {headers}")
    schema = StructType().add("type", StringType())
    found = decode_messages(messages, schema, ("device", "trace")).orderBy("type").toArrow()
    assert found.column_names == ["type", "key", "headers", "device", "trace"]
    assert found["device"].to_pylist() == ["phone", "desk", None]
    assert found["trace"].to_pylist() == ["1", None, None]
    with pytest.raises(sk.SparkleeneError, match="a column already"):
        decode_messages(messages, schema, ("type",))


@pytest.mark.repeat
@pytest.mark.usefixtures("commands_share_spark")
def test_a_replay_prints_windows_as_they_close(streams: Path, local: str) -> None:
    options = ["--once", "--watermark", "1 second", "--option", "rowsPerBatch=700", *QUICK]
    printed = good("stream", FALLING, "replay:stock.csv", *options, cwd=streams)
    lines = printed.splitlines()
    assert len(lines) > 3 and len(set(lines)) == len(lines)
    assert local.startswith(printed)  # all but the windows that are open yet


@pytest.mark.usefixtures("commands_share_spark")
def test_a_folder_goes_on_where_it_stopped(streams: Path, local: str, tmp_path: Path) -> None:
    table = pq.read_table(streams / "stock.parquet")
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    options = ["--once", "--watermark", "1 second", "-o", tmp_path / "windows", "-f", "csv", *QUICK]
    seen: list[list[str]] = []
    for start, stop in ((0, 1000), (1000, 2000)):
        pq.write_table(table.slice(start, stop - start), tmp_path / "part.parquet")
        shutil.move(tmp_path / "part.parquet", incoming / f"{start}.parquet")
        assert good("stream", FALLING, "incoming", *options, cwd=tmp_path) == ""
        now = rows(tmp_path / "windows")
        assert len(now) > len(seen)
        assert all(row in now for row in seen)
        seen = now
    wanted = [line.split(",") for line in local.splitlines()[1:]]
    assert len({(row[0], row[2]) for row in seen}) == len(seen)  # no window twice
    assert [[row[2], float(row[3])] for row in seen] == [[row[2], float(row[3])] for row in wanted[: len(seen)]]
