"""The bodies of requests, described as JSON Schema, and the small part of it by which they are checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sparkleene.errors import Diagnostic, QueryError
from sparkleene.plan.trend_selection import ORDERS

TEXT = 20_000
WORD = {"type": "string", "minLength": 1, "maxLength": 200}
MAYBE = {"type": ["string", "null"], "minLength": 1, "maxLength": 200}
UNITS = ["nanoseconds", "microseconds", "milliseconds", "seconds", "minutes", "hours", "days"]

DATA = {
    "type": "object",
    "description": "Data to ask about: generate:NAME, file:NAME below what was given at the start, or kafka:NAME.",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 1000},
        "events": {"type": "integer", "minimum": 1, "maximum": 1_000_000},
        "seed": {"type": "integer", "minimum": 0, "maximum": 2**32},
    },
    "required": ["name"],
    "additionalProperties": False,
}
OPTIONS = {
    "type": "object",
    "description": "How events are read, as in sparkleene.query.",
    "properties": {
        "time": WORD,
        "type": MAYBE,
        "tiebreak": MAYBE,
        "time_unit": {"type": ["string", "null"], "enum": [*UNITS, None]},
        "numbers": {"type": "string", "enum": ["double", "long", "exact"]},
        "timezone": WORD,
        "types": {
            "type": ["object", "null"],
            "maxProperties": 50,
            "additionalProperties": {"type": "string", "maxLength": 2000},
        },
    },
    "additionalProperties": False,
}
QUERY = {"type": "string", "maxLength": TEXT}
ENGINE = {"type": "string", "enum": ["local", "spark"]}
ORDER = {"type": "string", "enum": list(ORDERS)}
GROUP = {
    "type": "object",
    "maxProperties": 20,
    "additionalProperties": {"type": ["string", "number", "boolean", "null"], "maxLength": 2000},
}
WINDOW = {"type": ["string", "number", "null"], "maxLength": 100}
STEPS = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 500}, "maxItems": 20}


def _body(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {"data": DATA, "options": OPTIONS, **properties},
        "required": ["data", *required],
        "additionalProperties": False,
    }


def _run(kind: str, required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    return _body(("kind", *required), kind={"type": "string", "enum": [kind]}, **properties)


LOOK = _body(())
SHARING = {"type": "string", "enum": ["auto", "always", "never"]}
CHECK = _body(("text",), text=QUERY, kind={"type": "string", "enum": ["query", "workload"]}, sharing=SHARING)
RUNS = {
    "query": _run("query", ("text",), text=QUERY, engine=ENGINE),
    "workload": _run("workload", ("text",), text=QUERY, engine=ENGINE, sharing=SHARING),
    "funnel": _run(
        "funnel",
        ("steps", "by"),
        steps={**STEPS, "minItems": 1},
        by={"type": "array", "items": WORD, "minItems": 1, "maxItems": 5},
        within=MAYBE,
        every=MAYBE,
        order={"type": "string", "enum": ["any", "next", "strict"]},
        exclude=STEPS,
        breakdown={"type": "array", "items": WORD, "maxItems": 3},
        engine=ENGINE,
    ),
    "trends": _run(
        "trends",
        ("text",),
        text=QUERY,
        group=GROUP,
        window=WINDOW,
        order=ORDER,
        limit={"type": "integer", "minimum": 1, "maximum": 50},
        seed={"type": "integer", "minimum": 0, "maximum": 2**31},
    ),
    "why": _run("why", ("text",), text=QUERY, group=GROUP, window=WINDOW),
    "live": _run(
        "live",
        ("text",),
        text=QUERY,
        engine=ENGINE,
        speed={"type": "number", "minimum": 1, "maximum": 100_000},
        delay={"type": "number", "minimum": 0, "maximum": 86_400},
        shuffle={"type": "number", "minimum": 0, "maximum": 86_400},
    ),
}
PAUSE = {
    "type": "object",
    "properties": {"paused": {"type": "boolean"}},
    "required": ["paused"],
    "additionalProperties": False,
}
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def check_body(body: Any, schema: Mapping[str, Any]) -> None:
    """Raise what is wrong with the body of a request."""
    wrong = list(find_faults(body, schema, "the request"))
    if wrong:
        raise QueryError([Diagnostic("bad-request", text) for text in wrong[:5]])


def check_run(body: Any) -> str:
    """Return the kind of run that is asked for, or raise what is wrong with the request."""
    kind = body.get("kind") if isinstance(body, dict) else None
    if not isinstance(kind, str) or kind not in RUNS:
        message = f"the kind of a run is one of {', '.join(RUNS)}"
        raise QueryError(Diagnostic("bad-request", message))
    check_body(body, RUNS[kind])
    return kind


def find_faults(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    """Yield what is wrong with a value.

    >>> list(find_faults({"paused": 1}, PAUSE, "it"))
    ['it.paused is no boolean']
    """
    kinds = schema.get("type", list(TYPES))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is(value, kind) for kind in kinds):
        yield f"{where} is no {' or '.join(kinds)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is none of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, str):
        if len(value) > schema.get("maxLength", len(value)) or len(value) < schema.get("minLength", 0):
            yield f"{where} is too long or too short"
        if any("\ud800" <= sign <= "\udfff" or sign == "\0" for sign in value):
            yield f"{where} is no text"
    elif isinstance(value, dict):
        yield from _object_faults(value, schema, where)
    elif isinstance(value, list):
        if len(value) > schema.get("maxItems", len(value)) or len(value) < schema.get("minItems", 0):
            yield f"{where} has too many items, or too few"
        for i, one in enumerate(value[:100]):
            yield from find_faults(one, schema.get("items", {}), f"{where}[{i}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        low, high = schema.get("minimum", value), schema.get("maximum", value)
        if not low <= value <= high:
            yield f"{where} is not between {low} and {high}"


def _object_faults(value: dict[str, Any], schema: Mapping[str, Any], where: str) -> Iterator[str]:
    known, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    yield from (f"{where} has no '{name}'" for name in schema.get("required", ()) if name not in value)
    if len(value) > schema.get("maxProperties", len(value)):
        yield f"{where} has too many names"
    for name, one in list(value.items())[:100]:
        if name in known:
            yield from find_faults(one, known[name], f"{where}.{name}")
        elif more is False:
            yield f"{where} has a '{name[:50]}', which nothing asks for"
        elif isinstance(more, Mapping):
            yield from find_faults(one, more, f"{where}.{name[:50]}")


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[kind])
