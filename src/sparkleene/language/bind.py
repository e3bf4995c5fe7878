"""Name resolution: from the syntax tree to a query in which every name has its meaning."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sparkleene.errors import DataError, Place, QueryError, suggest
from sparkleene.language import ast
from sparkleene.language.bind_aggregates import AggregateBinder
from sparkleene.language.bind_measures import is_measure
from sparkleene.language.bind_returns import bind_group, bind_key, bind_returns, merge_keys, names_of_groups
from sparkleene.language.bind_where import bind_conditions, split_condition
from sparkleene.language.bind_whole import bind_whole
from sparkleene.language.bind_windows import bind_window
from sparkleene.language.bound import Bound, Literal_, Term
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
    each = [part for item in conditions for part in split_condition(item)]
    whole = bind_whole([part for part in each if is_measure(part, scope)], scope, query.pattern)
    where = bind_conditions([part for part in each if not is_measure(part, scope)], scope, pairs)
    maximal = query.semantics == "contiguous maximal"
    if maximal and isinstance(query.pattern, ast.And):
        message = "maximal is of single trends, and a match of P AND Q is a pair of trends"
        errors.report("bad-trend-condition", message, query.pattern.span, help="write a query for each pattern")
    derived = DerivedColumns(scope)
    groups = [group for item in query.group if (group := bind_group(item, derived)) is not None]
    asked = [*(key for key in equal if key is not None), *where.keys, *(group.key for group in groups)]
    merged = merge_keys(asked, query.pattern, scope)
    keys = tuple(dict.fromkeys(merged.values()))
    named = {name: merged[key] for name, key in names_of_groups(query, groups).items()}
    aggregates = AggregateBinder(scope, derived, keys, time, isinstance(query.pattern, ast.And), named)
    returns = bind_returns(query, groups, aggregates)
    window = bind_window(query, [group for group in groups if merged[group.key].labels is not None], scope)
    defined = _types(query.pattern, types, any_type, scope)

    if errors.found:
        only_data = all(found.code == "unknown-attribute" for found in errors.found)
        raise (DataError if only_data else QueryError)(errors.found, place.source, place.filename)
    return Bound(
        pattern=query.pattern,
        labels=labels,
        semantics="contiguous" if maximal else query.semantics,
        local=where.local,
        adjacent=where.adjacent,
        keys=keys,
        group=tuple(keys.index(merged[group.key]) for group in groups),
        group_names=returns.group_names,
        outputs=returns.outputs,
        window=window,
        types=defined,
        derived=tuple(derived.found),
        lengths=whole.lengths,
        durations=whole.durations,
        ends=whole.ends,
        maximal=maximal,
        finish=returns.finish,
        time=time,
    )


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
