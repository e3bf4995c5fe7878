"""What a process does that runs queries: take a job, tell how far it is, hand over what it found.

Jobs run in processes of their own. One can be ended at any time, by a limit or by a person, whatever it is doing;
it has a memory of its own, and what goes wrong in it harms nobody else.
"""

from __future__ import annotations

import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sparkleene.errors import SparkleeneError, SparkleeneWarning
from sparkleene.serve.settings import Settings

JOBS = {
    "look": "sparkleene.serve.queries",
    "check": "sparkleene.serve.queries",
    "query": "sparkleene.serve.queries",
    "trends": "sparkleene.serve.details",
    "why": "sparkleene.serve.details",
    "funnel": "sparkleene.serve.many",
    "workload": "sparkleene.serve.many",
    "live": "sparkleene.serve.live",
}
"""The module of each kind of job; its function has the name of the kind with `run_` before it."""

TABLES = 4  # that a process keeps


@dataclass
class Context:
    """What a job can use: its folder, the settings, and what the process remembers from one job to the next."""

    settings: Settings
    pipe: Connection
    folder: Path | None = None
    tables: dict[Any, Any] = field(default_factory=dict)
    memory: dict[str, Any] = field(default_factory=dict)

    def tell(self, **message: Any) -> None:
        """Tell how far the job is."""
        self.pipe.send(("event", message))

    def table(self, data: Mapping[str, Any]) -> Any:
        """Return the data that a request names: a table, or files that are read when it is known what is needed."""
        from sparkleene.serve.datasets import data_key, open_dataset

        key = data_key(data, self.settings)
        if key not in self.tables:
            while len(self.tables) >= TABLES:
                del self.tables[next(iter(self.tables))]
            self.tables[key] = open_dataset(data, self.settings)
        return self.tables[key]

    def result_path(self) -> Path:
        """Return where the table that a job finds is written."""
        assert self.folder is not None
        return self.folder / "result.arrow"


def work(pipe: Connection, settings: Settings, limited: bool) -> None:
    """Do the jobs that come through a pipe until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends us
    if limited:
        limit_memory(settings.limits.memory)
    context = Context(settings, pipe)
    while True:
        try:
            job = pipe.recv()
        except (EOFError, OSError):
            return
        if isinstance(job, tuple):  # what is left of talk with a job that has ended is no job
            pipe.send(do(context, *job))


def do(context: Context, kind: str, body: Mapping[str, Any], folder: str | None) -> tuple[str, Any]:
    """Do a job; return what it found, or what went wrong."""
    context.folder = None if folder is None else Path(folder)
    notes: list[str] = []
    try:
        run: Callable[[Context, Mapping[str, Any]], Any] = getattr(import_module(JOBS[kind]), f"run_{kind}")
        with gather_notes(notes):
            found = run(context, body)
        return "done", {**found, "notes": notes}
    except SparkleeneError as error:
        return "failed", describe(error, context.settings)
    except MemoryError:  # of which threads and libraries may not have recovered
        return "spent", failure("limit", "there is not enough memory for this", "ask of fewer events")
    except Exception as error:
        if type(error).__module__.split(".")[0] in ("pyspark", "py4j"):
            return "failed", failure("spark", hide_paths(spark_words(error), context.settings))
        traceback.print_exc(file=sys.stderr)
        return "failed", failure("internal-error", "something went wrong here, which is no fault of yours")


@contextmanager
def gather_notes(notes: list[str]) -> Iterator[None]:
    """Gather warnings as notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SparkleeneWarning)
        yield
    notes += [str(one.message) for one in caught if issubclass(one.category, SparkleeneWarning)]


def failure(code: str, message: str, help: str | None = None) -> dict[str, Any]:
    """Return an error that has no place in a text."""
    one: dict[str, Any] = {
        "code": code,
        "message": message,
        "start": None,
        "end": None,
        "notes": [],
        "help": help,
        "query": None,
    }
    return {"errors": [one]}


def describe(error: SparkleeneError, settings: Settings) -> dict[str, Any]:
    """Return an error as the page shows it: without paths of this machine."""
    return {
        "errors": [
            {
                "code": one.code,
                "message": hide_paths(one.message, settings),
                "start": one.start,
                "end": one.end,
                "notes": [hide_paths(note, settings) for note in one.notes],
                "help": None if one.help is None else hide_paths(one.help, settings),
                "query": error.filename,
            }
            for one in error.diagnostics
        ]
    }


def hide_paths(text: str, settings: Settings) -> str:
    """Return a message in which files have the names that the page knows them by."""
    for root in settings.roots:
        text = text.replace(str(root.path), root.name)
    return text


def spark_words(error: BaseException) -> str:
    """Return what Spark says, in a line: our own error in it, if there is one."""
    text = str(error).partition("\n=== Streaming Query ===")[0]
    start = text.find("error[")
    lines = [line for line in text[max(start, 0) :].strip().splitlines() if not line.startswith("\tat ")]
    return f"Spark says: {lines[0].strip() if lines else type(error).__name__}"


def data_size() -> int:
    """Return the bytes that this process has asked for, 0 where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:")), 0)


def limit_memory(size: int) -> None:
    """Let this process have no more than so much memory beside what it has, where the system can see to that."""
    try:
        import resource
    except ImportError:  # there is none on this system
        return
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    size += data_size()
    wanted = size if most == resource.RLIM_INFINITY else min(size, most)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))
