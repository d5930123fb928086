"""Names that nobody likes, and trees of real files."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.login import NoUser, SshTarget
from rowtui.core.clusters.transports.openssh_transport import OpensshTransport
from rowtui.core.mirror.compare import compare
from rowtui.core.mirror.listing import list_here, list_there
from rowtui.core.mirror.model import WantedFiles
from rowtui.core.mirror.transfer.arriving import FileTransfer, TransferProgress
from rowtui.core.mirror.transfer.plain_files import PlainFiles
from rowtui.core.mirror.transfer.rsync_files import RsyncFiles

from tests.rig.login import LoginNode

EVERYTHING = WantedFiles(("",))

HOSTILE = (
    "plain.txt",
    "with space",
    "quote's",
    'double"quote',
    "new\nline",
    "ends in newline\n",
    "-leading dash",
    "--files-from=x",
    "#comment",
    "; comment",
    "esc\x1b[31mape",
    "back\\slash",
    "back\\nslash",
    "not\udcffutf8",
    "ümläut",
    "star*",
    "[x]",
    "$(touch gone)",
    "`touch gone`",
    "host:path",
    "!bang",
    "~",
    "%s%n",
    "tab\tand\rreturn",
    "a" * 255,
)


def fill(root: Path, names: tuple[str, ...] = HOSTILE) -> dict[str, bytes]:
    """Files with these names, at the top and in a folder of each name; what they hold."""
    made = {}
    for number, name in enumerate(names):
        for path in (name, f"in/{name}", f"in {name[:200]}/{name}"):
            data = b"%d " % number + os.fsencode(path)
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            os.utime(place, ns=(1, 1_600_000_000_123_456_789 + number))
            made[path] = data
    return made


def content(root: Path) -> dict[str, bytes]:
    """All files of a tree and what they hold; links as what they lead to."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            place = Path(folder) / name
            path = os.path.relpath(place, root)
            link = place.is_symlink()
            found[path] = b"-> " + os.fsencode(place.readlink()) if link else place.read_bytes()
    return found


class Way:
    """One way of copying, between a folder here and one behind a real login node."""

    def __init__(self, login: LoginNode, folder: Path, transport: Transport, kind: str) -> None:
        self.login = login
        self.transport = transport
        self.kind = kind
        self.here = folder / "here"
        self.there = folder / "the'r e\n"
        self.here.mkdir()
        self.there.mkdir()

    def files(self) -> FileTransfer:
        if self.kind.startswith("rsync"):
            return RsyncFiles(self.here, self.transport, str(self.there), "alpha")
        return PlainFiles(self.here, self.transport, str(self.there), "alpha")

    async def send(self) -> list[TransferProgress]:
        plan = compare(list_here(self.here, EVERYTHING).files, {}, {})
        return [progress async for progress in self.files().send(plan.send)]

    async def fetch(self) -> list[TransferProgress]:
        listing = await list_there(self.transport, str(self.there), EVERYTHING, "alpha")
        plan = compare({}, listing.files, {})
        return [progress async for progress in self.files().fetch(plan.fetch)]

    def lose(self) -> None:
        """Lose the connection; there will be no other before `find_again`."""
        self.login.kill()
        self.login.cut()

    async def find_again(self) -> None:
        self.login.restart()
        if isinstance(self.transport, AsyncsshTransport):
            await self.transport.reconnect()


WAYS = ("rsync-asyncssh", "rsync-openssh", "plain-asyncssh", "plain-openssh")


@pytest.fixture(params=WAYS)
async def way(
    request: pytest.FixtureRequest, login: LoginNode, tmp_path: Path
) -> AsyncIterator[Way]:
    """Each way of copying over each transport that it is for."""
    target = SshTarget(login.name, config=(login.ssh_config,))
    transport: AsyncsshTransport | OpensshTransport
    if request.param.endswith("openssh"):
        transport = OpensshTransport(target)
    else:
        transport = AsyncsshTransport(target, NoUser())
    yield Way(login, tmp_path, transport, request.param)
    await transport.close()
