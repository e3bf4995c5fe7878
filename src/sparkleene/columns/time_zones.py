"""Time zones by name, and when their clocks first show a time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from sparkleene.errors import Place, QueryError, suggest

NAMES_OF_UTC = frozenset(
    {"UTC", "Etc/UTC", "Etc/UCT", "UCT", "Zulu", "Etc/Zulu", "Universal", "Etc/Universal", "Z"}
)
_FIXED = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d\d?)(?::?(\d\d))?")
_EPOCH = datetime(1970, 1, 1)
_SECOND = timedelta(seconds=1)


def is_utc(name: str) -> bool:
    """Tell whether a name is one of UTC."""
    return name in NAMES_OF_UTC


def find_zone(name: str, place: Place = Place()) -> tzinfo:
    """Return the time zone of a name such as Europe/Berlin, or of a distance from UTC such as +05:30.

    >>> find_zone("+05:30").utcoffset(None)
    datetime.timedelta(seconds=19800)
    """
    if is_utc(name):
        return UTC
    if (fixed := _FIXED.fullmatch(name)) is not None:
        sign, hours, minutes = fixed.groups()
        away = timedelta(hours=int(hours), minutes=int(minutes or 0))
        if away <= timedelta(hours=18):
            return timezone(-away if sign == "-" else away)
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):
        raise _unknown_zone(name, place) from None


def _unknown_zone(name: str, place: Place) -> QueryError:
    """Return the error for a name that is no zone's."""
    message = f"there is no time zone '{name}'"
    known = available_timezones()
    if not known:
        message = f"the time zone '{name}' is not known: this Python has no time zones"
        return place.mistake("bad-option", message, help="pip install tzdata")
    same = [zone for zone in known if zone.lower() == name.lower() or zone.lower().endswith("/" + name.lower())]
    help = f"did you mean '{min(same)}'?" if same else suggest(name, sorted(known))
    return place.mistake("bad-option", message, help=help or "write a name such as 'Europe/Berlin', or 'UTC'")


_CYCLE = 146_097 * 86_400  # seconds of 400 years, after which days of the week and rules of clocks come again
_LOW, _HIGH = -62_000_000_000, 253_000_000_000  # years that Python has, and some days beside them


@lru_cache(maxsize=1 << 17)
def first_instant(zone: str, shown: int) -> int:
    """Return the first instant at which clocks of a zone show a time or a later one, in seconds since the epoch.

    Where clocks are set forward over that time it is when they are; where they show it twice, the first.

    >>> sunday = 17_839 * 86_400      # 4 November 2018: in São Paulo clocks went from 0:00 to 1:00
    >>> first_instant("America/Sao_Paulo", sunday) - sunday
    10800
    """
    cycles = 0 if _LOW <= shown < _HIGH else (shown - (_LOW if shown < _LOW else _HIGH - _CYCLE)) // _CYCLE
    shown -= cycles * _CYCLE
    found = find_zone(zone)
    local = _EPOCH + timedelta(seconds=shown)
    before, after = (_seconds(found.utcoffset(local.replace(tzinfo=found, fold=fold))) for fold in (0, 1))
    first, last = shown - after, shown - before
    if before >= after:  # once or twice
        first = last
    while first < last:
        middle = (first + last) // 2
        if middle + _seconds(found.utcoffset(_at(middle, found))) >= shown:
            last = middle
        else:
            first = middle + 1
    return first + cycles * _CYCLE


def _at(instant: int, zone: tzinfo) -> datetime:
    """Return what clocks of a zone show."""
    return (_EPOCH + timedelta(seconds=instant)).replace(tzinfo=UTC).astimezone(zone)


def _seconds(offset: timedelta | None) -> int:
    return 0 if offset is None else offset // _SECOND


def changes_clocks(zone: str) -> bool:
    """Tell whether the clocks of a zone were or will be set forward or back.

    >>> changes_clocks("Europe/Berlin"), changes_clocks("UTC")
    (True, False)
    """
    found = find_zone(zone)
    months = (datetime(year, month, 1, tzinfo=UTC) for year in range(1970, 2038) for month in (1, 4, 7, 10))
    return len({found.utcoffset(month.astimezone(found)) for month in months}) > 1
