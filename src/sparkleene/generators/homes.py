"""Smart plugs in houses, which measure the power and the energy that goes through them.

HAMLET (2021), section 5.1: 4055 million measurements of 2125 plugs in 40 houses, 20 thousand events a minute;
an event carries a measurement, a house and a voltage. The set that it used (DEBS 2014) measures `Load`, in
watts now, and `Work`, in kilowatt hours since the start; these are the types here.

Chosen here, for the paper is silent: plugs are equally frequent and spread evenly over the houses; after four
of `Load` a plug measures `Work`; what is plugged in is off (standby, up to 2 watts) or on for 5 to 40
measurements, and takes the same power each time, log-normal over the plugs around 100 watts, with a deviation
of 5 percent; voltage is normal, 230 with a deviation of 3.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkleene.generators.generator import Array, Columns, Generator, Members, Option, cut, text

PLUGS = 2125 / 40


def make(rng: np.random.Generator, seconds: Array, *, rate: float, groups: int, plugs: int | None) -> Columns:
    """Return the columns; `groups` are houses, and `plugs` those of all of them."""
    events = seconds.size
    plugs = plugs or round(PLUGS * groups)
    plug = Members.random(rng, events, plugs)
    lengths = rng.integers(5, 41, events // 5 + 1)
    on = rng.random(lengths.size) < 0.5
    number, _ = cut(lengths, events)
    power = np.exp(rng.normal(np.log(100), 1, plugs))[plug.sorted]
    power *= 1 + 0.05 * rng.standard_normal(events)
    power = np.maximum(np.where(on[number], power, 2 * rng.random(events)), 0)
    work = plug.places % 5 == 4
    energy = plug.walk(power) * (plugs / rate / 3.6e6)  # every plug is read after about plugs / rate seconds
    measured = np.where(work, np.round(energy, 6), np.round(power, 1))
    return {
        "type": text(plug.spread(work.view(np.int8)), ("Load", "Work")),
        "house": pa.array((plug.codes % groups).astype(np.int32)),
        "plug": pa.array(plug.codes.astype(np.int32)),
        "measurement": pa.array(plug.spread(measured)),
        "voltage": pa.array(np.round(rng.normal(230, 3, events), 1)),
    }


GENERATOR = Generator("homes", make, groups=40, rate=20_000 / 60, more={"plugs": Option(None, "count")})
