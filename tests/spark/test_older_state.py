"""Streams go on from checkpoints of the version before, whose identity was a text of all options.

`fixtures/state_version_1.json` has the state that the version before wrote for the batches below: by partition its
timers, and by bucket and variable the bytes that were kept.
"""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.test_streaming import SIMPLE
from tests.spark.test_workload_stream import TEXTS, Partition, Workers, rows_of

import sparkleene as sk
from sparkleene.columns.reading import EngineOptions
from sparkleene.errors import DataError
from sparkleene.evaluation import PreparedWorkload
from sparkleene.ongoing.identity import PARTS_VERSION, compare_identities, make_identity, option_values
from sparkleene.workload import workload

pytestmark = pytest.mark.spark

KEPT = json.loads((Path(__file__).parent / "fixtures" / "state_version_1.json").read_text())
TEXT = (
    "RETURN k, COUNT(*), SUM(A.k) AS total PATTERN SEQ(A+, B) WHERE A.k < 5 GROUP-BY k "
    "WITHIN 10 seconds SLIDE 5 seconds"
)
OPTIONS: Any = {"offset": timedelta(milliseconds=1500), "tiebreak": "k"}
SEVERAL = {name: TEXTS[name] for name in ("pairs", "runs", "alone")}
BEFORE = {
    "query": rows_of(
        *(" ".join(f"{'b' if i % 20 == 19 else 'a'}{n + i / 40}" for i in range(40)) for n in range(1, 9))
    ),
    "workload": rows_of("a1 b2 a3 c3", "a4 b4 c5", "a5 b6", "a7 b7 c8", "a8 a9 b9"),
}
AFTER = rows_of("a10 b11 c11", "b12 a13 c14", "a1000000", "a1000001")


def made(kind: str, **changed: Any) -> Any:
    """Return what wrote the state, or with other options."""
    if kind == "workload":
        return workload(SEVERAL, **{"numbers": "exact"} | changed)
    query = sk.query(TEXT, **OPTIONS | changed)
    return SimpleNamespace(prepared=PreparedWorkload({"query": query.prepared}))


def go_on(kind: str, **changed: Any) -> Workers:
    """Return workers with the state of the version before."""
    workers = Workers(made(kind, **changed), SIMPLE)
    workers.watermark = KEPT[kind]["watermark"]
    workers.partitions = []
    for kept in KEPT[kind]["partitions"]:
        partition = Partition()
        partition.timers = {(home, expiry) for home, expiry in kept["timers"]}
        for home, variable, entries in kept["state"]:
            values = {tuple(key): tuple(map(b64decode, value)) for key, value in entries}
            partition.kept[home, variable] = values
        workers.partitions.append(partition)
    return workers


def run(workers: Workers, batches: list[pa.Table]) -> list[Any]:
    """Return what comes out of batches, each of which moves the watermark to a tenth of a second before its end."""
    found = []
    for batch in batches:
        found += workers.batch(batch)
        last = max(batch["time"].cast(pa.int64()).to_pylist())
        workers.watermark = max(workers.watermark, last // 1000 - 100)
    return found


@pytest.mark.parametrize("kind", ["query", "workload"])
def test_a_stream_goes_on_from_the_version_before(kind: str) -> None:
    whole = Workers(made(kind), SIMPLE)
    run(whole, BEFORE[kind])
    workers = go_on(kind)
    assert workers.watermark == whole.watermark
    expected = run(whole, AFTER)
    assert run(workers, AFTER) == expected != []


@pytest.mark.parametrize(
    ("kind", "changed", "name"),
    [
        ("query", {"offset": timedelta(milliseconds=1501)}, "offset"),
        ("query", {"tiebreak": None}, "tiebreak"),
        ("query", {"numbers": "exact"}, "numbers"),
        ("workload", {"numbers": "double"}, "numbers"),
    ],
)
def test_a_changed_option_is_refused(kind: str, changed: dict[str, Any], name: str) -> None:
    with pytest.raises(AssertionError, match=rf"error\[query-changed\].*another option {name}"):
        go_on(kind, **changed).batch(AFTER[0])


# ---- identities


def refusal(then: dict[str, Any], now: dict[str, Any]) -> str:
    with pytest.raises(DataError) as caught:
        compare_identities(then, now)
    return caught.value.render()


OLD = (
    "Options(time='at', type=None, tiebreak=None, time_unit=None, numbers='double', offset=Fraction(3, 2), "
    "offset_in_ms=False, masks=('m',), numbered=False)"
)


def test_the_text_of_version_1_is_read() -> None:
    now = EngineOptions(time="at", type=None, offset=Fraction(3, 2), forced_bursts=b"\1")
    compare_identities({"query": "q", "options": OLD}, make_identity(now, query="q"))
    for changed in ({"time": "then"}, {"type": "type"}, {"offset": Fraction(1)}, {"time_unit": "s"}):
        [name] = changed
        told = refusal({"query": "q", "options": OLD}, make_identity(replace(now, **changed), query="q"))
        assert f"another option {name}\n" in told


def test_an_option_that_a_state_does_not_know_had_its_default() -> None:
    for name, value in {"tiebreak": "id", "numbers": "exact"}.items():
        then = make_identity(EngineOptions(), query="q")
        del then["options"][name]
        compare_identities(then, make_identity(EngineOptions(), query="q"))
        assert f"option {name} was" in refusal(then, make_identity(EngineOptions(**{name: value}), query="q"))


def test_a_state_of_a_later_version() -> None:
    now = make_identity(EngineOptions())
    more = now | {"options": option_values(EngineOptions()) | {"grace": 5}}
    assert "another option grace" in refusal(more, now)
    assert "error[state-version]" in refusal(now | {"version": PARTS_VERSION + 1}, now)


def test_the_state_of_a_part_needs_to_know_the_checkpoint() -> None:
    now = make_identity(EngineOptions(), workload={"a": "1", "b": "2"}, sharing="a; b")
    part = now | {"workload": {"a": "1"}, "sharing": "a", "version": PARTS_VERSION}
    assert "checkpoint=path" in refusal(part, now)
    compare_identities(now, part)  # as a checkpoint of all parts begins to know its parts one by one
    assert "changed: a" in refusal(now, part | {"workload": {"a": "3"}})
    assert "another sharing" in refusal(now | {"sharing": "a, b"}, part | {"workload": now["workload"]})
