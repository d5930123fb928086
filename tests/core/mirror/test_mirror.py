"""A project and its copy behind a real sshd: plans, transfers, conflicts, faults."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.commands import LocalTransport
from rowtui.core.clusters.model import Remote
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.cluster_transport import transport_for
from rowtui.core.clusters.transports.login import NoUser, SshTarget
from rowtui.core.clusters.transports.shared.calls import log_in_at
from rowtui.core.clusters.transports.shared.server import Shared, serve
from rowtui.core.clusters.transports.shared.transport import SharedTransport
from rowtui.core.clusters.transports.shared.user import UserQuestions
from rowtui.core.mirror.compare import Side, Transfer
from rowtui.core.mirror.manifest import manifest_path, read_manifest
from rowtui.core.mirror.mirror import Mirror, files_for
from rowtui.core.mirror.model import MARKER, CopyFailure, MirrorError, MirrorSelection, WantedFiles
from rowtui.core.mirror.place import default_place
from rowtui.core.mirror.selection import MirrorRules, to_fetch, to_send
from rowtui.core.mirror.transfer.arriving import TransferProgress
from rowtui.core.mirror.transfer.plain_files import PlainFiles

from tests.core.mirror.conftest import Way, content
from tests.rig.login import LoginNode

SEND = MirrorSelection(
    (WantedFiles(("",), exclude=("/.row", "/ws")), WantedFiles(("ws/one", "ws/two")))
)
FETCH = MirrorSelection(
    (WantedFiles(("ws/one", "ws/two"), only=("/out",)), WantedFiles((".row/completed",)))
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A small project."""
    folder = tmp_path / "pro'ject"
    for path in ("workflow.toml", "scripts/run", "ws/one/in", "ws/two/in", "ws/three/in"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(path)
    return folder


@pytest.fixture
def there(tmp_path: Path) -> Path:
    return tmp_path / "copies" / "copy"


@pytest.fixture
def mirror(root: Path, there: Path) -> Mirror:
    """Plain commands on this machine: quick, and all that a mirror needs."""
    transport = LocalTransport()
    files = PlainFiles(root, transport, str(there), "alpha")
    return Mirror(root, "alpha", transport, str(there), files=files)


def make_file(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.touch()


async def last(progress: AsyncIterator[TransferProgress]) -> TransferProgress:
    return [now async for now in progress][-1]


async def send(mirror: Mirror, selection: MirrorSelection = SEND) -> Transfer:
    plan = await mirror.plan_send(selection)
    await last(mirror.send(plan))
    return plan


async def fetch(mirror: Mirror, selection: MirrorSelection = FETCH) -> Transfer:
    plan = await mirror.plan_fetch(selection)
    await last(mirror.fetch(plan))
    return plan


def paths(copies: object) -> list[str]:
    return [copy.path for copy in copies]  # type: ignore[attr-defined]


async def test_a_project_goes_there_and_its_products_come_back(
    mirror: Mirror, root: Path, there: Path
) -> None:
    first = await send(mirror)
    again = await mirror.plan_send(SEND)
    (there / "ws" / "one" / "out").write_text("made")
    (there / "ws" / "one" / "scratch").write_text("not wanted")
    (there / ".row" / "completed").mkdir(parents=True)
    (there / ".row" / "completed" / "x.postcard").write_text("done")
    fetched = await fetch(mirror)
    nothing = await mirror.plan_fetch(FETCH)

    assert set(content(there)) - {MARKER} >= {"workflow.toml", "scripts/run", "ws/one/in"}
    assert "ws/three/in" not in content(there)
    assert first.send_bytes == sum(len(p) for p in paths(first.send) if p in content(root))
    assert again == Transfer(unchanged=len(first.send))
    assert {"ws/one/out", ".row/completed/x.postcard"} <= set(paths(fetched.fetch))
    assert (root / "ws" / "one" / "out").read_text() == "made"
    assert not (root / "ws" / "one" / "scratch").exists()
    assert not nothing.fetch
    assert not nothing.conflicts


async def test_a_file_changed_on_both_sides_is_a_conflict_until_somebody_decides(
    mirror: Mirror, root: Path, there: Path
) -> None:
    await send(mirror)
    (root / "ws" / "one" / "in").write_text("changed here")
    (there / "ws" / "one" / "in").write_text("there too, it was changed")

    plan = await send(mirror)
    untouched = (there / "ws" / "one" / "in").read_text()
    await mirror.prefer(["ws/one/in"], Side.HERE)
    decided = await send(mirror)

    assert paths(plan.conflicts) == ["ws/one/in"]
    assert not plan.send
    assert plan.conflicts[0].reason == "changed on both sides"
    assert untouched == "there too, it was changed"
    assert paths(decided.send) == ["ws/one/in"]
    assert (there / "ws" / "one" / "in").read_text() == "changed here"
    assert await mirror.plan_send(SEND) == Transfer(unchanged=plan.unchanged + 1)


async def test_a_conflict_can_be_decided_for_the_cluster(
    mirror: Mirror, root: Path, there: Path
) -> None:
    selection = MirrorSelection((WantedFiles(("ws/one",)),))
    await send(mirror)
    (root / "ws" / "one" / "in").write_text("changed here")
    (there / "ws" / "one" / "in").write_text("there too, it was changed")

    assert (await fetch(mirror, selection)).conflicts
    await mirror.prefer(["ws/one/in"], Side.THERE)
    await fetch(mirror, selection)

    assert (root / "ws" / "one" / "in").read_text() == "there too, it was changed"


async def test_what_changed_after_the_plan_is_left_alone_and_told(
    mirror: Mirror, root: Path, there: Path
) -> None:
    await send(mirror)
    (root / "ws" / "one" / "in").write_text("newer")
    (root / "ws" / "two" / "in").write_text("newer as well")
    plan = await mirror.plan_send(SEND)
    (there / "ws" / "one" / "in").write_text("changed there meanwhile")

    told = await last(mirror.send(plan))

    assert (there / "ws" / "one" / "in").read_text() == "changed there meanwhile"
    assert (there / "ws" / "two" / "in").read_text() == "newer as well"
    assert [notice for notice in told.notices if "ws/one/in was left alone" in notice]
    assert (told.done_files, told.files) == (1, 2)
    assert paths((await mirror.plan_send(SEND)).conflicts) == ["ws/one/in"]


async def test_equal_files_with_other_times_are_known_by_their_checksums(
    mirror: Mirror, root: Path, there: Path
) -> None:
    await send(mirror)
    manifest_path(root, "alpha").unlink()
    os.utime(there / "ws" / "one" / "in")
    (there / "ws" / "two" / "in").write_text("ws/two/IN")

    plan = await mirror.plan_send(SEND)

    assert paths(plan.conflicts) == ["ws/two/in"]
    assert not plan.send
    assert not plan.needs_checksum
    assert "ws/one/in" in read_manifest(manifest_path(root, "alpha")).entries


@pytest.mark.parametrize("way", ["rsync-openssh", "plain-asyncssh"], indirect=True)
@pytest.mark.parametrize("known", [True, False], ids=["known", "records lost"])
async def test_a_small_file_of_the_same_size_and_time_is_compared_by_its_content(
    way: Way, root: Path, known: bool
) -> None:
    place = way.there / "copy"
    files = type(way.files())(root, way.transport, str(place), "alpha")  # type: ignore[call-arg]
    mirror = Mirror(root, "alpha", way.transport, str(place), files=files)
    await send(mirror)
    script, before = root / "scripts/run", (root / "scripts/run").stat()
    script.write_text("Scripts/Run")
    os.utime(script, ns=(before.st_atime_ns, before.st_mtime_ns))
    if not known:
        os.utime(place / "scripts/run", ns=(before.st_atime_ns, before.st_mtime_ns))
        manifest_path(root, "alpha").unlink()

    plan = await send(mirror)

    if known:
        assert paths(plan.send) == ["scripts/run"]
        assert (place / "scripts/run").read_text() == "Scripts/Run"
    else:
        assert paths(plan.conflicts) == ["scripts/run"]
        assert (place / "scripts/run").read_text() == "scripts/run"
    assert not (await mirror.plan_send(SEND)).send


async def test_a_product_deleted_here_is_not_fetched_again_unless_asked_or_made_again(
    mirror: Mirror, root: Path, there: Path
) -> None:
    await send(mirror)
    (there / "ws" / "one" / "out").write_text("made")
    await fetch(mirror)
    (root / "ws" / "one" / "out").unlink()

    left = await mirror.plan_fetch(FETCH)
    asked = await mirror.plan_fetch(FETCH, restore=True)
    (there / "ws" / "one" / "out").write_text("made again")
    made = await mirror.plan_fetch(FETCH)

    assert not left.fetch
    assert [(item.path, item.gone) for item in left.removed] == [("ws/one/out", Side.HERE)]
    assert paths(asked.fetch) == ["ws/one/out"]
    assert paths(made.fetch) == ["ws/one/out"]


async def test_an_input_that_was_purged_there_is_sent_again(mirror: Mirror, there: Path) -> None:
    await send(mirror)
    (there / "ws" / "one" / "in").unlink()

    told = await mirror.plan_send(SEND, restore=False)
    plan = await send(mirror)

    assert [(item.path, item.gone) for item in told.removed] == [("ws/one/in", Side.THERE)]
    assert paths(plan.send) == ["ws/one/in"]
    assert (there / "ws" / "one" / "in").exists()


async def test_a_copy_that_was_wiped_is_made_anew(mirror: Mirror, root: Path, there: Path) -> None:
    first = await send(mirror)
    await LocalTransport().run(["rm", "-r", str(there)], timeout=20)

    fresh = Mirror(root, "alpha", LocalTransport(), str(there))
    plan = await send(fresh)

    assert plan.send == first.send
    assert (there / "ws" / "one" / "in").exists()


async def test_a_growing_log_is_fetched_again_and_never_a_conflict(
    mirror: Mirror, root: Path, there: Path
) -> None:
    logs = MirrorSelection((WantedFiles(("job.out",)),))
    await mirror.resolve()
    (there / "job.out").write_text("one\n")
    plan = await mirror.plan_fetch(logs)
    with (there / "job.out").open("a") as log:
        log.write("two\n")
    await last(mirror.fetch(plan))
    with (there / "job.out").open("a") as log:
        log.write("three\n")
    again = await fetch(mirror, logs)

    assert not again.conflicts
    assert (root / "job.out").read_text() == "one\ntwo\nthree\n"


async def test_a_large_local_file_that_is_left_out_does_not_count_as_deleted(
    mirror: Mirror, root: Path
) -> None:
    await send(mirror)
    (root / "scripts" / "run").write_bytes(bytes(2000))
    limited = MirrorSelection((WantedFiles(("",), exclude=("/.row", "/ws"), largest=1000),))

    plan = await mirror.plan_send(limited)

    assert not plan.removed
    assert any("scripts/run is left out" in notice for notice in plan.notices)


async def test_a_link_made_here_is_not_written_through_by_a_fetch(
    mirror: Mirror, root: Path, there: Path, tmp_path: Path
) -> None:
    await send(mirror)
    secret = tmp_path / "secret"
    secret.mkdir()
    (root / "ws" / "one" / "out").symlink_to(secret)
    (there / "ws" / "one" / "out").mkdir()
    (there / "ws" / "one" / "out" / "keys").write_text("mine")

    plan = await fetch(mirror)

    assert "ws/one/out/keys" in paths(plan.conflicts)
    assert not list(secret.iterdir())


async def test_a_link_made_there_is_not_written_through_by_a_send(
    mirror: Mirror, root: Path, there: Path, tmp_path: Path
) -> None:
    (root / "ws" / "one" / "deep").mkdir()
    (root / "ws" / "one" / "deep" / "file").write_text("mine")
    await send(mirror)
    secret = tmp_path / "secret"
    (there / "ws" / "one" / "deep").rename(secret)
    (secret / "file").unlink()
    (there / "ws" / "one" / "deep").symlink_to(secret)

    plan = await send(mirror)

    assert "ws/one/deep/file" in paths(plan.conflicts)
    assert not list(secret.iterdir())


async def test_a_damaged_manifest_is_told_and_nothing_is_sent_twice(
    mirror: Mirror, root: Path
) -> None:
    first = await send(mirror)
    manifest_path(root, "alpha").write_text("{")

    plan = await mirror.plan_send(SEND)

    assert plan.unchanged == len(first.send)
    assert not plan.send
    assert "damaged" in mirror.notices[0]


async def test_two_transfers_at_a_time_wait_for_each_other(
    mirror: Mirror, root: Path, there: Path
) -> None:
    plan = await mirror.plan_send(SEND)
    other = Mirror(root, "alpha", LocalTransport(), str(there))

    async with contextlib.aclosing(mirror.send(plan)) as sending:
        await anext(sending)
        waiting = asyncio.create_task(last(other.send(plan)))
        # It has nothing to do but wait: as long as this one isn't done, neither is that.
        done, _ = await asyncio.wait({waiting}, timeout=0.5)
        async for _ in sending:
            pass
    told = await waiting

    assert not done
    assert told.notices == ()  # all of it is there already
    assert told.done_files == told.files == len(plan.send)
    assert (there / "ws" / "one" / "in").read_text() == "ws/one/in"


async def test_folders_are_made_by_any_name(mirror: Mirror, there: Path) -> None:
    await send(mirror)

    await mirror.make_folders([".row/completed", "-a b\n'"])

    assert (there / ".row" / "completed").is_dir()
    assert (there / "-a b\n'").is_dir()


# Where the copy is


async def test_home_and_variables_are_the_cluster_s(root: Path, tmp_path: Path) -> None:
    for place in ("~/a", "$SCRATCH/a", "${SCRATCH}/a"):
        home = tmp_path / f"ho'me {len(place)}"
        home.mkdir()
        transport = LocalTransport({"HOME": str(home), "SCRATCH": str(home)})

        assert await Mirror(root, "alpha", transport, place).resolve() == str(home / "a")


@pytest.mark.parametrize("place", ["relative", "", "~someone/x", "$(id)/x", "$1/x"])
async def test_a_place_that_nobody_can_mean_is_refused(root: Path, place: str) -> None:
    with pytest.raises(MirrorError, match="cannot be the place"):
        await Mirror(root, "alpha", LocalTransport(), place).resolve()


async def test_a_variable_that_is_not_there_is_named(root: Path) -> None:
    with pytest.raises(MirrorError, match=r"no \$NO_SUCH_THING on alpha"):
        await Mirror(root, "alpha", LocalTransport(), "$NO_SUCH_THING/x").resolve()


async def test_two_projects_never_share_a_copy(root: Path, there: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    await Mirror(root, "alpha", LocalTransport(), str(there)).resolve()

    with pytest.raises(MirrorError, match="is the copy of") as caught:
        await Mirror(other, "alpha", LocalTransport(), str(there)).resolve()

    assert caught.value.cause is CopyFailure.TAKEN
    assert default_place("~/rowtui/", root) != default_place("~/rowtui", other)
    assert default_place("~/rowtui/", root).startswith("~/rowtui/pro'ject-")


async def test_a_folder_of_somebody_s_is_not_made_a_copy(root: Path, there: Path) -> None:
    make_file(there / "thesis.tex")

    with pytest.raises(MirrorError, match="has files and is no copy") as caught:
        await Mirror(root, "alpha", LocalTransport(), str(there)).resolve()

    assert caught.value.cause is CopyFailure.TAKEN
    assert content(there) == {"thesis.tex": b""}


async def test_a_copy_whose_marker_was_purged_is_known_again(
    mirror: Mirror, root: Path, there: Path
) -> None:
    await send(mirror)
    (there / MARKER).unlink()

    plan = await Mirror(root, "alpha", LocalTransport(), str(there)).plan_send(SEND)

    assert not plan.send
    assert (there / MARKER).exists()


async def test_a_place_that_may_not_be_written_is_told(root: Path) -> None:
    with pytest.raises(MirrorError) as caught:
        await Mirror(root, "alpha", LocalTransport(), "/sys/kernel/rowtui").resolve()

    assert caught.value.cause is CopyFailure.DENIED
    assert caught.value.hint


# Faults, over SSH


@pytest.fixture
async def transport(login: LoginNode) -> AsyncIterator[AsyncsshTransport]:
    transport = AsyncsshTransport(SshTarget(login.name, config=(login.ssh_config,)), NoUser())
    yield transport
    await transport.close()


async def test_the_best_way_that_both_ends_have_is_taken(
    root: Path, there: Path, transport: AsyncsshTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_file(there / "x")

    best = await files_for(transport, root, str(there), "alpha")
    no_streams = await files_for(LocalTransport(), root, str(there), "alpha")
    monkeypatch.setenv("PATH", "/nowhere")
    no_rsync = await files_for(transport, root, str(there), "alpha")

    assert (best.name, no_rsync.name, no_streams.name) == ("rsync", "plain", "plain")


async def test_the_way_that_a_project_takes_to_a_cluster_offers_rsync(
    root: Path, there: Path, login: LoginNode, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    remote = Remote(login.name, config=(login.ssh_config,))
    transport = transport_for(remote, NoUser(), cluster="alpha")
    try:
        mirror = Mirror(root, "alpha", transport, str(there))
        await send(mirror)
        assert (await files_for(transport, root, str(there), "alpha")).name == "rsync"
        assert (there / "scripts/run").read_text() == "scripts/run"
    finally:
        await transport.close()


async def test_a_login_that_another_process_holds_serves_as_well(
    login: LoginNode, transport: AsyncsshTransport, root: Path, there: Path, tmp_path: Path
) -> None:
    path = tmp_path / "rowtui" / "alpha-0.socket"
    ready, end = asyncio.Event(), asyncio.Event()
    holding = asyncio.create_task(
        serve(
            transport, path, 60, shared=Shared("alpha", login.name, 60), questions=UserQuestions(),
            ready=ready, end=end,
        )
    )  # fmt: skip
    await ready.wait()
    await log_in_at(path, NoUser())
    user = SharedTransport(path)
    (root / "scripts" / "large").write_bytes(os.urandom(9_000_000))

    for files in (None, PlainFiles(root, user, str(there), "alpha")):
        mirror = Mirror(root, "alpha", user, str(there), files=files)
        plan = await send(mirror)
        assert "scripts/large" in paths(plan.send)
        (there / "ws" / "one" / "out").write_bytes(os.urandom(9_000_000))
        await fetch(mirror)
        assert (root / "ws/one/out").read_bytes() == (there / "ws/one/out").read_bytes()
        (root / "scripts" / "large").write_bytes(os.urandom(9_000_000))
    await user.close()
    end.set()
    await holding


@pytest.mark.parametrize("way", ["rsync-openssh"], indirect=True)
async def test_a_send_that_was_cut_goes_on_in_a_second_run(way: Way, root: Path) -> None:
    for number in range(20):
        (root / "scripts" / f"f{number}").write_bytes(os.urandom(600_000))
    place = str(way.there / "copy")
    files = type(way.files())(root, way.transport, place, "alpha")  # type: ignore[call-arg]
    mirror = Mirror(root, "alpha", way.transport, place, files=files)
    plan = await mirror.plan_send(SEND)

    async def cut_in_the_middle() -> None:
        async with contextlib.aclosing(mirror.send(plan)) as sending:
            async for progress in sending:
                if progress.done_files:
                    way.lose()

    with pytest.raises(MirrorError) as caught:
        await cut_in_the_middle()
    await way.find_again()
    await send(Mirror(root, "alpha", way.transport, place, files=files))
    after = await mirror.plan_send(SEND)

    assert caught.value.cause is CopyFailure.CUT
    assert not after.send
    assert not after.conflicts
    here = {path: data for path, data in content(root).items() if not path.startswith(".row/")}
    del here["ws/three/in"]
    found = content(way.there / "copy")
    del found[MARKER]
    assert found == here


@pytest.mark.parametrize("size", [12_000_000, 6_000_000])
@pytest.mark.parametrize("kind", ["rsync", "plain"])
async def test_a_full_disk_there_is_told_and_continued(
    kind: str, size: int, login: LoginNode, transport: AsyncsshTransport, root: Path, there: Path
) -> None:
    (root / "scripts" / "large").write_bytes(os.urandom(size))
    mirror = Mirror(root, "alpha", transport, str(there))
    if kind == "plain":
        files = PlainFiles(root, transport, str(there), "alpha")
        mirror = Mirror(root, "alpha", transport, str(there), files=files)
    plan = await mirror.plan_send(SEND)
    # What no write goes beyond, as on a disk that is full; the signal for it is not wanted.
    before = (login.home / ".bashrc").read_text()
    (login.home / ".bashrc").write_text(f"{before}\ntrap '' XFSZ\nulimit -f 5000\n")

    try:
        with pytest.raises(MirrorError) as caught:
            await last(mirror.send(plan))
    finally:
        (login.home / ".bashrc").write_text(before)
    again = await send(mirror)

    assert caught.value.cause is CopyFailure.FULL
    assert f"in {there} on alpha" in caught.value.message
    assert "room" in caught.value.hint
    assert "scripts/large" in paths(again.send)
    assert not (await mirror.plan_send(SEND)).send


async def test_a_plan_that_was_cut_can_be_carried_out_again(
    mirror: Mirror, root: Path, there: Path
) -> None:
    plan = await mirror.plan_send(SEND)
    await last(mirror.send(plan._replace(send=plan.send[:4])))
    (there / "workflow.toml").write_text("not ours")

    told = await last(mirror.send(plan))

    assert len(told.notices) == 1
    assert "workflow.toml was left alone" in told.notices[0]
    assert (there / "ws" / "two" / "in").exists()
    assert (there / "workflow.toml").read_text() == "not ours"


# What a project sends and fetches


async def test_the_selection_of_a_project_sends_what_jobs_need(
    mirror: Mirror, root: Path, there: Path
) -> None:
    for path in (".git/config", "notes.tmp", "run-17.out", "ws/one/.hidden", "ws/one/x.tmp"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).touch()
    (root / "large.bin").write_bytes(bytes(1_000_001))
    rules = MirrorRules(exclude=("*.tmp",), largest_mb=1)
    selection = to_send(rules, root, "ws", ["one"], log_patterns=["run-*.out"])

    plan = await send(mirror, selection)

    sent = set(content(there)) - {MARKER}
    assert sent == {"workflow.toml", "scripts/run", "ws/one/in", "ws/one/.hidden"}
    assert any("large.bin is left out" in notice for notice in plan.notices)


async def test_the_selection_of_a_project_fetches_what_jobs_made(
    mirror: Mirror, root: Path, there: Path
) -> None:
    await send(mirror)
    for path in (
        "ws/one/out[1].h5", "ws/one/out1.h5", "ws/one/plots/a.png", "ws/one/core",
        "ws/two/out[1].h5", "run-17.out", "run-18.out", ".row/completed/x",
    ):  # fmt: skip
        (there / path).parent.mkdir(parents=True, exist_ok=True)
        (there / path).touch()
    selection = to_fetch(
        MirrorRules(fetch=("plots/**",)), root, "ws", ["one"], ["out[1].h5"],
        logs=["./run-17.out", "/elsewhere/run.out"], records=[".row/completed"],
    )  # fmt: skip

    plan = await fetch(mirror, selection)

    folders = {".row/completed", "ws/one/plots"}
    assert set(paths(plan.fetch)) - folders == {
        "ws/one/out[1].h5", "ws/one/plots/a.png", "run-17.out", ".row/completed/x",
    }  # fmt: skip
    assert any("/elsewhere/run.out" in notice for notice in plan.notices)


class AsNobody(LocalTransport):
    """Lists and reads files as a user who may not read all of them."""

    async def run(self, argv: Sequence[str], **rest: Any) -> CommandResult:
        if os.geteuid() == 0 and (argv[0] == "tar" or "-readable" in argv[-1]):
            argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *argv]
        return await super().run(argv, **rest)


async def test_a_file_that_may_not_be_read_is_named_and_keeps_no_other_one_back(
    root: Path, there: Path
) -> None:
    transport = AsNobody()
    files = PlainFiles(root, transport, str(there), "alpha")
    mirror = Mirror(root, "alpha", transport, str(there), files=files)
    await send(mirror)
    made = [there / "ws/one" / name for name in ("out", "closed", "closed too", "away")]
    for place in made[:3]:
        place.write_text(place.name)
    made[3].symlink_to("/etc/hostname")
    made[1].chmod(0)
    made[2].chmod(0)
    selection = MirrorSelection((WantedFiles(("ws/one",)),))

    plan = await fetch(mirror, selection)
    again = await fetch(mirror, selection)

    assert paths(plan.fetch) == ["ws/one/away", "ws/one/out"]
    assert (root / "ws/one/out").read_text() == "out"
    assert not again.fetch
    for transfer in (plan, again):
        assert sorted(transfer.notices) == [
            "ws/one/away is a link that leads out of the project",
            "ws/one/closed cannot be read on alpha: it is left out",
            "ws/one/closed too cannot be read on alpha: it is left out",
        ]
