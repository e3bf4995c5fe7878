"""The runs of people: each has an owner, tells what happens to it, and keeps its result for a while."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sparkleene.serve.pool import Found, Pool, Process
from sparkleene.serve.settings import Settings
from sparkleene.serve.worker import failure

State = Literal["waiting", "running", "done", "failed", "cancelled"]
ENDED = ("done", "failed", "cancelled")
EVENTS = 2000  # that are kept of a run for those who come later
OLD = 1800.0  # seconds that a result is kept


@dataclass
class Run:
    """A run of a person."""

    id: str
    person: str
    kind: str
    folder: Path
    state: State = "waiting"
    result: dict[str, Any] = field(default_factory=dict)
    events: deque[tuple[int, dict[str, Any]]] = field(default_factory=lambda: deque(maxlen=EVENTS))
    number: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    task: asyncio.Task[None] | None = None
    process: Process | None = None
    paused: bool = False
    watchers: int = 0
    seen: float = field(default_factory=time.monotonic)  # when somebody last looked

    def tell(self, message: dict[str, Any]) -> None:
        """Keep a message for those who watch, and wake them."""
        self.number += 1
        self.events.append((self.number, message))
        self.changed.set()
        self.changed = asyncio.Event()

    def end(self, state: State, result: dict[str, Any]) -> None:
        """Say how the run ended, unless that was said before."""
        if self.state not in ENDED:
            self.state, self.result, self.ended = state, result, time.monotonic()
            self.process = None
            self.tell({"state": state})

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return (self.ended or time.monotonic()) - self.began

    def describe(self) -> dict[str, Any]:
        """Return what its owner may know."""
        known = {"id": self.id, "kind": self.kind, "state": self.state, "paused": self.paused}
        return {**known, "seconds": round(self.seconds, 3), "result": self.result}

    async def follow(self, after: int) -> AsyncIterator[tuple[int, dict[str, Any]] | None]:
        """Yield what happens after an event, until it ends; None now and then while nothing does."""
        self.watchers += 1
        try:
            while True:
                changed = self.changed
                for number, message in [one for one in self.events if one[0] > after]:
                    after = number
                    yield number, message
                if self.state in ENDED and after >= self.number:
                    return
                try:
                    await asyncio.wait_for(changed.wait(), 10)
                except TimeoutError:
                    yield None
        finally:
            self.watchers -= 1
            self.seen = time.monotonic()


class TooManyError(Exception):
    """A person has too many runs, or all people together have."""


class Runs:
    """All runs, and the processes that they run in."""

    def __init__(self, settings: Settings) -> None:
        """Prepare; no process is started yet."""
        limits = settings.limits
        self.settings = settings
        self.quick = Pool(settings, 1, max(1.0, limits.seconds / 4))
        self.looks = Pool(settings, settings.processes, self.quick.seconds, context=self.quick.context)
        self.local = Pool(settings, settings.processes, limits.seconds, context=self.quick.context)
        self.spark = Pool(settings, 1, limits.seconds * 4, limited=False, context=self.quick.context)
        self.live = Pool(settings, 8, limits.live_seconds, kept=False, context=self.quick.context)
        self.live_spark = Pool(
            settings, 1, limits.live_seconds, kept=False, limited=False, context=self.quick.context
        )
        self._runs: dict[str, Run] = {}
        self._asking: Counter[tuple[str, str]] = Counter()  # questions that wait for an answer
        self._folder = Path(tempfile.mkdtemp(prefix="sparkleene-serve-"))
        self._keeper: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the processes that wait for work."""
        self._keeper = asyncio.create_task(self._keep())
        await asyncio.gather(self.quick.warm(), self.local.warm())

    async def stop(self) -> None:
        """End everything, and remove all results."""
        if self._keeper is not None:
            self._keeper.cancel()
        for run in self._runs.values():
            if run.task is not None:
                run.task.cancel()
        for pool in (self.quick, self.looks, self.local, self.spark, self.live, self.live_spark):
            pool.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _pool(self, kind: str, body: Mapping[str, Any]) -> Pool:
        spark = body.get("engine") == "spark"
        if kind == "live":
            return self.live_spark if spark else self.live
        return self.spark if spark else self.local

    async def ask(self, person: str, kind: Literal["check", "look"], body: Mapping[str, Any]) -> Found:
        """Answer a question that somebody waits for, or raise if the person has asked too many.

        Looks have processes of their own: one at a large folder may take long, and nobody's typing waits for it.
        """
        limits = self.settings.limits
        pool, most = (self.looks, limits.looks) if kind == "look" else (self.quick, limits.checks)
        if self._asking[person, kind] >= most:
            raise TooManyError(f"{most} such questions of yours wait for their answers; wait a moment")
        self._asking[person, kind] += 1
        try:
            return await pool.run(kind, body)
        finally:
            self._asking[person, kind] -= 1
            if not self._asking[person, kind]:
                del self._asking[person, kind]

    def begin(self, person: str, kind: str, body: Mapping[str, Any]) -> Run:
        """Start a run, or raise if the person has too many."""
        limits = self.settings.limits
        self._tidy(person)
        going = [run for run in self._runs.values() if run.state not in ENDED]
        if sum(run.person == person for run in going) >= limits.runs:
            raise TooManyError(f"{limits.runs} of your runs are going on; cancel one, or wait")
        if len(going) >= limits.waiting:
            raise TooManyError("too many people ask at once; wait a moment")
        id = secrets.token_urlsafe(16)
        folder = self._folder / id
        folder.mkdir(mode=0o700)
        run = self._runs[id] = Run(id, person, kind, folder)
        run.task = asyncio.create_task(self._run(run, self._pool(kind, body), body))
        return run

    async def _run(self, run: Run, pool: Pool, body: Mapping[str, Any]) -> None:
        def begin(process: Process) -> None:
            run.state, run.process, run.began = "running", process, time.monotonic()
            run.tell({"state": "running"})

        try:
            state, found = await pool.run(run.kind, body, str(run.folder), run.tell, begin)
            run.end("done" if state == "done" else "failed", found)
        except asyncio.CancelledError:
            run.end("cancelled", {})
        except Exception:
            run.end("failed", failure("internal-error", "something went wrong here, which is no fault of yours"))
            raise

    def find(self, person: str, id: str) -> Run | None:
        """Return a run of a person; those of others do not exist."""
        run = self._runs.get(id)
        return run if run is not None and secrets.compare_digest(run.person, person) else None

    async def cancel(self, run: Run) -> None:
        """End a run, whatever it is doing."""
        if run.task is not None and run.state not in ENDED:
            run.task.cancel()
            await asyncio.wait([run.task], timeout=10)

    def pause(self, run: Run, paused: bool) -> bool:
        """Let a live run stop, or go on; tell whether it could."""
        if run.kind != "live" or run.process is None or run.state != "running":
            return False
        run.process.say("pause" if paused else "go on")
        run.paused = paused
        run.tell({"paused": paused})
        return True

    def _tidy(self, person: str) -> None:
        """Remove results that are old, or too many for a person."""
        now = time.monotonic()
        mine = [run for run in self._runs.values() if run.person == person and run.state in ENDED]
        for run in mine[: max(0, len(mine) - self.settings.limits.kept + 1)]:
            self._remove(run)
        for run in [*self._runs.values()]:
            if run.ended is not None and now - max(run.ended, run.seen) > OLD and not run.watchers:
                self._remove(run)

    def _remove(self, run: Run) -> None:
        self._runs.pop(run.id, None)
        shutil.rmtree(run.folder, ignore_errors=True)

    async def _keep(self) -> None:
        """End live runs that nobody watches."""
        while True:
            await asyncio.sleep(min(5.0, self.settings.limits.unwatched))
            for run in [*self._runs.values()]:
                away = time.monotonic() - run.seen
                if run.kind == "live" and not run.watchers and away > self.settings.limits.unwatched:
                    await self.cancel(run)
