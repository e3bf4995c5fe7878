"""What the status line of a stream counts."""

from types import SimpleNamespace
from typing import Any

from sparkleene.cli.stream import Tally


def progress(second: int, batch: int, rows: int, ran: bool, late: int = 0) -> Any:
    return SimpleNamespace(
        timestamp=f"2024-03-04T00:00:{second:02}.000Z",
        batchId=batch,
        numInputRows=rows,
        processedRowsPerSecond=1.0,
        durationMs={"addBatch": 1, "triggerExecution": 2} if ran else {"triggerExecution": 1},
        observedMetrics={"sparkleene": {"late_rows": late}} if ran else {},
        stateOperators=[],
        eventTime={"watermark": "2024-03-04T00:41:30.301Z"},
    )


def test_an_idle_stream_reports_the_batch_to_come() -> None:
    reports = [
        progress(1, 0, 10, True),
        progress(11, 1, 0, False),
        progress(12, 1, 5, True, 2),
        progress(13, 2, 0, True),
    ]
    tally = Tally()
    for seen in range(len(reports) + 1):
        tally.update(reports[:seen])  # those that were seen before are seen again
    assert (tally.rows, tally.batches, tally.late) == (15, 3, 2)
    assert tally.text.startswith("15 events") and tally.mark == "2024-03-04 00:41:30"
