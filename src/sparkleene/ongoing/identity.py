"""What the state of a stream is known by: it goes on only with the queries and options that it was written by.

An identity is a dictionary: the query, or the names and checksums of a workload's; the options; the columns; and so
on. Options are compared by name, and one that a state does not know had its default when the state was written. So
an option can be added without a checkpoint being refused: give it a default that means what was done before, and
add its name to OPTIONS if another value means other results.

Version 1 had no version, and its options were the text of an `Options`. In version 3 the queries are those of one
part of a workload, which may change while a stream runs; in version 2 they are those of all parts.
"""

from __future__ import annotations

import ast
from fractions import Fraction
from typing import Any

from sparkleene.columns.reading import EngineOptions
from sparkleene.errors import DataError, Diagnostic
from sparkleene.ongoing.seal import AGAIN
from sparkleene.ongoing.tenure import OPTION as CHANGING
from sparkleene.ongoing.tenure import tell_option

VERSION = 2
PARTS_VERSION = 3
OPTIONS = ("time", "type", "tiebreak", "time_unit", "numbers", "offset", "offset_in_ms", "timezone")
"""The options that a result depends on. Of the others `masks` is seen in the columns, `numbered` in errors only."""

OPTION = "option "  # what options are called in errors
NUMBER = "number of buckets"  # over which the rows of a stream are spread
WORKLOAD = "workload"  # in an identity: the queries of a workload, by name, with a checksum of each
SHARING = "sharing"  # which of them are evaluated together


def make_identity(options: EngineOptions, **rest: Any) -> dict[str, Any]:
    """Return an identity of what JSON can hold."""
    return {**rest, "version": VERSION, "options": option_values(options)}


def option_values(options: EngineOptions) -> dict[str, Any]:
    """Return the options that matter, by name.

    >>> option_values(EngineOptions(tiebreak="id"))["tiebreak"], option_values(EngineOptions())["offset"]
    ('id', '0')
    """
    values = {name: getattr(options, name) for name in OPTIONS}
    return values | {"offset": str(options.offset)}


def compare_identities(then: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise if a state was written by other queries, or with other options, columns and so on."""
    version, current = then.get("version", 1), now.get("version", 1)
    if version <= VERSION < current:
        then = _pick_part(then, now)
    elif current <= VERSION < version == PARTS_VERSION:
        raise tell_option()
    if then.get(WORKLOAD) != now.get(WORKLOAD):
        raise _other_queries(then.get(WORKLOAD), now.get(WORKLOAD))
    if version > PARTS_VERSION:
        message = (
            f"the identity of the state is of version {version}, and this release reads version {PARTS_VERSION}"
        )
        help = f"go on with the release that wrote it, or {AGAIN}"
        raise DataError(Diagnostic("state-version", message, help=help))
    known, wanted = _flatten(then), _flatten(now)
    names = [*wanted, *(name for name in known if name.startswith(OPTION) and name not in wanted)]
    changed = [name for name in names if known.get(name) != wanted.get(name)]
    if changed:
        notes = tuple(f"{name} was: {known.get(name)}\nand is now: {wanted.get(name)}" for name in changed)
        message = f"the checkpoint was written with another {', another '.join(changed)}"
        help = f"go on with what it was written by, or {AGAIN}"
        if changed == [NUMBER]:
            help = f"set spark.sparkleene.buckets to {known.get(NUMBER)} before the query is made, or {AGAIN}"
        raise DataError(Diagnostic("query-changed", message, notes=notes, help=help))


def _pick_part(then: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """Return the identity of a workload as that of one of its parts, if it has such a part."""
    sums, part = then.get(WORKLOAD) or {}, now[WORKLOAD]
    if {name: sums.get(name) for name in part} != part or now[SHARING] not in then.get(SHARING, "").split("; "):
        return then
    return then | {WORKLOAD: part, SHARING: now[SHARING]}


def _flatten(identity: dict[str, Any]) -> dict[str, Any]:
    """Return the entries of an identity, with one for each option, if it has any."""
    rest = {name: value for name, value in identity.items() if name not in ("version", "options")}
    if "options" not in identity:
        return rest
    options = identity["options"]
    given = _read_version_1(options) if isinstance(options, str) else options
    return rest | {OPTION + name: value for name, value in {**option_values(EngineOptions()), **given}.items()}


def _read_version_1(text: str) -> dict[str, Any]:
    """Return the options that matter of a text such as "Options(time='at', offset=Fraction(0, 1), masks=())"."""
    call = ast.parse(text, mode="eval").body
    if not isinstance(call, ast.Call):
        raise ValueError(f"no options: {text}")
    found: dict[str, Any] = {}
    for option in call.keywords:
        if option.arg in OPTIONS:
            value = option.value
            if isinstance(value, ast.Call):  # a fraction
                found[option.arg] = str(Fraction(*map(ast.literal_eval, value.args)))
            else:
                found[option.arg] = ast.literal_eval(value)
    return found


def _other_queries(then: dict[str, str] | None, now: dict[str, str] | None) -> DataError:
    """Return the error for the state of a workload of other queries, which are known by name and checksum."""
    notes = []
    if then is None or now is None:
        by, here = ("a query", "a workload") if then is None else ("a workload", "a query")
        message = f"the checkpoint was written by {by}, and goes on with {here}"
    else:
        message = "the checkpoint was written by a workload of other queries"
        kinds = {
            "added": [name for name in now if name not in then],
            "removed": [name for name in then if name not in now],
            "changed": [name for name in now if then.get(name, now[name]) != now[name]],
        }
        notes = [f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names]
    help = (
        f"go on with what it was written by, and run others beside it from a new checkpoint, or {AGAIN};"
        f" queries that come and go need {CHANGING} from before the change on"
    )
    return DataError(Diagnostic("query-changed", message, notes=tuple(notes), help=help))
