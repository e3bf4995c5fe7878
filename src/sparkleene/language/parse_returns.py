"""Parse RETURN, GROUP-BY, HAVING, ORDER BY and LIMIT: expressions in which aggregates may stand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from sparkleene.language import ast
from sparkleene.language.functions import FUNCTIONS as VALUE_FUNCTIONS
from sparkleene.language.functions import HAVING_INSTEAD, advise_aggregate
from sparkleene.language.parse_conditions import ConditionParser
from sparkleene.language.tokens import Token

FUNCTIONS: dict[str, ast.AggregateFunction] = {
    **{"COUNT": "count", "MIN": "min", "MAX": "max", "SUM": "sum", "AVG": "avg"},
    **{"VAR_POP": "var_pop", "VAR_SAMP": "var_samp", "VARIANCE": "var_samp"},
    **{"STDDEV_POP": "stddev_pop", "STDDEV_SAMP": "stddev_samp", "STDDEV": "stddev_samp"},
    **{"FIRST": "first", "LAST": "last"},
}
LOGS: dict[str, Literal[2, 10]] = {"LOG2": 2, "LOG10": 10}
AGGREGATES = (*FUNCTIONS, *LOGS)
EXTENTS: dict[str, Literal["length", "duration"]] = {"LENGTH": "length", "DURATION": "duration"}
MODIFIERS: dict[str, Literal["distinct", "each"]] = {"DISTINCT": "distinct", "EACH": "each"}
MAX_LIMIT = 2**31 - 1

Where = Literal["rows", "groups", "aggregate", "results"]
"""Where an expression stands: in a condition on rows, in GROUP-BY, inside an aggregate, or around aggregates."""


class ReturnParser(ConditionParser):
    """Parse what is returned, kept and ordered."""

    over: Where = "rows"

    @contextmanager
    def expressions_over(self, over: Where) -> Iterator[None]:
        """Read expressions over something else for a while."""
        before, self.over = self.over, over
        try:
            yield
        finally:
            self.over = before

    def return_item(self) -> ast.Item:
        """Parse an expression over aggregates and group attributes, perhaps with AS."""
        with self.expressions_over("results"):
            return self.item_with_alias(self.value("an aggregate or a group attribute"))

    def agg_item(self) -> ast.Item:
        """Parse an item of the AGG clause, where a bare COUNT counts trends."""
        start = self.token
        if start.kind == "name" and start.value.upper() == "COUNT" and not self.following.has("("):
            self.advance()
            return self.item_with_alias(ast.Aggregate("count", span=start.span))
        if not start.is_name:
            self.refuse_token("an aggregate such as COUNT or SUM(E.x)")
        return self.return_item()

    def group_item(self) -> ast.Ref | ast.Item:
        """Parse an attribute, or an expression over attributes, perhaps with AS."""
        with self.expressions_over("groups"):
            value = self.value("an attribute")
        item = self.item_with_alias(value)
        return value if isinstance(value, ast.Ref) and item.alias is None else item

    def having(self) -> ast.Expr:
        """Parse a condition over aggregates and group attributes."""
        with self.expressions_over("results"):
            return self.require_condition(self.without_equivalence(self.expression()))

    def order_item(self) -> ast.Order:
        """Parse an expression to order by, with DESC where the greatest comes first."""
        with self.expressions_over("results"):
            value = self.value("an aggregate or a column of the result")
        last = value.span
        descending = False
        if self.token.kind == "name" and self.token.value.upper() in ("ASC", "DESC"):
            descending = self.token.value.upper() == "DESC"
            last = self.advance().span
        return ast.Order(value, descending, span=value.span.to(last))

    def limit(self) -> int:
        """Parse how many rows of a window are kept."""
        token = self.advance()
        if not token.value.isdigit() or not 0 < int(token.value) <= MAX_LIMIT:
            message = "LIMIT takes a whole number of rows, 1 or more"
            self.fail("bad-limit", message, token.span, "write LIMIT 10")
        return int(token.value)

    def item_with_alias(self, value: ast.Expr) -> ast.Item:
        """Parse what may follow an item: AS and its name."""
        alias = self.name("a name after AS").value if self.accept("AS") else None
        return ast.Item(value, alias, span=value.span.to(self.tokens[self.place - 1].span))

    def value(self, expected: str) -> ast.Expr:
        """Parse an expression that is a value."""
        token = self.token
        begins = (
            token.is_name or token.kind in ("number", "text") or token.has("(", "-", "NOT", "NULL", "TRUE", "FALSE")
        )
        after = self.following
        ends = after.kind == "end" or after.is_clause or after.has(",", "AS")
        if not begins or (token.kind == "keyword" and ends and not token.has("NULL", "TRUE", "FALSE")):
            return self.path(True, expected)  # which says what is wrong
        return self.without_equivalence(self.expression())

    # ---- operands

    def reference(self) -> ast.Expr:
        """Parse an attribute, an aggregate, or a function of attributes."""
        token = self.token
        word = token.value.upper() if token.kind == "name" else ""
        if not self.following.has("("):  # `age-group` is a name where columns are listed
            return self.path(hyphens=self.over in ("groups", "results"))
        if word in EXTENTS and self.tokens[min(self.place + 2, len(self.tokens) - 1)].has(")"):
            self.advance()
            self.advance()
            return ast.Extent(EXTENTS[word], span=token.span.to(self.advance().span))
        if self.over == "rows" and word in ("FIRST", "LAST"):
            return self.aggregate()
        if self.over == "rows" and word in AGGREGATES:
            self.fail(
                "misplaced-aggregate",
                f"{word} is an aggregate, and WHERE is about rows",
                token.span,
                HAVING_INSTEAD,
            )
        if self.over == "groups" and word in AGGREGATES:
            help = "group by attributes, or by expressions over attributes of one row"
            self.fail(
                "misplaced-aggregate", f"{word} is an aggregate, and GROUP-BY is about rows", token.span, help
            )
        if self.over in ("results", "aggregate"):
            if word in AGGREGATES:
                return self.aggregate()
            if word not in (*VALUE_FUNCTIONS, "NEXT", "PREV", "GAP"):
                advice = advise_aggregate(word, AGGREGATES)
                self.fail("unknown-function", f"unknown aggregate {token.display}", token.span, advice)
        return super().reference()

    def aggregate(self) -> ast.Aggregate:
        """Parse a call of an aggregate function."""
        token = self.advance()
        word = token.value.upper()
        self.expect("(")
        if word in LOGS:
            inner = self.token
            if not (inner.kind == "name" and inner.value.upper() == "COUNT" and self.following.has("(")):
                advice = f"write {word}(COUNT(*))"
                self.fail("bad-aggregate", f"{word} takes a COUNT", inner.span, advice)
            count = self.aggregate()
            span = token.span.to(self.expect(")").span)
            return ast.Aggregate("count", count.args, LOGS[word], count.modifier, span=span)
        if star := self.accept("*"):
            if word != "COUNT":
                advice = f"write {word}(E.attribute)"
                self.fail("bad-aggregate", f"{word} takes an attribute", star.span, advice)
            return ast.Aggregate("count", span=token.span.to(self.expect(")").span))
        modifier = self.modifier()
        with self.expressions_over("aggregate"):
            args = self.arguments(word, modifier)
        close = self.expect(")")
        return ast.Aggregate(FUNCTIONS[word], args, None, modifier, span=token.span.to(close.span))

    def modifier(self) -> Literal["distinct", "each"] | None:
        """Parse DISTINCT or EACH, which are names of labels unless an operand follows.

        `EACH -A.x` is a value with a sign, `EACH - A.x` a difference.
        """
        token, after = self.token, self.following
        if token.kind != "name" or token.value.upper() not in MODIFIERS:
            return None
        signed = after.has("-") and token.span.end < after.span.start and self.touches_next(after)
        if after.is_name or after.kind == "number" or after.has("(") or signed:
            return MODIFIERS[self.advance().value.upper()]
        return None

    def touches_next(self, token: Token) -> bool:
        """Tell whether no space is between the token after the one at hand and the next."""
        return self.tokens[min(self.place + 2, len(self.tokens) - 1)].span.start == token.span.end

    def arguments(self, word: str, modifier: str | None) -> tuple[ast.Expr, ...]:
        """Parse what an aggregate is of: one expression; for COUNT(DISTINCT), FIRST and LAST several attributes."""
        expected = "'*' or an event type" if word == "COUNT" else "an attribute such as E.x"
        if word in ("FIRST", "LAST"):
            return self.parse_list(lambda: self.value(expected))
        if modifier != "distinct":
            return (self.value(expected),)
        inside = self.accept("(")
        found = self.parse_list(lambda: self.path(hyphens=True, expected=expected))
        if inside:
            self.expect(")")
        return found
