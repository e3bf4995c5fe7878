"""What is added up while trends are counted, and how the outputs of a query are made of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from sparkleene.errors import NOWHERE, Span
from sparkleene.language.bound import Bound, Output, Path


@dataclass(frozen=True)
class Total:
    """A sum over the events of some labels: of an attribute, or of ones (`path` empty or `present`)."""

    labels: frozenset[int]
    path: Path
    present: bool  # count the events that have the attribute instead of adding it up
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Low:
    """The least value of an attribute over the events of some labels; the greatest, if `maximum`."""

    labels: frozenset[int]
    path: Path
    maximum: bool
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True)
class Aggregates:
    """The totals and lows that a query needs, each once, and for each output those that it is made of."""

    totals: tuple[Total, ...]
    lows: tuple[Low, ...]
    outputs: tuple[tuple[Output, tuple[int, ...]], ...]

    @property
    def width(self) -> int:
        """How many numbers a state has for one window: its count, the totals and the lows."""
        return 1 + len(self.totals) + len(self.lows)


def aggregates(bound: Bound) -> Aggregates:
    """Find the totals and lows that the outputs of a query need."""
    totals: dict[Total, int] = {}
    lows: dict[Low, int] = {}
    outputs: list[tuple[Output, tuple[int, ...]]] = []
    for output in bound.outputs:
        made_of: tuple[int, ...] = ()
        if output.function in ("min", "max"):
            low = Low(output.labels, output.path, output.function == "max", output.span)
            made_of = (lows.setdefault(low, len(lows)),)
        elif output.path:
            wanted = [Total(output.labels, output.path, False, output.span)] * (output.function != "count")
            wanted += [Total(output.labels, output.path, True, output.span)]
            made_of = tuple(totals.setdefault(total, len(totals)) for total in wanted)
        elif output.labels:
            made_of = (totals.setdefault(Total(output.labels, (), True), len(totals)),)
        outputs.append((output, made_of))
    return Aggregates(tuple(totals), tuple(lows), tuple(outputs))
