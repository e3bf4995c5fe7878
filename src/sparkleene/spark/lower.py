"""A query lowered onto flat columns of its own: expressions of one row become columns before rows are shuffled.

The lowered plan reads a table with a column for the time, each key, each aggregated attribute and each side of an
adjacent predicate, and with label masks in place of types and local predicates. Whoever holds the rows first makes
that table: Spark's SQL engine from a DataFrame, or `lower_table` from an Arrow table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa

from sparkleene.columns.expressions import drop_sides, evaluate
from sparkleene.columns.fields import find_column
from sparkleene.columns.labels import label_masks
from sparkleene.columns.reading import EngineOptions
from sparkleene.errors import Place
from sparkleene.language.bound import Call, Derived, Drawn, Field, Literal_, Output, Path, Term
from sparkleene.language.trees import map_leaves
from sparkleene.plan.part import Part
from sparkleene.plan.plan import Plan
from sparkleene.plan.predicates import Comparison, Pair, Threshold, sides
from sparkleene.plan.text import term_to_text

MASK, TYPES = "sparkleene labels", "sparkleene types"


@dataclass(frozen=True)
class Lowered:
    """A part over flat columns, how they are read, and what each column holds."""

    part: Part
    options: EngineOptions
    columns: tuple[tuple[str, Term], ...]

    @property
    def plan(self) -> Plan:
        """The plan that is evaluated."""
        return self.part.plan


class Lowering(NamedTuple):
    """What can be evaluated before rows are shuffled, and the columns found so far, by name."""

    ready: Callable[[Term], bool]  # of a term of one event; where it cannot, its attributes become columns
    masks: bool  # of types and local predicates
    found: dict[str, Term]  # plans that read one table share these, and each adds its own
    rank: int = 0  # tells the masks of plans over one table apart


def lower(part: Part, options: EngineOptions, how: Lowering) -> Lowered:
    """Lower the plans of a part; those of its members first."""
    flat = _Columns(how.ready, how.found)
    time = flat.name(Field((options.time,)))
    tiebreak = None if options.tiebreak is None else flat.name(Field((options.tiebreak,)))
    type = None if how.masks else options.type
    members = tuple(
        replace(member, plan=_lower_plan(member.plan, type, flat, how.masks, member.place))
        for member in part.members
    )
    plan = members[0].plan if not part.is_shared else _lower_plan(part.plan, type, flat, how.masks, part.place)
    if type is not None and part.plan.bound.types is None:
        type = flat.name(Field((type,)))
    names = () if not how.masks else (MASK, TYPES) if needs_types(part.plan) else (MASK,)
    masks = tuple(f"{name} {how.rank}" if how.rank else name for name in names)
    flat_options = replace(options, time=time, type=type, tiebreak=tiebreak, masks=masks)
    return Lowered(Part(plan, members), flat_options, tuple(flat.found.items()))


def _lower_plan(plan: Plan, type: str | None, flat: _Columns, masks: bool, place: Place) -> Plan:
    """Return a plan over flat columns."""
    bound = plan.bound
    if masks:
        bound = replace(bound.without_local(), types=None)
    else:
        local = tuple(tuple(flat.attributes(term) for term in terms) for terms in bound.local)
        types = None
        if bound.types is not None:
            types = tuple((name, flat.attributes(term)) for name, term in bound.types)
        elif type is not None:
            flat.name(Field((type,)))
        bound = replace(bound, local=local, types=types)
    computed: dict[Path, Derived] = {(one.name,): one for one in bound.derived}
    kept: dict[str, Derived] = {}  # what is left to the tasks

    def find(path: Path) -> Path:
        one = computed.get(path)
        if one is None:
            return flat.path(path) if path else path
        if flat.ready(one.term):
            return (flat.name(one.term),)
        kept.setdefault(one.name, replace(one, term=flat.attributes(one.term)))
        return path

    def place_output(output: Output) -> Output:
        if output.measure is None:
            return replace(output, path=find(output.path))
        pieces = tuple(replace(piece, path=find(piece.path)) for piece in output.measure.pieces)
        return replace(output, measure=replace(output.measure, pieces=pieces))

    keys = tuple(replace(key, path=find(key.path)) for key in bound.keys)
    for one in kept.values():
        message = "SQL of Spark would not give these values exactly, and rows are spread by them"
        help = "add the column to the DataFrame, and group by it"
        raise place.mistake("unsupported-data", message, one.span, help)
    outputs = tuple(map(place_output, bound.outputs))
    window = bound.window
    if isinstance(window, Drawn):
        opens, closes = (None if term is None else flat.side(term) for term in (window.opens, window.closes))
        window = replace(window, opens=opens, closes=closes)
    bound = replace(bound, keys=keys, outputs=outputs, derived=tuple(kept.values()), window=window)
    pairs = tuple(
        Pair(
            pair.before,
            pair.after,
            tuple(map(flat.comparison, pair.comparisons)),
            tuple(flat.general(term) for term in pair.general),
        )
        for pair in plan.pairs
    )
    whole = None if plan.whole is None else plan.whole.change(flat.side, flat.comparison, flat.general)
    return Plan(bound, plan.machine, pairs, plan.backward, whole)


def needs_types(plan: Plan) -> bool:
    """Tell whether the types of rows matter apart from local predicates: for keys that bind some labels only."""
    typed = len(plan.universal) < len(plan.bound.keys)
    return typed and (plan.every_row or any(plan.bound.local))


def lower_table(part: Part, low: Lowered, table: pa.Table, options: EngineOptions, threads: int) -> pa.Table:
    """Make the columns of a lowered part from a table as the part itself reads it."""
    columns = {}
    for name, term in low.columns:
        if isinstance(term, Field):
            columns[name] = find_column(table, term.path, part.place, term.span)
        else:
            columns[name] = evaluate(term, table, part.place)
    bound = part.plan.bound
    for name, wanted in zip(low.options.masks, (bound, bound.without_local()), strict=False):
        masks = label_masks(wanted, table, options.type, part.place, threads)
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
        return map_leaves(term, Field, lambda field: replace(field, path=self.path(field.path)))

    def comparison(self, c: Comparison | Threshold) -> Comparison | Threshold:
        """Return a separable condition over columns."""
        if isinstance(c, Comparison):
            return replace(c, left=self.side(c.left), right=self.side(c.right))
        condition = self.general(c.condition)
        assert isinstance(condition, Call)
        return replace(c, condition=condition)

    def general(self, term: Term) -> Term:
        """Return a condition on two events over columns of the parts that speak of one."""
        if len(sides(term)) < 2:
            return self.side(term)
        assert isinstance(term, Call)
        return replace(term, args=tuple(self.general(arg) for arg in term.args))
