"""A real Chromium without a window, driven through its own debugging protocol."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

PATIENCE = 60.0
"""Seconds before a test gives up."""


def chromium() -> str:
    """The program; the tests' set-up installs it."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    raise RuntimeError("no Chromium is installed: apt-get install chromium")


class Tab:
    """One page: what it asked for, and every byte that its web sockets carried."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, page: Path) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._news = asyncio.Event()
        self.asked: list[str] = []  # addresses
        self.complaints: list[str] = []
        self.received = b""
        self.folder = page

    async def listen(self) -> None:
        """Take what the browser says, until it ends."""
        async for message in self._socket:
            event = message.json()
            if "id" in event:
                self._waiting.pop(event["id"]).set_result(event)
                continue
            self._take(event["method"], event["params"])
            self._news.set()

    def _take(self, method: str, about: dict[str, Any]) -> None:
        if method in ("Network.requestWillBeSent", "Network.webSocketCreated"):
            self.asked.append(about["request"]["url"] if "request" in about else about["url"])
        elif method == "Network.webSocketFrameReceived":
            frame = about["response"]
            data = frame["payloadData"]
            self.received += base64.b64decode(data) if frame["opcode"] == 2 else data.encode()
        elif method == "Log.entryAdded":
            self.complaints.append(about["entry"]["text"])

    async def tell(self, method: str, **about: Any) -> dict[str, Any]:
        """One command of the protocol, and its result."""
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": about})
        async with asyncio.timeout(PATIENCE):
            event = await answer
        assert "error" not in event, event
        result: dict[str, Any] = event["result"]
        return result

    async def until(self, true: Callable[[], object]) -> None:
        """Until something that the browser said makes it so."""
        async with asyncio.timeout(PATIENCE):
            while not true():
                self._news.clear()
                await self._news.wait()

    async def value(self, expression: str) -> Any:
        """What a script of the page gives."""
        found = await self.tell("Runtime.evaluate", expression=expression, returnByValue=True)
        return found["result"].get("value")

    async def type(self, text: str) -> None:
        """Type it, key by key."""
        for key in text:
            for kind in ("keyDown", "keyUp"):
                typed = {"text": key} if kind == "keyDown" else {}
                await self.tell("Input.dispatchKeyEvent", type=kind, key=key, **typed)

    async def click(self, x: float, y: float) -> None:
        """Click there, in pixels."""
        for kind in ("mousePressed", "mouseReleased"):
            await self.tell(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )

    async def picture(self) -> bytes:
        """What is on the page, as a PNG."""
        return base64.b64decode((await self.tell("Page.captureScreenshot"))["data"])


@asynccontextmanager
async def opened(folder: Path, width: int = 1200, height: int = 800) -> AsyncIterator[Tab]:
    """A browser with one empty tab; `folder` becomes its profile."""
    process = await asyncio.create_subprocess_exec(
        chromium(),
        "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--no-first-run", "--disable-extensions", "--disable-background-networking",
        "--remote-debugging-port=0", "--remote-debugging-address=127.0.0.1",
        f"--user-data-dir={folder}", f"--window-size={width},{height}", "about:blank",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    drain: asyncio.Task[bytes] | None = None
    try:
        assert process.stderr is not None
        async with asyncio.timeout(PATIENCE):
            while b"DevTools listening on " not in (line := await process.stderr.readline()):
                assert line, "Chromium ended before it listened"
        drain = asyncio.create_task(process.stderr.read())
        port = line.decode().split("ws://")[1].split("/")[0]
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://{port}/json/list") as response:
                pages = [one for one in await response.json() if one["type"] == "page"]
            async with session.ws_connect(
                pages[0]["webSocketDebuggerUrl"], max_msg_size=1 << 26
            ) as socket:
                tab = Tab(socket, folder)
                listening = asyncio.create_task(tab.listen())
                for domain in ("Network", "Page", "Log", "Runtime"):
                    await tab.tell(f"{domain}.enable")
                await tab.tell("Emulation.setFocusEmulationEnabled", enabled=True)
                yield tab
                with contextlib.suppress(aiohttp.ClientError, ConnectionError):
                    await tab.tell("Browser.close")
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        await process.wait()
        if drain is not None:
            await drain
