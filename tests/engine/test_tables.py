import gzip
import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sparkleene.engine.tables import read, schema_names
from sparkleene.errors import DataError

TABLE = pa.table(
    {"time": [1, 2], "type": ["A", "B"], "x.y": [0.5, None], "p": [{"a": 1, "b": 2}, {"a": 3, "b": 4}]}
)
CSV = 'time,type,x\n1,A,0.5\n2,,\n3,NA,1.5\n4,"",2\n'


@pytest.fixture
def parquet(tmp_path):
    path = tmp_path / "events.parquet"
    pq.write_table(TABLE, path)
    return path


def code(*args, **kwargs):
    with pytest.raises(DataError) as caught:
        read(*args, **kwargs)
    return caught.value.diagnostics[0].code


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (TABLE, pa.Table),
        (TABLE.to_batches()[0], pa.RecordBatch),
        (TABLE.to_pandas(), pd.DataFrame),
        (pl.from_arrow(TABLE), pl.DataFrame),
    ],
)
def test_frames_come_back_as_they_came(data, kind):
    assert schema_names(data) == ["time", "type", "x.y", "p"]
    table, back = read(data, ["type", "time"])
    assert table.column_names == ["time", "type"]
    assert table["time"].to_pylist() == [1, 2] and table["type"].to_pylist() == ["A", "B"]
    assert isinstance(back(TABLE), kind)
    assert isinstance(back(TABLE.slice(0, 0)), kind)
    assert code(data, ["typo"]) == "missing-column"
    assert read(data)[0].column_names == ["time", "type", "x.y", "p"]


@pytest.mark.parametrize("columns", [["x.y"], ["p", "time"], ["time", "type"], [], None])
def test_parquet_reads_only_the_needed_columns(parquet, columns):
    for path in (parquet, str(parquet), parquet.parent):
        table, back = read(path, columns)
        names = TABLE.column_names if columns is None else [n for n in TABLE.column_names if n in columns]
        assert table.equals(TABLE.select(names))
        assert table.num_rows == 2
        assert back(TABLE) is TABLE
        assert schema_names(path) == TABLE.column_names


def test_text_can_stay_a_dictionary(parquet):
    for path in (parquet, parquet.parent):
        table, _ = read(path, ["time", "type"], dictionary=["type", "time", "other"])
        assert pa.types.is_dictionary(table["type"].type) and table["time"].type == pa.int64()
        assert table["type"].to_pylist() == ["A", "B"]


def test_folders_with_partitions(tmp_path):
    pq.write_to_dataset(TABLE, tmp_path / "d", partition_cols=["type"])
    (tmp_path / "d" / "_SUCCESS").touch()
    table, _ = read(tmp_path / "d", ["time", "type"])
    assert sorted(zip(table["time"].to_pylist(), table["type"].to_pylist(), strict=True)) == [
        (1, "A"),
        (2, "B"),
    ]


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz", "E.CSV"])
def test_csv(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(CSV.encode()) if name.endswith("gz") else CSV.encode())
    assert schema_names(path) == ["time", "type", "x"]
    table, _ = read(path, ["type", "x"])
    assert table.to_pydict() == {"type": ["A", None, "NA", ""], "x": [0.5, None, 1.5, 2.0]}


def test_names_need_no_ending_if_the_file_is_parquet(tmp_path):
    pq.write_table(TABLE, tmp_path / "events.bin")
    assert read(tmp_path / "events.bin", ["time"])[0].num_rows == 2


JSON = """{"time": "2024-03-04T00:00:00.5", "type": "A", "x": 1}
{"time": "2024-03-04T00:00:02", "type": "B", "at": "2024-03-04T01:00:00+01:00"}
"""


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.ndjson", "a.jsonl.gz"])
def test_json_lines(tmp_path, name):
    write = gzip.open if name.endswith(".gz") else open
    with write(tmp_path / name, "wt") as file:
        file.write(JSON)
    for data in (tmp_path / name, tmp_path, [str(tmp_path / "*.*")]):
        table = read(data)[0]
        assert schema_names(data) == ["time", "type", "x", "at"]
        assert table["type"].to_pylist() == ["A", "B"] and table["x"].to_pylist() == [1, None]
        assert [time.isoformat() for time in table["time"].to_pylist()] == [
            "2024-03-04T00:00:00.500000",
            "2024-03-04T00:00:02",
        ]
        assert str(table["at"].to_pylist()[1]) in ("2024-03-04 00:00:00", "2024-03-04 00:00:00+00:00")


def test_several_files(tmp_path):
    (tmp_path / "a.csv").write_text("time,x\n1,2\n")
    (tmp_path / "b.csv").write_text("x,time,type\n2.5,2,A\n")
    (tmp_path / "_not.csv").write_text("no\n")
    for data in (tmp_path, str(tmp_path / "*.csv"), [tmp_path / "a.csv", str(tmp_path / "b.csv")]):
        assert schema_names(data) == ["time", "x", "type"]
        rows = read(data)[0].to_pydict()
        assert rows == {"time": [1, 2], "x": [2.0, 2.5], "type": [None, "A"]}
        assert read(data, ["type", "x"])[0].to_pydict() == {"x": [2.0, 2.5], "type": [None, "A"]}
    parts = [tmp_path / "p1.parquet", tmp_path / "p2.parquet"]
    for path in parts:
        pq.write_table(TABLE, path)
    assert read(parts, ["x.y"], ["type"])[0].num_rows == 4
    (tmp_path / "d.csv").write_text("other\n1\n")
    assert code([tmp_path / "a.csv", tmp_path / "d.csv"], ["time"]) == "missing-column"
    assert code([*parts, tmp_path / "a.csv"]) == code(tmp_path) == "unsupported-data"
    assert code(str(tmp_path / "*.tsv")) == "missing-file"
    (tmp_path / "c.csv").write_text("time,x\n1,text\n")
    assert code([tmp_path / "a.csv", tmp_path / "c.csv"]) == "unreadable-file"


def test_what_cannot_be_read(tmp_path, parquet):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n1,2,3\n")
    (tmp_path / "none.csv").write_text("")
    (tmp_path / "what.txt").write_text("hello")
    assert code(tmp_path / "event.parquet") == "missing-file"
    assert code(tmp_path / "empty") == "unreadable-file"
    assert code(tmp_path / "bad.parquet") == "unreadable-file"
    assert code(tmp_path / "bad.csv") == "unreadable-file"
    assert code(tmp_path / "none.csv") == "unreadable-file"
    assert code(tmp_path / "what.txt") == "unsupported-data"
    assert code([1, 2]) == code(None) == code(pl.LazyFrame()) == "unsupported-data"
    with pytest.raises(DataError, match=r"did you mean 'events.parquet'"):
        read(tmp_path / "event.parquet")


def test_missing_columns_tell_what_there_is(parquet):
    with pytest.raises(DataError) as caught:
        read(parquet, ["tipe"])
    assert str(caught.value).splitlines() == [
        "error[missing-column]: the data has no column 'tipe'",
        " = note: its columns are time, type, x.y, p",
        " = help: did you mean 'type'?",
    ]


def test_duplicate_columns_are_an_error_only_if_needed():
    twice = pa.table([pa.array([1])] * 3, names=["a", "b", "a"])
    assert read(twice, ["b"])[0].column_names == ["b"]
    assert code(twice, ["a"]) == code(twice) == "duplicate-column"
    frame = twice.to_pandas()
    assert read(frame, ["b"])[0].column_names == ["b"]
    assert code(frame, ["a"]) == "duplicate-column"


def test_duplicate_columns_of_csv(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,a\n1,2,3\n")
    assert read(tmp_path / "a.csv", ["b"])[0].to_pydict() == {"b": [2]}
    assert code(tmp_path / "a.csv", ["a"]) == "duplicate-column"


def test_pandas_corners():
    frame = pd.DataFrame({"time": [1, 2], "x": [1, "a"], 7: [1, 2]})
    assert code(frame, ["x"]) == "unsupported-data"
    assert read(frame, ["7"])[0].to_pydict() == {"7": [1, 2]}
    with pytest.raises(DataError, match="reset_index"):
        read(frame.set_index("time"), ["time"])
    category = pd.DataFrame({"c": pd.Categorical(["a", None, "b"])})
    assert pa.types.is_dictionary(read(category)[0]["c"].type)


def test_pandas_and_polars_are_imported_only_for_their_data():
    script = (
        "import sys; from sparkleene.engine import tables, columns, expressions; "
        "print({'pandas', 'polars', 'numba'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
