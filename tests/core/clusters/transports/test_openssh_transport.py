"""Commands through the system's ssh, against a real sshd and a node that fails on request."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from rowtui.core.clusters.command_log import Trouble
from rowtui.core.clusters.transports.login import LoginTrouble, SshTarget
from rowtui.core.clusters.transports.openssh_transport import OpensshTransport

from tests.core.clusters.transports.conftest import Reach
from tests.rig.faults import DropAfter, DropBefore, DropOutput, Hang
from tests.rig.faulty import FaultyLogin
from tests.rig.login import LoginNode
from tests.rig.slurm import SlurmRig

pytestmark = pytest.mark.slurm

Through = Callable[..., OpensshTransport]


@pytest.fixture
async def through() -> AsyncIterator[Through]:
    """Opens transports, and closes them at the end of the test."""
    async with AsyncExitStack() as stack:

        def opened(
            node: LoginNode | FaultyLogin, config: Path | None = None, **options: object
        ) -> OpensshTransport:
            target = SshTarget(node.name, config=(config or node.ssh_config,))
            transport = OpensshTransport(target, **options)  # type: ignore[arg-type]
            stack.push_async_callback(transport.close)
            return transport

        yield opened


async def test_folder_environment_input_output_and_status(
    through: Through, login: LoginNode, tmp_path: Path
) -> None:
    transport = through(login, env={"ALWAYS": "a"})
    folder = tmp_path / "a'b\n !$x \udcff"
    folder.mkdir()

    where = await transport.run(["pwd"], timeout=60, cwd=folder)
    script = 'printf %s "$ALWAYS$V"; echo sorry >&2; exit 3'
    told = await transport.run(["sh", "-c", script], timeout=60, env={"V": "'\n!\udcff"})
    echoed = await transport.run(["cat"], timeout=60, stdin=bytes(range(256)) * 4000)

    assert where.stdout == bytes(folder) + b"\n"
    assert (told.stdout, told.stderr, told.exit_status) == (b"a'\n!\xff", b"sorry\n", 3)
    assert echoed.stdout == bytes(range(256)) * 4000
    assert not echoed.truncated


async def test_one_connection_is_opened_for_the_session_and_closed_with_it(
    through: Through, login: LoginNode
) -> None:
    transport = through(login)

    results = await asyncio.gather(
        *(transport.run(["echo", str(number)], timeout=60) for number in range(12))
    )
    peer = await transport.run(["sh", "-c", "echo $SSH_CLIENT"], timeout=60)
    same = await transport.run(["sh", "-c", "echo $SSH_CLIENT"], timeout=60)
    folder = transport._folder
    await transport.close()
    closed = await transport.run(["true"], timeout=60)

    assert [result.stdout for result in results] == [b"%d\n" % n for n in range(12)]
    assert peer.stdout == same.stdout
    assert folder is not None
    assert not folder.exists()
    assert closed.trouble is Trouble.UNREACHABLE


async def test_a_connection_that_the_configuration_shares_is_used_and_left_open(
    through: Through, login: LoginNode, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    socket = tmp_path / "s"
    config.write_text(f"ControlPath {socket}\n" + login.ssh_config.read_text())
    ssh = ["ssh", "-F", str(config)]
    await finish([*ssh, "-M", "-N", "-f", login.name])
    theirs = await finish([*ssh, login.name, "echo $SSH_CLIENT"])
    transport = through(login, config)

    done = await transport.run(["sh", "-c", "echo $SSH_CLIENT"], timeout=60)
    await transport.close()
    still = await finish([*ssh, login.name, "echo $SSH_CLIENT"])
    await finish([*ssh, "-O", "exit", login.name])

    assert done.stdout == theirs == still


async def test_a_server_with_two_sessions_runs_twelve_commands_at_once(
    through: Through, slurm_rig: SlurmRig
) -> None:
    node = LoginNode(slurm_rig.keeper, slurm_rig.cluster, name="narrow", max_sessions=2)
    transport = through(node)

    results = await asyncio.gather(
        *(transport.run(["echo", str(number)], timeout=60) for number in range(12))
    )
    await transport.close()
    await asyncio.to_thread(node.kill)

    assert [result.stdout for result in results] == [b"%d\n" % n for n in range(12)]


async def test_a_shared_connection_that_is_gone_is_opened_again(
    through: Through, login: LoginNode
) -> None:
    transport = through(login)
    await transport.run(["true"], timeout=60)

    await asyncio.to_thread(login.cut)
    results = [await transport.run(["echo", "in"], timeout=60) for _ in range(2)]

    # The first may find the connection just as it breaks.
    assert results[0].stdout == b"in\n" or results[0].trouble is not None
    assert results[1].stdout == b"in\n"


async def test_a_command_that_ends_with_255_is_told_from_a_connection_that_fails(
    through: Through, login: LoginNode
) -> None:
    transport = through(login)

    command = await transport.run(["sh", "-c", "exit 255"], timeout=60)
    missing = await transport.run(["no-such-command"], timeout=60)
    await asyncio.to_thread(login.cut)
    await asyncio.to_thread(login.kill)
    refused = await transport.run(["true"], timeout=60)
    error = transport.error
    await asyncio.to_thread(login.restart)
    back = await transport.run(["echo", "back"], timeout=60)

    assert (command.exit_status, command.trouble) == (255, None)
    assert (missing.trouble, missing.detail) == (
        Trouble.NOT_STARTED,
        "no-such-command: not found",
    )
    assert refused.trouble is Trouble.UNREACHABLE
    assert error is not None
    assert error.trouble is LoginTrouble.REFUSED
    assert back.stdout == b"back\n"
    assert transport.error is None


@pytest.mark.parametrize("fault", [DropBefore(), DropAfter(), DropOutput()])
async def test_a_connection_lost_while_a_command_ran_leaves_its_outcome_unknown(
    through: Through, reach: Reach, fault: DropBefore | DropAfter | DropOutput
) -> None:
    node = await reach.faulty()
    transport = through(node)
    node.inject("sbatch", fault)

    lost = await transport.run(["echo", "sbatch"], timeout=60)
    again = await transport.run(["echo", "again"], timeout=60)

    assert (lost.trouble, lost.exit_status) == (Trouble.LOST, None)
    assert again.stdout == b"again\n"


async def test_after_the_time_out_the_command_goes_on(
    through: Through, reach: Reach, tmp_path: Path
) -> None:
    node = await reach.faulty()
    transport = through(node)
    await transport.run(["true"], timeout=60)
    let_go = asyncio.Event()
    node.inject("touch", Hang(let_go))

    late = await transport.run(["touch", str(tmp_path / "done")], timeout=1)
    let_go.set()
    await (await node.asked_for("touch")).ended.wait()

    assert late.trouble is Trouble.TIMED_OUT
    assert (tmp_path / "done").exists()


async def test_unknown_and_changed_host_keys_stop_and_say_so(
    through: Through, login: LoginNode, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    # A configuration that would believe anything does not change that.
    text = login.ssh_config.read_text().replace(
        "StrictHostKeyChecking yes", "StrictHostKeyChecking no"
    )
    config.write_text(text)
    login.known_hosts.write_text("")

    unknown = through(login, config)
    unknown_result = await unknown.run(["true"], timeout=60)
    login.trust_host_key()
    await asyncio.to_thread(login.new_host_key)
    changed = through(login, config)
    changed_result = await changed.run(["true"], timeout=60)

    assert unknown_result.trouble is changed_result.trouble is Trouble.UNREACHABLE
    assert unknown.error is not None
    assert unknown.error.trouble is LoginTrouble.HOST_KEY_UNKNOWN
    assert changed.error is not None
    assert changed.error.trouble is LoginTrouble.HOST_KEY_CHANGED


async def test_a_denied_login_and_a_missing_ssh_are_explained(
    through: Through, login: LoginNode, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text(login.ssh_config.read_text().replace(str(login.client_key), "/no/such"))
    denied = through(login, config)
    missing = through(login, program="/no/such/ssh")

    results = [await transport.run(["true"], timeout=60) for transport in (denied, missing)]

    assert [result.trouble for result in results] == [Trouble.UNREACHABLE] * 2
    assert denied.error is not None
    assert denied.error.trouble is LoginTrouble.DENIED
    assert "Permission denied (publickey)" in results[0].detail
    assert "/no/such/ssh" in results[1].detail


async def test_what_a_command_says_beyond_the_limit_is_thrown_away(
    through: Through, login: LoginNode
) -> None:
    transport = through(login, limit=1000)

    done = await transport.run(["head", "-c", "5000000", "/dev/zero"], timeout=60)

    assert (done.exit_status, done.stdout, done.truncated) == (0, bytes(1000), True)


async def finish(argv: list[str]) -> bytes:
    """Run a command to its end; what it printed."""
    done = await asyncio.to_thread(
        subprocess.run, argv, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
        env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    return done.stdout
