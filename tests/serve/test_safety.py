"""Nobody reads what was not given, asks from another site, sees another person's runs, or takes too much."""

from __future__ import annotations

import hashlib
import re
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from tests.serve.server import FALLING, STOCK, Person, serving

from sparkleene.errors import QueryError
from sparkleene.serve.app import STATIC
from sparkleene.serve.settings import Limits

SLOW = "RETURN COUNT(*) PATTERN Stock S+ WHERE S.price * NEXT(S).volume > NEXT(S).price * S.volume"


def error_of(answer: httpx.Response) -> str:
    return str(answer.json()["errors"][0]["code"])


# ---- paths

OUTSIDE = [
    "../other/secret.parquet",
    "given/../../other/secret.parquet",
    "given/..",
    "given/./clicks.parquet",
    "other/secret.parquet",
    "given//clicks.parquet",
    "/etc/passwd",
    "given//etc/passwd",
    "given/link.parquet",
    "given/linked",
    "given/linked/secret.parquet",
    "given/mixed",
    "given/mixed/inner.parquet",
    "given/*.parquet",
    "given/cl?cks.parquet",
    "given/{clicks,link}.parquet",
    "given/.hidden.csv",
    "given/clicks.parquet/",
    "given\\clicks.parquet",
    "~/x",
    "",
    "given/" + "a" * 300,
    "given/" + "a/" * 300,
    "s3://bucket/x",
    "http://127.0.0.1/x",
    "given/[c]licks.parquet",
    "given/notes.txt",
    "given/%2e%2e/other/secret.parquet",
]


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_else_is_read(person: Person, name: str, folder: Path) -> None:
    answer = person.post("/api/look", {"data": {"name": f"file:{name}"}})
    assert answer.status_code == 400, answer.text
    assert str(folder.parent) not in answer.text and "Traceback" not in answer.text
    said = {one["message"] for one in answer.json()["errors"]}
    if name != "given/notes.txt":
        assert said == {f"there is no data '{name}' here"}


def test_no_links_are_given(tmp_path: Path) -> None:
    from sparkleene.serve.settings import find_roots

    with pytest.raises(QueryError, match="there is no file"):
        find_roots([str(tmp_path / "nothing")])


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../index.html",
        "/assets/%2e%2e/app.py",
        "/assets/..%2fapp.py",
        "/assets//etc/passwd",
        "/app.py",
        "/static/index.html",
        "/assets/index.html",
        "/assets/digest",
    ],
)
def test_no_other_file_is_sent(address: str, path: str) -> None:
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname, parts.port), 5) as talk:
        talk.sendall(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: talk.recv(65536), b""))
    assert answer.split(b" ")[1] == b"404"


def test_errors_name_no_paths(person: Person, folder: Path) -> None:
    (folder / "broken.parquet").write_bytes(b"PAR1 is not all of it")
    answer = person.post("/api/look", {"data": {"name": "file:given/broken.parquet"}})
    assert answer.status_code == 400 and str(folder) not in answer.text and "given/broken.parquet" in answer.text


# ---- hosts, origins, tokens


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example:{port}",
        "evil.example:{port}",
        "127.0.0.1:1",
        "127.0.0.1",
        "user@127.0.0.1:{port}",
        "",
        "192.168.0.7:{port}",
        "127.0.0.1:{port}/x",
    ],
)
def test_other_hosts(address: str, host: str) -> None:
    named = host.format(port=urlsplit(address).port)
    for path in ("/", "/api/about"):
        answer = httpx.get(f"{address}{path}", headers={"Host": named})
        assert answer.status_code in (400, 421), named
        assert "examples" not in answer.text


def test_own_hosts(address: str) -> None:
    port = urlsplit(address).port
    for host in (f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
        assert httpx.get(f"{address}/api/about", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://localhost:1"},
    ],
)
def test_other_sites(address: str, headers: dict[str, str]) -> None:
    person = Person(address)
    for answer in (
        person.http.post("/api/runs", json={"kind": "query", "data": STOCK, "text": FALLING}, headers=headers),
        person.http.get("/api/about", headers=headers),
        person.http.options("/api/runs", headers={**headers, "Access-Control-Request-Method": "POST"}),
    ):
        assert answer.status_code == 403 and error_of(answer) == "bad-origin"
        assert not any(name.startswith("access-control") for name in answer.headers)


def test_the_page_itself(address: str) -> None:
    person = Person(address)
    assert (
        person.http.get("/api/about", headers={"Origin": address, "Sec-Fetch-Site": "same-origin"}).status_code
        == 200
    )
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}  # a link on another page
    assert person.http.get("/", headers=link).status_code == 200
    assert person.http.get("/api/about", headers=link).status_code == 403


def test_only_json_is_taken(person: Person) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = person.http.post("/api/runs", content='{"kind":"query"}', headers={"Content-Type": kind})
        assert answer.status_code == 400 and error_of(answer) == "bad-request"
    for text in ("{", "[1]", "NaN", '{"kind": NaN}', "[" * 100_000, "\xff", '"\\ud800"'):
        answer = person.http.post(
            "/api/look", content=text.encode("latin_1"), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 400, text[:20]


def test_policy(address: str) -> None:
    page = httpx.get(address)
    policy = page.headers["content-security-policy"]
    nonce = re.search(r'csp-nonce" content="([^"]+)"', page.text)
    assert nonce and f"'nonce-{nonce[1]}'" in policy and nonce[1] != "NONCE"
    assert "unsafe" not in policy and "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert httpx.get(address).headers["content-security-policy"] != policy
    assert not re.search(r"<script(?![^>]*src=)|\son\w+=|style=|<style", page.text)
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert addresses and all(one.startswith(("/assets/", "#")) for one in addresses)
    for one in addresses:
        if one.startswith("/"):
            found = httpx.get(address + one)
            assert found.status_code == 200 and found.headers["x-content-type-options"] == "nosniff"
    cookie = page.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie


def test_token() -> None:
    with serving(token="right", processes=1, host="0.0.0.0", names=("events.example",)) as address:
        port = urlsplit(address).port
        assert httpx.get(f"{address}/").status_code == 401
        assert httpx.get(f"{address}/api/about").status_code == 401
        assert httpx.get(f"{address}/?token=wrong").status_code == 401
        assert httpx.get(f"{address}/api/about?token=right").status_code == 401  # only the page takes it
        assert httpx.get(f"{address}/api/about", headers={"Authorization": "Bearer right"}).status_code == 200
        person = Person(address)
        answer = person.get("/?token=right")
        assert answer.status_code == 303 and answer.headers["location"] == "/" and "right" not in answer.text
        assert person.get("/api/about").status_code == 200
        allowed = {"Authorization": "Bearer right"}
        hosts = {"events.example": 200, "evil.example": 421, "10.1.2.3": 200}
        for host, code in hosts.items():
            found = httpx.get(f"{address}/api/about", headers={**allowed, "Host": f"{host}:{port}"})
            assert found.status_code == code, host


# ---- people, and limits


def test_people_do_not_see_each_other(address: str) -> None:
    one, other = Person(address), Person(address)
    id = one.begin("query", text=FALLING)
    one.wait(id, "done")
    for path in ("", "/events", "/rows", "/chart", "/result.csv", "/result.parquet"):
        assert one.get(f"/api/runs/{id}{path}").status_code == 200
        assert other.get(f"/api/runs/{id}{path}").status_code == 404
    assert other.http.delete(f"/api/runs/{id}").status_code == 404
    assert other.post(f"/api/runs/{id}/pause", {"paused": True}).status_code == 404
    forged = httpx.get(f"{address}/api/runs/{id}", cookies={f"sparkleene-{urlsplit(address).port}": "x" * 32})
    assert forged.status_code == 404


def test_cancel(person: Person) -> None:
    id = person.begin("query", text=SLOW, data={"name": "generate:stock", "events": 400_000})
    person.wait(id, "running")
    begin = time.monotonic()
    assert person.http.delete(f"/api/runs/{id}").json()["state"] == "cancelled"
    assert time.monotonic() - begin < 2
    assert person.result("query", text=FALLING)["rows"] > 0  # there is a process again


def test_limits() -> None:
    limits = Limits(seconds=2, rows=5, runs=1, events=500_000, memory=1 << 29, body=2000, kept=2)
    with serving(limits=limits, processes=1, spark=False) as address:
        person, other = Person(address), Person(address)
        person.result("query", text="RETURN COUNT(*) PATTERN Stock S+")  # the process is there
        heavy = {"name": "generate:stock", "events": 400_000}
        id = person.begin("query", text=SLOW, data=heavy)
        answer = person.post("/api/runs", {"kind": "query", "data": STOCK, "text": FALLING})
        assert answer.status_code == 429 and error_of(answer) == "limit"
        waiting = other.begin("query", text="RETURN COUNT(*) PATTERN Stock S+")  # others wait their turn
        late = person.wait(id, "failed")
        assert late["result"]["errors"][0]["message"] == "it took more than 2 seconds"
        other.wait(waiting, "done")
        many = person.run("query", text=FALLING)
        assert many["state"] == "failed" and "rows" in many["result"]["errors"][0]["message"]
        more = person.run(
            "query", text="RETURN COUNT(*) PATTERN Stock S+", data={"name": "generate:stock", "events": 600_000}
        )
        assert more["result"]["errors"][0]["code"] == "limit"
        large = person.post("/api/check", {"data": STOCK, "text": "x" * 3000})
        assert large.status_code == 413
        spark = person.post("/api/runs", {"kind": "query", "data": STOCK, "text": FALLING, "engine": "spark"})
        assert spark.status_code == 400
        kept = [person.result("query", text="RETURN COUNT(*) PATTERN Stock S+")["id"] for _ in range(3)]
        assert [person.get(f"/api/runs/{one}").status_code for one in kept] == [404, 200, 200]


def test_memory() -> None:
    with serving(limits=Limits(memory=256 << 20, seconds=20), processes=1) as address:
        person = Person(address)
        text = "RETURN company, COUNT(*) PATTERN Stock S+ GROUP-BY company WITHIN 10 minutes SLIDE 250 ms"
        found = person.run("query", text=text, data={"name": "generate:stock", "events": 300_000})
        assert found["state"] == "failed" and found["result"]["errors"][0]["code"] == "limit", found
        assert person.result("query", text="RETURN COUNT(*) PATTERN Stock S+")["rows"] == 1


def test_live_runs_end_when_nobody_looks() -> None:
    with serving(limits=Limits(unwatched=0.5), processes=1) as address:
        person = Person(address)
        id = person.begin("live", text=FALLING, speed=1)
        person.wait(id, "running")
        assert person.wait(id, "cancelled")["state"] == "cancelled"


# ---- the page belongs to its sources


def test_the_page_was_built_from_these_sources() -> None:
    base = Path(__file__).parents[2] / "workbench"
    names = ["index.html", "package.json", "package-lock.json", "vite.config.js"]
    names += [
        path.relative_to(base).as_posix()
        for kind in ("src", "public")
        for path in (base / kind).rglob("*")
        if path.is_file()
    ]
    hash = hashlib.sha256()
    for name in sorted(names):
        hash.update(f"{name}\0".encode() + (base / name).read_bytes() + b"\0")
    assert (STATIC / "digest").read_text().strip() == hash.hexdigest(), "run `make page`"
    assert '"resolved"' not in (base / "package-lock.json").read_text()


def test_the_page_is_small_and_asks_nobody() -> None:
    import gzip

    files = [path for path in STATIC.rglob("*") if path.is_file()]
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < 300_000
    for path in files:
        found = set(re.findall(r"https?://[\w.-]+", path.read_text(encoding="utf_8")))
        assert found <= {"http://www.w3.org"}, (path.name, found)
