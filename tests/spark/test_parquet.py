import base64
import datetime
import math
import os
import pickle
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkleene.columns.hive import infer_partition
from sparkleene.columns.labels import label_masks
from sparkleene.errors import DataError
from sparkleene.language import parse, parse_expression
from sparkleene.language.bind import bind
from sparkleene.plan.needed_columns import needed_columns
from sparkleene.spark.parquet import pieces
from sparkleene.spark.parquet.footers import discover, find_files, wider
from sparkleene.spark.parquet.pieces import read, select_pieces

UTC = datetime.UTC


def write(path, rows_per_group=None, /, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, row_group_size=rows_per_group)


def everything(path, columns=None, **options):
    files = discover(path)
    source = select_pieces(files, columns or files.schema.names, "t", **options)
    tables = [read(pickle.loads(pickle.dumps(piece)), source.schema) for piece in source.pieces]
    assert source.rows == sum(table.num_rows for table in tables)
    assert len(source.spans) == len(source.pieces)
    for piece, table in zip(source.pieces, tables, strict=True):
        assert piece.rows == table.num_rows and table.schema == source.schema
    return pa.concat_tables(tables) if tables else source.schema.empty_table()


def fault(path, **options):
    with pytest.raises(DataError) as caught:
        everything(path, **options)
    [found] = caught.value.diagnostics
    return found


def plan(where="", pattern="A+", columns=None, **options):
    text = f"RETURN COUNT(*) PATTERN {pattern} {where}"
    return bind(parse(text), columns=columns, **options)


def kept(path, bound, type_column="kind", **options):
    """Return the row groups that are left, as pairs of file name and number."""
    files = discover(path)
    columns = (needed_columns(bound) | {"t", type_column}) & set(files.schema.names)
    source = select_pieces(files, columns, "t", bounds=[bound], type_column=type_column, **options)
    return [(os.path.basename(p.path), n) for p in source.pieces for n in p.row_groups]


# ---- paths


@pytest.fixture
def tree(tmp_path):
    for i, name in enumerate(["a.parquet", "b.parquet", "in/c.parquet", "in/deep/d", "_x/e", ".y/f", "_g"]):
        write(tmp_path / name, t=[i])
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".a.parquet.crc").write_bytes(b"crc")
    (tmp_path / "empty.parquet").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("given", "times"),
    [
        ("", [0, 1, 2, 3]),
        ("/", [0, 1, 2, 3]),
        ("a.parquet", [0]),
        ("*.parquet", [0, 1]),
        ("?.parquet", [0, 1]),
        ("[b-z].parquet", [1]),
        ("{a,in/c}.parquet", [0, 2]),
        ("i*", [2, 3]),
        ("i*/*", [2, 3]),
        ("i*/deep/d", [3]),
        ("**/*.parquet", [0, 1, 2]),
        ("_g", [6]),
        ("_?", [6, 4]),
        ("{a,a}.parquet", [0]),
    ],
)
def test_files_folders_and_patterns(tree, given, times):
    for root in (str(tree), f"file://{tree}", f"file:{tree}"):
        path = f"{root}/{given}" if given else root
        if "?" in given and ":" in root:
            continue  # a URI's options begin there
        assert everything(path)["t"].to_pylist() == times


def test_several_paths_are_read_in_order_and_once(tree):
    assert everything([tree / "in", tree / "a.parquet", str(tree)])["t"].to_pylist() == [0, 1, 2, 3]
    assert fault([]).code == "unreadable-file"


def test_a_relative_path_is_made_absolute(tree, monkeypatch):
    monkeypatch.chdir(tree)
    assert all(os.path.isabs(file.path) for file in find_files("in"))
    assert everything("in/")["t"].to_pylist() == [2, 3]


@pytest.mark.parametrize("name", ["with space", "naïve", "a+b", "x=1", "[1]", "100%"])
def test_names_of_folders(tmp_path, name):
    write(tmp_path / name / "f.parquet", t=[1])
    assert everything(tmp_path / name)["t"].to_pylist() == [1]
    assert everything((tmp_path / name).as_uri())["t"].to_pylist() == [1]


def test_pieces_remember_their_filesystem(tree):
    source = select_pieces(discover(f"file://{tree}/in"), ["t"], "t")
    assert [piece.filesystem for piece in source.pieces] == [f"file://{tree}/in"] * 2
    assert [piece.path for piece in source.pieces] == [f"{tree}/in/c.parquet", f"{tree}/in/deep/d"]


def test_faults_of_paths(tmp_path):
    write(tmp_path / "events.parquet", t=[1])
    (tmp_path / "x.csv").write_text("t\n1\n")
    (tmp_path / "x.json").write_text('{"t": 1, "long": "enough for a footer"}\n')
    (tmp_path / "torn.parquet").write_bytes((tmp_path / "events.parquet").read_bytes()[:-6])
    (tmp_path / "nothing").mkdir()
    missing = fault(tmp_path / "event.parquet")
    assert missing.code == "missing-file" and missing.help == "did you mean 'events.parquet'?"
    assert fault(tmp_path / "*.pq").code == "missing-file"
    assert fault(tmp_path / "nothing").code == "unreadable-file"
    for name, reader in (("x.csv", "csv"), ("x.json", "json"), ("torn.parquet", "parquet")):
        wrong = fault(tmp_path / name)
        assert wrong.code == "unsupported-data"
        assert wrong.help == f'let Spark read it: q.run(spark.read.{reader}("{tmp_path / name}"))'
    unknown = fault("dbfs:/events")
    assert unknown.code == "unsupported-data"
    assert unknown.help == 'let Spark read it: q.run(spark.read.parquet("dbfs:/events"))'


@pytest.mark.parametrize("plain", [False, True])
def test_encrypted_files(tmp_path, plain):
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):
        def __init__(self, config):
            super().__init__()

        def wrap_key(self, key, name):
            return base64.b64encode(key)

    setting = encryption.EncryptionConfiguration("f", column_keys={"c": ["x"]}, plaintext_footer=plain)
    factory = encryption.CryptoFactory(Keys)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), setting)
    table = pa.table({"t": [1], "x": [2]})
    with pq.ParquetWriter(tmp_path / "f", table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    wrong = fault(tmp_path / "f")
    assert wrong.code == "unreadable-file" and "encrypted" in wrong.notes[0]
    assert wrong.help == f'let Spark read it: q.run(spark.read.parquet("{tmp_path / "f"}"))'


@pytest.mark.parametrize(
    ("mark", "word"),
    [
        ("_delta_log/0.json", "delta"),
        (".hoodie/hoodie.properties", "hudi"),
        ("metadata/v1.metadata.json", "iceberg"),
        ("metadata/version-hint.text", "iceberg"),
    ],
)
def test_tables_with_a_log_are_refused(tmp_path, mark, word):
    write(tmp_path / "table/data/k=1/f.parquet", t=[1])
    (tmp_path / "table" / mark).parent.mkdir()
    (tmp_path / "table" / mark).write_text("{}")
    for path in ("", "table", "table/data", "table/data/k=1", "table/data/k=1/f.parquet", "table/data/*"):
        wrong = fault(tmp_path / path)
        assert wrong.code == "table-format"
        assert f'spark.read.format("{word}").load(' in wrong.help


def test_a_folder_called_metadata_is_no_table(tmp_path):
    write(tmp_path / "metadata/f.parquet", t=[1])
    assert everything(tmp_path)["t"].to_pylist() == [1]


# ---- partitions


@pytest.mark.parametrize(
    ("raw", "type", "values"),
    [  # as Spark 4.3 infers them, but for the digits of decimals and text of several escaped bytes
        (["1"], pa.int32(), [1]),
        (["01", "+2", "-0"], pa.int32(), [1, 2, 0]),
        (["2147483648", "1"], pa.int64(), [2147483648, 1]),
        (["99999999999999999999", "1"], pa.decimal128(38, 0), [Decimal(10**20 - 1), 1]),
        (["1" * 39], pa.float64(), [float("1" * 39)]),
        (["1e5"], pa.decimal128(38, 0), [Decimal(100000)]),
        (["5."], pa.decimal128(38, 0), [Decimal(5)]),
        (["1.5", "1"], pa.float64(), [1.5, 1.0]),
        (["1d", ".5", "1E-2", " 1"], pa.float64(), [1.0, 0.5, 0.01, 1.0]),
        (["1.5", "2147483648"], pa.string(), ["1.5", "2147483648"]),
        (["99999999999999999999", "1.5"], pa.string(), ["99999999999999999999", "1.5"]),
        (["Infinity"], pa.float64(), [math.inf]),
        (["2024-01-02"], pa.date32(), [datetime.date(2024, 1, 2)]),
        (["2024-02-30"], pa.string(), ["2024-02-30"]),
        (["2024-1-2"], pa.string(), ["2024-1-2"]),
        (["2024-01-02", "5"], pa.string(), ["2024-01-02", "5"]),
        (["2024-01-02 03%3A04%3A05.123"], pa.string(), ["2024-01-02 03:04:05.123"]),
        (["2024-01-02 24%3A00%3A00"], pa.string(), ["2024-01-02 24:00:00"]),
        (
            ["2024-01-02 03%3A04%3A05.1", "2024-07-02", "2024-03-31 02%3A30%3A00"],
            pa.timestamp("us", "UTC"),
            [
                datetime.datetime(2024, 1, 2, 2, 4, 5, 100000, UTC),
                datetime.datetime(2024, 7, 1, 22, 0, tzinfo=UTC),
                datetime.datetime(2024, 3, 31, 1, 30, tzinfo=UTC),
            ],
        ),
        (["true", "null"], pa.string(), ["true", "null"]),
        (["A", "__HIVE_DEFAULT_PARTITION__"], pa.string(), ["A", None]),
        (["1", "__HIVE_DEFAULT_PARTITION__"], pa.int32(), [1, None]),
        (["__HIVE_DEFAULT_PARTITION__"], pa.null(), [None]),
        (["01", "a"], pa.string(), ["01", "a"]),
        (["a%20b", "é", "a=b", "%C3%A9", "1_0"], pa.string(), ["a b", "é", "a=b", "é", "1_0"]),
        (["%31"], pa.string(), ["1"]),
    ],
)
def test_types_of_partitions(raw, type, values):
    found = infer_partition(raw, "Europe/Berlin")
    assert found.type == type
    assert list(found.values.values()) == values
    assert pa.array(found.values.values(), type).to_pylist() == values


def test_partition_columns_are_read(tmp_path):
    write(tmp_path / "year=2024/kind=A/f.parquet", t=[1, 2], year=["x", "y"])
    write(tmp_path / "year=2025/kind=__HIVE_DEFAULT_PARTITION__/f.parquet", t=[3])
    write(tmp_path / "year=2025/kind=B%2FC/f.parquet", t=[4])
    assert discover(tmp_path).schema.names == ["t", "year", "kind"]
    table = everything(tmp_path)
    assert table.schema.field("year").type == pa.int32()  # the folder's name is right, as in Spark
    assert table.schema.field("kind").type == pa.dictionary(pa.int32(), pa.string())
    rows = [(1, 2024, "A"), (2, 2024, "A"), (4, 2025, "B/C"), (3, 2025, None)]
    assert sorted(zip(*(table[n].to_pylist() for n in ("t", "year", "kind")), strict=True)) == sorted(rows)
    assert everything(tmp_path, ["kind"])["kind"].to_pylist() == ["A", "A", "B/C", None]
    assert everything(tmp_path / "year=2025").column_names == ["t", "kind", "year"][:2]


def test_partition_columns_in_some_files_only(tmp_path):
    write(tmp_path / "k=1/f.parquet", t=[1])
    write(tmp_path / "stray.parquet", t=[2])
    assert fault(tmp_path).code == "conflicting-partitions"
    assert sorted(everything(tmp_path, ["t"])["t"].to_pylist()) == [1, 2]


def test_a_partition_may_be_the_time(tmp_path):
    for day in ("2024-01-02", "2024-01-03"):
        write(tmp_path / f"t={day}/f.parquet", kind=["A"])
    source = select_pieces(discover(tmp_path), ["t", "kind"], "t")
    assert source.spans == ((19724, 19724), (19725, 19725))
    assert read(source.pieces[0], source.schema)["t"].to_pylist() == [datetime.date(2024, 1, 2)]


# ---- columns


def test_columns_of_other_order_missing_and_wider(tmp_path):
    write(tmp_path / "1", t=pa.array([1], pa.int32()), x=pa.array([1.5], pa.float32()), s=["a"], n=pa.nulls(1))
    write(tmp_path / "2", s=pa.array(["b"], pa.large_string()), t=[2**40], u=pa.array([1], pa.uint8()), n=["x"])
    write(tmp_path / "3", t=[3], x=[0.1], s=pa.array(["c"]).dictionary_encode(), u=[-1], n=["y"])
    table = everything(tmp_path)
    assert table.to_pylist() == [
        {"t": 1, "x": 1.5, "s": "a", "n": None, "u": None},
        {"t": 2**40, "x": None, "s": "b", "n": "x", "u": 1},
        {"t": 3, "x": 0.1, "s": "c", "n": "y", "u": -1},
    ]
    assert [table.schema.field(name).type for name in ("t", "s")] == [pa.int64(), pa.large_string()]
    coded = everything(tmp_path, dictionary=["s", "x", "n"])
    assert coded.schema.field("s").type == pa.dictionary(pa.int32(), pa.large_string())
    assert coded.schema.field("x").type == pa.float64()
    assert coded.to_pylist() == table.to_pylist()


@pytest.mark.parametrize(
    ("a", "b", "wide"),
    [
        (pa.int8(), pa.int32(), pa.int64()),
        (pa.uint8(), pa.uint64(), pa.uint64()),
        (pa.int8(), pa.uint64(), None),
        (pa.int64(), pa.float64(), None),
        (pa.int32(), pa.float32(), pa.float64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.decimal128(5, 2), pa.decimal128(9, 1), pa.decimal128(10, 2)),
        (pa.decimal128(38, 0), pa.decimal128(38, 2), None),
        (pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("us")),
        (pa.timestamp("ms", "UTC"), pa.timestamp("ms", "Asia/Tokyo"), pa.timestamp("ms", "UTC")),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), None),
        (pa.timestamp("us"), pa.date32(), None),
        (pa.string(), pa.int64(), None),
        (pa.string(), pa.null(), pa.string()),
        (pa.binary(), pa.binary(3), pa.large_binary()),
        (pa.list_(pa.int32()), pa.list_(pa.int64()), pa.list_(pa.int64())),
        (pa.list_(pa.int32()), pa.list_(pa.string()), None),
        (
            pa.struct({"a": pa.int32(), "b": pa.string()}),
            pa.struct({"c": pa.bool_(), "a": pa.int64()}),
            pa.struct({"a": pa.int64(), "b": pa.string(), "c": pa.bool_()}),
        ),
        (pa.struct({"a": pa.int64()}), pa.struct({"a": pa.string()}), None),
    ],
)
def test_wider_types(a, b, wide):
    assert wider(a, b) == wide
    assert (wider(b, a) is None) == (wide is None)


def test_types_that_do_not_agree(tmp_path):
    write(tmp_path / "1", t=[1], x=[1])
    write(tmp_path / "2", t=[2], x=["1"])
    wrong = fault(tmp_path)
    assert wrong.code == "conflicting-types"
    assert [note.rsplit("/", 1)[1] for note in wrong.notes] == [
        "1' it is a number (int64)",
        "2' it is text (string)",
    ]
    assert everything(tmp_path, ["t"])["t"].to_pylist() == [1, 2]
    with pytest.raises(DataError, match="no column 'y'"):
        everything(tmp_path, ["t", "y"])


def test_columns_of_one_name(tmp_path):
    pq.write_table(pa.table([[1], [2], [3]], names=["t", "x", "x"]), tmp_path / "f")
    assert fault(tmp_path).code == "duplicate-column"
    assert everything(tmp_path, ["t"])["t"].to_pylist() == [1]


def test_names_with_dots_and_structs(tmp_path):
    columns = {
        "a.b": [1, 2],
        "a": [{"b": "x", "c.d": {"e": 1}}, None],
        "a b": [[{"u": 1, "v": 2}], []],
        "": [5, 6],
        "ä`'\"": [7, None],
        "m": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
        "t": [1, 2],
        "a.b.c": ["p", "q"],
    }
    whole = pa.table(columns)
    pq.write_table(whole, tmp_path / "f")
    for name in columns:
        table = everything(tmp_path, [name], dictionary=["a.b.c"])
        assert table.column_names == [name] and table[name].to_pylist() == whole[name].to_pylist()
    assert everything(tmp_path).to_pylist() == whole.to_pylist()
    assert everything(tmp_path, ["a", "m", "a.b.c"]).to_pylist() == whole.select(["a", "m", "a.b.c"]).to_pylist()


def test_structs_are_merged(tmp_path):
    write(tmp_path / "1", t=[1, 2], p=[{"a": 1, "b": "x"}, None])
    write(tmp_path / "2", t=[3], p=[{"c": 0.5, "a": 2}])
    assert everything(tmp_path)["p"].to_pylist() == [
        {"a": 1, "b": "x", "c": None},
        None,
        {"a": 2, "b": None, "c": 0.5},
    ]


def test_fields_that_must_not_be_null_in_one_file(tmp_path):
    strict = pa.list_(pa.field("element", pa.int64(), nullable=False))
    strict = pa.struct([pa.field("a", pa.int64(), nullable=False), pa.field("b", strict, nullable=False)])
    write(tmp_path / "1", t=[1, 2], p=pa.array([{"a": 1, "b": [2]}, None], strict))
    write(tmp_path / "2", t=[3], p=[{"a": None, "b": [None]}])
    write(tmp_path / "3", t=[4])
    values = [{"a": 1, "b": [2]}, None, {"a": None, "b": [None]}, None]
    assert everything(tmp_path)["p"].to_pylist() == values
    assert everything(tmp_path / "1")["p"].to_pylist() == values[:2]


def test_files_without_rows(tmp_path):
    write(tmp_path / "1", t=pa.array([], pa.int64()), x=pa.array([], pa.string()))
    assert everything(tmp_path).num_rows == 0
    assert select_pieces(discover(tmp_path), ["t"], "t").pieces == ()
    write(tmp_path / "2", t=[1], x=[5])  # the type of a column without a value does not count
    with pq.ParquetWriter(tmp_path / "3", pa.schema({"t": pa.string()})):
        pass
    assert everything(tmp_path).to_pylist() == [{"t": 1, "x": 5}]
    assert select_pieces(discover(tmp_path), ["t"], "t").spans == ((1, 1),)


# ---- times


@pytest.mark.parametrize(
    ("times", "type", "span"),
    [
        (pa.array([5, 2], pa.int32()), pa.int32(), (2, 5)),
        (pa.array([2**64 - 1, 2], pa.uint64()), pa.uint64(), (2, 2**64 - 1)),
        (pa.array([0.5, -2.0]), pa.float64(), (-2.0, 0.5)),
        (pa.array([5, -2], pa.date32()), pa.date32(), (-2, 5)),
        (pa.array([5, -2], pa.timestamp("ms")), pa.timestamp("us"), (-2000, 5000)),
        (pa.array([5, -2], pa.timestamp("s", "Asia/Tokyo")), pa.timestamp("us", "Asia/Tokyo"), (-2000000, 5000000)),
        (pa.array([5000, -2000], pa.timestamp("ns")), pa.timestamp("us"), (-2, 5)),
        (pa.array([2**60, -(2**60)], pa.timestamp("us", "UTC")), pa.timestamp("us", "UTC"), (-(2**60), 2**60)),
        (pa.array([5, -2], pa.duration("s")), pa.duration("s"), None),
        (pa.array([None, None], pa.int64()), pa.int64(), None),
    ],
)  # fmt: skip
def test_times(tmp_path, times, type, span):
    write(tmp_path / "f", t=times)
    source = select_pieces(discover(tmp_path), ["t"], "t")
    assert source.schema.field("t").type == type and source.spans == (span,)
    table = read(source.pieces[0], source.schema)
    assert table["t"].cast(times.type).combine_chunks().equals(times)


def test_times_of_96_bits_are_instants(tmp_path):
    far = datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, UTC)
    table = pa.table({"t": pa.array([far, None], pa.timestamp("us")), "p": [{"at": far}, None]})
    pq.write_table(table, tmp_path / "f", use_deprecated_int96_timestamps=True)
    found = everything(tmp_path)
    assert found["t"].to_pylist() == [far, None] and found["p"].to_pylist() == [{"at": far}, None]
    assert found.schema.field("t").type == pa.timestamp("us", "UTC")


def test_times_finer_than_microseconds(tmp_path):
    write(tmp_path / "f", t=pa.array([1001], pa.timestamp("ns")), x=pa.array([1001], pa.timestamp("ns")))
    assert discover(tmp_path).schema.field("x").type == pa.timestamp("us")
    for columns in (["t"], ["x"]):
        with pytest.raises(DataError, match="engine='local'") as caught:
            everything(tmp_path, columns)
        assert caught.value.diagnostics[0].code == "time-too-fine"
    assert select_pieces(discover(tmp_path), ["t"], "t").spans == ((1, 2),)


# ---- pieces


def test_pieces_join_small_row_groups(tmp_path, monkeypatch):
    write(tmp_path / "1", 10, t=list(range(100)), x=["text"] * 100)
    write(tmp_path / "2", 10, t=[5])
    files = discover(tmp_path)

    def shapes(parallelism=1, columns=("t",)):
        source = select_pieces(files, columns, "t", parallelism=parallelism)
        assert [n for piece in source.pieces[:-1] for n in piece.row_groups] == list(range(10))
        assert sum(piece.rows for piece in source.pieces) == source.rows == 101
        return [len(piece.row_groups) for piece in source.pieces]

    assert shapes() == shapes(2) == [10, 1]
    assert shapes(4) == [2, 3, 5, 1] and shapes(100) == [1] * 11
    assert select_pieces(files, ["t"], "t").spans == ((0, 99), (5, 5))
    monkeypatch.setattr(pieces, "ROWS", 30)
    assert shapes() == [3, 3, 3, 1, 1]
    monkeypatch.setattr(pieces, "ROWS", 5)
    assert shapes() == [1] * 11
    monkeypatch.undo()
    monkeypatch.setattr(
        pieces, "BYTES", 2 * max(p.bytes for p in select_pieces(files, ["t"], "t", parallelism=11).pieces)
    )
    assert shapes() == [2, 2, 2, 2, 2, 1] and shapes(1, ("t", "x")) == [1] * 11


def test_only_needed_columns_are_counted(tmp_path):
    write(tmp_path / "f", t=[1], x=["long" * 1000])
    narrow, wide = (select_pieces(discover(tmp_path), c, "t").pieces[0].bytes for c in (["t"], ["t", "x"]))
    assert 0 < narrow < 1000 < wide


# ---- pruning


@pytest.fixture
def events(tmp_path):
    write(
        tmp_path / "f",
        2,
        t=list(range(8)),
        kind=["A", "A", "B", "C", "C", None, None, None],
        x=[1.0, math.nan, 5.0, 6.0, None, None, math.nan, math.nan],
        k=[1, 2, None, None, 5, None, 6, 7],
        p=[{"at": datetime.date(2024, 1, day)} for day in range(1, 9)],
        ok=[True, True, False, False, None, True, False, True],
    )
    return tmp_path


@pytest.mark.parametrize(
    ("where", "pattern", "left"),
    [
        ("", "A+", [0]),
        ("", "SEQ(A, B)", [0, 1]),
        ("", "C", [1, 2]),
        ("", "D", []),
        ("", "SEQ(A, NOT C, B)", [0, 1, 2]),
        ("WHERE A.x > 4", "A+", []),
        ("WHERE A.x < 4", "SEQ(A, B)", [0, 1]),
        ("WHERE x < 4", "SEQ(A, B)", [0]),
        ("WHERE x >= 6", "SEQ(A, B)", [1]),
        ("WHERE x > 6", "SEQ(A, B)", []),
        ("WHERE NOT x < 4", "SEQ(A, B)", [1]),
        ("WHERE 4 > x", "SEQ(A, B)", [0]),
        ("WHERE x BETWEEN 2 AND 4", "SEQ(A, B)", []),
        ("WHERE x IN (1, 7)", "SEQ(A, B)", [0]),
        ("WHERE x < 2 OR k = 2", "SEQ(A, B, C)", [0]),
        ("WHERE x * 2 > 100", "SEQ(A, B)", [0, 1]),
        ("WHERE x IS NULL", "SEQ(A, B, C)", [0, 1, 2]),
        ("WHERE k IS NULL", "SEQ(A, B, C)", [1, 2]),
        ("WHERE k IS NOT NULL", "SEQ(A, B, C)", [0, 2]),
        ("WHERE p.at > '2024-01-04'", "SEQ(A, B, C)", [2]),
        ("WHERE p.at != '2024-01-04'", "SEQ(A, B, C)", [0, 1, 2]),
        ("WHERE ok = TRUE", "SEQ(A, B, C)", [0, 2]),
        ("WHERE [k]", "SEQ(A, B, C)", [0, 2]),
        ("GROUP-BY k", "SEQ(A, B, C)", [0, 2]),
        ("WHERE [A.k]", "SEQ(A, B)", [0, 1, 2, 3]),
        ("SEMANTICS contiguous", "A+", [0, 1, 2, 3]),
        ("SEMANTICS contiguous WHERE [k]", "A+", [0, 2, 3]),
        ("WITHIN 5 EVENTS SLIDE 2 EVENTS", "A+", [0, 1, 2, 3]),
        ("WHERE A.x = 'text'", "A+", [0]),
    ],
)
def test_row_groups_that_cannot_matter(events, where, pattern, left):
    assert kept(events, plan(where, pattern)) == [("f", number) for number in left]


def test_types_defined_by_conditions(events):
    types = {name: parse_expression(text) for name, text in (("Low", "x < 2"), ("Any", "TRUE"))}
    assert kept(events, plan("", "Low+", types=types), None) == [("f", 0), ("f", 3)]  # NaN has no bounds
    assert len(kept(events, plan("WHERE Any.k > 6", "SEQ(Low, Any)", types=types), None)) == 2


def test_types_that_are_integers(tmp_path):
    write(tmp_path / "f", 1, t=[1, 2, 3], kind=[1, 2, None])
    assert kept(tmp_path, plan("", "`2`+")) == [("f", 1)]


def test_partitions_are_left_out(tmp_path):
    for year in (2023, 2024):
        for kind in ("A", "B", "__HIVE_DEFAULT_PARTITION__"):
            write(tmp_path / f"year={year}/kind={kind}/{year}{kind[0]}", t=[1])
    assert kept(tmp_path, plan("WHERE year > 2023")) == [("2024A", 0)]
    left = kept(tmp_path, plan("WHERE B.year > 2023", "SEQ(A, B)"))
    assert [name for name, _ in left] == ["2023A", "2024A", "2024B"]
    assert len(kept(tmp_path, plan("WHERE [kind] SEMANTICS contiguous"))) == 4


def test_missing_columns_are_null_to_pruning(tmp_path):
    write(tmp_path / "1", t=[1], kind=["A"])
    write(tmp_path / "2", t=[1], kind=["A"], x=[3])
    assert kept(tmp_path, plan("WHERE x > 1")) == [("2", 0)]
    assert kept(tmp_path, plan("WHERE x IS NULL")) == [("1", 0)]


def test_without_statistics_nothing_is_left_out(tmp_path):
    table = pa.table({"t": [1, 2], "kind": ["B", "B"], "x": [1, 2]})
    pq.write_table(table, tmp_path / "f", write_statistics=False)
    assert kept(tmp_path, plan("WHERE x > 5")) == [("f", 0)]
    assert select_pieces(discover(tmp_path), ["t"], "t").spans == (None,)


CELLS = {
    "i": st.integers(-3, 3) | st.sampled_from([2**53 + 1, -(2**63), 2**63 - 1]),
    "f": st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 1.0, 2.5, 2.0**53, math.inf, math.nan]),
    "s": st.sampled_from(["", "a", "aa", "b", "é", "zz"]),
    "b": st.booleans(),
    "d": st.decimals(-3, 3, places=1),
    "at": st.datetimes(datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 3)),
    "u": st.integers(0, 3) | st.just(2**64 - 1),
    "kind": st.sampled_from("ABC"),
}
TYPES = {"i": pa.int64(), "f": pa.float64(), "s": pa.string(), "b": pa.bool_(), "d": pa.decimal128(9, 1),
         "at": pa.timestamp("us"), "u": pa.uint64(), "kind": pa.string()}  # fmt: skip
NUMBERS = ["-1", "0", "0.0", "1", "2.5", "0.1", "9007199254740993", "9007199254740992.0", "1e300"]
CONSTANTS = {"i": NUMBERS, "f": NUMBERS, "d": NUMBERS, "u": NUMBERS, "s": ["''", "'a'", "'b'", "'é'"],
             "b": ["TRUE", "FALSE"], "at": ["'2024-01-02'", "'2024-01-01 12:00:00.5'"]}  # fmt: skip


@st.composite
def conditions(draw, depth=2):
    shape = draw(st.sampled_from(["compare"] * 4 + (["not", "and", "or"] if depth else []) + ["null", "other"]))
    if shape == "not":
        return f"NOT ({draw(conditions(depth - 1))})"
    if shape in ("and", "or"):
        return f"(({draw(conditions(depth - 1))}) {shape.upper()} ({draw(conditions(depth - 1))}))"
    name = draw(st.sampled_from(sorted(CONSTANTS)))
    if shape == "null":
        return f"{name} IS {draw(st.sampled_from(['', 'NOT ']))}NULL"
    if shape == "other":
        return draw(st.sampled_from(["i < f", "f + 1 > i", "d * 2 = 1", "f / i > 0", "s = kind"]))
    constant = draw(st.sampled_from(CONSTANTS[name]))
    sides = (name, constant) if draw(st.booleans()) else (constant, name)
    return f"{sides[0]} {draw(st.sampled_from(['=', '!=', '<', '<=', '>', '>=']))} {sides[1]}"


@given(st.data())
def test_every_row_with_a_label_is_kept(tmp_path_factory, data):
    rows = data.draw(st.integers(1, 8))
    cells = {n: data.draw(st.lists(st.none() | c, min_size=rows, max_size=rows)) for n, c in CELLS.items()}
    table = pa.table({name: pa.array(values, TYPES[name]) for name, values in cells.items()})
    table = table.append_column("t", pa.array(range(rows)))
    path = tmp_path_factory.mktemp("prune") / "f"
    size = data.draw(st.integers(1, 3))
    pq.write_table(table, path, row_group_size=size, use_dictionary=data.draw(st.booleans()))
    where = f"WHERE {data.draw(conditions())} AND A.kind != 'C'"
    try:
        bound = plan(where, data.draw(st.sampled_from(["A+", "SEQ(A, B)"])), table.column_names)
    except DataError:
        return
    masks = label_masks(bound, table, "kind")
    left = {number for _, number in kept(path, bound)}
    wanted = {int(row) // size for row in np.flatnonzero(masks)}
    assert wanted <= left
    if size == 1:  # one row is its own bounds: types and simple conditions leave nothing too much
        assert len(left) <= pc.sum(pc.is_in(table["kind"], pa.array(["A", "B"]))).as_py()
