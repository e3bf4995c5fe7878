"""Parse conditions: operators by how tight they bind, and equivalences among them."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Literal, cast

from sparkleene.errors import suggest
from sparkleene.language import ast
from sparkleene.language.cursor import Cursor, Failure
from sparkleene.language.functions import FUNCTIONS, MOST_DIGITS, advise_function
from sparkleene.language.operators import AND, COMPARE, COMPARISONS, NOT, OPERATORS, UNARY
from sparkleene.language.tokens import Token
from sparkleene.language.units import UNITS

LEVELS = {op.upper(): row.level for op, row in OPERATORS.items()}
LEVELS |= dict.fromkeys(("IN", "BETWEEN", "IS", "NOT"), COMPARE)  # NOT here begins NOT IN and NOT BETWEEN


def _is_like(token: Token) -> bool:
    """Tell whether a word is LIKE, which is a name elsewhere."""
    return token.kind == "name" and token.value.upper() == "LIKE"


class ConditionParser(Cursor):
    """Parse what stands in WHERE."""

    def only_condition(self) -> ast.Expr | None:
        """Parse one condition and nothing else."""
        try:
            condition = self.require_condition(self.without_equivalence(self.expression()))
            return condition if self.token.kind == "end" else self.refuse_token("the end of the condition")
        except Failure:
            return None

    def where(self) -> tuple[ast.Equivalence | ast.Expr, ...]:
        """Parse a conjunction of conditions and equivalences."""
        tree = self.expression()
        items = tree.items if isinstance(tree, ast.Bool) and tree.op == "and" else (tree,)
        return tuple(item if isinstance(item, ast.Equivalence) else self.require_condition(item) for item in items)

    def expression(self, above: int = 0) -> ast.Expr:
        """Parse an expression whose operators bind tighter than `above`."""
        left = self.operand(above)
        compared = False  # comparisons do not nest without parentheses
        while self.token.kind in ("keyword", "symbol") or _is_like(self.token):
            level = COMPARE if _is_like(self.token) else LEVELS.get(self.token.value, 0)
            if level <= above or (level == COMPARE and compared):
                break
            if self.token.has("NOT") and not (self.following.has("IN", "BETWEEN") or _is_like(self.following)):
                break
            if level <= AND:
                left = self.connective(left, level)
            elif level == COMPARE:
                left, compared = self.comparison(self.without_equivalence(left)), True
            else:
                op = cast(ast.Arithmetic, self.advance().value)
                right = self.without_equivalence(self.expression(level))
                left = ast.Binary(op, self.without_equivalence(left), right, span=left.span.to(right.span))
        return left

    def connective(self, left: ast.Expr, level: int) -> ast.Expr:
        """Parse the rest of a conjunction or disjunction; nested ones of the same kind are flattened."""
        word = self.token.value
        op: Literal["and", "or"] = "and" if word == "AND" else "or"
        items: list[ast.Expr] = []
        more: ast.Expr | None = left
        while more is not None:
            last = more if op == "and" else self.without_equivalence(more)
            items += last.items if isinstance(last, ast.Bool) and last.op == op else (self.require_condition(last),)
            more = self.expression(level) if self.accept(word) else None
        return ast.Bool(op, tuple(items), span=left.span.to(items[-1].span))

    def comparison(self, left: ast.Expr) -> ast.Expr:
        """Parse the rest of a chain of comparisons, IN, BETWEEN, LIKE or IS NULL."""
        if self.token.has(*COMPARISONS):
            operands, ops = [left], list[ast.Comparison]()
            while token := self.accept(*COMPARISONS):
                ops.append(cast(ast.Comparison, token.value))
                operands.append(self.without_equivalence(self.expression(COMPARE)))
            return ast.Compare(tuple(operands), tuple(ops), span=left.span.to(operands[-1].span))
        if self.accept("IS"):
            negated = bool(self.accept("NOT"))
            end = self.expect("NULL", "NULL" if negated else "NULL or NOT NULL")
            return ast.IsNull(left, negated, span=left.span.to(end.span))
        negated = bool(self.accept("NOT"))
        if _is_like(self.token):
            return self.like(left, negated)
        if self.accept("IN"):
            self.expect("(")
            items = self.parse_list(lambda: self.without_equivalence(self.expression(COMPARE)))
            end = self.expect(")", "',' or ')'")
            return ast.In(left, items, negated, span=left.span.to(end.span))
        self.expect("BETWEEN")
        low = self.without_equivalence(self.expression(COMPARE))
        self.expect("AND", None, "write x BETWEEN low AND high")
        high = self.without_equivalence(self.expression(COMPARE))
        return ast.Between(left, low, high, negated, span=left.span.to(high.span))

    def like(self, left: ast.Expr, negated: bool) -> ast.Like:
        """Parse LIKE and its pattern."""
        self.advance()
        token = self.token
        if token.kind != "text":
            self.refuse_token(
                "a pattern in quotes after LIKE", "write it like 'a%': % is any text, _ one character"
            )
        if re.fullmatch(r"(?s)(?:[^\\]|\\[%_\\])*", token.value) is None:
            advice = "write \\% and \\_ for the characters themselves, and \\\\ for a backslash"
            self.fail("bad-pattern", "a backslash in a pattern stands before %, _ or another", token.span, advice)
        self.advance()
        return ast.Like(left, token.value, negated, span=left.span.to(token.span))

    def operand(self, above: int) -> ast.Expr:
        """Parse a constant, a reference, a group or a prefixed expression."""
        self.nest()
        token = self.token
        result: ast.Expr
        if token.has("NOT") and above <= NOT:
            self.advance()
            inner = self.require_condition(self.without_equivalence(self.expression(NOT)))
            result = ast.Invert(inner, span=token.span.to(inner.span))
        elif self.accept("-"):
            inner = self.without_equivalence(self.expression(UNARY))
            result = ast.Negate(inner, span=token.span.to(inner.span))
        elif self.accept("("):
            result = self.expression()
            self.expect(")")
        elif self.accept("["):
            refs = self.parse_list(lambda: self.path(hyphens=True))
            end = self.expect("]", "',' or ']'")
            # an Equivalence passes as an Expr only as far as `plain` lets it
            result = cast(ast.Expr, ast.Equivalence(refs, span=token.span.to(end.span)))
        elif token.is_name:
            result = self.reference()
        else:
            result = self.constant()
        self.depth -= 1
        return result

    def constant(self) -> ast.Const | ast.Duration:
        """Parse a number, a duration, text, TRUE, FALSE or NULL."""
        token = self.token
        if (duration := self.duration_with_unit()) is not None:
            return duration
        words = {"TRUE": True, "FALSE": False, "NULL": None}
        value: ast.Scalar
        if token.kind == "text":
            value = token.value
        elif token.kind == "number":
            value = int(token.value) if token.value.isdigit() else float(token.value)
            if isinstance(value, float) and math.isinf(value):
                self.fail("bad-number", "number is too large", token.span)
        elif token.has(*words):
            value = words[token.value]
        else:
            self.refuse_token("an attribute or a constant")
        self.advance()
        return ast.Const(value, span=token.span)

    def duration_with_unit(self) -> ast.Duration | None:
        """Parse a number with a unit of time after it, None if there is none."""
        token, word = self.token, self.following
        if token.kind != "number" or word.kind != "name":
            return None
        unit = UNITS.get(word.value.lower())
        if unit is None:
            known = [name for name in dict.fromkeys(UNITS.values()) if name in ast.MILLISECONDS]
            if (advice := suggest(word.value.lower(), known)) is None:
                return None
            self.fail("unknown-unit", f"unknown unit {word.display}", word.span, advice)
        if unit == "events":
            self.fail("bad-duration", "a duration in a condition is a time, not a number of events", word.span)
        if unit in ast.MONTHS:
            advice = "write so many days, such as 30 days"
            self.fail("bad-duration", f"{unit} have no fixed length", word.span, advice)
        if "e" in token.value.lower():
            self.fail("bad-duration", "a duration has no exponent", token.span)
        self.advance()
        self.advance()
        return ast.Duration(Fraction(token.value), unit, span=token.span.to(word.span))

    def reference(self) -> ast.Expr:
        """Parse `price`, `S.price`, `NEXT(S).price`, `GAP(X, Y)` or a function of values."""
        token = self.token
        if not self.following.has("("):
            return self.path()
        word = token.value.upper()
        if word in ("NEXT", "PREV"):
            return self.neighbour(word)
        if word == "GAP":
            return self.gap()
        if word in FUNCTIONS:
            return self.function(word)
        advice = advise_function(word)
        self.fail("unknown-function", f"unknown function {token.display} in a condition", token.span, advice)

    def neighbour(self, word: str) -> ast.Ref:
        """Parse `NEXT(S).price` or `PREV(S).price`."""
        token = self.advance()
        self.advance()
        label = self.name(f"a label after {word}(")
        self.expect(")")
        self.expect(".", "'.' and an attribute", f"write {word}({label.value}).attribute")
        path = self.path()
        is_next = word == "NEXT"
        return ast.Ref((label.value, *path.parts), is_next, not is_next, span=token.span.to(path.span))

    def gap(self) -> ast.Gap:
        """Parse `GAP()` or `GAP(X, Y)`."""
        token = self.advance()
        self.advance()
        labels = [] if self.token.has(")") else list(self.parse_list(lambda: self.name("a label").value))
        close = self.expect(")", "',' or ')'")
        if len(labels) not in (0, 2):
            advice = "write GAP(X, Y) for an X that is directly followed by a Y, or GAP() for all neighbours"
            self.fail("bad-function", "GAP takes two labels or none", token.span.to(close.span), advice)
        return ast.Gap(tuple(labels), span=token.span.to(close.span))

    def function(self, word: str) -> ast.Function:
        """Parse a function of values."""
        token = self.advance()
        self.advance()
        least, most = FUNCTIONS[word]
        args = () if self.token.has(")") else self.parse_list(self.argument)
        close = self.expect(")", "',' or ')'")
        span = token.span.to(close.span)
        if len(args) < least or (most is not None and len(args) > most):
            count = f"{least}" if most == least else f"{least} to {most}" if most else f"{least} or more"
            advice = "write ROUND(x) or ROUND(x, digits)" if word == "ROUND" else None
            values = "value" if count == "1" else "values"
            self.fail("bad-function", f"{word} takes {count} {values}, not {len(args)}", span, advice)
        if word == "ROUND" and len(args) == 2:
            args = (args[0], self.digits(args[1]))
        return ast.Function(word, args, span=span)

    def argument(self) -> ast.Expr:
        """Parse a value that a function takes."""
        return self.without_equivalence(self.expression())

    def digits(self, expr: ast.Expr) -> ast.Const:
        """Return the whole number of digits that ROUND is given, or fail."""
        inner = expr.operand if isinstance(expr, ast.Negate) else expr
        value = inner.value if isinstance(inner, ast.Const) else None
        if not isinstance(value, int) or isinstance(value, bool) or value > MOST_DIGITS:
            message = f"ROUND takes a whole number of digits, at most {MOST_DIGITS}"
            self.fail("bad-function", message, expr.span, "write it as a number, such as ROUND(x, 2)")
        return ast.Const(-value if isinstance(expr, ast.Negate) else value, span=expr.span)

    def require_condition(self, expr: ast.Expr) -> ast.Expr:
        """Return the expression if it can be true or false, else fail."""
        number = isinstance(expr, ast.Const) and not isinstance(expr.value, bool)
        values = ast.Negate | ast.Binary | ast.Duration | ast.Gap | ast.Aggregate | ast.Extent
        if number or isinstance(expr, values):
            advice = "compare it with something, e.g. S.price > 10"
            self.fail("not-a-condition", "expected a condition, found a value", expr.span, advice)
        return expr

    def without_equivalence(self, expr: ast.Expr) -> ast.Expr:
        """Return the expression if no equivalence is in it, else fail."""
        for item in expr.items if isinstance(expr, ast.Bool) else (expr,):
            if isinstance(item, ast.Equivalence):
                advice = "write it beside the other conditions, joined with AND"
                self.fail(
                    "misplaced-equivalence", "an equivalence cannot be part of a condition", item.span, advice
                )
        return expr
