import gzip
import re
import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparkleene as sk
from sparkleene.columns.files import TextOptions, open_files
from sparkleene.columns.tables import column_names, read_data
from sparkleene.errors import DataError, QueryError

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
        read_data(*args, **kwargs)
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
    assert column_names(data) == ["time", "type", "x.y", "p"]
    table, back = read_data(data, ["type", "time"])
    assert table.column_names == ["time", "type"]
    assert table["time"].to_pylist() == [1, 2] and table["type"].to_pylist() == ["A", "B"]
    assert isinstance(back(TABLE), kind)
    assert isinstance(back(TABLE.slice(0, 0)), kind)
    assert code(data, ["typo"]) == "missing-column"
    assert read_data(data)[0].column_names == ["time", "type", "x.y", "p"]


@pytest.mark.parametrize("columns", [["x.y"], ["p", "time"], ["time", "type"], [], None])
def test_parquet_reads_only_the_needed_columns(parquet, columns):
    for path in (parquet, str(parquet), parquet.parent):
        table, back = read_data(path, columns)
        names = TABLE.column_names if columns is None else [n for n in TABLE.column_names if n in columns]
        assert table.equals(TABLE.select(names))
        assert table.num_rows == 2
        assert back(TABLE) is TABLE
        assert column_names(path) == TABLE.column_names


def test_text_can_stay_a_dictionary(parquet):
    for path in (parquet, parquet.parent):
        table, _ = read_data(path, ["time", "type"], dictionary=["type", "time", "other"])
        assert pa.types.is_dictionary(table["type"].type) and table["time"].type == pa.int64()
        assert table["type"].to_pylist() == ["A", "B"]


def test_folders_with_partitions(tmp_path):
    pq.write_to_dataset(TABLE, tmp_path / "d", partition_cols=["type"])
    (tmp_path / "d" / "_SUCCESS").touch()
    table, _ = read_data(tmp_path / "d", ["time", "type"])
    assert sorted(zip(table["time"].to_pylist(), table["type"].to_pylist(), strict=True)) == [(1, "A"), (2, "B")]


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz", "E.CSV"])
def test_csv(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(gzip.compress(CSV.encode()) if name.endswith("gz") else CSV.encode())
    assert column_names(path) == ["time", "type", "x"]
    table, _ = read_data(path, ["type", "x"])
    assert table.to_pydict() == {"type": ["A", None, "NA", ""], "x": [0.5, None, 1.5, 2.0]}


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz", "e.tsv"])
def test_csv_without_a_header(tmp_path, name):
    text = CSV.partition("\n")[2].replace(",", "\t" if "tsv" in name else ",")
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    found = open_files(path, TextOptions(("time", "type", "x")))
    assert column_names(found) == ["time", "type", "x"] and not found.blank
    assert read_data(found)[0].to_pydict() == {
        "time": [1, 2, 3, 4],
        "type": ["A", None, "NA", ""],
        "x": [0.5, None, 1.5, 2.0],
    }
    assert read_data(found, ["x", "time"])[0].column_names == ["time", "x"]
    assert sk.query("RETURN COUNT(*) PATTERN A+").run(found).to_pylist() == [{"count": 1.0}]
    assert sk.query("RETURN COUNT(*) PATTERN A+").trends(found).num_rows == 1


def test_names_of_columns_are_as_many_as_there_are(tmp_path, parquet):
    (tmp_path / "a.csv").write_text("1,A,0.5\n")
    (tmp_path / "b.csv").write_text("1\n")
    for paths in (tmp_path / "a.csv", str(tmp_path / "*.csv")):
        with pytest.raises(DataError, match=r"a.csv' has 3 columns, and names are given for 1") as caught:
            read_data(open_files(paths, TextOptions(("time",))))
        assert caught.value.diagnostics[0].code == "unreadable-file"
    with pytest.raises(DataError, match=r"b.csv' has 1 column, and names are given for 3"):
        read_data(open_files(str(tmp_path / "*.csv"), TextOptions(("time", "type", "x"))))
    with pytest.raises(QueryError, match="for CSV files without a header, and this is parquet"):
        open_files(parquet, TextOptions(("time",)))


def test_a_first_line_of_data_is_no_header(tmp_path):
    for line in ("1,A,0.5", "2024-03-04 10:00,A,B"):
        (tmp_path / "a.csv").write_text(f"{line}\n")
        for columns in (["time"], ["x"]):
            with pytest.raises(DataError, match="help: the names look like data: name the columns"):
                read_data(tmp_path / "a.csv", columns)
    with pytest.raises(DataError, match="name the columns"):
        sk.query("RETURN COUNT(*) PATTERN A+ WHERE A.x > 1", type=None).run(tmp_path / "a.csv")


QUERIES = [
    "RETURN COUNT(*) PATTERN A+",
    "RETURN COUNT(*), SUM(A.x), MIN(A.x), AVG(A.x) PATTERN SEQ(A+, B) WITHIN 10 SLIDE 5",
    "RETURN k, COUNT(*) PATTERN SEQ(A+, NOT C, B) WHERE [k] AND A.x > NEXT(A).x GROUP-BY k WITHIN 1 hour",
    "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE a.x > 3 AND b.k = 'x' AND a.time < '2024-03-04'",
    "RETURN COUNT(*), MAX(A.x) PATTERN A+ SEMANTICS contiguous WITHIN 1.5 milliseconds",
]


@pytest.mark.parametrize("text", QUERIES)
def test_a_file_without_rows_has_no_trends(tmp_path, text):
    (tmp_path / "header.csv").write_text("time,type,k,x\n")
    (tmp_path / "nothing.csv").write_text("")
    named = TextOptions(("time", "type", "k", "x"))
    for data in (open_files(tmp_path / "header.csv"), open_files(tmp_path / "nothing.csv", named)):
        assert data.blank
        assert sk.query(text).run(data).num_rows == sk.query(text).trends(data).num_rows == 0
        assert sk.query(text, numbers="exact").run(data.empty()).num_rows == 0


def test_a_day_without_rows_among_others(tmp_path):
    (tmp_path / "a.csv").write_text("time,type\n")
    (tmp_path / "b.csv").write_text("time,type\n2024-03-04 00:00,A\n")
    assert not open_files(tmp_path).blank
    (row,) = sk.query("RETURN COUNT(*) PATTERN A+ WITHIN 1 day SLIDE 1 day").run(tmp_path).to_pylist()
    assert row["count"] == 1 and row["window_start"].year == 2024
    (tmp_path / "c.csv").write_text("time\nNULL\n")
    assert not open_files(tmp_path / "c.csv").blank


@pytest.mark.parametrize("good", ["2024-03-04 00:00:01", "2024-03-04T00:00:01.5Z", "2024-03-04", "17", "1.5"])
@pytest.mark.parametrize("bad", ["n/a", "0000-00-00 00:00:00"])
def test_the_one_time_that_is_none_is_shown(tmp_path, good, bad):
    lines = [f"{good},A"] * 5 + [f"{bad},A"] + [f"{good},A"] * 2
    (tmp_path / "a.csv").write_text("\n".join(["time,type", *lines, ""]))
    with pytest.raises(DataError) as caught:
        sk.query("RETURN COUNT(*) PATTERN A+").run(tmp_path / "a.csv")
    assert str(caught.value).splitlines() == [
        f"error[wrong-type]: most of 'time' are times, but it is text: row 5 is '{bad}'",
        " = note: rows are counted from 0",
        " = help: drop such rows, or give them a time",
    ]


@pytest.mark.parametrize(
    ("values", "type"),
    [
        (["2024-03-04 00:00:01", None, "2024-03-04"], pa.timestamp("us")),
        (["2024-03-04T00:00:01Z", "2024-03-04T01:00:01+01:00"], pa.timestamp("us", "UTC")),
        (["17", "1.5"], pa.float64()),
    ],
)
@pytest.mark.parametrize("encoded", [False, True])
def test_text_of_times_says_how_to_cast_it(values, type, encoded):
    column = pa.array(values).dictionary_encode() if encoded else pa.array(values)
    with pytest.raises(DataError) as caught:
        sk.query("RETURN COUNT(*) PATTERN A+", type=None).run(pa.table({"time": column}))
    cast = re.search(r"pc.cast\(column, (.*)\) in pyarrow", str(caught.value))
    assert pa.array(values).cast(eval(cast[1])).type == type


@pytest.mark.parametrize("values", [["soon", "later"], [None, None], ["17", "soon"], []])
def test_text_that_is_no_time(values):
    with pytest.raises(DataError, match=r"a time cannot be read(.|\n)*cast 'time' to a timestamp") as caught:
        sk.query("RETURN COUNT(*) PATTERN A+", type=None).run(pa.table({"time": pa.array(values, pa.string())}))
    assert "pc.cast" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (["2024-02-28", "2024-02-30", "2024-03-01 10:00"], "but it is text: row 1 is '2024-02-30'"),
        (["2024-03-04T00:00:01Z", None, "2024-03-04", "2024-03-05T00:00:01Z"], "row 2 is '2024-03-04', row 0 is"),
        (["17", "2024-01-01", "18"], "written in several ways: row 1 is '2024-01-01', row 0 is '17'"),
        (["17", "soon", "later"], "row 1 is 'soon'"),
    ],
)
def test_a_time_that_can_be_read_is_not_shown_as_one_that_cannot(values, told):
    with pytest.raises(DataError) as caught:
        sk.query("RETURN COUNT(*) PATTERN A+", type=None).run(pa.table({"time": values}))
    assert told in str(caught.value).splitlines()[0]


def test_a_sum_of_no_numbers_has_a_place():
    clock = pa.array([0, 1], pa.timestamp("us"))
    table = pa.table({"time": clock, "type": ["A", "A"], "x": ["4", "n/a"]})
    for text, options, wanted in (
        ("RETURN COUNT(*), SUM(A.time) PATTERN A+", {}, "'time' is a timestamp"),
        ("RETURN COUNT(*), AVG(A.time) PATTERN A+", {"numbers": "exact"}, "'time' is a timestamp"),
        ("RETURN COUNT(*), SUM(A.x) PATTERN A+", {}, "for example 'n/a'"),
    ):
        with pytest.raises(DataError) as caught:
            sk.query(text, **options).run(table)
        [found] = caught.value.diagnostics
        assert wanted in found.message and text[found.start : found.end] in ("A.time", "A.x")


def test_names_need_no_ending_if_the_file_is_parquet(tmp_path):
    pq.write_table(TABLE, tmp_path / "events.bin")
    assert read_data(tmp_path / "events.bin", ["time"])[0].num_rows == 2


JSON = """{"time": "2024-03-04T00:00:00.5", "type": "A", "x": 1}
{"time": "2024-03-04T00:00:02", "type": "B", "at": "2024-03-04T01:00:00+01:00"}
"""


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.ndjson", "a.jsonl.gz"])
def test_json_lines(tmp_path, name):
    write = gzip.open if name.endswith(".gz") else open
    with write(tmp_path / name, "wt") as file:
        file.write(JSON)
    for data in (tmp_path / name, tmp_path, [str(tmp_path / "*.*")]):
        table = read_data(data)[0]
        assert column_names(data) == ["time", "type", "x", "at"]
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
        assert column_names(data) == ["time", "x", "type"]
        rows = read_data(data)[0].to_pydict()
        assert rows == {"time": [1, 2], "x": [2.0, 2.5], "type": [None, "A"]}
        assert read_data(data, ["type", "x"])[0].to_pydict() == {"x": [2.0, 2.5], "type": [None, "A"]}
    parts = [tmp_path / "p1.parquet", tmp_path / "p2.parquet"]
    for path in parts:
        pq.write_table(TABLE, path)
    assert read_data(parts, ["x.y"], ["type"])[0].num_rows == 4
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
        read_data(tmp_path / "event.parquet")


def test_missing_columns_tell_what_there_is(parquet):
    with pytest.raises(DataError) as caught:
        read_data(parquet, ["tipe"])
    assert str(caught.value).splitlines() == [
        "error[missing-column]: the data has no column 'tipe'",
        " = note: its columns are time, type, x.y, p",
        " = help: did you mean 'type'?",
    ]


def test_duplicate_columns_are_an_error_only_if_needed():
    twice = pa.table([pa.array([1])] * 3, names=["a", "b", "a"])
    assert read_data(twice, ["b"])[0].column_names == ["b"]
    assert code(twice, ["a"]) == code(twice) == "duplicate-column"
    frame = twice.to_pandas()
    assert read_data(frame, ["b"])[0].column_names == ["b"]
    assert code(frame, ["a"]) == "duplicate-column"


def test_duplicate_columns_of_csv(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,a\n1,2,3\n")
    assert read_data(tmp_path / "a.csv", ["b"])[0].to_pydict() == {"b": [2]}
    assert code(tmp_path / "a.csv", ["a"]) == "duplicate-column"


def test_pandas_corners():
    frame = pd.DataFrame({"time": [1, 2], "x": [1, "a"], 7: [1, 2]})
    assert code(frame, ["x"]) == "unsupported-data"
    assert read_data(frame, ["7"])[0].to_pydict() == {"7": [1, 2]}
    with pytest.raises(DataError, match="reset_index"):
        read_data(frame.set_index("time"), ["time"])
    category = pd.DataFrame({"c": pd.Categorical(["a", None, "b"])})
    assert pa.types.is_dictionary(read_data(category)[0]["c"].type)


def test_pandas_and_polars_are_imported_only_for_their_data():
    script = (
        "import sys; from sparkleene.columns import tables, labels, values, expressions; "
        "print({'pandas', 'polars', 'numba'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
