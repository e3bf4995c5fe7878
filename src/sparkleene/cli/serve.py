"""The command that opens the workbench."""

from __future__ import annotations

import asyncio
import secrets
import socket
import sys
import threading
import webbrowser
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from sparkleene.cli.failures import usage_error
from sparkleene.cli.progress import note


def serve(
    data: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATA]...", help="Files and folders that may be read, and kafka://HOST:PORT/TOPIC."
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; elsewhere than here a token is needed.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes one that is free.")] = 8470,
    name: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="A name that browsers know this machine by; repeat it.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page.")] = True,
    spark: Annotated[bool, typer.Option(help="Offer Spark, if PySpark is installed.")] = True,
    schema: Annotated[
        str | None, typer.Option(metavar="COLUMNS", help="What a topic's JSON has: 'time timestamp, type string'.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1, help="How long a run may take.")] = 60.0,
    memory: Annotated[float, typer.Option(min=0.5, metavar="GIB", help="How much memory a process may use.")] = 4.0,
    runs: Annotated[int, typer.Option(min=1, help="How many runs a person may have at once.")] = 3,
    processes: Annotated[
        int | None, typer.Option(min=1, help="How many queries run at once; by default one for each core.")
    ] = None,
) -> None:
    """Open a workbench in the browser: ask, see, watch.

    It reads generated streams, and files below DATA; nothing else. Ctrl-C ends it.
    """
    missing = [module for module in ("starlette", "uvicorn") if find_spec(module) is None]
    if missing:
        help = "pip install 'sparkleene[serve]', in a checkout '.[serve]'"
        raise usage_error(f"the workbench needs {' and '.join(missing)}", help, code="missing-serve")
    from sparkleene.serve.settings import GIB, LOOPBACK, Limits, Settings, find_roots, find_topics
    from sparkleene.threads import threads_of

    given = data or []
    topics = find_topics([one for one in given if one.startswith("kafka://")], schema)
    roots = find_roots(one for one in given if not one.startswith("kafka://"))
    listener = listen(host, port)
    port = listener.getsockname()[1]
    token = None if host in LOOPBACK else secrets.token_urlsafe(24)
    limits = Limits(seconds=seconds, memory=int(memory * GIB), runs=runs)
    settings = Settings(roots, topics, host, port, tuple(name or ()), token, threads_of(processes), limits, spark)
    run_server(settings, listener, browser)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or raise why there is none."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        found = socket.socket(family)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(512)  # whoever asks before all is ready waits
    except OSError as error:
        help = "choose another: --port 0 takes one that is free"
        raise usage_error(f"nothing can listen at {host}:{port}: {error.strerror}", help) from None
    return found


def address(host: str, port: int, token: str | None) -> str:
    """Return the address of the page.

    >>> address("::1", 8470, None), address("0.0.0.0", 80, "t")
    ('http://[::1]:8470/', 'http://0.0.0.0:80/?token=t')
    """
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/{'' if token is None else f'?token={token}'}"


def run_server(settings: Any, listener: socket.socket, browser: bool) -> None:
    """Serve until Ctrl-C."""
    import uvicorn

    from sparkleene.serve.app import make_app

    config = uvicorn.Config(
        make_app(settings),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=1,
        limit_concurrency=500,
        h11_max_incomplete_event_size=64 * 1024,
    )
    server = uvicorn.Server(config)
    where = address(settings.host, settings.port, settings.token)
    print(f"Sparkleene workbench at {where}", flush=True)
    note("Ctrl-C ends it")
    if browser and sys.stdout.isatty():
        threading.Timer(0.5, webbrowser.open, [where]).start()
    asyncio.run(server.serve(sockets=[listener]))
