"""Random trees survive printing; random text is refused politely."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases

from sparkleene.errors import QueryError
from sparkleene.language import ast, parse, parse_expression, to_text

FIXTURES = Path(__file__).parent / "fixtures"
VALID = [path.read_text(encoding="utf-8") for path in sorted((FIXTURES / "papers").glob("*.q"))]
VALID += (FIXTURES / "identity.q").read_text(encoding="utf-8").split("\n---\n")

WORDS = [
    "A",
    "price",
    "count",
    "next",
    "seq",
    "in",
    "group",
    "by",
    "Group-By",
    "age-group",
    "a b",
    "x`y",
    "x-1",
    "é",
]
LETTERS = st.characters(exclude_characters="\n", exclude_categories=["Cs"])


@st.composite
def some_names(draw: st.DrawFn) -> str:
    """Make names that tempt the printer to forget backticks."""
    return draw(st.sampled_from(WORDS) | st.text(LETTERS, min_size=1, max_size=4))


@st.composite
def some_constants(draw: st.DrawFn) -> ast.Const:
    """Make constants of every kind."""
    numbers = st.integers(0, 10**20) | st.floats(0, allow_nan=False, allow_infinity=False)
    return ast.Const(draw(st.text(LETTERS, max_size=5) | numbers | st.booleans() | st.none()))


@st.composite
def some_refs(draw: st.DrawFn, following: bool = False) -> ast.Ref:
    """Make references of one to three parts."""
    return ast.Ref(tuple(draw(st.lists(names, min_size=1 + following, max_size=3))), following)


names, constants, refs = some_names(), some_constants(), some_refs()
several: Any = {"min_size": 1, "max_size": 3}


def _flat(node: Any, kind: type, field: str) -> bool:
    """Tell whether no direct child is of the same kind, as the parser flattens those."""
    return not any(isinstance(child, kind) for child in getattr(node, field))


def _grow_pattern(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Make larger patterns of smaller ones."""
    pairs = st.lists(inner, min_size=2, max_size=3).map(tuple)
    bounds = st.sampled_from([(1, None), (0, None), (0, 1), (1, 1), (3, 3), (2, None), (2, 5), (0, 7)])
    return st.one_of(
        st.builds(lambda pattern, b: ast.Repeat(pattern, *b), inner, bounds),
        st.builds(ast.Seq, st.lists(inner, **several).map(tuple)),
        st.builds(ast.Or, pairs).filter(lambda node: _flat(node, ast.Or, "options")),
        st.builds(ast.And, pairs).filter(lambda node: _flat(node, ast.And, "operands")),
        st.builds(ast.Not, inner),
    )


def _is_condition(expr: Any) -> bool:
    """Tell whether an expression can be true or false."""
    if isinstance(expr, ast.Const):
        return isinstance(expr.value, bool)
    return not isinstance(expr, ast.Negate | ast.Binary | ast.Aggregate)


def _grow_expr(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Make larger expressions of smaller ones."""
    conditions = inner.filter(_is_condition)
    comparisons = st.lists(st.tuples(st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), inner), **several)
    same = st.builds(
        ast.Bool, st.sampled_from(["and", "or"]), st.lists(conditions, min_size=2, max_size=3).map(tuple)
    )
    return st.one_of(
        st.builds(ast.Negate, inner),
        st.builds(ast.Binary, st.sampled_from("+-*/%"), inner, inner),
        st.builds(
            lambda first, rest: ast.Compare((first, *(x for _, x in rest)), tuple(op for op, _ in rest)),
            inner,
            comparisons,
        ),
        same.filter(lambda node: not any(isinstance(item, ast.Bool) and item.op == node.op for item in node.items)),
        st.builds(ast.Invert, conditions),
        st.builds(ast.In, inner, st.lists(inner, **several).map(tuple), st.booleans()),
        st.builds(ast.Between, inner, inner, inner, st.booleans()),
        st.builds(ast.IsNull, inner, st.booleans()),
    )


patterns = st.recursive(st.builds(ast.Atom, names, st.none() | names), _grow_pattern, max_leaves=8)
exprs = st.recursive(refs | some_refs(following=True) | constants, _grow_expr, max_leaves=8)
conjuncts = exprs.filter(lambda e: _is_condition(e) and not (isinstance(e, ast.Bool) and e.op == "and"))
equivalences = st.builds(ast.Equivalence, st.lists(refs, **several).map(tuple))
logs = st.sampled_from([None, 2, 10])
functions = st.sampled_from(["min", "max", "sum", "avg", "var_pop", "var_samp", "stddev_pop", "stddev_samp"])
inner = exprs | st.builds(ast.Extent, st.sampled_from(["length", "duration"]))
inner |= st.builds(ast.Aggregate, st.sampled_from(["count", "sum", "first", "last"]), st.tuples(exprs))
aggregates = st.one_of(
    st.builds(ast.Aggregate, st.just("count"), st.just(()) | st.tuples(refs), logs),
    st.builds(ast.Aggregate, st.just("count"), st.lists(refs, **several).map(tuple), logs, st.just("distinct")),
    st.builds(ast.Aggregate, st.just("count"), st.tuples(refs), logs, st.just("each")),
    st.builds(ast.Aggregate, functions, st.tuples(inner), st.none(), st.sampled_from([None, "each"])),
)
results = st.recursive(refs | constants | aggregates, _grow_expr, max_leaves=6)
orders = st.builds(ast.Order, results, st.booleans())
groups = refs | st.builds(ast.Item, exprs.filter(lambda e: not isinstance(e, ast.Ref)), st.none() | names)
groups |= st.builds(ast.Item, refs, names)
values = st.decimals(min_value="0.001", max_value=10**9, places=3).map(Fraction)
times = st.builds(ast.Duration, values, st.sampled_from([None, "milliseconds", "minutes", "hours", "days"]))
counts = st.builds(ast.Duration, st.integers(1, 10**6).map(Fraction), st.just("events"))
items = st.builds(ast.Item, aggregates | refs | results, st.none() | names)
windows = st.one_of(
    st.none(), st.builds(ast.Within, times, st.none() | times), st.builds(ast.Within, counts, st.none() | counts)
)
semantics: st.SearchStrategy[ast.Semantics] = st.sampled_from(
    ["skip-till-any-match", "skip-till-next-match", "contiguous"]
)


@st.composite
def queries(draw: st.DrawFn) -> ast.Query:
    """Make whole queries."""
    return ast.Query(
        draw(patterns),
        tuple(draw(st.lists(items, **several))),
        draw(semantics),
        tuple(draw(st.lists(conjuncts | equivalences, max_size=3))),
        tuple(draw(st.lists(groups, max_size=2))),
        draw(windows),
        draw(st.none() | names),
        draw(st.none() | results.filter(_is_condition)),
        tuple(draw(st.lists(orders, max_size=2))),
        draw(st.none() | st.integers(1, 1000)),
    )


TOKENS = ["RETURN", "PATTERN", "WHERE", "GROUP-BY", "WITHIN", "AGG", "SEQ", "NOT", "OR", "AND", "IN", "A.b"]
TOKENS += ["HAVING", "ORDER BY", "LIMIT", "COUNT(", "MAX(", "DISTINCT", "EACH", "LENGTH()"]
TOKENS += [*"()[]<>,.:+-*$`'", "10", "minutes", "'x'", "/*", "{2}"]


def refuse_politely(text: str) -> None:
    """Check that text is parsed, or refused with an error that can be shown."""
    for read in (parse, parse_expression):
        try:
            read(text)
        except QueryError as error:
            assert error.diagnostics
            assert "error[" in error.render() and error.render(color=True)


@settings(max_examples=cases(300), deadline=None)
@given(queries())
def test_printed_tree_is_read_back(query: ast.Query) -> None:
    """Printing and parsing gives the same tree; repr tells 1 from 1.0 and TRUE."""
    again = parse(to_text(query))
    assert repr(again) == repr(query)
    assert to_text(again) == to_text(query)


@settings(max_examples=cases(200), deadline=None)
@given(st.text(max_size=60) | st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join))
def test_random_text(text: str) -> None:
    """Random characters and random tokens raise nothing but QueryError."""
    refuse_politely(text)


@settings(max_examples=cases(300), deadline=None)
@given(st.sampled_from(VALID), st.data())
def test_mutated_queries(text: str, data: st.DataObject) -> None:
    """Valid queries with pieces deleted, inserted or swapped raise nothing but QueryError."""
    glue = data.draw(st.sampled_from(["", " "]))
    pieces = text.split(" ") if glue else list(text)
    for _ in range(data.draw(st.integers(1, 4))):
        one = data.draw(st.integers(0, max(0, len(pieces) - 1)))
        two = data.draw(st.integers(0, max(0, len(pieces) - 1)))
        action = data.draw(st.sampled_from(["delete", "insert", "swap"]))
        if action == "insert" or not pieces:
            pieces.insert(one, data.draw(st.sampled_from(TOKENS) | st.characters()))
        elif action == "delete":
            del pieces[one : one + 1 + two % 3]
        else:
            pieces[one], pieces[two] = pieces[two], pieces[one]
    refuse_politely(glue.join(pieces))
