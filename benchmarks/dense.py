"""Dense streams without adjacent predicates: near the speed of reading the data, sliding or not."""

from __future__ import annotations

from collections.abc import Iterator

import sparkleene as sk
from benchmarks.common import KLEENE, Line, best, letters, loop

TUMBLING = f"RETURN COUNT(*) PATTERN {KLEENE} WITHIN 10 minutes SLIDE 10 minutes"
SLIDING = f"RETURN COUNT(*) PATTERN {KLEENE} WITHIN 10 minutes SLIDE 10 seconds"


def run(scale: float = 1.0) -> Iterator[Line]:
    """Measure (SEQ(A+, B))+ on 50 million events of one sub-stream."""
    events = int(50_000_000 * scale)
    table = letters(events, gap=6)  # 100,000 events in a window
    base = best(loop(table))
    tumbling = sk.query(TUMBLING)
    seconds = best(lambda: tumbling.run(table))
    each = f"{seconds / events * 1e9:.2f} ns an event, the loop {base / events * 1e9:.2f}"
    yield Line(f"{KLEENE}, tumbling / dependent additions", seconds / base, "<= 4", each)

    sliding = sk.query(SLIDING)
    slid = best(lambda: sliding.run(table))
    yield Line(
        "sliding, 60 windows overlap / tumbling", slid / seconds, "<= 2", f"{slid / events * 1e9:.2f} ns an event"
    )

    table = letters(int(20_000_000 * scale))
    whole = sk.query(f"RETURN LOG2(COUNT(*)) PATTERN {KLEENE}")
    one = best(lambda: whole.run(table, threads=1))
    two = best(lambda: whole.run(table, threads=2))
    yield Line("one thread / two threads, one window of 20 million", one / two, ">= 1.6", f"{two:.3f} s with two")
