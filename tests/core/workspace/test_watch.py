"""Watching a few paths. Real files, real inotify; every wait is for an event."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rowtui.core.workspace.watch import LOCAL_FILE_SYSTEMS, FileWatcher, Mode, file_system_type

LONG = 3600.0  # an interval that never ends within a test


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    (tmp_path / ".row" / "completed").mkdir(parents=True)
    (tmp_path / "workflow.toml").write_text("")
    return tmp_path


def paths(project: Path) -> list[Path]:
    return [
        project / "workspace",
        project / ".row",
        project / ".row" / "completed",
        project / "workflow.toml",
    ]


async def seen(watcher: AsyncIterator[frozenset[Path]], *wanted: Path) -> None:
    """Wait until all these were reported."""
    missing = set(wanted)
    async with asyncio.timeout(60):
        while missing:
            missing -= await anext(watcher)


async def unmoved(watcher: FileWatcher) -> None:
    """Nothing is reported, although the watcher looks."""
    watcher._look.set()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await anext(watcher)


@pytest.mark.parametrize("mode", ["auto", "inotify", "poll"])
async def test_each_kind_of_change_is_reported(project: Path, mode: Mode) -> None:
    workspace, row, completed, workflow = paths(project)
    async with FileWatcher(paths(project), mode=mode, interval=0.05) as changes:
        (workspace / "new").mkdir()
        await seen(changes, workspace)
        (completed / "x.postcard").write_bytes(b"\0")
        await seen(changes, completed)
        (row / "completed.postcard").write_bytes(b"\0")
        await seen(changes, row)
        workflow.write_text("[workspace]\n")
        await seen(changes, workflow)
        (project / "new.toml").write_text("")
        os.replace(project / "new.toml", workflow)
        await seen(changes, workflow)


async def test_inotify_reports_long_before_the_next_look(project: Path) -> None:
    workspace, _, completed, workflow = paths(project)
    async with FileWatcher(paths(project), mode="inotify", interval=LONG) as changes:
        for number in range(3):
            (workspace / str(number)).mkdir()
            await seen(changes, workspace)
            (completed / f"{number}.postcard").write_bytes(b"\0")
            await seen(changes, completed)
            (project / "new.toml").write_text(f"# {number}")
            os.replace(project / "new.toml", workflow)
            await seen(changes, workflow)
        assert changes.slow_because == ""


@pytest.mark.parametrize("mode", ["inotify", "poll"])
async def test_a_change_before_the_first_iteration_is_not_missed(project: Path, mode: Mode) -> None:
    workspace, *_ = paths(project)
    async with FileWatcher(paths(project), mode=mode, interval=LONG) as changes:
        (workspace / "new").mkdir()
        await seen(changes, workspace)


async def test_only_the_paths_that_changed_are_reported(project: Path) -> None:
    workspace, *_ = paths(project)
    async with FileWatcher(paths(project), mode="poll", interval=LONG) as changes:
        (workspace / "new").mkdir()
        assert await anext(changes) == {workspace}
        await unmoved(changes)
        (project / "other").write_text("")  # beside them
        (workspace / "new" / "product").write_text("")  # too deep
        await unmoved(changes)
        assert changes.stamps[workspace][0] == workspace.stat().st_mtime_ns


@pytest.mark.parametrize("mode", ["inotify", "poll"])
async def test_vanished_and_created_again_paths_are_survived(project: Path, mode: Mode) -> None:
    workspace, row, completed, workflow = paths(project)
    interval = LONG if mode == "inotify" else 0.05
    async with FileWatcher(paths(project), mode=mode, interval=interval) as changes:
        completed.rmdir()
        await seen(changes, completed, row)
        row.rmdir()
        workflow.unlink()
        await seen(changes, row, workflow)
        assert changes.stamps[row] == (-1, -1, -1)

        completed.mkdir(parents=True)
        await seen(changes, row, completed)
        (completed / "x.postcard").write_bytes(b"\0")
        await seen(changes, completed)
        workspace.rename(project / "old")
        workspace.mkdir()
        await seen(changes, workspace)
        (workspace / "new").mkdir()
        await seen(changes, workspace)


async def test_a_folder_that_never_rests_is_reported_all_the_same(project: Path) -> None:
    workspace, *_ = paths(project)
    resting = asyncio.Event()

    async def restless() -> None:
        while not resting.is_set():
            (workspace / "x").touch()
            (workspace / "x").unlink()
            await asyncio.sleep(0.001)

    async with (
        FileWatcher([workspace], mode="poll", interval=0.05) as changes,
        asyncio.TaskGroup() as g,
    ):
        g.create_task(restless())
        await seen(changes, workspace)
        (workspace / "last").touch()
        resting.set()
        # Whatever the last report left out is reported again.
        while changes.stamps[workspace][0] != workspace.stat().st_mtime_ns:
            await seen(changes, workspace)


async def test_off_reports_nothing(project: Path) -> None:
    workspace, *_ = paths(project)
    async with FileWatcher(paths(project), mode="off", interval=0.01) as changes:
        (workspace / "new").mkdir()
        await unmoved(changes)


async def test_closing_ends_the_iteration(project: Path) -> None:
    for mode in ("auto", "poll", "off"):
        watcher = await FileWatcher(paths(project), mode=mode, interval=LONG).__aenter__()

        async def collect(watcher: FileWatcher = watcher) -> list[frozenset[Path]]:
            return [changed async for changed in watcher]

        collecting = asyncio.create_task(collect())
        await asyncio.sleep(0)
        await watcher.aclose()
        assert await asyncio.wait_for(collecting, 60) == []


async def test_cancelling_leaves_no_task_behind(project: Path) -> None:
    before = asyncio.all_tasks()
    began = asyncio.Event()

    async def watch() -> None:
        async with FileWatcher(paths(project), mode="inotify", interval=LONG) as changes:
            began.set()
            async for _ in changes:
                pass

    watching = asyncio.create_task(watch())
    await began.wait()
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching

    assert asyncio.all_tasks() == before


@pytest.fixture
def not_utf8(tmp_path: Path) -> Path:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    return folder


async def test_a_folder_that_inotify_cannot_take_is_watched_by_looking(not_utf8: Path) -> None:
    folder = not_utf8
    async with FileWatcher([folder], mode="inotify", interval=0.05) as changes:
        (folder / "new").mkdir()
        await seen(changes, folder)
        assert "inotify cannot be used" in changes.slow_because


MOUNTS = rb"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw shared:5 - proc proc rw
30 22 0:30 / /home rw shared:9 master:2 - nfs4 server:/home rw
31 30 0:31 / /home/a\040b\134c\011 rw - xfs /dev/sdb rw
32 22 0:32 / /mnt rw - lustre mds:/x rw
33 32 0:33 / /mnt rw - fuse.sshfs me@host: rw
34 22 0:34 / /homework rw - tmpfs tmpfs rw
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/usr/nowhere/at/all", "ext4"),
        ("/home", "nfs4"),
        ("/home/me/project", "nfs4"),
        ("/home/a b\\c\t/project", "xfs"),
        ("/home/a b", "nfs4"),
        ("/homework/x", "tmpfs"),
        ("/homes", "ext4"),
        ("/mnt/data", "fuse.sshfs"),
    ],
)
def test_the_file_system_is_that_of_the_innermost_last_mount(
    tmp_path: Path, path: str, kind: str
) -> None:
    (tmp_path / "mountinfo").write_bytes(MOUNTS)
    assert file_system_type(Path(path), tmp_path / "mountinfo") == kind


def test_the_real_table_of_mounts_is_read(tmp_path: Path) -> None:
    assert file_system_type(Path("/proc/self")) == "proc"
    assert file_system_type(tmp_path) == file_system_type(tmp_path / "missing") != ""
    assert file_system_type(tmp_path, tmp_path / "no table") == ""


def test_network_file_systems_are_not_taken_for_local_ones() -> None:
    network = {
        "nfs",
        "nfs4",
        "lustre",
        "gpfs",
        "beegfs",
        "ceph",
        "cifs",
        "wekafs",
        "fuse.sshfs",
        "",
    }
    assert not network & LOCAL_FILE_SYSTEMS


def test_watchfiles_is_imported_only_when_something_is_watched() -> None:
    script = "import sys, rowtui.core.workspace.watch; print('watchfiles' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"False\n"
