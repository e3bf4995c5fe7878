"""The scale of values: linear or logarithmic, and which values get a tick."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparkleene.charts.numbers import TOP, Array, Numbers

DECADES = 3.0  # beyond this span a linear scale hides the small values
ZERO = 0.12  # the share of a log scale that parts zero from the smallest value above it


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on a scale: where, from 0 at the bottom to 1 at the top, and its number, or the power of ten."""

    place: float
    number: float
    power: int | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """Where values stand between 0, the bottom, and 1, the top.

    `low` and `high` are powers of ten where `log`, and else numbers in units of ten to the power `power`. On a log
    scale `zero` keeps a place at the bottom for zeros.
    """

    log: bool
    low: float
    high: float
    power: int = 0
    zero: bool = False

    @property
    def floor(self) -> float:
        """Return the place of `low`."""
        return ZERO if self.zero else 0.0

    def places(self, values: Numbers) -> Array:
        """Return where values stand; what is infinite is at the edge, what is missing is NaN."""
        size = values.log10 if self.log else values.scale(self.power)
        with np.errstate(invalid="ignore"):
            share = np.clip((size - self.low) / (self.high - self.low), 0.0, 1.0)
            placed = self.floor + share * (1.0 - self.floor)
        return np.where(values.sign == 0, 0.0, placed) if self.log else placed

    def origin(self) -> float:
        """Return the place of zero, or the edge that is nearest to it."""
        return 0.0 if self.log else min(1.0, max(0.0, -self.low / (self.high - self.low)))

    def end(self, top: bool) -> Numbers:
        """Return the number at the top or at the bottom."""
        if self.log:
            power = self.high if top else self.low
            return Numbers(np.array([0.0 if self.zero and not top else 1.0]), np.array([power]))
        number = self.high if top else self.low
        size = -math.inf if number == 0 else math.log10(abs(number)) + self.power
        return Numbers(np.array([np.sign(number)]), np.array([size]))

    def ticks(self, most: int = 6) -> list[Tick]:
        """Return ticks at round numbers.

        >>> [tick.power for tick in Scale(True, 0.0, 120.0).ticks()]
        [0, 20, 40, 60, 80, 100, 120]
        >>> [tick.number for tick in Scale(False, 0.0, 9.0).ticks()]
        [0.0, 2.0, 4.0, 6.0, 8.0]
        """
        wide = (self.high - self.low) * 0.04  # pictures have room at both ends
        low, high = self.low - wide * (self.low != 0 or self.log), self.high + wide
        if not self.log:
            return [Tick(self._place(number), number) for number in _round_numbers(low, high, most)]
        step = next(s * 10**e for e in range(300) for s in (1, 2, 5) if (high - low) / (s * 10**e) <= most + 0.5)
        powers = range(math.ceil(low / step) * step, math.floor(high) + 1, step)
        found = [Tick(self._place(power), 1.0, power) for power in powers]
        if len(found) < 3:
            found = [
                Tick(self._place(power + math.log10(m)), float(m), power)
                for power in range(math.floor(low), math.ceil(high) + 1)
                for m in (1, 2, 5)
                if low <= power + math.log10(m) <= high
            ]
        return [Tick(0.0, 0.0)] * self.zero + found

    def _place(self, number: float) -> float:
        return self.floor + (number - self.low) / (self.high - self.low) * (1.0 - self.floor)


def _round_numbers(low: float, high: float, most: int) -> list[float]:
    """Return round numbers from low to high, about `most` of them at most."""
    rough = (high - low) / most
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * s for s in (1, 2, 2.5, 5, 10) if unit * s >= rough * 0.999)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def scale_of(values: Numbers, bars: bool = False) -> Scale:
    """Choose a scale: logarithmic for values of no sign that span three decades, or one beyond a million.

    A linear scale begins at zero for bars, and for lines unless all values are far from it; one with values
    beyond a million counts in a power of ten, so that it can hold numbers beyond doubles.

    >>> from sparkleene.charts.numbers import parse_decimals
    >>> large = "5" + "0" * 5000
    >>> scale_of(parse_decimals(["1", large])).log, scale_of(parse_decimals(["-1", large])).power
    (True, 5000)
    >>> scale_of(parse_decimals(["3", "10"])), round(scale_of(parse_decimals(["8", "10"])).low)
    (Scale(log=False, low=0.0, high=10.0, power=0, zero=False), 8)
    """
    values = values.take(values.present())
    size = values.log10[values.sign != 0]
    finite = size[np.isfinite(size)]
    if not size.size:
        return Scale(False, 0.0, 1.0)
    infinite = finite.size < size.size
    if (values.sign >= 0).all():
        high = TOP if infinite else float(finite.max())
        low = float(finite.min(initial=high))
        # A few windows with hardly a trend, as at the ends of a stream, do not ask for a log scale.
        usual = low if bars or not finite.size else float(np.quantile(finite, 0.05))
        if infinite or high - usual > DECADES or (high > 6 and high - usual > 1):
            low = min(0.0, math.floor(low)) if bars else min(low, high - 1)
            return Scale(True, low, high, zero=bool((values.sign == 0).any()) and not bars)
    return _linear_scale(values.take(np.isfinite(values.log10) | (values.sign == 0)), bars)


def _linear_scale(values: Numbers, bars: bool) -> Scale:
    """Return a linear scale for finite values; infinite ones beside them stand at its edges."""
    largest = float(values.log10.max(initial=-math.inf))
    power = 0 if not math.isfinite(largest) or -3 <= largest < 6 else math.floor(largest)
    sizes = values.scale(power)
    low, high = float(sizes.min(initial=math.inf)), float(sizes.max(initial=-math.inf))
    if low > high:
        return Scale(False, -1.0, 1.0)
    near = (high - low) * 1.0001 >= max(abs(low), abs(high)) / 4
    if low >= 0 and (bars or near or low == high):
        low = 0.0
    if high <= 0 and (bars or near or low == high):
        high = 0.0
    return Scale(False, low, high if high > low else low + 1.0, power)
