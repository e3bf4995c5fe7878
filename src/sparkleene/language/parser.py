"""Parse query text into a syntax tree, collecting all syntax errors of the query."""

from __future__ import annotations

import math
from collections.abc import Callable
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, Literal, NoReturn, TypeVar, cast

from sparkleene.errors import Diagnostic, QueryError, suggest
from sparkleene.language import ast
from sparkleene.language.tokens import CLAUSES, COMPARISONS, Token, tokenize

T = TypeVar("T")

MAX_TEXT = 1_000_000
MAX_DEPTH = 100
MAX_REPEAT = 10_000
MAX_ERRORS = 20

SEMANTICS: dict[str, ast.Semantics] = {
    **dict.fromkeys(("skip-till-any-match", "any"), "skip-till-any-match"),
    **dict.fromkeys(("skip-till-next-match", "next"), "skip-till-next-match"),
    **dict.fromkeys(("contiguous", "cont"), "contiguous"),
}
UNITS: dict[str, ast.Unit] = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), "milliseconds"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "seconds"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "minutes"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "hours"),
    **dict.fromkeys(("d", "day", "days"), "days"),
    **dict.fromkeys(("event", "events"), "events"),
}
FUNCTIONS = ("COUNT", "MIN", "MAX", "SUM", "AVG", "LOG2", "LOG10")

# How tight an operator binds; NOT binds at 3, unary minus tighter than all.
_OR, _AND, _NOT, _COMPARE = 1, 2, 3, 4
_LEVELS = {
    **{"OR": _OR, "AND": _AND, "+": 5, "-": 5, "*": 6, "/": 6, "%": 6},
    **dict.fromkeys((*COMPARISONS, "IN", "BETWEEN", "IS", "NOT"), _COMPARE),
}
_UNARY = 7


def parse(text: str, filename: str = "query") -> ast.Query:
    """Return the syntax tree of a query, or raise QueryError with every syntax error found.

    >>> parse("RETURN COUNT(*) PATTERN Stock S+").pattern
    Repeat(pattern=Atom(type='Stock', alias='S'), low=1, high=None)
    """
    return _run(text, filename, lambda parser: parser.query())


def parse_expression(text: str, filename: str = "expression") -> ast.Expr:
    """Return the syntax tree of one condition, as stands in WHERE.

    >>> parse_expression("price < open")
    Compare(operands=(Ref(parts=('price',), next=False), Ref(parts=('open',), next=False)), ops=('<',))
    """
    return _run(text, filename, lambda parser: parser.lone_condition())


def _run(text: str, filename: str, rule: Callable[[_Parser], T | None]) -> T:
    """Apply a rule to the whole text and raise what went wrong."""
    if len(text) > MAX_TEXT:
        message = f"query has {len(text):,} characters, more than the {MAX_TEXT:,} that are read"
        raise QueryError(Diagnostic("query-too-large", message), "", filename)
    parser = _Parser(text)
    tree = rule(parser)
    if tree is not None and not parser.errors and (deep := _too_deep(tree)):
        parser.note("nesting-too-deep", f"nested more than {MAX_DEPTH} levels deep", deep.span)
    if tree is None or parser.errors:
        first = sorted(parser.errors, key=lambda error: error.start or 0)[:MAX_ERRORS]
        raise QueryError(first, text, filename)
    return tree


def _too_deep(root: object) -> ast.Node | None:
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


class _Failure(Exception):
    """Leave the clause at hand; its diagnostic is noted already."""


class _Parser:
    """Hold the tokens, the place among them and the errors so far."""

    def __init__(self, text: str) -> None:
        self.tokens, self.errors = tokenize(text)
        self.place = 0
        self.depth = 0
        self.clauses: dict[str, Any] = {}

    # ---- tokens

    @property
    def token(self) -> Token:
        """Return the token at hand."""
        return self.tokens[self.place]

    @property
    def following(self) -> Token:
        """Return the token after the one at hand."""
        return self.tokens[min(self.place + 1, len(self.tokens) - 1)]

    def advance(self) -> Token:
        """Step over the token at hand and return it."""
        token = self.token
        self.place = min(self.place + 1, len(self.tokens) - 1)
        return token

    def accept(self, *values: str) -> Token | None:
        """Step over the token at hand if it is one of these keywords or symbols."""
        return self.advance() if self.token.has(*values) else None

    def expect(self, value: str, expected: str | None = None, help: str | None = None) -> Token:
        """Step over this keyword or symbol, or fail."""
        return self.accept(value) or self.unexpected(expected or f"'{value}'", help)

    def note(
        self, code: str, message: str, span: ast.Span, help: str | None = None, notes: tuple[str, ...] = ()
    ) -> None:
        """Record an error and go on."""
        self.errors.append(Diagnostic(code, message, span.start, span.end, notes, help))

    def fail(self, code: str, message: str, span: ast.Span, help: str | None = None) -> NoReturn:
        """Record an error and leave the clause."""
        self.note(code, message, span, help)
        raise _Failure

    def unexpected(self, expected: str, help: str | None = None) -> NoReturn:
        """Fail at the token at hand."""
        code = "unexpected-end" if self.token.kind == "end" else "unexpected-token"
        self.fail(code, f"expected {expected}, found {self.token.shown}", self.token.span, help)

    def nest(self) -> None:
        """Go one level deeper; every caller goes up again, or fails."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail("nesting-too-deep", f"nested more than {MAX_DEPTH} levels deep", self.token.span)

    def listed(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Parse one or more items with commas between them."""
        items = [item()]
        while self.accept(","):
            items.append(item())
        return tuple(items)

    # ---- clauses

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
            except _Failure:
                self.skip_clause()
        window = self.window()
        where = self.clauses
        for clause, example in (("RETURN", "RETURN COUNT(*)"), ("PATTERN", "PATTERN Stock S+")):
            if clause not in where:
                self.note(
                    "missing-clause", f"query has no {clause} clause", self.token.span, f"add e.g. {example}"
                )
        if self.errors:
            return None
        return ast.Query(
            where["PATTERN"],
            where["RETURN"],
            where.get("SEMANTICS", "skip-till-any-match"),
            where.get("WHERE", ()),
            where.get("GROUP-BY", ()),
            window,
            name,
            span=start.to(self.token.span),
        )

    def query_name(self) -> str | None:
        """Parse the optional `q1:` before a query."""
        ahead = self.place
        while self.tokens[ahead].kind != "end" and not self.tokens[ahead].is_clause and ahead < 8:
            ahead += 1
            if self.tokens[ahead].has(":"):
                try:
                    name = self.name("a name for the query", hyphens=True)
                    self.expect(":")
                    return name.value
                except _Failure:
                    self.place = ahead + 1
        return None

    def clause(self) -> None:
        """Parse one clause and check that another one, or the end, follows."""
        token = self.advance()
        keyword = token.value
        if not token.is_clause:
            keyword = self.misspelt(token) or ""
            self.note(
                "unknown-clause" if keyword else "unexpected-token",
                f"expected a clause, found {token.shown}",
                token.span,
                f"did you mean '{keyword}'?" if keyword else f"the clauses are {', '.join(CLAUSES)}",
            )
            if not keyword:
                raise _Failure
        key = "RETURN" if keyword == "AGG" else keyword
        if key in self.clauses:
            self.note(
                "duplicate-clause", f"query has a second {key} clause", token.span, "leave one of them out"
            )
        self.clauses.setdefault(key, None)
        self.depth = 0
        rules: dict[str, Callable[[], object]] = {
            "RETURN": lambda: self.listed(self.return_item),
            "AGG": lambda: self.listed(self.agg_item),
            "PATTERN": self.pattern,
            "SEMANTICS": self.semantics,
            "WHERE": self.where,
            "GROUP-BY": lambda: self.listed(lambda: self.path(hyphens=True)),
            "WITHIN": self.duration,
            "SLIDE": self.duration,
        }
        value = rules[keyword]()
        self.clauses[key] = value if self.clauses[key] is None else self.clauses[key]
        self.end_of_clause(key)

    def end_of_clause(self, keyword: str) -> None:
        """Check that the next clause or the end follows, and name the likely slip if not."""
        token = self.token
        if token.is_clause or token.kind == "end" or self.misspelt(token):
            return
        before = self.tokens[self.place - 1]
        if (meant := self.misspelt(before)) and meant not in self.clauses:
            self.clauses.setdefault(meant, None)
            self.fail(
                "unknown-clause", f"unknown clause {before.shown}", before.span, f"did you mean '{meant}'?"
            )
        advice = {
            "PATTERN": "write SEQ(A, B) for A followed by B",
            "RETURN": "separate the items with commas",
            "GROUP-BY": "separate the attributes with commas",
            "WHERE": "join conditions with AND, and put nested comparisons in parentheses",
        }.get(keyword)
        self.unexpected(f"the next clause after {keyword}", advice)

    def misspelt(self, token: Token) -> str | None:
        """Return the clause keyword that a name was probably meant to be."""
        if token.kind != "name":
            return None
        close = get_close_matches(token.value.upper(), CLAUSES, n=1, cutoff=0.75)
        return close[0] if close else None

    def skip_clause(self) -> None:
        """Skip to the next clause, or to what looks like a misspelt one."""
        while not self.token.is_clause and self.token.kind != "end":
            if self.misspelt(self.token) and not self.following.has(".", ",", ")", *COMPARISONS):
                break
            self.advance()

    def window(self) -> ast.Within | None:
        """Put WITHIN and SLIDE together."""
        size, slide = self.clauses.get("WITHIN"), self.clauses.get("SLIDE")
        if slide and not size:
            self.note(
                "slide-without-within",
                "SLIDE needs a WITHIN clause",
                slide.span,
                "add e.g. WITHIN 10 minutes",
            )
        if not size:
            return None
        if slide and (size.unit == "events") != (slide.unit == "events"):
            self.note(
                "mixed-units", "WITHIN and SLIDE must both count events, or both measure time", slide.span
            )
        return ast.Within(size, slide, span=size.span.to((slide or size).span))

    def semantics(self) -> ast.Semantics:
        """Parse the name of a matching semantics, with hyphens or blanks."""
        start, words = self.token, list[str]()
        while self.token.kind == "name":
            words.append(self.advance().value.lower())
            if found := SEMANTICS.get("-".join(words)):
                return found
            self.accept("-")
        if not words:
            self.unexpected(
                "a matching semantics", f"write one of {', '.join(dict.fromkeys(SEMANTICS.values()))}"
            )
        span = start.span.to(self.tokens[self.place - 1].span)
        written = "-".join(words)
        advice = suggest(written, SEMANTICS) or f"write one of {', '.join(dict.fromkeys(SEMANTICS.values()))}"
        self.fail("unknown-semantics", f"unknown matching semantics '{written}'", span, advice)

    def duration(self) -> ast.Duration:
        """Parse a length of time or a number of events."""
        token = self.token
        if token.kind != "number":
            self.unexpected("a duration such as 10 minutes")
        self.advance()
        if "e" in token.value.lower():
            self.fail("bad-duration", "a duration has no exponent", token.span)
        value = Fraction(token.value)
        unit: ast.Unit | None = None
        span = token.span
        if self.token.is_name:
            word = self.token.value.lower()
            if word not in UNITS and not suggest(word, UNITS) and self.misspelt(self.token):
                return ast.Duration(value, None, span=span)
            last = self.advance()
            span = span.to(last.span)
            if word not in UNITS:
                units = "milliseconds, seconds, minutes, hours, days, events"
                advice = suggest(word, UNITS) or f"the units are {units}"
                self.fail("unknown-unit", f"unknown unit {last.shown}", last.span, advice)
            unit = UNITS[word]
        if value <= 0:
            self.fail("bad-duration", "a duration must be more than 0", span)
        if unit == "events" and value.denominator != 1:
            self.fail("bad-duration", "a number of events must be whole", span)
        return ast.Duration(value, unit, span=span)

    # ---- names

    def name(self, expected: str, hyphens: bool = False) -> Token:
        """Parse a name; where hyphens may be part of it, `age-group` is one name."""
        if not self.token.is_name:
            keyword = self.token.kind == "keyword" and self.token.text.isalpha()
            self.unexpected(
                expected, f"a keyword as a name is written `{self.token.text}`" if keyword else None
            )
        first = last = self.advance()
        value = first.value
        while hyphens and first.kind == "name" and self.token.has("-"):
            dash, piece = self.token, self.following
            whole = piece.kind == "name" or (piece.kind == "number" and piece.value.isdigit())
            if not whole or dash.span.start != last.span.end or piece.span.start != dash.span.end:
                break
            self.advance()
            last = self.advance()
            value += "-" + last.value
        return Token(first.kind, value, value, first.span.to(last.span))

    def path(self, hyphens: bool = False, expected: str = "an attribute") -> ast.Ref:
        """Parse a dotted name."""
        parts = [self.name(expected, hyphens)]
        while self.accept("."):
            parts.append(self.name("a name after '.'", hyphens))
        span = parts[0].span.to(parts[-1].span)
        return ast.Ref(tuple(part.value for part in parts), span=span)

    # ---- RETURN

    def return_item(self) -> ast.Item:
        """Parse an aggregate or a group attribute, perhaps with AS."""
        start = self.token
        call = start.is_name and self.following.has("(")
        value = self.aggregate() if call else self.path(True, "an aggregate or a group attribute")
        return self.named_item(value, start)

    def agg_item(self) -> ast.Item:
        """Parse an aggregate of the AGG clause, where a bare COUNT counts trends."""
        start = self.token
        if start.kind == "name" and start.value.upper() == "COUNT" and not self.following.has("("):
            self.advance()
            return self.named_item(ast.Aggregate("count", None, span=start.span), start)
        if not start.is_name:
            self.unexpected("an aggregate such as COUNT or SUM(E.x)")
        return self.named_item(self.aggregate(), start)

    def named_item(self, value: ast.Aggregate | ast.Ref, start: Token) -> ast.Item:
        """Parse what may follow an item: AS and its name."""
        alias = self.name("a name after AS").value if self.accept("AS") else None
        return ast.Item(value, alias, span=start.span.to(self.tokens[self.place - 1].span))

    def aggregate(self) -> ast.Aggregate:
        """Parse a call of an aggregate function."""
        token = self.advance()
        function = token.value.upper()
        if function not in FUNCTIONS:
            advice = suggest(function, FUNCTIONS) or f"the aggregates are {', '.join(FUNCTIONS)}"
            self.fail("unknown-function", f"unknown aggregate {token.shown}", token.span, advice)
        self.expect("(")
        if function.startswith("LOG"):
            inner = self.token
            if not (inner.kind == "name" and inner.value.upper() == "COUNT"):
                self.fail(
                    "bad-aggregate", f"{function} takes a COUNT", inner.span, f"write {function}(COUNT(*))"
                )
            count = self.aggregate()
            close = self.expect(")")
            log: Literal[2, 10] = 2 if function == "LOG2" else 10
            return ast.Aggregate("count", count.ref, log, span=token.span.to(close.span))
        ref = None
        star = self.accept("*")
        if star and function != "COUNT":
            self.fail(
                "bad-aggregate", f"{function} takes an attribute", star.span, f"write {function}(E.attribute)"
            )
        if not star:
            ref = self.path(
                expected="'*' or an event type" if function == "COUNT" else "an attribute such as E.x"
            )
            if function == "COUNT" and len(ref.parts) > 1:
                advice = f"write COUNT({ref.parts[0]}) or COUNT(*)"
                self.fail("bad-aggregate", "COUNT takes '*' or an event type", ref.span, advice)
        close = self.expect(")")
        name = cast(Literal["count", "min", "max", "sum", "avg"], function.lower())
        return ast.Aggregate(name, ref, span=token.span.to(close.span))

    # ---- PATTERN

    def pattern(self, above: int = 0) -> ast.Pattern:
        """Parse a pattern whose operators bind tighter than `above`."""
        left = self.pattern_operand()
        for level, word in ((_AND, "AND"), (_OR, "OR")):
            if level > above and self.token.has(word):
                items = [left]
                while self.accept(word):
                    items.append(self.pattern(level))
                left = _joined(word, items)
        return left

    def pattern_operand(self) -> ast.Pattern:
        """Parse an event type, a group or a prefixed pattern, with its repetitions."""
        self.nest()
        start = self.token
        result: ast.Pattern
        if self.accept("NOT"):
            inner = self.pattern(_NOT)
            result = ast.Not(inner, span=start.span.to(inner.span))
            self.depth -= 1
            return result  # repetitions bind tighter and are part of `inner`
        if start.has("SEQ") or (start.has("AND", "OR") and self.following.has("(")):
            self.advance()
            self.expect("(")
            parts = self.listed(self.pattern)
            close = self.expect(")", "',' or ')'", "separate the parts with commas")
            span = start.span.to(close.span)
            result = ast.Seq(parts, span=span) if start.value == "SEQ" else _joined(start.value, list(parts))
        elif self.accept("("):
            result = self.pattern()
            self.expect(")", None, "write SEQ(A, B) for A followed by B" if self.token.has(",") else None)
        else:
            kind = self.name("a pattern")
            if self.token.has("("):
                advice = (
                    suggest(kind.value.upper(), ("SEQ", "NOT", "OR", "AND"))
                    or "the operators are SEQ, NOT, OR, AND"
                )
                self.fail("unknown-operator", f"unknown pattern operator {kind.shown}", kind.span, advice)
            alias = self.advance() if self.token.is_name else None
            span = kind.span.to((alias or kind).span)
            result = ast.Atom(kind.value, alias.value if alias else None, span=span)
        self.depth -= 1
        while token := self.accept("+", "*", "?", "{"):
            low, high = {"+": (1, None), "*": (0, None), "?": (0, 1)}.get(token.value) or self.bounds(token)
            result = ast.Repeat(result, low, high, span=result.span.to(self.tokens[self.place - 1].span))
        return result

    def bounds(self, brace: Token) -> tuple[int, int | None]:
        """Parse the rest of `{n}`, `{n,}` or `{n,m}`."""
        low = self.bound()
        high: int | None = low
        if self.accept(","):
            high = None if self.token.has("}") else self.bound()
        span = brace.span.to(self.expect("}").span)
        if high is not None and high < max(low, 1):
            what = "its upper bound is below its lower bound" if low > high else "it repeats nothing"
            self.fail("bad-repetition", f"repetition matches nothing: {what}", span)
        return low, high

    def bound(self) -> int:
        """Parse one bound of a repetition."""
        token = self.token
        if token.kind != "number":
            self.unexpected("a number of repetitions")
        self.advance()
        if not token.value.isdigit():
            self.fail("bad-repetition", "a number of repetitions must be whole", token.span)
        if int(token.value) > MAX_REPEAT:
            self.fail("repetition-too-large", f"a pattern repeats at most {MAX_REPEAT:,} times", token.span)
        return int(token.value)

    # ---- WHERE

    def lone_condition(self) -> ast.Expr | None:
        """Parse one condition and nothing else."""
        try:
            condition = self.condition(self.plain(self.expression()))
            return condition if self.token.kind == "end" else self.unexpected("the end of the condition")
        except _Failure:
            return None

    def where(self) -> tuple[ast.Equivalence | ast.Expr, ...]:
        """Parse a conjunction of conditions and equivalences."""
        tree = self.expression()
        items = tree.items if isinstance(tree, ast.Bool) and tree.op == "and" else (tree,)
        return tuple(item if isinstance(item, ast.Equivalence) else self.condition(item) for item in items)

    def expression(self, above: int = 0) -> ast.Expr:
        """Parse an expression whose operators bind tighter than `above`."""
        left = self.operand(above)
        compared = False  # comparisons do not nest without parentheses
        while self.token.kind in ("keyword", "symbol"):
            level = _LEVELS.get(self.token.value, 0)
            if level <= above or (level == _COMPARE and compared):
                break
            if self.token.has("NOT") and not self.following.has("IN", "BETWEEN"):
                break
            if level <= _AND:
                left = self.connective(left, level)
            elif level == _COMPARE:
                left, compared = self.comparison(self.plain(left)), True
            else:
                op = cast(ast.Arithmetic, self.advance().value)
                right = self.plain(self.expression(level))
                left = ast.Binary(op, self.plain(left), right, span=left.span.to(right.span))
        return left

    def connective(self, left: ast.Expr, level: int) -> ast.Expr:
        """Parse the rest of a conjunction or disjunction; nested ones of the same kind are flattened."""
        word = self.token.value
        op: Literal["and", "or"] = "and" if word == "AND" else "or"
        items: list[ast.Expr] = []
        more: ast.Expr | None = left
        while more is not None:
            last = more if op == "and" else self.plain(more)
            items += last.items if isinstance(last, ast.Bool) and last.op == op else (self.condition(last),)
            more = self.expression(level) if self.accept(word) else None
        return ast.Bool(op, tuple(items), span=left.span.to(items[-1].span))

    def comparison(self, left: ast.Expr) -> ast.Expr:
        """Parse the rest of a chain of comparisons, IN, BETWEEN or IS NULL."""
        if self.token.has(*COMPARISONS):
            operands, ops = [left], list[ast.Comparison]()
            while token := self.accept(*COMPARISONS):
                ops.append(cast(ast.Comparison, token.value))
                operands.append(self.plain(self.expression(_COMPARE)))
            return ast.Compare(tuple(operands), tuple(ops), span=left.span.to(operands[-1].span))
        if self.accept("IS"):
            negated = bool(self.accept("NOT"))
            end = self.expect("NULL", "NULL" if negated else "NULL or NOT NULL")
            return ast.IsNull(left, negated, span=left.span.to(end.span))
        negated = bool(self.accept("NOT"))
        if self.accept("IN"):
            self.expect("(")
            items = self.listed(lambda: self.plain(self.expression(_COMPARE)))
            end = self.expect(")", "',' or ')'")
            return ast.In(left, items, negated, span=left.span.to(end.span))
        self.expect("BETWEEN")
        low = self.plain(self.expression(_COMPARE))
        self.expect("AND", None, "write x BETWEEN low AND high")
        high = self.plain(self.expression(_COMPARE))
        return ast.Between(left, low, high, negated, span=left.span.to(high.span))

    def operand(self, above: int) -> ast.Expr:
        """Parse a constant, a reference, a group or a prefixed expression."""
        self.nest()
        token = self.token
        result: ast.Expr
        if token.has("NOT") and above <= _NOT:
            self.advance()
            inner = self.condition(self.plain(self.expression(_NOT)))
            result = ast.Invert(inner, span=token.span.to(inner.span))
        elif self.accept("-"):
            inner = self.plain(self.expression(_UNARY))
            result = ast.Negate(inner, span=token.span.to(inner.span))
        elif self.accept("("):
            result = self.expression()
            self.expect(")")
        elif self.accept("["):
            refs = self.listed(lambda: self.path(hyphens=True))
            end = self.expect("]", "',' or ']'")
            # an Equivalence passes as an Expr only as far as `plain` lets it
            result = cast(ast.Expr, ast.Equivalence(refs, span=token.span.to(end.span)))
        elif token.is_name:
            result = self.reference()
        else:
            result = self.constant()
        self.depth -= 1
        return result

    def constant(self) -> ast.Const:
        """Parse a number, text, TRUE, FALSE or NULL."""
        token = self.token
        words = {"TRUE": True, "FALSE": False, "NULL": None}
        value: ast.Scalar
        if token.kind == "text":
            value = token.value
        elif token.kind == "number":
            value = int(token.value) if token.value.isdigit() else float(token.value)
            if math.isinf(value):
                self.fail("bad-number", "number is too large", token.span)
        elif token.has(*words):
            value = words[token.value]
        else:
            self.unexpected("an attribute or a constant")
        self.advance()
        return ast.Const(value, span=token.span)

    def reference(self) -> ast.Ref:
        """Parse `price`, `S.price` or `NEXT(S).price`."""
        token = self.token
        if not self.following.has("("):
            return self.path()
        if token.value.upper() != "NEXT":
            advice = (
                suggest(token.value.upper(), ("NEXT",))
                or "only NEXT(label).attribute may stand in a condition"
            )
            self.fail(
                "unknown-function", f"unknown function {token.shown} in a condition", token.span, advice
            )
        self.advance()
        self.advance()
        label = self.name("a label after NEXT(")
        self.expect(")")
        self.expect(".", "'.' and an attribute", f"write NEXT({label.value}).attribute")
        path = self.path()
        return ast.Ref((label.value, *path.parts), True, span=token.span.to(path.span))

    def condition(self, expr: ast.Expr) -> ast.Expr:
        """Return the expression if it can be true or false, else fail."""
        number = isinstance(expr, ast.Const) and not isinstance(expr.value, bool)
        if number or isinstance(expr, ast.Negate | ast.Binary):
            advice = "compare it with something, e.g. S.price > 10"
            self.fail("not-a-condition", "expected a condition, found a value", expr.span, advice)
        return expr

    def plain(self, expr: ast.Expr) -> ast.Expr:
        """Return the expression if no equivalence is in it, else fail."""
        for item in expr.items if isinstance(expr, ast.Bool) else (expr,):
            if isinstance(item, ast.Equivalence):
                advice = "write it beside the other conditions, joined with AND"
                self.fail(
                    "misplaced-equivalence", "an equivalence cannot be part of a condition", item.span, advice
                )
        return expr


def _joined(word: str, items: list[ast.Pattern]) -> ast.Pattern:
    """Return the OR or AND of patterns, with nested ones of the same kind flattened."""
    if len(items) == 1:
        return items[0]
    span = items[0].span.to(items[-1].span)
    if word == "OR":
        options = (item.options if isinstance(item, ast.Or) else (item,) for item in items)
        return ast.Or(tuple(option for group in options for option in group), span=span)
    operands = (item.operands if isinstance(item, ast.And) else (item,) for item in items)
    return ast.And(tuple(operand for group in operands for operand in group), span=span)
