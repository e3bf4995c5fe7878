"""The interface, described as OpenAPI has it."""

from __future__ import annotations

from typing import Any

from sparkleene import __version__
from sparkleene.serve.schema import CHECK, LOOK, PAUSE, RUNS

ERROR = {
    "type": "object",
    "properties": {
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "code": {"type": "string"},
                    "message": {"type": "string"},
                    "start": {"type": ["integer", "null"]},
                    "end": {"type": ["integer", "null"]},
                    "notes": {"type": "array", "items": {"type": "string"}},
                    "help": {"type": ["string", "null"]},
                    "query": {"type": ["string", "null"]},
                },
                "required": ["code", "message"],
            },
        }
    },
    "required": ["errors"],
}
OBJECT = {"type": "object"}
RUN = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "kind": {"type": "string", "enum": [*RUNS]},
        "state": {"type": "string", "enum": ["waiting", "running", "done", "failed", "cancelled"]},
        "paused": {"type": "boolean"},
        "seconds": {"type": "number"},
        "result": OBJECT,
    },
    "required": ["id", "kind", "state", "seconds", "result"],
}
ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}


def _json(schema: Any, text: str = "found") -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def _answers(schema: Any, *codes: int, good: int = 200) -> dict[str, Any]:
    known = {400: "what is wrong", 404: "no such run", 409: "not now", 413: "too large", 429: "too many at once"}
    return {str(good): _json(schema)} | {str(code): _json(ERROR, known[code]) for code in codes}


def _asks(schema: Any) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _parameter(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema}


def describe_api() -> dict[str, Any]:
    """Return the description of the interface."""
    of_run = _answers(RUN, 404)
    number: dict[str, Any] = {"type": "integer", "minimum": 0, "maximum": 1_000_000}
    page = [
        _parameter("query", type="string"),
        _parameter("sort", type="string"),
        _parameter("descending", type="string", enum=["true", "false"]),
        _parameter("offset", **number),
        _parameter("limit", type="integer", minimum=1, maximum=1000),
    ]
    drawn = [_parameter("query", type="string"), _parameter("value", type="string")]
    drawn.append(_parameter("most", type="integer", minimum=1, maximum=20))
    paths: dict[str, Any] = {
        "/api/about": {"get": {"summary": "Tell what there is.", "responses": _answers(OBJECT)}},
        "/api/openapi.json": {"get": {"summary": "Describe this interface.", "responses": _answers(OBJECT)}},
        "/api/look": {
            "post": {
                "summary": "Look at data.",
                "requestBody": _asks(LOOK),
                "responses": _answers(OBJECT, 400, 413, 429),
            }
        },
        "/api/check": {
            "post": {
                "summary": "Check a text.",
                "requestBody": _asks(CHECK),
                "responses": _answers(OBJECT, 400, 413, 429),
            }
        },
        "/api/runs": {
            "post": {
                "summary": "Start a run.",
                "requestBody": _asks({"oneOf": [*RUNS.values()]}),
                "responses": _answers(RUN, 400, 413, 429, good=202),
            }
        },
        "/api/runs/{id}": {
            "get": {"summary": "Tell how a run is.", "parameters": [ID], "responses": of_run},
            "delete": {"summary": "End a run.", "parameters": [ID], "responses": of_run},
        },
        "/api/runs/{id}/pause": {
            "post": {
                "summary": "Let a live run stop for a while, or go on.",
                "parameters": [ID],
                "requestBody": _asks(PAUSE),
                "responses": _answers(RUN, 400, 404, 409, 413),
            }
        },
        "/api/runs/{id}/events": {
            "get": {
                "summary": "Send what happens to a run.",
                "parameters": [ID],
                "responses": {
                    "200": {"description": "events as they happen", "content": {"text/event-stream": {}}},
                    "404": _json(ERROR, "no such run"),
                },
            }
        },
        "/api/runs/{id}/rows": {
            "get": {"summary": "Send rows.", "parameters": [ID, *page], "responses": _answers(OBJECT, 400, 404)}
        },
        "/api/runs/{id}/chart": {
            "get": {"summary": "Send lines.", "parameters": [ID, *drawn], "responses": _answers(OBJECT, 400, 404)}
        },
    }
    for kind, type in (("csv", "text/csv"), ("parquet", "application/vnd.apache.parquet")):
        good = {"description": "the file", "content": {type: {}}}
        paths[f"/api/runs/{{id}}/result.{kind}"] = {
            "get": {
                "summary": f"Send a result as {kind}.",
                "parameters": [ID],
                "responses": {"200": good, "404": _json(ERROR, "no such run")},
            }
        }
    info = {
        "title": "Sparkleene workbench",
        "version": __version__,
        "description": "What the page asks the server.",
    }
    return {"openapi": "3.1.0", "info": info, "paths": paths}
