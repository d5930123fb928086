"""Logs here and over a connection: the same parts of the same files, whatever happens to them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.login import NoUser, SshTarget
from rowtui.core.project.views.logs import (
    LINES_BYTES,
    PIECE_BYTES,
    LocalLog,
    Log,
    RemoteLog,
    last_lines,
    latest,
    news,
    read_log_end,
)

from tests.rig.login import LoginNode

HARD = "it's a \x1b[31m“log” ; rm -rf $HOME\n.out"


@pytest.fixture(params=["here", "there"])
async def log(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Log]:
    """The log at `tmp_path / HARD`, read by this process or through a real sshd."""
    path = tmp_path / HARD
    if request.param == "here":
        yield LocalLog(path)
        return
    node: LoginNode = request.getfixturevalue("login")
    target = SshTarget(node.name, config=(node.ssh_config,))
    transport = AsyncsshTransport(target, NoUser())
    yield RemoteLog(transport, PurePosixPath(path), "alpha")
    await transport.close()


async def test_a_log_that_is_not_there_yet_is_no_error(log: Log, tmp_path: Path) -> None:
    assert await log.after(0) is None
    assert await log.end() is None
    assert await last_lines(log, 3) is None
    assert (await read_log_end(log, 3)).error == "nothing has been written yet"
    (tmp_path / HARD).touch()
    empty = await log.after(0)
    assert empty is not None
    assert (empty.data, empty.start, empty.size) == (b"", 0, 0)


async def test_of_much_that_was_written_the_latest_whole_lines_are_read(
    log: Log, tmp_path: Path
) -> None:
    path = tmp_path / HARD
    assert await latest(log, None, 100, 3) is None
    path.write_bytes(b"one\ntwo\nthr")
    first = await latest(log, None, 100, 3)
    assert first is not None
    assert (first.data, first.start) == (b"one\ntwo\nthr", 0)
    with path.open("ab") as more:
        more.write(b"ee\n4\n5\n6\n")
    by_lines = await latest(log, first, 100, 2)
    assert by_lines is not None
    assert (by_lines.data, by_lines.start) == (b"5\n6\n", first.stop + 5)
    by_bytes = await latest(log, first, 5, 100)
    assert by_bytes is not None
    assert (by_bytes.data, by_bytes.start) == (b"5\n6\n", first.stop + 5)
    with path.open("ab") as more:
        more.write(b"x" * 50)
    long_line = await latest(log, by_bytes, 10, 100)
    assert long_line is not None
    assert (long_line.data, long_line.stop) == (b"x" * 10, path.stat().st_size)


async def test_a_log_is_followed_as_it_grows(log: Log, tmp_path: Path) -> None:
    path = tmp_path / HARD
    path.write_bytes(b"one\ntwo\n\xff\x00three")
    last = await last_lines(log, 2)
    assert last is not None
    assert (last.data, last.start) == (b"two\n\xff\x00three", 4)

    same = await news(log, last)
    assert same is not None
    assert (same.data, same.start, same.size) == (b"", 15, 15)
    with path.open("ab") as more:
        more.write(b" and\nfour\n")
    new = await news(log, last)

    assert new is not None
    assert (new.data, new.start, new.size, new.file) == (b" and\nfour\n", 15, 25, last.file)


async def test_a_log_that_was_cut_is_read_from_its_start(log: Log, tmp_path: Path) -> None:
    path = tmp_path / HARD
    path.write_bytes(b"a long first run\n")
    last = await log.after(0)
    assert last is not None
    os.truncate(path, 0)
    with path.open("ab") as more:
        more.write(b"again\n")

    new = await news(log, last)

    assert new is not None
    assert (new.data, new.start) == (b"again\n", 0)


async def test_a_new_log_in_its_place_is_read_from_its_start(log: Log, tmp_path: Path) -> None:
    path = tmp_path / HARD
    path.write_bytes(b"old\n")
    last = await log.after(0)
    assert last is not None
    path.rename(tmp_path / "rotated")
    assert await news(log, last) is None
    path.write_bytes(b"a new and longer one\n")

    new = await news(log, last)

    assert new is not None
    assert (new.data, new.start) == (b"a new and longer one\n", 0)
    assert new.file != last.file


async def test_a_large_log_is_read_in_parts_and_its_end_at_once(log: Log, tmp_path: Path) -> None:
    line = b"%07d " + b"x" * 1016 + b"\n"
    whole = b"".join(line % number for number in range(10 * 1024))  # 10 MiB
    path = tmp_path / HARD
    path.write_bytes(whole)

    piece = await log.after(0)
    assert piece is not None
    read = bytearray(piece.data)
    while piece.stop < piece.size:
        piece = await news(log, piece)
        assert piece is not None
        assert 0 < len(piece.data) <= PIECE_BYTES
        read += piece.data
    assert bytes(read) == whole

    few = await last_lines(log, 2)
    assert few is not None
    assert few.data == whole[-2 * 1025 :]
    many = await last_lines(log, 5000)
    assert many is not None
    assert (many.data, many.stop) == (whole[-5000 * 1025 :], len(whole))
    most = await last_lines(log, 1_000_000)  # of a log of any size no more than so much is read
    assert most is not None
    assert len(most.data) == LINES_BYTES
    assert (await read_log_end(log, 1)).lines == (f"{10 * 1024 - 1:07d} " + "x" * 1016,)


async def test_what_is_written_meanwhile_is_neither_lost_nor_shown_twice(
    log: Log, tmp_path: Path
) -> None:
    path = tmp_path / HARD
    path.touch()
    stop = asyncio.Event()

    async def write() -> int:
        number = 0
        with path.open("ab", buffering=0) as out:
            while not stop.is_set():
                out.write(b"%09d\n" % number)
                number += 1
                await asyncio.sleep(0)
        return number

    writer = asyncio.create_task(write())
    last = await last_lines(log, 1)
    while last is None or not last.size:
        last = await last_lines(log, 1)
    first = last.start // 10
    read = bytearray(last.data)
    for _ in range(20):
        last = await news(log, last)
        assert last is not None
        read += last.data
    stop.set()
    count = await writer
    last = await news(log, last)
    assert last is not None
    read += last.data
    assert bytes(read) == b"".join(b"%09d\n" % number for number in range(first, count))


async def test_what_is_no_log_is_said(log: Log, tmp_path: Path) -> None:
    path = tmp_path / HARD
    path.mkdir()
    with pytest.raises(RowtuiError, match=r"cannot be read: (it is no file|Is a directory)"):
        await log.after(0)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(RowtuiError, match="cannot be read: it is no file"):
        await log.end()


async def test_a_log_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    # Links that lead round in a circle, since root may read whatever there is.
    (tmp_path / "log").symlink_to("log")
    with pytest.raises(RowtuiError, match="Too many levels of symbolic links"):
        await LocalLog(tmp_path / "log").after(0)


async def test_names_of_logs_are_safe_to_show(log: Log, tmp_path: Path) -> None:
    (tmp_path / HARD).mkdir()
    with pytest.raises(RowtuiError) as raised:
        await log.after(0)
    assert raised.value.message.isprintable()


async def test_a_log_on_a_cluster_that_cannot_be_reached_is_an_error(
    login: LoginNode, tmp_path: Path
) -> None:
    transport = AsyncsshTransport(SshTarget(login.name, config=(login.ssh_config,)), NoUser())
    log = RemoteLog(transport, PurePosixPath(tmp_path / "log"), "alpha")
    login.kill()
    with pytest.raises(RowtuiError, match=r"alpha:.*/log cannot be read: .*refused"):
        await log.end()
    await transport.close()
