"""Times as text in a format such as `%d.%m.%Y %H:%M`, read in the same way by both engines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkleene.columns.arrow import as_numpy, fill_null, make_array, make_scalar
from sparkleene.columns.fields import decode, kind
from sparkleene.errors import Place, mistake

Integers = np.ndarray[Any, np.dtype[np.int64]]

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october")
DIRECTIVES = {
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d{2})",
    "m": r"(?P<m>\d{1,2})",
    "d": r"(?P<d>\d{1,2})",
    "b": rf"(?P<b>(?i:{'|'.join(MONTHS)}))",
    "B": rf"(?P<B>(?i:{'|'.join((*_LONG, 'november', 'december'))}))",
    "H": r"(?P<H>\d{1,2})",
    "I": r"(?P<I>\d{1,2})",
    "p": r"(?P<p>(?i:am|pm))",
    "M": r"(?P<M>\d{1,2})",
    "S": r"(?P<S>\d{1,2})",
    "f": r"(?P<f>\d{1,6})",
    "z": r"(?P<z>Z|[+-]\d{2}:?\d{2})",
    "%": "%",
}
"""What the letters after a % stand for, as in Python's `strptime`."""
LIMITS = {"m": (1, 12), "d": (1, 31), "H": (0, 23), "I": (1, 12), "M": (0, 59), "S": (0, 59)}


@dataclass(frozen=True)
class TimeFormat:
    """How times are written.

    >>> format = TimeFormat("%d.%m.%Y %H:%M")
    >>> format.read(pa.array(["28.02.2024 09:30", None])).to_pylist()
    [datetime.datetime(2024, 2, 28, 9, 30), None]
    """

    text: str

    def check(self) -> None:
        """Raise if the format has an unknown letter, one twice, or no date."""
        letters = self.letters
        help = f"the letters are %{', %'.join(one for one in DIRECTIVES)}"
        for letter in letters:
            if letter not in DIRECTIVES:
                raise mistake(f"the time format has '%{letter}', which means nothing", help)
        plain = [letter for letter in letters if letter != "%"]
        parts = [{"y": "Y", "b": "m", "B": "m", "I": "H"}.get(letter, letter) for letter in plain]
        for letter, part in zip(plain, parts, strict=True):
            if parts.count(part) > 1:
                raise mistake(f"the time format has two of what '%{letter}' stands for", None)
        if "Y" not in parts:
            message = f"the time format '{self.text}' has no year"
            raise mistake(message, "write for example '%Y-%m-%d %H:%M:%S'")
        if ("I" in plain) != ("p" in plain):
            message = "in a time format %I and %p go together"
            raise mistake(message, "write %H for 24 hours")

    @property
    def letters(self) -> list[str]:
        """The letters after a %."""
        return re.findall(r"%(.|$)", self.text, re.DOTALL)

    @property
    def type(self) -> pa.DataType:
        """The type of the times: with a zone, if the format has one."""
        return pa.timestamp("us", "UTC" if "z" in self.letters else None)

    @cached_property
    def pattern(self) -> str:
        """The regular expression of a time; a blank stands for any number of them."""
        pieces = re.split(r"(%.|\s+)", self.text.strip(), flags=re.DOTALL)
        found = [
            DIRECTIVES[one[1]] if one.startswith("%") else r"\s+" if one.isspace() else re.escape(one)
            for one in pieces
        ]
        return rf"^\s*{''.join(found)}\s*$"

    def read(self, column: Any, name: str = "time", numbered: bool = True) -> pa.Array:
        """Return text as times, NULL for NULL; or raise an error that shows a text that is no such time."""
        values = decode(column)
        values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        if kind(values.type) != "text":
            values = values.cast(pa.string())
        there = as_numpy(values.is_valid())
        parts = pc.extract_regex(values, self.pattern)
        fits = as_numpy(parts.is_valid())
        fields = {
            letter: fill_null(pc.struct_field(parts, [letter]), "") for letter in self.letters if letter != "%"
        }
        numbers = {letter: _numbers(letter, field) for letter, field in fields.items()}
        for letter, (least, most) in LIMITS.items():
            if letter in numbers:
                fits = fits & (numbers[letter] >= least) & (numbers[letter] <= most)
        micros, whole = _micros(numbers, len(values))
        odd = np.flatnonzero(there & ~(fits & whole))
        if odd.size:
            row = int(odd[0])
            where = f"row {row}" if numbered else "some row"
            value, help = values[row].as_py(), "correct the format, or drop such rows"
            message = f"'{name}' is {value!r} in {where}, which is no time of the format '{self.text}'"
            notes = ["rows are counted from 0"] if numbered else []
            raise Place().error("unreadable-time", message, help=help, notes=notes)
        return make_array(micros, pa.int64(), mask=~there).cast(self.type)


def _numbers(letter: str, field: Any) -> Integers:
    """Return the numbers that a part of times stands for, 0 where there is none."""
    if letter in ("b", "B"):
        month = pc.index_in(pc.utf8_lower(pc.utf8_slice_codeunits(field, 0, 3)), make_array(MONTHS, pa.string()))
        return as_numpy(fill_null(pc.add(month, make_scalar(1)), 0)).astype(np.int64)
    if letter == "p":
        return as_numpy(pc.equal(pc.utf8_lower(field), make_scalar("pm"))).astype(np.int64)
    if letter == "z":
        return _offsets(field)
    if letter == "f":
        field = pc.utf8_rpad(field, 6, "0")
    return as_numpy(pc.if_else(pc.equal(field, make_scalar("")), make_scalar("0"), field).cast(pa.int64()))


def _offsets(field: Any) -> Integers:
    """Return how many minutes zones are east of Greenwich."""
    digits = pc.replace_substring_regex(field, r"[^0-9]", "")
    plain = pc.if_else(pc.equal(digits, make_scalar("")), make_scalar("0000"), digits)
    hours, minutes = (pc.utf8_slice_codeunits(plain, i, i + 2).cast(pa.int64()) for i in (0, 2))
    west = as_numpy(pc.starts_with(field, "-"))
    east: Integers = np.where(west, -1, 1) * (as_numpy(hours) * 60 + as_numpy(minutes))
    return east


def _micros(numbers: dict[str, Integers], count: int) -> tuple[Integers, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Return times in microseconds since 1970, and whether each is on a day that there is."""
    zeros = np.zeros(count, np.int64)
    short = numbers.get("y", zeros)
    year = numbers["Y"] if "Y" in numbers else short + np.where(short < 69, 2000, 1900)
    month = next((numbers[letter] for letter in "mbB" if letter in numbers), zeros + 1)
    months = (year - 1970) * 12 + month - 1
    day = numbers.get("d", zeros + 1)
    days = months.astype("datetime64[M]").astype("datetime64[D]") + (day - 1)
    whole = days.astype("datetime64[M]").astype(np.int64) == months
    hour = numbers.get("H", zeros)
    if "I" in numbers:
        hour = numbers["I"] % 12 + 12 * numbers["p"]
    minutes = (days.astype(np.int64) * 24 + hour) * 60 + numbers.get("M", zeros) - numbers.get("z", zeros)
    return (minutes * 60 + numbers.get("S", zeros)) * 1_000_000 + numbers.get("f", zeros), whole
