"""What the page asks the server."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from sparkleene import __version__
from sparkleene.charts.numbers import is_numeric, numbers
from sparkleene.errors import Diagnostic, QueryError, SparkleeneError
from sparkleene.serve.datasets import list_datasets
from sparkleene.serve.examples import EXAMPLES
from sparkleene.serve.openapi import describe_api
from sparkleene.serve.plain import columns_of, plain, rows_of
from sparkleene.serve.runs import Run, Runs, TooManyError
from sparkleene.serve.schema import CHECK, LOOK, PAUSE, check_body, check_run
from sparkleene.serve.series import make_series
from sparkleene.serve.words import WORDS
from sparkleene.serve.worker import describe, failure

PAGE = 1000  # rows of a page

Handler = Callable[[Request], Awaitable[Response]]


class NotFoundError(Exception):
    """There is no such run, or it is another person's."""


def runs_of(request: Request) -> Runs:
    """Return all runs."""
    found: Runs = request.app.state.runs
    return found


def person_of(request: Request) -> str:
    """Return who asks."""
    return str(request.state.person)


def find_run(request: Request) -> Run:
    """Return the run that is asked about."""
    run = runs_of(request).find(person_of(request), request.path_params["id"])
    if run is None:
        raise NotFoundError
    return run


async def read_body(request: Request) -> Any:
    """Return the JSON of a request."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # which no form of another site can send
        raise QueryError(Diagnostic("bad-request", "the body of a request is JSON"))

    def refuse(name: str) -> Any:
        raise ValueError(name)

    try:
        return json.loads(await request.body(), parse_constant=refuse)
    except (ValueError, RecursionError):
        raise QueryError(Diagnostic("bad-request", "the body of the request is no JSON")) from None


def answer_errors(handler: Handler) -> Handler:
    """Return a handler whose errors are answers."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except SparkleeneError as error:
            return JSONResponse(describe(error, runs_of(request).settings), 400)
        except TooManyError as error:
            return JSONResponse(failure("limit", str(error)), 429)
        except NotFoundError:
            return JSONResponse(failure("missing-run", "there is no such run"), 404)

    return answer


# ---- what there is


@answer_errors
async def about(request: Request) -> Response:
    """Tell what there is: data, examples, limits, and the words of the language."""
    settings = runs_of(request).settings
    from importlib.util import find_spec

    limits = settings.limits
    known = {
        "version": __version__,
        "datasets": await anyio.to_thread.run_sync(list_datasets, settings),
        "examples": EXAMPLES,
        "words": WORDS,
        "spark": settings.spark and find_spec("pyspark") is not None,
        "limits": {"seconds": limits.seconds, "rows": limits.rows, "events": limits.events, "runs": limits.runs},
    }
    return JSONResponse(known)


async def api(request: Request) -> Response:
    """Describe this interface."""
    return JSONResponse(describe_api())


@answer_errors
async def look(request: Request) -> Response:
    """Look at data."""
    body = await read_body(request)
    check_body(body, LOOK)
    return _answer(await runs_of(request).ask(person_of(request), "look", body))


@answer_errors
async def check(request: Request) -> Response:
    """Check a text; what is wrong with it is no error of the request."""
    body = await read_body(request)
    check_body(body, CHECK)
    return _answer(await runs_of(request).ask(person_of(request), "check", body))


def _answer(found: tuple[str, Any]) -> Response:
    state, what = found
    return JSONResponse(what, 200 if state == "done" else 400)


# ---- runs


@answer_errors
async def begin(request: Request) -> Response:
    """Start a run."""
    body = await read_body(request)
    kind = check_run(body)
    runs = runs_of(request)
    if body.get("engine") == "spark" and not runs.settings.spark:
        raise QueryError(Diagnostic("bad-request", "Spark is not offered here"))
    return JSONResponse(runs.begin(person_of(request), kind, body).describe(), 202)


@answer_errors
async def state(request: Request) -> Response:
    """Tell how a run is."""
    return JSONResponse(find_run(request).describe())


@answer_errors
async def cancel(request: Request) -> Response:
    """End a run."""
    run = find_run(request)
    await runs_of(request).cancel(run)
    return JSONResponse(run.describe())


@answer_errors
async def pause(request: Request) -> Response:
    """Let a live run stop for a while, or go on."""
    run, body = find_run(request), await read_body(request)
    check_body(body, PAUSE)
    if not runs_of(request).pause(run, body["paused"]):
        return JSONResponse(failure("bad-request", "only a live run that goes on can be paused"), 409)
    return JSONResponse(run.describe())


@answer_errors
async def follow(request: Request) -> Response:
    """Send what happens to a run as it happens."""
    run = find_run(request)
    last = request.headers.get("last-event-id", "")
    after = int(last) if last.isascii() and last.isdigit() and len(last) < 15 else 0

    async def send() -> AsyncIterator[str]:
        async for one in run.follow(after):
            if one is None:
                yield ": still here\n\n"
            else:
                number, message = one
                yield f"id: {number}\ndata: {json.dumps(message)}\n\n"
        yield f"event: end\ndata: {json.dumps(run.describe())}\n\n"

    return StreamingResponse(send(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


# ---- results


def read_result(run: Run, name: str | None) -> pa.Table:
    """Return the table that a run found; of a workload, the rows of one query."""
    if run.state != "done" or "rows" not in run.result:
        raise NotFoundError
    with pa.memory_map(str(run.folder / "result.arrow")) as file:
        table = pa.ipc.open_file(file).read_all()
    if name is None:
        return table
    if name not in run.result.get("queries", {}):
        raise NotFoundError
    kept = run.result["queries"][name]["columns"]
    return table.filter(pc.equal(table.column("query"), name)).select(kept)


def sort_rows(table: pa.Table, name: str, descending: bool) -> pa.Table:
    """Return rows in order of a column; text that is a number is in order of numbers."""
    if name not in table.column_names:
        raise QueryError(Diagnostic("missing-column", f"the result has no column '{name[:100]}'"))
    column = table.column(name)
    if pa.types.is_nested(column.type):
        return table
    order = "descending" if descending else "ascending"
    if pa.types.is_string(column.type) and is_numeric(column):
        minor, major = numbers(column).keys()
        keys = pa.table({"major": major, "minor": minor})
        return table.take(pc.sort_indices(keys, sort_keys=[("major", order), ("minor", order)]))
    return table.take(pc.sort_indices(table, sort_keys=[(name, order)]))


@answer_errors
async def rows(request: Request) -> Response:
    """Send rows of a result."""
    run, asked = find_run(request), request.query_params
    name, sort = asked.get("query"), asked.get("sort")
    first = _number(asked.get("offset"), 0, 0, 1 << 40)
    count = _number(asked.get("limit"), 100, 1, PAGE)

    def work() -> dict[str, Any]:
        table = read_result(run, name)
        if sort is not None:
            table = sort_rows(table, sort, asked.get("descending") == "true")
        page = table.slice(first, count)
        return {"rows": table.num_rows, "offset": first, "columns": columns_of(table.schema), "page": rows_of(page)}

    return JSONResponse(await anyio.to_thread.run_sync(work))


@answer_errors
async def chart(request: Request) -> Response:
    """Send the lines of a chart."""
    run, asked = find_run(request), request.query_params
    name, value = asked.get("query"), asked.get("value")
    most = _number(asked.get("most"), 8, 1, 20)

    def work() -> dict[str, Any]:
        table = read_result(run, name)
        shape = run.result if name is None else run.result["queries"][name]
        return make_series(table, shape, value, most)

    return JSONResponse(plain(await anyio.to_thread.run_sync(work)))


@answer_errors
async def download(request: Request) -> Response:
    """Send a result as a file."""
    run, kind = find_run(request), request.path_params["kind"]
    if kind not in ("csv", "parquet"):
        raise NotFoundError

    def work() -> bytes:
        table, out = read_result(run, None), io.BytesIO()
        if kind == "parquet":
            pq.write_table(table, out)
        else:
            flat = [pa.array(map(_text, c.to_pylist())) if pa.types.is_nested(c.type) else c for c in table.columns]
            pa_csv.write_csv(pa.table(flat, names=table.column_names), out)
        return out.getvalue()

    types = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
    headers = {"Content-Disposition": f'attachment; filename="result.{kind}"'}
    return Response(await anyio.to_thread.run_sync(work), media_type=types[kind], headers=headers)


def _text(value: Any) -> str | None:
    return None if value is None else json.dumps(plain(value))


def _number(text: str | None, default: int, low: int, high: int) -> int:
    """Return a number of an address, or raise."""
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 15 and low <= int(text) <= high):
        raise QueryError(Diagnostic("bad-request", f"a number is from {low} to {high}"))
    return int(text)


ROUTES = [
    Route("/api/about", about),
    Route("/api/openapi.json", api),
    Route("/api/look", look, methods=["POST"]),
    Route("/api/check", check, methods=["POST"]),
    Route("/api/runs", begin, methods=["POST"]),
    Route("/api/runs/{id}", state, methods=["GET"]),
    Route("/api/runs/{id}", cancel, methods=["DELETE"]),
    Route("/api/runs/{id}/pause", pause, methods=["POST"]),
    Route("/api/runs/{id}/events", follow),
    Route("/api/runs/{id}/rows", rows),
    Route("/api/runs/{id}/chart", chart),
    Route("/api/runs/{id}/result.{kind}", download),
]
