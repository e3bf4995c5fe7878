"""What a query returns: equivalence and group keys, columns of the result, which rows are kept in what order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from sparkleene.errors import Span
from sparkleene.language import ast
from sparkleene.language.bind_aggregates import AggregateBinder, default_name
from sparkleene.language.bind_measures import extent_of
from sparkleene.language.bound import Column, Field, Finish, Interval, Key, Literal_, Output, Term
from sparkleene.language.derived import DerivedColumns
from sparkleene.language.names import Scope, listing
from sparkleene.language.patterns import avoidable
from sparkleene.language.printer import expr_to_text
from sparkleene.language.terms import check_condition, make_term
from sparkleene.language.trees import map_leaves, map_nodes

RESERVED = ("window_start", "window_end")
_PLAIN = str.maketrans({".": "_", "*": "×", "`": "'"})  # signs that stand for something in names of columns


@dataclass(frozen=True, slots=True)
class Group:
    """One attribute or expression of GROUP-BY."""

    key: Key
    value: ast.Expr
    alias: str | None

    @property
    def written(self) -> str:
        """The attribute or expression as text."""
        return ".".join(self.value.parts) if isinstance(self.value, ast.Ref) else expr_to_text(self.value)

    @property
    def span(self) -> Span:
        """Where it stands in the text of the query."""
        return self.value.span


@dataclass(frozen=True, slots=True)
class Returns:
    """The columns of groups, the aggregates, and what becomes of the rows."""

    group_names: tuple[str, ...]
    outputs: tuple[Output, ...]
    finish: Finish | None


# ---- keys


def bind_group(item: ast.Ref | ast.Item, derived: DerivedColumns) -> Group | None:
    """Return what an item of GROUP-BY groups by, or None after reporting why it cannot."""
    value, alias = (item, None) if isinstance(item, ast.Ref) else (item.value, item.alias)
    key = bind_key(value, "GROUP-BY", derived.scope) if isinstance(value, ast.Ref) else _derive_key(value, derived)
    return None if key is None else Group(key, value, alias)


def _derive_key(value: ast.Expr, derived: DerivedColumns) -> Key | None:
    """Return the key that an expression of GROUP-BY makes."""
    found = derived.value_of(value, "GROUP-BY")
    if found is None:
        return None
    if found.labels and not derived.scope.positive(found.labels):
        message = "this is about a negated label: no event of a trend has it"
        derived.scope.errors.report("negated-key", message, value.span, help="write it without a label")
        return None
    return Key(found.path, frozenset(found.labels) or None)


def bind_key(ref: ast.Ref, clause: str, scope: Scope) -> Key | None:
    """Return the key an attribute of `clause` makes, or None after reporting why it makes none."""
    if ref.next or ref.prev:
        scope.report_misplaced_next(clause, ref)
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


def merge_keys(keys: Iterable[Key], pattern: ast.Pattern, scope: Scope) -> dict[Key, Key]:
    """Return for each key the one that stands for it: a key of every row on the same path, if that implies it.

    It does if every match has an event that the key binds. Else the key also asks for such an event beside it.
    """
    keys = tuple(dict.fromkeys(keys))
    merged = {}
    for key in keys:
        every = Key(key.path, None)
        named = {scope.labels[label].name for label in key.labels or ()}
        merged[key] = every if every in keys and not avoidable(pattern, named) else key
    return merged


def names_of_groups(query: ast.Query, groups: Sequence[Group]) -> dict[str, Key]:
    """Return the keys that are given a name with AS, in GROUP-BY or in RETURN."""
    named = {group.alias: group.key for group in groups if group.alias is not None}
    for item in query.returns:
        same = [group.key for group in groups if group.value == item.value]
        if item.alias is not None and same:
            named[item.alias] = same[0]
    return named


# ---- columns


def bind_returns(query: ast.Query, groups: Sequence[Group], aggregates: AggregateBinder) -> Returns:
    """Return the columns of the result, the aggregates they are made of, and which rows are kept in what order."""
    scope = aggregates.scope
    renamed: dict[int, str] = {}
    items: list[ast.Item] = []
    for item in query.returns:
        place = _find_group(item.value, groups, scope)
        if place is None:
            items.append(item)
        elif place >= 0 and item.alias is not None and renamed.setdefault(place, item.alias) != item.alias:
            message = f"'{groups[place].written}' is already named '{renamed[place]}'"
            scope.errors.report("duplicate-name", message, item.span, help="name it once")
    names = _group_names(groups, renamed)
    named = [(item, item.alias or default_name(item.value)) for item in items]
    spans = [(name, group.span) for name, group in zip(names, groups, strict=True)]
    spans += [(name, item.span) for item, name in named]
    _check_columns(spans, scope)

    outputs = [aggregates.bind(item.value, name) for item, name in named if isinstance(item.value, ast.Aggregate)]
    over = Results(scope, groups, names, aggregates.bind, [one for one in outputs if one is not None])
    over.taken |= {name for name, _ in spans}
    columns = [Column(name, Field((name,)), span) for name, span in spans[: len(names)]]
    for item, name in named:
        listed = isinstance(item.value, ast.Aggregate)
        term = Field((name,)) if listed else over.term(item.value)
        columns.append(Column(name, term, item.span))
    over.columns = {column.name: column.term for column in columns}
    having = None if query.having is None else over.term(query.having)
    if having is not None:
        check_condition(having, scope)
    order = tuple((over.term(one.value), one.descending) for one in query.order)
    if not outputs and not over.outputs and not scope.errors.found:
        message = "RETURN lists no aggregate"
        help = "add one, such as COUNT(*) or SUM(E.attribute)"
        scope.errors.report("no-aggregate", message, query.span, help=help)
    plain = len(outputs) == len(named) and having is None and not order and query.limit is None
    finish = None if plain else Finish(tuple(columns), having, order, query.limit, tuple(over.seconds))
    return Returns(names, tuple(over.outputs), finish)


def _group_names(groups: Sequence[Group], renamed: dict[int, str]) -> tuple[str, ...]:
    """Return the columns of the groups: the last part of each, or all parts where two collide."""
    given = {i: group.alias for i, group in enumerate(groups) if group.alias is not None} | renamed
    short = [group.value.parts[-1] if isinstance(group.value, ast.Ref) else None for group in groups]
    names = [given.get(i) or short[i] or default_name(group.value) for i, group in enumerate(groups)]
    times = Counter(names)
    return tuple(
        "_".join(group.value.parts)
        if times[name] > 1 and i not in given and isinstance(group.value, ast.Ref)
        else name
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


def _find_group(value: ast.Expr, groups: Sequence[Group], scope: Scope) -> int | None:
    """Return which item of GROUP-BY is meant, -1 after reporting that none is, and None for other expressions."""
    for i, group in enumerate(groups):
        if value == group.value and not isinstance(value, ast.Ref):
            return i
        if isinstance(value, ast.Ref) and group.alias is not None and value.parts == (group.alias,):
            return i
    if not isinstance(value, ast.Ref):
        return None
    extent = extent_of(value, scope)
    if extent and not any(group.key.path == value.parts for group in groups):
        message = f"{extent.upper()} is a measure of each trend: aggregate it"
        help = f"write MAX({extent.upper()}) or AVG({extent.upper()})"
        scope.errors.report("not-grouped", message, value.span, help=help)
        return -1
    key = bind_key(value, "RETURN", scope)
    if key is None:
        return -1
    same = [i for i, group in enumerate(groups) if group.key.path == key.path]
    exact = [i for i in same if groups[i].key.labels == key.labels]
    found = exact or [i for i in same if key.labels is None or groups[i].key.labels is None]
    if len(found) == 1:
        return found[0]
    written = ".".join(value.parts)
    notes = (f"GROUP-BY lists {listing(group.written for group in groups)}",)
    if not found:
        message = f"'{written}' is neither an aggregate nor listed in GROUP-BY"
        help = f"add it to GROUP-BY, or aggregate it, such as MAX({written})"
        scope.errors.report("not-grouped", message, value.span, notes=notes, help=help)
    else:
        message = f"which '{written}' of GROUP-BY?"
        scope.errors.report("ambiguous-attribute", message, value.span, notes=notes, help="write it with its label")
    return -1


# ---- expressions over results


@dataclass(slots=True)
class Results:
    """What expressions over results may name: columns of the result, groups, and aggregates, listed or not."""

    scope: Scope
    groups: Sequence[Group]
    group_names: tuple[str, ...]
    bind: Callable[[ast.Aggregate, str], Output | None]
    outputs: list[Output]
    columns: dict[str, Term] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    seconds: list[Span] = field(default_factory=list)

    def term(self, expr: ast.Expr) -> Term:
        """Return an expression over the columns of groups and aggregates."""

        def name_group(node: ast.Node) -> ast.Node | None:
            if isinstance(node, ast.Aggregate):
                return node  # inside are attributes of rows
            values = [None if isinstance(group.value, ast.Ref) else group.value for group in self.groups]
            same = [i for i, value in enumerate(values) if value == node]
            return ast.Ref((self.group_names[same[0]],), span=node.span) if same else None

        scope = self.scope
        known = ResultScope(
            scope.labels, scope.columns, scope.errors, scope.source, scope.time, scope.time_unit, results=self
        )
        return map_leaves(make_term(map_nodes(expr, name_group), known), Literal_, self._number)

    def _number(self, constant: Literal_) -> Literal_:
        """Return a written duration as a number, as durations are in a result; other constants as they are."""
        if not isinstance(constant.value, Interval):
            return constant
        if constant.value.number is not None:
            return Literal_(constant.value.number, constant.span)
        self.seconds.append(constant.span)
        value = constant.value.milliseconds / 1000
        return Literal_(int(value) if value.denominator == 1 else float(value), constant.span)

    def operand(self, ref: ast.Ref, text: bool) -> Term:
        """Return the column of the result or the group that a name means."""
        bare = len(ref.parts) == 1 and not (ref.next or ref.prev)
        if bare and ref.parts[0] in self.columns:
            return self.columns[ref.parts[0]]
        if bare and ref.parts[0] in self.group_names:
            return Field((ref.parts[0],), 0, ref.span)
        aliases = {group.alias for group in self.groups}
        paths = {group.key.path for group in self.groups}
        if bare and text and ref.parts[0] not in aliases and ref.parts not in paths:
            return Literal_(ref.parts[0], ref.span)
        place = _find_group(ref, self.groups, self.scope)
        if place is None or place < 0:
            return Literal_(None, ref.span)
        return Field((self.group_names[place],), 0, ref.span)

    def aggregate(self, given: ast.Aggregate) -> Term:
        """Return the column of an aggregate, which is listed or gets a hidden name."""
        name = f"_{expr_to_text(given).translate(_PLAIN)}"  # for one text there is one aggregate, in all queries
        while name in self.taken:
            name = f"_{name}"
        output = self.bind(given, name)
        if output is None:
            return Literal_(None, given.span)
        known = next((one for one in self.outputs if replace(one, name=name) == output), None)
        if known is None:
            self.taken.add(name)
            self.outputs.append(output)
        return Field(((known or output).name,), 0, given.span)


@dataclass(frozen=True, slots=True)
class ResultScope(Scope):
    """The names of expressions over results."""

    results: Results | None = None

    def operand(self, ref: ast.Ref, text: bool) -> Term:
        """Return the column of the result or the group that a name means."""
        assert self.results is not None
        return self.results.operand(ref, text)

    def is_gap(self, ref: ast.Ref) -> bool:
        """Tell that no word is GAP: here it can be the name of a column."""
        return False

    @property
    def place_without_neighbours(self) -> str | None:
        """Where there are no neighbours to speak of."""
        return "RETURN"

    def aggregate(self, given: ast.Aggregate | ast.Extent) -> Term:
        """Return the column of an aggregate."""
        assert self.results is not None
        if isinstance(given, ast.Aggregate):
            return self.results.aggregate(given)
        message = f"{given.word.upper()} is a measure of each trend: aggregate it"
        help = f"write MAX({given.word.upper()}) or AVG({given.word.upper()})"
        self.errors.report("not-grouped", message, given.span, help=help)
        return Literal_(None, given.span)
