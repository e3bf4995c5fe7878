"""Drivers and workers that are killed, disks that fill up, checkpoints that are damaged: the rows stay the same."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.chance import chance

import sparkleene as sk
from sparkleene.spark import check_checkpoint

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
]

WINDOW = "WITHIN 40 seconds SLIDE 10 seconds"
QUERIES = {
    "linear": f"RETURN user, COUNT(*), SUM(A.x) PATTERN SEQ(A+, B) WHERE [user] GROUP-BY user {WINDOW}",
    "adjacent": f"RETURN user, COUNT(*), MAX(A.x) PATTERN SEQ(A+, B) WHERE [user] AND A.x < NEXT(A).x "
    f"GROUP-BY user {WINDOW}",
    "trigger": "RETURN user, COUNT(*) PATTERN SEQ(A+, B) WHERE [user] GROUP-BY user WITHIN 15 seconds",
    "spread": f"RETURN COUNT(*), SUM(A.x), AVG(A.x) PATTERN SEQ(A+, B) WHERE [user] {WINDOW}",
}
PER_FILE = 30
SCRIPT = Path(__file__).with_name("stream_script.py")
DUMPS = Path(__file__).with_name("dumps")  # what lets Python say what it waits for


# ---- rows in, rows out


def write_rows(folder: Path, files: int, seed: int) -> pa.Table:
    """Write a stream, a row in each second and none later than the watermark allows, and return it."""
    drawn = random.Random(seed)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [second * 1000 + drawn.randrange(900) for second in range(files * PER_FILE)]
    times.sort(key=lambda at: at + drawn.uniform(0, 8000))
    rows = [
        {
            "time": start + timedelta(milliseconds=at),
            "type": drawn.choice("AAB"),
            "user": drawn.choice("tuvwxyz"),
            "x": drawn.randrange(100),
        }
        for at in times
    ]
    schema = pa.schema(
        [("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("user", pa.string()), ("x", pa.int64())]
    )
    # One of a group without trends, for the watermark to pass all windows.
    last = {"time": start + timedelta(days=1), "type": "B", "user": "end", "x": 0}
    table = pa.Table.from_pylist([*rows, last], schema)
    folder.mkdir()
    for number in range(files):
        part = table.slice(number * PER_FILE, PER_FILE if number < files - 1 else None)
        path = folder / f"{number:03}.parquet"
        pq.write_table(part, path)
        os.utime(path, (1_700_000_000 + number,) * 2)  # the order in which Spark takes them
    return table


def plain(rows: list[dict[str, Any]]) -> list[str]:
    """Return rows in an order of their own, to be compared."""
    return sorted(repr({name: value.timestamp() if isinstance(value, datetime) else value
                        for name, value in row.items()}) for row in rows)  # fmt: skip


def batch(query: str, table: pa.Table) -> list[str]:
    """Return what the in-process engine finds."""
    return plain(sk.query(query).run(table).to_pylist())


def listed(sink: Path, root: Path) -> list[Path]:
    """Return the files of a sink that its log lists, as readers of the sink must; its paths are below a root."""
    log = {int(path.name.partition(".")[0]): path for path in (sink / "_spark_metadata").glob("[0-9]*")}
    first = max((number for number, path in log.items() if path.suffix == ".compact"), default=0)
    lines = [line for number in sorted(log) if number >= first for line in log[number].read_text().split("\n")[1:]]
    entries = [json.loads(line) for line in lines if line]
    assert all(entry["action"] == "add" for entry in entries)
    return [root / unquote(urlparse(entry["path"]).path).lstrip("/") for entry in entries]


def written(sink: Path, root: Path = Path("/")) -> list[str]:
    """Return the rows of a sink."""
    return plain([row for path in listed(sink, root) for row in pq.ParquetFile(path).read().to_pylist()])


@dataclass
class Job:
    """A query with a checkpoint and a sink in a folder."""

    folder: Path
    rows: Path
    query: Any  # a text, or those of a workload by name
    conf: dict[str, str] = field(default_factory=dict)
    at_once: int = 1  # how many files make a batch

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def sink(self) -> Path:
        return self.folder / "sink"

    def as_json(self) -> str:
        paths = {"rows": self.rows, "checkpoint": self.checkpoint, "sink": self.sink}
        given = {"query": self.query, "conf": self.conf, "files": self.at_once}
        return json.dumps({**given, **{name: str(path) for name, path in paths.items()}})

    def files(self) -> int:
        """Return how many files there are, finished or not."""
        return sum(len(names) for root in (self.checkpoint, self.sink) for _, _, names in os.walk(root))

    def batches(self) -> tuple[int, int]:
        """Return the numbers of the last batch that was begun and of the last that was ended, -1 for none."""
        found = [
            [int(path.name) for path in (self.checkpoint / log).glob("[0-9]*")] for log in ("offsets", "commits")
        ]
        begun, ended = (max(numbers, default=-1) for numbers in found)
        return begun, ended


# ---- a driver in a process of its own


class Driver:
    """A process that runs stream_script.py, with its JVM and Python workers in one session of processes."""

    def __init__(self, folder: Path, master: str = "local[2]", before: tuple[str, ...] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        number = len(list(folder.glob("*.out")))
        self.out, self.err = folder / f"{number}.out", folder / f"{number}.err"
        self.answered = 0
        arguments = json.dumps({"master": master})
        environment = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}
        environment["PYTHONPATH"] = os.pathsep.join([str(DUMPS), os.environ.get("PYTHONPATH", "")])
        with self.out.open("w") as out, self.err.open("w") as err:
            self.process = subprocess.Popen(
                [*before, sys.executable, str(SCRIPT), arguments],
                cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=out, stderr=err, text=True,
                start_new_session=True,
            )  # fmt: skip

    def ask(self, job: Job) -> None:
        assert self.process.stdin is not None
        print(job.as_json(), file=self.process.stdin, flush=True)

    def answers(self) -> list[str | None]:
        """Return the errors, None for a job that ended well, of all jobs that have ended."""
        lines = self.out.read_text().split("\n")[:-1]
        return [json.loads(line.removeprefix("done")) for line in lines if line.startswith("done")]

    def wait(self, until: Callable[[], bool] = lambda: False, seconds: float = 300) -> bool:
        """Wait for the answer of a job or for something else, and tell whether it is the answer."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if len(self.answers()) > self.answered:
                self.answered += 1
                return True
            if until():
                return False
            assert self.process.poll() is None, self.err.read_text()
            time.sleep(0.03)
        for pid, (_, command) in self.processes().items():
            java = command.partition(" ")[0].endswith("java")
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGQUIT if java else signal.SIGUSR1)  # each prints what its threads do
        time.sleep(3)
        raise AssertionError(f"no answer within {seconds} s\n{self.out.read_text()}\n{self.err.read_text()}")

    def run(self, job: Job) -> str | None:
        """Run a job to its end and return its error."""
        self.ask(job)
        self.wait()
        return self.answers()[self.answered - 1]

    def processes(self) -> dict[int, tuple[int, str]]:
        """Return the processes of its session, each with its parent and its command."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it ended while we looked
                fields = (path / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == self.process.pid and fields[0] != "Z":
                    command = (path / "cmdline").read_text().replace("\0", " ")
                    found[int(path.name)] = (int(fields[1]), command)
        return found

    def workers(self) -> list[int]:
        """Return the Python workers, which Spark's daemon forks."""
        found = self.processes()
        daemons = {pid for pid, (_, command) in found.items() if "pyspark.daemon" in command}
        return [pid for pid in daemons if found[pid][0] in daemons]

    def kill(self) -> None:
        """Kill it, the JVM and the workers at once."""
        while found := self.processes():
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        self.process.wait()


@contextmanager
def driver(folder: Path, master: str = "local[2]", before: tuple[str, ...] = ()) -> Iterator[Driver]:
    """Start a driver; nothing of it is left at the end."""
    started = Driver(folder, master, before)
    try:
        yield started
    finally:
        started.kill()


# ---- kills


def killed(job: Job, logs: Path, drawn: random.Random) -> str:
    """Start a job and kill its driver somewhere; tell where that was."""
    with driver(logs) as started:
        before, more = job.files(), drawn.randint(1, 30)
        started.ask(job)
        if started.wait(lambda: job.files() >= before + more):
            assert started.answers() == [None], started.answers()
            return "ended"
        time.sleep(drawn.uniform(0, 0.3))
        started.kill()
    begun, ended = job.batches()
    if begun < 0:  # Spark refuses a checkpoint without a batch, unless it is empty
        assert not listed(job.sink, Path("/"))
        shutil.rmtree(job.checkpoint, ignore_errors=True)
        return "before the first batch"
    check_checkpoint(job.checkpoint)
    return "in a batch" if begun > ended else "between batches"


def survive(job: Job, kills: int, drawn: random.Random) -> list[str]:
    """Kill the driver of a job some times, let it end, and return where the kills were."""
    found: list[str] = []
    while len(found) < kills:
        found.append(killed(job, job.folder / "logs", drawn))
        if found[-1] == "ended":
            return found[:-1]
    with driver(job.folder / "logs") as started:
        assert started.run(job) is None
        # Killed after the last rows, Spark does not begin the batch without rows that would have closed windows.
        later(job.rows)
        assert started.run(job) is None
    return found


def later(folder: Path) -> None:
    """Write another row of a group without trends, a day later, unless it is there."""
    path = folder / "later.parquet"
    if not path.exists():
        table = pq.read_table(max(folder.glob("*.parquet")))
        row = max(table.to_pylist(), key=lambda row: row["time"])
        row["time"] += timedelta(days=1)
        pq.write_table(pa.Table.from_pylist([row], table.schema), path)


@pytest.mark.slow
def test_windows_wait_for_rows_after_a_stop_between_batches(tmp_path: Path) -> None:
    table = write_rows(tmp_path / "rows", 2, 1)
    batchless = {"spark.sql.streaming.noDataMicroBatches.enabled": "false"}
    job = Job(tmp_path / "job", tmp_path / "rows", QUERIES["spread"], batchless)
    with driver(tmp_path / "logs") as started:  # ends as one that was killed after its last rows
        assert started.run(job) is None
    job.conf = {name: "true" for name in batchless}
    with driver(tmp_path / "logs") as started:
        assert started.run(job) is None
        assert len(written(job.sink)) < len(batch(job.query, table))
        later(job.rows)
        assert started.run(job) is None
    assert written(job.sink) == batch(job.query, table)


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [1, 3])
@pytest.mark.parametrize("name", QUERIES)
def test_many_killed_drivers(tmp_path: Path, name: str, at_once: int) -> None:
    drawn = chance(f"test_many_killed_drivers {name} {at_once}")
    table = write_rows(tmp_path / "rows", 8 * at_once, drawn.randrange(1 << 32))
    query = QUERIES[name]
    clean = Job(tmp_path / "clean", tmp_path / "rows", query)
    with driver(tmp_path / "logs") as started:
        assert started.run(clean) is None
    expected = batch(query, table)
    assert written(clean.sink) == expected
    found: list[str] = []
    for number in range(100):
        job = Job(tmp_path / f"job-{number}", tmp_path / "rows", query, at_once=at_once)
        found += survive(job, 8, drawn)
        assert written(job.sink) == expected, (number, found)
        if len(found) >= 8 and found.count("in a batch") >= 3:
            break
    print(name, found)
    assert len(found) >= 8 and found.count("in a batch") >= 3


# ---- workers


def strike(started: Driver, job: Job, most: int, pause: float) -> None:
    """Kill the Python workers in the midst of batches, in each at most some times, until the query ends."""
    struck: dict[int, int] = {}
    last = 0.0

    def in_a_batch() -> bool:
        nonlocal last
        begun, ended = job.batches()
        if begun > ended and struck.get(begun, 0) < most and time.monotonic() > last + pause:
            found = started.workers()
            for pid in found:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            struck[begun] = struck.get(begun, 0) + bool(found)
            last = time.monotonic()
        return False

    started.wait(in_a_batch)


# ---- a full disk

UNSHARE = ("unshare", "--user", "--map-root-user", "--mount")


def can_mount() -> bool:
    """Tell whether a process can have a file system of its own."""
    if shutil.which("unshare") is None:
        return False
    command = [*UNSHARE, "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /tmp"]
    return subprocess.run(command, capture_output=True).returncode == 0


@dataclass
class Doomed:
    """A driver that has a small disk of its own in a folder, where that can be, and is to be killed."""

    driver: Driver
    disk: Path | None


@pytest.fixture(scope="module")
def doomed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doomed]:
    folder = tmp_path_factory.mktemp("doomed")
    disk = folder / "disk" if can_mount() else None
    mounted: tuple[str, ...] = ()
    if disk is not None:
        disk.mkdir()
        mounted = (*UNSHARE, "sh", "-c", 'mount -t tmpfs -o size=8m tmpfs "$0" && exec "$@"', str(disk))
    with driver(folder / "logs", "local[2]", mounted) as started:
        yield Doomed(started, disk)


@pytest.mark.slow
def test_full_disk(doomed: Doomed, tmp_path: Path) -> None:
    if doomed.disk is None:
        pytest.skip("no file system of a process's own")
    started = doomed.driver
    table = write_rows(tmp_path / "rows", 3, 4)
    job = Job(doomed.disk, tmp_path / "rows", QUERIES["linear"])
    seen = Path(f"/proc/{started.process.pid}/root")  # the files, as the driver sees them
    inside = replace(job, folder=seen / job.folder.relative_to("/"))
    started.ask(job)
    assert not started.wait(lambda: inside.batches()[1] >= 0)
    ballast = inside.folder / "ballast"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    started.wait()
    [error] = started.answers()
    assert error is not None and "No space left on device" in error
    ballast.unlink()
    check_checkpoint(inside.checkpoint)
    assert started.run(job) is None
    assert written(inside.sink, seen) == batch(job.query, table)


# ---- damage


@dataclass
class Halfway:
    """A job whose checkpoint is that of a query with half of its files read, and copies to bring it back from."""

    job: Job
    copy: Path
    expected: list[str]
    driver: Driver

    def again(self) -> Job:
        """Bring checkpoint and sink back to where they were."""
        for name in ("checkpoint", "sink"):
            shutil.rmtree(self.job.folder / name)
            shutil.copytree(self.copy / name, self.job.folder / name)
        return self.job


@contextmanager
def stopped_halfway(folder: Path, query: str, files: int = 4) -> Iterator[Halfway]:
    """Start a driver and let it run a job over the first half of its files."""
    table = write_rows(folder / "rows", files, 1)
    later = sorted((folder / "rows").iterdir())[files // 2 :]
    (folder / "later").mkdir()
    for path in later:
        path.rename(folder / "later" / path.name)
    job = Job(folder / "job", folder / "rows", query)
    with driver(folder / "logs", "local[2,4]") as started:
        assert started.run(job) is None
        shutil.copytree(job.folder, folder / "copy")
        for path in later:
            (folder / "later" / path.name).rename(path)
        yield Halfway(job, folder / "copy", batch(query, table), started)


@pytest.fixture(scope="module")
def halfway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Halfway]:
    with stopped_halfway(tmp_path_factory.mktemp("halfway"), QUERIES["linear"]) as found:
        yield found


def cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)


def deleted(path: Path) -> None:
    """Delete a file with its checksum, or a folder."""
    if path.is_dir():
        shutil.rmtree(path)
        return
    path.unlink()
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


Damage = Callable[[Path], None]
DAMAGES: tuple[Damage, ...] = (cut, emptied, flipped, deleted)
LAST = 2  # the last batch of the first half; the one without rows that follows the watermark
NEEDED = {  # a pattern for each file without which a query cannot go on as it was, and what else may be done to it
    "metadata": DAMAGES,
    f"offsets/{LAST - 1}": DAMAGES,
    f"offsets/{LAST}": DAMAGES,
    f"commits/{LAST}": (cut, emptied, flipped),  # without it the batch is done again
    "sources/0/0": DAMAGES,
    "sources/0/1": DAMAGES,
    f"state/0/0/{LAST}.changelog": DAMAGES,
    f"state/0/1/{LAST + 1}.changelog": DAMAGES,
    "state/0/0/1.zip": (cut, emptied, flipped),  # without it there are all changes
    "state/0/0/SSTs/*.sst": (cut, emptied, deleted),  # RocksDB has checksums of its own inside
    "state/0/_metadata/v2/0": DAMAGES,
    "state/0/_stateSchema/default/0_*": DAMAGES,
}
FOLDERS = ("offsets", "sources", "state", "state/0", "state/0/0", "state/0/_metadata", "state/0/_stateSchema")
KNOWN = [(pattern, damage) for pattern, damages in NEEDED.items() for damage in damages]
KNOWN += [(folder, deleted) for folder in FOLDERS]


def damaged(checkpoint: Path, pattern: str, damage: Damage) -> None:
    """Do damage to the one file or folder of a pattern."""
    [path] = checkpoint.glob(pattern)
    damage(path)


def complaint(checkpoint: Path) -> str | None:
    """Return what is wrong with a checkpoint, None if nothing is seen."""
    try:
        check_checkpoint(str(checkpoint))
    except sk.SparkleeneError as error:
        [found] = error.diagnostics
        assert found.code == "damaged-checkpoint" and found.help
        return "\n".join([found.message, *found.notes])
    return None


def test_new_and_whole_checkpoints(halfway: Halfway, tmp_path: Path) -> None:
    check_checkpoint(tmp_path / "absent")
    check_checkpoint(tmp_path)
    check_checkpoint(halfway.again().checkpoint)
    check_checkpoint(halfway.job.checkpoint.as_uri())
    deleted(halfway.job.checkpoint / "commits" / str(LAST))
    check_checkpoint(halfway.job.checkpoint)


@pytest.mark.parametrize(("pattern", "damage"), KNOWN, ids=lambda given: getattr(given, "__name__", given))
def test_damage_is_seen(halfway: Halfway, pattern: str, damage: Damage) -> None:
    job = halfway.again()
    damaged(job.checkpoint, pattern, damage)
    found = complaint(job.checkpoint)
    assert found is not None
    assert pattern.split("*")[0] in found or pattern == "state/0"


def test_logs_that_went_back_are_seen(halfway: Halfway) -> None:
    job = halfway.again()
    for log in ("offsets", "commits"):
        deleted(job.checkpoint / log / str(LAST))
    found = complaint(job.checkpoint)
    assert found is not None and "twice" in found
    deleted(job.checkpoint / "offsets")
    found = complaint(job.checkpoint)
    assert found is not None and "begin again" in found
    deleted(job.checkpoint / "metadata")
    assert complaint(job.checkpoint)
    deleted(job.checkpoint / "commits")
    deleted(job.checkpoint / "state")
    assert complaint(job.checkpoint)
    deleted(job.checkpoint / "sources" / "0" / "1")  # now it is as if the first batch had not begun
    assert complaint(job.checkpoint) is None


def test_watermarks_that_differ_are_seen(halfway: Halfway) -> None:
    log = halfway.again().checkpoint / "offsets" / str(LAST)
    log.with_name(f".{LAST}.crc").unlink()
    log.write_text(log.read_text().replace('"batchWatermarkMs":1', '"batchWatermarkMs":2'))
    found = complaint(halfway.job.checkpoint)
    assert found is not None and "another watermark" in found


def test_it_goes_on_without_the_last_commit_and_with_other_partitions(halfway: Halfway) -> None:
    job = halfway.again()
    deleted(job.checkpoint / "commits" / str(LAST))
    assert halfway.driver.run(replace(job, conf={"spark.sql.shuffle.partitions": "3"})) is None
    assert written(job.sink) == halfway.expected


def test_state_of_an_earlier_batch(halfway: Halfway) -> None:
    job = halfway.again()
    state = job.checkpoint / "state" / "0" / "1"
    for name in ("{}.changelog", ".{}.changelog.crc"):
        shutil.copy(state / name.format(LAST), state / name.format(LAST + 1))
    assert complaint(job.checkpoint) is None, "no file tells"
    error = halfway.driver.run(job)
    assert error is not None and "error[damaged-state]" in error and "earlier batch" in error


def test_a_driver_that_is_killed_in_a_batch(doomed: Doomed, halfway: Halfway, tmp_path: Path) -> None:
    table = write_rows(tmp_path / "rows", 3, 3)
    job = Job(tmp_path / "job", tmp_path / "rows", QUERIES["spread"])
    doomed.driver.ask(job)
    assert not doomed.driver.wait(lambda: job.batches() == (1, 0))
    doomed.driver.kill()
    assert job.batches() == (1, 0)
    check_checkpoint(job.checkpoint)
    assert halfway.driver.run(job) is None  # another driver goes on
    assert written(job.sink) == batch(job.query, table)


def test_killed_workers_are_replaced(halfway: Halfway) -> None:
    job = halfway.again()
    halfway.driver.ask(job)
    strike(halfway.driver, job, 3, 0.3)  # a task that failed three times is tried once more
    assert halfway.driver.answers()[-1] is None
    assert "Python worker exited unexpectedly" in halfway.driver.err.read_text()
    assert written(job.sink) == halfway.expected


@pytest.mark.slow
def test_workers_that_are_killed_at_every_try(halfway: Halfway) -> None:
    job = halfway.again()
    halfway.driver.ask(job)
    strike(halfway.driver, job, 1000, 0)
    error = halfway.driver.answers()[-1]  # which of the workers' deaths Spark tells about differs
    assert error is not None and "STREAM_FAILED" in error and "error[" not in error
    check_checkpoint(job.checkpoint)
    assert halfway.driver.run(job) is None
    assert written(job.sink) == halfway.expected


def test_another_query_from_a_checkpoint(halfway: Halfway) -> None:
    job = halfway.again()
    error = halfway.driver.run(replace(job, query=job.query.replace("A+", "A")))
    assert error is not None and "error[query-changed]" in error and "SEQ(A, B)" in error


@pytest.mark.slow
@pytest.mark.parametrize("name", QUERIES)
def test_damage_is_no_other_result(tmp_path: Path, name: str) -> None:
    """Whatever is done to any file: `check_checkpoint` complains, the query fails, or the rows are the same."""
    unseen = []
    with stopped_halfway(tmp_path, QUERIES[name]) as halfway:
        whole = halfway.copy / "checkpoint"
        files = [path.relative_to(whole) for path in whole.rglob("*") if not path.name.endswith(".crc")]
        for file in sorted(files):
            for damage in DAMAGES if (whole / file).is_file() else (deleted,):
                job = halfway.again()
                damage(job.checkpoint / file)
                if complaint(job.checkpoint) is None:
                    unseen.append((file, damage.__name__, halfway.driver.run(job)))
                    right = written(job.sink) == halfway.expected
                    assert right or unseen[-1][2] is not None, unseen[-1]
    print(*unseen, sep="\n")
    assert unseen
