"""What a person sees: data, errors while typing, results, charts, files."""

from __future__ import annotations

import io
import math
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.serve.server import FALLING, STOCK, Person

import sparkleene as sk
from sparkleene.generators import generate
from sparkleene.serve.datasets import HOUR
from sparkleene.serve.examples import EXAMPLES

TABLE = generate("stock", STOCK["events"], rate=STOCK["events"] / HOUR)


def test_about(person: Person) -> None:
    known = person.get("/api/about").json()
    names = [one["name"] for one in known["datasets"]]
    assert "generate:stock" in names
    assert "file:given/clicks.parquet" in names and "file:given/days" in names and "file:given/renamed.csv" in names
    assert not any(
        word in name for name in names for word in ("notes", "hidden", "link", "secret", "inner", "part")
    )


def test_look(person: Person) -> None:
    seen = person.post("/api/look", {"data": STOCK}).json()
    assert [one["name"] for one in seen["columns"]] == TABLE.column_names
    assert (seen["rows"], seen["time"], seen["type"], len(seen["first"])) == (3000, "time", "type", 20)
    assert sum(seen["bars"]["series"]["Stock"]) == 3000
    renamed = person.post("/api/look", {"data": {"name": "file:given/renamed.csv"}}).json()
    assert (renamed["rows"], renamed["time"], renamed["type"]) == (2000, "at", "kind")
    assert sum(map(sum, renamed["bars"]["series"].values())) == 2000
    assert "Search" in renamed["values"]["kind"]


def test_errors_have_places(person: Person) -> None:
    [error] = person.check("RETURN COUNT(*) PATTERN Stock S+ WHERE S.prise > 3")["errors"]
    assert error["code"] == "unknown-attribute" and error["help"] == "did you mean 'price'?"
    assert "RETURN COUNT(*) PATTERN Stock S+ WHERE S.prise > 3"[error["start"] : error["end"]] == "prise"
    assert person.check("RETURN")["errors"][0]["code"] == "unexpected-end"
    assert person.check("RETURN COUNT(*) PATTERN Stock+ WHERE price > 'a'")["errors"]


def test_meaning(person: Person) -> None:
    known = person.check(FALLING)
    assert known["errors"] == [] and known["svg"].startswith("<svg") and "style" not in known["svg"]
    assert [one["title"] for one in known["plan"]][:2] == ["Query", "Matching"]
    assert (known["values"], known["groups"]) == (["count"], ["sector"])


def test_run(person: Person) -> None:
    told = list(person.follow(person.begin("query", text=FALLING)))
    assert {"state": "running"} in told and any("3,000 events" in str(one.get("phase")) for one in told)
    found = told[-1]["result"]
    expected = sk.query(FALLING).run(TABLE)
    assert found["rows"] == expected.num_rows
    path = f"/api/runs/{told[-1]['id']}"
    page = person.get(f"{path}/rows?sort=count&descending=true&limit=3").json()
    assert [row[-1] for row in page["page"]] == sorted(expected.column("count").to_pylist())[:-4:-1]
    assert pq.read_table(io.BytesIO(person.get(f"{path}/result.parquet").content)).equals(expected)
    text = person.get(f"{path}/result.csv").text.splitlines()
    assert text[0] == '"window_start","window_end","sector","count"' and len(text) == 1 + expected.num_rows
    lines = person.get(f"{path}/chart?most=20").json()
    drawn = {
        (one["group"]["sector"], x): y
        for one in lines["series"]
        for x, y in zip(one["x"], one["y"], strict=True)
        if y
    }
    rows = expected.to_pylist()
    wanted = {(row["sector"], row["window_start"].timestamp() * 1000): row["count"] for row in rows}
    assert drawn == wanted


def test_windows_without_a_row_are_zero(person: Person) -> None:
    text = "RETURN COUNT(*) PATTERN Stock S{4} SEMANTICS contiguous WHERE [company] AND S.price > NEXT(S).price "
    found = person.result("query", text=text + "WITHIN 3 minutes SLIDE 30 seconds")
    [line] = person.get(f"/api/runs/{found['id']}/chart").json()["series"]
    assert len(line["x"]) > found["rows"] == sum(1 for y in line["y"] if y)
    assert {one for one in line["y"] if not one} == {0.0} and line["log"][line["y"].index(0.0)] is None


def test_numbers_of_any_size(person: Person) -> None:
    text = "RETURN COUNT(*), LOG10(COUNT(*)) PATTERN Stock S+"
    data = {"name": "generate:stock", "events": 2000}
    found = person.result("query", text=text, data=data)
    [row] = person.get(f"/api/runs/{found['id']}/rows").json()["page"]
    assert row[0] == "Infinity" and math.isclose(row[1], 2000 * math.log10(2), rel_tol=1e-9)
    exact = person.result("query", text="RETURN COUNT(*) PATTERN Stock S+", data=data, options={"numbers": "exact"})
    [row] = person.get(f"/api/runs/{exact['id']}/rows").json()["page"]
    assert row == [str(2**2000 - 1)]
    [line] = person.get(f"/api/runs/{exact['id']}/chart").json()["series"]
    assert (
        line["y"] == [None]
        and line["exact"] == row
        and math.isclose(line["log"][0], 2000 * math.log10(2), rel_tol=1e-9)
    )


def test_exact_numbers_sort_as_numbers(person: Person) -> None:
    found = person.result("query", text=FALLING, options={"numbers": "exact"})
    page = person.get(f"/api/runs/{found['id']}/rows?sort=count&limit=1000").json()["page"]
    counts = [int(row[-1]) for row in page]
    assert counts == sorted(counts) and counts[0] < 100 < counts[-1]


def test_files(person: Person) -> None:
    text = "RETURN COUNT(*) PATTERN SEQ(Search S, Kindle K) WHERE [userId]"
    whole = person.result("query", text=text, data={"name": "file:given/clicks.parquet"})
    part = person.result("query", text=text, data={"name": "file:given/days"})
    counts = [person.get(f"/api/runs/{one['id']}/rows").json()["page"][0][0] for one in (whole, part)]
    expected = sk.query(text).run(generate("clicks", 2000, rate=2)).column("count")[0].as_py()
    assert counts[0] == expected > counts[1] > 0


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: str(one["title"]))
def test_examples(person: Person, example: dict[str, Any]) -> None:
    body = {name: example[name] for name in ("text", "steps", "by", "within") if name in example}
    more = {"speed": 100_000} if example["mode"] == "live" else {}
    found = person.result(example["mode"], data=example["data"], **body, **more)
    assert found.get("rows", found.get("windows")) > 0


def test_errors_of_a_run(person: Person) -> None:
    failed = person.run("query", text="RETURN COUNT(*) PATTERN Stock S+ WHERE S.prise > 3")
    assert failed["state"] == "failed" and failed["result"]["errors"][0]["code"] == "unknown-attribute"
    failed = person.run("query", text="RETURN COUNT(*) PATTERN A", data={"name": "file:given/nothing.csv"})
    assert failed["result"]["errors"][0]["code"] == "missing-file"
    noted = person.result("query", text="RETURN COUNT(*) PATTERN Stok S+")
    assert noted["rows"] == 0 and noted["notes"] == ["no event is of the type 'Stok'; did you mean 'Stock'?"]
