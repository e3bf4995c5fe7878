"""Adjacent predicates as arrays: the sides of comparisons as columns, and code for what does not separate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from sparkleene.columns import expressions
from sparkleene.columns.arrow import Array
from sparkleene.columns.durations import settle_for_doubles
from sparkleene.columns.gaps import gap_limit
from sparkleene.columns.thresholds import rank_comparison
from sparkleene.engine.function_code import FUNCTIONS, function_code
from sparkleene.engine.substreams import SubStreams, read_only
from sparkleene.errors import Place
from sparkleene.kernels import conditions
from sparkleene.kernels.contiguous_labels import observe
from sparkleene.kernels.program import Predicates
from sparkleene.language.bound import Call, Interval, Literal_, Term
from sparkleene.plan.plan import Plan
from sparkleene.plan.predicates import Comparison, Pair, Threshold, separate, sides
from sparkleene.threads import Pool

PIECE = 1 << 20  # rows that a thread looks at in one go
EXACT = 2**52  # integers up to this, and twice as large, are exact as doubles
OPERATORS = {"<": 0, "<=": 1, ">": 2, ">=": 3, "=": 4, "!=": 5}
CODE = {"neg": conditions.NEG, "+": conditions.ADD, "-": conditions.SUB, "*": conditions.MUL,
        "/": conditions.DIV, "%": conditions.MOD, "and": conditions.AND, "or": conditions.OR,
        "not": conditions.NOT, "isnull": conditions.ISNULL}  # fmt: skip
CODE |= {op: conditions.CODE_LT + number for op, number in OPERATORS.items()}


@dataclass
class Comparisons:
    """Pairs of predicates over rows in order: `f` holds columns of the earlier event, `g` of the later."""

    time: str  # the column that rows are in order of
    pairs: Sequence[Pair]
    table: pa.Table
    rows: SubStreams
    place: Place
    threads: int = 1
    f: list[Array] = field(default_factory=list)
    g: list[Array] = field(default_factory=list)
    consts: list[float] = field(default_factory=list)

    def build(self) -> tuple[Predicates, Array, Array]:
        """Return the predicates as kernels read them, and the columns of either side."""
        off, op, code_off = [0], [], [0]
        code: list[tuple[int, int]] = []
        for pair in self.pairs:
            for c in pair.comparisons:
                self._add_sides(c)
                op.append(OPERATORS[c.op])
            off.append(len(op))
        for pair in self.pairs:
            for i, term in enumerate(pair.general):
                code += self._translate(settle_for_doubles(term, self.table, self.place))
                if i:
                    code.append((conditions.AND, 0))
            code_off.append(len(code))
        shape = (len(self.f), len(self.rows.tick))
        predicates = Predicates(
            np.array(off, np.int64),
            np.array(op, np.int64),
            np.array(code_off, np.int64),
            np.array(code, np.int64).reshape(len(code), 2),
            np.array(self.consts, np.float64),
        )
        f = _stack(self.f, shape)
        same = all(one is other for one, other in zip(self.f, self.g, strict=True))
        return predicates, f, f if same else _stack(self.g, shape)

    def _add_sides(self, comparison: Comparison | Threshold) -> int:
        """Add the two sides of a comparison as columns and return their number."""
        if comparison.rises and (sides := self._time_sides(comparison)) is not None:
            self.f.append(sides[0])
            self.g.append(sides[1])
            return len(self.f) - 1
        f, g = rank_comparison(comparison, self.table, self.place)
        ordered = self.rows.take(f, self.threads)
        self.f.append(ordered)
        self.g.append(ordered if f is g else self.rows.take(g, self.threads))
        return len(self.f) - 1

    def _time_sides(self, comparison: Comparison | Threshold) -> tuple[Array, Array] | None:
        """Return the sides of a comparison of times, made of the rows' times, which are in order already."""
        time, known = self.rows.time, self.rows.per_ms
        if time.dtype != np.int64 or not time.size:
            return None
        limit = gap_limit(comparison, self.time, known, self.table, self.place)
        first, last = int(time.min()), int(time.max())
        if limit is None or last - first > EXACT:
            return None
        if max(-first, last) > EXACT:
            time = time - first
        f = time.astype(np.float64)
        whole = last - first + 2  # what is farther apart than all of them
        return f, f - float(max(-whole, min(limit, whole)))

    def _translate(self, term: Term) -> list[tuple[int, int]]:
        """Translate a condition over two events into stack code."""
        of = sides(term)
        if isinstance(term, Literal_):
            assert not isinstance(term.value, Interval)
            if isinstance(term.value, str):
                raise self.place.error("wrong-type", "here a number is needed, not text", term.span)
            self.consts.append(np.nan if term.value is None else float(term.value))
            return [(conditions.PUSH_CONST, len(self.consts) - 1)]
        if len(of) < 2:
            values = expressions.evaluate_number(term, self.table, self.place, boolean=True)
            column = self.rows.take(values, self.threads)
            self.f.append(column)
            self.g.append(column)
            return [(conditions.PUSH_G if 1 in of else conditions.PUSH_F, len(self.f) - 1)]
        assert isinstance(term, Call)
        if (comparison := separate(term)) is not None:
            both = self._add_sides(comparison)
            return [(conditions.PUSH_F, both), (conditions.PUSH_G, both), (CODE[comparison.op], 0)]
        if term.op in FUNCTIONS:
            args = [self._translate(arg) for arg in term.args[: 1 if term.op == "round" else None]]
            return function_code(term.op, args, self.consts)
        out = self._translate(term.args[0])
        for arg in term.args[1:]:
            out += [*self._translate(arg), (CODE[term.op], 0)]
        return out if len(term.args) > 1 else [*out, (CODE[term.op], 0)]


def observe_pairs(plan: Plan, predicates: Predicates, f: Array, g: Array, mask: Array, threads: int) -> Array:
    """Return the labels of rows, with one more for each pair that holds between a row and the one before it."""
    count = len(plan.bound.labels)
    bits = count + len(plan.pairs)
    out = np.empty(len(mask), np.uint8 if bits <= 8 else np.uint64)
    both = zip(plan.pairs, plan.condition_of, strict=True)
    joined = np.array([(pair.before, pair.after, condition) for pair, condition in both], np.int64)
    holds = np.empty(len(mask), np.bool_)
    left, right = read_only(f), read_only(g)

    def task(part: slice) -> None:
        observe(predicates, left, right, mask, joined, count, part.start, part.stop, holds, out)

    size = min(PIECE, -(-len(mask) // threads) or 1)  # so that Ctrl-C is answered between two pieces
    Pool(threads).map(task, [slice(a, min(a + size, len(mask))) for a in range(0, len(mask), size)])
    return read_only(out)


def _stack(columns: list[Array], shape: tuple[int, int]) -> Array:
    """Return columns as the rows of one array; a single one without a copy."""
    if len(columns) == 1:
        return np.ascontiguousarray(columns[0]).reshape(shape)
    return np.stack(columns) if columns else np.zeros(shape)
