"""Stock transactions: prices of companies that walk at random, a sector moving as a group.

HAMLET (2021), section 5.1: 2 million transactions of 220 companies in 8 hours, 4.5 thousand a minute, with
company, price and volume; section 5.2: bursts of 120 events on average. GRETA (2017), section 10.1: 225
thousand transactions of 10 companies, with volume, price, type (sell or buy), company, sector and transaction.
COGRA (2019), section 8.1: more than 3 thousand companies; section 1: companies of a sector tend to move as a
group. A-Seq (2014), section 6.2: event types DELL, IPIX, AMAT, QQQ.

Chosen here, for the papers are silent: companies are equally frequent; eleven sectors; a price moves by a
normal step of 0.1 percent, and with its sector, whose level is drawn every ten minutes, normal with 2 percent,
and changes steadily in between; volumes are log-normal. The type `Stock` is that of the queries, so that sell
or buy is the column `side`, which keeps its value for a burst.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkleene.generators.generator import Array, Columns, Generator, Members, Option, constant, number_names, text

TICKERS = ("DELL", "IPIX", "AMAT", "QQQ")
SECTORS = (
    "energy", "finance", "health", "technology", "utilities", "materials", "industry", "staples", "retail",
    "estate", "media",
)  # fmt: skip
STEP = 0.001
LEVEL = 0.02
PHASE = 600.0


def make(
    rng: np.random.Generator, seconds: Array, *, rate: float, groups: int, sectors: int, burst: float
) -> Columns:
    """Return the columns; `groups` are companies, the sector of one is its number modulo `sectors`."""
    events = seconds.size
    company = Members.random(rng, events, groups)
    sector = (np.arange(groups) % sectors).astype(np.uint16)
    walk = company.walk(rng.normal(0, STEP, events))
    price = company.spread(walk) + _levels(rng, seconds, sector[company.codes], sectors)
    price = rng.uniform(20, 200, groups)[company.codes] * np.exp(price)
    turns = rng.random(events) < 1 / burst
    return {
        "type": constant("Stock", events),
        "company": text(company.codes, number_names("C", groups, TICKERS)),
        "sector": text(sector[company.codes], number_names("sector ", sectors, SECTORS)),
        "transaction": pa.array(np.arange(1, events + 1)),
        "price": pa.array(np.maximum(np.round(price, 2), 0.01)),
        "volume": pa.array((100 * np.exp(rng.normal(0, 1, events).astype(np.float32))).astype(np.int32) + 1),
        "side": text(np.cumsum(turns) % 2, ("buy", "sell")),
    }


def _levels(rng: np.random.Generator, seconds: Array, sector: Array, sectors: int) -> Array:
    """Return how far the sector of each event is up, as a logarithm."""
    phase = seconds / max(PHASE, seconds[-1] * sectors / 1e7)  # not too many levels to hold
    whole = phase.astype(np.int32)
    levels = rng.normal(0, LEVEL, (int(whole[-1]) + 2, sectors))
    before, after = levels[whole, sector], levels[whole + 1, sector]
    return np.asarray(before + (after - before) * (phase - whole))


GENERATOR = Generator(
    "stock",
    make,
    groups=220,
    rate=75.0,  # 4.5 thousand a minute
    more={"sectors": Option(11, "count"), "burst": Option(120.0, "amount")},
)
