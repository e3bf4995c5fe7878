"""Windows of several lengths as windows of one: as long as the longest, with a border wherever one of them has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sparkleene.language.bound import Drawn, Window


def unite_windows(windows: Sequence[Window | Drawn | None]) -> Window | None:
    """Return windows whose panes all others are made of, None where no such are known before times are read.

    Days are of 24 hours.

    >>> ten, four = (Window(Fraction(size), Fraction(slide), "time") for size, slide in [(10, 2), (4, 4)])
    >>> one = unite_windows([ten, four])
    >>> str(one.size), str(one.slide)
    ('10', '2')
    """
    given = [one for one in windows if isinstance(one, Window) and one.slide is not None]
    if len(given) < len(windows) or len({one.unit for one in given}) > 1 or given[0].unit in ("events", "months"):
        return None
    origin = given[0].origin
    lengths = [length for one in given for length in (one.size, one.slide or one.size, one.origin - origin)]
    # whole numbers of the same fraction of a unit
    parts = math.lcm(*(length.denominator for length in lengths))
    slide = Fraction(math.gcd(*(int(length * parts) for length in lengths)), parts)
    longest = max(given, key=lambda one: one.size)
    return Window(longest.size, slide, longest.unit, longest.span, origin=origin % slide)
