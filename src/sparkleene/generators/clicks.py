"""Clicks in an online shop: people log in, look around and buy; some passwords are wrong.

A-Seq (2014), section 1, applications I and II: the types `TypeUsername`, `TypePassword`, `ClickSubmit`,
`Kindle`, `KindleCase` and `Stylus`, and the attributes `IP`, `userId`, `value` (the password that was typed)
and `Password` (the right one, known once the name was typed). The paper describes no such data.

Chosen here: 200 users, each with an IP of its own, and 100 events per second; a session is a login and 1 to 12
pages, of which a quarter are `Search`, 45 percent `View` and a tenth each of the products; one login in ten has
a wrong password (`wrong`), and ends the session; of one user in fifty (`bots`) all logins have, and there is
nothing else.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sparkleene.generators.generator import Array, Columns, Generator, Members, Option, cut, text

TYPES = ("TypeUsername", "TypePassword", "ClickSubmit", "Search", "View", "Kindle", "KindleCase", "Stylus")
PAGES = np.repeat(np.arange(3, 8, dtype=np.int8), [5, 9, 2, 2, 2])  # each entry is as likely as the others
GUESSES = 1000


def make(
    rng: np.random.Generator, seconds: Array, *, rate: float, groups: int, wrong: float, bots: float
) -> Columns:
    """Return the columns; `groups` are users."""
    events = seconds.size
    user = Members.random(rng, events, groups)
    bot = np.zeros(groups, bool)
    bot[: round(bots * groups)] = True
    rng.shuffle(bot)
    sessions = events // 3 + 1
    failed = rng.random(sessions) < wrong
    lengths = np.where(failed, 3, 3 + rng.integers(1, 13, sessions))
    number, place = cut(lengths, events)
    by_bot = bot[user.sorted]
    place = np.where(by_bot, user.places % 3, place)
    kind = np.where(place < 3, place, PAGES[rng.integers(0, PAGES.size, events, dtype=np.int8)]).astype(np.int8)
    guess = groups + rng.integers(0, GUESSES, events, dtype=np.int32)
    own = user.sorted.astype(np.int32)
    typed = np.where(by_bot | failed[number], guess, own)
    passwords = [*(f"secret-{i}" for i in range(groups)), *(f"guess-{i}" for i in range(GUESSES))]
    return {
        "type": text(user.spread(kind), TYPES),
        "userId": pa.array(user.codes.astype(np.int32)),
        "IP": text(user.codes, [f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}" for i in range(groups)]),
        "value": text(user.spread(np.where(kind == 1, typed, -1)), passwords),
        "Password": text(user.spread(np.where(kind == 0, own, -1)), passwords),
    }


GENERATOR = Generator(
    "clicks", make, groups=200, rate=100.0, more={"wrong": Option(0.1, "share"), "bots": Option(0.02, "share")}
)
