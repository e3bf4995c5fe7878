"""WHERE: each condition is local to a label, or between neighbours, or part of an equivalence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

from sparkleene.language import ast
from sparkleene.language.bound import Adjacent, Call, Key, Path, Term
from sparkleene.language.names import Name, Scope, listing
from sparkleene.language.terms import assign_sides, check_condition, make_term, names_in
from sparkleene.language.trees import conjuncts, map_leaves, walk_term

Pairs = set[tuple[int, int]] | None
"""The labels that can be direct neighbours; None where that is not to be checked."""

Role = tuple[tuple[int, ...], bool]
"""The labels a name may belong to, and whether NEXT is around it. Each role of a predicate is one event."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the conditions of WHERE come to."""

    local: tuple[tuple[Term, ...], ...]
    adjacent: tuple[Adjacent, ...]
    keys: tuple[Key, ...]


def bind_conditions(conditions: Iterable[ast.Expr], scope: Scope, pairs: Pairs) -> Conditions:
    """Sort conditions by the events they are over."""
    simple = [part for each in conditions for part in _bind_condition(each, scope)]
    shared = _equivalences(simple, len(scope.labels))
    local: list[dict[Term, None]] = [{} for _ in scope.labels]
    adjacent: dict[Adjacent, None] = {}
    for part in simple:
        if _equality_path(part) in shared:
            continue
        for found in _classify(part, scope, pairs):
            if isinstance(found, Adjacent):
                adjacent[found] = None
            else:
                local[found[0]][found[1]] = None
    keys = tuple(Key(path, None) for path in shared)
    return Conditions(tuple(tuple(terms) for terms in local), tuple(adjacent), keys)


def split_condition(expr: ast.Expr) -> Iterator[ast.Expr]:
    """Yield the conditions joined by AND."""
    if isinstance(expr, ast.Bool) and expr.op == "and":
        for item in expr.items:
            yield from split_condition(item)
    else:
        yield expr


def _bind_condition(expr: ast.Expr, scope: Scope) -> Iterator[Term]:
    """Yield the simple conditions of a predicate, with every attribute at a label."""
    before = len(scope.errors.found)
    term = make_term(expr, scope)
    check_condition(term, scope)
    if len(scope.errors.found) > before:
        return
    term = _turn_prev(term, scope)
    names = names_in(term)
    mentioned = list(dict.fromkeys(name.labels for name in names if name.labels))
    unlabelled = [name for name in names if not name.labels and not name.gap]
    if not names:
        message = "this condition mentions no attribute"
        help = "name a column of the table; text constants are quoted with '...'"
        scope.errors.report("constant-predicate", message, expr.span, help=help)
    elif len(scope.errors.found) > before:
        return
    elif names[0].gap and not unlabelled and not mentioned:
        yield from conjuncts(term)
    elif unlabelled and (len(mentioned) > 1 or any(name.gap for name in names)):
        word = ".".join(unlabelled[0].path)
        several = "several labels" if len(mentioned) > 1 else "GAP, which is of two events"
        label = _written_label(mentioned[0], scope) if mentioned else scope.labels[0].name
        message = f"whose attribute is '{word}'? The condition mentions {several}"
        help = f"write it with its label, such as {label}.{word}"
        scope.errors.report("ambiguous-attribute", message, unlabelled[0].span, help=help)
    else:
        for labels in mentioned[:1] or [(i,) for i in range(len(scope.labels))]:
            yield from conjuncts(map_leaves(term, Name, partial(_label_name, labels)))


def _turn_prev(term: Term, scope: Scope) -> Term:
    """Return a condition with PREV as one of the earlier event and the NEXT one; report one that has both words."""
    names = [name for name in names_in(term) if not name.gap]
    if not any(name.prev for name in names):
        return term
    if any(name.next for name in names):
        message = "this condition has NEXT and PREV, and is over two neighbours only"
        help = "use one of them: in a condition with PREV the event that is written plainly is the later one"
        scope.errors.report("next-and-prev", message, term.span, help=help)
        return term
    return map_leaves(term, Name, lambda name: name if name.gap else replace(name, next=not name.prev, prev=True))


def _label_name(labels: tuple[int, ...], name: Name) -> Name:
    """Return the name at the labels if it was written without any."""
    return name if name.labels or name.gap else replace(name, labels=labels)


# ---- equivalence written out


def _equality_path(term: Term) -> Path | None:
    """Return the path a of `X.a = Y.a`, or None for any other condition."""
    if not isinstance(term, Call) or term.op != "=":
        return None
    left, right = term.args
    if not isinstance(left, Name) or not isinstance(right, Name) or left.next or right.next:
        return None
    return left.path if left.path == right.path and left.labels != right.labels else None


def _equivalences(terms: Iterable[Term], labels: int) -> dict[Path, None]:
    """Return the paths whose equalities connect all labels of the pattern."""
    groups: dict[Path, list[set[int]]] = {}
    for term in terms:
        path = _equality_path(term)
        if path is None:
            continue
        together = {label for name in names_in(term) for label in name.labels}
        parts = groups.setdefault(path, [])
        touching = [part for part in parts if part & together]
        groups[path] = [part for part in parts if not part & together] + [together.union(*touching)]
    return {path: None for path, parts in groups.items() if labels > 1 and len(parts[0]) == labels}


# ---- local or adjacent


def _classify(term: Term, scope: Scope, pairs: Pairs) -> Iterator[Adjacent | tuple[int, Term]]:
    """Yield what one condition demands: of events of a label, or of neighbours."""
    names = names_in(term)
    roles = list(dict.fromkeys((name.labels, name.next) for name in names if name.labels))
    if any(name.gap and not name.labels for name in names) and len(roles) < 2:
        yield from _between_all(term, roles, scope, pairs)
        return
    if len(roles) == 1 and all(name.prev for name in names) and roles[0][1]:  # beside a PREV in another condition
        roles = [(roles[0][0], False)]
    earlier = [role for role in roles if not role[1]]
    if not roles or not _check_roles(term, roles, scope):
        return
    if len(roles) == 1:
        yield from ((label, assign_sides(term)) for label in roles[0][0])
        return
    positive = [scope.positive(labels) for labels, _ in roles]
    if not all(positive):
        wrong = next(labels for (labels, _), kept in zip(roles, positive, strict=True) if not kept)
        message = f"'{_written_label(wrong, scope)}' is negated, and here compared with another event"
        help = "conditions on events inside a NOT mention one label each"
        scope.errors.report("negated-adjacent", message, term.span, help=help)
        return
    if any(map(_rounds_two, walk_term(term))):
        message = "ROUND to a number of digits is of values of one event, and here of two"
        help = "round each of them, or leave out the digits"
        scope.errors.report("too-many-events", message, term.span, help=help)
        return
    orders = [roles] if len(earlier) == 1 else [roles, roles[::-1]]
    found = list(_between(term, orders, scope, pairs))
    if not found:
        _report_never_neighbours(term, roles, scope, pairs or set())
    yield from found


def _rounds_two(term: Term) -> bool:
    """Tell whether a term rounds what is of two events to a number of digits."""
    if not isinstance(term, Call) or term.op != "round" or len(term.args) < 2:
        return False
    return len({(name.labels, name.next) for name in names_in(term)}) > 1


def _between_all(term: Term, roles: list[Role], scope: Scope, pairs: Pairs) -> Iterator[Adjacent]:
    """Yield a condition with GAP for all labels that can be neighbours."""
    if roles:
        message = f"GAP is of two events, and {_written_label(roles[0][0], scope)} could be either of them"
        joined = next((pair for pair in sorted(pairs or ()) if {*pair} & {*roles[0][0]}), ())
        example = ", ".join(scope.labels[label].name for label in joined) or "X, Y"
        help = f"write GAP with the labels of both, such as GAP({example})"
        scope.errors.report("ambiguous-attribute", message, term.span, help=help)
        return
    if pairs is not None and not pairs:
        message = "no two events of this pattern are direct neighbours, so there is no GAP"
        scope.errors.report("never-neighbours", message, term.span)
    for before, after in sorted(pairs or ()):
        yield Adjacent(before, after, assign_sides(term, lambda name: int(name.next)))


def _between(
    term: Term, orders: list[list[Role]], scope: Scope, pairs: Pairs
) -> Iterator[Adjacent | tuple[int, Term]]:
    """Yield the condition for each pair of labels, in each order of the two events, that can occur."""
    gap = any(name.gap and not name.labels for name in names_in(term))
    for one, two in orders:
        first, second = (two, one) if one[1] else (one, two)
        free = not second[1]  # without NEXT both names can mean one event, where their labels overlap

        def side(name: Name, second: Role = second) -> int:
            return int(name.next) if not name.labels else int((name.labels, name.next) == second)

        for before, after in product(scope.positive(first[0]), scope.positive(second[0])):
            if free and before == after and not gap:
                yield before, assign_sides(term)
            elif pairs is None or (before, after) in pairs:
                yield Adjacent(before, after, assign_sides(term, side))


def _check_roles(term: Term, roles: list[Role], scope: Scope) -> bool:
    """Report a condition over NEXT or PREV alone, or over more than two events."""
    backward = any(name.prev for name in names_in(term))
    around_role = {False: "PREV" if backward else "", True: "" if backward else "NEXT"}
    words = [(_written_label(labels, scope), around_role[is_next]) for labels, is_next in roles]
    if all(around for _, around in words):
        word, around = words[0]
        other = "later" if backward else "earlier"
        message = f"{around}({word}) is compared with no {other} event"
        help = f"for a condition on each event write {word}.attribute without {around}"
        scope.errors.report("next-alone", message, term.span, help=help)
        return False
    if len(roles) > 2:
        written = [f"{around}({word})" if around else word for word, around in words]
        message = f"this condition is over {len(roles)} events: {', '.join(written)}"
        help = "a condition is over one event or two neighbours; join several with AND"
        scope.errors.report("too-many-events", message, term.span, help=help)
        return False
    return True


def _report_never_neighbours(term: Term, roles: list[Role], scope: Scope, pairs: set[tuple[int, int]]) -> None:
    """Report a condition over labels that are never neighbours."""
    names = [label.name for label in scope.labels]
    known = listing(f"{names[a]} then {names[b]}" for a, b in sorted(pairs))
    (one, _), (two, is_next) = sorted(roles, key=lambda role: role[1])
    how = "directly followed by" if is_next else "a direct neighbour of"
    message = f"'{_written_label(one, scope)}' is never {how} '{_written_label(two, scope)}' in this pattern"
    help = "to compare all events of a trend use an equivalence such as [attribute]"
    notes = (f"direct neighbours are: {known}",)
    scope.errors.report("never-neighbours", message, term.span, notes=notes, help=help)


def _written_label(labels: tuple[int, ...], scope: Scope) -> str:
    """Return the name that was written for the labels: a label's, or that of their type."""
    first = scope.labels[labels[0]]
    return first.name if scope.labels_of(first.name) == labels else first.type
