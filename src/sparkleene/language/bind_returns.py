"""What a query returns: equivalence and group keys, result columns and aggregates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sparkleene.errors import Span, suggest
from sparkleene.language import ast
from sparkleene.language.bound import Key, Output
from sparkleene.language.names import Scope, listing

RESERVED = ("window_start", "window_end")


@dataclass(frozen=True, slots=True)
class Group:
    """One attribute of GROUP-BY."""

    key: Key
    ref: ast.Ref


@dataclass(frozen=True, slots=True)
class Returns:
    """The columns of the result: one name per group attribute, then the aggregates."""

    group_names: tuple[str, ...]
    outputs: tuple[Output, ...]


# ---- keys


def bind_key(ref: ast.Ref, clause: str, scope: Scope) -> Key | None:
    """Return the key an attribute of `clause` makes, or None after reporting why it makes none."""
    if ref.next:
        scope.report_misplaced_next(clause, ref.span)
        return None
    name = scope.name_of(ref)
    if name is None:
        return None
    if name.labels and not scope.positive(name.labels):
        message = f"'{ref.parts[0]}' is negated: no event of a trend has this attribute"
        help = f"write {'.'.join(name.path)} without a label to bind all events"
        scope.errors.report("negated-key", message, ref.span, help=help)
        return None
    return Key(name.path, frozenset(name.labels) or None)


def merge_keys(keys: Iterable[Key]) -> tuple[Key, ...]:
    """Return the keys without repetition, and without those that a key of every row implies."""
    keys = tuple(dict.fromkeys(keys))
    return tuple(dict.fromkeys(widest_key(key, keys) for key in keys))


def widest_key(key: Key, keys: Iterable[Key]) -> Key:
    """Return the key of every row on the same path if there is one, else the key itself."""
    every = Key(key.path, None)
    return every if every in keys else key


# ---- columns


def bind_returns(items: Sequence[ast.Item], groups: Sequence[Group], span: Span, scope: Scope) -> Returns:
    """Return the names of the group columns and the aggregates; report names that collide."""
    renamed: dict[int, str] = {}
    columns: list[tuple[str, Span]] = []
    outputs: list[Output] = []
    aggregates = 0
    for item in items:
        if isinstance(item.value, ast.Ref):
            _rename_group(item, item.value, groups, renamed, scope)
            continue
        aggregates += 1
        output = _bind_aggregate(item, item.value, scope)
        if output is not None:
            outputs.append(output)
            columns.append((output.name, item.span))
    if not aggregates:
        message = "RETURN lists no aggregate"
        help = "add one, such as COUNT(*) or SUM(E.attribute)"
        scope.errors.report("no-aggregate", message, span, help=help)
    names = _group_names(groups, renamed)
    _check_columns([*zip(names, (group.ref.span for group in groups), strict=True), *columns], scope)
    return Returns(names, tuple(outputs))


def _group_names(groups: Sequence[Group], renamed: dict[int, str]) -> tuple[str, ...]:
    """Return the columns of the group attributes: the last part of each, or all parts where two collide."""
    names = [renamed.get(i, group.ref.parts[-1]) for i, group in enumerate(groups)]
    times = Counter(names)
    return tuple(
        "_".join(group.ref.parts) if times[name] > 1 and i not in renamed else name
        for i, (name, group) in enumerate(zip(names, groups, strict=True))
    )


def _check_columns(columns: Iterable[tuple[str, Span]], scope: Scope) -> None:
    """Report result columns of the same name."""
    seen: set[str] = set(RESERVED)
    for name, span in columns:
        if name in seen:
            other = "the window's own column" if name in RESERVED else "another column of the result"
            message = f"'{name}' is also the name of {other}"
            scope.errors.report("duplicate-name", message, span, help="name it with AS in RETURN")
        seen.add(name)


def _rename_group(
    item: ast.Item, ref: ast.Ref, groups: Sequence[Group], renamed: dict[int, str], scope: Scope
) -> None:
    """Find the group attribute an item of RETURN means, and note the name it is given."""
    key = bind_key(ref, "RETURN", scope)
    if key is None:
        return
    same = [i for i, group in enumerate(groups) if group.key.path == key.path]
    exact = [i for i in same if groups[i].key.labels == key.labels]
    found = exact or [i for i in same if key.labels is None or groups[i].key.labels is None]
    written = ".".join(ref.parts)
    listed = listing(".".join(group.ref.parts) for group in groups)
    if not found:
        message = f"'{written}' is neither an aggregate nor listed in GROUP-BY"
        help = f"add it to GROUP-BY, or aggregate it, such as MAX({written})"
        scope.errors.report("not-grouped", message, ref.span, notes=(f"GROUP-BY lists {listed}",), help=help)
    elif len(found) > 1:
        message = f"which '{written}' of GROUP-BY?"
        help = "write it with its label"
        notes = (f"GROUP-BY lists {listed}",)
        scope.errors.report("ambiguous-attribute", message, ref.span, notes=notes, help=help)
    elif item.alias is not None and renamed.setdefault(found[0], item.alias) != item.alias:
        message = f"'{written}' is already named '{renamed[found[0]]}'"
        scope.errors.report("duplicate-name", message, item.span, help="name it once")


# ---- aggregates


def _bind_aggregate(item: ast.Item, aggregate: ast.Aggregate, scope: Scope) -> Output | None:
    """Return the aggregate bound to its labels, or None after reporting what is wrong."""
    ref = aggregate.ref
    written = () if ref is None else ref.parts
    log = () if aggregate.log is None else (f"log{aggregate.log}",)
    name = item.alias or "_".join((*log, aggregate.function, *written))
    if ref is None:
        return Output(name, aggregate.function, frozenset(), (), aggregate.log, aggregate.span)
    if ref.next:
        scope.report_misplaced_next("RETURN", ref.span)
        return None
    found = _find_counted(ref, scope) if aggregate.function == "count" else _find_aggregated(ref, scope)
    if found is None:
        return None
    labels = scope.positive(found[0])
    if not labels:
        scope.errors.report(
            "negated-aggregate", f"'{ref.parts[0]}' is negated: no trend holds such an event", ref.span
        )
        return None
    return Output(name, aggregate.function, frozenset(labels), found[1], aggregate.log, ref.span)


def _find_counted(ref: ast.Ref, scope: Scope) -> tuple[tuple[int, ...], tuple[str, ...]] | None:
    """Return the labels that COUNT(E) counts."""
    word = ref.parts[0]
    labels = scope.labels_of(word)
    if labels and len(ref.parts) == 1:
        return labels, ()
    if labels:
        message = "COUNT counts trends or events, not attributes"
        help = f"write COUNT({word}) and, to leave out NULLs, {'.'.join(ref.parts)} IS NOT NULL"
        scope.errors.report("bad-aggregate", message, ref.span, help=help)
    else:
        known = scope.words()
        message = f"COUNT needs a label or an event type of the pattern, '{'.'.join(ref.parts)}' is none"
        help = suggest(word, known) or "COUNT(*) counts trends"
        notes = (f"the pattern has {listing(known)}",)
        scope.errors.report("unknown-label", message, ref.span, notes=notes, help=help)
    return None


def _find_aggregated(ref: ast.Ref, scope: Scope) -> tuple[tuple[int, ...], tuple[str, ...]] | None:
    """Return the labels and the attribute of SUM(E.attr) and its like; without a label all labels."""
    if len(ref.parts) == 1 and scope.labels_of(ref.parts[0]):
        scope.report_label_alone(ref.parts[0], ref.span)
        return None
    name = scope.name_of(ref)
    return None if name is None else (name.labels or tuple(range(len(scope.labels))), name.path)
