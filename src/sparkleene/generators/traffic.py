"""Position reports of vehicles on a road of segments, and accidents.

GRETA (2017), section 10.1: the simulator of the Linear Road benchmark, 3 hours of reports with vehicle,
position and speed; the rate gradually increases until it reaches 4 thousand events per second. So `rate` is the
rate at the end here, and it grows in proportion to time: 21.6 million events are 3 hours. Types are those of
Q3, `Position` and `Accident`. Linear Road (2004): a vehicle reports every 30 seconds, a road has 100 segments
of a mile, speeds are 0 to 100 mph.

Chosen here, for the paper is silent: a vehicle stays for 5 to 30 reports and drives at a mean speed of its own,
normal around 55 mph; speeds differ from it by a normal 5 mph, and in a jam, for five minutes of ten, other ones
in each segment, go down to a third and up again. Accidents are events of their own, without vehicle and speed,
three an hour and at least one.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkleene.generators.generator import Array, Columns, Generator, Option, text

PERIOD = 30.0
MILE = 5280
JAM = 600.0  # seconds from one jam of a segment to its next


def make(
    rng: np.random.Generator, seconds: Array, *, rate: float, groups: int | None, segments: int, accidents: float
) -> Columns:
    """Return the columns; `groups` are vehicles that never leave, `accidents` those of an hour."""
    events = seconds.size
    slot, cycle = _turns(seconds, groups)
    slots = int(slot.max(initial=0)) + 1
    if groups is None:  # when a vehicle leaves, the next one takes its turn
        stay = rng.integers(5, 31, slots, dtype=np.int32)
        trip = (cycle + rng.integers(0, 31, slots, dtype=np.int32)[slot]) // stay[slot]
    else:
        trip = np.zeros(events, np.int32)
    vehicle = slot + slots * trip
    mean = np.clip(rng.normal(55, 10, slots), 20, 90)[slot]
    road = segments * MILE
    begin = rng.integers(0, road, slots)[slot]
    position = (begin + seconds * mean * (MILE / 3600)).astype(np.int64) % road
    segment = position // MILE
    speed = mean + rng.normal(0, 5, events)
    speed *= 1 - _jam(rng, seconds, segment, segments)
    speed = np.clip(speed, 0, 100)
    count = min(events, max(1, round(accidents * seconds[-1] / 3600)))
    accident = np.zeros(events, bool)
    accident[rng.choice(events, count, replace=False)] = True
    return {
        "type": text(accident.view(np.int8), ("Position", "Accident")),
        "vehicle": pa.array(vehicle, pa.int32(), mask=accident),
        "segment": pa.array(segment, pa.int32()),
        "position": pa.array(position),
        "speed": pa.array(np.round(speed, 1), mask=accident),
    }


def _turns(seconds: Array, groups: int | None) -> tuple[Array, Array]:
    """Return who reports, by its turn in a round in which all report once, and the number of the round."""
    number = np.arange(seconds.size)
    if groups is not None:
        return (number % groups).astype(np.int32), (number // groups).astype(np.int32)
    cycle = (seconds / PERIOD).astype(np.int32)
    first = np.maximum.accumulate(np.where(np.diff(cycle, prepend=-1) > 0, number, 0))
    return (number - first).astype(np.int32), cycle


def _jam(rng: np.random.Generator, seconds: Array, segment: Array, segments: int) -> Array:
    """Return by what part cars are slower: up to two thirds, for half of the time, other times for each segment."""
    phase = (seconds / JAM + rng.random(segments)[segment]) % 1
    return np.asarray(np.clip(np.sin(2 * np.pi * phase), 0, None) * (2 / 3))


GENERATOR = Generator(
    "traffic",
    make,
    groups=None,
    rate=4000.0,
    more={"segments": Option(100, "count"), "accidents": Option(3.0, "amount")},
    ramp=True,
)
