"""A cube of queries in a user's hands: related queries, of which some follow from others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Unpack

from sparkleene.errors import mistake
from sparkleene.evaluation import Engine, OutputMode, PreparedWorkload, Strategy, like_data, to_spark
from sparkleene.options import HierarchyLike, QueryOptions, ReadingKeywords, list_options
from sparkleene.prepared import Columns, Recent
from sparkleene.query import Query

if TYPE_CHECKING:
    import pyarrow as pa

    from sparkleene.olap.cube_plan import CubePlan, Step
    from sparkleene.olap.hierarchy import Hierarchy
    from sparkleene.olap.refinements import Refinement


class Cube:
    """Queries at several levels of abstraction; make one with `sparkleene.cube`."""

    def __init__(
        self,
        queries: Mapping[str, str | Query],
        hierarchy: HierarchyLike | None = None,
        **options: Unpack[ReadingKeywords],
    ) -> None:
        """Compile the queries and relate them; see `sparkleene.cube`."""
        if not queries:
            raise mistake("the cube has no queries", "give some: {'name': 'RETURN ...'}")
        compiled = {name: one.prepared for name, one in queries.items() if isinstance(one, Query)}
        first = next((one.options for one in compiled.values()), QueryOptions())
        common = first.change(**options, hierarchy=first.hierarchy if hierarchy is None else hierarchy)
        for name, one in compiled.items():
            differing = [option for option, value in vars(common).items() if value != vars(one.options)[option]]
            if differing:
                help = "make all queries with the same options, or give the cube their texts"
                raise mistake(f"'{name}' has another {differing[0]}= than the cube", help)
        texts = {name: one.text if isinstance(one, Query) else one for name, one in queries.items()}
        self.queries = {name: Query(text, filename=name, **common.keywords) for name, text in texts.items()}
        self._options = common
        self._workload = self._workload_of(self.queries)
        self._plans: Recent[CubePlan] = Recent()

    def _workload_of(self, names: Iterable[str]) -> PreparedWorkload:
        """Return some of the queries, to be evaluated together."""
        return PreparedWorkload({name: self.queries[name].prepared for name in names}, "auto")

    @property
    def _hierarchy(self) -> Hierarchy:
        from sparkleene.olap.hierarchy import Hierarchy

        return self._options.hierarchy or Hierarchy({})

    @cached_property
    def edges(self) -> tuple[Refinement, ...]:
        """Which queries are finer than which, directly: `finer`, `coarser`, and by what `kind` of refinement."""
        from sparkleene.olap.refinements import find_refinements

        patterns = {name: q.prepared.tree.pattern for name, q in self.queries.items()}
        return find_refinements(patterns, self._hierarchy)

    @property
    def plan(self) -> tuple[Step, ...]:
        """The order of evaluation: each `query` with its `cost` and the `sources` that it follows from.

        As far as nobody has looked at the data, events are of types with nothing below them.
        """
        return self._plan_for(None, None).steps

    def _plan_for(self, columns: Columns, present: frozenset[str] | None) -> CubePlan:
        """Return the plan for data with these columns and types of events."""
        return self._plans.get((columns, present), lambda: self._make_plan(columns, present))

    def _make_plan(self, columns: Columns, present: frozenset[str] | None) -> CubePlan:
        from sparkleene.olap.cube_plan import plan_cube
        from sparkleene.olap.derive import Concepts

        plans = {name: q.prepared.plan_for(columns) for name, q in self.queries.items()}
        return plan_cube(plans, Concepts(self._hierarchy, present))

    def run(
        self,
        data: Any,
        *,
        engine: Engine | None = None,
        threads: int | None = None,
        strategy: Strategy | None = None,
        output_mode: OutputMode | None = None,
    ) -> Any:
        """Evaluate all queries over a table and return one of the same kind, with a column `query`.

        It is what each query gives by itself. Queries that follow from others are added up from their results, the
        rest is evaluated as one `sparkleene.workload`. `data` and the options are those of `Query.run`. On Spark a
        small job looks first which types of the hierarchy occur. Of a stream nobody knows, so there only queries
        that are the same follow from each other.
        """
        if self._workload.goes_to_spark(data, engine):
            return self._run_on_spark(data, strategy, output_mode)
        self._workload.check_local(strategy, output_mode)
        from sparkleene.workload.run import unite_results

        read = self._workload.read(data)
        plan = self._plan_for(read.columns, self._types(read.table))
        evaluated = self._workload_of(step.query for step in plan.steps if not step.sources)
        found, _ = evaluated.evaluate(read, threads)
        for step in plan.steps:
            if step.sources:
                total = plan.add_up(step, found)
                if total is None:
                    total = self._workload_of([step.query]).evaluate(read, threads)[0][step.query]
                found[step.query] = total
        return read.back(unite_results({name: found[name] for name in self.queries}))

    def _run_on_spark(self, data: Any, strategy: Strategy | None, output_mode: OutputMode | None) -> Any:
        """Return the results of all queries as a DataFrame that is not evaluated yet."""
        from sparkleene.spark.cube_levels import add_levels

        plan, schema = self._plan_on_spark(data)
        evaluated = self._workload_of(step.query for step in plan.steps if not step.sources)
        results, _ = evaluated.run(to_spark(data), "spark", None, strategy, output_mode)
        return like_data(add_levels(plan, results, schema), data)

    def _plan_on_spark(self, data: Any) -> tuple[CubePlan, pa.Schema]:
        """Return the plan for data on Spark, and the columns of all results."""
        source, requests = self._workload.ask_spark(data)
        schema = source.schema(requests)
        present = None
        if self._options.hierarchy is not None and self._options.type is not None:
            present = source.types(requests[0], self._options.type, self._options.hierarchy.names)
        return self._plan_for(tuple(source.columns), present), schema

    def _types(self, table: pa.Table) -> frozenset[str] | None:
        """Return the types that events have; None if there is no hierarchy for which they matter."""
        import pyarrow.compute as pc

        if self._options.hierarchy is None:
            return None
        return frozenset(map(str, pc.unique(table[self._options.type]).to_pylist()))

    def explain(self, data: Any = None, *, engine: Engine | None = None) -> str:
        """Say which queries are finer than which, which are evaluated and which follow from others, and why.

        With `data` for the types of its events, as `run` does: with data on Spark in a small job.

        >>> texts = {city: f"RETURN COUNT(*) PATTERN SEQ({city}, Bus)" for city in ("Dallas", "Austin", "Texas")}
        >>> print(cube(texts, {"Dallas": "Texas", "Austin": "Texas"}).explain())
        Cube of 3 queries
        Refinements
          Dallas  of  Texas  concept
          Austin  of  Texas  concept
        Evaluation, of cost 6.2 instead of 9
          Dallas  cost 3    evaluated
            not from Texas: numbers do not tell which trends are also these
          Austin  cost 3    evaluated
            not from Texas: numbers do not tell which trends are also these
          Texas   cost 0.2  added up from Dallas, Austin: they divide its trends by the type of 'Texas'
        """
        columns = present = None
        if data is not None and self._workload.goes_to_spark(data, engine):
            return self._plan_on_spark(data)[0].explain(self.edges)
        if data is not None:
            read = self._workload.read(data)
            columns, present = read.columns, self._types(read.table)
        return self._plan_for(columns, present).explain(self.edges)

    def to_dot(self) -> str:
        """Return the queries and their refinements as Graphviz reads them."""
        from sparkleene.draw.lattice import to_dot

        return to_dot(self._patterns(), self.edges, self._derive_names())

    def to_svg(self) -> str:
        """Return a picture of the queries, finer ones below coarser ones; a notebook shows it for the cube."""
        from sparkleene.draw.lattice import to_svg

        return to_svg(self._patterns(), self.edges, self._derive_names())

    def _patterns(self) -> dict[str, str]:
        from sparkleene.language import pattern_to_text

        return {name: pattern_to_text(q.prepared.tree.pattern) for name, q in self.queries.items()}

    def _derive_names(self) -> set[str]:
        return {step.query for step in self.plan if step.sources}

    def __repr__(self) -> str:
        """Name the queries."""
        return f"<sparkleene cube of {', '.join(self.queries)}>"

    def __reduce__(self) -> tuple[partial[Cube], tuple[()]]:
        """Survive pickling as what the cube was made of."""
        texts = {name: q.text for name, q in self.queries.items()}
        return partial(type(self), texts, **self._options.keywords), ()

    def _repr_html_(self) -> str:
        """Show the picture in a notebook."""
        return self.to_svg()


@list_options
def cube(
    queries: Mapping[str, str | Query], hierarchy: HierarchyLike | None = None, **options: Unpack[ReadingKeywords]
) -> Cube:
    """Compile queries at several levels of abstraction, of which some follow from others.

    `queries` maps names to texts, or to queries that all have the same options. `hierarchy` maps types to concepts
    above them, or is a file that does, as for `sparkleene.query`; `options` are the other options, for all queries.
    Options that are not given are those of the first query that is not a text.

    >>> import pyarrow as pa
    >>> table = pa.table({"time": [1, 2, 3], "type": ["Dallas", "Austin", "Bus"]})
    >>> texts = {city: f"RETURN COUNT(*) PATTERN SEQ({city}, Bus)" for city in ("Dallas", "Austin", "Texas")}
    >>> made = cube(texts, {"Dallas": "Texas", "Austin": "Texas"})
    >>> [(step.query, step.sources) for step in made.plan]
    [('Dallas', ()), ('Austin', ()), ('Texas', ('Dallas', 'Austin'))]
    >>> made.run(table).to_pylist()[-1]
    {'query': 'Texas', 'count': 2.0}
    """
    return Cube(queries, hierarchy, **options)
