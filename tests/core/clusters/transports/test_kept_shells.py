"""Shells that are kept on a login node, against a real sshd that counts the login shells."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

import pytest
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.kept_shells import KeptShells
from rowtui.core.clusters.transports.login import NoUser, SshTarget
from rowtui.core.clusters.transports.openssh_transport import OpensshTransport

from tests.eventually import eventually_async
from tests.rig.login import LoginNode
from tests.rig.slurm import SlurmRig

pytestmark = pytest.mark.slurm

Transports = AsyncsshTransport | OpensshTransport
Through = Callable[..., Transports]

BASHRC = """\
echo start >> "$HOME/starts"
sleep "$(cat "$HOME/seconds" 2>/dev/null || echo 0)"
echo "Welcome!"; echo "Quota" >&2
TMOUT=1; export TMOUT
"""


class Counting:
    """A login node, and the number of login shells that were started on it."""

    def __init__(self, node: LoginNode) -> None:
        self.node = node

    @property
    def starts(self) -> int:
        return len((self.node.home / "starts").read_text().splitlines())

    def clean(self, seconds: float = 0.0) -> None:
        (self.node.home / "starts").write_text("")
        (self.node.home / "seconds").write_text(str(seconds))


@pytest.fixture(scope="module")
def own_login(slurm_rig: SlurmRig) -> Iterator[Counting]:
    node = LoginNode(slurm_rig.keeper, slurm_rig.cluster, name="counting", bashrc=BASHRC)
    yield Counting(node)
    node.kill()
    node.cut()


@pytest.fixture
def login(own_login: Counting) -> Counting:
    own_login.clean()
    return own_login


@pytest.fixture(params=["asyncssh", "openssh"])
async def through(request: pytest.FixtureRequest, login: Counting) -> AsyncIterator[Through]:
    """Opens transports that keep a shell from the first command on; closes them at the end."""
    async with AsyncExitStack() as stack:

        def opened(**options: float) -> Transports:
            options = {"keep_after": 0, **options}
            target = SshTarget(login.node.name, config=(login.node.ssh_config,))
            transport: Transports
            if request.param == "asyncssh":
                transport = AsyncsshTransport(target, NoUser(), **options)  # type: ignore[arg-type]
            else:
                transport = OpensshTransport(target, **options)  # type: ignore[arg-type]
            stack.push_async_callback(transport.close)
            return transport

        yield opened


async def sh(transport: Transports, script: str, stdin: bytes = b"") -> CommandResult:
    return await transport.run(["sh", "-c", script], stdin=stdin, timeout=60)


async def test_commands_share_one_login_shell_and_see_nothing_of_each_other(
    through: Through, login: Counting, tmp_path: Path
) -> None:
    transport = through(limit=5_000_000)
    folder = tmp_path / "a'b\n !$x \udcff"
    folder.mkdir()
    data = bytes(range(256)) * 4000

    where = await transport.run(["pwd"], timeout=60, cwd=folder)
    home = await transport.run(["pwd"], timeout=60)
    told = await transport.run(["sh", "-c", 'printf %s "$V"'], timeout=60, env={"V": "'\n!\udcff"})
    none = await sh(transport, 'printf %s "$V$TMOUT"; cat')
    echoed = await sh(transport, "cat; cat >&2 </dev/null; printf sorry >&2; exit 3", data)
    unread = await sh(transport, "exit 4", data)
    killed = await sh(transport, "kill -9 $$")
    much = await sh(transport, "head -c 6000000 /dev/zero")
    missing = await transport.run(["no-such-program"], timeout=60)
    nowhere = await transport.run(["true"], timeout=60, cwd=tmp_path / "nowhere")
    last = await transport.run(["echo", "last"], timeout=60)

    assert where.stdout == bytes(folder) + b"\n"
    assert home.stdout == bytes(login.node.home) + b"\n"
    assert told.stdout == b"'\n!\xff"
    assert (none.stdout, none.stderr) == (b"", b"")
    assert (echoed.stdout, echoed.stderr, echoed.exit_status) == (data, b"sorry", 3)
    assert not echoed.truncated
    assert unread.exit_status == 4
    assert (killed.exit_status, killed.trouble) == (137, None)
    assert (len(much.stdout), much.truncated) == (5_000_000, True)
    assert (missing.trouble, missing.detail) == (
        Trouble.NOT_STARTED,
        "no-such-program: not found",
    )
    assert nowhere.trouble is Trouble.NOT_STARTED
    assert "nowhere" in nowhere.detail
    assert last.stdout == b"last\n"
    assert login.starts == 1


async def test_only_a_login_shell_that_starts_slowly_is_kept(
    through: Through, login: Counting
) -> None:
    login.clean(seconds=0.6)
    slow = through(keep_after=0.5)
    for number in range(6):
        assert (await slow.run(["echo", str(number)], timeout=60)).stdout == b"%d\n" % number
    of_slow = login.starts

    login.clean()
    fast = through(keep_after=2)
    await sh(fast, "sleep 2")  # a slow command, in a shell that starts quickly
    for _ in range(3):
        await fast.run(["true"], timeout=60)

    assert of_slow == 1
    assert login.starts == 4


async def test_commands_at_once_start_no_more_shells_than_they_need(
    through: Through, login: Counting
) -> None:
    transport = through()

    results = await asyncio.gather(
        *(transport.run(["echo", str(number)], timeout=60) for number in range(40))
    )

    assert [result.stdout for result in results] == [b"%d\n" % number for number in range(40)]
    assert login.starts <= 4


async def test_a_command_that_ends_the_shell_has_an_unknown_outcome(
    through: Through, login: Counting
) -> None:
    transport = through()
    # The parent of the command's own shell is a subshell of the kept shell.
    script = "kill -9 $(ps -o ppid= $(ps -o ppid= $$)) $(ps -o ppid= $$)"

    lost = await sh(transport, script)
    again = await transport.run(["echo", "again"], timeout=60)

    assert (lost.trouble, lost.exit_status) == (Trouble.LOST, None)
    assert again.stdout == b"again\n"
    assert login.starts == 2


@pytest.mark.parametrize("how", ["too long", "cancelled"])
async def test_a_command_that_is_given_up_goes_on_and_its_output_is_no_other_ones(
    through: Through, tmp_path: Path, how: str
) -> None:
    transport = through()
    script = f'echo begun; touch "{tmp_path}/begun"; sleep 1.5; touch "{tmp_path}/done"; echo mine'
    await transport.run(["true"], timeout=60)

    if how == "too long":
        late = await transport.run(["sh", "-c", script], timeout=0.7)
        assert (late.trouble, late.stdout) == (Trouble.TIMED_OUT, b"begun\n")
    else:
        running = asyncio.create_task(sh(transport, script))
        await eventually_async((tmp_path / "begun").exists)
        running.cancel()
        await asyncio.wait({running})
    other = await transport.run(["echo", "other"], timeout=60)
    await eventually_async((tmp_path / "done").exists)

    assert other.stdout == b"other\n"


async def test_a_connection_that_breaks_loses_the_command_that_runs_and_no_later_one(
    through: Through, login: Counting, tmp_path: Path
) -> None:
    transport = through()
    await transport.run(["true"], timeout=60)
    script = f'touch "{tmp_path}/begun"; sleep 0.5; touch "{tmp_path}/done"'

    running = asyncio.create_task(sh(transport, script))
    await eventually_async((tmp_path / "begun").exists)
    await asyncio.to_thread(login.node.cut)
    lost = await running
    again = await transport.run(["echo", "again"], timeout=60)
    await asyncio.to_thread(login.node.cut)  # while no command runs
    idle = await transport.run(["echo", "idle"], timeout=60)
    await eventually_async((tmp_path / "done").exists)

    assert (lost.trouble, lost.exit_status) == (Trouble.LOST, None)
    assert again.stdout == b"again\n"
    assert idle.stdout == b"idle\n"


async def test_a_shell_that_never_starts_is_blamed_on_its_start_up_files(
    through: Through, login: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    login.clean(seconds=20)
    monkeypatch.setattr("rowtui.core.clusters.transports.kept_shells.START_SECONDS", 0.5)

    alone = await through(keep_after=math.inf).run(["squeue"], timeout=1)
    kept = await through().run(["squeue"], timeout=1)

    assert alone.trouble is Trouble.TIMED_OUT
    assert ": the login shell had not begun it" in alone.complaint
    assert kept.trouble is Trouble.UNREACHABLE
    assert kept.detail.startswith("the login shell did not start within")
    assert all("~/.bashrc" in result.complaint for result in (alone, kept))


async def test_a_command_that_no_shell_takes_is_left_to_a_session_of_its_own() -> None:
    async def opened(line: str) -> None:
        raise OSError("refused")

    for process in (_Nothing, _Refused):
        shells = KeptShells(process, 0)
        line = ("", b"")
        assert await shells.run(["true"], line, b"", 1, 10) is None  # type: ignore[arg-type]
        assert shells.wanted is (process is _Refused)


class _Refused:
    """A process that cannot be opened."""

    def __init__(self, line: str) -> None:
        pass

    async def __aenter__(self) -> Self:
        raise OSError("refused")

    async def __aexit__(self, *error: object) -> None:
        pass


class _Nothing(_Refused):
    """A process that ends at once."""

    async def __aenter__(self) -> Self:
        self.stdin = self.stdout = self
        return self

    def write(self, data: bytes) -> None:
        pass

    async def read(self, size: int) -> bytes:
        return b""
