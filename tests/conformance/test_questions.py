"""Questions that people ask every day, over data that nobody here made, answered a second time by plain Python."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sparkleene as sk

SHARED = Path(__file__).parents[3] / "shared" / "data"
QUERIES = Path(__file__).parents[2] / "examples" / "queries"
TAXI = ["id", "vehicle", "time", "latitude", "longitude", "speed", "direction"]
MINUTES = pd.Timedelta("1 minute")

public = pytest.mark.skipif(not SHARED.exists(), reason="the public data is not part of the project")


@cache
def clicks() -> pd.DataFrame:
    """Return the clicks of a shop, in order of session and time; sessions with equal times are left out."""
    found = pd.read_csv(SHARED / "clickstream_ecom.csv.gz", parse_dates=["timestamp"])
    unclear = found.loc[found.duplicated(["session_id", "timestamp"]), "session_id"]
    return found[~found["session_id"].isin(unclear)].sort_values(["session_id", "timestamp"], ignore_index=True)


@cache
def taxis() -> pd.DataFrame:
    """Return the reports of taxis, in order of taxi and time; of equal times the first one."""
    found = pd.read_csv(SHARED / "taxi_traces.csv.gz", header=None, names=TAXI, parse_dates=["time"])
    return found.drop_duplicates(["vehicle", "time"]).sort_values(["vehicle", "time"], ignore_index=True)


def ask_clicks(text: str) -> list[dict[str, Any]]:
    return rows(sk.query(text, time="timestamp", type="event", numbers="long").run(clicks()))


def ask_taxis(text: str) -> list[dict[str, Any]]:
    return rows(sk.query(text, type=None, numbers="long").run(taxis()))


def rows(found: pd.DataFrame) -> list[dict[str, Any]]:
    return found.to_dict("records")


def sessions() -> Iterator[tuple[str, list[Any]]]:
    """Yield each session with its clicks."""
    for session, found in clicks().groupby("session_id"):
        yield str(session), list(found.itertuples())


def pairs_of(first: str, second: str) -> list[tuple[Any, Any]]:
    """Return all pairs of clicks of one session."""
    return [
        (a, b)
        for _, events in sessions()
        for place, a in enumerate(events)
        if a.event == first
        for b in events[place + 1 :]
        if b.event == second
    ]


def drives() -> list[list[Any]]:
    """Return the longest runs of reports of a taxi that moves."""
    runs = []
    for _, found in taxis().groupby("vehicle"):
        stops = (found["speed"] <= 0).cumsum()
        runs += [list(run.itertuples()) for _, run in found[found["speed"] > 0].groupby(stops)]
    return runs


# ---- clicks of a shop


@public
def test_how_often_is_a_product_put_into_the_cart_at_most_two_minutes_after_a_look() -> None:
    found = ask_clicks(
        "RETURN COUNT(*) PATTERN SEQ(product_view V, add_to_cart C) WHERE [session_id] AND GAP <= 2 minutes"
    )
    wanted = [p for p in pairs_of("product_view", "add_to_cart") if p[1].timestamp - p[0].timestamp <= 2 * MINUTES]
    assert found == [{"count": len(wanted)}] and wanted


@public
def test_how_long_does_it_take_from_the_cart_to_the_purchase() -> None:
    found = ask_clicks(
        """RETURN MIN(DURATION) AS least, AVG(DURATION) AS mean, MAX(DURATION) AS most, STDDEV(DURATION) AS spread
        PATTERN SEQ(add_to_cart C, purchase P) WHERE [session_id]"""
    )
    times = [(b.timestamp - a.timestamp).total_seconds() for a, b in pairs_of("add_to_cart", "purchase")]
    wanted = {
        "least": min(times), "mean": statistics.fmean(times), "most": max(times), "spread": statistics.stdev(times)
    }  # fmt: skip
    assert found == [pytest.approx(wanted, rel=1e-12)]


@public
def test_which_channels_bring_more_than_a_hundred_purchases() -> None:
    found = ask_clicks(
        """RETURN acquisition_channel, COUNT(*) PATTERN purchase P
        GROUP-BY acquisition_channel HAVING COUNT(*) > 100 ORDER BY COUNT(*) DESC"""
    )
    counted = Counter(clicks().query("event == 'purchase'")["acquisition_channel"])
    wanted = [{"acquisition_channel": name, "count": n} for name, n in counted.most_common() if n > 100]
    assert found == wanted and 0 < len(wanted) < len(counted)


@public
def test_who_are_the_ten_users_that_look_at_most_products() -> None:
    found = ask_clicks(
        "RETURN user_id, COUNT(*) PATTERN product_view V GROUP-BY user_id ORDER BY COUNT(*) DESC LIMIT 10"
    )
    counted = Counter(clicks().query("event == 'product_view'")["user_id"])
    wanted = sorted(counted.items(), key=lambda each: (-each[1], each[0]))[:10]
    assert found == [{"user_id": user, "count": n} for user, n in wanted]


@public
def test_what_percent_of_carts_is_paid_per_platform() -> None:
    found = ask_clicks(
        """RETURN platform, 100 * COUNT(P) / COUNT(C) AS percent PATTERN cart C OR purchase P GROUP-BY platform"""
    )
    counted = clicks().groupby("platform")["event"].value_counts()
    wanted = [
        {"platform": p, "percent": 100 * counted[p, "purchase"] / counted[p, "cart"]}
        for p in counted.index.levels[0]
    ]
    assert found == [pytest.approx(row) for row in wanted] and len(wanted) == 3


@public
def test_what_is_the_longest_run_of_looks_at_products() -> None:
    found = ask_clicks(
        "RETURN MAX(LENGTH) AS longest PATTERN product_view V+ SEMANTICS contiguous WHERE [session_id]"
    )
    longest = 0
    for _, events in sessions():
        run = 0
        for each in events:
            run = run + 1 if each.event == "product_view" else 0
            longest = max(longest, run)
    assert found == [{"longest": longest}] and longest > 2


@public
def test_how_many_clicks_are_on_pages_whose_name_contains_a_word() -> None:
    kinds = {"Page": "LOWER(event) LIKE '%page' AND UPPER(platform) != 'IOS'"}
    q = sk.query(
        "RETURN platform, COUNT(*) PATTERN Page P GROUP-BY platform", time="timestamp", types=kinds, numbers="long"
    )
    chosen = clicks()[clicks()["event"].str.endswith("page") & (clicks()["platform"].str.upper() != "IOS")]
    wanted = chosen.groupby("platform").size()
    assert rows(q.run(clicks())) == [{"platform": name, "count": n} for name, n in wanted.items()] and len(wanted)


# ---- taxis


@public
def test_how_often_does_a_taxi_become_faster_by_20_from_one_report_to_the_next() -> None:
    found = ask_taxis(
        """RETURN COUNT(*) PATTERN Report R{2} SEMANTICS contiguous
        WHERE [vehicle] AND R.speed > PREV(R).speed + 20 AND GAP <= 5 minutes"""
    )
    steps = taxis().groupby("vehicle")[["speed", "time"]].diff()
    wanted = int(((steps["speed"] > 20) & (steps["time"] <= 5 * MINUTES)).sum())
    assert found == [{"count": wanted}] and wanted


@public
def test_how_long_and_how_many_reports_is_the_longest_drive_of_each_taxi() -> None:
    found = ask_taxis(
        """RETURN vehicle, MAX(LENGTH) AS reports, MAX(DURATION) AS seconds PATTERN Report R+
        SEMANTICS contiguous WHERE R.speed > 0 GROUP-BY vehicle"""
    )
    longest: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for run in drives():
        longest[run[0].vehicle].append((len(run), (run[-1].time - run[0].time).total_seconds()))
    wanted = [
        {"vehicle": v, "reports": max(n for n, _ in each), "seconds": max(s for _, s in each)}
        for v, each in sorted(longest.items())
    ]
    assert found == wanted and len(wanted) > 10


@public
def test_how_much_faster_is_a_taxi_at_the_end_of_three_reports() -> None:
    found = ask_taxis(
        """RETURN AVG(LAST(R.speed) - FIRST(R.speed)) AS gain, MAX(SUM(R.speed)) AS most PATTERN Report R{3}
        SEMANTICS contiguous WHERE [vehicle] AND R.speed < NEXT(R).speed"""
    )
    triples = [
        speeds[i : i + 3]
        for _, of in taxis().groupby("vehicle")
        for speeds in [of["speed"].tolist()]
        for i in range(len(speeds) - 2)
    ]
    rises = [each for each in triples if each[0] < each[1] < each[2]]
    wanted = {"gain": statistics.fmean(c - a for a, _, c in rises), "most": max(map(sum, rises))}
    assert found == [pytest.approx(wanted)]


@public
def test_how_many_reports_are_there_in_steps_of_ten_and_how_much_do_they_vary() -> None:
    found = ask_taxis(
        """RETURN COUNT(*), VAR_SAMP(R.speed) AS variance, SUM(R.speed * R.speed) / COUNT(*) AS squares
        PATTERN Report R WHERE R.speed > 0 GROUP-BY FLOOR(speed / 10) * 10 AS band HAVING COUNT(*) > 1"""
    )
    bands: dict[int, list[float]] = defaultdict(list)
    for speed in taxis().query("speed > 0")["speed"]:
        bands[int(speed // 10) * 10].append(speed)
    wanted = [
        {
            "band": band, "count": len(speeds), "variance": statistics.variance(speeds),
            "squares": statistics.fmean(s * s for s in speeds),
        }
        for band, speeds in sorted(bands.items()) if len(speeds) > 1
    ]  # fmt: skip
    assert found == [pytest.approx(row) for row in wanted] and len(wanted) > 5


@public
def test_how_many_reports_come_late_by_a_column_of_times() -> None:
    late = taxis().assign(received=lambda t: t["time"] + pd.to_timedelta(t["id"] % 300, unit="s"))
    text = """RETURN COUNT(*), AVG(R.received - R.time) AS mean PATTERN Report R
        WHERE R.received - R.time > 4 minutes"""
    waits = [n % 300 for n in late["id"] if n % 300 > 240]
    found = rows(sk.query(text, type=None, numbers="long").run(late))
    assert found == [{"count": len(waits), "mean": pytest.approx(statistics.fmean(waits))}]


# ---- what the papers do with their numbers


@pytest.mark.parametrize(
    ("name", "stream", "condition"),
    [
        ("cogra_q3_signal", "stock", "count > 1000"),
        ("aseq_login_attack", "clicks", "count >= 2"),
        ("aseq_fraud", "stock", "count >= 5 and worth > 10000"),
    ],
)
def test_alarms_are_the_rows_beyond_a_threshold(name: str, stream: str, condition: str) -> None:
    text = (QUERIES / f"{name}.q").read_text(encoding="utf-8")
    events = sk.generate(stream, 20_000, seed=3)
    alarms = sk.query(text).run(events).to_pandas()
    everything = sk.query(text.partition("HAVING")[0]).run(events).to_pandas()
    wanted = everything.query(condition).reset_index(drop=True)
    assert 0 < len(alarms) < len(everything)
    pd.testing.assert_frame_equal(alarms, wanted)


def test_fraud_is_what_plain_python_finds() -> None:
    events = sk.generate("stock", 2000, groups=8, seed=3).to_pandas()
    text = (QUERIES / "aseq_fraud.q").read_text(encoding="utf-8").replace("WITHIN 10 minutes SLIDE 1 minute", "")
    wanted = []
    for company, bought in events[events["side"] == "buy"].groupby("company"):
        worth = (bought["price"] * bought["volume"]).tolist()
        threes = [sum(worth[i : i + 3]) for i in range(len(worth) - 2)]
        if len(threes) >= 5 and sum(threes) > 10_000:
            wanted.append({"company": company, "count": len(threes), "worth": pytest.approx(sum(threes))})
    assert rows(sk.query(text).run(events)) == wanted and wanted
