"""Parse patterns: event types, their repetitions, and what joins them."""

from __future__ import annotations

import re

from sparkleene.errors import suggest
from sparkleene.language import ast
from sparkleene.language.cursor import Cursor
from sparkleene.language.operators import AND, NOT, OR
from sparkleene.language.tokens import Token
from sparkleene.language.trees import parts

MAX_REPEAT = 10_000


class PatternParser(Cursor):
    """Parse what stands in PATTERN."""

    def pattern(self, above: int = 0) -> ast.Pattern:
        """Parse a pattern whose operators bind tighter than `above`."""
        left = self.pattern_operand()
        for level, word in ((AND, "AND"), (OR, "OR")):
            if level > above and self.token.has(word):
                items = [left]
                while self.accept(word):
                    items.append(self.pattern(level))
                left = join_patterns(word, items)
        return left

    def pattern_operand(self) -> ast.Pattern:
        """Parse an event type, a group or a prefixed pattern, with its repetitions."""
        self.nest()
        start = self.token
        result: ast.Pattern
        if self.accept("NOT"):
            inner = self.pattern(NOT)
            result = ast.Not(inner, span=start.span.to(inner.span))
            self.depth -= 1
            return result  # repetitions bind tighter and are part of `inner`
        if start.has("SEQ") or (start.has("AND", "OR") and self.following.has("(")):
            self.advance()
            self.expect("(")
            parts = self.parse_list(self.pattern)
            close = self.expect(")", "',' or ')'", "separate the parts with commas")
            span = start.span.to(close.span)
            result = ast.Seq(parts, span=span) if start.value == "SEQ" else join_patterns(start.value, list(parts))
        elif self.accept("("):
            result = self.pattern()
            self.expect(")", None, "write SEQ(A, B) for A followed by B" if self.token.has(",") else None)
        else:
            kind = self.refuse_hyphens(self.name("a pattern"))
            if self.token.has("("):
                operators = ("SEQ", "NOT", "OR", "AND")
                advice = suggest(kind.value.upper(), operators) or f"the operators are {', '.join(operators)}"
                self.fail("unknown-operator", f"unknown pattern operator {kind.display}", kind.span, advice)
            alias = self.refuse_hyphens(self.advance()) if self.token.is_name else None
            span = kind.span.to((alias or kind).span)
            result = ast.Atom(kind.value, alias.value if alias else None, span=span)
        self.depth -= 1
        while token := self.accept("+", "*", "?", "{"):
            low, high = {"+": (1, None), "*": (0, None), "?": (0, 1)}.get(token.value) or self.bounds(token)
            result = ast.Repeat(result, low, high, span=result.span.to(self.tokens[self.place - 1].span))
        return result

    def refuse_hyphens(self, first: Token) -> Token:
        """Return a name of the pattern; note and step over hyphens after it, which need backquotes."""
        last, value = first, first.text
        while self.token.has("-") and self.token.span.start == last.span.end:
            piece = self.following
            if piece.span.start != self.token.span.end or not re.fullmatch(r"\w+", piece.text):
                break
            self.advance()
            last = self.advance()
            value += f"-{last.text}"
        if last is not first:
            span, advice = first.span.to(last.span), f"write `{value.replace('`', '')}`"
            self.note("unexpected-token", "a name with a hyphen needs backquotes", span, advice)
        return first

    def bounds(self, brace: Token) -> tuple[int, int | None]:
        """Parse the rest of `{n}`, `{n,}` or `{n,m}`."""
        low = self.bound()
        high: int | None = low
        if self.accept(","):
            high = None if self.token.has("}") else self.bound()
        span = brace.span.to(self.expect("}").span)
        if high is not None and high < max(low, 1):
            lost = "the upper bound is below the lower bound" if low > high else "it allows no event at all"
            self.fail("bad-repetition", f"repetition cannot match: {lost}", span)
        return low, high

    def bound(self) -> int:
        """Parse one bound of a repetition."""
        token = self.token
        if token.kind != "number":
            self.refuse_token("a number of repetitions")
        self.advance()
        if not token.value.isdigit():
            self.fail("bad-repetition", "a number of repetitions must be whole", token.span)
        if int(token.value) > MAX_REPEAT:
            self.fail("repetition-too-large", f"a pattern repeats at most {MAX_REPEAT:,} times", token.span)
        return int(token.value)


def join_patterns(word: str, items: list[ast.Pattern]) -> ast.Pattern:
    """Return the OR or AND of patterns, with nested ones of the same kind flattened."""
    if len(items) == 1:
        return items[0]
    kind = ast.Or if word == "OR" else ast.And
    flat = [part for item in items for part in (parts(item) if isinstance(item, kind) else (item,))]
    return kind(tuple(flat), span=items[0].span.to(items[-1].span))
