"""A workbench in a thread, and people who ask it."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from sparkleene.serve.app import make_app
from sparkleene.serve.settings import Settings

STOCK = {"name": "generate:stock", "events": 3000}
FALLING = """RETURN sector, COUNT(*) PATTERN Stock S+
WHERE [company, sector] AND S.price > NEXT(S).price
GROUP-BY sector WITHIN 10 minutes SLIDE 10 minutes"""


def free_socket() -> socket.socket:
    found = socket.socket()
    found.bind(("127.0.0.1", 0))
    found.listen(512)
    return found


@contextmanager
def serving(**settings: Any) -> Iterator[str]:
    """Serve at a free port of loopback; yield the address."""
    listener = free_socket()
    port = listener.getsockname()[1]
    app = make_app(Settings(port=port, **settings))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


class Person:
    """Somebody with a browser."""

    def __init__(self, address: str, **options: Any) -> None:
        self.http = httpx.Client(base_url=address, timeout=60, **options)

    def get(self, path: str, **more: Any) -> httpx.Response:
        return self.http.get(path, **more)

    def post(self, path: str, body: Any) -> httpx.Response:
        return self.http.post(path, json=body)

    def check(self, text: str, data: Any = STOCK, **more: Any) -> dict[str, Any]:
        found = self.post("/api/check", {"data": data, "text": text, **more})
        assert found.status_code == 200, found.text
        return dict(found.json())

    def begin(self, kind: str, **body: Any) -> str:
        found = self.post("/api/runs", {"kind": kind, "data": STOCK, **body})
        assert found.status_code == 202, found.text
        return str(found.json()["id"])

    def follow(self, id: str) -> Iterator[dict[str, Any]]:
        """Yield what a run tells; last of all what became of it."""
        with self.http.stream("GET", f"/api/runs/{id}/events") as events:
            for line in events.iter_lines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    def run(self, kind: str, **body: Any) -> dict[str, Any]:
        """Run to the end, and return what became of it."""
        *_, last = self.follow(self.begin(kind, **body))
        return last

    def result(self, kind: str, **body: Any) -> dict[str, Any]:
        """Run to the end, and return what it found."""
        last = self.run(kind, **body)
        assert last["state"] == "done", last
        return {"id": last["id"], **last["result"]}

    def wait(self, id: str, *states: str) -> dict[str, Any]:
        """Wait until a run is in one of some states."""
        for _ in range(600):
            found = self.get(f"/api/runs/{id}").json()
            if found["state"] in states:
                return dict(found)
            time.sleep(0.02)
        raise AssertionError(found)
