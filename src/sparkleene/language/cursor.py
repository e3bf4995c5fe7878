"""Walk the tokens of a query: look, step, expect, and note what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeVar

from sparkleene.errors import Diagnostic, Span
from sparkleene.language import ast
from sparkleene.language.operators import COMPARISONS
from sparkleene.language.tokens import Token, tokenize

T = TypeVar("T")

MAX_DEPTH = 100


class Failure(Exception):
    """Leave the clause at hand; its diagnostic is noted already."""


class Cursor:
    """Hold the tokens, the place among them and the errors so far."""

    def __init__(self, text: str) -> None:
        """Start at the first token of the text."""
        self.tokens, self.errors = tokenize(text)
        self.place = 0
        self.depth = 0

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
        return self.accept(value) or self.refuse_token(expected or f"'{value}'", help)

    def note(self, code: str, message: str, span: Span, help: str | None = None) -> None:
        """Record an error and go on."""
        self.errors.append(Diagnostic(code, message, span.start, span.end, help=help))

    def fail(self, code: str, message: str, span: Span, help: str | None = None) -> NoReturn:
        """Record an error and leave the clause."""
        self.note(code, message, span, help)
        raise Failure

    def refuse_token(self, expected: str, help: str | None = None) -> NoReturn:
        """Fail at the token at hand."""
        code = "unexpected-end" if self.token.kind == "end" else "unexpected-token"
        self.fail(code, f"expected {expected}, found {self.token.display}", self.token.span, help)

    def nest(self) -> None:
        """Go one level deeper; every caller goes up again, or fails."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail("nesting-too-deep", f"nested more than {MAX_DEPTH} levels deep", self.token.span)

    def parse_list(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Parse one or more items with commas between them."""
        items = [item()]
        while self.accept(","):
            items.append(item())
        return tuple(items)

    def name(self, expected: str, hyphens: bool = False) -> Token:
        """Parse a name; where hyphens may be part of it, `age-group` is one name."""
        token = self.token
        if not token.is_name:
            after = self.following
            ends = after.kind == "end" or after.is_clause or after.has(",", ")", "]", "AS", *COMPARISONS)
            if not (ends and token.kind == "keyword" and token.text.isalpha()):
                self.refuse_token(expected)
            advice = f"write `{token.text}` where it is a name"
            self.note("reserved-word", f"{token.display} is a keyword, not a name", token.span, advice)
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
