"""What both sides say of the same real files."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from rowtui.core.clusters.commands import LocalTransport
from rowtui.core.mirror import listing
from rowtui.core.mirror.listing import (
    checksums_here,
    checksums_there,
    facts_here,
    facts_there,
    list_here,
    list_there,
)
from rowtui.core.mirror.model import (
    FOLDER_FACTS,
    LINK,
    CopyFailure,
    FileFacts,
    MirrorError,
    WantedFiles,
)

from tests.core.mirror.conftest import HOSTILE, fill

EVERYTHING = WantedFiles(("",))


@pytest.fixture
def transport() -> LocalTransport:
    return LocalTransport()


def odd_tree(root: Path) -> None:
    fill(root)
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o755)
    (root / "empty folder").mkdir()
    (root / "old").touch()
    os.utime(root / "old", ns=(0, -1_750_000_000))
    (root / "link").symlink_to("in/plain.txt")
    (root / "folder link").symlink_to("in")
    (root / "dangling").symlink_to("not\udcff\nthere")


async def test_both_sides_see_the_same_files(tmp_path: Path, transport: LocalTransport) -> None:
    odd_tree(tmp_path)

    here = list_here(tmp_path, EVERYTHING)
    there = await list_there(transport, str(tmp_path), EVERYTHING, "alpha")

    assert there.files == here.files
    assert there.notices == here.notices == ()
    assert here.files["run"].executable
    assert here.files["old"] == FileFacts(0, -1_750_000_000)
    assert here.files["dangling"] == FileFacts(0, 0, LINK, "not\udcff\nthere")
    assert here.files["empty folder"] == FOLDER_FACTS
    assert not [path for path in here.files if path.startswith("folder link/")]


async def test_exact_paths_are_looked_up_on_both_sides(
    tmp_path: Path, transport: LocalTransport
) -> None:
    odd_tree(tmp_path)
    paths = [*HOSTILE, "in", "link", "missing", "missing/too", "run/below a file"]

    here = facts_here(tmp_path, paths)
    there = await facts_there(transport, str(tmp_path), paths, "alpha")

    assert here == there
    assert set(here) == {*HOSTILE, "in", "link"}
    assert await facts_there(transport, str(tmp_path), [], "alpha") == {}
    assert await facts_there(transport, str(tmp_path), ["missing"], "alpha") == {}


async def test_checksums_of_hostile_names_agree(tmp_path: Path, transport: LocalTransport) -> None:
    odd_tree(tmp_path)
    paths = [*HOSTILE, "missing"]

    here = dict(checksums_here(tmp_path, paths))
    there = {p: s async for p, s in checksums_there(transport, str(tmp_path), paths, "alpha")}

    assert here == there
    assert set(here) == set(HOSTILE)


async def test_sockets_and_pipes_are_left_out_and_told(
    tmp_path: Path, transport: LocalTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")

    here = list_here(tmp_path, EVERYTHING)
    there = await list_there(transport, str(tmp_path), EVERYTHING, "alpha")

    assert here.files == there.files == {}
    assert set(here.notices) == set(there.notices)
    assert any("pipe is left out" in notice for notice in here.notices)


def test_a_link_that_leads_out_is_copied_as_a_link_and_told(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "inside").symlink_to("../b")
    (tmp_path / "a" / "outside").symlink_to("../../secret")
    (tmp_path / "absolute").symlink_to("/etc/passwd")

    found = list_here(tmp_path, EVERYTHING)

    assert set(found.files) == {"a", "a/inside", "a/outside", "absolute"}
    assert len(found.notices) == 2
    assert not any("inside" in notice for notice in found.notices)


async def test_what_is_wanted_may_lie_behind_a_link_and_what_is_in_it_not(
    tmp_path: Path, transport: LocalTransport
) -> None:
    (tmp_path / "disk" / "one").mkdir(parents=True)
    (tmp_path / "disk" / "one" / "a").touch()
    (tmp_path / "disk" / "one" / "up").symlink_to("..")
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "ws").symlink_to("../disk")
    (tmp_path / "project" / "ws" / "two").symlink_to("one")
    wanted = WantedFiles(("ws/one", "ws/two"))

    here = list_here(tmp_path / "project", wanted)
    there = await list_there(transport, str(tmp_path / "project"), wanted, "alpha")

    assert here.files == there.files
    assert set(here.files) == {"ws/one", "ws/one/a", "ws/one/up", "ws/two"}
    assert here.files["ws/two"].kind == LINK
    assert any("ws/two is a link" in notice for notice in here.notices)


async def test_what_is_excluded_hidden_or_too_large_is_left_out(
    tmp_path: Path, transport: LocalTransport
) -> None:
    for path in (".row/x", "a/.git/x", "a/b", "logs/x", "a/x.log", "large", "a/.rowtui-part/b"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / "large").write_bytes(bytes(1001))
    wanted = WantedFiles(("",), exclude=("*.log", "/logs"), hidden=False, largest=1000)

    here = list_here(tmp_path, wanted)
    there = await list_there(transport, str(tmp_path), wanted, "alpha")

    assert set(here.files) == {"a", "a/b"}
    assert here.files == there.files
    assert len(here.notices) == 1
    assert "large is left out" in here.notices[0]


async def test_a_folder_that_is_not_there_has_no_files(
    tmp_path: Path, transport: LocalTransport
) -> None:
    (tmp_path / "file").touch()
    wanted = WantedFiles(("none", "file/below"))

    assert list_here(tmp_path, wanted).files == {}
    assert (await list_there(transport, str(tmp_path), wanted, "alpha")).files == {}


async def test_a_copy_that_is_gone_is_an_error_and_not_an_empty_one(
    tmp_path: Path, transport: LocalTransport
) -> None:
    with pytest.raises(MirrorError):
        await list_there(transport, str(tmp_path / "none"), EVERYTHING, "alpha")
    with pytest.raises(MirrorError):
        await facts_there(transport, str(tmp_path / "none"), ["a"], "alpha")


async def test_a_find_without_printf_is_told(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "find").write_text("#!/bin/sh\necho 'find: unrecognized: -printf' >&2\nexit 1\n")
    (programs / "find").chmod(0o755)
    transport = LocalTransport({"PATH": f"{programs}:{os.environ['PATH']}"})

    with pytest.raises(MirrorError, match="GNU find") as caught:
        await list_there(transport, str(tmp_path), EVERYTHING, "alpha")
    assert caught.value.cause is CopyFailure.LACKING


async def test_a_listing_is_bounded(
    tmp_path: Path, transport: LocalTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path)
    monkeypatch.setattr(listing, "MOST_FILES", 10)

    with pytest.raises(MirrorError) as here:
        list_here(tmp_path, EVERYTHING)
    with pytest.raises(MirrorError) as there:
        await list_there(transport, str(tmp_path), EVERYTHING, "alpha")

    assert here.value.cause is there.value.cause is CopyFailure.TOO_MANY


async def test_a_cluster_that_makes_up_names_leads_nobody_out_of_the_project(
    tmp_path: Path,
) -> None:
    records = b""
    for path, kind in (
        (b"./ws/../../x", b"f"),
        (b"/etc/passwd", b"f"),
        (b"./ws//x", b"f"),
        (b"./ws/link", b"l"),
        (b"./elsewhere", b"f"),
        (b"./ws/good", b"f"),
    ):
        records += kind + b" 644 1 1.0000000000 " + path + b"\0\0"
    (tmp_path / "answer").write_bytes(records + b"nonsense\0f x y z ./ws/n\0\0\0")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "find").write_text(f"#!/bin/sh\ncat '{tmp_path}/answer'\n")
    (programs / "find").chmod(0o755)
    (tmp_path / "ws").mkdir()
    transport = LocalTransport({"PATH": f"{programs}:{os.environ['PATH']}"})

    found = await list_there(transport, str(tmp_path), WantedFiles(("ws",)), "alpha")

    assert set(found.files) == {"ws/link", "ws/good"}
