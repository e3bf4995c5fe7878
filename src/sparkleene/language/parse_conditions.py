"""Parse conditions: operators by how tight they bind, and equivalences among them."""

from __future__ import annotations

import math
from typing import Literal, cast

from sparkleene.errors import suggest
from sparkleene.language import ast
from sparkleene.language.cursor import Cursor, Failure
from sparkleene.language.operators import AND, COMPARE, COMPARISONS, NOT, OPERATORS, UNARY

LEVELS = {op.upper(): row.level for op, row in OPERATORS.items()}
LEVELS |= dict.fromkeys(("IN", "BETWEEN", "IS", "NOT"), COMPARE)  # NOT here begins NOT IN and NOT BETWEEN


class ConditionParser(Cursor):
    """Parse what stands in WHERE."""

    def only_condition(self) -> ast.Expr | None:
        """Parse one condition and nothing else."""
        try:
            condition = self.require_condition(self.without_equivalence(self.expression()))
            return condition if self.token.kind == "end" else self.unexpected("the end of the condition")
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
        while self.token.kind in ("keyword", "symbol"):
            level = LEVELS.get(self.token.value, 0)
            if level <= above or (level == COMPARE and compared):
                break
            if self.token.has("NOT") and not self.following.has("IN", "BETWEEN"):
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
        """Parse the rest of a chain of comparisons, IN, BETWEEN or IS NULL."""
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
        if self.accept("IN"):
            self.expect("(")
            items = self.comma_separated(lambda: self.without_equivalence(self.expression(COMPARE)))
            end = self.expect(")", "',' or ')'")
            return ast.In(left, items, negated, span=left.span.to(end.span))
        self.expect("BETWEEN")
        low = self.without_equivalence(self.expression(COMPARE))
        self.expect("AND", None, "write x BETWEEN low AND high")
        high = self.without_equivalence(self.expression(COMPARE))
        return ast.Between(left, low, high, negated, span=left.span.to(high.span))

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
            refs = self.comma_separated(lambda: self.path(hyphens=True))
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
            if isinstance(value, float) and math.isinf(value):
                self.fail("bad-number", "number is too large", token.span)
        elif token.has(*words):
            value = words[token.value]
        else:
            self.unexpected("an attribute or a constant")
        self.advance()
        return ast.Const(value, span=token.span)

    def reference(self) -> ast.Expr:
        """Parse `price`, `S.price` or `NEXT(S).price`."""
        token = self.token
        if not self.following.has("("):
            return self.path()
        if token.value.upper() != "NEXT":
            advice = self.advise_function(token.value.upper())
            self.fail("unknown-function", f"unknown function {token.display} in a condition", token.span, advice)
        self.advance()
        self.advance()
        label = self.name("a label after NEXT(")
        self.expect(")")
        self.expect(".", "'.' and an attribute", f"write NEXT({label.value}).attribute")
        path = self.path()
        return ast.Ref((label.value, *path.parts), True, span=token.span.to(path.span))

    def advise_function(self, word: str) -> str:
        """Return what to write for a function that there is not."""
        if word in ("PREV", "PREVIOUS", "LAG"):
            inside = self.tokens[min(self.place + 2, len(self.tokens) - 1)]
            label = inside.text if inside.is_name else "S"
            return (
                f"write the earlier event plainly, and the later one with NEXT:"
                f" for {label}.x > {word}({label}).x write NEXT({label}).x > {label}.x"
            )
        return suggest(word, ("NEXT",)) or "only NEXT(label).attribute may stand in a condition"

    def require_condition(self, expr: ast.Expr) -> ast.Expr:
        """Return the expression if it can be true or false, else fail."""
        number = isinstance(expr, ast.Const) and not isinstance(expr.value, bool)
        if number or isinstance(expr, ast.Negate | ast.Binary | ast.Aggregate | ast.Extent):
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
