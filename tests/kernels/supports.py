"""Which kernel can run a program, found from its arrays: an independent check of what the plan chooses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sparkleene.kernels import divide, fenwick, heap, queue, scan
from sparkleene.kernels.program import ANY, GE, GT, LE, LT, NE, NEXT, Predicates, Program


def supports_fenwick(program: Program, predicates: Predicates) -> bool:
    """Tell whether pairs have equalities and at most one inequality or `!=`, and moves go one after the other."""
    if program.mode != ANY:
        return False
    for pair in {int(p) for p in program.pair if p >= 0}:
        counts = _shape(predicates, pair)
        if counts is None or sum(counts) > 1:
            return False
    return _moves_in_order(program)


def supports_divide(program: Program, predicates: Predicates) -> bool:
    """Tell whether pairs have equalities and at most two inequalities, and nothing stored moves."""
    if program.mode != ANY or not _moves_in_order(program):
        return False
    stored = set()
    for s, pair in zip(program.src.tolist(), program.pair.tolist(), strict=True):
        if pair >= 0:
            counts = _shape(predicates, pair)
            if counts is None or sum(counts) > 2:
                return False
            stored.add(s)
    return all(row[s] == s for row in program.keep.tolist() for s in stored)


def supports_heap(program: Program, predicates: Predicates) -> bool:
    """Tell whether every state has one inequality to be extended by, and what leaves it one place to go to."""
    if program.mode != NEXT or not _moves_in_order(program):
        return False
    pair_of: dict[int, int] = {}
    for s, p in zip(program.src.tolist(), program.pair.tolist(), strict=True):
        if p >= 0 and pair_of.setdefault(s, p) != p:
            return False
    for p in set(pair_of.values()):
        ops = predicates.op[predicates.off[p] : predicates.off[p + 1]]
        code = predicates.code_off[p] != predicates.code_off[p + 1]
        if code or len(ops) != 1 or int(ops[0]) not in (LT, LE, GT, GE):
            return False
    for row in program.keep.tolist():  # a heap moves only where it is ordered the same way
        for s, t in enumerate(row):
            if s in pair_of and t in pair_of and pair_of[s] != pair_of[t]:
                return False
    out = {s: set[int]() for s in range(program.states)}
    for label in range(len(program.off) - 1):
        for s in program.src[program.off[label] : program.off[label + 1]].tolist():
            out[s].add(label)
    for s, labels in out.items():
        reached = {s}
        for _ in labels:
            reached |= {int(program.leave[label, t]) for t in reached if t >= 0 for label in labels}
        reached.discard(-1 if s in pair_of else s)
        # What is extended may go to one state without predicates, whatever the labels.
        if s in pair_of:
            first = {int(program.leave[label, s]) for label in labels}
            if len(first) > 1 or reached - {s} - first or first & {s}:
                return False
        if (reached - {s}) & pair_of.keys():
            return False
    return True


def supports_queue(program: Program, predicates: Predicates) -> bool:
    """Tell whether pairs are inequalities, here of sides that rise, and nothing moves from one store to another."""
    if program.mode != ANY or not _moves_in_order(program):
        return False
    stored = set()
    for s, pair in zip(program.src.tolist(), program.pair.tolist(), strict=True):
        if pair >= 0:
            counts = _shape(predicates, pair)
            if counts is None or counts[0] != predicates.off[pair + 1] - predicates.off[pair]:
                return False
            stored.add(s)
    return all(row[s] == s or row[s] not in stored for row in program.keep.tolist() for s in stored)


def supports_scan(program: Program, predicates: Predicates) -> bool:
    """Tell that the general kernel can run everything."""
    return True


def _moves_in_order(program: Program) -> bool:
    """Tell whether the moves of every symbol can be done one after the other, and start no list of entries."""
    stored = {int(s) for s, p in zip(program.src, program.pair, strict=True) if p >= 0}
    for row in program.keep.tolist():
        for s, target in enumerate(row):
            if target != s and target in stored and s not in stored:
                return False
            steps, at = 0, s
            while at >= 0 and row[at] != at and steps <= len(row):
                steps, at = steps + 1, row[at]
            if steps > len(row):
                return False
    return True


def _shape(predicates: Predicates, pair: int) -> tuple[int, int] | None:
    """Count inequalities and `!=` of a pair; None if it has code."""
    if predicates.code_off[pair] != predicates.code_off[pair + 1]:
        return None
    ops = [int(op) for op in predicates.op[predicates.off[pair] : predicates.off[pair + 1]]]
    return sum(op in (LT, LE, GT, GE) for op in ops), ops.count(NE)


KERNELS: dict[str, tuple[Callable[[Program, Predicates], bool], Callable[..., Any]]] = {
    "trees": (supports_fenwick, fenwick.run),
    "divide": (supports_divide, divide.run),
    "heap": (supports_heap, heap.run),
    "scan": (supports_scan, scan.run),
    "queue": (supports_queue, queue.run),  # where both sides rise in time
}
"""By the plan's name for a kernel whether it can run a program, and the function that does; the best first."""
