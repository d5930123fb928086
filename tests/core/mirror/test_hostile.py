"""A cluster that says what none should, so that files are written where they do not belong."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.commands import LocalTransport
from rowtui.core.mirror.compare import Copy
from rowtui.core.mirror.listing import checksums_there, list_there
from rowtui.core.mirror.mirror import Mirror
from rowtui.core.mirror.model import FileFacts, MirrorSelection, WantedFiles
from rowtui.core.mirror.transfer.plain_files import PlainFiles, unpack

PRODUCTS = MirrorSelection((WantedFiles(("w/d",), ("/out",)),))


class Liar:
    """A cluster like any other, but for what its listings and archives say."""

    def __init__(self, listing: bytes, archive: bytes = b"") -> None:
        self.listing = listing
        self.archive = archive
        self._honest = LocalTransport()

    async def run(self, argv: Sequence[str], **options: object) -> CommandResult:
        if any("-printf" in word for word in argv):
            return CommandResult(tuple(argv), 0, self.listing)
        if argv[0] == "tar" and "-c" in argv:
            return CommandResult(tuple(argv), 0, self.archive)
        return await self._honest.run(argv, **options)  # type: ignore[arg-type]


def archive_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for member, data in members:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def member(name: str, **headers: str) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.pax_headers = dict(headers)
    return made


@pytest.mark.parametrize("link_first", [True, False])
async def test_nothing_is_fetched_through_a_link_that_comes_along(
    tmp_path: Path, link_first: bool
) -> None:
    # given a product that is said to be a link out of the project, and a folder with a file
    root, there, private = tmp_path / "here", tmp_path / "there", tmp_path / "private"
    for folder in (root / "w/d", there, private):
        folder.mkdir(parents=True)
    link = b"l 777 0 0.0 ./w/d/out\0" + os.fsencode(private) + b"\0"
    file = b"f 644 4 1700000000.0 ./w/d/out/authorized_keys\0\0"
    liar = Liar(
        link + file if link_first else file + link,
        archive_of((member("./w/d/out/authorized_keys"), b"evil")),
    )
    files = PlainFiles(root, liar, str(there), "alpha")
    mirror = Mirror(root, "alpha", liar, str(there), files=files)
    # when the products are fetched
    transfer = await mirror.plan_fetch(PRODUCTS)
    async for _ in mirror.fetch(transfer):
        pass
    # then nothing is written where it leads
    assert [copy.path for copy in transfer.fetch] == ["w/d/out"]
    assert list(private.iterdir()) == []


async def test_sizes_and_times_that_no_file_has_are_passed_over() -> None:
    good = b"f 644 4 1700000000.5 ./good\0\0"
    lies = (
        b"f 644 -4 1700000000.0 ./a\0\0",
        b"f 644 %d 1700000000.0 ./b\0\0" % 2**70,
        b"f 644 4 %d.0 ./c\0\0" % 2**70,
        b"f 644 4 -%d.0 ./d\0\0" % 2**70,
        b"f 644 4 1700000000.0 ./../e\0\0",
        b"f 644 4 1700000000.0 /f\0\0",
    )
    found = await list_there(Liar(good + b"".join(lies)), "/", WantedFiles(("",)), "alpha")
    assert found.files == {"good": FileFacts(4, 1_700_000_000_500_000_000)}


async def test_checksums_that_are_none_are_passed_over() -> None:
    class Noise:
        async def run(self, argv: Sequence[str], **_: object) -> CommandResult:
            return CommandResult(tuple(argv), 0, b"\xff" * 64 + b"  ./a\n" + b"0" * 64 + b"  ./b\n")

    found = [it async for it in checksums_there(Noise(), "/", ["a", "b"], "alpha")]
    assert found == [("b", "0" * 64)]


def test_an_archive_cannot_claim_more_than_it_holds(tmp_path: Path) -> None:
    # given a sparse file of 8 EB in an archive of some kB
    sparse = member(
        "./big", **{"GNU.sparse.major": "1", "GNU.sparse.minor": "0",
                    "GNU.sparse.name": "./big", "GNU.sparse.realsize": str(2**62)},
    )  # fmt: skip
    blocks = f"1\n{2**62}\n0\n".encode().ljust(512, b"\0")
    copies = [Copy(name, FileFacts(4, 10**18)) for name in ("big", "small")]
    # when it is unpacked, then only what is there becomes a file
    missing = unpack(tmp_path, copies, archive_of((sparse, blocks), (member("./small"), b"true")))
    assert missing == ["big could not be read there"]
    assert (tmp_path / "small").read_bytes() == b"true"


@pytest.mark.parametrize("time", ["²", "1.x", "9" * 40, "-5", "1e5", ""])
def test_a_time_that_is_none_is_the_planned_one(tmp_path: Path, time: str) -> None:
    copies = [Copy("a", FileFacts(4, 10**18))]
    assert unpack(tmp_path, copies, archive_of((member("./a", mtime=time), b"true"))) == []
    assert os.stat(tmp_path / "a").st_mtime_ns == 10**18


def test_an_archive_that_is_none_is_told(tmp_path: Path) -> None:
    copies = [Copy("a", FileFacts(4, 0))]
    for data in (b"", b"\xff" * 5000, archive_of((member("./a"), b"true"))[:514]):
        assert unpack(tmp_path, copies, data) == ["a could not be read there"]
