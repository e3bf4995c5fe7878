"""Copies of a machine side by side: what a step does to all of them is what its transitions do one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.kernels.supports import supports_fenwick
from tests.kernels.test_predicates import FIELDS, KINDS, check, events_of, program_of

from sparkleene.kernels import fenwick
from sparkleene.kernels.lanes import find_lanes
from sparkleene.kernels.program import ANY, Program
from sparkleene.kernels.ticks import Transitions, transitions_of

Row = tuple[int, int, int, int, int]  # symbol, label, from where, where to, pair


def copy_machine(program: Program, copies: int, rng: random.Random) -> Program:
    """Return a machine with copies of all states but the start, which leads into some of them only."""

    def place(state: int, copy: int) -> int:
        return state if state <= 0 else 1 + (state - 1) * copies + copy

    rows, off = [], [0]
    for label in range(len(program.off) - 1):
        here = range(program.off[label], program.off[label + 1])
        rows += [
            (place(program.src[t], c), place(program.dst[t], c), program.pair[t])
            for t in here
            for c in range(copies)
            if program.src[t] or rng.random() < 0.6
        ]
        off.append(len(rows))
    src, dst, pair = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    states = 1 + (program.states - 1) * copies
    keep = np.tile(np.arange(states), (len(program.keep), 1))
    for y, s, c in np.ndindex(len(program.keep), program.states, copies):
        keep[y, place(s, c)] = place(int(program.keep[y, s]), c)
    ends = zip(program.out_state, program.out_class, strict=True)
    outs = [(place(s, c), c * program.classes + k) for s, k in ends for c in range(copies)]
    out_state, out_class = np.array(outs, np.int64).T.copy()
    leave = np.tile(np.arange(states), (len(program.leave), 1))
    return program._replace(
        states=states, off=np.array(off), src=src, dst=dst, pair=pair, keep=keep, leave=leave, out_state=out_state,
        out_class=out_class, classes=copies * program.classes,
    )  # fmt: skip


def expand(program: Program, listed: np.ndarray) -> tuple[list[Row], list[Row], int]:
    """Return the transitions of a machine as they are, and as steps into lanes and others; and the most lanes."""
    by = transitions_of(program, False)
    slot = np.where(by.stored, 0, -1)[:, None]
    steps, left = find_lanes(by, slot, ~listed)

    def rows(some: Transitions) -> list[Row]:
        symbol = np.repeat(np.arange(some.off.size - 1), np.diff(some.off))
        return list(zip(*(x.tolist() for x in (symbol, some.label, some.src, some.dst, some.pair)), strict=True))

    found = rows(left)
    for y in range(steps.off.size - 1):
        for k in range(steps.off[y], steps.off[y + 1]):
            for a in range(steps.source_off[k], steps.source_off[k + 1]):
                found += [
                    (y, int(steps.label[k]), int(steps.src[a]) + i, int(steps.dst[k]) + i, int(steps.pair[a]))
                    for i in range(steps.count[k])
                ]
    return rows(by), found, int(steps.count.max(initial=0))


@pytest.mark.parametrize("name", FIELDS)
def test_copies_equal_the_definition(name: str) -> None:
    shared = 0
    for seed in range(150):
        rng = random.Random(seed)
        single, predicates = program_of(ANY, rng, KINDS[:12])
        if rng.random() < 0.8:
            single = single._replace(low_row=single.low_row[:0], low_adds=single.low_adds[:0])
        program = copy_machine(single, rng.choice([2, 3, 5]), rng)
        if not supports_fenwick(program, predicates):
            continue
        n = rng.choice([1, 5, 12, 14])
        events = events_of(program, predicates, rng, n, rng.random() < 0.5)
        bounds = sorted({0, n, *(rng.randint(0, n) for _ in range(2))})
        try:
            check(fenwick.run, program, predicates, events, name, bounds)
        except Exception as error:
            raise AssertionError(f"{name} seed {seed}: {error}") from error
        shared += fenwick.count_lanes(program, predicates) > 1
    assert shared >= 50


def test_steps_are_the_transitions_that_they_stand_for() -> None:
    most = []
    for seed in range(100):
        rng = random.Random(seed)
        program = copy_machine(program_of(ANY, rng, KINDS[:12])[0], rng.choice([2, 3, 5]), rng)
        listed = np.array([rng.random() < 0.1 for _ in range(program.states)])
        wanted, found, count = expand(program, listed)
        assert sorted(found) == sorted(wanted), seed
        most.append(count)
    assert max(most) >= 5
    assert sum(count > 1 for count in most) >= 50


def test_what_may_move_is_in_no_lane() -> None:
    program = copy_machine(program_of(ANY, random.Random(1), KINDS[:12])[0], 5, random.Random(1))
    wanted, found, count = expand(program, np.ones(program.states, np.bool_))
    assert (found, count) == (wanted, 0)
