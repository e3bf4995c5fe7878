"""A workbench, and Chromium driven by Playwright; where one of these is missing, one line says so."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sparkleene.generators import generate

ROOT = Path(__file__).parents[2]
AXE = ROOT / "workbench" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def find_chromium() -> str:
    """Return the browser of the system; install it where that can be done, else skip."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None and shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        subprocess.run("apt-get update -qq && apt-get install -y -qq chromium", shell=True, capture_output=True)
        found = shutil.which("chromium")
    if found is None:
        pytest.skip("no Chromium here: apt-get install chromium, or put one on PATH")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="no Playwright here: pip install playwright")
    path = find_chromium()
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("browser") / "events"
    folder.mkdir()
    import pyarrow.parquet as pq

    pq.write_table(generate("clicks", 3000, rate=2), folder / "clicks.parquet")
    command = [sys.executable, "-m", "sparkleene", "serve", str(folder), "--port", "0", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    line = server.stdout.readline()
    found = re.search(r"http://\S+", line)
    assert found, line
    yield found[0]
    server.terminate()
    server.wait(20)


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """Return a new page of a new person; it fails if anything goes wrong in the page, or asks another host."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    found = context.new_page()
    wrong: list[str] = []
    found.on("console", lambda one: wrong.append(one.text) if one.type in ("error", "warning") else None)
    found.on("pageerror", lambda one: wrong.append(str(one)))
    found.on("request", lambda one: None if one.url.startswith(address) else wrong.append(one.url))
    found.set_default_timeout(20_000)
    yield found
    context.close()
    assert not [one for one in wrong if "status of 4" not in one]
