"""Ride sharing: requests, drives to the rider, trips, and all that can happen to them.

HAMLET (2021), section 5.1: events of 20 types such as request, pickup, travel, dropoff and cancel, with driver,
rider, request type, district, duration and price, all random, 10 thousand a minute. COGRA (2019), section 1:
thousands of drivers; q2 has `Trip` events with a speed, and a district that is the same for all of a ride.

Chosen here, for the papers are silent: a driver has one ride after the other: `Request`, `Accept`, 1 to 5
`Travel` to the rider; then `Pickup`, 1 to 9 `Trip`, `Dropoff`, `Pay` and `Rate`; or a `Cancel` (15 percent,
`cancelled`), or nothing more (10 percent, `missed`). One `Travel` or `Trip` in ten is one of eleven other
types. Three requests in ten are `Pool`, which is the column `request`, for `type` is the type of the event.
Three rides in ten are in slow traffic, around 8 mph, others around 25. Drivers are 1000, riders ten times as
many, districts 20.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkleene.generators.generator import Array, Columns, Generator, Members, Option, cut, number_names, text

TYPES = (
    "Request", "Accept", "Travel", "Pickup", "Trip", "Dropoff", "Pay", "Rate", "Cancel",
    "Wait", "Stop", "Detour", "Call", "Message", "Delay", "Surge", "Join", "Leave", "Toll", "Refuel",
)  # fmt: skip
REQUEST, ACCEPT, TRAVEL, PICKUP, TRIP, DROPOFF, PAY, RATE, CANCEL, WAIT = range(10)
OTHER = 0.1
REQUESTS = ("Pool", "Standard", "Premium")


def make(
    rng: np.random.Generator,
    seconds: Array,
    *,
    rate: float,
    groups: int,
    districts: int,
    cancelled: float,
    missed: float,
) -> Columns:
    """Return the columns; `groups` are drivers."""
    events = seconds.size
    driver = Members.random(rng, events, groups)
    rides = events // 3 + 1  # none has less than three events
    travels = rng.integers(1, 6, rides, dtype=np.int8)
    trips = rng.integers(1, 10, rides, dtype=np.int8)
    fate = rng.random(rides)
    cancel, miss = fate < cancelled, fate >= 1 - missed
    trips[cancel | miss] = 0
    lengths = 2 + travels.astype(np.int64) + np.where(cancel, 1, np.where(miss, 0, trips + np.int64(4)))
    number, place = cut(lengths, events)
    kind = _kinds(rng, place, travels[number], trips[number])
    slow = rng.random(rides) < 0.3
    speed = np.where(slow, 8.0, 25.0)[number] + rng.normal(0, 3, events)
    district = rng.integers(0, districts, rides, dtype=np.int32)[number]
    rider = rng.integers(0, 10 * groups, rides, dtype=np.int32)[number]
    request = np.searchsorted([0.3, 0.8], rng.random(rides)).astype(np.int8)[number]
    return {
        "type": text(driver.spread(kind), TYPES),
        "driver": pa.array(driver.codes.astype(np.int32)),
        "rider": pa.array(driver.spread(rider)),
        "request": text(driver.spread(request), REQUESTS),
        "district": text(driver.spread(district), number_names("district ", districts)),
        "speed": pa.array(driver.spread(np.round(np.maximum(speed, 0), 1))),
        "duration": pa.array(rng.integers(1, 3601, events, dtype=np.int32)),
        "price": pa.array(np.round(rng.uniform(3, 100, events), 2)),
    }


def _kinds(rng: np.random.Generator, place: Array, travels: Array, trips: Array) -> Array:
    """Return the types of events by their places in rides."""
    after = place - travels - 2  # from 0 on once the driver is there
    kind = np.full(place.size, TRAVEL, np.int8)
    kind[place == 0] = REQUEST
    kind[place == 1] = ACCEPT
    there = np.flatnonzero(after >= 0)
    after, trips = after[there], trips[there]
    kind[there] = np.select(
        [trips == 0, after == 0, after <= trips, after == trips + 1, after == trips + 2],
        [np.int8(CANCEL), np.int8(PICKUP), np.int8(TRIP), np.int8(DROPOFF), np.int8(PAY)],
        np.int8(RATE),
    )
    other = np.flatnonzero((rng.random(place.size, dtype=np.float32) < OTHER) & ((kind == TRAVEL) | (kind == TRIP)))
    kind[other] = rng.integers(WAIT, len(TYPES), other.size, dtype=np.int8)
    return kind


GENERATOR = Generator(
    "rides",
    make,
    groups=1000,
    rate=10_000 / 60,
    more={"districts": Option(20, "count"), "cancelled": Option(0.15, "share"), "missed": Option(0.1, "share")},
)
