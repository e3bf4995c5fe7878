"""Behind a number: trends of a group and window, why there are none, funnels, workloads, streams."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
import pytest
from tests.serve.server import FALLING, STOCK, Person

import sparkleene as sk
from sparkleene.generators import generate
from sparkleene.serve.datasets import HOUR
from sparkleene.serve.examples import EXAMPLES
from sparkleene.serve.live import Player

TABLE = generate("stock", STOCK["events"], rate=STOCK["events"] / HOUR)


@pytest.mark.parametrize("order", ["sample", "first", "longest"])
def test_trends(person: Person, order: str) -> None:
    row = sk.query(FALLING).run(TABLE).sort_by([("count", "descending")]).to_pylist()[0]
    point = {"group": {"sector": row["sector"]}, "window": row["window_start"].isoformat()}
    found = person.result("trends", text=FALLING, order=order, limit=10, **point)
    assert found["total"] == row["count"] and len(found["trends"]) == 10 and found["labels"] == ["S"]
    columns, events = found["events"]["columns"], found["events"]
    assert events["time"] == sorted(events["time"]) and set(columns["sector"]) == {row["sector"]}
    low, high = (row[name].timestamp() * 1000 for name in ("window_start", "window_end"))
    assert all(low <= one < high for one in events["time"])
    for trend in found["trends"]:  # each is one, by the query's own conditions
        prices = [columns["price"][place] for place in trend]
        assert prices == sorted(prices, reverse=True) and len({columns["company"][place] for place in trend}) == 1
        assert len(set(prices)) == len(prices) and trend == sorted(trend)
    if order == "longest":
        rows = sk.query(FALLING).trends(TABLE, limit=1, order="longest").to_pylist()
        [same] = [
            one for one in rows if (one["sector"], one["window_start"]) == (row["sector"], row["window_start"])
        ]
        assert len(found["trends"][0]) == same["length"]


def test_samples_differ_by_seed(person: Person) -> None:
    drawn = [
        person.result("trends", text=FALLING, group={"sector": "energy"}, seed=seed)["trends"] for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]


def test_windows_that_end_with_a_trend(person: Person) -> None:
    text = "RETURN company, COUNT(*) PATTERN Stock S{2} WHERE [company] GROUP-BY company WITHIN 5 minutes"
    found = person.result("query", text=text)
    [line] = person.get(f"/api/runs/{found['id']}/chart?most=1").json()["series"]
    place = max(range(len(line["y"])), key=lambda i: line["y"][i])
    behind = person.result("trends", text=text, group=line["group"], window=line["start"][place], limit=50)
    assert behind["total"] == line["y"][place] and len(behind["trends"]) > 0


def test_why(person: Person) -> None:
    text = "RETURN COUNT(*) PATTERN SEQ(Stock A, Stock B) WHERE [company] AND A.price > 1e9"
    found = person.result("why", text=text)
    assert (found["trends"], found["stuck"]) == (0, 0)
    assert (
        found["obstacles"][0]["condition"] == "A.price > 1000000000.0" and found["obstacles"][0]["events"] == 3000
    )


def test_funnel(person: Person) -> None:
    data = {"name": "file:given/clicks.parquet"}
    found = person.result("funnel", data=data, steps=["Search", "Kindle"], by=["userId"], within="1 minute")
    page = person.get(f"/api/runs/{found['id']}/rows").json()
    clicks = generate("clicks", 2000, rate=2)
    expected = sk.funnel(["Search", "Kindle"], by="userId", within="1 minute").run(clicks)
    names = [one["name"] for one in page["columns"]]
    assert [row[names.index("users")] for row in page["page"]] == expected.column("users").to_pylist()
    failed = person.run("funnel", data=data, steps=["Search"], by=["nobody"])
    assert failed["state"] == "failed" and "nobody" in failed["result"]["errors"][0]["message"]


def test_workload(person: Person) -> None:
    [example] = [one for one in EXAMPLES if one["mode"] == "workload"]
    body = {"text": example["text"], "data": example["data"]}
    known = person.check(**body, kind="workload")
    assert known["errors"] == [] and len(known["parts"]) == 1 and len(known["parts"][0]["queries"]) == 3
    assert known["parts"][0]["states"] < known["parts"][0]["apart"]
    found = person.result("workload", sharing="always", **body)
    assert sum(one["shared"] for one in found["stats"]) > 0
    line = person.get(f"/api/runs/{found['id']}/chart?query=after_login").json()["series"][0]
    alone = person.result(
        "query", data=example["data"], text=example["text"].split("after_stylus")[0].split("after_login: ")[1]
    )
    assert person.get(f"/api/runs/{alone['id']}/chart").json()["series"][0] == line
    assert person.get(f"/api/runs/{found['id']}/chart?query=nobody").status_code == 404


def test_errors_of_a_workload_have_places_in_its_text(person: Person) -> None:
    text = "a: RETURN COUNT(*) PATTERN Stock S+\n\n b: RETURN COUNT(*)\n PATTERN Stock S+ WHERE S.prise > 1"
    [error] = person.check(text, kind="workload")["errors"]
    assert text[error["start"] : error["end"]] == "prise"


# ---- streams


def collect(q: sk.Query, table: pa.Table, pieces: int, delay: float) -> tuple[list[dict[str, Any]], Player]:
    """Play a table in pieces, in order of time; return the rows of the windows that closed."""
    player = Player(q, table)
    rows = []
    for piece in range(pieces):
        which = [i for i in range(table.num_rows) if i * pieces // table.num_rows == piece]
        found = player.feed(which, delay)
        rows += [] if found is None else found.to_pylist()
    return rows, player


@pytest.mark.parametrize("clauses", ["", "HAVING COUNT(*) > 100", "ORDER BY COUNT(*) DESC LIMIT 2"])
@pytest.mark.parametrize("pieces", [1, 7])
def test_a_stream_gives_what_a_batch_gives(clauses: str, pieces: int) -> None:
    q = sk.query(f"{FALLING} {clauses}")
    rows, player = collect(q, TABLE, pieces, 60)
    mark = TABLE.column("time")[-1].as_py().timestamp() - 60
    wanted = [row for row in q.run(TABLE).to_pylist() if row["window_end"].timestamp() <= mark]
    key = lambda row: (row["window_start"], row["sector"])  # noqa: E731
    assert sorted(rows, key=key) == sorted(wanted, key=key) and wanted
    assert player.late == 0


def test_live(person: Person) -> None:
    id = person.begin("live", text=FALLING, speed=2000, delay=1, shuffle=30)
    told = []
    for one in person.follow(id):
        told.append(one)
        if len([each for each in told if "rows" in each]) == 2 and not any("paused" in each for each in told[:-1]):
            assert person.post(f"/api/runs/{id}/pause", {"paused": True}).status_code == 200
            before = person.get(f"/api/runs/{id}").json()
            assert before["paused"] and before["state"] == "running"
            time.sleep(0.4)
            assert person.post(f"/api/runs/{id}/pause", {"paused": False}).status_code == 200
    assert told[-1]["state"] == "done" and told[-1]["result"]["events"] == 3000 and told[-1]["result"]["late"] > 0
    assert {"paused": True} in told and {"paused": False} in told
    stats = [one["stats"] for one in told if "stats" in one]
    assert stats[-1]["rows"] == 3000 and stats[0]["watermark"] < stats[-1]["watermark"]
    windows = [row for one in told for row in one.get("rows", ())]
    assert len(windows) == stats[-1]["windows"] > 0


def test_a_stream_needs_windows(person: Person) -> None:
    failed = person.run("live", text="RETURN COUNT(*) PATTERN Stock S+")
    assert failed["result"]["errors"][0]["code"] == "unsupported-stream"
