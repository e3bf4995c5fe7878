"""Other systems are compared only where their counts are ours, and skipped with a line where they are not there."""

from __future__ import annotations

import pytest
from benchmarks import live_peers


def test_counts_come_first() -> None:
    line = live_peers.compared("theirs / ours", (7.0, 3.0), (7.0, 1.5), ">= 1")
    assert (line.ratio, line.detail) == (2.0, "3 s / 1.5 s, 7 trends")
    with pytest.raises(RuntimeError, match="8 and not 7"):
        live_peers.compared("theirs / ours", (8.0, 3.0), (7.0, 1.5), ">= 1")


def test_what_is_not_there_is_skipped(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(live_peers, "PEERS", tmp_path)
    assert list(live_peers.run(0.001)) == []
    said = capsys.readouterr().out.splitlines()
    assert [one.split()[0] for one in said] == ["Flink", "chDB", "Varpulis"]
