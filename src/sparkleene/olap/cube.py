"""The order in which the queries of a cube are computed, and which follow from others (2016 survey, section 4).

Every query of a cube is asked for, so each has a cost of its own: what it takes to evaluate it, or to add up
results that are there anyhow. The plan is the cheapest arborescence from a root that stands for the events. An edge
from the root is an evaluation, one between queries a derivation. What follows from several queries hangs on the
first of them: the others cost nothing more, and as all are strictly finer, no circle can go through them. Only
equal queries, each of which could be a copy of the other, form circles, which the arborescence cuts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkleene.olap.arborescence import arborescence
from sparkleene.olap.derive import Asked, Concepts, copies, cover, refusal
from sparkleene.olap.relate import Refinement
from sparkleene.plan.text import count, table

ADDING = 0.1
"""What it costs to add up a result, where a state of an evaluated query costs 1: results are fewer than events."""


@dataclass(frozen=True)
class Step:
    """A query in the order of evaluation; without sources it is evaluated, else added up from their results."""

    query: str
    sources: tuple[str, ...]
    cost: float


def plan(queries: Sequence[Asked], concepts: Concepts) -> tuple[Step, ...]:
    """Return the queries in the order in which they are cheapest to compute."""
    costs: dict[tuple[str | None, str | None], float] = {}
    ways: dict[tuple[str | None, str | None], tuple[str, ...]] = {}
    for target in queries:
        costs[None, target.name] = target.cost
        made = cover(target, queries, concepts)
        for sources in [*((name,) for name in copies(target, queries)), *([made] if made else [])]:
            edge, cost = (sources[0], target.name), ADDING * len(sources)
            if cost < min(target.cost, costs.get(edge, target.cost)):
                costs[edge], ways[edge] = cost, sources
    chosen = arborescence(costs, None)
    edges = {target.name: (chosen[target.name], target.name) for target in queries}
    steps = {name: Step(name, ways.get(edge, ()), costs[edge]) for name, edge in edges.items()}
    return tuple(_ordered(steps))


def _ordered(steps: Mapping[str, Step]) -> Iterator[Step]:
    """Yield what is evaluated, then what follows from it."""
    left, done = dict(steps), set[str]()
    while left:
        ready = [step for step in left.values() if done.issuperset(step.sources)]
        yield from ready
        done.update(step.query for step in ready)
        left = {name: step for name, step in left.items() if name not in done}


def explain(
    queries: Mapping[str, Asked], edges: Sequence[Refinement], steps: Sequence[Step], concepts: Concepts
) -> str:
    """Say which queries are finer than which, how each is computed, and why not otherwise."""
    whole, apart = sum(step.cost for step in steps), sum(one.cost for one in queries.values())
    lines = [f"Cube of {count(len(queries), 'query').replace('querys', 'queries')}"]
    if edges:
        lines.append("Refinements")
        lines += [f"  {row}" for row in table((edge.finer, "of", edge.coarser, edge.kind) for edge in edges)]
    lines.append(f"Evaluation, of cost {whole:g}" + (f" instead of {apart:g}" if whole < apart else ""))
    rows = table((step.query, f"cost {step.cost:g}", _how(step, queries)) for step in steps)
    for step, row in zip(steps, rows, strict=True):
        lines.append(f"  {row}")
        if not step.sources:
            lines += [f"    {why}" for why in _why(queries[step.query], queries, edges, concepts)]
    return "\n".join(lines)


def _how(step: Step, queries: Mapping[str, Asked]) -> str:
    """Say how a query is computed."""
    if not step.sources:
        return "evaluated"
    target, first = queries[step.query], queries[step.sources[0]]
    if len(step.sources) == 1:
        same = target.types == first.types
        return f"the same as {first.name}" + ("" if same else ", for the types that there are")
    members = [queries[name].types for name in step.sources]
    divided = [
        f"'{target.bound.labels[i].name}'"
        for i, kind in enumerate(target.types)
        if any(types[i] != kind for types in members)
    ]
    return (
        f"added up from {', '.join(step.sources)}: they divide its trends by the type of {', '.join(divided)}"
    )


def _why(
    target: Asked, queries: Mapping[str, Asked], edges: Sequence[Refinement], concepts: Concepts
) -> Iterator[str]:
    """Say why a query does not follow from those that it is related to."""
    made = cover(target, queries.values(), concepts)
    found: dict[str, list[str]] = {}
    for edge in edges:
        if edge.finer == target.name:
            found.setdefault("numbers do not tell which trends are also these", []).append(edge.coarser)
        elif edge.coarser == target.name:
            why = "further types make other trends"
            if edge.finer in made:
                why = f"to add up {count(len(made), 'result')} costs {ADDING * len(made):g}"
            elif "pattern" not in edge.kind:
                why = refusal(target, queries[edge.finer], queries.values(), concepts)
            found.setdefault(why, []).append(edge.finer)
    for why, names in found.items():
        yield f"not from {', '.join(names)}: {why}"
