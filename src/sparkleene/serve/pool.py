"""Processes that run queries: a few that wait for work, each with one job at a time, and ended if need be."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from sparkleene.serve.settings import Settings
from sparkleene.serve.worker import failure, work

Tell = Callable[[dict[str, Any]], None]
Found = tuple[str, Any]  # "done", "failed", or "spent" where the process is of no more use; and what

_PRELOADED = ["sparkleene.serve.preload"]


def start_forks() -> Any:
    """Return how processes are started: each a copy of one that has imported what they need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


@dataclass
class Process:
    """A process that runs queries, and the thread that waits for what it says."""

    process: BaseProcess
    pipe: Connection
    thread: ThreadPoolExecutor

    @classmethod
    def start(cls, context: Any, settings: Settings, limited: bool) -> Process:
        """Start a process that waits for jobs."""
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, settings, limited), daemon=limited)
        process.start()
        theirs.close()
        return cls(process, ours, ThreadPoolExecutor(1))

    async def run(self, job: tuple[Any, ...], tell: Tell) -> Found:
        """Do a job; raise EOFError if the process ends amid it."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self.thread, self.pipe.send, job)
        while True:
            kind, what = await loop.run_in_executor(self.thread, self.pipe.recv)
            if kind != "event":
                return kind, what
            tell(what)

    def say(self, word: str) -> None:
        """Say a word to the job that runs."""
        self.pipe.send(word)

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self.process.kill()
        self.thread.shutdown(wait=False)  # its wait ends with the process

    def close(self) -> None:
        """Let go of the process."""
        self.end()
        self.process.join(5)
        self.pipe.close()


@dataclass
class Pool:
    """Processes for one kind of work; those that are `kept` wait for the next job, others end with theirs."""

    settings: Settings
    size: int
    seconds: float
    kept: bool = True
    limited: bool = True
    context: Any = field(default_factory=start_forks)
    _free: list[Process] = field(default_factory=list)
    _turns: asyncio.Semaphore | None = None
    _running: dict[int, Process] = field(default_factory=dict)

    @property
    def turns(self) -> asyncio.Semaphore:
        """What lets as many jobs run at once as there are processes."""
        if self._turns is None:
            self._turns = asyncio.Semaphore(self.size)
        return self._turns

    async def warm(self) -> None:
        """Start all processes before anybody asks."""
        for _ in range(self.size):
            self._free.append(await asyncio.to_thread(Process.start, self.context, self.settings, self.limited))

    async def run(
        self,
        kind: str,
        body: Mapping[str, Any],
        folder: str | None = None,
        tell: Tell = lambda _: None,
        begun: Callable[[Process], None] = lambda _: None,
    ) -> Found:
        """Do a job in the next process that is free; whoever cancels it ends the process."""
        async with self.turns:
            found = self._free.pop() if self._free else None
            if found is None or not found.process.is_alive():
                found = await asyncio.to_thread(Process.start, self.context, self.settings, self.limited)
            self._running[id(found)] = found
            begun(found)
            good = False
            try:
                answer = await asyncio.wait_for(found.run((kind, body, folder), tell), self.seconds)
                good = self.kept and answer[0] != "spent"
                return answer
            except TimeoutError:
                help = "ask of fewer events, or of shorter windows"
                return "failed", failure("limit", f"it took more than {self.seconds:g} seconds", help)
            except (EOFError, OSError):
                help = "it may have needed too much memory: ask of fewer events"
                return "failed", failure("limit", "the process that ran it has ended", help)
            finally:
                del self._running[id(found)]
                if good:
                    self._free.append(found)
                else:
                    found.end()
                    await asyncio.shield(asyncio.to_thread(found.close))

    def close(self) -> None:
        """End all processes."""
        for one in (*self._free, *self._running.values()):
            one.end()
        for one in self._free:
            one.close()
        self._free.clear()
