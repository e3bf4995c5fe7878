"""What is added up while trends are counted, and how the outputs of a query are made of it.

An output over trends may leave some trends out: those without the event whose first or last value it asks for.
Trends are then added up twice, all of them and those that are complete: a *block* of numbers for each such demand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NamedTuple

from sparkleene.errors import NOWHERE, Span
from sparkleene.language.bound import Bound, Measure, Output, Piece

SPREADS = ("var_pop", "var_samp", "stddev_pop", "stddev_samp")


@dataclass(frozen=True)
class Total:
    """A sum over the events of trends: of the value that pieces give to an event, or of its square.

    With `present` the events that have a value count 1 each. Where `central` says so, values, or those that are the
    first or last of a trend, are differences to a number near their mean; of what is the "least" no number is taken
    off. A `chained` total adds up the products of the values of any two events of a trend.
    """

    pieces: tuple[Piece, ...]
    present: bool = False
    square: bool = False
    central: Literal["", "values", "ends", "least"] = ""
    chained: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Low:
    """The least value of a piece over the events of trends, or of a measure over trends; or the greatest."""

    of: Piece | Measure
    maximum: bool
    span: Span = field(default=NOWHERE, compare=False, repr=False)


class Made(NamedTuple):
    """An output, and what it is made of: totals, or one low, of a block; no totals are the count of trends.

    What counts events or keys once each is found apart from all of these.
    """

    output: Output
    of: tuple[int, ...]
    block: int = 0

    @property
    def factors(self) -> tuple[Fraction | int, ...]:
        """What the totals of a measure are multiplied by: those of its pieces, which a difference has in it."""
        measure = self.output.measure
        assert measure is not None
        return (1,) if is_difference(measure) else tuple(piece.factor for piece in measure.pieces)

    @property
    def is_low(self) -> bool:
        """Whether it is made of a low."""
        return self.output.function in ("min", "max")

    @property
    def is_apart(self) -> bool:
        """Whether it is of events or keys, each once, and so not made of totals."""
        return self.output.each or bool(self.output.distinct)


@dataclass(frozen=True)
class Aggregates:
    """The totals and lows that a query needs, each once, and for each output those that it is made of."""

    totals: tuple[Total, ...]
    lows: tuple[Low, ...]
    outputs: tuple[Made, ...]
    demands: tuple[frozenset[Piece], ...]  # the pieces that block 1 + i demands of its trends

    @property
    def blocks(self) -> int:
        """How many blocks there are; the first is for all trends."""
        return 1 + len(self.demands)

    @property
    def width(self) -> int:
        """How many numbers a state has for one window: its count, the totals and the lows."""
        return 1 + len(self.totals) + len(self.lows)

    @property
    def each(self) -> tuple[Output, ...]:
        """The outputs over events that are in some trend, each once."""
        return tuple(made.output for made in self.outputs if made.output.each)

    @property
    def spreads(self) -> bool:
        """Whether some output is a variance or a standard deviation, whose digits ask for all rows at once."""
        return any(total.central for total in self.totals)

    @property
    def trackers(self) -> tuple[Piece, ...]:
        """The pieces for which a machine has to know the first or last event of some labels."""
        return tuple(dict.fromkeys(ends_of(self.pieces)))

    @property
    def pieces(self) -> list[Piece]:
        """The pieces of totals and of measures whose least or greatest value is asked for."""
        used = [piece for total in self.totals for piece in total.pieces]
        return used + [piece for low in self.lows if isinstance(low.of, Measure) for piece in low.of.pieces]


def ends_of(pieces: list[Piece] | tuple[Piece, ...]) -> list[Piece]:
    """Return the first and last values among pieces, without their factors."""
    return [Piece(piece.kind, piece.labels, piece.path, nullable=piece.nullable)
            for piece in pieces if piece.kind in ("first", "last")]  # fmt: skip


def is_whole(output: Output) -> bool:
    """Tell whether an output over integers is always an integer."""
    return output.function in ("count", "sum") and output.log is None


def aggregates(bound: Bound, given: Sequence[Output]) -> Aggregates:
    """Find the totals and lows that the outputs of a query need."""
    totals: dict[Total, int] = {}
    lows: dict[Low, int] = {}
    demands: dict[frozenset[Piece], int] = {}
    every = frozenset(i for i, label in enumerate(bound.labels) if not label.negated)
    outputs = []
    for output in given:
        block = 0
        if output.measure is not None:
            # Every trend has a first and a last event; others it may lack.
            demand = frozenset(end for end in ends_of(output.measure.pieces) if end.nullable or end.labels != every)
            block = demands.setdefault(demand, 1 + len(demands)) if demand else 0
        if output.each or output.distinct:
            outputs.append(Made(output, ()))
        elif output.function in ("min", "max"):
            piece = Piece("sum", output.labels, output.path)
            low = Low(output.measure or piece, output.function == "max", output.span)
            outputs.append(Made(output, (lows.setdefault(low, len(lows)),), block))
        else:
            of = tuple(totals.setdefault(total, len(totals)) for total in _totals(output))
            outputs.append(Made(output, of, block))
    return Aggregates(tuple(totals), tuple(lows), tuple(outputs), tuple(demands))


def is_difference(measure: Measure) -> bool:
    """Tell whether a measure is one value of a column less another, as DURATION is: that takes one total."""
    ends = all(piece.kind != "sum" for piece in measure.pieces)
    factors = sorted(piece.factor for piece in measure.pieces)
    return ends and factors == [-1, 1] and len({piece.path for piece in measure.pieces}) == 1


def _totals(output: Output) -> list[Total]:
    """Return the totals that an output is made of."""
    span, measure, spread = output.span, output.measure, output.function in SPREADS
    if measure is not None and spread:
        given = measure.pieces
        chained = Total(given, central="ends", chained=True, span=span)
        return [
            chained,
            Total(given, central="ends", span=span),
            Total(given, square=True, central="ends", span=span),
        ]
    if measure is not None and is_difference(measure):
        return [Total(measure.pieces, span=span)]
    if measure is not None:
        return [Total((Piece(one.kind, one.labels, one.path, nullable=one.nullable),), span=span)
                for one in measure.pieces]  # fmt: skip
    if not output.labels:
        return []
    pieces = (Piece("sum", output.labels, output.path),)
    if output.function == "count":
        return [Total(pieces, present=bool(output.path), span=span)]
    present = Total(pieces, present=True, span=span)
    if spread:
        squares = Total(pieces, square=True, central="values", span=span)
        return [squares, Total(pieces, central="values", span=span), present]
    assert output.function in ("sum", "avg"), output.function
    return [Total(pieces, span=span), present]
