"""A query lowered onto flat columns of its own: what is evaluated row by row is so before rows are shuffled.

The lowered plan reads a table with a column for the time, each key, each aggregated attribute and each side of an
adjacent predicate, and with label masks in place of types and local predicates. Whoever holds the rows first makes
that table: Spark's SQL engine from a DataFrame, or `lowered` from an Arrow table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa

from sparkleene.columns.expressions import drop_sides, evaluate
from sparkleene.columns.fields import find_column
from sparkleene.columns.labels import label_masks
from sparkleene.columns.options import Options
from sparkleene.errors import Place
from sparkleene.language.bound import Bound, Call, Field, Literal_, Path, Term
from sparkleene.language.trees import map_fields
from sparkleene.plan.plan import Plan
from sparkleene.plan.predicates import Comparison, Pair, sides
from sparkleene.plan.text import term_to_text

MASK, TYPES = "sparkleene labels", "sparkleene types"


@dataclass(frozen=True)
class Lowered:
    """A plan over flat columns, and what each column holds."""

    plan: Plan
    options: Options
    columns: tuple[tuple[str, Term], ...]
    alone: tuple[Plan, ...] = ()  # where the plan is of several queries, theirs


def lower(
    plan: Plan,
    options: Options,
    ready: Callable[[Term], bool],
    masks: bool,
    found: dict[str, Term] | None = None,
    number: int = 0,
) -> Lowered:
    """Lower a plan.

    `ready` tells of a term of one event whether it can be evaluated beforehand; where it cannot, its attributes
    become columns. `masks` tells the same of types and local predicates. Plans that read one table get the same
    `found`, to which each adds its columns, and a `number` each, which tells their masks apart.
    """
    flat = _Columns(ready, {} if found is None else found)
    bound = plan.bound
    time = flat.name(Field((options.time,)))
    tiebreak = None if options.tiebreak is None else flat.name(Field((options.tiebreak,)))
    type = options.type
    if masks:
        bound = replace(bound, local=tuple(() for _ in bound.labels), types=None)
        type = None
    else:
        local = tuple(tuple(flat.attributes(term) for term in terms) for terms in bound.local)
        types = None
        if bound.types is not None:
            types = tuple((name, flat.attributes(term)) for name, term in bound.types)
        elif type is not None:
            type = flat.name(Field((type,)))
        bound = replace(bound, local=local, types=types)
    bound = replace(
        bound,
        keys=tuple(replace(key, path=flat.path(key.path)) for key in bound.keys),
        outputs=tuple(
            replace(output, path=flat.path(output.path)) if output.path else output
            for output in bound.outputs
        ),
    )
    pairs = tuple(
        Pair(
            pair.before,
            pair.after,
            tuple(Comparison(c.op, flat.side(c.left), flat.side(c.right)) for c in pair.comparisons),
            tuple(flat.general(term) for term in pair.general),
        )
        for pair in plan.pairs
    )
    names = () if not masks else (MASK, TYPES) if needs_types(plan) else (MASK,)
    own = tuple(f"{name} {number}" if number else name for name in names)
    meant = replace(options, time=time, type=type, tiebreak=tiebreak, masks=own)
    flat_plan = Plan(bound, plan.machine, pairs)
    if plan.backward is not None:
        flat_plan = replace(flat_plan, backward=flat_plan.turned(plan.backward.machine))
    return Lowered(flat_plan, meant, tuple(flat.found.items()))


def needs_types(plan: Plan) -> bool:
    """Tell whether the types of rows matter apart from local predicates: for keys that bind some labels only."""
    typed = len(plan.universal) < len(plan.bound.keys)
    return typed and (plan.every_row or any(plan.bound.local))


def bare(bound: Bound) -> Bound:
    """Return a query without its local predicates."""
    return replace(bound, local=tuple(() for _ in bound.labels))


def lowered(
    plan: Plan, low: Lowered, table: pa.Table, options: Options, threads: int, place: Place
) -> pa.Table:
    """Make the columns of a lowered plan from a table as the plan itself reads it."""
    columns = {}
    for name, term in low.columns:
        if isinstance(term, Field):
            columns[name] = find_column(table, term.path, place, term.span)
        else:
            columns[name] = evaluate(term, table, place)
    for name, bound in zip(low.options.masks, (plan.bound, bare(plan.bound)), strict=False):
        masks, _ = label_masks(bound, table, options.type, place, threads)
        columns[name] = pa.array(masks)
    return pa.table(columns)


@dataclass
class _Columns:
    """The columns found so far, by name."""

    ready: Callable[[Term], bool]
    found: dict[str, Term]

    def name(self, term: Term) -> str:
        """Return the name of a term's column; an attribute keeps its own, which errors show."""
        term = drop_sides(term)
        name = ".".join(term.path) if isinstance(term, Field) else term_to_text(term)
        while self.found.setdefault(name, term) != term:
            name += "_"
        return name

    def path(self, path: Path) -> Path:
        """Return the path of an attribute's column."""
        return (self.name(Field(path)),)

    def side(self, term: Term) -> Term:
        """Return a term of one event as a column, if it can be one."""
        if isinstance(term, Literal_) or not sides(term):
            return term
        if isinstance(term, Call) and not self.ready(drop_sides(term)):
            return self.attributes(term)
        (side,) = sides(term)
        return Field((self.name(term),), 1 if side else 0, term.span)

    def attributes(self, term: Term) -> Term:
        """Return a term over columns of its attributes."""
        return map_fields(term, lambda field: replace(field, path=self.path(field.path)))

    def general(self, term: Term) -> Term:
        """Return a condition on two events over columns of the parts that speak of one."""
        if len(sides(term)) < 2:
            return self.side(term)
        assert isinstance(term, Call)
        return replace(term, args=tuple(self.general(arg) for arg in term.args))
