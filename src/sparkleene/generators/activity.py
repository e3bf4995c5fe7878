"""Physical activities of people, with their heart rates.

COGRA (2019), section 8.1: reports of 14 people during 1 hour and 15 minutes, 18 activities; a report carries a
person, an activity and a heart rate. Its q4, appendix A, calls people patients and activities active or
passive. The activities are those of the set that it used (PAMAP2).

Chosen here, for the paper is silent: a report a second of each person; an activity lasts 30 to 300 reports and
has a heart rate of its own, with a normal deviation of 4. In 5 percent of the passive stretches (`arrhythmia`)
the rate goes up from 50 to 115, which is what q4 looks for. The type is `Activity`, so the paper's `A.type =
passive` is the column `kind`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkleene.generators.generator import Array, Columns, Generator, Members, Option, constant, cut, text

PASSIVE = {
    "lying": 64, "sitting": 70, "standing": 76, "watching TV": 66, "computer work": 71, "car driving": 78,
}  # fmt: skip
ACTIVE = {
    "walking": 100, "running": 150, "cycling": 125, "Nordic walking": 120, "ascending stairs": 130,
    "descending stairs": 115, "vacuum cleaning": 105, "ironing": 90, "folding laundry": 90, "house cleaning": 100,
    "playing soccer": 150, "rope jumping": 160,
}  # fmt: skip
LONGEST, SHORTEST = 300, 30


def make(rng: np.random.Generator, seconds: Array, *, rate: float, groups: int, arrhythmia: float) -> Columns:
    """Return the columns; `groups` are patients."""
    events = seconds.size
    patient = Members.random(rng, events, groups)
    lengths = rng.integers(SHORTEST, LONGEST + 1, events // SHORTEST + 1)
    number, place = cut(lengths, events)
    names = [*PASSIVE, *ACTIVE]
    activity = rng.integers(0, len(names), lengths.size).astype(np.int8)
    heart = np.array([*PASSIVE.values(), *ACTIVE.values()], float)[activity][number]
    heart += rng.normal(0, 4, events)
    ill = (activity < len(PASSIVE)) & (rng.random(lengths.size) < arrhythmia)
    sick = np.flatnonzero(ill[number])
    heart[sick] = 50 + 65 * place[sick] / (lengths[number[sick]] - 1) + rng.normal(0, 2, sick.size)
    kind = patient.spread(activity[number])
    return {
        "type": constant("Activity", events),
        "patient": pa.array(patient.codes.astype(np.int32)),
        "activity": text(kind, names),
        "kind": text((kind >= len(PASSIVE)).view(np.int8), ("passive", "active")),
        "rate": pa.array(patient.spread(np.clip(np.round(heart), 30, 220).astype(np.int32))),
    }


GENERATOR = Generator("activity", make, groups=14, rate=None, more={"arrhythmia": Option(0.05, "share")})
