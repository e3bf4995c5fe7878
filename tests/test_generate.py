"""The papers' streams have the papers' numbers, are the same each time, and feed the papers' queries."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import sparkleene as sk
from sparkleene.generators import NAMES, find
from sparkleene.generators.generator import START, Members

ROOT = Path(__file__).parents[1]
QUERIES = ROOT / "examples" / "queries"
EVENTS = 20_000


@cache
def made(name: str, events: int = EVENTS, **options: Any) -> pa.Table:
    return sk.generate(name, events, **options)


def seconds(table: pa.Table) -> np.ndarray[Any, Any]:
    """Seconds after the start."""
    return np.asarray(table["time"].cast(pa.int64())) / 1e6 - START.timestamp()


def column(table: pa.Table, name: str) -> np.ndarray[Any, Any]:
    return np.asarray(table[name].to_pandas())


def shares(table: pa.Table, name: str) -> dict[Any, float]:
    counted = table[name].value_counts()
    return {each["values"].as_py(): each["counts"].as_py() / len(table) for each in counted}


def runs(values: np.ndarray[Any, Any]) -> int:
    return 1 + int((values[1:] != values[:-1]).sum())


# ---- all streams


@pytest.mark.parametrize("name", NAMES)
def test_shape(name: str) -> None:
    table = made(name)
    assert table.num_rows == EVENTS
    assert table.schema.names[:2] == ["time", "type"]
    assert table.schema.field("time").type == pa.timestamp("us", "UTC")
    plain = {pa.string(), pa.int32(), pa.int64(), pa.float64(), pa.timestamp("us", "UTC")}
    assert set(table.schema.types) <= plain
    assert table["type"].null_count == 0
    times = seconds(table)
    assert times[0] >= 0 and bool((np.diff(times) >= 0).all())


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_bytes(name: str) -> None:
    def written(seed: int) -> bytes:
        sink = io.BytesIO()
        pq.write_table(sk.generate(name, 3000, seed=seed, groups=7), sink)
        return sink.getvalue()

    assert written(3) == written(3)
    assert written(3) != written(4) and written(-3) != written(3)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("events", [1, 2, 31])
def test_short_streams(name: str, events: int) -> None:
    for groups in (None, 1, 3, 1000):
        assert sk.generate(name, events, groups=groups).num_rows == events


@pytest.mark.parametrize("name", NAMES)
def test_the_rate_is_kept(name: str) -> None:
    for rate in (40.0, find(name).rate or 14):
        last = seconds(made(name, rate=rate))[-1]
        whole = EVENTS / rate * (2 if name == "traffic" else 1)  # there the rate grows from 0
        assert last == pytest.approx(whole, rel=1e-3)


def test_ticks_make_events_simultaneous() -> None:
    times = seconds(made("cluster", tick=1))
    assert (times % 1 == 0).all() and len(set(times)) == 7
    assert np.bincount(times.astype(int))[0] == 3000
    assert len(set(seconds(made("cluster", tick=0.001)).round(3))) < 7001


def test_groups_larger_than_16_bits() -> None:
    found = column(made("activity", groups=100_000), "patient")
    assert found.max() > 1 << 16 and len(set(found)) == pytest.approx(100_000 * (1 - np.exp(-0.2)), rel=0.05)


def test_walks_start_anew_in_each_group() -> None:
    members = Members(np.array([2, 0, 2, 4, 0], np.uint16), 6)
    assert members.sorted.tolist() == [0, 0, 2, 2, 4] and members.places.tolist() == [0, 1, 0, 1, 0]
    assert members.walk(np.array([1, 2, 3, 4, 5])).tolist() == [1, 3, 3, 7, 5]
    assert members.spread(np.array([10, 11, 20, 21, 40])).tolist() == [20, 10, 21, 40, 11]


def test_spark_and_parquet_see_text(tmp_path: Path) -> None:
    pq.write_table(made("rides"), tmp_path / "rides.parquet")
    assert pq.read_table(tmp_path / "rides.parquet").equals(made("rides"))


# ---- what the papers say of each


def test_cluster() -> None:
    table = made("cluster", 100_000)  # GRETA, table 2
    for name in ("mapper", "job"):
        found = shares(table, name)
        assert sorted(found) == list(range(11))
        assert all(share == pytest.approx(1 / 11, abs=0.005) for share in found.values())
    for name in ("cpu", "memory"):
        values = column(table, name)
        assert (values.min(), values.max()) == (0, 1000)
        assert np.quantile(values, [0.25, 0.5, 0.75]) == pytest.approx([250, 500, 750], abs=8)
    load = column(table, "load")
    assert load.mean() == pytest.approx(100, abs=0.3) and load.var() == pytest.approx(100, rel=0.03)
    assert shares(table, "type")["Start"] == pytest.approx(1 / 7, abs=0.005)
    one = table.filter((pc.field("mapper") == 3) & (pc.field("job") == 4))["type"].to_pylist()
    marks = [kind for kind in one if kind != "Measurement"]
    assert all(first != second for first, second in pairwise(marks))


def test_stock() -> None:
    table = made("stock", 200_000)
    found = shares(table, "company")  # HAMLET, section 5.1
    assert len(found) == 220 and {"DELL", "IPIX", "AMAT", "QQQ"} <= set(found)
    assert max(found.values()) < 1.3 / 220
    assert len(shares(table, "sector")) == 11
    pairs = set(zip(table["company"].to_pylist(), table["sector"].to_pylist(), strict=True))
    assert len(pairs) == 220
    assert len(table) / runs(column(table, "side")) == pytest.approx(120, rel=0.15)
    one = np.log(column(table.filter(pc.field("company") == "DELL"), "price"))
    assert np.diff(one).std() == pytest.approx(0.001, rel=0.2)
    assert column(table, "price").min() > 0 and column(table, "volume").min() > 0
    assert column(table, "transaction").tolist() == list(range(1, 200_001))


def test_companies_of_a_sector_move_together() -> None:
    table = made("stock", 100_000, groups=4, sectors=2, rate=75 / 55)  # as many events of each as there usually are
    window = (seconds(table) // 300).astype(int)
    moves = []
    for company in ("DELL", "AMAT", "IPIX"):  # the first two are of one sector
        own = column(table, "company") == company
        logs = np.bincount(window[own], np.log(column(table, "price")[own])) / np.bincount(window[own])
        moves.append(np.diff(logs))
    same, other = np.corrcoef(moves)[0][1:]
    assert same > 0.5 > 0.2 > abs(other)


def test_traffic() -> None:
    table = made("traffic", 200_000)  # GRETA, section 10.1: up to 4 thousand a second
    times = seconds(table)
    assert times[-1] == pytest.approx(100, rel=0.01)
    assert (times < times[-1] / 2).mean() == pytest.approx(1 / 4, abs=0.01)
    assert (times > times[-1] - 1).sum() == pytest.approx(4000, rel=0.02)
    slow = made("traffic", 50_000, rate=100.0)
    order = np.lexsort((seconds(slow), column(slow, "vehicle")))
    vehicle, times = column(slow, "vehicle")[order], seconds(slow)[order]
    gaps = np.diff(times)[vehicle[1:] == vehicle[:-1]]
    assert np.median(gaps) == pytest.approx(30, abs=1)
    accidents = slow.filter(pc.field("type") == "Accident")
    assert accidents.num_rows == round(3 * 1000 / 3600)
    assert accidents["vehicle"].null_count == accidents["speed"].null_count == accidents.num_rows
    speed = slow["speed"].drop_null()
    assert pc.min(speed).as_py() >= 0 and pc.max(speed).as_py() <= 100
    assert sorted(shares(slow, "segment")) == list(range(100))
    assert len(shares(made("traffic", groups=50), "vehicle").keys() - {None}) == 50


def test_activity() -> None:
    table = made("activity", 100_000)  # COGRA, section 8.1
    assert sorted(shares(table, "patient")) == list(range(14))
    assert len(shares(table, "activity")) == 18
    assert shares(table, "kind")["passive"] == pytest.approx(1 / 3, abs=0.06)
    assert len(set(zip(table["activity"].to_pylist(), table["kind"].to_pylist(), strict=True))) == 18
    rate = column(table, "rate")
    assert rate.min() >= 30 and rate.max() <= 220
    assert rate[column(table, "activity") == "running"].mean() == pytest.approx(150, abs=1)


def test_rides() -> None:
    table = made("rides", 200_000)  # HAMLET, section 5.1: 20 types
    found = shares(table, "type")
    assert len(found) == 20
    assert found["Cancel"] / found["Request"] == pytest.approx(0.15, abs=0.01)
    assert found["Pickup"] / found["Request"] == pytest.approx(0.75, abs=0.01)
    assert shares(table, "request")["Pool"] == pytest.approx(0.3, abs=0.02)
    assert len(shares(table, "driver")) == 1000
    never = shares(made("rides", cancelled=0, missed=0), "type")
    assert "Cancel" not in never and never["Pickup"] / never["Request"] == pytest.approx(1, abs=0.05)


def test_clicks() -> None:
    table = made("clicks", 100_000, bots=0)
    typed, known = table["value"].drop_null(), table["Password"].drop_null()
    assert len(typed) / len(table) == pytest.approx(shares(table, "type")["TypePassword"])
    assert len(known) / len(table) == pytest.approx(shares(table, "type")["TypeUsername"])
    guessed = pc.mean(pc.starts_with(typed, "guess").cast(pa.int8())).as_py()
    assert guessed == pytest.approx(0.1, abs=0.01)
    assert len(shares(table, "IP")) == len(shares(table, "userId")) == 200
    bots = made("clicks", bots=1)
    assert set(shares(bots, "type")) == {"TypeUsername", "TypePassword", "ClickSubmit"}


def test_homes() -> None:
    table = made("homes", 100_000)  # HAMLET, section 5.1
    assert len(shares(table, "plug")) == 2125 and len(shares(table, "house")) == 40
    assert len(set(zip(table["plug"].to_pylist(), table["house"].to_pylist(), strict=True))) == 2125
    assert column(table, "voltage").mean() == pytest.approx(230, abs=0.1)
    one = made("homes", groups=1, plugs=2)
    work = one.filter((pc.field("type") == "Work") & (pc.field("plug") == 1))["measurement"].to_pylist()
    assert work == sorted(work) and work[-1] > 0
    assert column(one, "measurement").min() >= 0


# ---- errors


def wrong(*arguments: Any, **options: Any) -> sk.Diagnostic:
    with pytest.raises(sk.SparkleeneError) as caught:
        sk.generate(*arguments, **options)
    [found] = caught.value.diagnostics
    assert found.code == "bad-option"
    return found


def test_a_wrong_name() -> None:
    found = wrong("stocks")
    assert found.message == "there is no stream 'stocks'" and found.help == "did you mean 'stock'?"
    assert "clicks, cluster" in found.notes[0]
    assert wrong("zebra").notes and wrong(7).notes


def test_a_wrong_option() -> None:
    found = wrong("stock", sector=3)
    assert found.message == "the stream 'stock' has no option 'sector'"
    assert found.help == "did you mean 'sectors'?"
    assert "events, seed, groups, rate, tick" in str(wrong("stock", zzz=3).help)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("events", 0), ("events", 1.5), ("events", "many"), ("events", True), ("events", 1 << 50), ("groups", 0),
        ("groups", -1), ("groups", 1 << 25), ("rate", 0), ("rate", float("nan")), ("rate", [1]), ("rate", 1e-9),
        ("tick", 0), ("seed", 0.5), ("arrhythmia", 1.5), ("arrhythmia", -0.1),
    ],
)  # fmt: skip
def test_a_wrong_value(option: str, value: Any) -> None:
    found = wrong("activity", **{option: value})
    assert found.message.startswith(f"{option} of the stream 'activity' is ") and found.help


def test_too_many_keys() -> None:
    assert "sub-streams" in wrong("cluster", 10, groups=1 << 20, jobs=1 << 20).message
    assert sk.generate("cluster", 10, groups=1 << 12, jobs=1 << 12).num_rows == 10
    assert sk.generate("stock", 10, groups=2, sectors=1 << 16).num_rows == 10


def test_all_that_is_wrong_comes_at_once() -> None:
    with pytest.raises(sk.SparkleeneError) as caught:
        sk.generate("rides", groups=0, rate=-1, zebra=1)
    assert len(caught.value.diagnostics) == 3


def test_import_brings_no_numpy() -> None:
    code = "import sys, sparkleene; sparkleene.generate; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# ---- queries

ROW = re.compile(r"^\| `(\w+)\.q` \| (\w+) \| [^|]+ \|$", re.MULTILINE)
LISTED = ROW.findall((QUERIES / "README.md").read_text(encoding="utf-8"))


def test_all_queries_are_listed() -> None:
    assert sorted(name for name, _ in LISTED) == sorted(path.stem for path in QUERIES.glob("*.q"))
    assert {stream for _, stream in LISTED} == set(NAMES)


@pytest.mark.parametrize(("name", "stream"), LISTED, ids=[name for name, _ in LISTED])
def test_query_has_results(name: str, stream: str) -> None:
    text = (QUERIES / f"{name}.q").read_text(encoding="utf-8")
    found = sk.query(text).run(made(stream))
    assert found.num_rows > 0
    counts = [field for field in found.schema.names if field.startswith(("count", "sum"))]
    assert counts and all(pc.min(found[field]).as_py() > 0 for field in counts)


@pytest.mark.parametrize("options", [{}, {"seed": 5, "groups": 6}, {"groups": 4, "tick": 1}])
@pytest.mark.parametrize("name", ["aseq_stock", "aseq_stock_negation"])
def test_companies_by_conditions_are_companies_as_types(name: str, options: dict[str, int]) -> None:
    between = "NOT QQQ, " if name == "aseq_stock_negation" else ""
    as_types = f"RETURN COUNT(*) PATTERN SEQ(DELL, IPIX, {between}AMAT) WITHIN 1 minute"
    table = made("stock", **options)
    found = sk.query((QUERIES / f"{name}.q").read_text(encoding="utf-8")).run(table)
    assert found.num_rows > 0 and found.equals(sk.query(as_types, type="company").run(table))


# ---- documentation


@pytest.mark.parametrize("name", NAMES)
def test_documentation_names_all_columns_and_options(name: str) -> None:
    page = (ROOT / "docs" / "reference" / "data.md").read_text(encoding="utf-8")
    part = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
    for word in [*made(name).schema.names[2:], *find(name).more]:
        assert f"`{word}`" in part, word
