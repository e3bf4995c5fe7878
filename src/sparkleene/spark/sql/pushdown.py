"""Filters that reach Parquet files: weaker than the query, never stronger."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from sparkleene.errors import Place
from sparkleene.language.bound import Bound, Call, Field, Literal_, Path, Term
from sparkleene.language.operators import FLIPPED, NEGATED, RELATIONS
from sparkleene.language.trees import is_constant
from sparkleene.spark.sql.translate import Translator
from sparkleene.spark.sql.values import FLOATS, NO_TEXT, PLAIN, Unsure, column, combine, constant_of

_Parts = dict[object, Column]


def superset(
    bound: Bound, schema: T.StructType, type_column: str | None, place: Place = NO_TEXT, zone: str | None = None
) -> Column | None:
    """Return a filter that every row with a label passes, made of what Parquet readers know; None for none."""
    translator = Translator(schema, place, zone)
    types: dict[str, Column] | None = None
    if type_column is not None and bound.types is None:
        try:
            types = translator.types(bound, type_column)
        except Unsure:
            return None
    groups: dict[str, list[_Parts]] = {}  # by type: what Parquet can tell of each label
    for label, local in zip(bound.labels, bound.local, strict=True):
        if types is None or label.type in types:
            defined = [term for name, term in bound.types or () if name == label.type]
            parts = {key: part for term in (*local, *defined) for key, part in push(translator, term)}
            groups.setdefault(label.type if types else "", []).append(parts)
    if not groups:
        return None
    everywhere = set.intersection(*({*parts} for group in groups.values() for parts in group))
    first = next(iter(groups.values()))[0]
    common = [part for key, part in first.items() if key in everywhere]
    rests: dict[str, Column | None] = {}
    for name, group in groups.items():
        left = [_all(part for key, part in parts.items() if key not in everywhere) for parts in group]
        some = [each for each in left if each is not None]
        rests[name] = combine(operator.or_, some) if len(some) == len(left) else None
    if types is None or type_column is None:
        return _all([*common, *(rest for rest in rests.values() if rest is not None)])
    typed = column((type_column,))
    either = [(typed == types[name]) & rest for name, rest in rests.items() if rest is not None]
    bare = [types[name] for name, rest in rests.items() if rest is None]
    if bare:
        either.append(typed.isin(bare) if len(bare) > 1 else typed == bare[0])
    return _all([*common, combine(operator.or_, either)])


def push(translator: Translator, term: Term, negated: bool = False) -> Iterator[tuple[object, Column]]:
    """Yield conditions on bare columns that hold wherever a term does, or its negation, each with a key."""
    if isinstance(term, Call) and term.op == "not":
        yield from push(translator, term.args[0], not negated)
    elif isinstance(term, Call) and term.op == ("or" if negated else "and"):
        for arg in term.args:
            yield from push(translator, arg, negated)
    elif isinstance(term, Call) and term.op in ("and", "or"):
        try:
            listed = None if negated else translator.membership(term)
        except Unsure:
            return
        if listed is not None:
            yield (term, negated), listed
            return
        ways = [_all(part for _, part in push(translator, arg, negated)) for arg in term.args]
        some = [way for way in ways if way is not None]
        if len(some) == len(ways):
            yield (term, negated), combine(operator.or_, some)
    else:
        try:
            yield from _leaf(translator, term, negated)
        except Unsure:  # a weaker filter will do
            return


def _leaf(translator: Translator, term: Term, negated: bool) -> Iterator[tuple[object, Column]]:
    if isinstance(term, Field) and isinstance(translator.type_of(term.path), T.BooleanType):
        yield (term.path, negated), column(term.path) == F.lit(not negated)
    if not isinstance(term, Call):
        return
    if term.op == "isnull" and isinstance(term.args[0], Field):
        path = term.args[0].path
        type = translator.type_of(path)
        if negated:
            yield path, column(path).isNotNull()
        elif not isinstance(type, FLOATS):  # NaN is NULL, which Parquet does not know
            yield (path, None), column(path).isNull()
    if term.op not in RELATIONS:
        return
    op = NEGATED[term.op] if negated else term.op
    for (one, two), name in ((term.args, op), (term.args[::-1], FLIPPED[op])):
        if isinstance(one, Field) and is_constant(two):
            constant = constant_of(two)
            if isinstance(constant.type, T.NullType):
                return
            bare, type = column(one.path), translator.type_of(one.path)
            found = translator.beside(name, bare, type, constant, isinstance(two, Literal_))
            if isinstance(type, FLOATS) and constant.constant == 0 and name in ("=", "<=", ">="):
                # Parquet's dictionaries tell -0.0 from 0.0, so each side has to let both pass
                above, below = bare >= F.lit(-0.0).cast(type), bare <= F.lit(0.0).cast(type)
                found = {">=": above, "<=": below, "=": above & below}[name]
            if not isinstance(found, bool):
                yield (term, negated), found
                return
    for path in _operands(term):
        translator.type_of(path)
        yield path, column(path).isNotNull()


def _operands(term: Term) -> Iterator[Path]:
    """Yield the attributes that are not NULL where a comparison is true."""
    if isinstance(term, Field):
        yield term.path
    elif isinstance(term, Call) and (term.op in RELATIONS or term.op in PLAIN):
        for arg in term.args:
            yield from _operands(arg)


def _all(parts: Iterable[Column]) -> Column | None:
    """Return the conjunction, None of nothing."""
    found = list(parts)
    return combine(operator.and_, found) if found else None
