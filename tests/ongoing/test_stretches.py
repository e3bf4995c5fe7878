"""When rows become matrices: much smaller where these are only sent, smaller at all where they are kept."""

import numpy as np
import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene.engine.run import Run
from sparkleene.evaluation import PreparedWorkload
from sparkleene.ongoing.stretches import stretches


@pytest.mark.parametrize(
    ("rows_of_a_key", "times", "matrices"), [(20, 12, False), (200, 12, True), (20, 1, True), (2, 1, False)]
)
def test_rows_or_matrices(rows_of_a_key: int, times: int, matrices: bool) -> None:
    rows = 2000
    table = pa.table(
        {
            "time": np.arange(rows),
            "type": ["A", "A", "B", "A"] * (rows // 4),
            "user": np.random.default_rng(0).permutation(np.arange(rows) % (rows // rows_of_a_key)),
        }
    )
    q = sk.query("RETURN COUNT(*) PATTERN SEQ(A+, B) WHERE [user]")
    work = PreparedWorkload({"q": q.prepared})
    [part] = work.parts(tuple(table.column_names))
    units, left = stretches(Run(part, work.options.for_engine()), table, times=times)
    assert (units.num_rows > 0) == matrices
    assert left.num_rows == (2 if matrices else rows)  # the first and the last time
