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

import pyarrow as pa

from sparkleene.olap.arborescence import find_arborescence
from sparkleene.olap.derive import Concepts, CubeQuery, explain_refusal, find_copies, find_cover
from sparkleene.olap.refinements import Refinement
from sparkleene.olap.totals import add_results
from sparkleene.plan.plan import Plan
from sparkleene.plan.text import count, table

ADDING = 0.1
"""What it costs to add up a result, where a state of an evaluated query costs 1: results are fewer than events."""


@dataclass(frozen=True)
class Step:
    """A query in the order of evaluation; without sources it is evaluated, else added up from their results."""

    query: str
    sources: tuple[str, ...]
    cost: float


@dataclass(frozen=True)
class CubePlan:
    """The queries of a cube, and the steps in which they are computed."""

    queries: Mapping[str, CubeQuery]
    concepts: Concepts
    steps: tuple[Step, ...]

    def add_up(self, step: Step, results: Mapping[str, pa.Table]) -> pa.Table | None:
        """Return the result of a step from those of its sources; None if sums have left the range of doubles."""
        target = self.queries[step.query]
        keys = len(target.keys)
        tables = []
        for source in map(self.queries.__getitem__, step.sources):
            outputs = [source.columns[keys + source.outputs.index(output)] for output in target.outputs]
            table = results[source.name].select([*source.columns[:keys], *outputs])
            tables.append(table.rename_columns(target.columns))
        return add_results(tables, [output.function for output in target.outputs])

    def explain(self, edges: Sequence[Refinement]) -> str:
        """Say which queries are finer than which, how each is computed, and why not otherwise."""
        costs = [one.cost for one in self.queries.values()]
        whole, apart = sum(step.cost for step in self.steps), sum(costs)
        lines = [f"Cube of {count(len(costs), 'query').replace('querys', 'queries')}"]
        if edges:
            rows = table((edge.finer, "of", edge.coarser, edge.kind) for edge in edges)
            lines += ["Refinements", *(f"  {row}" for row in rows)]
        lines.append(f"Evaluation, of cost {whole:g}" + (f" instead of {apart:g}" if whole < apart else ""))
        rows = table((step.query, f"cost {step.cost:g}", self._describe(step)) for step in self.steps)
        for step, row in zip(self.steps, rows, strict=True):
            lines.append(f"  {row}")
            if not step.sources:
                lines += [f"    {why}" for why in self._explain_evaluation(step.query, edges)]
        return "\n".join(lines)

    def _describe(self, step: Step) -> str:
        """Say how a query is computed."""
        if not step.sources:
            return "evaluated"
        target, sources = self.queries[step.query], [self.queries[name] for name in step.sources]
        if len(sources) == 1:
            same = target.types == sources[0].types
            return f"the same as {sources[0].name}" + ("" if same else ", for the types that there are")
        divided = [
            f"'{target.bound.labels[i].name}'"
            for i, kind in enumerate(target.types)
            if any(source.types[i] != kind for source in sources)
        ]
        names = ", ".join(step.sources)
        return f"added up from {names}: they divide its trends by the type of {', '.join(divided)}"

    def _explain_evaluation(self, name: str, edges: Sequence[Refinement]) -> Iterator[str]:
        """Say why a query does not follow from those that it is related to."""
        target, queries = self.queries[name], self.queries.values()
        cover = find_cover(target, queries, self.concepts)
        found: dict[str, list[str]] = {}
        for edge in edges:
            if edge.finer == name:
                found.setdefault("numbers do not tell which trends are also these", []).append(edge.coarser)
            elif edge.coarser == name:
                why = "further types make other trends"
                if edge.finer in cover:
                    why = f"to add up {count(len(cover), 'result')} costs {ADDING * len(cover):g}"
                elif "pattern" not in edge.kind:
                    why = explain_refusal(target, self.queries[edge.finer], queries, self.concepts)
                found.setdefault(why, []).append(edge.finer)
        for why, names in found.items():
            yield f"not from {', '.join(names)}: {why}"


def plan_cube(plans: Mapping[str, Plan], concepts: Concepts) -> CubePlan:
    """Return the steps in which the queries of a cube are cheapest to compute."""
    queries = {name: CubeQuery.of(name, plan) for name, plan in plans.items()}
    costs: dict[tuple[str | None, str | None], float] = {}
    ways: dict[tuple[str | None, str | None], tuple[str, ...]] = {}
    for target in queries.values():
        costs[None, target.name] = target.cost
        cover = find_cover(target, queries.values(), concepts)
        copies = [(name,) for name in find_copies(target, queries.values())]
        for sources in [*copies, *([cover] if cover else [])]:
            edge, cost = (sources[0], target.name), ADDING * len(sources)
            if cost < min(target.cost, costs.get(edge, target.cost)):
                costs[edge], ways[edge] = cost, sources
    chosen = find_arborescence(costs, None)
    edges = {name: (chosen[name], name) for name in queries}
    steps = {name: Step(name, ways.get(edge, ()), costs[edge]) for name, edge in edges.items()}
    return CubePlan(queries, concepts, tuple(_order(steps)))


def _order(steps: Mapping[str, Step]) -> Iterator[Step]:
    """Yield what is evaluated, then what follows from it."""
    left, done = dict(steps), set[str]()
    while left:
        ready = [step for step in left.values() if done.issuperset(step.sources)]
        yield from ready
        done.update(step.query for step in ready)
        left = {name: step for name, step in left.items() if name not in done}
