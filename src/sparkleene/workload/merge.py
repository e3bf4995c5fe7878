"""Queries whose patterns become one machine: where their trends begin alike they are in the same states.

The machine of several patterns is the one of `P AND Q` (plan/machine.py) with an operand per query. A state says
where a partial trend is in each of them, so that common prefixes are common states (A-Seq, section 4), whatever the
semantics, repetitions and negations; each query reads its results from the states in which its own pattern ends.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace

from sparkleene.language.ast import And
from sparkleene.language.bound import Bound, Key, Label, Output, Term
from sparkleene.plan.aggregates import aggregates
from sparkleene.plan.machine import MAX_NEGATED, MAX_STATES, MachineTooLarge, build
from sparkleene.plan.part import Member, Part
from sparkleene.plan.plan import Plan
from sparkleene.plan.positions import positions, reverse_positions
from sparkleene.plan.predicates import pairs
from sparkleene.plan.sole_events import find_sole_events

MOST_LABELS = 62
WORTH = 1.5  # how many times the numbers one pass over the rows may hold, for it saves the others


def divide(queries: Sequence[Member], always: bool = False) -> list[Part]:
    """Divide queries into parts that are evaluated together; the order is that of their first queries.

    They are where that takes not many more numbers, states times aggregates, than they have one by one, or `always`
    where it can be done.
    """
    kinds: dict[Hashable, list[Member]] = {}
    for query in queries:
        kinds.setdefault(find_kind(query), []).append(query)
    found = [part for members in kinds.values() for part in _merge_or_halve(members, always)]
    order = {query.name: i for i, query in enumerate(queries)}
    return sorted(found, key=lambda part: order[part.names[0]])


def find_kind(query: Member) -> Hashable:
    """Return what queries must have in common for one machine, their semantics and windows first.

    A query that shares none has its own name.
    """
    plan = query.plan
    bound = plan.bound
    typed = len(plan.universal) < len(bound.keys)
    if (typed and plan.every_row) or len({key.path for key in bound.keys}) < len(bound.keys):
        return query.name
    if isinstance(bound.pattern, And) or plan.aggregates.trackers or plan.aggregates.each:
        return query.name
    if bound.chooses or (plan.pairs and bound.semantics != "skip-till-any-match"):
        return query.name
    # Which sub-streams there are is told by the values of a key that events of these types have.
    keys = frozenset((key.path, _types_of_key(bound, key)) for key in bound.keys)
    group = tuple(bound.keys[k].path for k in bound.group)
    # One query must not bring a slower kernel upon the others.
    return bound.semantics, bound.window, bound.types is None, keys, group, plan.physical.untied


def _types_of_key(bound: Bound, key: Key) -> frozenset[str] | None:
    """Return the types of the labels that a key binds, None if it binds every row."""
    return None if key.labels is None else frozenset(bound.labels[i].type for i in key.labels)


def _totals(plan: Plan) -> list[tuple[str, ...]]:
    """Return what a query adds up, so that queries which add up the same sort together."""
    bound = plan.bound
    return sorted(
        (*sorted(bound.labels[i].type for i in output.labels), *output.path)
        for output in bound.outputs
        if output.labels
    )


def count_numbers(plan: Plan) -> int:
    """Return how many numbers an evaluation holds for one window: for each state a count and the aggregates."""
    return len(plan.machine.states) * plan.aggregates.width


def _merge_or_halve(queries: Sequence[Member], always: bool) -> list[Part]:
    """Merge queries of one kind, or halves of them where that takes too many numbers."""
    if len(queries) == 1:
        return [Part.single(queries[0].name, queries[0].plan, queries[0].place)]
    if (part := merge(queries, always)) is not None:
        return [part]
    sorted_queries = sorted(queries, key=lambda query: _totals(query.plan))
    middle = _middle([_totals(query.plan) for query in sorted_queries])
    halves = ({query.name for query in sorted_queries[:middle]}, {query.name for query in sorted_queries[middle:]})
    return [
        part
        for half in halves
        for part in _merge_or_halve([query for query in queries if query.name in half], always)
    ]


def _middle(totals: Sequence[object]) -> int:
    """Return where halves part, not between queries that add up the same if some do not."""
    middle = len(totals) // 2
    changes = [i for i in range(1, len(totals)) if totals[i] != totals[i - 1]]
    return min(changes, key=lambda i: abs(i - middle)) if changes else middle


def merge(queries: Sequence[Member], always: bool = False) -> Part | None:
    """Return one part for queries of one kind, or None where it would not pay.

    If their windows are different, those of the part's plan are the first query's.
    """
    bounds = [query.plan.bound for query in queries]
    labels, local, numbers = _labels(bounds)
    if len(labels) > MOST_LABELS:
        return None
    adjacent = tuple(
        dict.fromkeys(
            replace(one, before=places[one.before], after=places[one.after])
            for bound, places in zip(bounds, numbers, strict=True)
            for one in bound.adjacent
        )
    )
    operands = tuple(
        positions(bound.pattern, {label.name: at for label, at in zip(bound.labels, places, strict=True)})
        for bound, places in zip(bounds, numbers, strict=True)
    )
    negated = sum(1 << i for i, label in enumerate(labels) if label.negated)
    if adjacent and negated.bit_count() > MAX_NEGATED:  # the plan looks at every set of them
        return None
    paths = [key.path for key in bounds[0].keys]
    outputs: list[Output] = []
    members: list[Member] = []
    for query, bound, places in zip(queries, bounds, numbers, strict=True):
        own = tuple(range(len(outputs), len(outputs) + len(bound.outputs)))
        members.append(replace(query, outputs=own))
        key_places = [paths.index(key.path) for key in bound.keys]
        found = find_sole_events(bound.outputs, query.plan.machine.operands)
        outputs += [_relabel(one, places, key_places) for one in found]
    keys = tuple(_merge_key(key, bounds, numbers) for key in bounds[0].keys)
    derived = tuple(dict.fromkeys(one for bound in bounds for one in bound.derived))
    if len({one.name for one in derived}) < len(derived):
        return None
    types = None if bounds[0].types is None else tuple({t: None for b in bounds for t in b.types or ()})
    mark = "_"  # columns of groups must not be called as an output of another query
    while any(output.name.startswith(mark) for output in outputs):
        mark += "_"
    groups = tuple(f"{mark}{i}" for i in range(len(bounds[0].group_names)))
    bound = replace(
        bounds[0],
        labels=labels,
        local=local,
        adjacent=adjacent,
        keys=keys,
        group_names=groups,
        outputs=tuple(outputs),
        types=types,
        derived=derived,
        finish=None,  # of each query by itself
    )
    alone = sum(count_numbers(query.plan) for query in queries)
    most = MAX_STATES if always else min(MAX_STATES, int(WORTH * alone / aggregates(bound, outputs).width))
    try:
        machine = build(operands, bounds[0].semantics, negated, per_query=True, most=most)
    except MachineTooLarge:
        return None
    return Part(_cheaper(Plan(bound, machine, pairs(adjacent, bound.time))), tuple(members))


def _merge_key(key: Key, bounds: Sequence[Bound], numbers: Sequence[Sequence[int]]) -> Key:
    """Return a key of all queries over the labels of all."""
    if key.labels is None:
        return key
    of_each = [next(one.labels or () for one in bound.keys if one.path == key.path) for bound in bounds]
    return Key(key.path, frozenset(at[i] for at, some in zip(numbers, of_each, strict=True) for i in some))


def _relabel(output: Output, places: Sequence[int], key_places: Sequence[int]) -> Output:
    """Return an output over the labels and keys of all queries."""

    def moved(labels: frozenset[int]) -> frozenset[int]:
        return frozenset(places[i] for i in labels)

    measure = output.measure
    if measure is not None:
        pieces = tuple(replace(piece, labels=moved(piece.labels)) for piece in measure.pieces)
        measure = replace(measure, pieces=pieces)
    distinct = tuple(key_places[k] for k in output.distinct)
    return replace(output, labels=moved(output.labels), measure=measure, distinct=distinct)


def _cheaper(plan: Plan) -> Plan:
    """Read patterns from their ends where events then look for others in fewer ways, for common suffixes."""
    machine = plan.machine
    if not plan.pairs or machine.forgetful or plan.aggregates.trackers or plan.bound.per_trigger:
        return plan
    operands = tuple(map(reverse_positions, machine.operands))
    try:
        other = build(operands, machine.semantics, machine.negated, per_query=True)
    except MachineTooLarge:
        return plan
    backward = replace(plan, backward=other)
    return backward if backward.directed.lookups < plan.lookups else plan


def _labels(bounds: Sequence[Bound]) -> tuple[tuple[Label, ...], tuple[tuple[Term, ...], ...], list[list[int]]]:
    """Return the labels of all queries with their conditions, and for each query where its own are.

    Labels are the same if type, keys and conditions are, also those on neighbours. Those of one query stay
    different: its first of a kind is the first of that kind everywhere, and so on.
    """
    found: dict[Hashable, int] = {}
    labels: list[Label] = []
    local: list[tuple[Term, ...]] = []
    numbers: list[list[int]] = []
    joined: dict[tuple[int, int], frozenset[Term]] = {}  # what must hold between neighbours of two labels
    for number, bound in enumerate(bounds):
        between: dict[tuple[int, int], frozenset[Term]] = {}
        for one in bound.adjacent:
            pair = one.before, one.after
            between[pair] = between.get(pair, frozenset()) | {one.condition}
        kinds = _kinds_of_labels(bound, between)
        places = [found.get(kind, -1) for kind in kinds]
        known = [i for i, place in enumerate(places) if place >= 0]
        if any(joined.get((places[i], places[j])) != between.get((i, j)) for i in known for j in known):
            kinds, places = [(number, kind) for kind in kinds], [-1] * len(kinds)  # its labels stay its own
        for i, label in enumerate(bound.labels):
            if places[i] < 0:
                places[i] = found[kinds[i]] = len(labels)
                labels.append(Label(f"{label.type}{places[i]}", label.type, label.negated))
                local.append(bound.local[i])
            elif label.negated:
                labels[places[i]] = replace(labels[places[i]], negated=True)
        joined |= {(places[i], places[j]): terms for (i, j), terms in between.items()}
        numbers.append(places)
    return tuple(labels), tuple(local), numbers


def _kinds_of_labels(bound: Bound, between: Mapping[tuple[int, int], frozenset[Term]]) -> list[Hashable]:
    """Return what makes a label the same as another query's."""
    binding = [
        frozenset(key.path for key in bound.keys if i in (key.labels or ())) for i in range(len(bound.labels))
    ]
    simple = list(zip((label.type for label in bound.labels), bound.local, binding, strict=True))
    kinds: list[Hashable] = []
    seen: dict[Hashable, int] = {}
    for i, kind in enumerate(simple):
        after = frozenset((simple[b], terms) for (a, b), terms in between.items() if a == i)
        before = frozenset((simple[a], terms) for (a, b), terms in between.items() if b == i)
        whole = (kind, after, before)
        seen[whole] = seen.get(whole, -1) + 1
        kinds.append((*whole, seen[whole]))
    return kinds
