"""From a plan and a stream to the arrays that kernels run: the program, its predicates, the events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from sparkleene.columns import expressions
from sparkleene.columns.values import NULL, exact_values, low_values, sum_values
from sparkleene.engine.graphlets import Sharing, sharing
from sparkleene.engine.stream import Stream, frozen
from sparkleene.errors import Place
from sparkleene.kernels import order, scan
from sparkleene.kernels.neighbours import observe
from sparkleene.kernels.program import Events, Predicates, Program
from sparkleene.language.bound import Bound, Call, Literal_, Output, Term
from sparkleene.plan.machine import Machine, machine
from sparkleene.plan.plan import Plan
from sparkleene.plan.predicates import separate, sides
from sparkleene.threads import Pool

Array = np.ndarray[Any, Any]
MODES = {"skip-till-any-match": 0, "skip-till-next-match": 1, "contiguous": 2}
OPERATORS = {"<": 0, "<=": 1, ">": 2, ">=": 3, "=": 4, "!=": 5}
CODE = {"neg": scan.NEG, "+": scan.ADD, "-": scan.SUB, "*": scan.MUL, "/": scan.DIV, "%": scan.MOD,
        "and": scan.AND, "or": scan.OR, "not": scan.NOT, "isnull": scan.ISNULL}  # fmt: skip
CODE |= {op: scan.CODE_LT + number for op, number in OPERATORS.items()}


@dataclass(frozen=True)
class Total:
    """A sum that the kernels carry along: of an attribute, or of ones (`path` empty or `present`)."""

    labels: frozenset[int]
    path: tuple[str, ...]
    present: bool  # count the events that have the attribute instead of adding it up


Parts = tuple[tuple[int, Fraction], ...]
Made = tuple[tuple[Output, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Aggregates:
    """What the kernels carry along, and the totals or the low that each output is made of."""

    totals: tuple[Total, ...]
    lows: tuple[tuple[frozenset[int], tuple[str, ...], bool], ...]  # labels, attribute, whether a maximum
    outputs: Made


def aggregates(bound: Bound) -> Aggregates:
    """Find the totals and lows that the outputs of a query need, each once."""
    totals: dict[Total, int] = {}
    lows: dict[tuple[frozenset[int], tuple[str, ...], bool], int] = {}
    outputs: list[tuple[Output, tuple[int, ...]]] = []
    for output in bound.outputs:
        made_of: tuple[int, ...] = ()
        if output.function in ("min", "max"):
            low = (output.labels, output.path, output.function == "max")
            made_of = (lows.setdefault(low, len(lows)),)
        elif output.path:
            wanted = [Total(output.labels, output.path, False)] * (output.function != "count")
            wanted += [Total(output.labels, output.path, True)]
            made_of = tuple(totals.setdefault(total, len(totals)) for total in wanted)
        elif output.labels:
            made_of = (totals.setdefault(Total(output.labels, (), True), len(totals)),)
        outputs.append((output, made_of))
    return Aggregates(tuple(totals), tuple(lows), tuple(outputs))


@dataclass(frozen=True)
class Compiled:
    """Everything a kernel is given, and how to read its results."""

    program: Program
    momentary: Program | None  # tells which trends end at the last tick, for windows per trigger
    predicates: Predicates
    events: Events
    totals: tuple[Parts, ...]  # the columns that make up each total, with their scales
    lows: tuple[Callable[[Array], pa.Array], ...]  # from low keys back to values
    outputs: Made  # with the totals or the low that each is made of
    largest: float  # of the absolute attribute values
    tied: bool  # whether some tick has several events (not looked for where it cannot matter)
    forks: bool  # whether one event or tick can make several partial trends of one (beyond skipping it)
    backward: bool  # whether the events are in the opposite order, and the program reads them so
    sharing: Sharing | None  # how bursts are done once for several queries


def compile(
    plan: Plan,
    table: pa.Table,
    stream: Stream,
    exact: bool,
    threads: int,
    place: Place,
    bursts: bool = False,
    choice: bytes | None = None,
) -> Compiled:
    """Build the arrays of a run.

    With `bursts` also those for bursts that queries share, which are for windows that are run by themselves;
    `choice` is what to decide on them, one after the other, instead of by cost.
    """
    backward = plan.backward is not None
    plan = plan.backward or plan
    bound = plan.bound
    made = aggregates(bound)
    values, owner, parts, largest = _sums(made.totals, table, stream, exact, place)
    back: list[Callable[[Array], pa.Array]] = []
    lows = np.empty((len(made.lows), len(stream.tick)))
    for i, (_, path, maximum) in enumerate(made.lows):
        keys, to_values = low_values(table, path, maximum, place)
        lows[i] = stream.take(keys)
        back.append(to_values)

    # A tick of several events matters to machines that move partial trends, and to the bound on their number.
    tied = (plan.machine.forgetful or bool(plan.pairs)) and stream.tied
    predicates, f, g = _Predicates(plan, table, stream, place).build()
    mask, observed = stream.mask, False
    if (
        plan.pairs
        and bound.semantics == "contiguous"
        and not tied
        and len(bound.labels) + len(plan.pairs) < 63
    ):
        mask, observed = _observe(plan, predicates, f, g, stream.mask, threads), True
        f = g = np.zeros((0, len(stream.tick)))
    labels, symbol = _symbols(plan, stream, mask, tied, observed)
    sum_labels = np.array([_bits(plan, made.totals[i].labels, observed) for i in owner], np.uint64)
    low_labels = np.array([_bits(plan, of, observed) for of, _, _ in made.lows], np.uint64)
    program = _program(plan, plan.machine, labels, sum_labels, low_labels, observed)
    momentary = None
    if bound.window is not None and bound.window.slide is None:
        none = np.zeros(0, np.uint64)
        momentary = _program(plan, machine(bound, momentary=True), labels, none, none, observed)
    left = frozen(f)
    right = left if f is g else frozen(g)
    events = Events(stream.tick, frozen(symbol), frozen(values), frozen(lows), left, right)
    return Compiled(
        program,
        momentary,
        predicates,
        _turned(events) if backward else events,
        parts,
        tuple(back),
        made.outputs,
        largest,
        tied,
        tied or _forks(program),
        backward,
        sharing(plan.kin, program, symbol, choice) if bursts and plan.machine.apart else None,
    )


def _turned(events: Events) -> Events:
    """Return the events from the last to the first; ticks ascend, for `~` turns the order of integers around."""
    columns = {id(column): frozen(np.ascontiguousarray(column[..., ::-1])) for column in events[1:]}
    return Events(frozen(~events.tick[::-1]), *(columns[id(column)] for column in events[1:]))


def _bits(plan: Plan, labels: frozenset[int], observed: bool) -> int:
    """Return labels as a mask; an observed pair stands for its later label."""
    bits = sum(1 << label for label in labels)
    if observed:
        first = len(plan.bound.labels)
        bits |= sum(1 << first + p for p, pair in enumerate(plan.pairs) if pair.after in labels)
    return bits


def _sums(
    totals: tuple[Total, ...], table: pa.Table, stream: Stream, exact: bool, place: Place
) -> tuple[Array, tuple[int, ...], tuple[Parts, ...], float]:
    """Return the columns that the kernels add up, the total that each is of, and the parts of each total.

    In exact mode columns are integers, and a total may have several, each with a scale.
    """
    dtype = np.int64 if exact else np.float64
    null: Any = NULL if exact else np.nan
    found: list[Array] = []
    owner: list[int] = []
    parts: list[Parts] = []
    largest = 1.0
    for i, total in enumerate(totals):
        if not total.path:
            some = [(np.ones(table.num_rows, dtype), Fraction(1))]
        elif exact:
            some = list(exact_values(table, total.path, place))
        else:
            some = [(sum_values(table, total.path, place), Fraction(1))]
        if total.present and total.path:
            absent = some[0][0] == null if exact else np.isnan(some[0][0])
            some = [(np.where(absent, null, dtype(1)), Fraction(1))]
        parts.append(tuple((len(found) + k, scale) for k, (_, scale) in enumerate(some)))
        for column, _ in some:
            there = column != null if exact else ~np.isnan(column)
            largest = max(largest, float(np.abs(column[there].astype(np.float64)).max(initial=1.0)))
            found.append(stream.take(column))
            owner.append(i)
    values = np.stack(found) if found else np.zeros((0, len(stream.tick)), dtype)
    return values, tuple(owner), tuple(parts), largest


def _observe(plan: Plan, predicates: Predicates, f: Array, g: Array, mask: Array, threads: int) -> Array:
    """Return the labels of rows with the predicate pairs that hold between neighbours as labels more."""
    count = len(plan.bound.labels)
    bits = count + len(plan.pairs)
    out = np.empty(len(mask), np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.int64)
    joined = np.array([(pair.before, pair.after) for pair in plan.pairs], np.int64)
    ok = np.empty(len(mask), np.bool_)

    def task(part: slice) -> None:
        observe(predicates, frozen(f), frozen(g), mask, joined, count, part.start, part.stop, ok, out)

    edges = np.linspace(0, len(mask), threads + 1).astype(np.int64).tolist()
    Pool(threads).map(task, [slice(a, b) for a, b in pairwise(edges)])
    return frozen(out)


def _symbols(plan: Plan, stream: Stream, mask: Array, tied: bool, observed: bool) -> tuple[Array, Array]:
    """Return the label sets of rows and ticks, ascending, and each row's number among them."""
    count = len(plan.bound.labels) + observed * len(plan.pairs)
    if count <= 2 and mask.dtype == np.uint8:
        return np.arange(1 << count, dtype=np.uint64), mask
    found = np.flatnonzero(np.bincount(mask, minlength=256)) if mask.dtype == np.uint8 else np.unique(mask)
    if tied:
        cut = plan.bound.window is not None and plan.bound.window.unit == "events"
        found = np.union1d(found, order.unions(stream.tick, mask, stream.bounds, cut))
    labels = np.union1d(found.astype(np.uint64), np.zeros(1, np.uint64))
    kind = np.uint8 if labels.size <= 256 else np.uint16 if labels.size <= 65536 else np.int64
    if mask.dtype == np.uint8:
        place = np.zeros(256, kind)
        place[labels.astype(np.int64)] = np.arange(labels.size)
        return labels, place[mask]
    return labels, np.searchsorted(labels, mask.astype(np.uint64)).astype(kind)


def _forks(program: Program) -> bool:
    """Tell whether a row can extend one partial trend in two ways."""
    final = set(program.out_state.tolist())
    for mask in program.labels.tolist():
        ways: dict[int, int] = {}
        for label in range(program.off.size - 1):
            if mask >> label & 1:
                for t in range(program.off[label], program.off[label + 1]):
                    if int(program.dst[t]) not in final:
                        ways[int(program.src[t])] = ways.get(int(program.src[t]), 0) + 1
        if any(count > 1 for count in ways.values()):
            return True
    return False


def _program(
    plan: Plan, built: Machine, labels: Array, sum_labels: Array, low_labels: Array, observed: bool
) -> Program:
    """Write a machine as arrays; where pairs were observed, their transitions go by the pair's own label."""
    count = len(plan.bound.labels)
    steps = []
    for source, label, target in built.transitions:
        pair = plan.pair_index.get((built.label[source], label), -1)
        if observed and pair >= 0:
            steps.append((source, count + pair, target, -1))
        else:
            steps.append((source, label, target, pair))
    steps.sort(key=lambda step: step[1])
    every = count + observed * len(plan.pairs)
    off = np.searchsorted([label for _, label, _, _ in steps], np.arange(every + 1)).astype(np.int64)
    states = len(built.states)
    real = (1 << count) - 1
    linear = observed or not plan.pairs
    keep = np.array([built.keep(int(mask) & real, extended=linear) for mask in labels.tolist()], np.int64)
    return Program(
        MODES[plan.bound.semantics],
        states,
        off,
        np.array([source for source, _, _, _ in steps], np.int64),
        np.array([target for _, _, target, _ in steps], np.int64),
        np.array([pair for _, _, _, pair in steps], np.int64),
        keep.reshape(labels.size, states),
        np.array([built.leave(label) for label in range(count)], np.int64).reshape(count, states),
        labels,
        np.array([state for state, _ in built.outs], np.int64),
        np.array([kind for _, kind in built.outs], np.int64),
        built.classes,
        sum_labels,
        low_labels,
    )


def _rows(columns: list[Array], shape: tuple[int, int]) -> Array:
    """Return columns as the rows of one array; a single one without a copy."""
    if len(columns) == 1:
        return np.ascontiguousarray(columns[0]).reshape(shape)
    return np.stack(columns) if columns else np.zeros(shape)


@dataclass
class _Predicates:
    """The sides of comparisons as columns, and what does not separate as stack code over more columns."""

    plan: Plan
    table: pa.Table
    stream: Stream
    place: Place
    f: list[Array] = field(default_factory=list)
    g: list[Array] = field(default_factory=list)
    consts: list[float] = field(default_factory=list)

    def build(self) -> tuple[Predicates, Array, Array]:
        off, op, code_off = [0], [], [0]
        code: list[tuple[int, int]] = []
        for pair in self.plan.pairs:
            for c in pair.comparisons:
                self.compare(c.op, c.left, c.right)
                op.append(OPERATORS[c.op])
            off.append(len(op))
        for pair in self.plan.pairs:
            for i, term in enumerate(pair.general):
                code += self.code(term)
                if i:
                    code.append((scan.AND, 0))
            code_off.append(len(code))
        shape = (len(self.f), len(self.stream.tick))
        predicates = Predicates(
            np.array(off, np.int64),
            np.array(op, np.int64),
            np.array(code_off, np.int64),
            np.array(code, np.int64).reshape(len(code), 2),
            np.array(self.consts, np.float64),
        )
        f = _rows(self.f, shape)
        same = all(one is other for one, other in zip(self.f, self.g, strict=True))
        return predicates, f, f if same else _rows(self.g, shape)

    def compare(self, op: str, left: Term, right: Term) -> int:
        """Add the two sides of a comparison as columns."""
        f, g = expressions.rank_sides(left, right, op, self.table, self.place)
        ordered = self.stream.take(f)
        self.f.append(ordered)
        self.g.append(ordered if f is g else self.stream.take(g))
        return len(self.f) - 1

    def code(self, term: Term) -> list[tuple[int, int]]:
        """Translate a condition over two events into stack code."""
        of = sides(term)
        if isinstance(term, Literal_):
            if isinstance(term.value, str):
                raise self.place.error("wrong-type", "here a number is needed, not text", term.span)
            self.consts.append(np.nan if term.value is None else float(term.value))
            return [(scan.PUSH_CONST, len(self.consts) - 1)]
        if len(of) < 2:
            column = self.stream.take(self.values(term))
            self.f.append(column)
            self.g.append(column)
            return [(scan.PUSH_G if 1 in of else scan.PUSH_F, len(self.f) - 1)]
        assert isinstance(term, Call)
        if (comparison := separate(term)) is not None:
            both = self.compare(comparison.op, comparison.left, comparison.right)
            return [(scan.PUSH_F, both), (scan.PUSH_G, both), (CODE[comparison.op], 0)]
        out = self.code(term.args[0])
        for arg in term.args[1:]:
            out += [*self.code(arg), (CODE[term.op], 0)]
        return out if len(term.args) > 1 else [*out, (CODE[term.op], 0)]

    def values(self, term: Term) -> Array:
        """Evaluate a term of one event: a number, or a truth value as 1, 0 and NaN."""
        return expressions.evaluate_number(term, self.table, self.place, boolean=True)
