"""Which parts a checkpoint has had, by generation of its workload: files beside those of Spark.

`sparkleene/N.json` in the folder of the checkpoint is generation N: its parts, with the texts of their queries, and
those before that still have open windows. It is written whole before a query starts, and counts once Spark has
committed a batch of it; until then the next start writes it anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, NamedTuple

from sparkleene.errors import DataError, Diagnostic
from sparkleene.ongoing.seal import AGAIN
from sparkleene.spark.state.checkpoint_folder import CheckpointFolder, unreadable

FOLDER = "sparkleene"
VERSION = 1


@dataclass(frozen=True)
class KeptQuery:
    """A query as it was when its part began."""

    name: str
    text: str
    types: Mapping[str, str] | None  # what types mean, where that is not the value of a column
    sum: str


@dataclass(frozen=True)
class KeptPart:
    """Queries with a common state; times are event times in milliseconds."""

    rank: int
    turn: int
    narrow: bool
    birth: int  # the generation that it came with
    queries: tuple[KeptQuery, ...]
    begin: int | None = None  # windows that start before are not its own
    end: int | None = None  # nor are those that start then, or later
    over: int | None = None  # when the last of its windows has ended


@dataclass(frozen=True)
class Generation:
    """The parts of a checkpoint, from a batch on."""

    number: int
    batch: int  # the first
    arrivals: tuple[int | None, ...]  # the watermark in the first batch of each generation up to this; None for any
    delay: int  # the longest of the watermark so far, in milliseconds
    ranks: int  # how many were given to parts so far
    parts: tuple[KeptPart, ...]


class Moment(NamedTuple):
    """Where a stream is, by the logs of its checkpoint."""

    batch: int  # the next, which may have begun before
    watermark: int  # in that batch, in milliseconds
    ended: int  # the last batch that was committed, -1 if none
    passed: int  # the watermark in that batch


def find_moment(folder: CheckpointFolder) -> Moment:
    """Return where the stream of a checkpoint is."""
    offsets, commits = folder.numbers("offsets"), folder.numbers("commits")
    last, ended = max(offsets, default=-1), max(commits, default=-1)
    if ended < 0:
        return Moment(max(last, 0), 0, -1, 0)
    passed = _read_watermark(folder, f"offsets/{ended}", "batchWatermarkMs")
    if last > ended:
        return Moment(last, _read_watermark(folder, f"offsets/{last}", "batchWatermarkMs"), ended, passed)
    return Moment(ended + 1, _read_watermark(folder, f"commits/{ended}", "nextBatchWatermarkMs"), ended, passed)


def _read_watermark(folder: CheckpointFolder, name: str, key: str) -> int:
    """Return the watermark of a log's file, which is in the line after the version."""
    try:
        return int(json.loads(folder.read(name).decode().split("\n")[1])[key])
    except (IndexError, KeyError, OSError, TypeError, ValueError) as error:
        raise _damage(folder, name, f"cannot be read: {error}") from error


def find_generation(folder: CheckpointFolder, moment: Moment) -> Generation | None:
    """Return the last generation of which a batch was committed, None if there is none."""
    for number in sorted(_numbers(folder), reverse=True):
        found = _read(folder, f"{FOLDER}/{number}.json")
        if found.batch <= moment.ended:
            return found
    return None


def _numbers(folder: CheckpointFolder) -> list[int]:
    names = (name.partition(".") for name in folder.inside(FOLDER))
    return [int(stem) for stem, _, ending in names if stem.isdecimal() and ending == "json"]


def _read(folder: CheckpointFolder, name: str) -> Generation:
    try:
        kept = json.loads(folder.read(name))
        body = kept["generation"]
        if kept["version"] != VERSION:
            message = f"{name} of the checkpoint {folder.path} is of version {kept['version']}"
            help = f"go on with the release that wrote it, or {AGAIN}"
            raise DataError(Diagnostic("state-version", message, help=help))
        if kept["sum"] != _checksum(body):
            raise ValueError("its checksum is another")
        parts = tuple(
            KeptPart(**part | {"queries": tuple(KeptQuery(**query) for query in part["queries"])})
            for part in body["parts"]
        )
        return Generation(**body | {"parts": parts, "arrivals": tuple(body["arrivals"])})
    except (KeyError, OSError, TypeError, ValueError) as error:
        raise _damage(folder, name, f"cannot be read: {error}") from error


def write_generation(folder: CheckpointFolder, generation: Generation) -> None:
    """Write a generation, all of its file or nothing; later ones, of which no batch was committed, go first."""
    body = asdict(generation)
    kept = json.dumps({"version": VERSION, "sum": _checksum(body), "generation": body}, indent=1).encode()
    place = f"{folder.root}/{FOLDER}"
    try:
        for number in sorted(_numbers(folder), reverse=True):
            if number > generation.number:
                folder.system.delete_file(f"{place}/{number}.json")
        folder.system.create_dir(place, recursive=True)
        new = f"{place}/.{generation.number}.{os.getpid()}"
        with folder.system.open_output_stream(new) as stream:
            stream.write(kept)
        folder.system.move(new, f"{place}/{generation.number}.json")
    except OSError as error:
        raise unreadable(folder.path, error) from error


def _checksum(body: Any) -> str:
    return sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _damage(folder: CheckpointFolder, name: str, what: str) -> DataError:
    message = f"the checkpoint {folder.path} is damaged: {name} {what}"
    help = f"bring the checkpoint back from a copy, or {AGAIN}"
    return DataError(Diagnostic("damaged-checkpoint", message, help=help))
