"""What a command is given: queries as text or as files, and conditions that define event types."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkleene.cli.failures import usage_error
from sparkleene.columns.files import Files, open_files
from sparkleene.errors import Place
from sparkleene.language.query_files import split_queries

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_queries(given: str) -> list[Place]:
    """Return the texts of queries with the name that errors show: `given` is a file, a text, or - for stdin.

    >>> read_queries("RETURN COUNT(*) PATTERN A+")
    [Place(source='RETURN COUNT(*) PATTERN A+', filename='query')]
    """
    return split_queries(*_read(given))


def _read(given: str) -> tuple[str, str]:
    if given == "-":
        return sys.stdin.read(), "standard input"
    if not given.strip():
        raise usage_error("the query is empty", "give a file, or the query itself: 'RETURN COUNT(*) PATTERN A+'")
    if len(given.split()) > 1 and not _is_file(given):
        return given, "query"
    path = Path(given)
    if not _is_file(given):
        what = "a folder" if os.path.isdir(given) else "not there"
        help = "give a file, or the query itself in quotes: 'RETURN COUNT(*) PATTERN A+'"
        raise usage_error(f"the query file '{given}' is {what}", help, code="missing-file", filename=given)
    try:
        return path.read_text(encoding="utf_8"), given
    except UnicodeDecodeError:
        raise usage_error(
            f"the query file '{given}' is not text in UTF-8", code="unreadable-file", filename=given
        ) from None


def _is_file(given: str) -> bool:
    try:
        return Path(given).is_file()
    except (OSError, ValueError):  # a text that no file can be named
        return False


def parse_pairs(given: Sequence[str] | None, option: str, example: str) -> dict[str, str]:
    """Return what a repeated option NAME=VALUE says.

    >>> parse_pairs(["a=1", "b=x=2"], "--conf", "k=v")
    {'a': '1', 'b': 'x=2'}
    """
    parts = [one.partition("=") for one in given or ()]
    for name, sign, _ in parts:
        if not sign or not name.strip():
            raise usage_error(f"{option} is '{name}{sign}'", f"write {option} {example}")
    return {name.strip(): value for name, _, value in parts}


def find_events(given: str | Sequence[str], columns: str | None) -> Files:
    """Return files of events; `columns` are the names, with commas, of those of CSV files without a header."""
    return open_files(given, None if columns is None else [name.strip() for name in columns.split(",")])


def read_frame(spark: SparkSession, found: Files) -> DataFrame:
    """Return files of events as a DataFrame; their columns and types are those that the local engine finds."""
    paths = [str(source.path.absolute()) for source in found.sources]
    if found.kind == "parquet":
        return spark.read.option("mergeSchema", True).parquet(*paths)
    if found.kind == "json":
        return spark.read.options(**JSON).json(paths)
    names = found.columns
    frame = spark.read.options(**csv_options(paths, header=names is None)).csv(paths)
    return frame if names is None else frame.toDF(*names)


JSON = {"inferTimestamp": True}


def csv_options(paths: Sequence[str], header: bool = True) -> dict[str, Any]:
    """Return how Spark is to read CSV files, so that it finds what the local engine finds."""
    tabs = any(".tsv" in path.lower() for path in paths)
    return {"header": header, "inferSchema": True, "sep": "\t" if tabs else ",", "enforceSchema": False}
