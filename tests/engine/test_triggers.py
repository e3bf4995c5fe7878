"""Windows per trigger where predicates have become labels."""

import pyarrow as pa

import sparkleene as sk


def test_contiguous_predicate_triggers() -> None:
    table = pa.table({"time": [1, 2, 3], "type": ["A", "B", "B"], "x": [1, 2, 3]})
    query = sk.query("RETURN COUNT(*) PATTERN SEQ(A, B) SEMANTICS contiguous WHERE A.x < B.x WITHIN 5")
    assert query.run(table).to_pylist() == [{"window_start": -3, "window_end": 2, "count": 1.0}]


def test_more_labels_than_bits_of_a_byte() -> None:
    names = "ABCDEFGH"
    table = pa.table({"time": range(8), "type": list(names), "x": range(8)})
    text = f"RETURN COUNT(*) PATTERN SEQ({', '.join(names)}) SEMANTICS contiguous WHERE G.x < H.x WITHIN 9"
    assert sk.query(text).run(table)["count"].to_pylist() == [1.0]


def test_too_many_sub_streams_are_refused_not_attempted() -> None:
    rows = 200_000
    table = pa.table({"time": range(rows), "type": ["A", "B"] * (rows // 2), "k": range(rows)})
    try:
        sk.query("RETURN COUNT(*) PATTERN SEQ(A+, B) GROUP-BY A.k").run(table)
    except sk.DataError as error:
        assert error.diagnostics[0].code == "too-many-sub-streams"
    else:
        raise AssertionError("10 billion entries were spread out")
