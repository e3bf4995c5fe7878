"""Kernels for adjacent predicates against a plain evaluator that follows the definition entry by entry."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from tests.kernels.supports import KERNELS

from sparkleene.engine.substreams import read_only as frozen
from sparkleene.kernels import conditions
from sparkleene.kernels.program import (
    ANY,
    CONTIGUOUS,
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    NEXT,
    Events,
    NumberSystem,
    Predicates,
    Program,
)
from sparkleene.kernels.vectors import Table
from sparkleene.kernels.wide import WIDE, log2, to_double

FIELDS = {
    "float64": NumberSystem(np.ones(1), np.ones(1, np.uint64)),
    "complex128": NumberSystem(np.ones(1, WIDE), np.ones(1, np.uint64)),
    "uint64": NumberSystem(np.ones(2, np.uint64), np.array([2147483647, 2147483629], np.uint64)),
}
KINDS = [
    [LT], [LE], [GT], [GE], [EQ], [NE], [EQ, EQ], [EQ, NE], [NE, EQ], [EQ, LT], [GE, EQ], [EQ, EQ, GT],
    [LT, GT], [GE, LE], [LT, EQ, LE], [NE, GT], "code",
]  # fmt: skip


RISING = [[GE], [GE], [GT], [LE], [LT], [GE, LE], [LT, GT], [LE, GT]]


def program_of(mode: int, rng: random.Random, allowed: list[Any] | None = None) -> tuple[Program, Predicates]:
    """Make a random machine: states 1.. have one label each, some transitions carry pairs."""
    labels = rng.randint(1, 3)
    live = rng.randint(1, 4)
    of = [None] + [rng.randrange(labels) for _ in range(live)]
    sink = live + 1 if rng.random() < 0.5 else None
    states = live + 1 + (sink is not None)
    pairs = [rng.choice(allowed or KINDS) for _ in range(rng.randint(1, 3))]
    one_pair = {s: rng.randrange(len(pairs)) for s in range(1, live + 1)}
    simple = rng.random() < 0.5
    rows: list[tuple[int, int, int, int]] = []
    for s in range(live + 1):
        for d in range(1, live + 1):
            if rng.random() < 0.45 or (s, d) in ((0, 1), (1, 1)):
                p = rng.randrange(len(pairs)) if s and rng.random() < 0.7 else -1
                if p >= 0 and simple:
                    p = one_pair[s]
                rows.append((of[d], s, d, p))  # type: ignore[arg-type]
                if sink is not None and rng.random() < 0.5:
                    rows.append((of[d], s, sink, p))  # type: ignore[arg-type]
    rows.sort(key=lambda r: r[0])
    off = [sum(r[0] < k for r in rows) for k in range(labels + 1)]
    symbols = 2**labels
    keep = np.tile(np.arange(states), (symbols, 1))
    leave = np.tile(np.arange(states), (labels, 1))
    moves = rng.random() < 0.4
    for y in range(1, symbols):
        for s in range(states):
            if mode == CONTIGUOUS and s not in (0, sink):
                keep[y, s] = sink if sink is not None and rng.random() < 0.3 else -1
            elif moves and s and s != sink and rng.random() < 0.2:
                same = [t for t in range(1, live + 1) if of[t] == of[s]]
                keep[y, s] = rng.choice([*same, -1, s if sink is None else sink])
    if mode == CONTIGUOUS:
        keep[0, 1 : live + 1] = -1
    if moves and rng.random() < 0.3:
        keep[symbols - 1, 0] = -1
    joined = rng.random() < 0.3
    for label in range(labels):
        for s in range(1, live + 1):
            same = [t for t in range(1, live + 1) if of[t] == of[s]]
            choices = [-1, *same, sink if sink is not None else -1] if joined else [-1]
            leave[label, s] = rng.choice(choices)
    lows = rng.randint(0, 2)
    sums = rng.randint(0, 2)
    classes = rng.randint(1, 2)
    outs = [s for s in range(1, states) if rng.random() < 0.7] or [states - 1]
    ops = [op for kind in pairs for op in (kind if kind != "code" else [])]
    code, consts, code_off, comp_off = [], [2.0, 0.5, math.nan, 0.0], [0], [0]
    for kind in pairs:
        if kind == "code":
            code += code_of(rng)
        code_off.append(len(code))
        comp_off.append(comp_off[-1] + (0 if kind == "code" else len(kind)))
    ints = lambda values: np.array(values, np.int64)  # noqa: E731
    program = Program(
        mode, states, ints(off), ints([r[1] for r in rows]), ints([r[2] for r in rows]),
        ints([r[3] for r in rows]), keep.astype(np.int64), leave.astype(np.int64),
        np.arange(symbols, dtype=np.uint64), ints(outs), ints([rng.randrange(classes) for _ in outs]), classes,
        *carried(rng, sums, lows, len(off) - 1),
    )  # fmt: skip
    predicates = Predicates(ints(comp_off), ints(ops), ints(code_off), ints(code).reshape(-1, 2), np.array(consts))
    return program, predicates


def carried(rng: random.Random, sums: int, lows: int, labels: int) -> tuple[Any, ...]:
    """Choose which values each label adds to sums and minima, and which sums are of other sums."""
    row = [[rng.choice([-1, *range(sums)]) for _ in range(labels)] for _ in range(sums)]
    of = [rng.choice([0, *range(i + 2, sums + 1)]) for i in range(sums)]
    low = [[rng.choice([-1, *range(lows)]) for _ in range(labels)] for _ in range(lows)]
    adds = np.array([rng.random() < 0.5 for _ in range(lows)], np.bool_)
    shaped = (np.array(row, np.int64).reshape(sums, labels), np.array(of, np.int64))
    return *shaped, np.array(low, np.int64).reshape(lows, labels), adds


def code_of(rng: random.Random, depth: int = 3) -> list[tuple[int, int]]:
    """Make random stack code that ends in a truth value."""

    def number(d: int) -> list[tuple[int, int]]:
        r = rng.random()
        if d == 0 or r < 0.5:
            return [(rng.choice([conditions.PUSH_F, conditions.PUSH_G]), rng.randrange(3))] if r < 0.8 else [
                (conditions.PUSH_CONST, rng.randrange(4))
            ]  # fmt: skip
        if r < 0.6:
            return [*number(d - 1), (conditions.NEG, 0)]
        return number(d - 1) + number(d - 1) + [(rng.randint(conditions.ADD, conditions.MOD), 0)]

    def truth(d: int) -> list[tuple[int, int]]:
        r = rng.random()
        if d == 0 or r < 0.4:
            return number(2) + number(2) + [(rng.randint(conditions.CODE_LT, conditions.CODE_NE), 0)]
        if r < 0.5:
            return [*number(1), (conditions.ISNULL, 0)]
        if r < 0.7:
            return [*truth(d - 1), (conditions.NOT, 0)]
        return truth(d - 1) + truth(d - 1) + [(rng.choice([conditions.AND, conditions.OR]), 0)]

    return truth(depth)


def events_of(program: Program, predicates: Predicates, rng: random.Random, n: int, same: bool) -> Events:
    symbols = len(program.labels)
    tick, t = [], 0
    ties = rng.choice([0.0, 0.3, 0.6])
    for _ in range(n):
        t += rng.random() >= ties
        tick.append(t)
    columns = max(3, len(predicates.op))
    spread = rng.choice([1, 3, 20])

    def value() -> float:
        return math.nan if rng.random() < 0.05 else float(rng.randint(-spread, spread))

    f = np.array([[value() for _ in range(n)] for _ in range(columns)]).reshape(columns, n)
    g = f if same else np.array([[value() for _ in range(n)] for _ in range(columns)]).reshape(columns, n)

    def measure() -> float:
        return math.nan if rng.random() < 0.1 else float(rng.randint(-9, 9))

    sums = [[measure() for _ in range(n)] for _ in program.sum_of]
    lows = [[measure() for _ in range(n)] for _ in program.low_adds]
    dense = rng.random() < 0.5
    symbol = [rng.randrange(1 if dense else 0, symbols) for _ in range(n)]
    return Events(
        np.array(tick, np.int64), np.array(symbol, np.uint32), np.array(sums, float).reshape(len(sums), n),
        np.array(lows, float).reshape(len(lows), n), f, g,
    )  # fmt: skip


def rising(events: Events, rng: random.Random) -> Events:
    """Return the events with sides of comparisons that rise in time, such as the time and a little less."""
    tick = events.tick.tolist()
    first, columns = min(tick, default=0), len(events.f)

    def column() -> list[float]:
        steps = [rng.choice([0, 0, 1, 1, 2, 5]) for _ in range(max(tick, default=0) - first + 1)]
        shift = rng.randint(-6, 3)
        return [float(shift + sum(steps[: t - first + 1])) for t in tick]

    f, g = (np.array([column() for _ in range(columns)]).reshape(columns, len(tick)) for _ in range(2))
    return events._replace(f=f, g=g)


def code_value(predicates: Predicates, events: Events, p: int, old: int, new: int) -> Any:
    """Run stack code over None, bool and float."""
    stack: list[Any] = []
    nul = lambda x: None if x != x else float(x)  # noqa: E731
    for o, a in predicates.code[predicates.code_off[p] : predicates.code_off[p + 1]].tolist():
        if o == conditions.PUSH_F:
            stack.append(nul(events.f[a, old]))
        elif o == conditions.PUSH_G:
            stack.append(nul(events.g[a, new]))
        elif o == conditions.PUSH_CONST:
            stack.append(nul(predicates.consts[a]))
        elif o in (conditions.NEG, conditions.NOT, conditions.ISNULL):
            x = stack.pop()
            if o == conditions.ISNULL:
                stack.append(x is None)
            else:
                stack.append(None if x is None else -x if o == conditions.NEG else not x)
        else:
            y, x = stack.pop(), stack.pop()
            if o == conditions.AND:
                stack.append(False if x is False or y is False else None if x is None or y is None else True)
            elif o == conditions.OR:
                stack.append(True if x is True or y is True else None if x is None or y is None else False)
            elif x is None or y is None:
                stack.append(None)
            elif o >= conditions.CODE_LT:
                stack.append(COMPARE[o - conditions.CODE_LT](x, y))
            elif o in (conditions.DIV, conditions.MOD):
                stack.append(None if y == 0 else x / y if o == conditions.DIV else math.fmod(x, y))
            else:
                stack.append({conditions.ADD: x + y, conditions.SUB: x - y, conditions.MUL: x * y}[o])
    return stack[-1]


COMPARE = [
    lambda x, y: x < y, lambda x, y: x <= y, lambda x, y: x > y, lambda x, y: x >= y, lambda x, y: x == y,
    lambda x, y: x < y or x > y,
]  # fmt: skip


def holds(predicates: Predicates, events: Events, p: int, old: int, new: int) -> bool:
    for c in range(predicates.off[p], predicates.off[p + 1]):
        if not COMPARE[predicates.op[c]](events.f[c, old], events.g[c, new]):
            return False
    return predicates.code_off[p] == predicates.code_off[p + 1] or (
        code_value(predicates, events, p, old, new) is True
    )


def expected(program: Program, predicates: Predicates, events: Events, lo: int, hi: int) -> Any:
    """Hold every entry (state, event, count, sums, lows) and follow the definition."""
    sums, lows = len(program.sum_of), len(program.low_adds)
    least = [0.0 if adds else math.inf for adds in program.low_adds.tolist()]
    entries: list[tuple[int, int, list[int], list[float]]] = [(0, -1, [1] + [0] * sums, least)]
    i = lo
    while i < hi:
        j = i
        while j < hi and events.tick[j] == events.tick[i]:
            j += 1
        union = 0
        fresh = []
        extended: list[set[int]] = [set() for _ in entries]
        for e in range(i, j):
            mask = int(program.labels[events.symbol[e]])
            union |= mask
            for label in range(len(program.off) - 1):
                if not mask >> label & 1:
                    continue
                for t in range(program.off[label], program.off[label + 1]):
                    value, low = [0] * (1 + sums), [math.inf] * lows
                    for k, (s, old, v, m) in enumerate(entries):
                        p = program.pair[t]
                        if s == program.src[t] and (p < 0 or holds(predicates, events, p, old, e)):
                            value = [x + y for x, y in zip(value, v, strict=True)]
                            low = [min(x, y) for x, y in zip(low, m, strict=True)]
                            extended[k].add(label)
                    if not value[0]:
                        continue
                    before = list(value)
                    for q, (r, of) in enumerate(zip(program.sum_row[:, label], program.sum_of, strict=True)):
                        if r >= 0 and events.sums[r, e] == events.sums[r, e]:
                            value[1 + q] += before[of] * int(events.sums[r, e])
                    for q, (r, adds) in enumerate(zip(program.low_row[:, label], program.low_adds, strict=True)):
                        if r >= 0 and events.lows[r, e] == events.lows[r, e]:
                            x = events.lows[r, e]
                            low[q] = low[q] + x if adds else min(low[q], x)
                    fresh.append((int(program.dst[t]), e, value, low))
        kept = []
        for (s, old, v, m), by in zip(entries, extended, strict=True):
            for label in sorted(by) if program.mode == NEXT else ():
                s = int(program.leave[label, s]) if s >= 0 else -1
            s = int(program.keep[union, s]) if s >= 0 else -1
            if s >= 0:
                kept.append((s, old, v, m))
        entries = kept + fresh
        i = j
    out = [[0] * (1 + sums) for _ in range(program.classes)]
    out_low = [[math.inf] * lows for _ in range(program.classes)]
    for o, c in zip(program.out_state, program.out_class, strict=True):
        for s, _, v, m in entries:
            if s == o:
                out[c] = [x + y for x, y in zip(out[c], v, strict=True)]
                out_low[c] = [min(x, y) for x, y in zip(out_low[c], m, strict=True)]
    return out, out_low


def as_given(events: Events) -> Events:
    """Return the events as the engine gives them, read-only, so that both use the same compiled kernels."""
    return Events(*map(frozen, events))


def check(run: Any, program: Program, predicates: Predicates, events: Events, name: str, bounds: list[int]) -> None:
    field = FIELDS[name]
    columns = len(field.one)
    if name == "uint64":
        program = program._replace(low_row=program.low_row[:0], low_adds=program.low_adds[:0])
        null = np.iinfo(np.int64).min
        sums = np.where(np.isnan(events.sums), 0, events.sums).astype(np.int64)
        events = events._replace(sums=np.where(np.isnan(events.sums), null, sums), lows=events.lows[:0])
    width, lows = (1 + len(program.sum_of)) * columns, len(program.low_adds)
    lo, hi = np.array(bounds[:-1], np.int64), np.array(bounds[1:], np.int64)
    out = np.zeros((len(lo), program.classes, width), field.one.dtype)
    out_low = np.full((len(lo), program.classes, lows), np.inf)
    run(program, predicates, as_given(events), field, lo, hi, Table(out, out_low))
    plain = events
    if name == "uint64":
        null = np.iinfo(np.int64).min
        plain = events._replace(sums=np.where(events.sums == null, np.nan, events.sums.astype(float)))
    for k in range(len(lo)):
        value, low = expected(program, predicates, plain, bounds[k], bounds[k + 1])
        assert out_low[k].tolist() == low
        for c in range(program.classes):
            want = value[c]
            if name == "uint64":
                assert out[k, c].tolist() == [v % int(m) for v in want for m in field.mod]
            else:
                got = out[k, c] if name == "float64" else to_double(out[k, c])
                assert got.tolist() == pytest.approx([float(v) for v in want], rel=1e-9, abs=0)


def sweep(kernel: str, mode: int, name: str, seeds: range, allowed: list[Any] | None = None) -> int:
    """Run random cases and return how many the kernel supported."""
    done = 0
    for seed in seeds:
        rng = random.Random(seed)
        program, predicates = program_of(mode, rng, allowed)
        if not KERNELS[kernel][0](program, predicates):
            continue
        n = rng.choice([0, 1, 5, 12, 14])
        events = events_of(program, predicates, rng, n, rng.random() < 0.5)
        if kernel == "queue":
            events = rising(events, rng)
        bounds = sorted({0, n, *(rng.randint(0, n) for _ in range(2))}) if n else [0, 0]
        try:
            check(KERNELS[kernel][1], program, predicates, events, name, bounds)
        except Exception as error:
            raise AssertionError(f"{kernel} {mode} {name} seed {seed}: {error}") from error
        done += 1
    return done


CASES = [
    ("scan", ANY, None, 100, 100),
    ("scan", NEXT, None, 100, 100),
    ("scan", CONTIGUOUS, None, 100, 100),
    ("trees", ANY, KINDS[:12], 200, 100),
    ("divide", ANY, KINDS[:16], 200, 100),
    ("heap", NEXT, KINDS[:4], 200, 100),
    ("queue", ANY, RISING, 300, 100),
]


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize(("kernel", "mode", "kinds", "seeds", "least"), CASES)
def test_kernel_equals_definition(
    kernel: str, mode: int, kinds: list[Any] | None, seeds: int, least: int, name: str
) -> None:
    assert sweep(kernel, mode, name, range(seeds), kinds) >= least


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize(("kernel", "mode", "kinds", "seeds", "least"), CASES)
def test_long_stretches_agree_with_scan(
    kernel: str, mode: int, kinds: list[Any] | None, seeds: int, least: int, name: str
) -> None:
    """Sizes at which radix sort, several levels of halving and growing lists come into play."""
    field, columns = FIELDS[name], len(FIELDS[name].one)
    for seed in range(1000, 1006):
        rng = random.Random(seed)
        program, predicates = program_of(mode, rng, kinds)
        if kernel == "scan" or not KERNELS[kernel][0](program, predicates):
            continue
        program = program._replace(low_row=program.low_row[:0], low_adds=program.low_adds[:0])
        n = 700
        events = events_of(program, predicates, rng, n, rng.random() < 0.5)
        if kernel == "queue":
            events = rising(events, rng)
        if name == "uint64":
            events = events._replace(sums=np.nan_to_num(events.sums).astype(np.int64))
        width = (1 + len(program.sum_of)) * columns
        got, want = (np.zeros((2, program.classes, width), field.one.dtype) for _ in range(2))
        lo, hi = np.array([0, 300]), np.array([300, n])
        low = np.zeros((2, program.classes, 0))
        events = as_given(events)
        KERNELS[kernel][1](program, predicates, events, field, lo, hi, Table(got, low))
        KERNELS["scan"][1](program, predicates, events, field, lo, hi, Table(want, low))
        if name == "uint64":
            assert (got == want).all()
        elif name == "float64":
            np.testing.assert_allclose(got[..., 0], want[..., 0], rtol=1e-9)
        else:
            nonzero = want[..., 0] != 0
            assert ((got[..., 0] != 0) == nonzero).all()
            np.testing.assert_allclose(log2(got[..., 0][nonzero]), log2(want[..., 0][nonzero]), rtol=1e-9)


def plus(mode: int) -> Program:
    """Make the machine of S+: start, a stored state, and a state of results."""
    ints = lambda values: np.array(values, np.int64)  # noqa: E731
    keep = [[0, -1 if mode == CONTIGUOUS else 1, 2]] * 2
    none = np.zeros((0, 1), np.int64)
    carried = none, none[:, 0].copy(), none, np.zeros(0, np.bool_)
    return Program(
        mode, 3, ints([0, 4]), ints([0, 1, 0, 1]), ints([1, 1, 2, 2]), ints([-1, 0, -1, 0]), ints(keep),
        ints([[0, -1, 2]]), np.array([0, 1], np.uint64), ints([2]), ints([0]), 1, *carried,
    )  # fmt: skip


@pytest.mark.parametrize("kernel", ["scan", "trees", "divide"])
def test_huge_counts(kernel: str) -> None:
    n = 5000
    ints = lambda values: np.array(values, np.int64)  # noqa: E731
    predicates = Predicates(ints([0, 1]), ints([LE]), ints([0, 0]), np.zeros((0, 2), np.int64), np.zeros(0))
    same = np.zeros((1, n))
    events = Events(np.arange(n), np.ones(n, np.uint32), np.zeros((0, n)), np.zeros((0, n)), same, same)
    out = np.zeros((1, 1, 1), WIDE)
    field = FIELDS["complex128"]
    low = np.zeros((1, 1, 0))
    KERNELS[kernel][1](
        plus(ANY), predicates, as_given(events), field, np.array([0]), np.array([n]), Table(out, low)
    )
    assert log2(out)[0, 0, 0] == pytest.approx(n, abs=1e-9)


def test_choice() -> None:
    ints = lambda values: np.array(values, np.int64)  # noqa: E731

    def pick(mode: int, ops: list[int], code: bool = False) -> str:
        instructions = ints([(conditions.PUSH_CONST, 0)] if code else []).reshape(-1, 2)
        predicates = Predicates(
            ints([0, len(ops)]), ints(ops), ints([0, len(instructions)]), instructions, np.ones(1)
        )
        return next(name for name, (supports, _) in KERNELS.items() if supports(plus(mode), predicates))

    assert pick(ANY, [LT]) == pick(ANY, [EQ, NE]) == pick(ANY, []) == "trees"
    assert pick(ANY, [LT, GE]) == pick(ANY, [NE, NE, EQ]) == "divide"
    assert pick(ANY, [LT], code=True) == pick(ANY, [LT, LT, LT]) == "scan"
    assert pick(NEXT, [GE]) == "heap"
    assert pick(NEXT, [EQ]) == "scan"
    assert pick(CONTIGUOUS, [EQ, LT]) == "scan"


def test_without_compiler() -> None:
    code = (
        f"import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        "import test_predicates as t\n"
        "for kernel, mode, kinds, _, _ in t.CASES:\n"
        "    for name in t.FIELDS:\n"
        "        t.sweep(kernel, mode, name, range(12), kinds)\n"
    )
    path = os.pathsep.join([os.path.dirname(os.path.dirname(os.path.dirname(conditions.__file__))), *sys.path])
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
