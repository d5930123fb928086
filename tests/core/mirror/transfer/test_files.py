"""Every way of copying, on real files behind a real sshd."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from rowtui.core.mirror.compare import Copy, compare
from rowtui.core.mirror.listing import facts_here, list_here, list_there
from rowtui.core.mirror.model import PARTIAL, CopyFailure, FileFacts, MirrorError
from rowtui.core.mirror.transfer import arriving as streams
from rowtui.core.mirror.transfer.arriving import TransferProgress

from tests.core.mirror.conftest import EVERYTHING, Way, content, fill
from tests.eventually import eventually

LARGE = 30_000_000  # a cut comes after 12 MiB
MIDDLE = 9_000_000  # more than what travels in one piece
# Each way of copying once; large files take their time.
EACH = pytest.mark.parametrize("way", ["rsync-asyncssh", "plain-openssh"], indirect=True)


def odd_tree(root: Path) -> None:
    fill(root)
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o755)
    (root / "private").write_text("mine")
    (root / "private").chmod(0o600)
    (root / "empty file").touch()
    (root / "empty folder" / "-in it").mkdir(parents=True)
    (root / "link").symlink_to("in/plain.txt")
    (root / "folder link").symlink_to("in")
    (root / "dangling").symlink_to("/not\udcff\nthere")
    (root / "only").mkdir()
    (root / "only" / "link").symlink_to("../x")


def make_large(place: Path, size: int = LARGE) -> bytes:
    data = os.urandom(1 << 16) * (size >> 16) + b"end"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    return data


async def test_hostile_names_links_and_modes_arrive_as_they_are(way: Way) -> None:
    odd_tree(way.here)

    progress = await way.send()

    there = await list_there(way.transport, str(way.there), EVERYTHING, "alpha")
    here = list_here(way.here, EVERYTHING)
    assert there.files == here.files
    assert content(way.there) == content(way.here)
    assert stat.S_IMODE((way.there / "private").stat().st_mode) == 0o600
    last = progress[-1]
    assert (last.done_files, last.done_bytes) == (last.files, last.bytes)
    assert last.notices == ()
    assert not list(way.there.rglob(PARTIAL))


async def test_hostile_names_links_and_modes_are_fetched_as_they_are(way: Way) -> None:
    odd_tree(way.there)

    progress = await way.fetch()

    there = await list_there(way.transport, str(way.there), EVERYTHING, "alpha")
    assert list_here(way.here, EVERYTHING).files == there.files
    assert content(way.here) == content(way.there)
    last = progress[-1]
    assert (last.done_files, last.done_bytes) == (last.files, last.bytes)
    assert last.notices == ()
    assert not list(way.here.rglob(PARTIAL))


@EACH
async def test_newer_files_replace_older_ones_and_links(way: Way) -> None:
    fill(way.here, ("a", "b", "c"))
    await way.send()
    (way.here / "a").write_text("newer")
    (way.here / "b").unlink()
    (way.here / "b").symlink_to("a")
    (way.there / "c").unlink()
    (way.there / "c").symlink_to("/etc/passwd")

    await way.send()
    (way.there / "a").write_text("newest!")
    await way.fetch()

    assert content(way.there) == content(way.here)
    assert (way.here / "a").read_text() == "newest!"
    assert (way.there / "b").readlink() == Path("a")
    assert not (way.there / "c").is_symlink()


@EACH
async def test_a_workspace_that_is_a_link_to_another_disk_stays_one(
    way: Way, tmp_path: Path
) -> None:
    for side, disk in ((way.here, tmp_path / "disk1"), (way.there, tmp_path / "disk2")):
        (disk / "one").mkdir(parents=True)
        (side / "ws").symlink_to(disk)
    (way.here / "ws" / "one" / "in").write_text("in")
    (way.there / "ws" / "one" / "out").write_text("out")

    files = way.files()
    async for _ in files.send([Copy("ws/one/in", FileFacts(2, 10**18))]):
        pass
    async for _ in files.fetch([Copy("ws/one/out", FileFacts(3, 10**18))]):
        pass

    assert (tmp_path / "disk2" / "one" / "in").read_text() == "in"
    assert (tmp_path / "disk1" / "one" / "out").read_text() == "out"
    assert (way.here / "ws").is_symlink()
    assert (way.there / "ws").is_symlink()


@EACH
async def test_many_small_files_arrive(way: Way) -> None:
    names = [f"d{number % 7}/f{number}" for number in range(150)]
    for name in names:
        (way.here / name).parent.mkdir(exist_ok=True)
        (way.here / name).write_text(name)

    await way.send()

    assert content(way.there) == content(way.here)


@pytest.mark.parametrize("way", ["rsync-asyncssh"], indirect=True)
async def test_two_thousand_files_are_sent_by_one_rsync_over_one_login(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    start = asyncio.create_subprocess_exec

    async def counted(*argv: str, **options: object) -> asyncio.subprocess.Process:
        started.append(argv[0])
        return await start(*argv, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", counted)
    for number in range(2000):
        place = way.here / f"d{number % 40}" / f"f{number}"
        place.parent.mkdir(exist_ok=True)
        place.write_text(str(number))
    await way.transport.run(["true"], timeout=60)
    sessions = len(way.login.sessions())

    progress = await way.send()

    assert started == ["rsync"]
    assert len(way.login.sessions()) == sessions
    assert progress[-1].done_files == 2040
    assert content(way.there) == content(way.here)


def cut_in_the_middle(
    way: Way, monkeypatch: pytest.MonkeyPatch, method: str, after: int = 12 << 20
) -> None:
    """Lose the connection when so many bytes have gone through a stream of rsync's."""
    gone = 0
    real = getattr(streams.Stream, method)

    async def counted(stream: streams.Stream, *data: bytes) -> bytes | None:
        nonlocal gone
        result: bytes | None = await real(stream, *data)
        gone += len(data[0] if data else result or b"")
        if gone > after:
            gone = -(1 << 40)
            way.lose()
        return result

    monkeypatch.setattr(streams.Stream, method, counted)


async def drain(way: Way, progress: AsyncGenerator[TransferProgress, None]) -> None:
    """Follow a transfer; lose its connection in the middle where it isn't rsync's streams."""
    async for now in progress:
        if not way.kind.startswith("rsync") and now.done_bytes > 12 << 20:
            way.lose()


@EACH
async def test_a_file_that_was_cut_off_while_it_was_sent_is_continued(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make_large(way.here / "in" / "large")
    (way.here / "small").write_text("small")
    cut_in_the_middle(way, monkeypatch, "write")
    plan = compare(list_here(way.here, EVERYTHING).files, {}, {})

    with pytest.raises(MirrorError) as caught:
        await drain(way, way.files().send(plan.send))
    # rsync keeps what it has when it hears that nobody is there any more.
    part = way.there / "in" / PARTIAL / "large"
    eventually(lambda: part.exists() and part.stat().st_size > 0, what="what has arrived")
    whole = (way.there / "in" / "large").exists()
    await way.find_again()
    progress = await way.send()

    assert caught.value.cause is CopyFailure.CUT
    assert "again" in caught.value.hint
    assert not whole
    assert (way.there / "in" / "large").read_bytes() == data
    assert content(way.there) == content(way.here)
    assert not list(way.there.rglob(PARTIAL))
    if not way.kind.startswith("rsync"):
        assert min(p.done_bytes for p in progress if p.done_bytes > 5) > (1 << 20)


@EACH
async def test_a_file_that_was_cut_off_while_it_was_fetched_is_continued(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make_large(way.there / "out" / "large")
    (way.there / "small").write_text("small")
    cut_in_the_middle(way, monkeypatch, "read")
    listing = await list_there(way.transport, str(way.there), EVERYTHING, "alpha")
    plan = compare({}, listing.files, {})

    with pytest.raises(MirrorError) as caught:
        await drain(way, way.files().fetch(plan.fetch))
    begun = (way.here / "out" / PARTIAL / "large").stat().st_size
    whole = (way.here / "out" / "large").exists()
    await way.find_again()
    await way.fetch()

    assert caught.value.cause is CopyFailure.CUT
    assert 0 < begun < LARGE
    assert not whole
    assert (way.here / "out" / "large").read_bytes() == data
    assert not list(way.here.rglob(PARTIAL))


@EACH
async def test_what_arrived_of_another_file_is_not_continued(way: Way) -> None:
    data = make_large(way.here / "large", MIDDLE)
    (way.there / PARTIAL).mkdir()
    (way.there / PARTIAL / "large").write_bytes(bytes(MIDDLE + 10_000))

    await way.send()

    assert (way.there / "large").read_bytes() == data


def children() -> list[str]:
    """The programs that this process has started and that still run."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # this thread, or a child, ends meanwhile
            for pid in (task / "children").read_text().split():
                with contextlib.suppress(OSError):
                    found.append(Path(f"/proc/{pid}/comm").read_text().strip())
    return found


@EACH
async def test_whoever_gives_up_leaves_nothing_running(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = make_large(way.here / "large", MIDDLE)
    copies = [Copy("large", facts_here(way.here, ["large"])["large"])]

    async def consume() -> None:
        async for _ in way.files().send(copies):
            begun.set()
            await asyncio.sleep(0)

    begun = asyncio.Event()
    task = asyncio.create_task(consume())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    left = [name for name in children() if name in ("rsync", "ssh")]
    await way.send()

    assert left == []
    assert (way.there / "large").read_bytes() == data


@EACH
async def test_a_file_that_cannot_be_read_does_not_stop_the_others(way: Way) -> None:
    (way.here / "good").write_text("good")
    (way.there / "well").write_text("well")
    facts = FileFacts(4, 10**18)

    sent = [p async for p in way.files().send([Copy("gone", facts), Copy("good", facts)])]
    got = [p async for p in way.files().fetch([Copy("away", facts), Copy("well", facts)])]

    assert (way.there / "good").read_text() == "good"
    assert (way.here / "well").read_text() == "well"
    assert any("gone" in notice for notice in sent[-1].notices)
    assert any("away" in notice for notice in got[-1].notices)


async def test_holes_of_a_large_file_stay_holes(way: Way) -> None:
    place = way.there / "sparse"
    with place.open("wb") as file:
        file.write(b"begin")
        file.seek(40 << 20)
        file.write(b"end")
    data = place.read_bytes()

    await way.fetch()

    here = way.here / "sparse"
    assert here.read_bytes() == data
    assert here.stat().st_blocks * 512 < len(data) // 2
