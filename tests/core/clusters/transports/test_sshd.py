"""The same against a real OpenSSH server in front of a real Slurm."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from rowtui.core.clusters.command_log import Trouble
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    JobKey,
    JobSpec,
    JobState,
    Unreachable,
    task_token,
)
from rowtui.core.clusters.schedulers.slurm.scheduler import SlurmScheduler
from rowtui.core.clusters.transports.asyncssh_login import Timing
from rowtui.core.clusters.transports.login import LoginError, LoginTrouble, SshTarget
from rowtui.core.clusters.transports.openssh_transport import OpensshTransport

from tests.core.clusters.transports.conftest import Person, Reach
from tests.rig.login import LoginNode
from tests.rig.slurm import SlurmRig

pytestmark = pytest.mark.slurm

NOISE = """\
echo "Welcome to the cluster!"; echo "Quota exceeded" >&2; printf 'no newline at the end'
trap 'echo goodbye' EXIT
export SBATCH_PARTITION=wrong
"""


@pytest.fixture(scope="module")
def noisy(slurm_rig: SlurmRig) -> Iterator[LoginNode]:
    """A login node with a banner, a talkative start-up file, and two sessions a connection."""
    node = LoginNode(
        slurm_rig.keeper,
        slurm_rig.cluster,
        name="noisy",
        banner="Authorised use only!\n\x1b[31m\n",
        bashrc=NOISE,
        max_sessions=2,
    )
    yield node
    node.kill()
    node.cut()


async def test_commands_of_slurm_run_behind_the_login_node(reach: Reach, login: LoginNode) -> None:
    transport = reach(login)

    conf = await transport.run(["scontrol", "show", "config"], timeout=60)
    version = await transport.run(["sbatch", "--version"], timeout=60)

    assert f"ClusterName             = {login.cluster.name}" in conf.stdout.decode()
    assert version.stdout.startswith(b"slurm")
    assert version.stderr == b""


async def test_folder_environment_input_and_signal_with_a_real_server(
    reach: Reach, login: LoginNode, tmp_path: Path
) -> None:
    transport = reach(login)
    folder = tmp_path / "a'b\n !$x \udcff"
    folder.mkdir()

    where = await transport.run(["pwd"], timeout=60, cwd=folder)
    told = await transport.run(["sh", "-c", 'printf %s "$V"'], timeout=60, env={"V": "a'\n!\udcff"})
    echoed = await transport.run(["cat"], timeout=60, stdin=bytes(range(256)) * 4000)
    killed = await transport.run(["sh", "-c", "kill -9 $$"], timeout=60)

    assert where.stdout == bytes(folder) + b"\n"
    assert told.stdout == b"a'\n!\xff"
    assert echoed.stdout == bytes(range(256)) * 4000
    assert (killed.exit_status, killed.trouble) == (-9, None)


async def test_a_noisy_start_up_file_and_a_banner_leave_no_trace(
    reach: Reach, noisy: LoginNode
) -> None:
    done = await reach(noisy).run(["sh", "-c", "env; exit 4"], timeout=60)

    assert done.exit_status == 4
    assert b"Welcome" not in done.stdout
    assert b"goodbye" not in done.stdout
    assert b"SBATCH_PARTITION" not in done.stdout
    assert done.stderr == b""


async def test_a_server_with_two_sessions_runs_forty_commands_at_once(
    reach: Reach, noisy: LoginNode
) -> None:
    transport = reach(noisy)

    results = await asyncio.gather(
        *(transport.run(["echo", str(number)], timeout=60) for number in range(40))
    )

    assert [result.stdout for result in results] == [b"%d\n" % n for n in range(40)]


async def test_two_hundred_commands_share_one_connection(reach: Reach, login: LoginNode) -> None:
    transport = reach(login)

    results = await asyncio.gather(
        *(transport.run(["echo", str(number)], timeout=60) for number in range(200))
    )

    assert [result.stdout for result in results] == [b"%d\n" % n for n in range(200)]


async def test_a_session_that_is_killed_leaves_the_outcome_unknown_and_the_command_running(
    reach: Reach, login: LoginNode, tmp_path: Path
) -> None:
    transport = reach(login)
    begun, go, done = tmp_path / "begun", tmp_path / "go", tmp_path / "done"
    for pipe in (begun, go, done):
        await transport.run(["mkfifo", str(pipe)], timeout=60)
    script = f"echo x > {begun}; read x < {go}; echo x > {done}"
    running = asyncio.create_task(transport.run(["sh", "-c", script], timeout=60))
    await asyncio.to_thread(begun.read_text)

    await asyncio.to_thread(login.cut)
    lost = await running
    await asyncio.to_thread(go.write_text, "x\n")
    finished = await asyncio.to_thread(done.read_text)
    again = await transport.run(["echo", "again"], timeout=60)

    assert (lost.trouble, lost.exit_status) == (Trouble.LOST, None)
    assert finished == "x\n"
    assert again.stdout == b"again\n"


async def test_a_frozen_session_is_noticed_and_another_connection_opened(
    reach: Reach, login: LoginNode
) -> None:
    transport = reach(login, timing=Timing(alive_interval=0.4, alive_count=2))
    await transport.run(["true"], timeout=60)

    await asyncio.to_thread(login.stop)
    # Neither a channel nor a reply will come; what is certain is that it did not start.
    done = await transport.run(["echo", "in"], timeout=60)

    assert done.stdout == b"in\n"


async def test_a_connection_to_a_frozen_node_can_be_closed(reach: Reach, login: LoginNode) -> None:
    transport = reach(login)
    await transport.run(["true"], timeout=60)
    await asyncio.to_thread(login.stop)
    running = asyncio.create_task(transport.run(["sleep", "60"], timeout=60))
    stuck = asyncio.create_task(transport.run(["cat"], stdin=bytes(9 << 20), timeout=60))
    await asyncio.sleep(0)

    await transport.close()

    assert (await running).trouble in (Trouble.LOST, Trouble.UNREACHABLE)
    assert (await stuck).trouble in (Trouble.LOST, Trouble.UNREACHABLE)


async def test_a_node_that_is_frozen_altogether_times_out(reach: Reach, login: LoginNode) -> None:
    await asyncio.to_thread(login.stop, listener=True)

    with pytest.raises(LoginError) as caught:
        await reach(login, timing=Timing(connect=0.3)).reconnect()

    assert caught.value.trouble is LoginTrouble.TIMED_OUT


async def test_a_node_that_is_down_refuses_and_a_changed_one_is_never_believed(
    reach: Reach, login: LoginNode
) -> None:
    await asyncio.to_thread(login.kill)
    with pytest.raises(LoginError) as down:
        await reach(login).reconnect()
    await asyncio.to_thread(login.new_host_key)
    person = Person(believes=True)
    with pytest.raises(LoginError) as changed:
        await reach(login, person).reconnect()

    assert down.value.trouble is LoginTrouble.REFUSED
    assert changed.value.trouble is LoginTrouble.HOST_KEY_CHANGED
    assert f"{login.known_hosts}:1" in changed.value.message
    assert not person.keys


async def test_what_is_submitted_to_a_node_that_is_down_certainly_made_no_job(
    reach: Reach, login: LoginNode
) -> None:
    scheduler = SlurmScheduler(login.cluster.name, reach(login))
    work = login.cluster.work
    job = JobSpec("down-then-up", "x", "#!/bin/sh\ntrue\n", work, "", held=True, tasks=(0, 4, 5))

    await asyncio.to_thread(login.kill)
    refused = await scheduler.submit(job)
    snapshot = await scheduler.queue()
    found = await scheduler.find([task_token(job.token, 4)])
    (cancelled,) = await scheduler.cancel([JobKey(1)])
    await asyncio.to_thread(login.restart)
    again = SlurmScheduler(login.cluster.name, reach(login))
    accepted = await again.submit(job)
    found_again = await again.find([task_token(job.token, 4)])

    assert isinstance(refused, Unreachable)
    assert "refused" in refused.reason.lower()
    assert (snapshot.jobs, snapshot.error) == ((), refused.reason)
    assert found is None
    assert cancelled.error == refused.reason
    assert isinstance(accepted, Accepted)
    assert found_again is not None
    ((only,),) = found_again.values()
    assert (only.key, only.state) == (JobKey(accepted.job_id, 4), JobState.HELD)
    await again.cancel([JobKey(accepted.job_id)])


async def test_a_key_that_the_server_does_not_know_is_denied_with_what_was_tried(
    reach: Reach, login: LoginNode, tmp_path: Path
) -> None:
    import asyncssh

    other = tmp_path / "other"
    other.touch(mode=0o600)
    asyncssh.generate_private_key("ssh-ed25519").write_private_key(other)
    config = tmp_path / "config"
    text = login.ssh_config.read_text()
    config.write_text(text.replace(str(login.client_key), str(other)))

    with pytest.raises(LoginError) as caught:
        await reach(login, Person(), config=config).reconnect()

    assert caught.value.trouble is LoginTrouble.DENIED
    assert caught.value.tried == (str(other),)


async def test_a_cluster_is_reached_through_a_jump_host_which_is_let_go_with_it(
    reach: Reach, login: LoginNode, noisy: LoginNode, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    jump = f"Host {login.name}\n    ProxyJump {noisy.user}@{noisy.name}\n"
    config.write_text(jump + login.ssh_config.read_text())
    noisy.known_hosts.unlink()
    person = Person(believes=True)
    transport = reach(login, person, config=config)

    done = await transport.run(["echo", "in"], timeout=60)
    await asyncio.to_thread(noisy.cut)
    again = await transport.run(["echo", "again"], timeout=60)
    await transport.close()

    assert done.stdout == b"in\n"
    assert again.stdout == b"again\n"
    assert [key.host for key in person.keys] == [f"[127.0.0.1]:{noisy.port}"]


@pytest.mark.parametrize("kind", ["asyncssh", "openssh"])
async def test_a_connection_that_is_dropped_while_others_log_in_is_tried_again(
    reach: Reach, slurm_rig: SlurmRig, kind: str
) -> None:
    settings = {"MaxStartups": "1:100:1"}
    name = f"crowded-{kind}"
    node = LoginNode(slurm_rig.keeper, slurm_rig.cluster, name=name, settings=settings)
    ssh = OpensshTransport(SshTarget(node.name, config=(node.ssh_config,)))
    transport = ssh if kind == "openssh" else reach(node)
    try:
        _, other = await asyncio.open_connection("127.0.0.1", node.port)
        await asyncio.sleep(0.1)  # sshd has begun with it
        asyncio.get_running_loop().call_later(0.3, other.close)

        done = await transport.run(["echo", "in"], timeout=30)
    finally:
        await ssh.close()
        node.kill()
        node.cut()

    assert done.stdout == b"in\n", done.complaint
