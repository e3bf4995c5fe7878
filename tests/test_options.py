"""The options of a query, which a query, a workload and a cube take alike."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from typing import Any, get_type_hints

import pytest

import sparkleene as sk
from sparkleene.options import Keywords, QueryOptions

TEXT = "RETURN COUNT(*) PATTERN A+"
TAKERS: dict[str, Callable[..., Any]] = {
    "query": lambda **options: sk.query(TEXT, **options),
    "builder": lambda **options: sk.pattern("A+").query(**options),
    "workload": lambda **options: sk.workload({"a": TEXT}, **options),
    "cube": lambda **options: sk.cube({"a": TEXT}, **options),
}


def test_they_are_spelled_alike() -> None:
    names = [one.name for one in fields(QueryOptions)]
    assert names == [*get_type_hints(Keywords)]
    for function in (sk.query, sk.workload, sk.cube, type(sk.pattern("A")).query):
        shown = inspect.signature(function).parameters
        assert set(names) <= set(shown)
        assert not any(one.kind is one.VAR_KEYWORD for one in shown.values())
        defaults = QueryOptions()
        assert all(shown[name].default == getattr(defaults, name) for name in names)


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numbers": "float"}, "numbers is 'float'"),
        ({"offset": "1 hour"}, "offset is '1 hour'"),
        ({"offset": math.nan}, "offset is nan"),
        ({"timezone": None}, "timezone is None"),
        ({"hierarchy": {"A": "B"}, "type": None}, "a hierarchy is for types in a column"),
        ({"hierarchy": {"A": "B"}, "types": {"A": "x > 1"}}, "a hierarchy is for types in a column"),
    ],
)
def test_mistakes(taker: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(sk.QueryError) as failure:
        TAKERS[taker](**options)
    (found,) = failure.value.diagnostics
    assert (found.code, found.message) == ("bad-option", message)


@pytest.mark.parametrize("taker", TAKERS)
def test_an_unknown_option(taker: str) -> None:
    with pytest.raises(TypeError, match="typ"):
        TAKERS[taker](typ="kind")


def test_a_cube_takes_the_options_of_its_queries() -> None:
    one = sk.query(TEXT, time="at", offset=Fraction(1, 2), hierarchy={"A": "B"})
    made = sk.cube({"a": one, "b": TEXT})
    assert made.queries["b"].prepared.options == one.prepared.options
    with pytest.raises(sk.QueryError, match="'a' has another time= than the cube"):
        sk.cube({"a": one, "b": TEXT}, time="ts")


def test_data_of_this_process_has_no_session() -> None:
    query = sk.query(f"{TEXT} WITHIN 1 day SLIDE 1 day", timezone="session")
    with pytest.raises(sk.QueryError, match=r"timezone is 'session', which is known for .* on Spark alone"):
        query.run([{"time": 1, "type": "A"}])
