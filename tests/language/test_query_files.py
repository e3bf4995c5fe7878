"""Many queries in one text: where they begin and end, and what they are called."""

from __future__ import annotations

import pytest

from sparkleene.errors import Place, QueryError
from sparkleene.language import parse
from sparkleene.language.parser import MAX_TEXT
from sparkleene.language.query_files import name_queries, split_queries

A, B = "RETURN COUNT(*) PATTERN A+", "RETURN COUNT(*) PATTERN B+"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"a: {A}\nb: {B}", ["a", "b"]),
        (f"a:\n{A}\n\n  `b;c` :\n{B}", ["a", "b;c"]),
        (f"{A};{B};", ["q1", "q2"]),
        (f"{A}; -- the end of a: ;\n\nlong-name-2: {B} # ;", ["q1", "long-name-2"]),
        (f"a: {A} WHERE A.x = 'b: ;'\n/* b: ;\nc: */ {B};", None),
        (f"a: {A} WHERE A.x = ';' ;\n/* b: ;\nc: */ {B};", ["a", "q2"]),
        (f"é: {A}\r\nb: {B}\r\n", ["é", "b"]),
        (f"\ufeffa: {A};\nb: {B}", ["a", "b"]),
    ],
)
def test_texts(text: str, names: list[str] | None) -> None:
    found = split_queries(text)
    if names is None:
        assert found == [Place(text, "query")]  # one, with a mistake that the parser points at
        return
    assert [*name_queries(found)] == names
    for source in found:
        start = parse(source.source).pattern.span.start
        assert place(source.source, start) == place(text, text.index(source.source[start : start + 2]))


def place(text: str, at: int) -> tuple[int, int]:
    """The line and the column."""
    return text.count("\n", 0, at), at - text.rfind("\n", 0, at)


@pytest.mark.parametrize(
    "text", ["", " -- nothing\n", ";", f"{A};;", f"-- a\n{A}", f"a: {A};\n-- b:", "x" * (MAX_TEXT + 1)]
)
def test_one_query_stays_as_it_is(text: str) -> None:
    assert split_queries(text, "a.q") == [Place(text, "a.q")]


def test_mistakes_between_queries_are_not_lost() -> None:
    first, second, third = split_queries(f"a: {A};\n§\nb: {B} /* open")
    parse(first.source)
    for source, place in ((second, 2), (third, 3)):
        with pytest.raises(QueryError) as caught:
            parse(source.source)
        assert f"query:{place}:" in caught.value.short()


def test_names_are_names_only_where_a_line_begins() -> None:
    assert len(split_queries(f"a: {A} b: {B}")) == 1
    assert len(split_queries(f"RETURN: COUNT(*)\nPATTERN: A\nb: {B}")) == 2


def test_a_name_is_given_once() -> None:
    with pytest.raises(QueryError) as caught:
        name_queries(split_queries(f"a: {A}\nb: {A}\na: {B}", "rules.q"))
    assert caught.value.short() == "rules.q:3:1: error[duplicate-name]: two queries are called 'a'"
    with pytest.raises(QueryError, match="'q2'"):
        name_queries(split_queries(f"q2: {A}; {B}"))
