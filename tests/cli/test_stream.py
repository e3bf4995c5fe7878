"""What the status line of a stream counts, and when the command says that no row comes."""

from typing import Any

from sparkleene.cli.stream import PATIENCE, Quiet, Report


def progress(second: int, batch: int, rows: int, ran: bool, late: int = 0) -> Any:
    metrics = {"late_rows": late, "kept_rows": 7, "open_windows": 2, "next_end_ms": 1709512980000, "delay_ms": 5000}
    return {
        "timestamp": f"2024-03-04T00:00:{second:02}.000Z",
        "batchId": batch,
        "numInputRows": rows,
        "inputRowsPerSecond": 1.0,
        "processedRowsPerSecond": 1.0,
        "durationMs": {"addBatch": 1, "triggerExecution": 2} if ran else {"triggerExecution": 1},
        "observedMetrics": {"sparkleene": metrics} if ran else {},
        "stateOperators": [],
        "sources": [],
        "sink": {"numOutputRows": 3 if ran else -1},
        "eventTime": {"watermark": "2024-03-04T00:41:30.301Z"},
    }


def test_an_idle_stream_reports_the_batch_to_come() -> None:
    reports = [
        progress(1, 0, 10, True),
        progress(11, 1, 0, False),
        progress(12, 1, 5, True, 2),
        progress(13, 2, 0, True),
    ]
    report = Report()
    for seen in range(len(reports) + 1):
        report.update(reports[:seen])  # those that were seen before are seen again
    assert (report.rows, report.batches, report.late, report.sent) == (15, 3, 2, 9)
    assert report.text == (
        "15 events · 1/s · watermark 2024-03-04 00:41:30.301 · next window ends 2024-03-04 00:43:00 · 2 open · "
        "state 0 B · 2 late"
    )
    assert report.notes[0] == "the next row waits for an event at 2024-03-04 00:43:05 or later"


def test_a_stream_that_sends_no_row_is_explained_less_and_less_often() -> None:
    now = 0.0
    quiet = Quiet(lambda: now)
    said = []
    for second in range(600):
        now = float(second)
        if quiet.is_over(1 if second >= 100 else 0):
            said.append(second)
    assert said == [PATIENCE, 100 + PATIENCE, 100 + 3 * PATIENCE, 100 + 7 * PATIENCE]
