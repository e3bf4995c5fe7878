"""What is between the cells of a CSV file, found by looking at its first lines."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

OTHERS = (";", "\t", "|")
"""What may be there instead of a comma."""
LINES = 20
"""Lines that are looked at."""


def guess_delimiter(path: Path) -> str:
    """Return what is between the cells of a file: a comma, unless the first line has none and all have another.

    A file that cannot be read has a comma: reading it will tell what is wrong.
    """
    try:
        with pa.input_stream(str(path)) as stream:
            start = stream.read(1 << 16)
    except (pa.ArrowException, OSError):
        return ","
    lines = start.decode("utf_8", errors="replace").splitlines()
    return delimiter_of(lines if len(start) < 1 << 16 else lines[:-1])


def delimiter_of(lines: list[str]) -> str:
    """Return what is between the cells of some lines.

    >>> delimiter_of(["time;type", "1,5;A"]), delimiter_of(["time,type", "1;5,A"]), delimiter_of(["time", "1;5"])
    (';', ',', ',')
    """
    some = [line for line in lines if line.strip()][:LINES]
    if not some or "," in some[0]:
        return ","
    for sign in OTHERS:
        counts = {line.count(sign) for line in some}
        if len(counts) == 1 and counts != {0}:
            return sign
    return ","
