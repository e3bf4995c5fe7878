"""Files that commands write: their format, whether they can be written, and whole or not at all."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sparkleene.cli.failures import usage_error
from sparkleene.cli.show import Format, write_text

ENDS: dict[str, Format] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "table",
}


def choose_format(given: Format | None, output: str | None) -> Format:
    """Return the format to write: the one asked for, that of the file's name, or what fits who reads it."""
    if given == "parquet" and output is None:
        raise usage_error("Parquet is for files", "add --output PATH")
    if given is not None:
        return given
    if output is None:
        return "table" if sys.stdout.isatty() else "csv"
    found = ENDS.get(Path(output).suffix.lower())
    if found is not None:
        return found
    if is_folder(output):
        return "parquet"
    raise usage_error(f"the format of '{output}' is not clear", "add --format csv, json or parquet")


def is_folder(output: str) -> bool:
    """Tell whether an output is a folder, which Spark's tasks write side by side: a name without an ending.

    >>> is_folder("results"), is_folder("results.d/"), is_folder("results.csv"), is_folder("/")
    (True, True, False, True)
    """
    path = Path(output)
    return output.endswith(("/", os.sep)) or path.is_dir() or not (path.suffix or path.exists())


def check_output(output: str, folders: bool = True) -> None:
    """Raise for a place where nothing can be written, before there is anything to write."""
    if "://" in output:
        return
    target = Path(output)
    if folders and is_folder(output):
        if target.exists() and not target.is_dir():
            raise usage_error(f"'{output}' is a file", "leave out the slash at the end")
        if target.is_dir() and any(target.iterdir()):
            raise usage_error(
                f"there is something in the folder '{output}' already", "name a new folder, or a file"
            )
        return
    if target.is_dir():
        raise usage_error(f"'{output}' is a folder", "name a file in it")
    if not target.absolute().parent.is_dir():
        raise usage_error(f"there is no folder '{target.parent}' to write to", code="missing-file")


def write(table: Any, kind: Format, output: str | None) -> None:
    """Write a result to a file, or print it."""
    if output is None:
        write_text(table, kind, sys.stdout)
        sys.stdout.flush()
        return
    if is_folder(output):
        Path(output).mkdir(parents=True, exist_ok=True)
        output = os.path.join(output, f"part-0.{kind}")
    with replace_file(output) as path:
        if kind == "parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            # given a path, write_table would delete it when it fails, be it a device
            with pa.OSFile(path, "wb") as sink:
                pq.write_table(table, sink)
        else:
            with open(path, "w", encoding="utf_8", newline="") as file:
                write_text(table, kind, file)


def write_events(table: Any, kind: Format, output: str) -> None:
    """Write events to a file: millions of rows, as Arrow writes them."""
    if kind != "csv":
        write(table, kind, output)
        return
    import pyarrow.csv

    with replace_file(output) as path:
        pyarrow.csv.write_csv(table, path)


@contextmanager
def replace_file(output: str) -> Iterator[str]:
    """Yield a path to write to: a file beside the output that takes its place once it is whole."""
    check_output(output, folders=False)
    target = Path(os.path.realpath(output))  # a link stays one
    if output.startswith("/dev/") or (target.exists() and not target.is_file()):
        with _name_in_errors(output):
            yield output  # a pipe or a device; /dev/stdout may be a file, which is not ours to replace
        return
    with _name_in_errors(output):
        number, path = tempfile.mkstemp(target.suffix, f".{target.stem}-", target.parent)
        os.close(number)
        try:
            yield path
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(path, 0o666 & ~mask)
            os.replace(path, target)
        except BaseException:
            os.unlink(path)
            raise


@contextmanager
def _name_in_errors(output: str) -> Iterator[None]:
    """Let errors name the output, not the file beside it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"cannot be written: {error.strerror or error}", output) from error
