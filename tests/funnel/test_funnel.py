"""Funnels: what a user can say, what comes back, and what goes wrong."""

from __future__ import annotations

import pickle
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import sparkleene as sk
from sparkleene.charts import Chart, FunnelChart

EVENTS = pa.table(
    {
        "time": pa.array(range(0, 600, 60), pa.timestamp("s", "UTC")),
        "type": ["View", "View", "Cart", "View", "Cart", "Buy", "Remove", "Cart", "Buy", "Buy"],
        "user": [1, 2, 1, 3, 2, 1, 2, 2, 2, 3],
        "platform": ["web", "app", "app", "web", "app", "web", "app", "app", "app", "web"],
    }
)
STEPS = ["View", "Cart", "Buy"]


def users(*steps: Any, **options: Any) -> list[int]:
    found: list[int] = sk.funnel([*steps], by="user", **options).run(EVENTS).column("users").to_pylist()
    return found


def test_columns_and_types() -> None:
    schema = sk.funnel(STEPS, by="user", every="1 hour", breakdown="platform").run(EVENTS).schema
    times = [f"{word}_time" for word in ("avg", "min", "max", "stddev")]
    shares = ["share_of_first", "share_of_previous"]
    head = ["window_start", "window_end", "platform", "step", "name", "users", "trends"]
    assert schema.names == [*head, *shares, "drop_off", *times]
    assert {str(schema.field(name).type) for name in ("step", "users", "drop_off")} == {"int64"}
    assert {str(schema.field(name).type) for name in (*shares, *times, "trends")} == {"double"}


@pytest.mark.parametrize(("numbers", "type"), [("long", "int64"), ("exact", "string")])
def test_numbers(numbers: Any, type: str) -> None:
    found = sk.funnel(STEPS, by="user", numbers=numbers).run(EVENTS)
    assert str(found.schema.field("trends").type) == type
    assert [int(one) for one in found.column("trends").to_pylist()] == [3, 3, 3]
    assert found.column("users").to_pylist() == [3, 2, 2]


def test_the_kind_of_data_stays() -> None:
    made = sk.funnel(STEPS, by="user")
    assert isinstance(made.run(EVENTS.to_pandas()), pd.DataFrame)
    assert isinstance(made.run(pl.from_arrow(EVENTS)), pl.DataFrame)
    assert made(EVENTS).equals(made.run(EVENTS))


def test_steps() -> None:
    assert users("View", "Cart", "Cart", "Buy") == [3, 2, 1, 1]
    assert users("View", "Cart C+", "Buy") == [3, 2, 2]
    assert users("View", "Cart?", "Buy") == [3, 2, 3]
    assert users("View", "SEQ(NOT Remove, Buy)") == [3, 2]  # none since the View
    assert users("View", {"Pay": "type IN ('Buy')"}) == [3, 3]
    assert users(sk.step("View", name="app", where="platform = 'app'"), "Buy") == [1, 1]
    assert users("View", "Buy", where="user != 3") == [2, 2]
    assert users("View", "Cart", "Buy", where="View.platform = 'app'") == [1, 1, 1]


def test_breakdown_by_the_first_step() -> None:
    every = sk.funnel(STEPS, by="user", breakdown="platform", measures=["users"]).run(EVENTS).to_pylist()
    first = sk.funnel(STEPS, by="user", breakdown="View.platform", measures=["users"]).run(EVENTS).to_pylist()
    assert [(row["platform"], row["users"]) for row in every] == [
        ("app", 1), ("app", 1), ("app", 1), ("web", 2), ("web", 0), ("web", 0),
    ]  # fmt: skip
    assert [(row["platform"], row["users"]) for row in first] == [
        ("app", 1), ("app", 1), ("app", 1), ("web", 2), ("web", 1), ("web", 1),
    ]  # fmt: skip


def test_users_within_a_time_are_found_in_two_ways() -> None:
    for minutes in range(1, 9):
        quick = users(*STEPS, within=f"{minutes} minutes", measures=["users"])
        assert quick == users(*STEPS, within=f"{minutes} minutes")


def test_steps_in_any_order() -> None:
    """Rows of steps in any order are how many of them were done, of whichever of them."""
    made = sk.funnel(["View", "Remove", "Cart", "Buy"], by="user", any_order="between")
    rows = made.run(EVENTS)
    assert rows.column("name").to_pylist() == ["View", "any 1 of 2", "all 2", "Buy"]
    assert rows.column("users").to_pylist() == [3, 2, 1, 1]
    assert rows.column("trends").to_pylist() == [3, 4, 2, 2]  # Cart 4, Remove 6 and Remove 6, Cart 7
    assert rows.column("avg_time").to_pylist() == [None, 240, 90, 90]
    assert users("Buy", "View", "Cart", any_order="all") == [3, 3, 2]
    assert users("Buy", "View", any_order="all", within="2 minutes") == [3, 0]
    assert users("View", "Remove", any_order="all") == [3, 1]
    assert users("View", "Remove", any_order="all", exclude={"Remove": "Cart"}) == [3, 0]
    assert users("View", "Cart", "Buy", any_order="between") == users("View", "Cart", "Buy")  # only one is between
    assert repr(made) == "<sparkleene funnel View -> {Remove, Cart} -> Buy>"
    assert pickle.loads(pickle.dumps(made)).run(EVENTS).equals(rows)


def test_steps_in_any_order_are_states_of_what_was_done() -> None:
    made = sk.funnel(["Z", *"ABCDE", "Y"], by="user", any_order="between", measures=["users"])
    last = made.queries["Y"].plan.machine
    assert len(last.states) == 1 + 1 + 5 * 2**4 + 1  # the last of five, and the set of those before it


def test_times_of_steps_with_several_types() -> None:
    [_, row] = sk.funnel(["View", "Cart OR Remove"], by="user", order="next").run(EVENTS).to_pylist()
    assert (row["trends"], row["min_time"], row["max_time"]) == (2, 120, 180)


def test_a_limit_is_for_the_first_step_too() -> None:
    """Where it has several events: trends of it that take longer do not count."""
    pair = sk.step("SEQ(View, Cart)", name="pair")
    for measures in (["users"], ["users", "trends"]):
        assert users(pair, "Buy", measures=measures) == [2, 2]
        assert users(pair, "Buy", within="150 seconds", measures=measures) == [1, 0]
    [row] = sk.funnel(["Cart+"], by="user", within="2 minutes").run(EVENTS).to_pylist()
    assert (row["users"], row["trends"]) == (2, 3)  # not those of 4 and 7 together


def test_sessions() -> None:
    made = sk.funnel(STEPS, by="user", session="3 minutes")
    found = made.run(EVENTS)
    assert found.column("users").to_pylist() == [3, 2, 2]
    assert found.column("sessions").to_pylist() == [3, 2, 2]
    assert sk.funnel(["Cart"], by="user", session="1 minute").run(EVENTS).column("sessions").to_pylist() == [3]
    assert made.run(EVENTS.slice(0, 0)).schema == found.schema
    assert made.explain().count("WITHIN SESSION 3 minutes") == 3
    assert "the rows of all users and sessions are added up" in made.explain()
    assert users(*STEPS, session="2 minutes") == [3, 1, 0]
    assert users(*STEPS, session="1 hour") == users(*STEPS)
    assert users(*STEPS, session="1 hour", within="5 minutes") == users(*STEPS, within="5 minutes")


def test_sessions_of_users_with_several_columns() -> None:
    """Users may be told apart by columns of the breakdown, and by fields of its names."""
    by_both: Any = sk.funnel(["View", "Buy"], by=["user", "platform"], breakdown="user", session="1 hour")
    assert by_both.breakdown == ("user",)
    assert by_both.run(EVENTS).column("users").to_pylist() == [1, 1, 1, 1, 1, 1]
    alone = sk.funnel(["View", "Buy"], by="user", breakdown="user", session="1 hour", measures=["users"])
    assert alone.run(EVENTS).column("users").to_pylist() == [1, 1, 1, 1, 1, 1]
    fields = [{"platform": user} for user in EVENTS.column("user").to_pylist()]
    nested = EVENTS.append_column("who", pa.array(fields))
    found = sk.funnel(["View", "Buy"], by="who.platform", breakdown="platform", session="1 hour").run(nested)
    assert found.column("platform").to_pylist() == ["app", "app", "web", "web"]
    assert found.column("users").to_pylist() == [1, 1, 2, 2]


def test_sessions_of_many_trends() -> None:
    """Counts are added up in their own numbers: rounded, exact, or an error."""
    rows = [(100 * k + i, "A") for k in range(2) for i in range(63)]
    table = pa.table({"time": [time for time, _ in rows], "type": [kind for _, kind in rows], "user": [1] * 126})
    exact = sk.funnel(["A+"], by="user", session=10, numbers="exact").run(table)
    assert exact.column("trends").to_pylist() == [str(2 * (2**63 - 1))]
    with pytest.raises(sk.DataError, match=r"'trends' is more than 2\^63"):
        sk.funnel(["A+"], by="user", session=10, numbers="long").run(table)
    long = pa.table({"time": range(1500), "type": ["A"] * 1499 + ["B"], "user": [1] * 1500})
    [_, row] = sk.funnel(["A+", "B"], by="user", session=10).run(long).to_pylist()
    assert row["trends"] == float("inf")
    assert (row["avg_time"], row["min_time"], row["max_time"], row["stddev_time"]) == (None, 1, 1499, None)


def test_queries_share_one_pass() -> None:
    assert "Together: View, Cart, Buy" in sk.funnel(STEPS, by="user").explain()


def test_pickle_and_notebook() -> None:
    made = sk.funnel(STEPS, by="user", exclude={"Buy": "Remove"})
    again = pickle.loads(pickle.dumps(made))
    assert again.run(EVENTS).equals(made.run(EVENTS))
    assert "NOT Remove" in again._repr_html_()
    assert repr(made) == "<sparkleene funnel View -> Cart -> Buy>"


def test_charts() -> None:
    made = sk.funnel(STEPS, by="user", every="2 minutes")
    rows = made.run(EVENTS)
    assert isinstance(made.plot(rows), Chart)  # of several windows
    one = made.plot(rows.slice(0, 3), title="Shop")
    assert isinstance(one, FunnelChart)
    assert one.text(width=70).splitlines()[0] == "Shop"
    assert one.text(ascii=True).isascii()
    assert one.to_html().startswith("<?xml")
    none = made.plot(rows.slice(0, 0))
    assert none.text().endswith("no rows")
    assert none.to_html()


@pytest.mark.parametrize(
    ("steps", "options", "message"),
    [
        ([], {}, "a funnel has no steps"),
        ("View", {}, "the steps are 'View'"),
        (["View", "NOT Cart"], {}, "the step 'NOT Cart' has no event"),
        (["View", "Cart+"], {"touch": "first"}, "touch='first' is for single events"),
        (STEPS, {"order": "loose"}, "order is 'loose'"),
        (STEPS, {"any_order": "some"}, "any_order is 'some'"),
        (list("ABCDEF"), {"any_order": "all"}, "is for at most 5 steps, and here are 6"),
        (["View", "Cart?", "Remove", "Buy"], {"any_order": "between"}, "'Cart\\?' can be left out"),
        ([sk.step("View", name="all 2"), *"ABC"], {"any_order": "between"}, "two rows of the result are called"),
        (STEPS, {"any_order": "all", "breakdown": "View.platform"}, "is of a step that not all have"),
        (STEPS, {"by": ()}, r"by is \(\)"),
        (STEPS, {"exclude": {"View": "Buy"}}, "there is no way to the first step"),
        (STEPS, {"where": "[user]"}, "where has a condition in brackets"),
        (STEPS, {"breakdown": "Cart.platform"}, "is of a step that not all have"),
        (STEPS, {"session": "1 hour", "every": "1 day"}, "session= and every= are both given"),
        (STEPS, {"session": "1 hour", "window": "1 day"}, "window is given without every"),
        (STEPS, {"session": "1 hour", "breakdown": "View.platform"}, "sessions are of all of a group"),
    ],
)
def test_mistakes(steps: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(sk.QueryError, match=message):
        sk.funnel(steps, **({"by": "user"} | options)).run(EVENTS)
