"""What the workbench may use: folders, time, rows, memory, and runs at once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sparkleene.errors import Diagnostic, QueryError, mistake
from sparkleene.threads import threads_of

LOOPBACK = ("127.0.0.1", "localhost", "::1")
GIB = 1 << 30


@dataclass(frozen=True)
class Root:
    """A file or folder that was given at the start, by the name that the page knows it by."""

    name: str
    path: Path  # with all links resolved


@dataclass(frozen=True)
class Limits:
    """What a run may take, and how many a person may have."""

    seconds: float = 60.0  # for a run; what is asked while typing, and a look at data, have a quarter
    rows: int = 200_000  # of a result
    events: int = 1_000_000  # of a generator
    memory: int = 4 * GIB  # of a process that runs queries, without that of Spark
    runs: int = 3  # of a person at once
    checks: int = 8  # texts of a person that are checked at once
    looks: int = 2  # at data, of a person at once
    kept: int = 12  # results that are kept for a person
    waiting: int = 200  # runs of all people that wait for a process
    live_seconds: float = 3600.0  # for a query over a stream
    unwatched: float = 30.0  # seconds that such a query goes on while nobody looks
    body: int = 256 * 1024  # bytes of a request


@dataclass(frozen=True)
class Topic:
    """A topic of Kafka that was given at the start: its servers, its name and the columns of its JSON."""

    name: str
    servers: str
    topic: str
    schema: str


@dataclass(frozen=True)
class Settings:
    """How the workbench was started."""

    roots: tuple[Root, ...] = ()
    topics: tuple[Topic, ...] = ()
    host: str = "127.0.0.1"
    port: int = 0
    names: tuple[str, ...] = ()  # of hosts that requests may name, beside numbers and this machine's own
    token: str | None = None
    processes: int = field(default_factory=lambda: threads_of(None))
    limits: Limits = Limits()
    spark: bool = True  # whether it may be started at all

    @property
    def is_loopback(self) -> bool:
        """Tell whether only this machine reaches the page."""
        return self.host in LOOPBACK


def find_roots(given: Iterable[str]) -> tuple[Root, ...]:
    """Return the files and folders given, each with a name of its own.

    >>> [root.name for root in find_roots(["/usr", "/usr/lib/../../usr"])]
    ['usr', 'usr-2']
    """
    roots: list[Root] = []
    for text in given:
        path = Path(text)
        if not path.exists():
            raise QueryError(Diagnostic("missing-file", f"there is no file or folder '{text}'"))
        if not os.access(path, os.R_OK):
            raise QueryError(Diagnostic("unreadable-file", f"'{text}' cannot be read"))
        path = path.resolve()
        taken = {root.name for root in roots}
        base = name = path.name or "data"
        count = 1
        while name in taken:
            count += 1
            name = f"{base}-{count}"
        roots.append(Root(name, path))
    return tuple(roots)


def find_topics(given: Iterable[str], schema: str | None) -> tuple[Topic, ...]:
    """Return the topics of Kafka given as addresses.

    >>> find_topics(["kafka://localhost:9092/clicks"], "time timestamp")[0].name
    'clicks'
    """
    topics = []
    for text in given:
        servers, _, topic = text.removeprefix("kafka://").partition("/")
        if not servers or not topic or "/" in topic:
            raise mistake(f"'{text}' names no topic", "write kafka://HOST:PORT/TOPIC")
        if schema is None:
            help = "add --schema 'time timestamp, type string, ...'"
            raise mistake("nothing says what the topic's JSON has", help)
        topics.append(Topic(topic, servers, topic, schema))
    return tuple(topics)
