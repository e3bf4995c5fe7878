"""What a stream has done so far, counted from the reports of its batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sparkleene.spark.status import read_metrics


@dataclass
class Tally:
    """Counts of rows and batches; reports that were seen before are not counted again."""

    rows: int = 0
    late: int = 0
    batches: int = 0
    sent: int = 0  # rows, where the sink counts them
    last: str = ""  # when the last batch began

    def count(self, progress: Sequence[Any]) -> list[Any]:
        """Count what is new and return it; an idle stream reports the batch to come, which has not run."""
        new = [one for one in progress if one["timestamp"] > self.last]
        for one in new:
            self.last = one["timestamp"]
            self.batches += "addBatch" in one["durationMs"]
            self.rows += one["numInputRows"]
            self.sent += max(0, one["sink"]["numOutputRows"])
            self.late += read_metrics(one["observedMetrics"] or {}).get("late_rows", 0)
        return new
