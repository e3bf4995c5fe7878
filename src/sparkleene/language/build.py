"""Build queries in Python instead of writing them as text: the same tree, and the same errors.

A part of a pattern is text such as "Trip T+", or what the functions here return; text is read by the parser of the
language, so that an error in it shows its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from types import EllipsisType
from typing import Any, Self, TypeVar

from sparkleene.errors import Place, QueryError
from sparkleene.language import ast
from sparkleene.language.cursor import MAX_DEPTH, Failure
from sparkleene.language.parse_patterns import MAX_REPEAT, join_patterns
from sparkleene.language.parser import Parser, apply_rule, find_too_deep, parse
from sparkleene.language.printer import to_text

T = TypeVar("T")
PatternPart = ast.Pattern | str
Length = str | timedelta | int

_COUNT = ast.Item(ast.Aggregate("count"))


# ---- patterns


def seq(*parts: PatternPart) -> ast.Pattern:
    """Return SEQ: the parts one after the other.

    >>> seq("Pickup P", plus("Trip T"), "Dropoff D") == part("SEQ(Pickup P, Trip T+, Dropoff D)")
    True
    """
    return ast.Seq(_read_parts("seq", parts))


def plus(inner: PatternPart) -> ast.Pattern:
    """Return `P+`: one or more.

    >>> plus("Stock S")
    Repeat(pattern=Atom(type='Stock', alias='S'), low=1, high=None)
    """
    return ast.Repeat(part(inner), 1, None)


def star(inner: PatternPart) -> ast.Pattern:
    """Return `P*`: any number.

    >>> star("A") == part("A*"), optional("A") == part("A?")
    (True, True)
    """
    return ast.Repeat(part(inner), 0, None)


def optional(inner: PatternPart) -> ast.Pattern:
    """Return `P?`: at most one."""
    return ast.Repeat(part(inner), 0, 1)


def times(inner: PatternPart, low: int, high: int | EllipsisType | None = None) -> ast.Pattern:
    """Return `P{low}`, with `high` `P{low,high}`, with `...` for it `P{low,}`.

    >>> times("A", 3) == part("A{3}"), times("A", 2, 5) == part("A{2,5}"), times("A", 2, ...) == part("A{2,}")
    (True, True, True)
    """
    most = low if high is None else high
    for bound in (low,) if isinstance(most, EllipsisType) else (low, most):
        if not isinstance(bound, int) or isinstance(bound, bool) or bound < 0:
            help = "give whole numbers, or ... for no upper bound"
            raise _error("bad-repetition", f"a number of repetitions is {bound!r}", help)
        if bound > MAX_REPEAT:
            raise _error("repetition-too-large", f"a pattern repeats at most {MAX_REPEAT:,} times")
    if isinstance(most, EllipsisType):
        return ast.Repeat(part(inner), low, None)
    if most < max(low, 1):
        lost = "the upper bound is below the lower bound" if low > most else "it allows no event at all"
        raise _error("bad-repetition", f"repetition cannot match: {lost}")
    return ast.Repeat(part(inner), low, most)


def either(*parts: PatternPart) -> ast.Pattern:
    """Return `P OR Q ...`.

    >>> plus(either("A", seq("B", "C"))) == part("(A OR SEQ(B, C))+")
    True
    """
    return join_patterns("OR", list(_read_parts("either", parts)))


def both(left: PatternPart, right: PatternPart) -> ast.Pattern:
    """Return `P AND Q`: pairs of a trend of one and a trend of the other.

    >>> both("A+", "B+") == part("A+ AND B+")
    True
    """
    return join_patterns("AND", [part(left), part(right)])


def no(inner: PatternPart) -> ast.Pattern:
    """Return `NOT P`, for a place in `seq`.

    >>> seq("A", no("C"), "B") == part("SEQ(A, NOT C, B)")
    True
    """
    return ast.Not(part(inner))


def part(given: PatternPart) -> ast.Pattern:
    """Return the pattern that is given, or given as text.

    >>> part("Pickup p")
    Atom(type='Pickup', alias='p')
    """
    if isinstance(given, str):
        return _read(given, "PATTERN", Parser.pattern, "write SEQ(A, B) for A followed by B")
    if not isinstance(given, ast.Pattern):
        help = "give text such as 'Trip T+', or what seq, plus, either and the like return"
        raise _error("bad-option", f"a part of the pattern is {_show(given)}", help)
    return given


# ---- queries


def pattern(first: PatternPart, *more: PatternPart) -> Builder:
    """Return a query that counts the trends of a pattern, to which clauses can be added; several parts are a SEQ.

    >>> pattern("Pickup P", "Trip T+", "Dropoff D").where("[driver]").within("30 minutes")
    RETURN COUNT(*)
    PATTERN SEQ(Pickup P, Trip T+, Dropoff D)
    WHERE [driver]
    WITHIN 30 minutes
    """
    return Builder.of(first, *more)


@dataclass(frozen=True, repr=False)
class Builder:
    """A query in the making; every method returns a new one.

    `where` adds conditions to those before, each other method replaces what was said before. Start with `pattern`.
    """

    built: ast.Query

    @classmethod
    def of(cls, first: PatternPart, *more: PatternPart) -> Self:
        """Return the query that counts the trends of a pattern."""
        built = ast.Query(seq(first, *more) if more else part(first), (_COUNT,))
        if find_too_deep(built):  # before the printer descends into it; the parser would say so too
            raise _error("nesting-too-deep", f"nested more than {MAX_DEPTH} levels deep")
        return cls(built)

    @property
    def text(self) -> str:
        """The query as text, one clause per line."""
        return to_text(self.built)

    @property
    def tree(self) -> ast.Query:
        """The syntax tree of the query, with its places in `text`."""
        return parse(self.text)

    def __repr__(self) -> str:
        """Show the query's text."""
        return self.text

    def returns(self, *items: str) -> Self:
        """Say what to return: aggregates, attributes of GROUP-BY, and arithmetic over them.

        >>> pattern("Trip T+").returns("COUNT(*)", "AVG(T.speed) AS speed")
        RETURN COUNT(*), AVG(T.speed) AS speed
        PATTERN Trip T+
        """
        found = _read_each("RETURN", items, lambda parser: parser.parse_list(parser.return_item))
        if not found:
            raise _error("no-aggregate", "returns() lists no aggregate", "give one, such as 'COUNT(*)'")
        return self._change(returns=found)

    def semantics(self, name: str) -> Self:
        """Say which events a trend may skip.

        >>> pattern("A+").semantics("next").tree.semantics
        'skip-till-next-match'
        """
        return self._change(semantics=_read(name, "SEMANTICS", Parser.semantics))

    def where(self, *conditions: str) -> Self:
        """Add conditions, all of which must hold.

        >>> pattern("Stock S+").where("[company]").where("S.price > NEXT(S).price")
        RETURN COUNT(*)
        PATTERN Stock S+
        WHERE [company] AND S.price > NEXT(S).price
        """
        help = "join conditions with AND or OR, or give them one by one"
        return self._change(where=self.built.where + _read_each("WHERE", conditions, Parser.where, help))

    def group_by(self, *attributes: str) -> Self:
        """Say what to group by: attributes, or expressions over them.

        >>> pattern("Stock S+").group_by("sector").tree.group
        (Ref(parts=('sector',), next=False),)
        """
        found = _read_each("GROUP-BY", attributes, lambda parser: parser.parse_list(parser.group_item))
        return self._change(group=found)

    def having(self, *conditions: str) -> Self:
        """Say which rows of the result to keep: those for which all conditions hold.

        >>> pattern("Trip T+").having("COUNT(*) > 10", "AVG(T.speed) < 30")
        RETURN COUNT(*)
        PATTERN Trip T+
        HAVING COUNT(*) > 10 AND AVG(T.speed) < 30
        """
        found = _read_each(
            "HAVING", conditions, lambda parser: (parser.having(),), "join conditions with AND or OR"
        )
        parts = [
            part
            for one in found
            for part in (one.items if isinstance(one, ast.Bool) and one.op == "and" else (one,))
        ]
        whole = parts[0] if len(parts) == 1 else ast.Bool("and", tuple(parts))
        return self._change(having=whole if found else None)

    def order_by(self, *items: str, limit: int | None = None) -> Self:
        """Say in which order the rows of a window come, and how many of them.

        >>> pattern("Stock S+").group_by("sector").order_by("COUNT(*) DESC", limit=10)
        RETURN COUNT(*)
        PATTERN Stock S+
        GROUP-BY sector
        ORDER BY COUNT(*) DESC LIMIT 10
        """
        found = _read_each("ORDER BY", items, lambda parser: parser.parse_list(parser.order_item))
        most = None if limit is None else _read(str(limit), "LIMIT", Parser.limit)
        return self._change(order=found, limit=most)

    def within(
        self,
        size: Length | None = None,
        slide: Length | None = None,
        *,
        session: Length | None = None,
        opens: str | None = None,
        closes: str | None = None,
        most: Length | None = None,
    ) -> Self:
        """Say how long windows are and how far apart they begin, or how the rows of a group draw their borders.

        A length is text such as "30 minutes" or "100 EVENTS", a timedelta, or an integer in the unit of the times.
        Rows of a group are in one `session` while each is at most so long after the one before. A window that a
        row `opens` ends with a row that `closes` it, or before the next that opens one; `opens` and `closes` are
        conditions on a row. Of these two kinds none is longer than `most`.

        >>> pattern("A+").within("30 minutes", slide=timedelta(seconds=90))
        RETURN COUNT(*)
        PATTERN A+
        WITHIN 30 minutes SLIDE 90 seconds
        >>> pattern("A+").group_by("user").within(session="30 minutes", most="2 hours")
        RETURN COUNT(*)
        PATTERN A+
        GROUP-BY user
        WITHIN SESSION 30 minutes MAX 2 hours
        >>> pattern("A+").group_by("user").within(opens="type = 'Login'", closes="type = 'Logout'")
        RETURN COUNT(*)
        PATTERN A+
        GROUP-BY user
        WITHIN FROM type = 'Login' TO type = 'Logout'
        """
        kinds = [
            size is not None or slide is not None,
            session is not None,
            opens is not None or closes is not None,
        ]
        if sum(kinds) != 1 or (most is not None and kinds[0]) or (kinds[2] and opens is None):
            help = "give a size, or session, or opens; closes goes with opens, and most with session and opens"
            raise _error("bad-option", "within() is given no kind of window, or parts of several", help)
        longest = None if most is None else read_length(most, "MAX")
        if session is not None:
            return self._change(within=ast.Session(read_length(session, "SESSION"), longest))
        if opens is not None:
            end = None if closes is None else _read(closes, "TO", Parser.border)
            return self._change(within=ast.FromTo(_read(opens, "FROM", Parser.border), end, longest))
        if size is None:
            raise _error("bad-option", "within() has a slide and no size", "give both")
        window = ast.Within(read_length(size, "WITHIN"), None if slide is None else read_length(slide, "SLIDE"))
        if window.slide is not None and (window.size.unit == "events") != (window.slide.unit == "events"):
            raise _error("mixed-units", "size and slide must both count events, or both measure time")
        return self._change(within=window)

    def named(self, name: str) -> Self:
        """Name the query.

        >>> pattern("A+").named("q2")
        q2: RETURN COUNT(*)
        PATTERN A+
        """
        if not isinstance(name, str) or "\n" in name:
            raise _error("bad-option", f"the name is {_show(name)}", "give text on one line")
        if not name:
            raise _error("empty-name", "the name is empty", "leave it out, or give one")
        return self._change(name=name)

    def _change(self, **changes: Any) -> Self:
        return replace(self, built=replace(self.built, **changes))


# ---- reading what is given


def _read_parts(function: str, given: tuple[PatternPart, ...]) -> tuple[ast.Pattern, ...]:
    """Return the operands of a function that takes one or more."""
    if not given:
        raise _error("empty-pattern", f"{function}() has no parts", f"give some: {function}('A', 'B')")
    return tuple(map(part, given))


def _read_each(
    clause: str, given: tuple[str, ...], rule: Callable[[Parser], tuple[T, ...]], help: str | None = None
) -> tuple[T, ...]:
    """Read each text by a rule and put what is found in a row."""
    help = help or "separate them with commas, or give them one by one"
    return tuple(found for text in given for found in _read(text, clause, rule, help))


def _read(text: str, clause: str, rule: Callable[[Parser], T], help: str | None = None) -> T:
    """Read a whole text by a rule of the parser, and name the clause in what goes wrong."""
    if not isinstance(text, str):
        raise _error("bad-option", f"{clause} is given {_show(text)}", "give text")

    def whole(parser: Parser) -> T | None:
        try:
            found = rule(parser)
            return found if parser.token.kind == "end" else parser.refuse_token(f"the end of {clause}", help)
        except Failure:
            return None

    return apply_rule(Place(text, clause), whole)


def read_length(given: Length, clause: str) -> ast.Duration:
    """Return a length, a timedelta in the largest unit that it is a multiple of."""
    if isinstance(given, timedelta):
        value = Fraction(given // timedelta(microseconds=1), 1000)
        if value <= 0:
            raise _error("bad-duration", f"a duration must be more than 0, and {clause} is {given}")
        unit = ast.largest_unit(value)
        return ast.Duration(value / ast.MILLISECONDS[unit], unit)
    if not isinstance(given, str | int) or isinstance(given, bool):
        help = "give text such as '10 minutes', a timedelta, or an integer in the unit of the times"
        raise _error("bad-option", f"{clause} is given {_show(given)}", help)
    return _read(str(given), clause, Parser.duration)


def _show(given: object) -> str:
    """Return what was given, short enough for a message."""
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _error(code: str, message: str, help: str | None = None) -> QueryError:
    """Return the error for something that is not in a text."""
    return Place().mistake(code, message, help=help)
