"""Made-up event streams for the demo, the same on every run: prices, rides, and cars on a road."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

Array = np.ndarray[Any, Any]

OPEN = datetime(2024, 3, 4, 9, 30)
SECTORS = ("energy", "finance", "health", "retail", "tech")
DISTRICTS = ("centre", "east", "north", "south", "west")


def stocks(events: int, seed: int = 1) -> pa.Table:
    """Return the prices of 50 companies in 5 sectors over a trading day of six and a half hours.

    Prices are random walks. One sector after the other has an hour in which its prices slide.

    >>> stocks(1000).column_names
    ['time', 'company', 'sector', 'price']
    """
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.random(events)) * 6.5 * 3600
    company = rng.integers(0, 50, events).astype(np.int8)
    sector = company // np.int8(10)
    sliding = sector == (seconds / 3600 - 0.75).astype(int)
    steps = rng.normal(0.0, 1.0, events) - 0.35 * sliding
    price = np.empty(events)
    for each in range(50):
        own = np.flatnonzero(company == each)
        price[own] = rng.uniform(40, 160) * np.exp(np.cumsum(steps[own]) * 6e-4)
    return pa.table(
        {
            "time": _times(seconds),
            "company": _words(company, [f"{SECTORS[c // 10][:3]}-{c % 10}" for c in range(50)]),
            "sector": _words(sector, SECTORS),
            "price": np.round(price, 2),
        }
    )


def rides(events: int, seed: int = 2) -> pa.Table:
    """Return about so many events of taxi rides: a Pickup, a Trip a minute with its speed, a Dropoff or a Cancel.

    >>> rides(1000).column_names
    ['time', 'type', 'driver', 'rider', 'district', 'speed']
    """
    rng = np.random.default_rng(seed)
    count = max(1, events // 10)
    trips = rng.integers(1, 16, count)
    ride = np.repeat(np.arange(count), trips + 2)
    place = np.arange(ride.size) - np.repeat(np.cumsum(trips + 2) - trips - 2, trips + 2)
    last = place == trips[ride] + 1
    kind = np.where(place == 0, 0, np.where(last, np.where(rng.random(count) < 0.1, 3, 2)[ride], 1))
    seconds = (rng.random(count) * 6.5 * 3600)[ride] + place * 60 + rng.random(ride.size) * 30
    district = rng.integers(0, 5, count)
    hour = seconds / 3600
    speed = 22 + 3.0 * district[ride] + 9 * np.cos(hour) + rng.normal(0, 5, ride.size)
    table = pa.table(
        {
            "time": _times(seconds),
            "type": _words(kind.astype(np.int8), ("Pickup", "Trip", "Dropoff", "Cancel")),
            "driver": pa.array(rng.integers(0, max(2, count // 12), count)[ride]),
            "rider": pa.array(ride),
            "district": _words(district[ride].astype(np.int8), DISTRICTS),
            "speed": pa.array(np.round(np.maximum(speed, 1), 1), mask=kind != 1),
        }
    )
    return table.take(np.argsort(seconds))


def road(events: int, seed: int = 3) -> pa.Table:
    """Return about so many positions of cars on a road of eight segments, and a few accidents.

    A car reports its speed every ten seconds. For five minutes before an accident the cars of its segment slow
    down.

    >>> road(1000).column_names
    ['time', 'type', 'vehicle', 'segment', 'speed']
    """
    rng = np.random.default_rng(seed)
    vehicles = max(1, events // 180)  # half an hour each
    vehicle = np.repeat(np.arange(vehicles), 180)
    place = np.tile(np.arange(180), vehicles)
    seconds = (rng.random(vehicles) * 6 * 3600)[vehicle] + place * 10
    segment = (rng.integers(0, 8, vehicles)[vehicle] + place // 60) % 8  # ten minutes in each
    accidents = np.sort(rng.random(12)) * 6 * 3600 + 600
    where = np.arange(12) % 8
    speed = 90 + rng.normal(0, 8, seconds.size)
    for at, of in zip(accidents, where, strict=True):
        before = (segment == of) & (seconds < at) & (seconds > at - 300)
        speed[before] -= (seconds[before] - (at - 300)) * 0.2
    kind = np.zeros(seconds.size + 12, np.int8)
    kind[-12:] = 1
    table = pa.table(
        {
            "time": _times(np.concatenate((seconds, accidents))),
            "type": _words(kind, ("Position", "Accident")),
            "vehicle": pa.array(np.concatenate((vehicle, np.zeros(12, int))), mask=kind == 1),
            "segment": pa.array(np.concatenate((segment, where)) + 1),
            "speed": pa.array(np.round(np.concatenate((np.maximum(speed, 3), np.zeros(12))), 1), mask=kind == 1),
        }
    )
    return table.take(np.argsort(np.concatenate((seconds, accidents))))


def _times(seconds: Array) -> Any:
    """Return seconds after the opening as timestamps."""
    return pa.array(np.datetime64(OPEN, "ms") + (seconds * 1000).astype("timedelta64[ms]"))


def _words(codes: Array, words: Any) -> Any:
    """Return codes as a column of words."""
    return pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(list(words)))
