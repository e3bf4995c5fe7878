"""The workbench as one application: the page, what it asks, and who may ask."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from sparkleene.serve.guard import Guard
from sparkleene.serve.routes import ROUTES
from sparkleene.serve.runs import Runs
from sparkleene.serve.settings import Settings
from sparkleene.serve.worker import failure

STATIC = Path(__file__).parent / "static"
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
YEAR = "public, max-age=31536000, immutable"


def make_app(settings: Settings) -> Starlette:
    """Return the workbench; its processes start with it, and end with it."""
    runs = Runs(settings)

    @asynccontextmanager
    async def live(app: Starlette) -> AsyncIterator[None]:
        await runs.start()
        yield
        await runs.stop()

    app = Starlette(
        routes=[Route("/", page), Route("/assets/{name}", asset), *ROUTES],
        middleware=[Middleware(Guard, settings=settings), Middleware(GZipMiddleware, minimum_size=2000)],
        exception_handlers={HTTPException: refuse, Exception: apologize},  # type: ignore[dict-item]
        lifespan=live,
    )
    app.state.runs = runs
    return app


@cache
def read_page() -> str:
    """Return the page as it was built."""
    return (STATIC / "index.html").read_text(encoding="utf_8")


@cache
def read_assets() -> dict[str, bytes]:
    """Return the files beside the page: no other file is ever sent."""
    return {path.name: path.read_bytes() for path in (STATIC / "assets").iterdir() if path.suffix in TYPES}


async def page(request: Request) -> Response:
    """Send the page."""
    return HTMLResponse(read_page().replace("NONCE", request.state.nonce))


async def asset(request: Request) -> Response:
    """Send a file of the page."""
    name = request.path_params["name"]
    content = read_assets().get(name)
    if content is None:
        raise HTTPException(404)
    tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
    headers = {"Cache-Control": YEAR, "ETag": tag}
    return Response(content, media_type=TYPES[Path(name).suffix], headers=headers)


async def refuse(request: Request, error: HTTPException) -> Response:
    """Answer a request that there is nothing for."""
    return JSONResponse(failure("bad-request", error.detail), error.status_code, headers=error.headers)


async def apologize(request: Request, error: Exception) -> Response:
    """Answer when something went wrong here; the server's terminal has the details."""
    return JSONResponse(failure("internal-error", "something went wrong here, which is no fault of yours"), 500)
