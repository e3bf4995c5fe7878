"""First and last events that need no mark: those of labels that every trend has exactly once.

In `SEQ(A, B+, C)` the first event of a trend is its A and the last its C, and there is one of each. So
`FIRST(A.time)` and `LAST(A.time)` are the sum of the times of A in a trend, and so are the ends of DURATION: sums
of the machine as it is, where marks would multiply its states.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction

from sparkleene.language.bound import Output, Piece
from sparkleene.plan.positions import Positions, reverse_positions

Labels = frozenset[int]


def find_sole_events(outputs: Sequence[Output], operands: Sequence[Positions]) -> tuple[Output, ...]:
    """Return outputs whose first and last values are `sole` ones where the patterns allow it.

    A value that may be NULL keeps its mark: a trend that has none is left out, and a sum does not tell.
    """
    return tuple(
        output
        if output.measure is None
        else replace(output, measure=replace(output.measure, pieces=_pieces(output.measure.pieces, operands)))
        for output in outputs
    )


def _pieces(pieces: Sequence[Piece], operands: Sequence[Positions]) -> tuple[Piece, ...]:
    """Return the pieces of a measure, of which two may have become one."""
    found: dict[Piece, Piece] = {}
    for piece in pieces:
        labels = None if piece.kind not in ("first", "last") or piece.nullable else _sole_labels(piece, operands)
        one = piece if labels is None else replace(piece, kind="sole", labels=labels)
        kind = replace(one, factor=Fraction(1))
        known = found.get(kind)
        found[kind] = one if known is None else replace(one, factor=one.factor + known.factor)
    return tuple(found.values())


def _sole_labels(piece: Piece, operands: Sequence[Positions]) -> Labels | None:
    """Return the labels one of which the first or last event always has, if every trend has just one such event."""
    found: set[int] = set()
    for operand in operands:
        way = operand if piece.kind == "first" else reverse_positions(operand)
        found |= {way.labels[p] for p in _reach(way, way.first, piece.labels) if way.labels[p] in piece.labels}
    labels = frozenset(found)
    return labels if labels and all(_has_just_one(operand, labels) for operand in operands) else None


def _has_just_one(p: Positions, labels: Labels) -> bool:
    """Tell whether every trend has exactly one event of some labels."""
    among = {q for q in range(len(p.labels)) if p.labels[q] in labels}
    if any(p.labels[q] not in labels and q in p.last for q in _reach(p, p.first, labels)):
        return False  # a trend without any
    after = [q for one in among for q in p.follow[one]]
    return not any(p.labels[q] in labels for q in _reach(p, after, labels))


def _reach(p: Positions, begin: Collection[int], until: Labels) -> set[int]:
    """Return the positions that are reached from some, at most to the first of the labels on each way."""
    seen = set(begin)
    todo = list(seen)
    while todo:
        at = todo.pop()
        if p.labels[at] not in until:
            fresh = set(p.follow[at]) - seen
            seen |= fresh
            todo += fresh
    return seen
