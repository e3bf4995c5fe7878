"""Name resolution: from the syntax tree to a query in which every name has its meaning."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import Literal

from sparkleene.errors import DataError, Place, QueryError, suggest
from sparkleene.language import ast
from sparkleene.language.bind_aggregates import AggregateBinder
from sparkleene.language.bind_returns import bind_group, bind_key, bind_returns, merge_keys, widest_key
from sparkleene.language.bind_where import bind_conditions
from sparkleene.language.bound import Bound, Literal_, Term, Window
from sparkleene.language.derived import DerivedColumns
from sparkleene.language.names import Errors, Scope, listing
from sparkleene.language.patterns import check_shape, find_labels, neighbours, type_spans
from sparkleene.language.terms import assign_sides, check_condition, make_term

Types = tuple[tuple[str, Term], ...]


def bind(
    query: ast.Query,
    *,
    columns: Collection[str] | None = None,
    types: Mapping[str, ast.Expr] | None = None,
    any_type: bool = False,
    time: str = "time",
    time_unit: str | None = None,
    place: Place = Place(),
) -> Bound:
    """Resolve the names of a query, or raise all that is wrong with it.

    `columns` are the table's columns, None while it is not known. `types` defines event types by conditions
    on columns; with `any_type` every row is of the pattern's only type. `time` is the column of times, and
    `time_unit` what it counts if it is a number.

    >>> count = ast.Item(ast.Aggregate("count"))
    >>> bind(ast.Query(ast.Repeat(ast.Atom("A"), 1, None), (count,))).labels
    (Label(name='A', type='A', negated=False),)
    """
    errors = Errors()
    labels = find_labels(query.pattern, errors)
    check_shape(query.pattern, errors)
    shaped = not errors.found
    known = None if columns is None else tuple(columns)
    scope = Scope(labels, known, errors, place.source, time, time_unit)
    index = {label.name: i for i, label in enumerate(labels)}
    pairs = {(index[a], index[b]) for a, b in neighbours(query.pattern)} if shaped else None

    written = [item for item in query.where if isinstance(item, ast.Equivalence)]
    conditions = [item for item in query.where if not isinstance(item, ast.Equivalence)]
    equal = [bind_key(ref, "[ ]", scope) for item in written for ref in item.refs]
    where = bind_conditions(conditions, scope, pairs)
    derived = DerivedColumns(scope)
    groups = [group for item in query.group if (group := bind_group(item, derived)) is not None]
    asked = [*(key for key in equal if key is not None), *where.keys, *(group.key for group in groups)]
    keys = merge_keys(asked)
    aggregates = AggregateBinder(scope, derived, keys, time, isinstance(query.pattern, ast.And))
    returns = bind_returns(query, groups, aggregates)
    window = _window(query.within, errors)
    defined = _types(query.pattern, types, any_type, scope)

    if errors.found:
        only_data = all(found.code == "unknown-attribute" for found in errors.found)
        raise (DataError if only_data else QueryError)(errors.found, place.source, place.filename)
    return Bound(
        pattern=query.pattern,
        labels=labels,
        semantics=query.semantics,
        local=where.local,
        adjacent=where.adjacent,
        keys=keys,
        group=tuple(keys.index(widest_key(group.key, keys)) for group in groups),
        group_names=returns.group_names,
        outputs=returns.outputs,
        window=window,
        types=defined,
        derived=tuple(derived.found),
        finish=returns.finish,
    )


def _window(within: ast.Within | None, errors: Errors) -> Window | None:
    """Return the window with its lengths in one unit."""
    if within is None:
        return None
    lengths = [within.size] if within.slide is None else [within.size, within.slide]
    for length in lengths:
        if length.value <= 0:
            errors.report("bad-duration", "the length of a window is more than 0", length.span)
        if length.unit == "events" and length.value.denominator != 1:
            errors.report("bad-duration", "a number of events is whole", length.span)
    units = [_unit(length) for length in lengths]
    if len(set(units)) > 1:
        message = "WITHIN and SLIDE count in different units"
        help = "give both a unit of time, both EVENTS, or neither a unit"
        notes = ("a number without a unit is in the unit of the time column",)
        errors.report("mixed-units", message, within.span, notes=notes, help=help)
    size, *slide = (_in_its_unit(length) for length in lengths)
    return Window(size, slide[0] if slide else None, units[0], within.span)


def _in_its_unit(length: ast.Duration) -> Fraction:
    """Return a length in milliseconds, in events, or in the unit of the time column."""
    return length.value * (1 if length.unit is None else ast.MILLISECONDS.get(length.unit, 1))


def _unit(length: ast.Duration) -> Literal["time", "milliseconds", "events"]:
    """Return what a length counts."""
    if length.unit is None:
        return "time"
    return "events" if length.unit == "events" else "milliseconds"


def _types(
    pattern: ast.Pattern, types: Mapping[str, ast.Expr] | None, any_type: bool, scope: Scope
) -> Types | None:
    """Return the pattern's types with the conditions that define them, None where a column tells the type."""
    spans = type_spans(pattern)
    if any_type:
        if len(spans) > 1:
            message = f"without a type column the pattern can name only one event type, not {listing(spans)}"
            help = "name the column of the event type, or define the types by conditions"
            scope.errors.report("several-types", message, list(spans.values())[1], help=help)
        return tuple((name, Literal_(True)) for name in spans)
    if types is None:
        return None
    defined = []
    for name, span in spans.items():
        if name in types:
            defined.append((name, _definition(name, types[name], scope)))
        else:
            message = f"event type '{name}' is not defined"
            notes = (f"defined are {listing(types)}",)
            scope.errors.report("unknown-type", message, span, notes=notes, help=suggest(name, types))
    return tuple(defined)


def _definition(name: str, condition: ast.Expr, scope: Scope) -> Term:
    """Return the condition that defines a type; its names are columns."""
    errors = Errors(scope.errors.found, f" (in the definition of event type '{name}')")
    columns = Scope((), scope.columns, errors, time=scope.time, time_unit=scope.time_unit)
    term = make_term(condition, columns)
    check_condition(term, columns)
    return assign_sides(term)
