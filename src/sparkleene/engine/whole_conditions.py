"""Conditions on the first and last event of a trend, as arrays: rows that may be either, and what is compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array
from sparkleene.columns.expressions import drop_sides, evaluate_condition
from sparkleene.engine.comparisons import Comparisons
from sparkleene.engine.substreams import SubStreams, read_only
from sparkleene.errors import Place
from sparkleene.kernels.first_last import Meeting
from sparkleene.kernels.program import EQ, GE, GT, LT
from sparkleene.kernels.whole_pairs import check_pairs
from sparkleene.kernels.whole_steps import Chosen
from sparkleene.language.bound import Term
from sparkleene.plan.plan import Plan
from sparkleene.plan.whole_trends import Choosing


@dataclass(frozen=True)
class ChoiceArrays:
    """How trends are chosen, and what that reads of the rows in order."""

    how: Choosing
    chosen: Chosen
    meeting: Meeting | None  # for divide and conquer
    bounds: int  # how many of the comparisons, the first ones, bound the duration

    def counts(self, first: int, last: int) -> bool:
        """Tell whether trends from one row to another count."""
        found = np.zeros(1, np.bool_)
        chosen = self.chosen
        if self.how == "maximal" and not chosen.lengths[min(last - first + 1, len(chosen.lengths) - 1)]:
            return False
        check_pairs(chosen, np.array([first]), np.array([last]), found)
        return bool(found[0] and chosen.starts[first] and chosen.stops[last])


def build_choice(
    plan: Plan, how: Choosing, table: pa.Table, rows: SubStreams, place: Place, threads: int
) -> ChoiceArrays:
    """Return which rows may be first and last, and the sides of what is compared."""
    choice = plan.whole
    assert choice is not None
    if choice.maximal and rows.tied:
        message = "rows of a sub-stream have the same time, and contiguous maximal needs to know which is first"
        help = "pass tiebreak= with a column that orders them, or drop rows that are repeated"
        raise place.error("tied-rows", message, help=help)
    predicates, f, g = Comparisons(plan.bound.time, (choice.both,), table, rows, place, threads).build()
    left = read_only(f)
    starts, stops = (_holds(terms, table, rows, place, threads) for terms in (choice.first, choice.last))
    chosen = Chosen(starts, stops, left, left if f is g else read_only(g), predicates, np.array(choice.lengths))
    if how == "divide and conquer":
        return ChoiceArrays(how, *_meeting(chosen), choice.durations)
    return ChoiceArrays(how, chosen, None, choice.durations)


def _holds(terms: tuple[Term, ...], table: pa.Table, rows: SubStreams, place: Place, threads: int) -> Array:
    """Tell which rows in order satisfy all of these conditions on one event."""
    found = np.ones(len(rows.tick), np.bool_)
    for term in terms:
        found &= rows.take(evaluate_condition(drop_sides(term), table, place), threads)
    return read_only(found)


def _meeting(chosen: Chosen) -> tuple[Chosen, Meeting]:
    """Return comparisons as equal codes and one or two orders, and which rows have all values that are compared."""
    count, rows = len(chosen.predicates.op), len(chosen.starts)
    left, right = chosen.f[:count], chosen.g[:count]
    starts, stops = chosen.starts & ~np.isnan(left).any(axis=0), chosen.stops & ~np.isnan(right).any(axis=0)
    codes, strict = np.zeros(2 * rows, np.int64), np.zeros(2, np.bool_)
    f, g = np.zeros((2, rows)), np.zeros((2, rows))
    order = 0
    for op, one, two in zip(chosen.predicates.op.tolist(), left, right, strict=True):
        if op == EQ:
            values, place = np.unique(np.concatenate([one, two]), return_inverse=True)
            _, codes = np.unique(codes * len(values) + place, return_inverse=True)
            continue
        sign = -1.0 if op in (GT, GE) else 1.0
        f[order], g[order], strict[order] = sign * one, sign * two, op in (LT, GT)
        order += 1
    first, last = (read_only(np.ascontiguousarray(part)) for part in codes.reshape(2, rows))
    meeting = Meeting(first, last, read_only(f), read_only(g), strict, order > 1, EQ in chosen.predicates.op)
    return chosen._replace(starts=read_only(starts), stops=read_only(stops)), meeting
