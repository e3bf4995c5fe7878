"""WITHIN: windows of a length, and windows whose borders the rows of a group draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from sparkleene.language import ast
from sparkleene.language.bind_returns import Group
from sparkleene.language.bound import Drawn, Term, Window
from sparkleene.language.names import Errors, Scope
from sparkleene.language.terms import assign_sides, check_condition, make_term, names_in

Unit = Literal["time", "milliseconds", "months", "events"]


def bind_window(query: ast.Query, partial: Sequence[Group], scope: Scope) -> Window | Drawn | None:
    """Return the window of a query with its lengths in one unit; `partial` groups are of some rows only."""
    within = query.within
    if within is None:
        return None
    if isinstance(within, ast.Within):
        return _window(within, scope.errors)
    _check_groups(query, partial, scope.errors)
    return _bind_drawn(within, scope)


def _window(within: ast.Within, errors: Errors) -> Window:
    """Return a window of a length."""
    lengths = [within.size] if within.slide is None else [within.size, within.slide]
    for length in lengths:
        if length.value <= 0:
            errors.report("bad-duration", "the length of a window is more than 0", length.span)
        if length.unit in ("events", *ast.MONTHS) and length.value.denominator != 1:
            errors.report("bad-duration", f"a number of {length.unit} is whole", length.span)
    units = [_unit(length) for length in lengths]
    if units == ["months"]:
        message = f"{within.size.unit} have no fixed length, and a window without SLIDE needs one"
        help = "add a SLIDE in months, or write so many days"
        errors.report("bad-duration", message, within.span, help=help)
    elif len(set(units)) > 1 and "months" in units:
        message = "months, quarters and years have no fixed length, and cannot be mixed with other units"
        help = "give WITHIN and SLIDE in months, quarters or years, or both in others"
        errors.report("mixed-units", message, within.span, help=help)
    elif len(set(units)) > 1:
        message = "WITHIN and SLIDE count in different units"
        help = "give both a unit of time, both EVENTS, or neither a unit"
        notes = ("a number without a unit is in the unit of the time column",)
        errors.report("mixed-units", message, within.span, notes=notes, help=help)
    size, *slide = (_in_its_unit(length) for length in lengths)
    if not slide:
        return Window(size, None, units[0], within.span)
    origin = MONDAY if lengths[1].unit == "weeks" else Fraction(0)
    return Window(size, slide[0], units[0], within.span, _calendar(lengths), origin)


MONDAY = Fraction(4 * ast.MILLISECONDS["days"])
"""The first Monday after the epoch, 5 January 1970."""


def _calendar(lengths: Sequence[ast.Duration]) -> Literal["days", "months", "mixed"] | None:
    """Return the calendar that windows of these lengths go by."""
    if lengths[0].unit in ast.MONTHS:
        return "months"
    days = [length.unit in ("days", "weeks") for length in lengths]
    whole = all(_in_its_unit(length) % ast.MILLISECONDS["days"] == 0 for length in lengths)
    return None if not any(days) else "days" if all(days) and whole else "mixed"


def _in_its_unit(length: ast.Duration) -> Fraction:
    """Return a length in milliseconds, in months, in events, or in the unit of the time column."""
    sizes = ast.MILLISECONDS | ast.MONTHS
    return length.value * (1 if length.unit is None else sizes.get(length.unit, 1))


def _unit(length: ast.Duration) -> Unit:
    """Return what a length counts."""
    if length.unit is None:
        return "time"
    return "events" if length.unit == "events" else "months" if length.unit in ast.MONTHS else "milliseconds"


# ---- borders that rows draw


def _check_groups(query: ast.Query, partial: Sequence[Group], errors: Errors) -> None:
    """Report attributes of GROUP-BY that bind some rows only, and ORDER BY and LIMIT, which are per window."""
    kind = _kind(query.within)
    for group in partial:
        message = f"{kind} are of the rows of a group, and '{group.written}' groups some rows only"
        help = f"write GROUP-BY {'.'.join(group.key.path)}, without a label: every row then has its group"
        errors.report("group-of-some-rows", message, group.span, help=help)
    if query.group and (query.order or query.limit is not None):
        message = f"{kind} are of one group each, so that ORDER BY and LIMIT have one row to choose from"
        span = query.order[0].span if query.order else query.span
        errors.report("one-row-per-window", message, span, help="leave them out, and sort the result")


def _kind(within: ast.Within | ast.Session | ast.FromTo | None) -> str:
    """Return what windows are called in messages."""
    return "sessions" if isinstance(within, ast.Session) else "windows with FROM"


def _bind_drawn(within: ast.Session | ast.FromTo, scope: Scope) -> Drawn:
    """Return windows whose borders the rows of a group draw."""
    errors, kind = scope.errors, _kind(within)
    gap = within.gap if isinstance(within, ast.Session) else None
    lengths = [length for length in (gap, within.most) if length is not None]
    for length in lengths:
        if length.value <= 0:
            errors.report("bad-duration", "the length of a window is more than 0", length.span)
        if length.unit == "events":
            message = f"{kind} are measured in time, not in events"
            errors.report("bad-duration", message, length.span, help="write a unit of time")
        if length.unit in ast.MONTHS:
            message = f"{length.unit} have no fixed length, and {kind} need one"
            errors.report("bad-duration", message, length.span, help="write so many days")
    units = [unit for length in lengths if (unit := _unit(length)) in ("time", "milliseconds")]
    if len(set(units)) > 1:
        help = "give both a unit of time, or neither"
        notes = ("a number without a unit is in the unit of the time column",)
        errors.report(
            "mixed-units", "SESSION and MAX count in different units", within.span, notes=notes, help=help
        )
    opens, closes = (within.opens, within.closes) if isinstance(within, ast.FromTo) else (None, None)
    return Drawn(
        None if gap is None else _in_its_unit(gap),
        None if opens is None else _border(opens, scope),
        None if closes is None else _border(closes, scope),
        None if within.most is None else _in_its_unit(within.most),
        "milliseconds" if "milliseconds" in units else "time",
        within.span,
    )


def _border(condition: ast.Expr, scope: Scope) -> Term:
    """Return a condition on one row, whose names are columns."""
    errors, before = scope.errors, len(scope.errors.found)
    columns = replace(scope, labels=(), without_labels="WITHIN FROM, whose conditions are on one row")
    term = make_term(condition, columns)
    check_condition(term, columns)
    if len(errors.found) == before and not names_in(term):
        message = "this condition mentions no attribute"
        help = "name a column of the table; text constants are quoted with '...'"
        errors.report("constant-predicate", message, condition.span, help=help)
    return assign_sides(term)
