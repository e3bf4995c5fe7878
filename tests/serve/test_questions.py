"""What is asked while typing and looking: nobody waits for another's look, and nobody asks without end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from sparkleene.serve.runs import Runs, TooManyError
from sparkleene.serve.settings import Limits, Settings


def ask(questions: Callable[[Runs, asyncio.Event], Awaitable[None]]) -> None:
    """Ask where looks wait for an event, and checks are answered at once."""

    async def talk() -> None:
        runs, seen = Runs(Settings(limits=Limits(looks=2, checks=3))), asyncio.Event()

        async def look(kind: str, body: Any) -> tuple[str, Any]:
            await seen.wait()
            return "done", kind

        async def check(kind: str, body: Any) -> tuple[str, Any]:
            return "done", kind

        runs.looks.run, runs.quick.run = look, check  # type: ignore[method-assign, assignment]
        try:
            await asyncio.wait_for(questions(runs, seen), 60)
        finally:
            await runs.stop()

    asyncio.run(talk())


def test_typing_does_not_wait_for_a_look() -> None:
    async def questions(runs: Runs, seen: asyncio.Event) -> None:
        look = asyncio.create_task(runs.ask("one", "look", {}))
        await asyncio.sleep(0)
        assert await runs.ask("other", "check", {}) == ("done", "check")
        assert await runs.ask("one", "check", {}) == ("done", "check")
        assert not look.done()
        seen.set()
        assert await look == ("done", "look")

    ask(questions)


def test_a_person_looks_at_a_few_things_at_once() -> None:
    async def questions(runs: Runs, seen: asyncio.Event) -> None:
        looks = [asyncio.create_task(runs.ask("one", "look", {})) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(TooManyError, match="2 such questions"):
            await runs.ask("one", "look", {})
        others = asyncio.create_task(runs.ask("other", "look", {}))
        seen.set()
        assert await asyncio.gather(*looks, others) == [("done", "look")] * 3
        assert await runs.ask("one", "look", {}) == ("done", "look")  # those that were answered count no more

    ask(questions)


def test_a_look_that_fails_counts_no_more() -> None:
    async def questions(runs: Runs, seen: asyncio.Event) -> None:
        async def fail(kind: str, body: Any) -> tuple[str, Any]:
            raise OSError("gone")

        runs.looks.run = fail  # type: ignore[method-assign, assignment]
        for _ in range(5):
            with pytest.raises(OSError, match="gone"):
                await runs.ask("one", "look", {})

    ask(questions)
