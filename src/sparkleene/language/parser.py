"""Parse query text into a syntax tree, collecting all syntax errors of the query."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, TypeVar, cast

from sparkleene.errors import Place, QueryError, suggest
from sparkleene.language import ast
from sparkleene.language.cursor import MAX_DEPTH, Failure
from sparkleene.language.operators import COMPARISONS
from sparkleene.language.parse_patterns import PatternParser
from sparkleene.language.parse_returns import ReturnParser
from sparkleene.language.tokens import CLAUSES, Token
from sparkleene.language.units import UNITS

T = TypeVar("T")

MAX_TEXT = 1_000_000
MAX_ERRORS = 20

SEMANTICS: dict[str, ast.Semantics] = {
    **dict.fromkeys(("skip-till-any-match", "any"), "skip-till-any-match"),
    **dict.fromkeys(("skip-till-next-match", "next"), "skip-till-next-match"),
    **dict.fromkeys(("contiguous", "cont"), "contiguous"),
}
_CLAUSE_LIST = f"the clauses are {', '.join(CLAUSES)}"


def parse(text: str, filename: str = "query") -> ast.Query:
    """Return the syntax tree of a query, or raise QueryError with every syntax error found.

    >>> parse("RETURN COUNT(*) PATTERN Stock S+").pattern
    Repeat(pattern=Atom(type='Stock', alias='S'), low=1, high=None)
    """
    return apply_rule(Place(text, filename), Parser.query)


def parse_expression(text: str, filename: str = "expression") -> ast.Expr:
    """Return the syntax tree of one condition, as stands in WHERE.

    >>> parse_expression("price < open")
    Compare(operands=(Ref(parts=('price',), next=False), Ref(parts=('open',), next=False)), ops=('<',))
    """
    return cast(ast.Expr, apply_rule(Place(text, filename), Parser.only_condition))


def apply_rule(place: Place, rule: Callable[[Parser], T | None]) -> T:
    """Return what a rule makes of a whole text, or raise what is wrong in the text."""
    text = place.source
    if len(text) > MAX_TEXT:
        message = f"query has {len(text):,} characters, more than the {MAX_TEXT:,} that are read"
        raise Place(filename=place.filename).mistake("query-too-large", message)
    parser = Parser(text)
    tree = rule(parser)
    if tree is not None and not parser.errors and (deep := find_too_deep(tree)):
        parser.note("nesting-too-deep", f"nested more than {MAX_DEPTH} levels deep", deep.span)
    if tree is None or parser.errors:
        first = sorted(parser.errors, key=lambda error: error.start or 0)[:MAX_ERRORS]
        raise QueryError(first, text, place.filename)
    return tree


class Parser(ReturnParser, PatternParser):
    """Parse the clauses of a query."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.clauses: dict[str, Any] = {}

    def query(self) -> ast.Query | None:
        """Parse a whole query, recovering at each clause."""
        start = self.token.span
        if self.token.kind == "end" and not self.errors:
            self.note("empty-query", "query is empty", start, "a query needs at least RETURN and PATTERN")
            return None
        name = self.query_name()
        while self.token.kind != "end":
            try:
                self.clause()
            except Failure:
                self.skip_clause()
        window = self.window()
        given = self.clauses
        for clause, example in (("RETURN", "RETURN COUNT(*)"), ("PATTERN", "PATTERN Stock S+")):
            if clause not in given:
                message, advice = f"query has no {clause} clause", f"add a clause such as {example}"
                self.note("missing-clause", message, self.token.span, advice)
        if self.errors:
            return None
        return ast.Query(
            given["PATTERN"],
            given["RETURN"],
            given.get("SEMANTICS", "skip-till-any-match"),
            given.get("WHERE", ()),
            given.get("GROUP-BY", ()),
            window,
            name,
            given.get("HAVING"),
            given.get("ORDER BY", ()),
            given.get("LIMIT"),
            span=start.to(self.token.span),
        )

    def query_name(self) -> str | None:
        """Parse the optional `q1:` before a query."""
        ahead = self.place
        while self.tokens[ahead].kind != "end" and not self.tokens[ahead].is_clause:
            ahead += 1
            if self.tokens[ahead].has(":"):
                try:
                    name = self.name("a name for the query", hyphens=True)
                    self.expect(":")
                    return name.value
                except Failure:
                    self.place = ahead + 1
                    return None
        return None

    def clause(self) -> None:
        """Parse one clause and check that another one, or the end, follows."""
        token = self.advance()
        keyword = token.value
        if not token.is_clause:
            if not (meant := self.guess_clause(token)):
                named = self.place == 1 and token.is_name and self.token.is_clause
                advice = f"write '{token.value}:' to name the query" if named else _CLAUSE_LIST
                self.fail("unexpected-token", f"expected a clause, found {token.display}", token.span, advice)
            keyword = meant
            advice = f"did you mean '{meant}'?"
            self.note("unknown-clause", f"unknown clause {token.display}", token.span, advice)
        key = "RETURN" if keyword == "AGG" else keyword
        if key in self.clauses:
            message = f"query has a second {key} clause"
            self.note("duplicate-clause", message, token.span, "leave one of them out")
        self.clauses.setdefault(key, None)
        self.depth = 0
        rules: dict[str, Callable[[], object]] = {
            "RETURN": lambda: self.parse_list(self.return_item),
            "AGG": lambda: self.parse_list(self.agg_item),
            "PATTERN": self.pattern,
            "SEMANTICS": self.semantics,
            "WHERE": self.where,
            "GROUP-BY": lambda: self.parse_list(self.group_item),
            "WITHIN": self.within,
            "SLIDE": self.duration,
            "HAVING": self.having,
            "ORDER BY": lambda: self.parse_list(self.order_item),
            "LIMIT": self.limit,
        }
        value = rules[keyword]()
        self.clauses[key] = value if self.clauses[key] is None else self.clauses[key]
        self.check_clause_end(key)

    def check_clause_end(self, keyword: str) -> None:
        """Check that the next clause or the end follows, and name the likely slip if not."""
        token = self.token
        if token.is_clause or token.kind == "end" or self.guess_clause(token):
            return
        before = self.tokens[self.place - 1]
        if (meant := self.guess_clause(before)) and meant not in self.clauses:
            self.clauses.setdefault(meant, None)
            message, advice = f"unknown clause {before.display}", f"did you mean '{meant}'?"
            self.fail("unknown-clause", message, before.span, advice)
        advices = {
            "PATTERN": "write SEQ(A, B) for A followed by B",
            "RETURN": "separate the items with commas",
            "GROUP-BY": "separate the attributes with commas",
            "WITHIN": "write WITHIN 1 hour SLIDE 5 minutes, WITHIN SESSION 30 minutes MAX 2 hours, or"
            " WITHIN FROM condition TO condition MAX 2 hours",
            "ORDER BY": "separate the items with commas",
            **dict.fromkeys(
                ("WHERE", "HAVING"),
                "put nested comparisons in parentheses"
                if token.has(*COMPARISONS)
                else self.advise_word(token, before),
            ),
        }
        self.refuse_token(f"another clause or the end after {keyword}", advices.get(keyword))

    def advise_word(self, token: Token, before: Token) -> str:
        """Say what a word after a condition may have been meant to be."""
        words = [one.value.upper() for one in (token, self.following) if one.kind == "name"]
        if "ILIKE" in words[: 1 if token.kind == "name" else 2]:
            return "write LOWER(x) LIKE 'a%' for LIKE whatever the case"
        if before.kind == "number" and token.kind == "name":
            units = [name for name in dict.fromkeys(UNITS.values()) if name in ast.MILLISECONDS]
            return f"join conditions with AND or OR; units of time are {', '.join(units)}"
        return "join conditions with AND or OR"

    def guess_clause(self, token: Token) -> str | None:
        """Return the clause keyword that a name was probably meant to be."""
        if token.kind != "name":
            return None
        word = token.value.upper()
        close = get_close_matches(word, CLAUSES, n=1, cutoff=0.75)
        return close[0] if close else "RETURN" if word == "SELECT" else None

    def skip_clause(self) -> None:
        """Skip to the next clause, or to what looks like a misspelt one."""
        while not self.token.is_clause and self.token.kind != "end":
            if self.guess_clause(self.token) and not self.following.has(".", ",", ")", *COMPARISONS):
                break
            self.advance()

    def within(self) -> ast.Duration | ast.Session | ast.FromTo:
        """Parse what stands after WITHIN."""
        start = self.token
        if start.is_word("SESSION"):
            self.advance()
            if self.token.kind != "number":
                self.refuse_token("the longest gap of a session", "write for example WITHIN SESSION 30 minutes")
            gap = self.duration()
            most = self.longest()
            return ast.Session(gap, most, span=start.span.to((most or gap).span))
        if start.is_word("FROM"):
            self.advance()
            opens = self.border()
            closes = None
            if self.token.is_word("TO"):
                self.advance()
                closes = self.border()
            most = self.longest()
            return ast.FromTo(opens, closes, most, span=start.span.to((most or closes or opens).span))
        return self.duration()

    def border(self) -> ast.Expr:
        """Parse a condition on one row that opens or closes windows."""
        return self.require_condition(self.without_equivalence(self.expression()))

    def longest(self) -> ast.Duration | None:
        """Parse the optional MAX of a window whose borders the data draws."""
        if not self.token.is_word("MAX"):
            return None
        self.advance()
        if self.token.kind != "number":
            self.refuse_token("the greatest length of a window", "write for example MAX 2 hours")
        return self.duration()

    def window(self) -> ast.Within | ast.Session | ast.FromTo | None:
        """Put WITHIN and SLIDE together."""
        size, slide = self.clauses.get("WITHIN"), self.clauses.get("SLIDE")
        if slide and "WITHIN" not in self.clauses:
            advice = "add a clause such as WITHIN 10 minutes"
            self.note("slide-without-within", "SLIDE needs a WITHIN clause", slide.span, advice)
        if not size:
            return None
        if not isinstance(size, ast.Duration):
            if slide:
                which = "sessions" if isinstance(size, ast.Session) else "windows with FROM"
                message = f"{which} do not slide: rows say where they begin"
                self.note("slide-not-possible", message, slide.span, "leave SLIDE out; MAX says how long they last")
            return cast(ast.Session | ast.FromTo, size)
        if slide and (size.unit == "events") != (slide.unit == "events"):
            message = "WITHIN and SLIDE must both count events, or both measure time"
            self.note("mixed-units", message, slide.span)
        return ast.Within(size, slide, span=size.span.to((slide or size).span))

    def semantics(self) -> ast.Semantics:
        """Parse the name of a matching semantics, with hyphens or blanks."""
        start, words = self.token, list[str]()
        while self.token.kind == "name":
            words.append(self.advance().value.lower())
            if found := SEMANTICS.get("-".join(words)):
                return self.maximal(found)
            self.accept("-")
        choices = f"write one of {', '.join(dict.fromkeys(SEMANTICS.values()))}"
        if not words:
            self.refuse_token("a matching semantics", choices)
        span = start.span.to(self.tokens[self.place - 1].span)
        written = "-".join(words)
        advice = suggest(written, SEMANTICS) or choices
        self.fail("unknown-semantics", f"unknown matching semantics '{written}'", span, advice)

    def maximal(self, found: ast.Semantics) -> ast.Semantics:
        """Parse `maximal` after a matching semantics."""
        if self.token.kind != "name" or self.token.value.lower() != "maximal":
            return found
        word = self.advance()
        if found != "contiguous":
            help = "write SEMANTICS contiguous maximal, or leave it out"
            self.fail("unknown-semantics", f"maximal goes with contiguous, not with {found}", word.span, help)
        return "contiguous maximal"

    def duration(self) -> ast.Duration:
        """Parse a length of time or a number of events."""
        token = self.token
        if token.kind != "number":
            self.refuse_token("a duration such as 10 minutes")
        self.advance()
        if "e" in token.value.lower():
            self.fail("bad-duration", "a duration has no exponent", token.span)
        value = Fraction(token.value)
        unit: ast.Unit | None = None
        span = token.span
        if self.token.is_name and not self.token.is_word("MAX"):
            word = self.token.value.lower()
            known = tuple(dict.fromkeys(UNITS.values()))
            if word not in UNITS and not suggest(word, known) and self.guess_clause(self.token):
                return ast.Duration(value, None, span=span)
            last = self.advance()
            span = span.to(last.span)
            if word not in UNITS:
                advice = suggest(word, known) or f"the units are {', '.join(known)}"
                self.fail("unknown-unit", f"unknown unit {last.display}", last.span, advice)
            unit = UNITS[word]
        if value <= 0:
            self.fail("bad-duration", "a duration must be more than 0", span)
        if unit in ("events", *ast.MONTHS) and value.denominator != 1:
            self.fail("bad-duration", f"a number of {unit} must be whole", span)
        return ast.Duration(value, unit, span=span)


def find_too_deep(root: object) -> ast.Node | None:
    """Return a node that lies too deep in the tree for recursive functions, found without recursion."""
    stack: list[tuple[Any, int]] = [(root, 0)]
    while stack:
        value, depth = stack.pop()
        if isinstance(value, tuple):
            stack.extend((child, depth) for child in value)
        elif isinstance(value, ast.Node):
            if depth > MAX_DEPTH:
                return value
            stack.extend((getattr(value, name), depth + 1) for name in value.__dataclass_fields__)
    return None
