"""What a command is given: queries as text or as files, and conditions that define event types."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkleene.cli.failures import usage_error
from sparkleene.cli.progress import print_warnings
from sparkleene.columns.files import Files, TextOptions, open_files
from sparkleene.columns.time_formats import TimeFormat
from sparkleene.errors import Place
from sparkleene.language.ast import MILLISECONDS
from sparkleene.language.query_files import split_queries
from sparkleene.language.units import UNITS

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


def parse_offset(given: str | None) -> float | Fraction | timedelta | None:
    """Return how far windows are moved: a number in the unit of the times, or a length of time.

    >>> parse_offset("15"), parse_offset("-1.5 hours")
    (Fraction(15, 1), datetime.timedelta(days=-1, seconds=81000))
    """
    if given is None:
        return None
    number, _, word = given.strip().partition(" ")
    unit = UNITS.get(word.strip().lower())
    try:
        value = Fraction(number)
    except (ValueError, ZeroDivisionError):
        value = None
    if value is None or (word and unit not in MILLISECONDS):
        raise usage_error(f"--offset is '{given}'", "write a number, or a length of time such as '15 minutes'")
    return value if unit is None else timedelta(**{unit: float(value)})


@dataclass(frozen=True)
class Reader:
    """Opens files of events, with what was said of those that are text."""

    columns: str | None = None
    delimiter: str | None = None
    time_format: str | None = None

    def open(self, given: str | Sequence[str], time: str) -> Files:
        """Return files of events, whose times are in the column `time`; note what was guessed about them."""
        found = open_files(given, self.text_options(time))
        with print_warnings():
            found.warn_of_guesses()
        return found

    def text_options(self, time: str) -> TextOptions:
        """Return how files of text are read."""
        names = None if self.columns is None else tuple(name.strip() for name in self.columns.split(","))
        delimiter = self.delimiter
        if delimiter is not None:
            delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
            if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
                raise usage_error(f"--delimiter is '{delimiter}'", "give one character, such as ';', or tab")
        if self.time_format is None:
            return TextOptions(names, delimiter)
        format = TimeFormat(self.time_format)
        format.check()
        return TextOptions(names, delimiter, time, format)


def read_frame(spark: SparkSession, found: Files) -> DataFrame:
    """Return files of events as a DataFrame; their columns and types are those that the local engine finds."""
    text = found.sources[0].text
    frame = read_raw_frame(spark, found)
    return frame if text.format is None else parse_frame(frame, text)


def parse_frame(frame: DataFrame, text: TextOptions) -> DataFrame:
    """Return a DataFrame whose times, which are text in a format, are times."""
    from sparkleene.spark.text_times import parse_times

    return frame if text.format is None or text.time is None else parse_times(frame, text.time, text.format)


def read_raw_frame(spark: SparkSession, found: Files) -> DataFrame:
    """Return files of events as a DataFrame in which times that have a format are text."""
    paths = [str(source.path.absolute()) for source in found.sources]
    if found.kind == "parquet":
        return spark.read.option("mergeSchema", True).parquet(*paths)
    names, text = found.columns, found.sources[0].text
    signs = {source.delimiter for source in found.sources} if found.kind == "csv" else {","}
    if len(signs) > 1:
        message = "Spark reads CSV files with one sign between cells, and these have several"
        raise usage_error(message, "add --engine local", code="unsupported-data")
    options = JSON if found.kind == "json" else csv_options(signs.pop(), header=names is None)

    from pyspark.sql import types as T

    from sparkleene.spark.text_times import load_whole_times

    reader = spark.read.options(**options).format(found.kind)
    fields = list(reader.load(paths).schema.fields)
    order = [field.name for field in fields] if names is None else list(names)
    if text.format is not None and text.time in order:
        place = order.index(text.time)
        fields[place] = T.StructField(fields[place].name, T.StringType())
    frame = load_whole_times(T.StructType(fields), lambda schema: reader.schema(schema).load(paths))
    return frame if names is None else frame.toDF(*names)


JSON: dict[str, Any] = {"inferTimestamp": True}


def csv_options(delimiter: str, header: bool = True) -> dict[str, Any]:
    """Return how Spark is to read CSV files, so that it finds what the local engine finds."""
    return {"header": header, "inferSchema": True, "sep": delimiter, "enforceSchema": False}
