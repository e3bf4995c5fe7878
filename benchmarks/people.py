"""Fifty people at the workbench at once: each has a text checked, runs a small query, and reads its result."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx

from benchmarks.common import Line

PEOPLE = 50
DATA = {"name": "generate:clicks", "events": 1000}
BOUND = 2.0
"""Seconds that the slowest answer may take."""


def _ask(address: str, number: int, ready: threading.Barrier) -> list[float]:
    """Check, run and read; return how long each answer took."""
    kind = ("Search", "Kindle", "Stylus", "View")[number % 4]
    text = f"RETURN COUNT(*) PATTERN {kind} X+ WHERE [userId] AND LENGTH <= {1 + number % 3}"
    spent = []
    with httpx.Client(base_url=address, timeout=120) as person:
        ready.wait()
        begin = time.perf_counter()
        person.post("/api/check", json={"data": DATA, "text": text}).raise_for_status()
        spent.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        started = person.post("/api/runs", json={"kind": "query", "data": DATA, "text": text}).raise_for_status()
        id = started.json()["id"]
        with person.stream("GET", f"/api/runs/{id}/events") as events:
            told = [json.loads(line[6:]) for line in events.iter_lines() if line.startswith("data: ")]
        if told[-1]["state"] != "done":
            raise RuntimeError(f"a run ended as {told[-1]}")
        spent.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        person.get(f"/api/runs/{id}/rows").raise_for_status()
        spent.append(time.perf_counter() - begin)
    return spent


def _crowd(address: str, people: int) -> list[float]:
    """Let people ask at once; return how long all answers took, in order."""
    ready = threading.Barrier(people)
    with ThreadPoolExecutor(people) as crowd:
        found = list(crowd.map(lambda number: _ask(address, number, ready), range(people)))
    return sorted(spent for one in found for spent in one)


def run(scale: float = 1.0) -> Iterator[Line]:
    """Measure a workbench in a process of its own."""
    people = max(2, int(PEOPLE * scale))
    command = [sys.executable, "-m", "sparkleene", "serve", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            assert process.stdout is not None
            said = ""
            while not (found := re.search(r"http://[\d.:]+", said)):
                line = process.stdout.readline()
                if not line:
                    raise RuntimeError(f"the workbench did not start: {said}")
                said += line
            _crowd(found[0], 2)  # so that all processes are there
            alone = _crowd(found[0], 1)[-1]
            spent = _crowd(found[0], people)
        finally:
            process.send_signal(signal.SIGINT)
    detail = f"{spent[-1]:.2f} s, median {spent[len(spent) // 2]:.2f} s; of one person alone {alone:.2f} s"
    yield Line(f"slowest answer to {people} people / {BOUND:g} s", spent[-1] / BOUND, "<= 1", detail)
