"""Pictures of trends: of few events and of many, of the group with most trends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import sparkleene as sk

TABLE = pa.table({"time": [1, 2, 3, 4, 5], "type": list("AABBA"), "k": [1, 1, 1, 1, 2]})
QUERY = sk.query("RETURN k, COUNT(*) PATTERN SEQ(A+, B) GROUP-BY k")


def test_the_group_with_most_trends_is_drawn(tmp_path: Path) -> None:
    picture = QUERY.plot_trends(TABLE, limit=4, order="first")
    assert picture.title == "k=1" and picture.caption == "4 of 6 trends, the first"
    assert list(picture.labels) == list("AABB") and picture.trends[2] == [0, 1, 2]
    for name, head in (("a.svg", b"<?xml"), ("a.png", b"\x89PNG"), ("a.pdf", b"%PDF")):
        picture.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(head)
    assert "<svg" in picture._repr_svg_()
    with pytest.raises(sk.QueryError, match="does not end in"):
        picture.save(tmp_path / "a.txt")


def test_a_sample_shows_no_trend_twice() -> None:
    for seed in range(20):
        picture = QUERY.plot_trends(TABLE, limit=3, seed=seed)
        assert len({tuple(trend) for trend in picture.trends}) == len(picture.trends) == 3


def test_nothing_and_many() -> None:
    assert QUERY.plot_trends(TABLE, group={"k": 2}).caption == "no trends"
    size = 4000
    many = pa.table({"time": np.arange(size), "type": ["A"] * (size - 1) + ["B"], "k": [1] * size})
    assert QUERY.plot_trends(many, limit=2).render("png").startswith(b"\x89PNG")
