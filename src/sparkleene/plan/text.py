"""Pieces of a plan as text: terms in the words of the query, lengths of time, tables of words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import zip_longest
from typing import Literal

from sparkleene.language import ast
from sparkleene.language.bound import Bound, Call, Field, Interval, Literal_, Measure, Output, Path, Term
from sparkleene.language.printer import expr_to_text
from sparkleene.plan.predicates import Comparison, Threshold

Unit = Literal["time", "milliseconds", "months", "events"]


def term_to_text(term: Term, before: str | None = None, after: str | None = None) -> str:
    """Print a bound term; `before` labels the only or the earlier event, `after` the one directly after it.

    >>> price = Call(">", (Field(("price",), 0), Call("*", (Literal_(2), Field(("price",), 1)))))
    >>> term_to_text(price, "S", "S")
    'S.price > 2 * NEXT(S).price'
    """
    return expr_to_text(_expr(term, (before, after)))


def comparison_to_text(comparison: Comparison | Threshold, before: str, after: str) -> str:
    """Print a separable condition: the earlier event on the left, or with arithmetic over both as it is written."""
    if isinstance(comparison, Threshold):
        return term_to_text(comparison.condition, before, after)
    left, right = (term_to_text(term, before, after) for term in (comparison.left, comparison.right))
    return f"{left} {comparison.op} {right}"


def _expr(term: Term, labels: tuple[str | None, str | None]) -> ast.Expr:
    """Return a term as the expression that it could have been bound from."""
    match term:
        case Field(path, side):
            label = labels[side]
            return ast.Ref(path) if label is None else ast.Ref((label, *path), side == 1)
        case Literal_(Interval() as interval):
            unit = ast.largest_unit(interval.milliseconds)
            return ast.Duration(interval.milliseconds / ast.MILLISECONDS[unit], unit)
        case Literal_(value):
            assert not isinstance(value, Interval)
            return ast.Const(value)
        case Call("like", (operand, Literal_(str() as pattern))):
            return ast.Like(_expr(operand, labels), pattern)
        case Call("not", (Call("isnull", (inner,)),)):
            return ast.IsNull(_expr(inner, labels), negated=True)
        case Call("not", (Call("like", (operand, Literal_(str() as pattern))),)):
            return ast.Like(_expr(operand, labels), pattern, negated=True)
        case Call("not", (Call("or", _) as inner,)) if (found := _in(inner, labels)) is not None:
            return ast.In(found.operand, found.items, negated=True)
        case Call("or", _) if (found := _in(term, labels)) is not None:
            return found
    args = [_expr(arg, labels) for arg in term.args]
    match term.op:
        case "isnull":
            return ast.IsNull(args[0])
        case "neg":
            return ast.Negate(args[0])
        case "not":
            return ast.Invert(args[0])
        case "and" | "or":
            return ast.Bool(term.op, tuple(args))
        case "+" | "-" | "*" | "/" | "%":
            return ast.Binary(term.op, args[0], args[1])
        case "=" | "!=" | "<" | "<=" | ">" | ">=":
            return ast.Compare(tuple(args), (term.op,))
        case _:
            return ast.Function(term.op.upper(), tuple(args))


def _in(term: Call, labels: tuple[str | None, str | None]) -> ast.In | None:
    """Return `x = a or x = b` as `x IN (a, b)`, None if it is no such list."""
    equal = [arg.args for arg in term.args if isinstance(arg, Call) and arg.op == "="]
    if len(equal) < len(term.args) or any(args[0] != equal[0][0] for args in equal):
        return None
    return ast.In(_expr(equal[0][0], labels), tuple(_expr(item, labels) for _, item in equal))


def names(bound: Bound, labels: Iterable[int]) -> str:
    """Return the names of labels as a list to read."""
    return ", ".join(bound.labels[label].name for label in sorted(labels))


def shown_name(name: str) -> str:
    """Return the column of an aggregate as a person knows it: one that is not listed, as it is written.

    >>> shown_name("_COUNT(×)"), shown_name("n")
    ('COUNT(*)', 'n')
    """
    return name.lstrip("_").replace("×", "*") if name.startswith("_") and name.endswith(")") else name


def attribute(bound: Bound, labels: Iterable[int] | None, path: Path) -> str:
    """Return an attribute with the labels whose events have it, None for all.

    With several labels that is `(S, A).rate`. A column that the query computes is shown as what it is.
    """
    chosen = [] if labels is None else sorted(labels)
    term = next((one.term for one in bound.derived if (one.name,) == path), None)
    if term is not None:
        return term_to_text(term, bound.labels[chosen[0]].name if len(chosen) == 1 else None)
    if labels is None:
        return expr_to_text(ast.Ref(path))
    if len(chosen) == 1:
        return expr_to_text(ast.Ref((bound.labels[chosen[0]].name, *path)))
    every = [i for i, label in enumerate(bound.labels) if not label.negated]
    return f"{'' if chosen == every else f'({names(bound, chosen)}).'}{expr_to_text(ast.Ref(path))}"


def output_to_text(output: Output, bound: Bound) -> str:
    """Return an aggregate as text."""
    of = "*"
    if output.path:
        of = attribute(bound, output.labels, output.path)
    elif output.labels:
        of = names(bound, output.labels)
    elif output.distinct:
        of = f"DISTINCT {', '.join('.'.join(bound.keys[k].path) for k in output.distinct)}"
    of = f"EACH {of}" if output.each else of
    text = f"{output.function.upper()}({of})"
    return text if output.log is None else f"LOG{output.log}({text})"


def measure_to_text(bound: Bound, measure: Measure) -> str:
    """Return a measure of trends as it could be written."""
    parts = []
    for piece in measure.pieces:
        of = attribute(bound, piece.labels, piece.path) if piece.path else names(bound, piece.labels)
        word = piece.kind.upper() if piece.path else "COUNT"
        size = "" if abs(piece.factor) == 1 else f"{number(abs(piece.factor))} * "
        parts.append(f"{'-' if piece.factor < 0 else '+'} {size}{word}({of})")
    if measure.constant:
        parts.append(f"{'-' if measure.constant < 0 else '+'} {number(abs(measure.constant))}")
    return " ".join(parts).removeprefix("+ ")


def length(value: Fraction, unit: Unit) -> str:
    """Print the length of a window in the largest unit that it is a multiple of.

    >>> length(Fraction(600_000), "milliseconds"), length(Fraction(5, 2), "time")
    ('10 minutes', '2.5')
    """
    word: ast.Unit = "events"
    if unit == "time":
        return number(value)
    if unit == "milliseconds":
        word = ast.largest_unit(value)
        value /= ast.MILLISECONDS[word]
    if unit == "months":
        word = next(word for word, months in ast.MONTHS.items() if value % months == 0)
        value /= ast.MONTHS[word]
    return f"{number(value)} {word[:-1] if value == 1 else word}"


def number(value: Fraction) -> str:
    """Print a fraction as a number."""
    return str(value.numerator) if value.denominator == 1 else str(float(value))


def count(n: int, word: str) -> str:
    """Print a number of things.

    >>> count(1, "state"), count(3, "state")
    ('1 state', '3 states')
    """
    return f"{n} {word}{'' if n == 1 else 's'}"


def table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Lay rows out in columns, two spaces apart; columns without text are left out.

    >>> table([("a", "", "one"), ("bcd", "", "two")])
    ['a    one', 'bcd  two']
    """
    columns = [column for column in zip_longest(*rows, fillvalue="") if any(column)]
    widths = [max(map(len, column)) for column in columns]
    lines = (zip(row, widths, strict=True) for row in zip(*columns, strict=True))
    return ["  ".join(text.ljust(width) for text, width in line).rstrip() for line in lines]
