"""From totals to outputs: the numbers that partial results add up (`write_parts`), then columns.

The totals of a spread are of differences to a number near the mean, so that nothing large is subtracted. Parts of a
result that come from different tables have different such numbers, and so are added up as means and variances.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa

from sparkleene.columns.arrow import Array, make_array
from sparkleene.engine.decimals import digits_of, write_decimal
from sparkleene.engine.weights import Scaled, Unit
from sparkleene.kernels.wide import add_multiples, is_positive, log2, ratio, to_double, to_wide
from sparkleene.plan.aggregates import SPREADS, Made

NOISE = 2.0**-48  # of the squares: a variance below that is what rounding leaves of equal values


def part_width(made: Made) -> int:
    """Return of how many numbers that are added up an output is made."""
    if made.is_low:
        return 0
    if made.output.function == "count":
        return 1
    return 3 if made.output.function in SPREADS else 2


def write_parts(made: Made, values: Array, units: Sequence[Unit]) -> Array:
    """Return the wide numbers that an output is made of, from totals [rows, blocks times (count and totals)].

    A count is itself; a sum or a mean is the sum and the number of values; a spread the variance, the mean and that
    number.
    """
    width, output = 1 + len(units), made.output
    first = made.block * width
    columns = [values[:, first + 1 + i] for i in made.of]
    count = values[:, first]
    if output.function == "count":
        return np.stack([columns[0] if columns else count], 1)
    if output.function in SPREADS:
        number = columns[2] if output.measure is None else count
        return np.stack([*_variance(made, columns, number, units), number], 1)
    if output.measure is None:
        return np.stack(columns, 1)
    factors = [float(factor) for factor in made.factors]
    scales = [factor * units[i].scale for factor, i in zip(factors, made.of, strict=True)]
    centre = sum(factor * units[i].centre for factor, i in zip(factors, made.of, strict=True))
    return np.stack(
        [add_multiples([*columns, count], [*scales, float(output.measure.constant) + centre]), count], 1
    )


def _variance(made: Made, columns: Sequence[Array], count: Array, units: Sequence[Unit]) -> tuple[Array, Array]:
    """Return variance and mean from the totals of a spread."""
    known = np.where(is_positive(count), count, 1.0)
    first, second, third = (ratio(column, known) for column in columns)
    squares = first if made.output.measure is None else third + 2.0 * first
    scale, centre = units[made.of[1]]
    constant = 0.0 if made.output.measure is None else float(made.output.measure.constant)
    variance = squares - second * second
    variance = np.where(variance <= NOISE * squares, 0.0, variance) * scale**2
    return to_wide(variance), to_wide(second * scale + centre + constant)


def rounding_error(made: Made, values: Array, units: Sequence[Unit]) -> Array:
    """Return by how much the variance of a measure may be wrong, given what `write_parts` is given."""
    first = made.block * (1 + len(units))
    count = values[:, first]
    known = np.where(is_positive(count), count, 1.0)
    products, _, squares = (ratio(values[:, first + 1 + i], known) for i in made.of)
    return 2.0**-49 * (squares + 2.0 * np.abs(products)) * units[made.of[1]].scale ** 2


def write_exact_parts(
    made: Made, row: Sequence[int], totals: Sequence[Scaled], width: int, spread: Sequence[float]
) -> list[Fraction]:
    """Return what `write_parts` does for a row of integers; variance and mean of a `spread` are given."""
    first, output = made.block * width, made.output
    count = Fraction(row[first])

    def total(which: int) -> Fraction:
        return sum((row[first + 1 + column] * scale for column, scale in totals[which]), Fraction(0))

    if output.function == "count":
        return [total(made.of[0]) if made.of else count]
    if output.function in SPREADS:
        return [*map(Fraction, spread), total(made.of[2]) if output.measure is None else count]
    if output.measure is None:
        return [total(made.of[0]), total(made.of[1])]
    factors = zip(made.factors, made.of, strict=True)
    return [sum((factor * total(i) for factor, i in factors), output.measure.constant * count), count]


def add_spreads(parts: Array, sums: Array, starts: Array) -> Array:
    """Return the spreads of runs of rows, whose numbers of values are added up in `sums` already."""
    run = np.repeat(np.arange(starts.size), np.diff(np.append(starts, len(parts))))
    whole = np.where(is_positive(sums[:, 2]), sums[:, 2], 1.0)
    share = ratio(parts[:, 2], whole[run])
    means = to_double(parts[:, 1])
    mean = np.bincount(run, share * means, starts.size)
    variance = np.bincount(run, share * (to_double(parts[:, 0]) + (means - mean[run]) ** 2), starts.size)
    return np.stack([to_wide(variance), to_wide(mean), sums[:, 2]], 1)


def add_exact_spreads(rows: Sequence[Sequence[Fraction]]) -> list[Fraction]:
    """Return the spread of rows of variance, mean and number of values."""
    count = sum((row[2] for row in rows), Fraction(0))
    if not count:
        return [Fraction(0), Fraction(0), count]
    mean = sum((row[2] * row[1] for row in rows), Fraction(0)) / count
    variance = sum((row[2] * (row[0] + (row[1] - mean) ** 2) for row in rows), Fraction(0)) / count
    return [Fraction(float(variance)), Fraction(float(mean)), count]


def double_column(made: Made, parts: Array) -> pa.Array:
    """Return a column of results from wide numbers."""
    function, log, first = made.output.function, made.output.log, parts[:, 0]
    if log is not None:
        positive = is_positive(first)
        logs = np.where(positive, log2(np.where(positive, first, 1.0)), np.nan)
        return make_array(logs if log == 2 else logs * np.log10(2), mask=~positive)
    if function == "count":
        return make_array(to_double(first).astype(np.int64) if made.is_apart else to_double(first))
    count = parts[:, -1]
    absent = ~is_positive(count)
    if function == "sum":
        return make_array(to_double(first), mask=absent)
    if function == "avg":
        return make_array(ratio(first, np.where(absent, 1.0, count)), mask=absent)
    return spread_column(function, to_double(first), to_double(count))


def exact_column(made: Made, parts: Sequence[Sequence[Fraction]]) -> pa.Array:
    """Return a column of results from exact numbers: what an output is made of, in each row."""
    function, log = made.output.function, made.output.log
    counts = [int(row[-1]) for row in parts]
    if log is not None:
        per = 1.0 if log == 2 else math.log10(2)
        return make_array([_log2(count) * per if count else None for count in counts], pa.float64())
    if function == "count" and made.is_apart:
        return make_array(counts, pa.int64())
    if function == "count":
        return make_array([digits_of(count) for count in counts], pa.string())
    if function == "sum":
        sums = [write_decimal(row[0]) if row[-1] else None for row in parts]
        return make_array(sums, pa.string())
    if function == "avg":
        return make_array([float(row[0] / row[-1]) if row[-1] else None for row in parts], pa.float64())
    variance = np.array([float(row[0]) for row in parts], np.float64)
    return spread_column(function, variance, np.array([_as_double(count) for count in counts], np.float64))


def _as_double(count: int) -> float:
    return float(count) if count.bit_length() < 1000 else math.inf


def _log2(value: int) -> float:
    shift = max(0, value.bit_length() - 64)
    return math.log2(value >> shift) + shift


def spread_column(function: str, variance: Array, count: Array) -> pa.Array:
    """Return variances or standard deviations; NULL without values, and of a sample with one value alone."""
    least = 2 if function.endswith("samp") else 1
    if least == 2:
        with np.errstate(invalid="ignore"):
            variance = np.where(np.isposinf(count), variance, variance * (count / np.maximum(count - 1.0, 1.0)))
    return make_array(np.sqrt(variance) if function.startswith("stddev") else variance, mask=count < least)
