"""The way to a cluster in real processes: one login for several, and what happens when it ends."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rowtui.core.clusters.command_log import Trouble
from rowtui.core.clusters.config.load_remote import ssh_target
from rowtui.core.clusters.model import Remote
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.cluster_transport import ClusterTransport, transport_for
from rowtui.core.clusters.transports.login import LoginError, LoginTrouble
from rowtui.core.clusters.transports.shared.calls import (
    end_shared,
    look_at,
    open_shared,
    shared_logins,
)
from rowtui.core.clusters.transports.shared.folder import SharedError, shared_socket
from rowtui.core.clusters.transports.shared.transport import SharedTransport

from tests.core.clusters.transports.conftest import Person, Reach
from tests.eventually import eventually_async
from tests.rig.faults import Hang, Prompt
from tests.rig.faulty import FaultyLogin
from tests.rig.login import LoginNode

CODE = [[Prompt("Password: ", "right")], [Prompt("Code: ", "123456", once=True)]]
ANSWERS = (["right"], ["123456"])

OTHER_PROCESS = """\
import asyncio, sys
from rowtui.core.clusters.model import Remote
from rowtui.core.clusters.transports.login import NoUser
from rowtui.core.clusters.transports.cluster_transport import transport_for

async def main():
    host, config, kind, word = sys.argv[1:]
    remote = Remote(host, transport=kind, config=(config,))
    transport = transport_for(remote, NoUser(), cluster="alpha")
    done = await transport.run(["echo", word], timeout=20)
    await transport.close()
    print(done.stdout.decode().strip() or done.complaint)

asyncio.run(main())
"""


class Alpha:
    """A cluster behind a login node, and the ways to it that a test opens."""

    def __init__(self, node: FaultyLogin | LoginNode, transport: str = "asyncssh") -> None:
        self.node = node
        self.remote = Remote(node.name, transport=transport, config=(str(node.ssh_config),))
        self.path = shared_socket("alpha", ssh_target(self.remote))
        self._ways: list[ClusterTransport | SharedTransport] = []

    async def connect(self, *answers: list[str], **seconds: float) -> int:
        """The process that holds the login."""
        given = {"seconds": 60.0, "idle_seconds": 60.0, **seconds}
        return (await open_shared("alpha", self.remote, Person(*answers), **given)).pid

    def way(self, *answers: list[str]) -> ClusterTransport:
        self._ways.append(transport_for(self.remote, Person(*answers), cluster="alpha"))
        return self._ways[-1]  # type: ignore[return-value]

    def user(self) -> SharedTransport:
        self._ways.append(SharedTransport(self.path))
        return self._ways[-1]  # type: ignore[return-value]

    async def elsewhere(self, word: str) -> str:
        """What another process gets to hear, where nobody answers questions."""
        remote = self.remote
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", OTHER_PROCESS, remote.host, remote.config[0], remote.transport,
            word, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        said, _ = await process.communicate()
        return said.decode().strip()

    async def close(self) -> None:
        for way in self._ways:
            await way.close()
        await end_shared(self.path)


@pytest.fixture(autouse=True)
def runtime_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
async def alpha(reach: Reach) -> AsyncIterator[Alpha]:
    """Asks for a password and a code that is good once."""
    cluster = Alpha(await reach.faulty(keys=False, rounds=CODE))
    yield cluster
    await cluster.close()


async def killed(pid: int, number: int = signal.SIGKILL) -> None:
    os.kill(pid, number)
    await left(pid)


async def left(pid: int) -> None:
    """Wait until a process is gone, with all of its threads."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    await asyncio.to_thread(select.select, [process], [], [])
    os.close(process)


def logins(alpha: Alpha) -> list[bool]:
    assert isinstance(alpha.node, FaultyLogin)
    return [login.accepted for login in alpha.node.logins]


async def test_two_processes_share_one_login(alpha: Alpha) -> None:
    await alpha.connect(*ANSWERS)

    said = await asyncio.gather(alpha.elsewhere("one"), alpha.elsewhere("two"))

    assert said == ["one", "two"]
    assert logins(alpha) == [True]


@pytest.mark.parametrize("transport", ["asyncssh", "openssh"])
async def test_commands_and_streams_of_two_processes_share_one_connection_to_a_real_sshd(
    login: LoginNode, transport: str
) -> None:
    before = login.sessions()
    alpha = Alpha(login, transport)
    await alpha.connect()
    held = login.sessions()
    data = bytes(range(256)) * 20_000

    said = await asyncio.gather(alpha.elsewhere("one"), alpha.elsewhere("two"))
    process = await streams(alpha.user(), "cat; echo said >&2; exit 3")
    out, err = await process.communicate(data)
    then = login.sessions()
    await alpha.close()

    assert said == ["one", "two"]
    assert (out == data, process.returncode) == (True, 3)
    assert err.endswith(b"said\n")
    assert set(held) - set(before)
    assert not set(then) - set(held)


async def test_a_process_that_was_killed_before_a_command_did_certainly_not_begin_it(
    alpha: Alpha,
) -> None:
    pid = await alpha.connect(*ANSWERS)
    user = alpha.user()
    await user.run(["true"], timeout=20)
    process = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([process], [], [])  # all of its threads are gone; the event loop has not turned
    os.close(process)

    done = await user.run(["echo", "marked"], timeout=20)

    assert done.trouble is Trouble.UNREACHABLE
    assert alpha.path.is_socket()  # it could not take it away any more
    assert await look_at(alpha.path) is None


async def test_a_process_that_was_killed_during_a_command_leaves_it_unknown(alpha: Alpha) -> None:
    pid = await alpha.connect(*ANSWERS)
    way = alpha.way(["right"], ["654321"])
    await way.run(["true"], timeout=20)  # which measures the start of a shell
    assert isinstance(alpha.node, FaultyLogin)
    alpha.node.inject("marked", Hang())
    under_way = asyncio.create_task(way.run(["echo", "marked"], timeout=20))
    await alpha.node.asked_for("marked")

    await killed(pid)

    assert (await under_way).trouble is Trouble.LOST


async def test_the_next_command_after_the_end_finds_a_way_of_its_own(alpha: Alpha) -> None:
    pid = await alpha.connect(*ANSWERS)
    way = alpha.way(["right"], ["777"])
    first = await way.run(["echo", "first"], timeout=20)
    was_shared = way.shared
    await killed(pid, signal.SIGTERM)
    assert isinstance(alpha.node, FaultyLogin)
    alpha.node.rounds = [CODE[0], [Prompt("Code: ", "777", once=True)]]

    second = await way.run(["echo", "second"], timeout=20)

    assert (first.stdout, second.stdout) == (b"first\n", b"second\n")
    assert was_shared
    assert not way.shared
    assert way.alive
    assert logins(alpha) == [True, True]
    assert not alpha.path.exists()


async def test_a_login_that_is_shared_later_is_found_where_ones_own_failed(alpha: Alpha) -> None:
    way = alpha.way()
    with pytest.raises(LoginError) as caught:
        await way.reconnect()
    failed = way.error
    await alpha.connect(*ANSWERS)

    done = await way.run(["echo", "in"], timeout=20)
    await way.reconnect()

    assert caught.value.trouble is LoginTrouble.CANCELLED
    assert failed is caught.value
    assert done.stdout == b"in\n"
    assert way.error is None
    assert logins(alpha) == [True]


async def test_a_shared_login_that_was_lost_is_made_again_for_all(alpha: Alpha) -> None:
    pid = await alpha.connect(*ANSWERS)
    way = alpha.way(["right"], ["777"])
    assert isinstance(alpha.node, FaultyLogin)
    await alpha.node.close()
    away = await way.run(["true"], timeout=20)
    alpha.node.rounds = [CODE[0], [Prompt("Code: ", "777", once=True)]]
    await alpha.node.open()

    await way.reconnect()
    back = await way.run(["true"], timeout=20)
    known = await look_at(alpha.path)

    assert away.exit_status is None
    assert way.shared
    assert back.exit_status == 0
    assert known is not None
    assert known.pid == pid


async def test_ones_own_login_is_kept_while_it_lasts(alpha: Alpha) -> None:
    way = alpha.way(*ANSWERS)
    await way.run(["true"], timeout=20)
    assert isinstance(alpha.node, FaultyLogin)
    alpha.node.rounds = [[Prompt("Password: ", "right")]]
    await alpha.connect(["right"])

    await way.run(["true"], timeout=20)

    assert not way.shared


async def test_it_says_why_a_shared_login_is_not_used(alpha: Alpha, runtime_folder: Path) -> None:
    await alpha.connect(*ANSWERS)
    (runtime_folder / "rowtui").chmod(0o755)
    way = alpha.way()

    done = await way.run(["true"], timeout=20)
    (runtime_folder / "rowtui").chmod(0o700)

    assert done.exit_status is None
    assert "open to others (mode 0755)" in way.notice


async def test_a_process_that_does_not_answer_is_killed(
    alpha: Alpha, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rowtui.core.clusters.transports.shared.transport.ANSWER_SECONDS", 0.2)
    pid = await alpha.connect(*ANSWERS)
    os.kill(pid, signal.SIGSTOP)

    ((_, known),) = await shared_logins()
    ended = await end_shared(alpha.path)

    assert (known.state.value, known.pid, known.cluster) == ("no answer", pid, "alpha")
    assert ended
    await left(pid)
    assert not await end_shared(alpha.path)


async def test_a_process_that_cannot_make_its_socket_says_why(
    alpha: Alpha, runtime_folder: Path
) -> None:
    (runtime_folder / "rowtui").mkdir(mode=0o700)
    alpha.path.mkdir()

    with pytest.raises(SharedError, match="no socket can be made"):
        await alpha.connect(*ANSWERS)


# Streams


async def streams(user: SharedTransport, line: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    command = await user.stream_command(line)
    return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)


async def test_streams_end_with_whoever_wanted_them(alpha: Alpha) -> None:
    await alpha.connect(*ANSWERS)
    user = alpha.user()
    process = await streams(user, "echo begun; exec cat")
    assert process.stdout is not None
    assert await process.stdout.readline() == b"begun\n"
    during = await look_at(alpha.path)

    process.kill()
    await process.wait()

    assert during is not None
    assert during.running == 1
    await eventually_async(
        lambda: look_at(alpha.path), lambda after: after is None or not after.running
    )
    assert (await user.run(["true"], timeout=20)).exit_status == 0


async def test_streams_say_why_there_are_none(alpha: Alpha) -> None:
    await alpha.connect(*ANSWERS)
    user = alpha.user()
    command = await user.stream_command("true")
    assert isinstance(alpha.node, FaultyLogin)
    alpha.node.cut()

    lost = await streams(user, "true")
    _, said = await lost.communicate()
    await end_shared(alpha.path)
    gone = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
    _, then = await gone.communicate()

    assert lost.returncode == gone.returncode == 255
    assert b"given up" in said
    assert then == b"the shared connection ended\n"


async def test_the_way_of_now_is_what_commands_take(alpha: Alpha) -> None:
    way = alpha.way(*ANSWERS)
    own = await way.way()
    pid = await alpha.connect(*ANSWERS)
    shared = await way.way()
    await killed(pid)

    assert isinstance(own, AsyncsshTransport)
    assert isinstance(shared, SharedTransport)
    assert await way.way() is own
