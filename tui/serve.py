"""`rowtui serve`: the dashboard in a browser of this machine, from local files alone.

textual-serve transports a dashboard's screen over a web socket; this module restricts access to it,
and adds the outline of the screen (`tui/outline`), which the page shows as headings and tables.
The server listens on the loopback interface, and every request needs a secret: the token of the
address, which works once and is replaced by a cookie at once, so that an address in a browser
history gives no access. Pages of other sites can neither read nor connect: the names that the
browser used (Host, Origin) must be those of this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from urllib.parse import urlsplit

import aiohttp_jinja2
import jinja2
import textual_serve.server
from aiohttp import web
from rowtui.core.base.errors import RowtuiError
from textual_serve.app_service import AppService

HOST = "127.0.0.1"
NAMES = ("127.0.0.1", "localhost")
"""The server's names for a browser on this machine, or behind a tunnel to it."""

MOST_SESSIONS = 8
"""The largest number of simultaneous tabs; each has a dashboard and an engine of its own."""

STOP_SECONDS = 5.0
"""Seconds for which dashboards may run after the server was stopped."""

_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self' {socket}; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'"
)

_USED = (
    "This address was used already, and works once. Go on in the browser that used it; for another "
    "browser, end `rowtui serve` and start it again.\n"
)


class OutlinedService(AppService):
    """One dashboard of a tab; it passes the outline of its screen on to the page."""

    async def on_meta(self, data: bytes) -> None:
        """Handle a message of the dashboard beside its screen."""
        about = json.loads(data)
        if about["type"] == "outline":
            await self.remote_write_str(json.dumps(["outline", about["outline"]]))
        else:
            await super().on_meta(data)


# The server creates the service of a tab by this name, and has no argument for another class.
vars(textual_serve.server)["AppService"] = OutlinedService

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class DashboardServer(textual_serve.server.Server):
    """A server of the program that `command` (a shell line) starts; `token` opens a page."""

    def __init__(self, command: str, title: str, token: str = "") -> None:
        super().__init__(command, host=HOST, port=0, title=title)
        self.token = token or secrets.token_urlsafe(24)
        self._cookie_secret = secrets.token_urlsafe(24)
        self._cookie = "rowtui"
        self._token_used = False
        self._sessions = 0

    async def _make_app(self) -> web.Application:
        app = web.Application(middlewares=[self._guard])
        aiohttp_jinja2.setup(app, loader=jinja2.PackageLoader("rowtui.tui", "."))
        app.add_routes(
            [
                web.get("/", self.handle_index, name="index"),
                web.get("/ws", self.handle_websocket, name="websocket"),
                web.get("/download/{key}", self.handle_download, name="download"),
                web.static("/static", self.statics_path, name="static"),
            ]
        )
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse every request except from a local browser that has, or had, the token."""
        if urlsplit(f"//{request.host}").hostname not in NAMES:
            raise web.HTTPForbidden(text="This server has another name.\n")
        origin = request.headers.get("Origin")
        if origin is not None and origin != f"http://{request.host}":
            raise web.HTTPForbidden(text="Another site asked.\n")
        given = request.query.get("token")
        if given is not None and request.path == "/":
            if not self._is_known(request):
                if not _same(given, self.token):
                    raise web.HTTPForbidden(text="That token is not this server's.\n")
                if self._token_used:
                    raise web.HTTPForbidden(text=_USED)
                self._token_used = True
            answer = web.HTTPSeeOther("/")
            answer.set_cookie(
                self._cookie, self._cookie_secret, httponly=True, samesite="Strict", path="/"
            )
            raise answer
        if not self._is_known(request):
            raise web.HTTPForbidden(text="Open the address that `rowtui serve` printed.\n")
        if request.path == "/ws" and origin is None:
            raise web.HTTPForbidden(text="This is for browsers.\n")
        response = await handler(request)
        if not response.prepared:
            response.headers.update(
                {
                    "Content-Security-Policy": _POLICY.format(socket=f"ws://{request.host}"),
                    "Cache-Control": "no-store",
                    "Referrer-Policy": "no-referrer",
                    "X-Content-Type-Options": "nosniff",
                    "X-Frame-Options": "DENY",
                }
            )
        return response

    def _is_known(self, request: web.Request) -> bool:
        """Whether this browser has used the token."""
        return _same(request.cookies.get(self._cookie, ""), self._cookie_secret)

    @aiohttp_jinja2.template("serve.html")
    async def handle_index(self, request: web.Request) -> dict[str, object]:
        """Return the values for the page.

        The page uses the address that the browser used, because there may be a tunnel.
        """
        size = request.query.get("fontsize", "16")
        return {
            "title": self.title,
            "socket": f"ws://{request.host}/ws",
            "font_size": min(60, max(6, int(size))) if size.isdecimal() and len(size) < 4 else 16,
        }

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Serve one tab's dashboard, until the tab is closed or the user leaves."""
        if self._sessions >= MOST_SESSIONS:
            raise web.HTTPServiceUnavailable(text="Too many tabs are open.\n")
        self._sessions += 1
        try:
            return await super().handle_websocket(request)
        finally:
            self._sessions -= 1

    async def run(self, port: int, started: Callable[[str], None]) -> None:
        """Serve until SIGINT, SIGTERM or SIGHUP. `started` is called with the address with the
        token.

        Raises: RowtuiError if the port is taken.
        """
        # This logger would print tracebacks.
        logging.getLogger("textual-serve").setLevel(logging.CRITICAL)
        with _listening(port) as listener:
            self.port = listener.getsockname()[1]
            self._cookie = f"rowtui-{self.port}"
            # There is no access log, because the first address contains the token.
            runner = web.AppRunner(await self._make_app(), access_log=None)
            runner_stop = asyncio.Event()
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, runner_stop.set)
            await runner.setup()
            try:
                site = web.SockSite(runner, listener, shutdown_timeout=STOP_SECONDS)
                await site.start()
                started(f"http://{HOST}:{self.port}/?token={self.token}")
                await runner_stop.wait()
            finally:
                await runner.cleanup()


@contextlib.contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError as error:
            raise RowtuiError(
                f"port {port} cannot be used: {error.strerror or error}",
                "leave --port out: a free one is taken",
            ) from None
        listener.listen(64)
        yield listener
    finally:
        listener.close()


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())
