"""The sources of a stream by Spark's reports: which one is behind, and which has fallen silent."""

from __future__ import annotations

import json
from ast import literal_eval
from collections.abc import Mapping, Sequence
from typing import Any

Offsets = dict[str, int]  # by topic and partition


def describe_sources(reports: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[str | None, list[str]]:
    """Return the slowest source, None if all keep up, and notes; each report has all sources in one order."""
    if not reports:
        return None, []
    behind: list[tuple[int, str]] = []
    notes: list[str] = []
    busy = [any(report[number]["numInputRows"] for report in reports) for number in range(len(reports[-1]))]
    for number, source in enumerate(reports[-1]):
        name = str(source["description"])
        if not busy[number] and any(busy):
            behind.append((0, f"{name}: no rows in {len(reports)} reports"))
            notes.append(f"{name} is silent: if it has a watermark of its own, all windows wait for its next event")
        end, latest = (read_offsets(source[field]) for field in ("endOffset", "latestOffset"))
        lag = sum(max(0, at - end.get(partition, 0)) for partition, at in latest.items()) if end else 0
        if lag:
            behind.append((lag, f"{name}: {lag:,} messages behind"))
        silent = _silent([read_offsets(report[number]["endOffset"]) for report in reports])
        if silent:
            few = ", ".join(silent[:5]) + (", ..." if len(silent) > 5 else "")
            notes.append(f"no messages in {few}: what comes there later than the delay behind the others is late")
    return max(behind, default=(0, None))[1], notes


def _silent(ends: Sequence[Offsets]) -> list[str]:
    """Return the partitions that stood still while others moved."""
    known = [each for each in ends if each]
    if len(known) < 2:
        return []
    first, last = known[0], known[-1]
    still = [name for name, at in last.items() if first.get(name, at) == at]
    return sorted(still) if len(still) < len(last) else []


def read_offsets(text: Any) -> Offsets:
    """Return the offsets of Kafka's partitions, nothing for a source of another kind.

    >>> read_offsets('{"clicks": {"0": 12, "1": 3}}'), read_offsets('{"logOffset": 2}'), read_offsets("None")
    ({'clicks-0': 12, 'clicks-1': 3}, {}, {})
    >>> read_offsets("{'clicks': {'0': 12}}"), read_offsets("at 5")
    ({'clicks-0': 12}, {})
    """
    try:
        found = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        try:
            found = literal_eval(text)  # PySpark 4.0 gives JSON as Python writes it
        except (SyntaxError, ValueError):
            return {}
    if not isinstance(found, dict):
        return {}
    topics = {topic: parts for topic, parts in found.items() if isinstance(parts, dict)}
    return {
        f"{topic}-{part}": at
        for topic, parts in topics.items()
        for part, at in parts.items()
        if isinstance(at, int)
    }
