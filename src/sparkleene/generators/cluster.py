"""Measurements of a Hadoop cluster: mappers work on jobs, each with a start, measurements and an end.

GRETA (2017), section 10.1, table 2: mapper and job are uniform on 0 to 10, CPU and memory uniform on 0 to 1
thousand, load is Poisson with a mean of 100 on 0 to 10 thousand; 3 thousand events per second for 3 hours.
Types are those of its Q2, `Start`, `Measurement` and `End`; q1 of COGRA (2019), section 1, says `Load` for
`Measurement`.

Chosen here, for the papers are silent: all numbers are whole, both ends included; `Start` and `End` alternate
for each mapper and job, with 1 to 9 measurements between them, all equally likely; they carry measurements,
too.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkleene.generators.generator import Array, Columns, Generator, Members, Option, cut, text


def make(
    rng: np.random.Generator, seconds: Array, *, rate: float, groups: int, jobs: int, measurements: float
) -> Columns:
    """Return the columns; `groups` are mappers, `measurements` those of a run on the average."""
    events = seconds.size
    pair = Members.random(rng, events, groups * jobs)
    longest = max(1, round(2 * measurements - 1))
    lengths = rng.integers(1, longest + 1, events // 3 + 1) + 2
    number, place = cut(lengths, events)
    kind = np.ones(events, np.int8)
    kind[place == 0] = 0
    kind[place == lengths[number] - 1] = 2
    return {
        "type": text(pair.spread(kind), ("Start", "Measurement", "End")),
        "mapper": pa.array((pair.codes // jobs).astype(np.int32)),
        "job": pa.array((pair.codes % jobs).astype(np.int32)),
        "cpu": pa.array(rng.integers(0, 1001, events, dtype=np.int32)),
        "memory": pa.array(rng.integers(0, 1001, events, dtype=np.int32)),
        "load": pa.array(np.minimum(rng.poisson(100, events), 10_000).astype(np.int32)),
    }


GENERATOR = Generator(
    "cluster",
    make,
    groups=11,
    rate=3000.0,
    more={"jobs": Option(11, "count"), "measurements": Option(5.0, "amount")},
)
