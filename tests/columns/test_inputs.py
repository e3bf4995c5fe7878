"""The same rows in any form of data give the same result, in the same form."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import sparkleene as sk

Rows = list[dict[str, Any]]


def events(n: int = 300) -> pa.Table:
    rng = random.Random(7)
    start = dt.datetime(2024, 2, 28, 23, 59, 30)
    clock = [start + dt.timedelta(milliseconds=250 * rng.randrange(4 * n)) for _ in range(n)]
    return pa.table(
        {
            "time": pa.array([rng.randrange(n) for _ in range(n)], pa.int64()),
            "clock": pa.array(clock, pa.timestamp("ms")),
            "type": pa.array([rng.choice("AABCZ") for _ in range(n)]),
            "x": pa.array([rng.choice([None, *range(9)]) for _ in range(n)], pa.int64()),
            "f": pa.array([rng.choice([0.25, 1.5, -2.0]) for _ in range(n)], pa.float64()),
            "k": pa.array([rng.choice(["u", "v", "ü w"]) for _ in range(n)]),
            "b": pa.array([rng.random() < 0.5 for _ in range(n)]),
        }
    )


CLOCK = "SEQ(A, B) GROUP-BY k WITHIN 1 minute SLIDE 30 seconds"
QUERIES: dict[str, tuple[str, dict[str, Any]]] = {
    "count": ("COUNT(*) AS n PATTERN SEQ(A, B)", {}),
    "groups": ("COUNT(*) AS n, SUM(A.x) AS s PATTERN SEQ(A, B) GROUP-BY k, b WITHIN 50 SLIDE 25", {}),
    "predicates": ("MAX(A.x) AS m PATTERN A+ WHERE A.x < NEXT(A).x AND [k] WITHIN 40 SLIDE 40", {}),
    "clock": (f"COUNT(*) AS n, MAX(A.clock) AS m PATTERN {CLOCK}", {"time": "clock"}),
    "trigger": ("COUNT(*) AS n, AVG(x) AS a PATTERN SEQ(A, B, C) WHERE b = TRUE WITHIN 9", {}),
    "exact": ("COUNT(*) AS n, SUM(A.f) AS s PATTERN SEQ(A+, B) GROUP-BY k", {"numbers": "exact"}),
    "nothing": ("SUM(A.x) AS s PATTERN SEQ(A, B) WHERE A.x > 99 GROUP-BY k WITHIN 9 SLIDE 9", {}),
}


def from_arrow(data: pa.Table, folder: Path) -> Any:
    return data


def from_batch(data: pa.Table, folder: Path) -> Any:
    return data.combine_chunks().to_batches()[0]


def from_pandas(data: pa.Table, folder: Path) -> Any:
    return data.to_pandas()  # integers with NULLs become doubles with NaN


def from_nullable_pandas(data: pa.Table, folder: Path) -> Any:
    return data.to_pandas().convert_dtypes()


def from_arrow_backed_pandas(data: pa.Table, folder: Path) -> Any:
    return data.to_pandas(types_mapper=pd.ArrowDtype)


def from_categories(data: pa.Table, folder: Path) -> Any:
    frame = data.to_pandas()
    return frame.assign(type=frame["type"].astype("category"), k=frame["k"].astype("category"))


def from_indexed_pandas(data: pa.Table, folder: Path) -> Any:
    frame = data.to_pandas()
    return frame.set_index(frame.index * 3 % 1000).assign(**{"an object": [object()] * len(frame)})


def from_polars(data: pa.Table, folder: Path) -> Any:
    return pl.from_arrow(data)


def from_categorical_polars(data: pa.Table, folder: Path) -> Any:
    frame = pl.from_arrow(data)
    assert isinstance(frame, pl.DataFrame)
    return frame.with_columns(pl.col("type").cast(pl.Categorical), pl.col("k").cast(pl.Categorical))


def from_sliced_polars(data: pa.Table, folder: Path) -> Any:
    frame = pl.from_arrow(data)
    assert isinstance(frame, pl.DataFrame)
    return pl.concat([frame.slice(0, 100), frame.slice(100, 1), frame.slice(101)], rechunk=False)


def from_parquet(data: pa.Table, folder: Path) -> Any:
    path = folder / "events.parquet"
    pq.write_table(data, path, row_group_size=70)
    return path


def from_parquet_without_name(data: pa.Table, folder: Path) -> Any:
    path = folder / "events"
    pq.write_table(data, path)
    return str(path)


def from_folder(data: pa.Table, folder: Path) -> Any:
    (folder / "parts").mkdir()
    for i in range(3):
        pq.write_table(data.slice(i * 100, 100), folder / "parts" / f"{i}.parquet")
    return folder / "parts"


def from_partitions(data: pa.Table, folder: Path) -> Any:
    for (key,), part in data.to_pandas(types_mapper=pd.ArrowDtype).groupby(["k"]):
        (folder / "parts" / f"k={key}").mkdir(parents=True)
        rows = pa.Table.from_pandas(part.drop(columns="k"), preserve_index=False)
        pq.write_table(rows, folder / "parts" / f"k={key}" / "0.parquet")
    return folder / "parts"


def from_csv(data: pa.Table, folder: Path) -> Any:
    path = folder / "events.csv"
    pc.write_csv(data, path)
    return path


def from_tsv(data: pa.Table, folder: Path) -> Any:
    path = folder / "events.tsv.gz"
    with pa.CompressedOutputStream(path, "gzip") as file:
        pc.write_csv(data, file, pc.WriteOptions(delimiter="\t"))
    return str(path)


def from_rows(data: pa.Table, folder: Path) -> Any:
    first, *others = data.to_pylist()
    return [first, *({name: value for name, value in row.items() if value is not None} for row in others)]


def from_dataset(data: pa.Table, folder: Path) -> Any:
    pq.write_table(data, folder / "events.parquet")
    return ds.dataset(folder / "events.parquet")


def from_scanner(data: pa.Table, folder: Path) -> Any:
    return ds.dataset(data).scanner(batch_size=70)


class Relation:
    """Data of a library that nobody here knows, which gives an Arrow stream whenever it is asked."""

    def __init__(self, data: pa.Table) -> None:
        self.data = data

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.data.__arrow_c_stream__(requested_schema)


class Batch:
    """One batch of a library that nobody here knows."""

    def __init__(self, data: pa.Table) -> None:
        self.data = data.combine_chunks().to_batches()[0]

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self.data.__arrow_c_array__(requested_schema)


def from_relation(data: pa.Table, folder: Path) -> Any:
    return Relation(data)


def from_other_batch(data: pa.Table, folder: Path) -> Any:
    return Batch(data)


FORMS: list[Callable[[pa.Table, Path], Any]] = [
    from_arrow, from_batch, from_pandas, from_nullable_pandas, from_arrow_backed_pandas, from_categories,
    from_indexed_pandas, from_polars, from_categorical_polars, from_sliced_polars, from_parquet,
    from_parquet_without_name, from_folder, from_partitions, from_csv, from_tsv,
    from_rows, from_dataset, from_scanner, from_relation, from_other_batch,
]  # fmt: skip


def plain(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, pd.Timestamp):
        value = value.to_pydatetime()
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value


def rows_of(result: Any) -> Rows:
    if isinstance(result, pd.DataFrame):
        result = pa.Table.from_pandas(result, preserve_index=False)
    if isinstance(result, list):
        return [{name: plain(value) for name, value in row.items()} for row in result]
    found = result.to_dicts() if isinstance(result, pl.DataFrame) else result.to_pylist()
    return [{name: plain(value) for name, value in row.items()} for row in found]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__[5:])
def test_every_form_of_data(form: Callable[[pa.Table, Path], Any], tmp_path: Path) -> None:
    data = events()
    given = form(data, tmp_path)
    for text, options in QUERIES.values():
        query = sk.query(f"RETURN {text}", **options)
        expected = rows_of(query.run(data))
        result = query.run(given)
        same = isinstance(given, pa.Table | pa.RecordBatch | pd.DataFrame | pl.DataFrame | list)
        assert isinstance(result, type(given) if same else pa.RecordBatch if isinstance(given, Batch) else pa.Table)
        assert rows_of(result) == expected, text


def test_the_queries_find_something() -> None:
    for name, (text, options) in QUERIES.items():
        assert bool(sk.query(f"RETURN {text}", **options).run(events()).num_rows) is (name != "nothing")


def test_keys_keep_their_type_in_frames() -> None:
    text = "RETURN COUNT(*) AS n PATTERN A GROUP-BY k, b"
    polars = sk.query(text).run(pl.from_arrow(events()))
    assert polars.schema == {"k": pl.String, "b": pl.Boolean, "n": pl.Float64}
    pandas = sk.query(text).run(events().to_pandas())
    assert pandas["n"].dtype == "float64" and pandas["b"].dtype == "bool"
    assert list(pandas.columns) == ["k", "b", "n"]


def test_frames_without_rows() -> None:
    text = "RETURN COUNT(*) AS n PATTERN SEQ(A, B) GROUP-BY k WITHIN 5 SLIDE 5"
    for none in (events(1).slice(0, 0), events(1).slice(0, 0).to_pandas(), pl.from_arrow(events(1)).slice(0, 0)):  # type: ignore[union-attr]
        result = sk.query(text).run(none)
        assert isinstance(result, type(none))
        assert rows_of(result) == []


def test_zones_survive() -> None:
    text = "RETURN COUNT(*) AS n PATTERN A WITHIN 1 minute SLIDE 1 minute"
    data = events()
    for zone in ("UTC", "America/New_York"):
        zoned = data.set_column(1, "clock", data["clock"].cast(pa.timestamp("ms", zone)))
        arrow = sk.query(text, time="clock").run(zoned)
        assert arrow.schema.field("window_start").type == pa.timestamp("ms", zone)
        pandas = sk.query(text, time="clock").run(zoned.to_pandas())
        assert str(pandas["window_start"].dt.tz) == zone
        polars = sk.query(text, time="clock").run(pl.from_arrow(zoned))
        assert polars.schema["window_start"] == pl.Datetime("ms", zone)
        assert arrow["window_start"].to_pylist() == polars["window_start"].to_list()
        assert arrow["n"].to_pylist() == pandas["n"].tolist() == polars["n"].to_list()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("nowhere.parquet", "missing-file"),
        ([1, 2], "unsupported-data"),
        ({"time": [1], "type": ["A"]}, "unsupported-data"),
        (None, "unsupported-data"),
        (pl.LazyFrame({"time": [1], "type": ["A"]}), "unsupported-data"),
        (pd.DataFrame({"time": [1, "b"], "type": ["A", "B"]}), "unsupported-data"),
        (pl.Series([1, 2]), "unsupported-data"),
        ([{"time": 1, "type": "A"}, {"time": "b", "type": "A"}], "unsupported-data"),
        ([{1: 2}], "unsupported-data"),
        ([{}], "unsupported-data"),
        ([], "unsupported-data"),
        ([{"time": 1, "type": "A"}, "events.csv"], "unsupported-data"),
        ([{"type": "A"}], "missing-column"),
        (pd.DataFrame({"type": ["A"]}, index=pd.Index([1], name="time")), "missing-column"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_what_cannot_be_read(data: Any, code: str) -> None:
    with pytest.raises(sk.DataError) as caught:
        sk.query("RETURN COUNT(*) PATTERN A").run(data)
    assert caught.value.diagnostics[0].code == code


def test_a_reader_is_read_once() -> None:
    q, reader = sk.query("RETURN COUNT(*) AS n PATTERN SEQ(A, B)"), events().to_reader(max_chunksize=70)
    assert q.run(reader).equals(q.run(events()))
    with pytest.raises(sk.DataError, match="was read before"):
        q.run(reader)


def test_rows_for_workloads_cubes_and_spark() -> None:
    rows = [{"time": 1, "type": "A"}, {"time": 2, "type": "B"}]
    texts = {"one": "RETURN COUNT(*) PATTERN A", "two": "RETURN COUNT(*) PATTERN SEQ(A, B)"}
    assert sk.workload(texts).run(rows) == [{"query": "one", "count": 1.0}, {"query": "two", "count": 1.0}]
    assert isinstance(sk.cube(texts).run(rows), list)
    assert [len(row["events"]) for row in sk.query(texts["two"]).trends(rows)] == [2]
    with pytest.raises(sk.QueryError, match="make a DataFrame of it"):
        sk.query(texts["one"]).run(rows, engine="spark")


def test_broken_files(tmp_path: Path) -> None:
    for name, content in {"a.parquet": b"PAR1 and no more", "b.csv": b"", "c.txt": b"time,type\n1,A\n"}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(sk.DataError) as caught:
            sk.query("RETURN COUNT(*) PATTERN A").run(tmp_path / name)
        assert caught.value.diagnostics[0].code in ("unreadable-file", "unsupported-data")
