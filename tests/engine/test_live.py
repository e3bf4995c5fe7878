"""Rows that come in any order up to a watermark, in any split, give what their whole table gives."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.conformance import strategies
from tests.conformance.test_random import Case, Rows, check, compiled, table

import sparkleene as sk
from sparkleene.engine import live as module
from sparkleene.engine import stretches
from sparkleene.engine.keys import buckets
from sparkleene.engine.live import Bucket, Live
from sparkleene.engine.lower import lower, lowered
from sparkleene.engine.partial import partial, total
from sparkleene.engine.seal import sealed, to_bytes

TIMED = ("tumbling", "sliding", "hopping", "trigger")
START = 1_000  # no row is before the first watermark


class Kept(dict[int, bytes]):
    """A store in memory."""

    def head(self) -> bytes | None:
        return self.get(-1)

    def set_head(self, kept: bytes) -> None:
        self[-1] = kept

    def blob(self, number: int) -> bytes | None:
        return self.get(number)

    def set_blob(self, number: int, kept: bytes) -> None:
        assert number not in self
        self[number] = kept

    def remove(self, number: int) -> None:
        del self[number]


def live_of(query: sk.Query, rows: pa.Table) -> tuple[Live, pa.Table]:
    """Return a query as it runs over a stream, and the rows as it gets them."""
    plan, options = query._plan_for(tuple(rows.column_names)), query._options()
    low = lower(plan, options, lambda term: True, True)
    flat = lowered(plan, low, rows, options, 1, query.text, "query")
    for k in low.plan.universal:
        flat = flat.filter(flat.column(low.plan.bound.keys[k].path[0]).is_valid())
    return Live(low.plan, low.options, flat.schema, {"query": query.text}, 1, query.text), flat


def streamed(query: sk.Query, rows: pa.Table, seed: int, count: int = 3) -> tuple[Rows, list[Kept]]:
    """Run rows through buckets: shuffled within a delay, in batches, the state read anew for every one."""
    live, flat = live_of(query, rows)
    chance = random.Random(seed)
    times = live.times(flat)
    delay = chance.choice([0, 1, 3, 20])
    order = np.argsort(times + np.array([chance.uniform(0, delay) for _ in times]), kind="stable")
    flat, times = flat.take(pa.array(order)), times[order]
    keys = [live.plan.bound.keys[k].path[0] for k in live.plan.together]
    owner = buckets(flat, keys, count) if keys and flat.num_rows else np.zeros(flat.num_rows, int)
    cuts = sorted(
        {0, flat.num_rows, *(chance.randint(0, flat.num_rows) for _ in range(chance.randint(0, 6)))}
    )
    kept = [Kept() for _ in range(count)]
    watermark, found = 0, []
    for begin, end in [*pairwise(cuts), (0, 0)]:
        for number, store in enumerate(kept):
            mine = np.flatnonzero(owner[begin:end] == number) + begin
            bucket = Bucket.load(live, store)
            if mine.size:
                part, at = flat.take(pa.array(mine)), times[mine]
                half = chance.randint(0, mine.size)
                for some in (slice(0, half), slice(half, None)):
                    if at[some].size:
                        piece = part.take(pa.array(np.arange(mine.size)[some]))
                        given = (int(at[some].min()), int(at[some].max()))
                        assert not bucket.add(sealed(to_bytes(piece)), piece.num_rows, *given)
                bucket.tidy()
                bucket.save()
            bucket = Bucket.load(live, store)
            found += [partial(live.plan, *evaluated) for evaluated in bucket.advance(watermark)]
            bucket.save()
        if end:
            watermark = max(watermark, int(times[:end].max()) - delay - 1)
        if end == flat.num_rows:
            watermark = 10**6
    assert all(set(store) <= {-1} for store in kept), kept
    if not any(part.num_rows for part in found):
        return [], kept
    whole = total(live.plan, pa.concat_tables(found, promote_options="permissive"), query._options().numbers)
    names = ["window_start", *live.plan.bound.group_names]
    windows = [tuple(row[n] for n in names) for part in found for row in part.to_pylist()]
    if set(live.plan.together) <= set(live.plan.bound.group):
        assert len(windows) == len(set(windows))
    return whole.sort_by([(name, "ascending") for name in names]).to_pylist(), kept


def later(case: Case) -> Case:
    """Return a case whose rows are late enough for a watermark before them."""
    rows = tuple({**row, "time": row["time"] + START} for row in case.rows)
    return Case(case.text, rows, case.time, case.type, case.tiebreak, case.offset, case.numbers)


def bounded(query: sk.Query, rows: pa.Table) -> bool:
    """Tell whether the trends of a window depend on its own rows alone."""
    plan = query._plan_for(tuple(rows.column_names))
    return all(key.labels is None or key.labels & plan.mandatory for key in plan.bound.keys)


KINDS: list[dict[str, Any]] = [
    {"semantics": semantics, "negation": negation, "adjacent": adjacent}
    for semantics in strategies.SEMANTICS
    for negation in (False, True)
    for adjacent in (False, True)
]
KINDS += [{"kinds": (window,)} for window in TIMED]
KINDS += [{feature: True} for feature in ("conjunction", "keys", "tiebreak")]
KINDS += [{"numbers": numbers} for numbers in ("double", "exact")]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(data=st.data(), seed=st.integers(0, 2**32))
@settings(max_examples=60)
def test_streams(kind: dict[str, Any], data: st.DataObject, seed: int) -> None:
    case = later(data.draw(strategies.case(**{"kinds": TIMED, **kind})))

    def run(case: Case) -> Rows:
        query = compiled(case)
        assume(bounded(query, table(case)))
        with (
            patch.object(module, "FEW", seed % 3 + 2),
            patch.object(module, "PARTS", 5 * (seed % 5 + 1)),
            patch.object(module, "STEPS", seed % 2),
            patch.object(stretches, "_pays", lambda *given: bool(seed % 4)),
        ):
            return streamed(query, table(case), seed)[0]

    check(case, run)
