"""Why there are no trends, or few: how far the pattern was followed, and what each condition holds back."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene.engine.why import Why

ROWS = [
    ("ann", "View", 0, 1.0), ("ann", "Cart", 3, 5.0), ("ann", "View", 9, 2.0), ("ann", "Noise", 10, None),
    ("ann", "Buy", 70, 4.0), ("bob", "View", 1, 1.0), ("bob", "Buy", 2, 0.5), ("bob", "Cart", 3, None),
]  # fmt: skip
START = datetime(2024, 1, 1, 10)
TABLE = pa.table(
    {
        "user": [row[0] for row in ROWS],
        "type": [row[1] for row in ROWS],
        "time": [START + timedelta(minutes=row[2]) for row in ROWS],
        "x": [row[3] for row in ROWS],
    }
)


def found(why: Why) -> dict[tuple[str, str], float]:
    return {(one.kind, one.condition): one.trends for one in why.obstacles}


def ask(text: str, **given: object) -> Why:
    return sk.query(f"RETURN COUNT(*) PATTERN {text}").why(TABLE, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "step", "kind", "condition"),
    [
        ("SEQ(View, Cart) WHERE [user] AND Cart.x > 7", "Cart", "local", "Cart.x > 7"),
        ("SEQ(View, Buy) WHERE [user] AND View.x > Buy.x + 1", "Buy", "adjacent", "View.x > NEXT(Buy).x + 1"),
        ("SEQ(View V{2}, NOT Noise, Buy) WHERE [user]", "Buy", "negation", "NOT Noise"),
        ("SEQ(Noise, Cart)", "Cart", "order", "coming after the steps before it"),
        ("SEQ(Buy, Noise) WHERE [user]", "Noise", "key", "equal values of user"),
        ("SEQ(View, Cart, Buy) WHERE [user] SEMANTICS contiguous", "Buy", "semantics", "SEMANTICS contiguous"),
        ("SEQ(View, Cart, Buy) WHERE [user] WITHIN 1 hour SLIDE 1 hour", "Buy", "window", "WITHIN 1 hour"),
        ("(SEQ(View V{2}, Noise)){2,}", "SEQ(View V{2}, Noise){2,}", "", ""),
    ],
)
def test_what_keeps_trends_out(text: str, step: str, kind: str, condition: str) -> None:
    why = ask(text)
    assert why.trends == 0 and why.stuck is not None
    assert why.steps[why.stuck].pattern.startswith(step) or step in why.steps[why.stuck].pattern
    held = {what for what, trends in found(why).items() if trends}
    if kind:
        assert (kind, condition) in held
        assert condition in str(why)


def test_numbers_of_events() -> None:
    why = ask("SEQ(View, Cart) WHERE Cart.x > 7")
    [local] = [one for one in why.obstacles if one.kind == "local"]
    assert (local.events, local.nulls, local.trends) == (2, 1, 4.0)
    assert [(step.events, step.fit, step.trends) for step in why.steps] == [(3, 3, 3.0), (2, 0, 0.0)]
    assert why.reached == "View" and "not true for 2 events, 1 of them NULL" in str(why)


def test_groups_and_windows() -> None:
    text = "RETURN user, COUNT(*) PATTERN SEQ(View, Cart, Buy) GROUP-BY user WITHIN 1 hour SLIDE 1 hour"
    query = sk.query(text)
    whole = query.why(TABLE, group={"user": "ann"})
    assert found(whole)["window", "WITHIN 1 hour"] == 1.0 and whole.rows == 5
    first = query.why(TABLE, group={"user": "ann"}, window="2024-01-01T10:05")
    assert first.rows == 4 and first.where.endswith("the window from 2024-01-01 10:00:00 to 2024-01-01 11:00:00")
    assert str(first).endswith("There is no event of type Buy.")
    assert query.why(TABLE, group={"user": "ann"}, window=START + timedelta(minutes=70)).rows == 1
    with pytest.raises(sk.QueryError, match="'type' is no key"):
        query.why(TABLE, group={"type": "View"})
    with pytest.raises(sk.QueryError, match="no window with rows of the group holds"):
        query.why(TABLE, group={"user": "ann"}, window="2025-01-01T00:00")
    with pytest.raises(sk.QueryError, match="'soon' is no timestamp"):
        query.why(TABLE, window="soon")


def test_few_trends() -> None:
    why = ask("SEQ(View+, Buy) WHERE [user] AND Buy.x > 1 SEMANTICS skip-till-next-match")
    assert why.stuck is None and why.trends == 2.0
    assert found(why)["local", "Buy.x > 1"] == 3.0
    assert str(why).startswith("2 trends in 8 rows")


def test_typed_keys_and_pairs() -> None:
    by_buyer = sk.query("RETURN user, COUNT(*) PATTERN SEQ(View, Buy) WHERE Buy.x < 1 GROUP-BY Buy.user")
    assert by_buyer.why(TABLE, group={"user": "ann"}).trends == 0
    assert by_buyer.why(TABLE, group={"user": "bob"}).trends == 2
    both = sk.query("RETURN COUNT(*) PATTERN View AND SEQ(Noise, Cart)").why(TABLE)
    assert both.stuck == 1 and both.steps[1].pattern == "Cart"


SMALL = pa.table({"time": [1, 2, 3, 4, 5], "type": list("ABCAB"), "u": [1, 2, 2, 2, 1], "x": [1, 2, 3, 4, 5]})


def ask_small(text: str, **given: object) -> Why:
    return sk.query(f"RETURN COUNT(*) PATTERN {text}").why(SMALL, **given)  # type: ignore[arg-type]


def test_values_of_keys_are_read_as_their_columns_have_them() -> None:
    for text in ("SEQ(A, B) GROUP-BY u", "SEQ(A, B) WHERE [u]", "SEQ(A, B) WHERE [B.u]", "SEQ(A, B) GROUP-BY B.u"):
        assert ask_small(text, group={"u": "1"}).trends == ask_small(text, group={"u": 1}).trends > 0
        for wrong in ("one", 1.5, 2**70, object()):
            with pytest.raises(sk.QueryError, match="is no int64"):
                ask_small(text, group={"u": wrong})
    # A key of some labels chooses among trends, whether it is of GROUP-BY or not.
    assert [ask_small("SEQ(A, B) WHERE [B.u]", group={"u": u}).trends for u in (1, 2)] == [2, 1]


@pytest.mark.parametrize(
    ("text", "condition", "without"),
    [
        ("SEQ(A, B) WHERE LENGTH >= 3", "LENGTH >= 3", 3),
        ("SEQ(A, B) WHERE DURATION < 1", "DURATION < 1", 3),
        ("SEQ(A, B) WHERE FIRST(x) > 4", "FIRST(x) > 4", 3),
        ("SEQ(A, B) WHERE LAST(x) < FIRST(x)", "LAST(x) < FIRST(x)", 3),
        ("SEQ(A, B*) WHERE LENGTH >= 4", "LENGTH >= 4", 6),
    ],
)
def test_conditions_on_whole_trends_are_of_the_last_step(text: str, condition: str, without: int) -> None:
    why = ask_small(text)
    assert why.trends == 0 and why.steps[0].trends == 2 and why.stuck == 1
    assert found(why)["trend", condition] == without


def test_conditions_that_all_trends_meet_stop_nobody() -> None:
    why = ask_small("SEQ(A, B) WHERE LENGTH >= 2 AND DURATION < 9")
    assert why.stuck is None and [step.trends for step in why.steps] == [2, 3] and why.trends == 3
    maximal = ask_small("A+ SEMANTICS contiguous maximal")
    assert maximal.stuck is None and found(maximal)["trend", "maximal"] == 2
    assert found(maximal)["semantics", "SEMANTICS contiguous"] == 3


def test_a_window_with_its_closing_row() -> None:
    text = "SEQ(A, B) WITHIN FROM type = 'A' TO type = 'B'"
    for at in (1, 2):
        why = ask_small(text, window=at)
        assert (why.rows, why.trends, why.stuck) == (2, 1, None)
        assert why.where == "the window from 1 to 2"
    query = sk.query(f"RETURN COUNT(*) PATTERN {text}")
    assert query.plot_trends(SMALL, window=2).caption == "1 of 1 trends, drawn at random"
    assert list(query.plot_trends(SMALL, window=5).times) == [4, 5]


def test_windows_per_trigger() -> None:
    why = ask_small("SEQ(A, B) WITHIN 3", window=2)
    assert [step.trends for step in why.steps] == [1, 1] and why.stuck is None and why.trends == 1
    none = ask_small("SEQ(B, A) WITHIN 2", window=4)  # no window has a trend: that of a row is meant
    assert none.trends == 0 and none.where == "the window from 3 to 5"


def test_the_borders_of_a_window_that_is_chosen() -> None:
    why = ask_small("SEQ(A, C, B) WITHIN 4 SLIDE 4", window=1)
    assert (
        why.trends == 0
        and found(ask_small("SEQ(A, B, C, A) WITHIN 4 SLIDE 4", window=1))["window", "WITHIN 4"] == 1
    )
    assert ask_small("SEQ(A, B) WITHIN 2 SLIDE 1", window=1).rows == 2


def test_a_window_without_events_of_the_pattern() -> None:
    why = ask_small("SEQ(A, B) WITHIN 1 SLIDE 1", window=3)
    assert (why.rows, why.trends) == (1, 0) and str(why).endswith("There is no event of type A.")


def test_sessions_are_drawn_by_all_rows_of_their_group() -> None:
    text = "SEQ(A, B) WHERE [u] WITHIN SESSION 1"
    assert ask_small(text, group={"u": 1}).trends == 1  # rows of others lie between the two
    assert ask_small(text, group={"u": 1}, window=3).trends == 1


def test_names_of_groups() -> None:
    text = "RETURN odd, COUNT(*) PATTERN SEQ(A, B) GROUP-BY u % 2 AS odd"
    query = sk.query(text)
    assert query.why(SMALL, group={"odd": 1}).trends == 1 and query.why(SMALL, group={"odd": "0"}).trends == 0
    assert list(query.plot_trends(SMALL, group={"odd": 1}).times) == [1, 5]
    with pytest.raises(sk.QueryError, match="its keys are odd"):
        query.why(SMALL, group={"even": 1})


def test_keys_of_group_by_hold_back_where_no_group_is_given() -> None:
    why = ask_small("SEQ(B, C, B) GROUP-BY u")
    assert why.trends == 0 and found(why)["key", "equal values of u"] == 1


def test_a_key_of_later_steps_leaves_the_first_alone() -> None:
    why = ask_small("SEQ(A, D) GROUP-BY D.u")
    assert why.reached == "A" and str(why).endswith("There is no event of type D.")


def test_aggregates_of_keys_and_later_labels_do_not_matter() -> None:
    query = sk.query("RETURN COUNT(DISTINCT u), AVG(LAST(B.x)) PATTERN SEQ(A, B) WHERE [u, x]")
    assert found(query.why(SMALL))["key", "equal values of x"] == 1
