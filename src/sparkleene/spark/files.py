"""Files below paths, folders, patterns and URIs, and the columns that Hive-style folder names hold."""

from __future__ import annotations

import datetime
import fnmatch
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, unquote
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.fs as pa_fs

from sparkleene.errors import DataError, Place, first_line, suggest

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

PLACE = Place()
DEFAULT = "__HIVE_DEFAULT_PARTITION__"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_MAGIC = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class File:
    """A file: its path within a filesystem, the URI that the filesystem is made from (None for local files).

    `partitions` are the columns of its folders' names, with values as they are written there.
    """

    path: str
    uri: str | None
    partitions: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        """The path as a person would write it."""
        scheme = None if self.uri is None else _SCHEME.match(self.uri)
        return self.path if scheme is None else f"{scheme[1]}://{self.path}"


def find_files(given: Paths) -> list[File]:
    """Return the files of one or several paths, folders, patterns or URIs, in order of their paths.

    Folders are searched as Spark does it: names with a leading `_` or `.` are left out, and folders called
    `column=value` make columns. A file that several paths lead to is read once.
    """
    many = [os.fspath(each) for each in ([given] if isinstance(given, str | os.PathLike) else given)]
    found: dict[tuple[str, str | None], File] = {}
    for text in many:
        try:
            for file in _under(text):
                found.setdefault((file.path, file.uri), file)
        except (pa.ArrowException, OSError, ValueError) as error:
            message = f"cannot read '{text}'"
            raise PLACE.error(
                "unreadable-file", message, help=way(text), notes=[first_line(error)]
            ) from error
    if not found:
        shown = "', '".join(many)
        help = way(many[0]) if many else "pass a path"
        raise PLACE.error("unreadable-file", f"there are no Parquet files in '{shown}'", help=help)
    return sorted(found.values(), key=lambda file: (file.path, file.uri or ""))


def way(path: str, reader: str = "parquet") -> str:
    """Return the help line that leads through a DataFrame.

    >>> way("events/")
    'let Spark read it: q.run(spark.read.parquet("events/"))'
    """
    call = f"{reader}(" if "(" not in reader else f"{reader}.load("
    return f'let Spark read it: q.run(spark.read.{call}"{path}"))'


@lru_cache(maxsize=16)
def filesystem(uri: str | None) -> Any:
    """Return the filesystem of a URI, the local one for None."""
    return pa_fs.LocalFileSystem() if uri is None else pa_fs.FileSystem.from_uri(uri)[0]


def _under(text: str) -> Iterator[File]:
    """Yield the files that one path leads to."""
    uri, start, pattern = _located(text)
    fs = filesystem(uri)
    whole = f"{start.rstrip('/')}/{pattern}" if pattern else start
    roots = [info for info in fs.get_file_info([whole]) if info.type != pa_fs.FileType.NotFound]
    if not roots and pattern:
        hits = [hit for each in _braces(pattern) for hit in _glob(fs, start, each.split("/"))]
        roots = [i for i in fs.get_file_info(hits) if i.type != pa_fs.FileType.NotFound] if hits else []
    if not roots:
        near = fs.get_file_info(pa_fs.FileSelector(_parent(whole), allow_not_found=True))
        help = suggest(PurePosixPath(whole).name, [info.base_name for info in near]) or way(text)
        raise PLACE.error("missing-file", f"there is no file '{text}'", help=help)
    above = {str(folder) for info in roots for folder in PurePosixPath(info.path).parents} - {".", "/"}
    marks = fs.get_file_info([f"{folder}/{mark}" for folder in above for mark in ("metadata", *_TABLES)])
    for info in marks:
        if info.base_name == "metadata" and info.type == pa_fs.FileType.Directory:
            marks = [*marks, *fs.get_file_info(pa_fs.FileSelector(info.path))]
    _refuse_tables(text, marks)
    for info in roots:
        if info.type == pa_fs.FileType.File:
            if info.size != 0:
                yield File(info.path, uri)
            continue
        listed = fs.get_file_info(pa_fs.FileSelector(info.path, recursive=True))
        _refuse_tables(text, listed)
        for each in listed:
            names = each.path[len(info.path.rstrip("/")) + 1 :].split("/")
            if each.type == pa_fs.FileType.File and each.size != 0 and not any(map(_hidden, names)):
                pairs = [name.split("=", 1) for name in names[:-1] if "=" in name]
                yield File(each.path, uri, tuple((unquote(name), value) for name, value in pairs))


def _located(text: str) -> tuple[str | None, str, str]:
    """Return the URI of the filesystem, the path up to the first wildcard, and the pattern from there on."""
    scheme = _SCHEME.match(text)
    text, query, options = text.partition("?") if scheme else (os.path.abspath(text), "", "")
    folders = text.split("/")
    plain = next((i for i, name in enumerate(folders) if _MAGIC.search(name) or "{" in name), len(folders))
    start, pattern = "/".join(folders[:plain]) or "/", "/".join(folders[plain:]).rstrip("/")
    if not scheme:
        return None, start, pattern
    start = quote(start, safe="/:@%~+=,;&$!'()#")
    if scheme[1].lower() == "file":
        start = "file://" + start[5:].removeprefix("//")  # Hadoop writes file:/
    elif scheme[1].lower() == "s3a":
        start = "s3" + start[3:]
    try:
        return start + query + options, pa_fs.FileSystem.from_uri(start + query + options)[1], pattern
    except (pa.ArrowException, OSError, ValueError) as error:
        message = f"Arrow cannot open '{text}'"
        raise PLACE.error("unsupported-data", message, help=way(text), notes=[first_line(error)]) from error


def _hidden(name: str) -> bool:
    """Tell whether Spark passes over a name.

    >>> [name for name in ("_SUCCESS", ".x.crc", "_k=1", "a") if not _hidden(name)]
    ['_k=1', 'a']
    """
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def _braces(pattern: str) -> list[str]:
    """Return a pattern without its alternatives.

    >>> _braces("a{b,c}")
    ['ab', 'ac']
    """
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        return [pattern]
    before, after = pattern[: found.start()], pattern[found.end() :]
    return [whole for choice in found[1].split(",") for whole in _braces(before + choice + after)]


def _glob(fs: Any, base: str, parts: Sequence[str]) -> list[str]:
    """Return the paths that match a pattern, of which those without a wildcard at the end need not exist."""
    if not parts:
        return [base]
    first, rest = parts[0], parts[1:]
    if not _MAGIC.search(first):
        return _glob(fs, f"{base}/{first}", rest)
    deep = first == "**"
    listed = fs.get_file_info(pa_fs.FileSelector(base, allow_not_found=True, recursive=deep))
    below = [base] if deep else []
    for info in listed:
        names = info.path[len(base.rstrip("/")) + 1 :].split("/")
        if deep and info.type == pa_fs.FileType.Directory and not any(map(_hidden, names)):
            below.append(info.path)
        elif not deep and fnmatch.fnmatchcase(names[0], first):
            below += [info.path] if first[0] in "_." or not _hidden(names[0]) else []
    return [hit for path in below for hit in _glob(fs, path, rest)]


def _parent(path: str) -> str:
    """Return the folder that a path is in."""
    return path.rstrip("/").rpartition("/")[0] or "/"


_TABLES = {
    "_delta_log": ("Delta", 'format("delta")'),
    ".hoodie": ("Hudi", 'format("hudi")'),
    "metadata/version-hint.text": ("Iceberg", 'format("iceberg")'),
}


def _refuse_tables(text: str, infos: Iterable[Any]) -> None:
    """Raise if a path belongs to a table whose log tells which of its files count."""
    for info in infos:
        mark = next((mark for mark in _TABLES if info.path.endswith("/" + mark)), None)
        if info.path.endswith(".metadata.json") and _parent(info.path).endswith("/metadata"):
            mark = "metadata/version-hint.text"
        if mark is not None and info.type != pa_fs.FileType.NotFound:
            name, reader = _TABLES[mark]
            message = f"'{text}' is a {name} table, and some of its files may be deleted ones"
            table = info.path.removesuffix("/" + mark) if "metadata" not in mark else text
            raise PLACE.error("table-format", message, help=way(table, reader), notes=[f"see '{info.path}'"])


# ---- Hive partitions


@dataclass(frozen=True)
class Partition:
    """A column of folder names: its type, and the value that each name stands for."""

    type: pa.DataType
    values: Mapping[str, Any]


def partition(raw: Iterable[str], zone: str = "UTC") -> Partition:
    """Return a column of folder names with the type that Spark infers; timestamps are in the given zone.

    >>> partition(["1", "02"]), partition(["1", "a%20b"]).values
    (Partition(type=DataType(int32), values={'1': 1, '02': 2}), {'1': '1', 'a%20b': 'a b'})
    """
    parsed = {text: _parsed(text) for text in dict.fromkeys(raw)}
    words = {word for word, _ in parsed.values()} - {"null"}
    word = next((wide for kinds, wide in _WIDER if words <= kinds), "text")
    values: dict[str, Any] = {}
    for text, (own, value) in parsed.items():
        if own == "null":
            values[text] = None
        elif word == "text":
            values[text] = unquote(text)
        elif word == "timestamp":
            at = value if own == word else datetime.datetime.combine(value, datetime.time())
            values[text] = at.replace(tzinfo=ZoneInfo(zone)).astimezone(datetime.UTC)
        else:
            values[text] = float(value) if word == "double" else value
    return Partition(_TYPES[word], values)


def _parsed(text: str) -> tuple[str, Any]:
    """Return the kind of value that a folder's name shows, and the value."""
    if text == DEFAULT:
        return "null", None
    if re.fullmatch(r"[+-]?\d+", text) and abs(int(text)) < 2**63:
        return "int" if -(2**31) <= int(text) < 2**31 else "bigint", int(text)
    if re.fullmatch(r"[+-]?\d+\.?([eE]\+?\d{1,2})?", text, re.ASCII) and abs(Decimal(text)) < 10**38:
        return "decimal", Decimal(int(Decimal(text)))
    if number := re.fullmatch(r"\s*([+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?))[fFdD]?\s*", text):
        return "double", float(number[1])
    for word, form, read in _TIMES:
        if re.fullmatch(form, unquote(text), re.ASCII):
            try:
                return word, read(unquote(text))
            except ValueError:  # no day of the calendar
                return "text", text
    return "text", text


_TIMES: tuple[tuple[str, str, Any], ...] = (
    ("date", r"\d{4}-\d\d-\d\d", datetime.date.fromisoformat),
    ("timestamp", r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d)?", datetime.datetime.fromisoformat),
)
_WIDER: tuple[tuple[set[str], str], ...] = (
    (set(), "null"),
    ({"int"}, "int"),
    ({"int", "bigint"}, "bigint"),
    ({"int", "bigint", "decimal"}, "decimal"),
    ({"int", "double"}, "double"),
    ({"date"}, "date"),
    ({"date", "timestamp"}, "timestamp"),
)
_TYPES = {
    "null": pa.null(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "decimal": pa.decimal128(38, 0),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "text": pa.string(),
}


def conflict(files: Sequence[File], name: str) -> DataError | None:
    """Return the error for a column that is in the folders' names of some files only."""
    without = next((file for file in files if name not in dict(file.partitions)), None)
    if without is None:
        return None
    having = next(file for file in files if name in dict(file.partitions))
    message = f"the folders' names give '{name}' for some files only"
    notes = [f"'{having.shown}' has it, '{without.shown}' does not"]
    return PLACE.error("conflicting-partitions", message, help="read a folder that has all", notes=notes)
