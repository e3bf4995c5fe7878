"""Cut query text into tokens, and undo the typography of printed papers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from sparkleene.errors import Diagnostic, Span
from sparkleene.language.operators import COMPARISONS

Kind = Literal["name", "quoted", "keyword", "number", "text", "symbol", "end"]

CLAUSES = (
    "RETURN", "AGG", "PATTERN", "SEMANTICS", "WHERE", "GROUP-BY", "WITHIN", "SLIDE", "HAVING", "ORDER BY", "LIMIT",
)  # fmt: skip
_WORDS = ("GROUPBY", "SEQ", "NOT", "OR", "AND", "AS", "IN", "IS", "BETWEEN", "NULL", "TRUE", "FALSE")
RESERVED = frozenset((*CLAUSES, *_WORDS)) - {"LIMIT"}  # which is a clause only before a number
NAME = re.compile(r"[^\W\d]\w*")
MAX_NUMBER = 1000  # characters; int() itself refuses more than 4300 digits

_WORD_SYMBOLS = {
    **dict.fromkeys(("&", "&&", "∧"), "AND"),
    **dict.fromkeys(("|", "||", "∨"), "OR"),
    **dict.fromkeys(("!", "¬"), "NOT"),
}
_SYMBOLS = {
    **{"==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">=", "∗": "*", "−": "-"},
    **dict.fromkeys("〈⟨", "<"),
    **dict.fromkeys("〉⟩", ">"),
}
_TOKEN = re.compile(
    r"""
      (?P<space>    [\s\ufeff\u200b]+ | --[^\n]* | \#[^\n]* | /\*.*?\*/ )
    | (?P<comment>  /\*.* )
    | (?P<number>   [0-9]+ (?:\.[0-9]+)? (?:e[+-]?[0-9]+)? | (?<![\w`)]) \.[0-9]+ (?:e[+-]?[0-9]+)? )
    | (?P<group>    group (?:\s+|-)? by \b )
    | (?P<order>    order (?:\s+|-) by \b )
    | (?P<limit>    limit (?= \s+ [0-9] ) )
    | (?P<name>     [^\W\d]\w* )
    | (?P<quoted>   ` (?:[^`\n]|``)* ` )
    | (?P<text>     ' (?:[^'\n]|'')* ' | " (?:[^"\n]|"")* " | ‘[^’\n]*’ | “[^”\n]*” )
    | (?P<symbol>   == | != | <> | <= | >= | && | \|\| | [-+*/%?(){}\[\],.:;=<>!&|≠≤≥∗−〈〉⟨⟩∧∨¬] )
    | (?P<open>     ['"`‘“][^\n]* )
    | (?P<other>    . )
    """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of query text; `value` is its canonical form, `text` is as written."""

    kind: Kind
    value: str
    text: str
    span: Span

    def has(self, *values: str) -> bool:
        """Tell whether this is one of these keywords or symbols."""
        return self.kind in ("keyword", "symbol") and self.value in values

    def is_word(self, word: str) -> bool:
        """Tell whether this is a word that has a meaning only where it stands, such as SESSION after WITHIN."""
        return self.kind == "name" and self.value.upper() == word

    @property
    def is_name(self) -> bool:
        """Tell whether this can name a type, label or attribute."""
        return self.kind in ("name", "quoted")

    @property
    def is_clause(self) -> bool:
        """Tell whether a clause starts here."""
        return self.has(*CLAUSES)

    @property
    def display(self) -> str:
        """Describe the token for a message."""
        if self.kind == "end":
            return "the end of the query"
        text = " ".join(self.text.split())
        return f"'{text}'" if len(text) <= 40 else f"'{text[:37]}...'"


def tokenize(text: str) -> tuple[list[Token], list[Diagnostic]]:
    """Return the tokens of a query, ending in an `end` token, and what could not be read."""
    tokens: list[Token] = []
    errors: list[Diagnostic] = []
    position = 0
    while match := _TOKEN.match(text, position):
        group, found, position = str(match.lastgroup), match.group(), match.end()
        if group == "space":
            continue
        span = Span(match.start(), match.end())
        after_dot = bool(tokens) and tokens[-1].has(".") and tokens[-1].span.end == span.start
        if after_dot and group in ("group", "order", "limit"):  # `S.group` is an attribute, whatever follows
            found = found[: len(group)]
            group = "name"
            span = Span(span.start, span.start + len(found))
            position = span.end
        if problem := _lexical_error(group, found):
            code, message, advice = problem
            errors.append(Diagnostic(code, message, span.start, span.end, help=advice))
            if group in ("comment", "other"):
                continue
        kind, value = _classify(group, found, after_dot)
        tokens.append(Token(kind, value, found, span))
    if tokens and tokens[-1].has(";"):
        tokens.pop()
    end = tokens[-1].span.end if tokens else 0
    tokens.append(Token("end", "", "", Span(end, end)))
    return strip_brackets(tokens), errors


def _classify(group: str, found: str, after_dot: bool) -> tuple[Kind, str]:
    """Return the kind and the canonical value of a piece of text."""
    if group in ("group", "order", "limit"):
        return "keyword", {"group": "GROUP-BY", "order": "ORDER BY", "limit": "LIMIT"}[group]
    if group == "name":
        return ("keyword", found.upper()) if found.upper() in RESERVED and not after_dot else ("name", found)
    if group == "quoted":
        return "quoted", found[1:-1].replace("``", "`")
    if group == "text":
        quote = found[0]
        return "text", found[1:-1].replace(quote * 2, quote) if quote in "'\"" else found[1:-1]
    if group == "open":
        return "quoted" if found[0] == "`" else "text", found[1:]
    if group == "number":
        return "number", found if len(found) <= MAX_NUMBER else "1"
    if word := _WORD_SYMBOLS.get(found):
        return "keyword", word
    return "symbol", _SYMBOLS.get(found, found)


def _lexical_error(group: str, found: str) -> tuple[str, str, str | None] | None:
    """Return the code, message and help for a piece of text that is wrong in itself."""
    if group == "comment":
        return "unterminated-comment", "comment has no end", "close it with */"
    if group == "open":
        what = "quoted name" if found[0] == "`" else "text"
        close = {"‘": "’", "“": "”"}.get(found[0], found[0])
        return "unterminated-text", f"{what} has no end on its line", f"close it with {close}"
    if group == "quoted" and found == "``":
        return "empty-name", "a quoted name cannot be empty", None
    if group == "number" and len(found) > MAX_NUMBER:
        return "bad-number", f"number has more than {MAX_NUMBER} characters", None
    if group == "other":
        shown = found if found.isprintable() else f"U+{ord(found):04X}"
        return "unexpected-character", f"character '{shown}' has no meaning in a query", None
    return None


def strip_brackets(tokens: list[Token]) -> list[Token]:
    """Drop the brackets that the A-Seq paper prints around clauses: `[AGG COUNT]`, `GROUP BY <IP>`.

    Only in a clause whose body opens with `<` are stray `<` and a closing `>` dropped, so that an unfinished
    comparison elsewhere stays an error.
    """
    kept: list[Token] = []
    square: list[bool] = []  # for each open `[`, whether it stands around a clause
    angled = False
    last = tokens[-1]
    for token, following, third in zip(tokens, [*tokens[1:], last], [*tokens[2:], last, last], strict=False):
        before = kept[-1] if kept else None
        if token.is_clause:
            angled = False
        if token.has("["):
            square.append(following.is_clause)
            if following.is_clause:
                continue
        elif token.has("]") and square:
            if square.pop():
                continue
        elif token.has("<") and before is not None:
            if before.is_clause:
                angled = True
            if angled and (before.is_clause or before.has("(", ",", *COMPARISONS)):
                continue
        elif token.has(">") and angled:
            if following.kind == "end" or following.is_clause:
                continue
            if (following.has("]") and square[-1:] == [True]) or (following.has("[") and third.is_clause):
                continue
        kept.append(token)
    return kept
