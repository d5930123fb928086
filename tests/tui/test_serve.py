"""The dashboard in a real browser: it shows, clicks, types; and nobody else gets in."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest

from tests.eventually import eventually_async
from tests.rig import browser

WORKFLOW = """\
[[action]]
name = "count"
command = "echo {directory}"
products = ["counted"]
"""


SIZE = ("height=", "width=")


class Served(NamedTuple):
    address: str
    process: Process

    @property
    def root(self) -> str:
        return self.address.partition("?")[0]


@asynccontextmanager
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """`rowtui serve` on a small project."""
    root = tmp_path / "project"
    for name in ("one", "two", "<script>alert(1)<"):
        (root / "workspace" / name.replace("/", "")).mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "LANG": "C.UTF-8",
        "ROWTUI_LOCAL_DIR": str(tmp_path / "queue"), "TERM": "dumb",
    }  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "rowtui.cli.main", "--cluster", "local", "serve", "--read-only",
        cwd=root, env=environment, stdin=asyncio.subprocess.DEVNULL, stdout=PIPE, stderr=PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(browser.PATIENCE):
            line = (await process.stdout.readline()).decode()
        yield Served(line.split(" is at ")[1].strip(), process)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        out, errors = await process.communicate()
        assert process.returncode == 0, errors
        assert b"Traceback" not in out + errors


@pytest.mark.timeout(180)  # Chromium and a served dashboard start, a minute on a busy machine
async def test_a_browser_shows_it_clicks_it_and_types_into_it(tmp_path: Path) -> None:
    async with served(tmp_path) as server, browser.opened(tmp_path / "profile") as tab:
        await tab.tell("Page.navigate", url=server.address)
        await tab.until(lambda: b"Workflow" in tab.received)
        await tab.until(lambda: b"3 eligible" in tab.received)
        await tab.type("?")
        await tab.until(lambda: b"Everywhere" in tab.received)
        seen = len(tab.received)
        await tab.type("q")
        await tab.until(lambda: b"Workflow" in tab.received[seen:])
        seen = len(tab.received)
        box = await tab.value(
            "(() => { const b = document.querySelector('.xterm-screen').getBoundingClientRect();"
            "return [b.x, b.y, b.width, b.height]; })()"
        )
        [socket] = [one for one in tab.asked if one.startswith("ws:")]
        lines, columns = (int(socket.partition(name)[2].partition("&")[0]) for name in SIZE)
        # The second line has the tabs: `[1 Status]   2 Groups`.
        await tab.click(box[0] + 15.5 * box[2] / columns, box[1] + 1.5 * box[3] / lines)
        await tab.until(lambda: b"Groups of count" in tab.received[seen:])
        picture = await tab.picture()
        assert picture.startswith(b"\x89PNG")
        assert len(picture) > 20_000  # not an empty page
        outside = [one for one in tab.asked if "://127.0.0.1:" not in one and one != "about:blank"]
        assert not [one for one in outside if not one.startswith("data:")]
        assert not [text for text in tab.complaints if "Refused" in text or "404" in text]
        assert "token" not in await tab.value("window.location.href")

        seen = len(tab.received)
        await tab.type("1q")
        closed = "document.body.classList.contains('-closed')"
        await eventually_async(lambda: tab.value(closed))
        assert await tab.value("document.querySelector('.closed').innerText.includes('ended')")


async def heard(tab: browser.Tab) -> dict[str, list[str]]:
    """The names by role that the page offers to a screen reader."""
    found: dict[str, list[str]] = {}
    for node in (await tab.tell("Accessibility.getFullAXTree"))["nodes"]:
        if not node["ignored"]:
            name = node.get("name", {}).get("value", "")
            found.setdefault(node["role"]["value"], []).append(name)
    return found


async def hears(tab: browser.Tab, role: str, *names: str) -> dict[str, list[str]]:
    """Until the page offers these names."""
    return await eventually_async(
        lambda: heard(tab), lambda found: set(names) <= set(found.get(role, ())), every=0.1
    )


@pytest.mark.timeout(180)
async def test_a_screen_reader_finds_headings_and_tables_beside_the_terminal(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as server, browser.opened(tmp_path / "profile") as tab:
        await tab.tell("Accessibility.enable")
        await tab.tell("Page.navigate", url=server.address)
        status = await hears(tab, "cell", "0%")
        assert {"Status", "Workflow", "count"} <= set(status["heading"])
        assert "Workflow" in status["table"]
        headings = {"Action", "Completed", "Submitted", "Eligible", "Waiting", "Total"}
        assert headings <= set(status["columnheader"])
        assert "count" in status["rowheader"]
        assert {"0", "3", "0%"} <= set(status["cell"])
        assert "3 eligible" in await tab.value("document.querySelector('#answer').innerText")
        assert "count, Completed 0, Submitted 0, Eligible 3" in await tab.value(
            "document.querySelector('#row').innerText"
        )
        # The name of a directory is a text, and never a part of the page.
        await tab.type("2d")
        names = ("<script>alert(1)<", "one", "two")
        groups = await hears(tab, "rowheader", *names)
        assert "Groups" in groups["heading"]
        assert "Status" not in groups["heading"]
        await tab.type("?")
        await hears(tab, "heading", "Keys of 2 Groups")
        assert not await tab.value("document.querySelectorAll('#outline script').length")
        # On a wide page the tables take no room, until a key that the terminal does not take.
        room = "document.querySelector('#outline').getBoundingClientRect().height"
        inside = "document.activeElement.id === 'outline'"
        assert await tab.value(room) <= 2
        for shown in (True, False):
            for kind in ("rawKeyDown", "keyUp"):
                await tab.tell(
                    "Input.dispatchKeyEvent", type=kind, key="t", code="KeyT", modifiers=1
                )
            assert (await tab.value(room) > 100) is shown
            assert await tab.value(inside) is shown


@pytest.mark.timeout(180)
async def test_a_page_of_360_pixels_shows_terminal_and_tables_without_scrolling_sideways(
    tmp_path: Path,
) -> None:
    async with served(tmp_path) as server, browser.opened(tmp_path / "profile") as tab:
        await tab.tell(
            "Emulation.setDeviceMetricsOverride",
            width=360, height=740, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        await tab.tell("Accessibility.enable")
        await tab.tell("Page.navigate", url=server.address)
        found = await hears(tab, "rowheader", "count")
        assert {"Status", "Workflow"} <= set(found["heading"])
        assert await tab.value("document.documentElement.scrollWidth") == 360
        for part in ("#terminal", "#outline"):
            box = await tab.value(
                f"(() => {{ const b = document.querySelector('{part}').getBoundingClientRect();"
                "return [b.left, b.right, b.height]; })()"
            )
            assert box[0] >= 0
            assert box[1] <= 360
            assert box[2] > 200
        [socket] = [one for one in tab.asked if one.startswith("ws:")]
        assert int(socket.partition("width=")[2].partition("&")[0]) >= 40
        assert len(await tab.picture()) > 10_000


async def test_nobody_gets_in_without_the_token_or_from_another_site(tmp_path: Path) -> None:
    async with served(tmp_path) as server, aiohttp.ClientSession() as session:

        async def status(path: str, **options: object) -> int:
            url = server.root + path
            async with session.get(url, allow_redirects=False, **options) as answer:  # type: ignore[arg-type]
                body = await answer.read()
                assert b"Traceback" not in body
                return answer.status

        token = server.address.partition("token=")[2]
        for path in ("", "ws", "static/js/textual.js", "?token=", "?token=" + token[:-1], "x"):
            assert await status(path) == 403, path
        async with session.get(server.address, allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (303, "/")
            cookie = answer.headers["Set-Cookie"]
            assert "HttpOnly" in cookie
            assert "SameSite=Strict" in cookie
        session.cookie_jar.clear()
        with_cookie = {"Cookie": cookie.partition(";")[0]}
        # the address works once; the browser that used it may use it again
        assert await status("?token=" + token) == 403
        assert await status("?token=" + token, headers=with_cookie) == 303
        assert await status("", headers=with_cookie) == 200
        assert await status("static/js/textual.js", headers=with_cookie) == 200
        for more in (
            {"Host": "evil.example"},  # a name that was made to point here
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
        ):
            assert await status("", headers=with_cookie | more) == 403
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await session.ws_connect(server.root + "ws", headers=with_cookie)
        assert refused.value.status == 403
        async with session.get(server.root, headers=with_cookie) as answer:
            assert "googleapis" not in await answer.text()
            assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


async def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    async with served(tmp_path) as server:
        port = server.root.rsplit(":", 1)[1].strip("/")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "rowtui.cli.main", "serve", "--port", port,
            cwd=tmp_path / "project", stdout=PIPE, stderr=PIPE,
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        )  # fmt: skip
        _, errors = await process.communicate()
        assert process.returncode == 1
        assert f"port {port} cannot be used".encode() in errors
