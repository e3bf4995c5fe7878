"""Fifty people at once; whatever a description allows, and what it does not; the command itself; Spark."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.serve.server import FALLING, STOCK, Person, serving

from sparkleene.generators import generate
from sparkleene.serve.settings import find_roots

PEOPLE = 50
SMALL = {"name": "generate:clicks", "events": 1000}


def ask(address: str, number: int, ready: threading.Barrier) -> tuple[float, float, float]:
    """Look, type and run as a person does; return how long the slowest answer took, and what came out."""
    person = Person(address)
    kind = ("Search", "Kindle", "Stylus", "View")[number % 4]
    text = f"RETURN COUNT(*) PATTERN {kind} X+ WHERE [userId] AND LENGTH <= {1 + number % 3}"
    ready.wait()
    slowest = 0.0
    for step in range(3):
        begin = time.perf_counter()
        if step == 0:
            assert person.check(text, SMALL)["errors"] == []
        elif step == 1:
            found = person.result("query", data=SMALL, text=text)
        else:
            [[count]] = person.get(f"/api/runs/{found['id']}/rows").json()["page"]
        slowest = max(slowest, time.perf_counter() - begin)
    return slowest, number % 12, count


def test_fifty_people(address: str) -> None:
    Person(address).result("query", data=SMALL, text="RETURN COUNT(*) PATTERN View X+")
    ready = threading.Barrier(PEOPLE)
    with ThreadPoolExecutor(PEOPLE) as crowd:
        found = list(crowd.map(lambda number: ask(address, number, ready), range(PEOPLE)))
    counts: dict[float, set[float]] = {}
    for _, question, count in found:
        counts.setdefault(question, set()).add(count)
    assert len(counts) == 12 and all(len(one) == 1 for one in counts.values())  # each has the answer to its own
    slowest = max(one for one, _, _ in found)
    print(f"slowest of {3 * PEOPLE} answers to {PEOPLE} people: {slowest:.2f} s")
    assert slowest < 10  # the machine may be busy; benchmarks/people.py has what it takes on one that is not


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_the_interface_does_as_described(address: str, mode: str) -> None:
    """Ask what the description allows, and what it does not: no answer is an error of the server's own."""
    schemathesis = pytest.importorskip("schemathesis", reason="no schemathesis here: pip install schemathesis")
    schema = schemathesis.openapi.from_url(f"{address}/api/openapi.json")
    asked = [fuzz(address, one.ok(), schemathesis.GenerationMode[mode]) for one in schema.get_all_operations()]
    assert len(asked) > 10 and sum(asked) > 100


def fuzz(address: str, operation: Any, mode: Any) -> int:
    """Ask one thing in many ways; return how many."""
    from hypothesis import HealthCheck, given, settings
    from hypothesis.errors import Unsatisfiable

    known = {*operation.definition.raw["responses"]} | {"400", "404", "405", "413"}
    asked = 0

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        nonlocal asked
        asked += 1
        answer = case.call(base_url=address)
        assert str(answer.status_code) in known, (operation.label, answer.status_code, answer.text[:300])
        assert answer.status_code < 500 and "Traceback" not in answer.text

    try:
        check()
    except Unsatisfiable:  # where nothing is asked, nothing wrong can be
        assert mode.name == "NEGATIVE"
    return asked


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("time,type\n1,A\n2,B\n")
    command = [sys.executable, "-m", "sparkleene", "serve", str(tmp_path), "--port", "0", "--no-browser"]
    with subprocess.Popen([*command, "--processes", "1"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/", server.stdout.readline())
        assert found
        person = Person(found[0])
        data = {"name": f"file:{tmp_path.name}/events.csv"}
        result = person.result("query", data=data, text="RETURN COUNT(*) PATTERN SEQ(A, B)")
        assert person.get(f"/api/runs/{result['id']}/rows").json()["page"] == [[1.0]]
        server.send_signal(signal.SIGINT)
        assert server.wait(20) in (0, 130, -signal.SIGINT)


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["nowhere/"], "there is no file or folder"),
        (["kafka://x"], "names no topic"),
        (["kafka://x/y"], "nothing says"),
    ],
)
def test_what_cannot_be_served(arguments: list[str], said: str) -> None:
    command = [sys.executable, "-m", "sparkleene", "serve", *arguments, "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and said in done.stderr


@pytest.mark.spark
@pytest.mark.slow
def test_on_spark(address: str) -> None:
    person = Person(address)
    here = person.result("query", text=FALLING)
    there = person.result("query", text=FALLING, engine="spark")
    pages = [
        person.get(f"/api/runs/{one['id']}/rows?limit=1000&sort=count").json()["page"] for one in (here, there)
    ]
    assert sorted(row[-1] for row in pages[0]) == sorted(row[-1] for row in pages[1]) and len(pages[0]) > 10
    id = person.begin("live", text=FALLING, speed=600, delay=1, engine="spark", data=STOCK)
    told = []
    for one in person.follow(id):
        told.append(one)
        if "rows" in one:
            break
    stats = [one["stats"] for one in told if "stats" in one]
    assert stats and stats[-1]["rows"] > 0 and stats[-1]["watermark"] is not None
    assert person.post(f"/api/runs/{id}/pause", {"paused": True}).status_code == 200
    assert person.http.delete(f"/api/runs/{id}").json()["state"] == "cancelled"


@pytest.mark.repeat
@pytest.mark.spark
def test_a_folder_is_watched(tmp_path: Path) -> None:
    """Rows of files that come later are counted too; the files that are there tell the columns."""
    clicks = generate("clicks", 2000, rate=2)
    folder = tmp_path / "coming"
    folder.mkdir()
    pq.write_table(clicks.slice(0, 1000), folder / "one.parquet")
    text = "RETURN COUNT(*) PATTERN Search S+ WHERE LENGTH <= 1 WITHIN 1 minute SLIDE 1 minute"
    with serving(roots=find_roots([str(folder)]), processes=1) as address:
        person = Person(address)
        id = person.begin("live", text=text, delay=0, engine="spark", data={"name": "file:coming"})
        rows, counted = 0, 0.0
        for one in person.follow(id):
            assert one.get("state") != "failed", one
            rows = one.get("stats", {"rows": rows})["rows"]
            counted += sum(row[-1] for row in one.get("rows", ()))
            if rows == 1000 and not (folder / "two.parquet").exists():
                pq.write_table(clicks.slice(1000), tmp_path / "two.parquet")
                (tmp_path / "two.parquet").rename(folder / "two.parquet")
            if rows == 2000 and counted:
                break
        assert person.http.delete(f"/api/runs/{id}").json()["state"] == "cancelled"
    starts = pa.compute.equal(clicks.column("type"), "Search")
    assert 0 < counted <= pa.compute.sum(starts).as_py()
