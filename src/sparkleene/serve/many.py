"""Jobs on several queries at once: funnels, and files of queries that share work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from sparkleene.errors import SparkleeneError
from sparkleene.funnel import Funnel, funnel
from sparkleene.language.query_files import name_queries, split_queries
from sparkleene.query import slide_of
from sparkleene.serve.plain import rows_of
from sparkleene.serve.queries import bare, describe_slide, empty_of, evaluate, options_of, sections, write_result
from sparkleene.serve.worker import Context, describe
from sparkleene.workload import Workload
from sparkleene.workload.stats import Stats


def compile_funnel(body: Mapping[str, Any]) -> Funnel:
    """Return the funnel of a request; a step `Name = condition` is one that a condition defines."""
    given = {name: body.get(name) for name in ("within", "every", "order")}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if body.get("exclude"):
        options["exclude"] = list(body["exclude"])
    if body.get("breakdown"):
        options["breakdown"] = list(body["breakdown"])
    return funnel(list(body["steps"]), list(body["by"]), **options, **options_of(body))


def run_funnel(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """Count how many come how far."""
    made = compile_funnel(body)
    table = evaluate(context, made, body)
    shape = {
        "values": [name for name in table.column_names if name not in ("step", "name", *made.breakdown)],
        "groups": [*made.breakdown, "name"],
        "counts": ["users", "trends"],
        "slide": None,
        "keys": [],
        "breakdown": [*made.breakdown],
        "queries_text": {name: q.text for name, q in made.queries.items()},
        "all": rows_of(table.slice(0, 2000)),
    }
    return {**write_result(context, table), **shape}


def compile_workload(body: Mapping[str, Any]) -> Workload:
    """Return the queries of a request."""
    places = name_queries(split_queries(str(body["text"]), "queries"))
    return Workload(places, body.get("sharing", "auto"), **options_of(body))


def check_workload(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """Say what is wrong with queries, or what they share."""
    text = str(body["text"])
    try:
        data = context.table(body["data"])
        asked = compile_workload(body)
        asked.run(empty_of(data))
    except SparkleeneError as error:
        found = describe(error, context.settings)
        for one in found["errors"]:
            if one["start"] is not None:
                shift = find_line(text, error.source, one["start"]) - one["start"]
                one["start"], one["end"] = one["start"] + shift, one["end"] + shift
        return found
    return {"errors": [], "plan": sections(asked.explain()), "queries": [*asked.queries], **share(asked)}


def find_line(text: str, source: str, offset: int) -> int:
    r"""Return the offset into a file of queries of a place in one of them, which has the same lines.

    >>> find_line("ab: x\ncd: y", "\ncd: y", 5)
    10
    """
    lines = text.split("\n")
    row = source.count("\n", 0, offset)
    column = offset - (source.rfind("\n", 0, offset) + 1)
    return sum(len(line) + 1 for line in lines[:row]) + column


def share(asked: Workload) -> dict[str, Any]:
    """Return which queries are evaluated together, each with its automaton and the numbers of states."""
    parts = []
    for part in asked.prepared.parts(None):
        apart = sum(len(member.plan.machine.states) for member in part.members)
        types: dict[str, list[str]] = {}
        for name in part.names:
            for label in asked.queries[name].plan.bound.labels:
                if name not in types.setdefault(label.type, []):
                    types[label.type].append(name)
        parts.append(
            {"queries": [*part.names], "states": len(part.plan.machine.states), "apart": apart, "types": types}
        )
    return {"parts": parts, "pictures": {name: bare(q.to_svg()) for name, q in asked.queries.items()}}


def run_workload(context: Context, body: Mapping[str, Any]) -> dict[str, Any]:
    """Count the trends of several queries."""
    asked = compile_workload(body)
    table = evaluate(context, asked, body)
    queries = {}
    for name, q in asked.queries.items():
        bound = q.plan.bound
        window = [] if bound.window is None else ["window_start", "window_end"]
        columns = [*window, *bound.group_names, *bound.value_names]
        slide = slide_of(q, table.select(columns))
        queries[name] = {
            "columns": columns,
            "values": list(bound.value_names),
            "groups": list(bound.group_names),
            "counts": list(bound.count_names),
            "slide": None if slide is None else describe_slide(slide),
        }
    here = body.get("engine") != "spark"
    stats = list(_say_stats(asked.stats)) if here else None
    found = {"queries": queries, "stats": stats, **share(asked), "values": [], "groups": ["query"], "counts": []}
    return {**write_result(context, table), **found}


def _say_stats(stats: Stats) -> Iterator[dict[str, Any]]:
    """Yield what was shared: which queries were done together, then what became of bursts."""
    lines = str(stats).splitlines()
    for line in lines[: len(lines) - len(stats)]:
        yield {"text": line, "types": [], "bursts": 0, "shared": 0, "rows": 0, "shared_rows": 0}
    for one in stats:
        yield asdict(one) | {"text": str(one)}
