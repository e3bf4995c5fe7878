"""Expressions inside and around aggregates, HAVING, ORDER BY and LIMIT: engines return what the reference does."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chance import cases
from tests.conformance import strategies
from tests.conformance.strategies import WINDOWS, Case
from tests.conformance.test_random import check, in_process

from sparkleene.language.parser import parse


@st.composite
def finished_cases(draw: st.DrawFn, windows: tuple[str, ...] = WINDOWS, numbers: str | None = None) -> Case:
    """Draw a query whose results are calculated with, and its rows.

    What rows are kept and ordered by is made of integers, so that rounding cannot decide it.
    """
    base = draw(strategies.case(kinds=windows, numbers=numbers))
    labels = [label.name for label in base.bound().labels if not label.negated]
    label = st.sampled_from(labels)
    whole = [f"COUNT({draw(label)})", "COUNT(*)"]
    for template in ("SUM({0}.x)", "MAX({0}.x * 2 + {0}.y)", "MIN({0}.y)", "SUM({0}.x * {0}.y)", "SUM(x % 3)"):
        whole.append(template.format(draw(label)))
    one, two, three = (draw(st.sampled_from(whole)) for _ in range(3))
    rounded = draw(st.sampled_from(["SUM({0}.f * {0}.x)", "AVG({0}.x - {0}.f)", "MAX({0}.f / {0}.y)"]))
    items = [
        f"{one} AS a",
        f"({one} - {two}) * 2 + 1 AS b",
        f"{two} / {three} AS c",
        f"{rounded.format(draw(label))} AS d",
        f"COUNT(*) * {draw(st.integers(-2, 9))} AS e",
        f"ABS({one} - {two}) % 3 AS g",
        f"GREATEST({one}, {two}, 2) - LEAST({two}, COUNT(*)) AS h",
        f"COALESCE({two}, {one}) * 3 AS i",
        f"FLOOR({one}) + CEIL({two}) AS j",
        f"ROUND({one} * 7, -1) AS l",
    ]
    chosen = draw(st.lists(st.sampled_from(items), min_size=1, max_size=4, unique=True))
    tail = ""
    drawn = {*windows} <= {"session", "from"}  # by the rows of a group: one row for each window
    if "GROUP-BY" not in base.text and draw(st.booleans()):
        groups = ["x % 3 AS m", "y * 2, k", *([] if drawn else [f"{labels[0]}.x - 1 AS m"])]
        tail += f" GROUP-BY {draw(st.sampled_from(groups))}"
    ordered = not drawn or "GROUP-BY" not in base.text + tail
    if draw(st.booleans()):
        op, least = draw(st.sampled_from(["<", ">=", "!=", "="])), draw(st.integers(-1, 8))
        more = draw(st.sampled_from(["", f" OR {three} IS NULL", f" AND NOT {three} = 2"]))
        tail += f" HAVING {two} {op} {least}{more}"
    if ordered and draw(st.booleans()):
        down = draw(st.sampled_from(["", " DESC"]))
        tail += f" ORDER BY {one}{down}, {two} / {three}"
    if ordered and draw(st.booleans()):
        tail += f" LIMIT {draw(st.integers(1, 3))}"
    rest = base.text[base.text.index("PATTERN") :]
    text = f"RETURN {', '.join(chosen)} {rest}{tail}"
    assert parse(text)
    return replace(base, text=text)


@pytest.mark.parametrize("numbers", ["double", "exact"])
@pytest.mark.parametrize("window", WINDOWS)
@given(data=st.data())
@settings(max_examples=cases(60))
def test_finished(window: str, numbers: str, data: st.DataObject) -> None:
    check(data.draw(finished_cases((window,), numbers)), in_process)
