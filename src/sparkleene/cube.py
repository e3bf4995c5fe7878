"""A cube of queries in a user's hands: related queries, of which some follow from others."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from sparkleene.errors import Diagnostic, QueryError
from sparkleene.query import Query

if TYPE_CHECKING:
    import pyarrow as pa

    from sparkleene.olap.cube import Step
    from sparkleene.olap.derive import Asked, Concepts
    from sparkleene.olap.hierarchy import Hierarchy
    from sparkleene.olap.relate import Refinement


class Cube:
    """Queries at several levels of abstraction; make one with `sparkleene.cube`."""

    def __init__(
        self,
        queries: Mapping[str, str | Query],
        hierarchy: Mapping[str, str] | str | os.PathLike[str] | Hierarchy | None = None,
        **options: Any,
    ) -> None:
        """Compile the queries and relate them; see `sparkleene.cube`."""
        if not queries:
            raise _wrong("the cube has no queries", "give some: {'name': 'RETURN ...'}")
        made = {name: one for name, one in queries.items() if isinstance(one, Query)}
        given = dict(next(iter(made.values()))._given if made else {}) | options
        if hierarchy is not None:
            given["hierarchy"] = hierarchy
        texts = {name: one.text if isinstance(one, Query) else one for name, one in queries.items()}
        self.queries = {name: Query(text, **given, filename=name) for name, text in texts.items()}
        self._given = next(iter(self.queries.values()))._given
        for name, one in made.items():
            differing = [option for option, value in one._given.items() if value != self._given[option]]
            if differing:
                help = "make all queries with the same options, or give the cube their texts"
                raise _wrong(f"'{name}' has another {differing[0]}= than the cube", help)
        self._plan_for = lru_cache(maxsize=8)(self._make_plan)

    @property
    def _hierarchy(self) -> Hierarchy:
        from sparkleene.olap.hierarchy import Hierarchy

        return self._given["hierarchy"] or Hierarchy({})

    @cached_property
    def edges(self) -> tuple[Refinement, ...]:
        """Which queries are finer than which, directly: `finer`, `coarser`, and by what `kind` of refinement."""
        from sparkleene.olap.relate import refinements

        return refinements({name: q._tree.pattern for name, q in self.queries.items()}, self._hierarchy)

    @property
    def plan(self) -> tuple[Step, ...]:
        """The order of evaluation: each `query` with its `cost` and the `sources` that it follows from.

        As far as nobody has looked at the data, events are of types with nothing below them.
        """
        return self._plan_for(None, None)[0]

    def _make_plan(
        self, columns: tuple[str, ...] | None, present: frozenset[str] | None
    ) -> tuple[tuple[Step, ...], dict[str, Asked], Concepts]:
        from sparkleene.olap.cube import plan
        from sparkleene.olap.derive import Concepts, asked

        plans = {name: q._plan_for(columns) for name, q in self.queries.items()}
        queries = {name: asked(name, p.bound, len(p.machine.states)) for name, p in plans.items()}
        concepts = Concepts(self._hierarchy, present)
        return plan([*queries.values()], concepts), queries, concepts

    def run(self, data: Any, *, threads: int | None = None) -> Any:
        """Evaluate all queries over a table and return one of the same kind, with a column `query`.

        It is what each query gives by itself. Queries that follow from others are added up from their results, the
        rest is evaluated as one `sparkleene.workload`. `data` is what `Query.run` takes, except what belongs to
        Spark; `threads` defaults to all cores.
        """
        from sparkleene.workload import Workload
        from sparkleene.workload.run import union

        table, back = self._read(data)
        steps, queries, _ = self._plan_for(tuple(table.column_names), self._types(table))
        texts = {step.query: self.queries[step.query].text for step in steps if not step.sources}
        given = self._given | {"hierarchy": self._given["hierarchy"] and self._hierarchy.parents}
        found = _apart(Workload(texts, **given).run(table, threads=threads), queries, texts)
        for step in steps:
            if step.sources:
                parts = [(found[name], queries[name]) for name in step.sources]
                found[step.query] = _derived(queries[step.query], parts)
                if found[step.query] is None:
                    found[step.query] = self.queries[step.query].run(table, threads=threads)
        return back(union({name: found[name] for name in self.queries}))

    def _read(self, data: Any) -> tuple[pa.Table, Any]:
        """Return the columns that the queries need, and the function that turns a table into the same kind."""
        from sparkleene.columns.tables import opened, read, schema_names

        data = opened(data)
        names = schema_names(data)
        needed: set[str] = set()
        for q in self.queries.values():
            q._check_type(names)
            needed.update(q._needed(q._plan_for(tuple(names)), names))
        return read(data, needed)

    def _types(self, table: pa.Table) -> frozenset[str] | None:
        """Return the types that events have; None if there is no hierarchy for which they matter."""
        import pyarrow.compute as pc

        if self._given["hierarchy"] is None:
            return None
        return frozenset(map(str, pc.unique(table[self._given["type"]]).to_pylist()))

    def explain(self, data: Any = None) -> str:
        """Say which queries are finer than which, which are evaluated and which follow from others, and why.

        With `data` for the types of its events, as `run` does.

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
        from sparkleene.olap.cube import explain

        columns = present = None
        if data is not None:
            table = self._read(data)[0]
            columns, present = tuple(table.column_names), self._types(table)
        steps, queries, concepts = self._plan_for(columns, present)
        return explain(queries, self.edges, steps, concepts)

    def to_dot(self) -> str:
        """Return the queries and their refinements as Graphviz reads them."""
        from sparkleene.draw.lattice import to_dot

        return to_dot(self._patterns(), self.edges, self._derived())

    def to_svg(self) -> str:
        """Return a picture of the queries, finer ones below coarser ones; a notebook shows it for the cube."""
        from sparkleene.draw.lattice import to_svg

        return to_svg(self._patterns(), self.edges, self._derived())

    def _patterns(self) -> dict[str, str]:
        from sparkleene.language import pattern_to_text

        return {name: pattern_to_text(q._tree.pattern) for name, q in self.queries.items()}

    def _derived(self) -> set[str]:
        return {step.query for step in self.plan if step.sources}

    def __repr__(self) -> str:
        """Name the queries."""
        return f"<sparkleene cube of {', '.join(self.queries)}>"

    def _repr_html_(self) -> str:
        """Show the picture in a notebook."""
        return self.to_svg()


def _apart(rows: pa.Table, queries: Mapping[str, Asked], names: Iterable[str]) -> dict[str, pa.Table | None]:
    """Return the results of a workload query by query, each with its own columns."""
    import pyarrow.compute as pc

    from sparkleene.workload.run import QUERY

    return {name: rows.filter(pc.equal(rows[QUERY], name)).select(_columns(queries[name])) for name in names}


def _columns(query: Asked) -> list[str]:
    """Return the result columns of a query: window, groups, aggregates."""
    window = [] if query.form.window is None else ["window_start", "window_end"]
    return [*window, *query.bound.group_names, *(output.name for output in query.bound.outputs)]


def _derived(target: Asked, parts: list[tuple[pa.Table, Asked]]) -> pa.Table | None:
    """Add the results of finer queries up; None if they cannot be."""
    from sparkleene.olap.totals import total

    names = _columns(target)
    keys = len(names) - len(target.outputs)
    tables = []
    for table, part in parts:
        own = _columns(part)
        wanted = own[:keys] + [own[keys + part.outputs.index(output)] for output in target.outputs]
        chosen = [table[name] for name in wanted]
        tables.append(_table(names, chosen))
    return total(tables, [output.function for output in target.outputs])


def _table(names: list[str], columns: list[Any]) -> pa.Table:
    import pyarrow as pa

    return pa.table(dict(zip(names, columns, strict=True)))


def _wrong(message: str, help: str) -> QueryError:
    return QueryError(Diagnostic("bad-option", message, help=help))


def cube(
    queries: Mapping[str, str | Query],
    hierarchy: Mapping[str, str] | str | os.PathLike[str] | None = None,
    **options: Any,
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
