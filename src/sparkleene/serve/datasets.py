"""The data that the page may ask about: streams that are made up, and files below what was given at the start."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from sparkleene.columns.files import Files, is_event_file, open_files
from sparkleene.errors import Diagnostic, QueryError
from sparkleene.generators import NAMES, generate
from sparkleene.serve.settings import Root, Settings

HOUR = 3600.0
"""Seconds that the events of a generator are spread over."""
DEEPEST = 6
MOST = 500
"""Files and folders that are listed; others can be asked for by name."""
ABOUT = {
    "activity": "heart rates of patients",
    "clicks": "clicks in an online shop",
    "cluster": "load of a cluster's jobs",
    "homes": "power that plugs of homes draw",
    "rides": "rides with drivers and riders",
    "stock": "trades of companies by sector",
    "traffic": "cars on a road, and accidents",
}


def list_datasets(settings: Settings) -> list[dict[str, str]]:
    """Return the names of data, each with words about it."""
    found = [{"name": f"generate:{name}", "kind": "generator", "about": ABOUT[name]} for name in NAMES]
    for root in settings.roots:
        for path, kind in _walk(root, settings):
            relative = path.relative_to(root.path).as_posix()
            name = root.name if relative == "." else f"{root.name}/{relative}"
            found.append(
                {"name": f"file:{name}", "kind": kind, "about": _size(path) if kind == "file" else "folder"}
            )
            if len(found) >= MOST:
                return found
    found += [
        {"name": f"kafka:{one.name}", "kind": "topic", "about": "a topic of Kafka"} for one in settings.topics
    ]
    return found


def _walk(root: Root, settings: Settings) -> Iterator[tuple[Path, str]]:
    """Yield the files of events below a root, and the folders that have some, with the kind of each."""
    if root.path.is_file():
        yield root.path, "file"
        return
    for folder, folders, files in os.walk(root.path):
        here = Path(folder)
        deep = len(here.relative_to(root.path).parts)
        folders[:] = sorted(name for name in folders if name[0] not in "._") if deep < DEEPEST else []
        events = [name for name in sorted(files) if name[0] not in "._" and is_event_file(name)]
        inside = [here / name for name in events if _is_inside((here / name).resolve(), settings)]
        if inside or any("=" in name for name in folders):
            yield here, "folder"
        if "=" not in here.name:
            for path in inside:
                yield path, "file"
        folders[:] = [name for name in folders if "=" not in name]  # a folder of partitions is one table


def _size(path: Path) -> str:
    try:
        size = float(path.stat().st_size)
    except OSError:
        return "file"
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def find_path(name: str, settings: Settings) -> Path:
    """Return the path of a file or folder below one of the roots, or raise as if nothing else existed."""
    missing = QueryError(Diagnostic("missing-file", f"there is no data '{name}' here"))
    first, _, rest = name.partition("/")
    root = next((one for one in settings.roots if one.name == first), None)
    parts = rest.split("/") if rest else []
    odd = any(part in ("", ".", "..") or any(sign in part for sign in "*?[]{}\\\0") for part in parts)
    if root is None or odd or len(name) > 1000:
        raise missing
    try:
        path = root.path.joinpath(*parts).resolve(strict=True)
    except (OSError, RuntimeError):
        raise missing from None
    if not _is_inside(path, settings) or any(part[0] in "._" for part in parts):
        raise missing
    if path.is_dir():
        for folder, _, files in os.walk(path):
            if not all(_is_inside((Path(folder) / one).resolve(), settings) for one in files):
                raise missing
    elif not path.is_file():
        raise missing
    return path


def _is_inside(path: Path, settings: Settings) -> bool:
    """Tell whether a path without links is one of the roots or below one."""
    return any(path == root.path or path.is_relative_to(root.path) for root in settings.roots)


def open_dataset(data: Mapping[str, Any], settings: Settings) -> pa.Table | Files:
    """Return the data that a request names."""
    kind, _, name = str(data["name"]).partition(":")
    if kind == "generate":
        events = int(data.get("events", 20_000))
        if events > settings.limits.events:
            message = f"{events:,} events are asked for, {settings.limits.events:,} are the most"
            raise QueryError(Diagnostic("limit", message))
        return generate(name, events, seed=int(data.get("seed", 0)), rate=events / HOUR)
    if kind == "file":
        return open_files(str(find_path(name, settings)))
    raise QueryError(Diagnostic("missing-file", f"there is no data '{data['name']}' here"))


def data_key(data: Mapping[str, Any], settings: Settings) -> tuple[Any, ...]:
    """Return what tells data apart from other data, and a file from what it was before it was changed."""
    kind, _, name = str(data["name"]).partition(":")
    if kind == "generate":
        return name, int(data.get("events", 20_000)), int(data.get("seed", 0))
    path = find_path(name, settings)
    files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
    stats = [one.stat() for one in files]
    return str(path), tuple((one.st_size, one.st_mtime_ns) for one in stats)
