"""Who may ask, from where: the host, the origin, the token, and the person that a browser stands for."""

from __future__ import annotations

import ipaddress
import re
import secrets
import socket
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sparkleene.serve.settings import LOOPBACK, Settings
from sparkleene.serve.worker import failure

ID = re.compile(r"[A-Za-z0-9_-]{32}")
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{nonce}; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class TooLargeError(Exception):
    """The body of a request is larger than any that is meant."""


class Guard:
    """Let those requests through that come from the page itself, or from somebody who has the token."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        """Guard an application by the settings."""
        self.app = app
        self.settings = settings
        self.cookie = f"sparkleene-{settings.port}"
        self.token_cookie = f"sparkleene-token-{settings.port}"
        own = {*LOOPBACK} if settings.is_loopback else {*LOOPBACK, settings.host, socket.gethostname()}
        self.names, self.given = ({name.lower() for name in names} for names in (own, settings.names))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass a request on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no other way to talk is offered
        headers = Headers(scope=scope)
        cookies = _cookies(headers.get("cookie", ""))
        refusal = self._refuse_place(scope, headers)
        if refusal is not None:
            await self._answer(refusal, scope, receive, send)
            return
        if self.settings.token is not None and not self._has_token(headers, cookies):
            await self._ask_token(scope, receive, send)
            return
        person = cookies.get(self.cookie, "")
        new = not ID.fullmatch(person)
        person = secrets.token_urlsafe(24) if new else person
        nonce = secrets.token_urlsafe(16)
        scope.setdefault("state", {}).update(person=person, nonce=nonce)

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start":
                out = MutableHeaders(raw=message["headers"])
                for name, value in HEADERS.items():
                    out.setdefault(name, value)
                page = out.get("content-type", "").startswith("text/html")
                out["Content-Security-Policy"] = POLICY.format(nonce=f" 'nonce-{nonce}'" if page else "")
                out.setdefault("Cache-Control", "no-store")
                if new:
                    out.append("Set-Cookie", _set_cookie(self.cookie, person))
                message["headers"] = out.raw
            await send(message)

        try:
            await self.app(scope, self._limit(receive), send_on)
        except TooLargeError:
            most = self.settings.limits.body
            await self._answer(
                JSONResponse(failure("limit", f"more than {most:,} bytes"), 413), scope, receive, send
            )

    # ---- from where

    def _refuse_place(self, scope: Scope, headers: Headers) -> JSONResponse | None:
        """Return a refusal for a request that names another host, or that another site sends."""
        host = headers.get("host", "")
        if len(headers.getlist("host")) != 1 or not self._is_ours(host):
            return JSONResponse(failure("bad-host", "this address is not the workbench's"), 421)
        origin = headers.get("origin")
        same = {f"{scheme}://{host}".lower() for scheme in ("http", "https")}
        if origin is not None and origin.lower() not in same:
            return JSONResponse(failure("bad-origin", "another site asks"), 403)
        site = headers.get("sec-fetch-site", "same-origin")
        page = scope["method"] in ("GET", "HEAD") and headers.get("sec-fetch-mode") == "navigate"
        if site not in ("same-origin", "none") and not (page and scope["path"] == "/"):
            return JSONResponse(failure("bad-origin", "another site asks"), 403)
        return None

    def _is_ours(self, host: str) -> bool:
        """Tell whether a Host header is an address of this server; names of others may lead here by DNS."""
        try:
            parts = urlsplit(f"//{host}")
            name, port = (parts.hostname or "").rstrip("."), parts.port
        except ValueError:
            return False
        if parts.username is not None or parts.path or parts.query or parts.fragment or not name:
            return False
        if name in self.given:
            return True  # whatever port a proxy in between has
        if self.settings.port and (port or 80) != self.settings.port:
            return False
        if name in self.names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return not self.settings.is_loopback  # a number is no name that DNS could lead here

    # ---- who

    def _has_token(self, headers: Headers, cookies: dict[str, str]) -> bool:
        wanted = (self.settings.token or "").encode()
        kind, _, said = headers.get("authorization", "").partition(" ")
        given = [cookies.get(self.token_cookie, ""), said if kind.lower() == "bearer" else ""]
        return any(secrets.compare_digest(one.encode("utf_8", "replace"), wanted) for one in given)

    async def _ask_token(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take the token from the address that was printed, and hide it; or say that it is missing."""
        query = parse_qs(scope.get("query_string", b"").decode("latin_1"))
        given = query.get("token", [""])[0]
        wanted = self.settings.token or ""
        if scope["path"] == "/" and secrets.compare_digest(given.encode("utf_8", "replace"), wanted.encode()):
            answer = RedirectResponse("/", 303)
            answer.headers.append("Set-Cookie", _set_cookie(self.token_cookie, wanted))
            await self._answer(answer, scope, receive, send)
            return
        text = "Open the address that `sparkleene serve` printed: it holds the token.\n"
        await self._answer(PlainTextResponse(text, 401), scope, receive, send)

    async def _answer(
        self,
        answer: PlainTextResponse | JSONResponse | RedirectResponse,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        answer.headers.update(HEADERS)
        answer.headers["Content-Security-Policy"] = POLICY.format(nonce="")
        answer.headers["Cache-Control"] = "no-store"
        await answer(scope, receive, send)

    def _limit(self, receive: Receive) -> Receive:
        """Return what reads a body, up to the most bytes that one may have."""
        size = 0

        async def read() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self.settings.limits.body:
                raise TooLargeError
            return message

        return read


def _cookies(text: str) -> dict[str, str]:
    try:
        return {name: one.value for name, one in SimpleCookie(text).items()}
    except CookieError:
        return {}


def _set_cookie(name: str, value: str) -> str:
    return f"{name}={value}; Path=/; HttpOnly; SameSite=Strict"
