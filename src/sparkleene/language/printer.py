"""Print a syntax tree as query text, with as few parentheses as its meaning needs."""

from __future__ import annotations

from fractions import Fraction

from sparkleene.language import ast
from sparkleene.language.operators import AND, COMPARE, NOT, OPERAND, OPERATORS, OR, UNARY
from sparkleene.language.tokens import MAX_NUMBER, NAME, RESERVED


def to_text(query: ast.Query) -> str:
    """Return the query in canonical form, one clause per line.

    >>> from sparkleene.language.parser import parse
    >>> print(to_text(parse("pattern Stock S + return count( * ) within 10min")))
    RETURN COUNT(*)
    PATTERN Stock S+
    WITHIN 10 minutes
    """
    name = "" if query.name is None else f"{_name(query.name, hyphens=True)}: "
    lines = [f"{name}RETURN {', '.join(map(_item, query.returns))}", f"PATTERN {pattern_to_text(query.pattern)}"]
    if query.semantics != "skip-till-any-match":
        lines.append(f"SEMANTICS {query.semantics}")
    if query.where:
        alone = len(query.where) == 1
        lines.append(f"WHERE {' AND '.join([_conjunct(item, alone) for item in query.where])}")
    if query.group:
        lines.append(f"GROUP-BY {', '.join(map(_item, query.group))}")
    if query.within:
        lines.append(f"WITHIN {_window(query.within)}")
    if query.having is not None:
        lines.append(f"HAVING {_expr(query.having, 0)}")
    ordered = "".join([f"ORDER BY {', '.join(map(_order, query.order))}"] if query.order else [])
    limited = f"LIMIT {query.limit}" if query.limit is not None else ""
    if ordered or limited:
        lines.append(" ".join(filter(None, (ordered, limited))))
    return "\n".join(lines)


def _window(within: ast.Within | ast.Session | ast.FromTo) -> str:
    """Print what stands after WITHIN."""
    match within:
        case ast.Within(size, slide):
            return f"{_duration(size)}{f' SLIDE {_duration(slide)}' if slide else ''}"
        case ast.Session(gap, most):
            text = f"SESSION {_duration(gap)}"
        case ast.FromTo(opens, closes, most):
            text = f"FROM {_expr(opens, 0)}{f' TO {_expr(closes, 0)}' if closes is not None else ''}"
    return f"{text} MAX {_duration(most)}" if most else text


def pattern_to_text(pattern: ast.Pattern) -> str:
    """Return a pattern as it stands in PATTERN."""
    return _pattern(pattern, 0)


def expr_to_text(expr: ast.Expr) -> str:
    """Return an expression as it stands in WHERE."""
    return _expr(expr, 0)


def _pattern(pattern: ast.Pattern, above: int) -> str:
    """Print a pattern as an operand of an operator that binds at `above`."""
    match pattern:
        case ast.Atom(kind, None):
            return _name(kind)
        case ast.Atom(kind, alias):
            return f"{_name(kind)} {_name(str(alias))}"
        case ast.Seq(parts):
            return f"SEQ({', '.join(map(pattern_to_text, parts))})"
        case ast.Repeat(inner, low, high):
            return _pattern(inner, NOT + 1) + _bounds(low, high)
        case ast.Not(inner):
            level, text = NOT, f"NOT {_pattern(inner, NOT)}"
        case ast.And(operands):
            level, text = AND, " AND ".join([_pattern(operand, AND + 1) for operand in operands])
        case ast.Or(options):
            level, text = OR, " OR ".join([_pattern(option, OR + 1) for option in options])
    return f"({text})" if level < above else text


def _bounds(low: int, high: int | None) -> str:
    """Print the bounds of a repetition in their shortest form."""
    short = {(1, None): "+", (0, None): "*", (0, 1): "?"}.get((low, high))
    if short or low == high:
        return short or f"{{{low}}}"
    return f"{{{low},{'' if high is None else high}}}"


def _expr(expr: ast.Expr, above: int) -> str:
    """Print an expression as an operand of an operator that needs a level of at least `above`."""
    level, text = _level_and_text(expr)
    return f"({text})" if level < above else text


def _level_and_text(expr: ast.Expr) -> tuple[int, str]:
    """Return how tight an expression binds, and its text without parentheses around it."""
    match expr:
        case ast.Ref(parts, is_next, is_prev):
            word = "NEXT" if is_next else "PREV" if is_prev else ""
            return OPERAND, f"{word}({_name(parts[0])}).{_path(parts[1:], dotted=True)}" if word else _path(parts)
        case ast.Const(value):
            return OPERAND, _constant(value)
        case ast.Extent(extent):
            return OPERAND, f"{extent.upper()}()"
        case ast.Aggregate(function, args, log, modifier):
            listed = ", ".join([_argument(arg, modifier) for arg in args]) or "*"
            text = f"{function.upper()}({f'{modifier.upper()} ' if modifier else ''}{listed})"
            return OPERAND, f"LOG{log}({text})" if log else text
        case ast.Duration():
            return OPERAND, _duration(expr)
        case ast.Function(name, args):
            return OPERAND, f"{name}({', '.join(map(expr_to_text, args))})"
        case ast.Gap(labels):
            return OPERAND, f"GAP({', '.join(map(_name, labels))})"
        case ast.Negate(operand):
            text = _expr(operand, UNARY)
            return UNARY, f"- {text}" if text.startswith("-") else f"-{text}"  # `--` starts a comment
        case ast.Binary(op, left, right):
            level = OPERATORS[op].level
            return level, f"{_expr(left, level)} {op} {_expr(right, level + 1)}"
        case ast.Compare(operands, ops):
            first, *rest = [_operand(operand) for operand in operands]
            return COMPARE, first + "".join([f" {op} {text}" for op, text in zip(ops, rest, strict=True)])
        case ast.In(operand, items, negated):
            listed = ", ".join([_operand(item) for item in items])
            return COMPARE, f"{_operand(operand)} {'NOT ' if negated else ''}IN ({listed})"
        case ast.Between(operand, low, high, negated):
            word = "NOT BETWEEN" if negated else "BETWEEN"
            return COMPARE, f"{_operand(operand)} {word} {_operand(low)} AND {_operand(high)}"
        case ast.IsNull(operand, negated):
            return COMPARE, f"{_operand(operand)} IS {'NOT ' if negated else ''}NULL"
        case ast.Like(operand, pattern, negated):
            return COMPARE, f"{_operand(operand)} {'NOT ' if negated else ''}LIKE {_constant(pattern)}"
        case ast.Invert(operand):
            return NOT, f"NOT {_expr(operand, NOT)}"
        case ast.Bool("and", items):
            return AND, " AND ".join([_expr(item, AND + 1) for item in items])
        case ast.Bool(_, items):
            return OR, " OR ".join([_expr(item, OR + 1) for item in items])


def _operand(expr: ast.Expr) -> str:
    """Print an operand of a comparison."""
    return _expr(expr, COMPARE + 1)


def _conjunct(item: ast.Equivalence | ast.Expr, alone: bool) -> str:
    """Print one condition of WHERE."""
    if isinstance(item, ast.Equivalence):
        return f"[{', '.join(_path(ref.parts, hyphens=True) for ref in item.refs)}]"
    return _expr(item, 0 if alone else AND + 1)


def _constant(value: ast.Scalar) -> str:
    """Print a constant."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return "NULL" if value is None else str(value).upper() if isinstance(value, bool) else repr(value)


def _argument(arg: ast.Expr, modifier: str | None) -> str:
    """Print an argument of an aggregate; after DISTINCT and EACH it begins with a name or a parenthesis."""
    if isinstance(arg, ast.Ref) and not (arg.next or arg.prev):
        return _path(arg.parts, hyphens=modifier == "distinct")
    text = _expr(arg, 0)
    return f"({text})" if modifier == "each" else text


def _item(item: ast.Item | ast.Ref) -> str:
    """Print an item of RETURN or GROUP-BY."""
    value, alias = (item, None) if isinstance(item, ast.Ref) else (item.value, item.alias)
    plain = isinstance(value, ast.Ref) and not (value.next or value.prev)
    text = _path(value.parts, hyphens=True) if isinstance(value, ast.Ref) and plain else _expr(value, 0)
    return text if alias is None else f"{text} AS {_name(alias)}"


def _order(item: ast.Order) -> str:
    """Print an item of ORDER BY."""
    return f"{_item(ast.Item(item.value))}{' DESC' if item.descending else ''}"


def _duration(duration: ast.Duration) -> str:
    """Print a duration with its unit."""
    number = _decimal(duration.value)
    if duration.unit is None:
        return number
    unit = duration.unit.upper() if duration.unit == "events" else duration.unit
    return f"{number} {unit[:-1] if duration.value == 1 else unit}"


def _decimal(value: Fraction) -> str:
    """Print a fraction as an exact decimal; one that is none was not parsed, and is rounded."""
    if value.denominator == 1:
        return str(value.numerator)
    places, scaled = 0, value
    while scaled.denominator != 1 and places < MAX_NUMBER:
        places, scaled = places + 1, scaled * 10
    digits = f"{round(scaled):0{places + 1}d}"
    return f"{digits[:-places]}.{digits[-places:]}"


def _path(parts: tuple[str, ...], hyphens: bool = False, dotted: bool = False) -> str:
    """Print a dotted name."""
    return ".".join([_name(part, hyphens, dotted or place > 0) for place, part in enumerate(parts)])


def _name(name: str, hyphens: bool = False, dotted: bool = False) -> str:
    """Print a name, in backticks unless it would be read as the same name without them."""
    first, *rest = name.split("-") if hyphens else [name]
    pieces = [piece for piece in rest if not (piece.isascii() and piece.isdigit())]
    words = (pieces if dotted else [first, *pieces]) if name else [""]
    plain = all(map(NAME.fullmatch, [first, *pieces])) and not any(
        word.upper() in RESERVED or word.upper() == "BY" for word in words
    )
    return name if plain else quote(name)


def quote(name: str) -> str:
    """Return a name in backticks, as the language and SQL of Spark read any name.

    >>> quote("from`to")
    '`from``to`'
    """
    return "`" + name.replace("`", "``") + "`"
