"""What events add to the totals and lows of trends: rows of numbers, and which row counts for which label."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from sparkleene.columns import values
from sparkleene.columns.arrow import Array, as_numpy, fill_null, make_array
from sparkleene.columns.fields import decode, find_column, is_clock
from sparkleene.engine.substreams import SubStreams, read_only
from sparkleene.errors import NOWHERE, Place, Span
from sparkleene.kernels.columns import find_largest, write_since
from sparkleene.language.bound import Measure, Path, Piece
from sparkleene.plan.aggregates import Aggregates, Total
from sparkleene.plan.marks import Variant

Scaled = tuple[tuple[int, Fraction], ...]  # columns of sums and their scales: a total is the sum of the products
Active = tuple[Piece, ...]  # the pieces that give an event of some label its value
TICKS = {"us": 1_000_000, "ns": 1_000_000_000}


class Sums(NamedTuple):
    """The rows that kernels add up."""

    columns: Array
    program: tuple[Array, Array]  # which row counts for which label, and what it is multiplied by
    totals: tuple[Scaled, ...]
    units: tuple[Unit, ...]
    largest: float


class Lows(NamedTuple):
    """The rows of which kernels take the least."""

    columns: Array
    program: tuple[Array, Array]
    back: tuple[Callable[[Array], pa.Array], ...]  # from the least back to values


class Unit(NamedTuple):
    """What the numbers of a total mean: a value is `scale` times the number, and `centre` more."""

    scale: float
    centre: float


@dataclass(frozen=True)
class Weights:
    """The values of a table's rows, in the order of sub-streams.

    Times, and values whose spread is asked for, lose fewer digits as differences to a number near them. That number
    is the table's own, so this is only done for a `whole` table: what is put together of several tables has none.
    """

    table: pa.Table
    rows: SubStreams
    place: Place
    time: str  # the time column
    threads: int = 1
    whole: bool = False
    _times: dict[Path, Array | None] = field(default_factory=dict)
    _columns: dict[tuple[Path, float | int], Array] = field(default_factory=dict)
    _middles: dict[Path, float | int] = field(default_factory=dict)

    # ---- totals

    def sums(self, made: Aggregates, labels: list[Variant], trackers: Sequence[Piece], exact: bool) -> Sums:
        """Return what kernels add up; in exact mode a total may have several columns, each with a scale."""
        dtype = np.int64 if exact else np.float64
        rows: list[Array] = []
        row_of: dict[object, list[tuple[int, Fraction]]] = {}
        columns: list[list[int]] = []  # of each column of sums the row for each label, as `summand` reads it
        of: list[int] = []
        totals: list[Scaled] = []

        def find(total: Total, pieces: Active) -> list[tuple[int, Fraction]]:
            turned = False
            if len({(piece.path, self._centre(piece, total)) for piece in pieces}) == 1:
                pieces, turned = _unite(pieces)
            values_of = tuple((piece.path, piece.factor, self._centre(piece, total)) for piece in pieces)
            key = (values_of, total.present, total.square, total.central == "ends")
            if pieces and key not in row_of:
                found = self._exact(total, pieces) if exact else [(self._double(total, pieces), Fraction(1))]
                row_of[key] = [(len(rows) + k, scale) for k, (_, scale) in enumerate(found)]
                rows.extend(column for column, _ in found)
            known = row_of[key] if pieces else []
            return [(-2 - row, scale) for row, scale in known] if turned and not total.square else known

        for total in made.totals:
            for piece in total.pieces:
                if piece.kind == "sum" and piece.path and self._ticks(piece.path) is not None:
                    values.sum_values(self.table.slice(0, 100), piece.path, self.place, total.span)  # no numbers
            if exact and total.central:  # spreads are doubles
                totals.append(())
                continue
            active = [_active(total.pieces, label, trackers) for label in labels]
            chosen = [find(total, pieces) if pieces else [] for pieces in active]
            scales = [scale for _, scale in max(chosen, key=len, default=[])] or [Fraction(1)]
            totals.append(tuple((len(columns) + part, scale) for part, scale in enumerate(scales)))
            for part in range(len(scales)):
                # What is chained is multiplied by the sum of the same values, which comes next.
                of.append(2 + len(columns) if total.chained else 0)
                columns.append([some[part][0] if some else -1 for some in chosen])
        shape = (len(columns), len(labels))
        none = np.zeros((0, len(self.rows.tick)), dtype)
        stacked = np.stack(rows) if len(rows) > 1 else rows[0][None] if rows else none
        program = (np.array(columns, np.int64).reshape(shape), np.array(of, np.int64))
        units = tuple(self._unit(total) for total in made.totals)
        largest = max((find_largest(read_only(column)) for column in rows), default=1.0)
        return Sums(stacked, program, tuple(totals), units, largest)

    def _double(self, total: Total, pieces: Active) -> Array:
        """Return the values that pieces give to every row, as doubles, NaN where there is none."""
        found: Array | None = None
        for piece in pieces:
            column = self.column(piece.path, total.span, self._centre(piece, total))
            adds = len(pieces) > 1 or total.central in ("ends", "least")
            if adds and self._has_nulls(piece.path):  # NULL adds nothing
                column = np.where(np.isnan(column), 0.0, column)
            column = column if piece.factor == 1 else column * float(piece.factor)
            found = column if found is None else found + column
        assert found is not None
        if total.present:
            found = np.where(np.isnan(found), np.nan, 1.0)
        return self.square(found, pieces[0].path) if total.square else found

    def square(self, column: Array, path: Path) -> Array:
        """Return the squares of values, or raise if they are beyond doubles."""
        with np.errstate(over="ignore"):
            squares = column * column
        if (np.isinf(squares) & np.isfinite(column)).any():
            message = f"the squares of '{'.'.join(path)}' go beyond the range of doubles"
            raise self.place.error("overflow", message, help="divide the values, as in VAR_POP(A.x / 1e100)")
        return squares

    def _exact(self, total: Total, pieces: Active) -> list[tuple[Array, Fraction]]:
        """Return the values that pieces give to every row, as integers, the least int64 where there is none."""
        [piece] = pieces  # also of a value of a column less another
        if not piece.path:
            return [(np.ones(len(self.rows.tick), np.int64), Fraction(1))]
        ticks = self._ticks(piece.path)
        if ticks is not None:
            found = [(ticks, Fraction(1))]
        else:
            found = list(values.exact_values(self.table, piece.path, self.place, total.span))
        if total.present:
            found = [(np.where(found[0][0] == values.NULL, values.NULL, np.int64(1)), Fraction(1))]
            return [(self._take(column), scale) for column, scale in found]
        return [(self._take(column), scale * self._scale(piece.path)) for column, scale in found]

    def _unit(self, total: Total) -> Unit:
        """Return what the numbers of a total in doubles mean."""
        if total.present:
            return Unit(1.0, 0.0)
        scale = next((self._scale(piece.path) for piece in total.pieces if piece.path), Fraction(1))
        centre = sum(float(piece.factor) * self._centre(piece, total) for piece in total.pieces)
        return Unit(float(scale), centre * float(scale))

    def _centre(self, piece: Piece, total: Total) -> float | int:
        """Return the number that is taken off the values of a piece."""
        if not self.whole or not piece.path or (total.central != "values" and piece.kind == "sum"):
            return 0
        clock = self._ticks(piece.path) is not None
        return self._middle(piece.path) if clock or total.central in ("values", "ends") else 0

    # ---- lows

    def lows(self, made: Aggregates, labels: list[Variant], trackers: Sequence[Piece]) -> Lows:
        """Return what kernels take the least of, with its sign turned for the greatest."""
        rows: list[Array] = [np.zeros(len(self.rows.tick))] * len(made.lows)  # the row of low i, then more rows
        columns: list[list[int]] = []
        back: list[Callable[[Array], pa.Array]] = []
        known: dict[object, int] = {}  # rows of the same values are one
        for i, low in enumerate(made.lows):
            if isinstance(low.of, Piece):
                keys, to_values = values.low_values(self.table, low.of.path, low.maximum, self.place, low.span)
                columns.append([i if label.label in low.of.labels else -1 for label in labels])
                rows[i] = self._take(keys)
                back.append(to_values)
                continue
            sign = -1.0 if low.maximum else 1.0
            active = [_active(low.of.pieces, label, trackers) for label in labels]
            row_of: dict[Active, int] = {(): -1}
            for pieces in dict.fromkeys(active):
                if pieces:
                    total = Total(pieces, central="least", span=low.span)
                    key = (sign, tuple((piece.path, piece.factor, self._centre(piece, total)) for piece in pieces))
                    if key not in known:
                        known[key] = len(rows)
                        rows.append(sign * self._double(total, pieces))
                    row_of[pieces] = known[key]
            columns.append([row_of[pieces] for pieces in active])
            back.append(_restore_measure(low.of, sign, self._unit(Total(low.of.pieces, central="least"))))
        shape = (len(made.lows), len(labels))
        stacked = np.stack(rows) if rows else np.zeros((0, len(self.rows.tick)))
        adds = np.array([isinstance(low.of, Measure) for low in made.lows], np.bool_)
        return Lows(stacked, (np.array(columns, np.int64).reshape(shape), adds), tuple(back))

    # ---- values of rows

    def absent(self, path: Path) -> Array:
        """Tell of the rows in order which have no value."""
        return np.isnan(self.column(path, NOWHERE))

    def column(self, path: Path, span: Span, centre: float | int = 0) -> Array:
        """Return a column of numbers, or of times in ticks, less a number; in the order of sub-streams."""
        if not path:
            return np.ones(len(self.rows.tick))
        if (path, centre) not in self._columns:
            ticks = self._ticks(path)
            if ticks is None:
                plain = values.sum_values(self.table, path, self.place, span)
                found = self._take(plain - centre if centre else plain)
            elif self._is_clock(path):  # the times are in order already
                if self.whole and self.rows.apart is not None:
                    found = np.zeros(len(self.rows.time))
                    write_since(self.rows.time, *self.rows.apart, found)
                else:
                    found = (self.rows.time - int(centre)).astype(np.float64)
            else:
                known = (ticks - int(centre)).astype(np.float64)
                found = self._take(
                    np.where(ticks == values.NULL, np.nan, known) if self._has_nulls(path) else known
                )
            self._columns[path, centre] = found
        return self._columns[path, centre]

    def _is_clock(self, path: Path) -> bool:
        """Tell whether the column is the times of rows, in ticks of the same length."""
        ticks = self._ticks(path)
        if path != (self.time,) or ticks is None or self.rows.time.dtype != np.int64 or not len(self.rows.time):
            return False
        first = 0 if self.rows.rows is None else int(self.rows.rows[0])
        last = -1 if self.rows.rows is None else int(self.rows.rows[-1])
        return bool(ticks[first] == self.rows.time[0] and ticks[last] == self.rows.time[-1] != 0)

    def _take(self, column: Array) -> Array:
        """Bring a column of the table into the order of sub-streams."""
        return self.rows.take(column, self.threads)

    def _ticks(self, path: Path) -> Array | None:
        """Return a column of times as integers; None for a column of numbers."""
        if path not in self._times:
            column = find_column(self.table, path, self.place)
            found = None
            if is_clock(column.type):
                unit = self._tick
                kind = pa.duration(unit) if pa.types.is_duration(column.type) else pa.timestamp(unit)
                plain = decode(column).cast(kind)
                found = as_numpy(fill_null(plain.cast(pa.int64()), values.NULL))
            self._times[path] = found
        return self._times[path]

    def _has_nulls(self, path: Path) -> bool:
        """Tell whether some row may have no value; a NaN is none either."""
        if not path:
            return False
        return self._ticks(path) is None or bool(find_column(self.table, path, self.place).null_count)

    def _middle(self, path: Path) -> float | int:
        """Return a number near the values of a column: the mean, or for times the first."""
        if path not in self._middles:
            found: float | int = 0
            ticks = self._ticks(path)
            if ticks is not None:
                known = ticks[ticks != values.NULL] if self._has_nulls(path) else ticks
                found = int(known.min()) if known.size else 0
            else:
                column = values.sum_values(self.table, path, self.place)
                known = column[np.isfinite(column)]
                found = float(known.mean()) if known.size else 0
                if (known == np.floor(known)).all():
                    found = float(np.round(found))  # differences to it are exact
            self._middles[path] = found
        return self._middles[path]

    def _scale(self, path: Path) -> Fraction:
        """Return what one of a column's numbers is: 1, or for times the seconds of a tick."""
        if not path:
            return Fraction(1)
        type = find_column(self.table, path, self.place).type
        if not is_clock(type):
            return Fraction(1)
        return Fraction(1, TICKS[self._tick])

    @cached_property
    def _tick(self) -> str:
        """The unit of all times: nanoseconds if some column of the table has them, else microseconds."""
        return "ns" if any("[ns" in str(field.type) for field in self.table.schema) else "us"


def _active(pieces: Sequence[Piece], label: Variant, trackers: Sequence[Piece]) -> Active:
    """Return the pieces that count for an event of a label."""
    marked = {t for t, mark in zip(trackers, label.marks, strict=True) if mark == "value"} if label.marks else set()
    found = []
    for piece in pieces:
        end = Piece(piece.kind, piece.labels, piece.path, nullable=piece.nullable)
        if label.label in piece.labels if piece.kind in ("sum", "sole") else end in marked:
            found.append(piece)
    return tuple(found)


def _unite(pieces: Active) -> tuple[Active, bool]:
    """Return pieces of one column as one, or as none if they cancel, and whether their sign is to be turned."""
    factor = sum(piece.factor for piece in pieces)
    return (replace(pieces[0], factor=abs(factor)),) if factor else (), factor < 0


def _restore_measure(measure: Measure, sign: float, unit: Unit) -> Callable[[Array], pa.Array]:
    """Return the way from the least of a measure back to values: integers if it only counts, else doubles."""

    def back(keys: Array) -> pa.Array:
        found = sign * keys / round(1 / unit.scale) + unit.centre + float(measure.constant)
        array = make_array(found, nan_is_null=True)
        return array.cast(pa.int64()) if measure.is_whole else array

    return back
