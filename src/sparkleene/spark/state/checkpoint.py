"""Whether the checkpoint of a stream is whole, before a query goes on from it.

Spark compares little of what it reads when a query starts: with a digit of a watermark changed, or the last entry
of a source's log gone, it goes on and the rows are others. What is known here of the folders of a checkpoint:

- `metadata`: the id of the query
- `offsets/N`, `commits/N`: written before and after batch N; of the last two batches both are needed
- `sources/I/K`: what a source has to remember; of files those that it has listed, whose number is in the offsets
- `state/O/P`: the state of operator O in partition P, after batch N as version N + 1: snapshots `K.zip`, which name
  files in `SSTs`, and changes since, `K.changelog`
- beside `name` the checksums `.name.crc`, where Hadoop's local file system wrote it; Spark does not look at them
"""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from sparkleene.errors import DataError, Diagnostic
from sparkleene.ongoing.seal import AGAIN
from sparkleene.spark.state.checkpoint_folder import CheckpointFolder, unreadable

Finding = tuple[str, str]  # the file, and what is wrong with it

OTHER = "is not what was written: its checksum is another"
LZ4 = b"LZ4Block"
LZ4_HEADER = 21  # bytes; the last block is a header alone


def check_checkpoint(path: str | os.PathLike[str]) -> None:
    """Raise if a query cannot go on from a checkpoint; a folder that is absent or empty is that of a new query.

    Call it before `writeStream ... .start()`, while no query runs from the checkpoint. It sees logs, state and
    source logs that are missing, empty, cut off, not of the same batch, or unlike their checksum where there is one
    beside them. It reads what a restart reads, but for the tables of RocksDB.

    It cannot see that the whole folder was deleted, or is an older copy than the sink; that state was put in the
    place of other state; or, where files have no checksum beside them, as in object stores, that a watermark or a
    file's name in the logs was changed. Other bytes in state are seen by Spark and the query as they read it.

    Args:
        path: a local path, or a URI that pyarrow can read.
    """
    folder = CheckpointFolder.open(os.fspath(path))
    try:
        found = list(_findings(folder))
    except OSError as error:
        raise unreadable(folder.path, error) from error
    if found:
        (file, what), *others = found
        message = f"the checkpoint {folder.path} is damaged: {file} {what}"
        notes = tuple(f"{name} {wrong}" for name, wrong in others)
        help = f"bring the checkpoint back from a copy, or {AGAIN}"
        raise DataError(Diagnostic("damaged-checkpoint", message, notes=notes, help=help))


def _findings(folder: CheckpointFolder) -> Iterator[Finding]:
    """Find what is wrong, the logs first, for the rest is only known by them."""
    offsets, commits = folder.numbers("offsets"), folder.numbers("commits")
    if not offsets:
        for name in ("commits", "state"):
            if folder.inside(name) or folder.folders(name):
                yield "offsets", f"is empty, and {name} is not: the query would begin again"
        for source in folder.folders("sources"):  # one entry may be written before the first offsets
            if len(folder.inside(f"sources/{source}")) > 1:
                yield "offsets", f"is empty, and sources/{source} is not: the query would begin again"
        return
    if "metadata" not in folder.names:
        yield "metadata", "is missing"
    else:
        yield from _json(folder, "metadata", folder.read("metadata"), ("id",))
    last, ended = max(offsets), max(commits, default=-1)
    if ended > last:
        yield f"offsets/{ended}", "is missing, and the batch has ended"
    if ended < last - 1:
        yield f"commits/{last - 1}", "is missing, and the batch after it has begun"
    if last and last - 1 not in offsets:
        yield f"offsets/{last - 1}", "is missing"
    logs: dict[str, list[Any]] = {}
    for name, first in (("offsets", "batchWatermarkMs"), ("commits", "nextBatchWatermarkMs")):
        for number in sorted({last - 1, last} & folder.numbers(name)):
            file = f"{name}/{number}"
            yield from _log(folder, file, first, logs)
            if file in logs and name == "offsets":
                yield from _sources(folder, file, logs[file][1:])
    yield from _watermarks(logs, last)
    yield from _state(folder, last, last + 1 if ended >= last else last)


def _json(folder: CheckpointFolder, name: str, content: bytes, keys: tuple[str, ...]) -> Iterator[Finding]:
    """Look at a file that is one object."""
    try:
        found = json.loads(content)
    except ValueError as error:
        yield name, f"is no JSON: {error}"
        return
    if not isinstance(found, dict) or not set(keys) <= set(found):
        yield name, f"has no {' and no '.join(keys)}"
    elif folder.differs(name, content):
        yield name, OTHER


def _lines(content: bytes) -> list[Any]:
    """Return the objects of a log's file, or raise ValueError."""
    version, *lines = content.decode().split("\n")
    if not (version[:1] == "v" and version[1:].isdecimal()):
        raise ValueError("its first line is no version")
    return [None if line == "-" else json.loads(line) for line in lines]


def _log(folder: CheckpointFolder, name: str, first: str, logs: dict[str, list[Any]]) -> Iterator[Finding]:
    """Look at a file of offsets or commits, and add what it says to the logs."""
    content = folder.read(name)
    try:
        found = _lines(content)
        if not (found and isinstance(found[0], dict) and first in found[0]):
            raise ValueError(f"it has no {first}")
        if first == "batchWatermarkMs" and len(found) < 2:
            raise ValueError("it has no offset")
    except ValueError as error:
        yield name, f"cannot be read: {error}"
        return
    logs[name] = found
    if folder.differs(name, content):
        yield name, OTHER


def _watermarks(logs: dict[str, list[Any]], last: int) -> Iterator[Finding]:
    """Compare the watermark that a batch ended with and that which the next began with."""
    after, before = logs.get(f"commits/{last - 1}"), logs.get(f"offsets/{last}")
    if after and before and after[0]["nextBatchWatermarkMs"] != before[0]["batchWatermarkMs"]:
        yield f"offsets/{last}", f"has another watermark than commits/{last - 1}"


# ---- sources


def _sources(folder: CheckpointFolder, file: str, offsets: list[Any]) -> Iterator[Finding]:
    """Look at the logs of sources that list files, up to the entry that the offsets name."""
    for source, offset in enumerate(offsets):
        if not (isinstance(offset, dict) and isinstance(offset.get("logOffset"), int)):
            continue
        there = folder.inside(f"sources/{source}")
        whole = [int(name[:-8]) for name in there if name.endswith(".compact") and name[:-8].isdecimal()]
        first = max(whole, default=-1)
        needed = [f"{first}.compact"] * bool(whole)
        needed += [str(number) for number in range(first + 1, offset["logOffset"] + 1)]
        for name in needed:
            if name not in there:
                yield f"sources/{source}/{name}", f"is missing, and {file} is after it"
                continue
            content = folder.read(there[name])
            try:
                _lines(content)
            except ValueError as error:
                yield there[name], f"cannot be read: {error}"
                continue
            if folder.differs(there[name], content):
                yield there[name], OTHER


# ---- state


def _state(folder: CheckpointFolder, last: int, version: int) -> Iterator[Finding]:
    """Look at the state of all operators and partitions: there at a version, and at none beyond the last batch."""
    operators = sorted(name for name in folder.folders("state") if name.isdecimal())
    if version and not operators:
        yield "state", "is missing"
    for operator in operators:
        base = f"state/{operator}"
        stores = [("default", 0)]
        name = _metadata_file(folder, base)
        if name in folder.names:
            content = folder.read(name)
            try:
                [found] = _lines(content)
                stores = [(store["storeName"], int(store["numPartitions"])) for store in found["stateStoreInfo"]]
                paths = [path for each in found["stateStoreInfo"] for path in each.get("stateSchemaFilePaths", ())]
            except (KeyError, TypeError, ValueError) as error:
                yield name, f"cannot be read: {error}"
            else:
                yield from _schemas(folder, base, paths)
                if folder.differs(name, content):
                    yield name, OTHER
        elif version:
            yield name, "is missing"
        for store, count in stores:
            there = {name for name in folder.folders(base) if name.isdecimal()}
            for partition in sorted(there | {str(number) for number in range(count)}, key=int):
                inner = f"{base}/{partition}" if store == "default" else f"{base}/{partition}/{store}"
                yield from _partition(folder, inner, last, version)


def _metadata_file(folder: CheckpointFolder, base: str) -> str:
    """Return the file that describes an operator: every start writes one, and the last of them counts."""
    if f"{base}/_metadata/metadata" in folder.names:
        return f"{base}/_metadata/metadata"
    return f"{base}/_metadata/v2/{max(folder.numbers(f'{base}/_metadata/v2'), default=0)}"


def _schemas(folder: CheckpointFolder, base: str, paths: list[str]) -> Iterator[Finding]:
    """Look at the schemas of an operator's state, wherever the checkpoint was when they were written."""
    for path in paths:
        if "_stateSchema/" not in path:
            continue
        file = f"{base}/{path[path.rindex('_stateSchema/') :]}"
        if not folder.sizes.get(file):
            yield file, "is missing or empty"
        elif folder.differs(file, folder.read(file)):
            yield file, OTHER


def _partition(folder: CheckpointFolder, base: str, last: int, version: int) -> Iterator[Finding]:
    """Look at the snapshot and the changes that make a version of a partition's state."""
    # With unique ids, Spark's format 2, the names are 7_id.zip and 7_id.changelog.
    found: dict[str, dict[int, list[str]]] = {"zip": {}, "changelog": {}}
    for short, name in folder.inside(base).items():
        stem, _, kind = short.partition(".")
        digits = stem.partition("_")[0]
        if kind in found and digits.isdecimal():
            found[kind].setdefault(int(digits), []).append(name)
    zips, changes = found["zip"], found["changelog"]
    newest = max([*zips, *changes], default=0)
    if newest > last + 1:
        yield base, f"is at batch {newest - 1}, and offsets end at {last}: the query would do batches twice"
    if not version:
        return
    first = max((number for number in zips if number <= version), default=0)
    for number in range(first + 1, version + 1):
        if number not in changes:
            yield f"{base}/{number}.changelog", "is missing"
    # Of a batch that is done again the changes may be there. A driver may have died before it wrote their checksum.
    for number, name in [(n, name) for n in range(first + 1, last + 2) for name in changes.get(n, ())]:
        content = folder.read(name)
        cut = content.startswith(LZ4) and not content[-LZ4_HEADER:].startswith(LZ4)
        if not content or cut:
            yield name, "is cut off"
        elif number <= version and folder.differs(name, content):
            yield name, OTHER
    for name in zips.get(first, ()):
        yield from _snapshot(folder, base, name)


def _snapshot(folder: CheckpointFolder, base: str, name: str) -> Iterator[Finding]:
    """Look at a snapshot, and at the sizes of the tables that it names."""
    try:
        with zipfile.ZipFile(io.BytesIO(folder.read(name))) as kept:
            broken = kept.testzip()
            if broken is not None:
                raise ValueError(f"its {broken} is damaged")
            [tables] = _lines(kept.read("metadata"))
            sizes = {each["dfsSstFileName"]: int(each["sizeBytes"]) for each in tables["sstFiles"]}
    except (zipfile.BadZipFile, zlib.error, KeyError, TypeError, ValueError) as error:
        yield name, f"cannot be read: {error}"
        return
    for table, size in sizes.items():
        file = f"{base}/SSTs/{table}"
        if folder.sizes.get(file) != size:
            yield file, f"is missing, or is not the {size} bytes that {name} says"
