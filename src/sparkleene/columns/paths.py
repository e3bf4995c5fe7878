"""Files below paths, folders, patterns of names and URIs, found as Spark finds them."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.fs as pa_fs

from sparkleene.errors import Place, first_line, suggest

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""A path, or several."""

PLACE = Place()
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
    size: int | None = None

    @property
    def shown(self) -> str:
        """The path as a person would write it."""
        scheme = None if self.uri is None else _SCHEME.match(self.uri)
        return self.path if scheme is None else f"{scheme[1]}://{self.path}"


def list_files(path: str) -> list[File] | None:
    """Return the files of a path, folder, pattern or URI, in order of their paths; None if it leads nowhere.

    Folders are searched as Spark does it: names with a leading `_` or `.` are left out, and folders called
    `column=value` make columns. Folders of tables with a log are refused: some of their files may be deleted ones.
    """
    uri, start, pattern = _locate(path)
    fs = filesystem(uri)
    roots = _match(fs, start, pattern)
    if not roots:
        return None
    _refuse_tables(path, _marks_above(fs, roots))
    found: dict[str, File] = {}
    for root in roots:
        for file in _list_below(fs, uri, root, path):
            found.setdefault(file.path, file)
    return sorted(found.values(), key=lambda file: file.path)


def path_texts(given: Paths) -> list[str]:
    """Return one or several paths as a list of texts."""
    return [os.fspath(each) for each in ([given] if isinstance(given, str | os.PathLike) else given)]


def is_uri(path: str) -> bool:
    """Tell whether a path begins with a scheme, as in `s3://` or `file:/`."""
    return _SCHEME.match(path) is not None


def suggest_file(path: str) -> str | None:
    """Return a did-you-mean line for a path that leads nowhere, or None."""
    uri, start, pattern = _locate(path)
    whole = f"{start.rstrip('/')}/{pattern}" if pattern else start
    near = filesystem(uri).get_file_info(pa_fs.FileSelector(_parent(whole), allow_not_found=True))
    return suggest(PurePosixPath(whole).name, [info.base_name for info in near])


def spark_hint(path: str, reader: str = "parquet") -> str:
    """Return the help line for data that Spark can read and Arrow cannot.

    >>> spark_hint("events/")
    'let Spark read it: q.run(spark.read.parquet("events/"))'
    """
    call = f"{reader}(" if "(" not in reader else f"{reader}.load("
    return f'let Spark read it: q.run(spark.read.{call}"{path}"))'


@lru_cache(maxsize=16)
def filesystem(uri: str | None) -> Any:
    """Return the filesystem of a URI, the local one for None."""
    return pa_fs.LocalFileSystem() if uri is None else pa_fs.FileSystem.from_uri(uri)[0]


def _match(fs: Any, start: str, pattern: str) -> list[Any]:
    """Return what there is at a path, taken as it is, or else as a pattern."""
    whole = f"{start.rstrip('/')}/{pattern}" if pattern else start
    roots = [info for info in fs.get_file_info([whole]) if info.type != pa_fs.FileType.NotFound]
    if roots or not pattern:
        return roots
    hits = [hit for each in _expand_braces(pattern) for hit in _glob(fs, start, each.split("/"))]
    return [i for i in fs.get_file_info(hits) if i.type != pa_fs.FileType.NotFound] if hits else []


def _marks_above(fs: Any, roots: Iterable[Any]) -> list[Any]:
    """Return what there is in the folders above some paths that may be the mark of a table with a log."""
    above = {str(folder) for info in roots for folder in PurePosixPath(info.path).parents} - {".", "/"}
    marks = fs.get_file_info([f"{folder}/{mark}" for folder in above for mark in ("metadata", *_TABLES)])
    folders = [i for i in marks if i.base_name == "metadata" and i.type == pa_fs.FileType.Directory]
    return [*marks, *(info for each in folders for info in fs.get_file_info(pa_fs.FileSelector(each.path)))]


def _list_below(fs: Any, uri: str | None, root: Any, given: str) -> Iterator[File]:
    """Yield a file, or the files of a folder."""
    if root.type != pa_fs.FileType.Directory:
        yield File(root.path, uri, size=root.size)
        return
    listed = fs.get_file_info(pa_fs.FileSelector(root.path, recursive=True))
    _refuse_tables(given, listed)
    for each in listed:
        names = each.path[len(root.path.rstrip("/")) + 1 :].split("/")
        if each.type == pa_fs.FileType.File and not any(map(_is_hidden, names)):
            pairs = [name.split("=", 1) for name in names[:-1] if "=" in name]
            yield File(each.path, uri, tuple((unquote(name), value) for name, value in pairs), each.size)


def _locate(text: str) -> tuple[str | None, str, str]:
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
        raise PLACE.error("unsupported-data", message, help=spark_hint(text), notes=[first_line(error)]) from error


def _is_hidden(name: str) -> bool:
    """Tell whether Spark passes over a name.

    >>> [name for name in ("_SUCCESS", ".x.crc", "_k=1", "a") if not _is_hidden(name)]
    ['_k=1', 'a']
    """
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def _expand_braces(pattern: str) -> list[str]:
    """Return a pattern without its alternatives.

    >>> _expand_braces("a{b,c}")
    ['ab', 'ac']
    """
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        return [pattern]
    before, after = pattern[: found.start()], pattern[found.end() :]
    return [whole for choice in found[1].split(",") for whole in _expand_braces(before + choice + after)]


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
        if deep and info.type == pa_fs.FileType.Directory and not any(map(_is_hidden, names)):
            below.append(info.path)
        elif not deep and fnmatch.fnmatchcase(names[0], first):
            below += [info.path] if first[0] in "_." or not _is_hidden(names[0]) else []
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
            raise PLACE.error("table-format", message, help=spark_hint(table, reader), notes=[f"see '{info.path}'"])
