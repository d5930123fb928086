"""The OpenSSH login nodes are real, fail when told to, and are gone with their owner."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from tests.eventually import eventually
from tests.rig.keeper import descendants
from tests.rig.login import LoginNode
from tests.rig.processes import RigError, process_state, require
from tests.rig.slurm import SlurmRig

ROOT = Path(__file__).parents[2]
CLUSTER_NAME = "scontrol show config | sed -n 's/^ClusterName *= //p'"
OWNER = """
import sys, time
from tests.rig.login import LoginNode
from tests.rig.slurm import Node, start_slurm
partition = "PartitionName=p Nodes=n1 Default=YES"
rig = start_slurm(nodes=(Node("n1", 4, 8000),), partitions=(partition,))
login = LoginNode(rig.keeper, rig.cluster)
print(login.folder, flush=True)
time.sleep(600)
"""

pytestmark = pytest.mark.slurm


def ssh(login: LoginNode, command: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command by the OpenSSH client."""
    argv = [*login.ssh, command]
    return subprocess.run(argv, text=True, capture_output=True, timeout=60, **options)  # type: ignore[call-overload,no-any-return]


def connect(login: LoginNode, **options: object) -> Any:
    """Log in by asyncssh, which reads the same ssh_config."""
    return asyncssh.connect(login.name, config=[login.ssh_config], **options)


def test_openssh_and_asyncssh_log_in_and_meet_the_right_cluster(
    two_logins: tuple[LoginNode, LoginNode],
) -> None:
    for login, name in zip(two_logins, ("alpha", "beta"), strict=True):
        done = ssh(login, CLUSTER_NAME)
        assert (done.stdout, done.stderr, done.returncode) == (f"{name}\n", "", 0)


async def test_asyncssh_meets_the_right_cluster_by_the_same_file(
    two_logins: tuple[LoginNode, LoginNode],
) -> None:
    for login, name in zip(two_logins, ("alpha", "beta"), strict=True):
        async with connect(login) as connection:
            done = await connection.run(CLUSTER_NAME)
            assert (done.stdout, done.exit_status) == (f"{name}\n", 0)


async def test_without_the_config_file_the_parts_are_enough(login: LoginNode) -> None:
    async with asyncssh.connect(
        "127.0.0.1",
        login.port,
        username=login.user,
        client_keys=[login.client_key],
        known_hosts=str(login.known_hosts),
        config=None,
    ) as connection:
        assert (await connection.run("true", check=True)).exit_status == 0


async def test_jobs_of_two_clusters_know_nothing_of_each_other(
    two_logins: tuple[LoginNode, LoginNode],
) -> None:
    for login in two_logins:
        async with connect(login) as connection:
            done = await connection.run(
                f"sbatch --parsable --hold -J only-{login.name} -o /dev/null",
                input="#!/bin/bash\ntrue\n",
                check=True,
            )
            assert done.stdout.strip().isdigit()
    alpha, beta = (login.cluster.run("squeue -h -o %j").stdout for login in two_logins)
    assert "only-alpha" in alpha
    assert "only-beta" not in alpha
    assert "only-beta" in beta
    assert "only-alpha" not in beta
    for login in two_logins:
        login.cluster.run(f"scancel -n only-{login.name}")


async def test_files_go_by_sftp_to_the_home_in_which_commands_start(login: LoginNode) -> None:
    async with connect(login) as connection, connection.start_sftp_client() as sftp:
        async with sftp.open("it's here", "wb") as file:
            await file.write(b"\0\xff" * 1000)
        done = await connection.run('pwd; wc -c "it\'s here"')
    assert done.stdout == f"{login.home}\n2000 it's here\n"


async def test_a_cut_is_a_lost_connection_and_the_command_goes_on(
    login: LoginNode, tmp_path: Path
) -> None:
    async with connect(login) as connection:
        line = (
            f"echo begun; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo > {tmp_path}/on"
        )
        process = await connection.create_process(line)
        assert await process.stdout.readline() == "begun\n"
        login.cut()
        assert (await process.wait()).exit_status is None
    assert login.sessions() == []
    (tmp_path / "go").touch()
    eventually((tmp_path / "on").exists, what="the command to go on")
    assert ssh(login, "true").returncode == 0


async def test_a_frozen_peer_says_nothing_until_it_goes_on(login: LoginNode) -> None:
    async with connect(login) as connection:
        login.stop()
        assert {process_state(pid) for pid in login.sessions()} == {"T"}
        asking = asyncio.create_task(connection.run("echo there"))
        assert not (await asyncio.wait([asking], timeout=0.3))[0]
        login.go_on()
        assert (await asking).stdout == "there\n"


async def test_a_frozen_peer_is_noticed_by_keep_alive(login: LoginNode) -> None:
    async with connect(login, keepalive_interval=0.1, keepalive_count_max=2) as connection:
        login.stop()
        await connection.wait_closed()
    login.go_on()
    eventually(lambda: login.sessions() == [], what="the session to notice")


async def test_a_frozen_listener_accepts_and_says_nothing(login: LoginNode) -> None:
    login.stop(listener=True)
    with pytest.raises((TimeoutError, asyncssh.ConnectionLost)):
        await connect(login, login_timeout=0.3).__aenter__()
    login.go_on()
    assert ssh(login, "true").returncode == 0


async def test_without_its_listener_old_connections_live_and_new_ones_are_refused(
    login: LoginNode,
) -> None:
    async with connect(login) as connection:
        login.kill()
        assert (await connection.run("echo old")).stdout == "old\n"
        with pytest.raises(ConnectionRefusedError):
            await connect(login).__aenter__()
        assert "Connection refused" in ssh(login, "true").stderr
        login.restart()
        assert ssh(login, "echo new").stdout == "new\n"
        # The sessions that a dead listener left can still be cut.
        login.cut()
        await connection.wait_closed()


async def test_a_changed_host_key_is_noticed(login: LoginNode) -> None:
    before = login.known_hosts_line
    login.new_host_key()
    assert login.known_hosts_line != before
    done = ssh(login, "true")
    assert done.returncode == 255
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in done.stderr
    with pytest.raises(asyncssh.HostKeyNotVerifiable):
        await connect(login).__aenter__()
    login.trust_host_key()
    assert ssh(login, "true").returncode == 0


async def test_an_unknown_key_is_denied(login: LoginNode) -> None:
    stranger = asyncssh.generate_private_key("ssh-ed25519")
    with pytest.raises(asyncssh.PermissionDenied):
        await connect(login, client_keys=[stranger]).__aenter__()


async def test_a_banner_a_talkative_bashrc_and_few_sessions_are_had_on_request(
    slurm_rig: SlurmRig,
) -> None:
    login = LoginNode(
        slurm_rig.keeper,
        slurm_rig.cluster,
        name="fussy",
        banner="Authorised use only\n",
        bashrc="sleep 0.2; echo loading modules",
        max_sessions=1,
    )
    try:
        done = ssh(login, "echo mine")
        assert "Authorised use only" in done.stderr
        assert done.stdout == "loading modules\nmine\n"
        async with connect(login) as connection:
            process = await connection.create_process("cat")
            with pytest.raises(asyncssh.ChannelOpenError, match="open failed"):
                await connection.run("true")
            process.stdin.write_eof()
            await process.wait()
    finally:
        login.kill()


def test_clean_makes_everything_good_again(login: LoginNode) -> None:
    hurt: tuple[Callable[[], None], ...] = (
        lambda: login.stop(listener=True),
        login.kill,
        login.new_host_key,
    )
    for harm in hurt:
        harm()
        login.clean()
        assert ssh(login, "echo well").stdout == "well\n"


def test_it_listens_on_loopback_below_the_ports_of_outgoing_connections(login: LoginNode) -> None:
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert login.port < low
    port = f"{login.port:04X}"
    listening = [
        fields[1]
        for table in ("tcp", "tcp6")
        for fields in map(str.split, Path(f"/proc/net/{table}").read_text().splitlines()[1:])
        if fields[3] == "0A" and fields[1].endswith(f":{port}")
    ]
    assert listening == [f"0100007F:{port}"]


def test_sshd_sessions_and_folder_are_gone_when_the_owner_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        folder = Path(owner.stdout.readline().strip())
        config = folder.parent / "ssh_config"
        client = subprocess.Popen(
            [require("ssh")["ssh"], "-F", str(config), "alpha", "setsid sleep 300 & echo on; cat"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert client.stdout is not None
        assert client.stdin is not None
        assert client.stdout.readline() == "on\n"
        pids = descendants(owner.pid)
        assert len(pids) >= 7  # keeper, munged, slurmctld, slurmd, sshd, session, shell or cat
        owner.send_signal(signal.SIGKILL)
    eventually(lambda: not any(process_state(pid) for pid in pids), what="every process to be gone")
    eventually(lambda: not folder.parent.exists(), what="the folder to be gone")
    client.stdin.close()
    client.wait(20)
    client.stdout.close()


def test_an_sshd_that_cannot_start_says_why(slurm_rig: SlurmRig) -> None:
    with pytest.raises(RigError, match="NoSuchWord"):
        LoginNode(
            slurm_rig.keeper, slurm_rig.cluster, name="broken", settings={"NoSuchWord": "yes"}
        )


def test_how_long_it_takes_is_reported(
    slurm_rig: SlurmRig, record_property: Callable[[str, object], None]
) -> None:
    started = time.monotonic()
    login = LoginNode(slurm_rig.keeper, slurm_rig.cluster, name="timed")
    ready = time.monotonic()
    assert ssh(login, "true").returncode == 0
    record_property("login node up, s", round(ready - started, 3))
    record_property("first ssh command, s", round(time.monotonic() - ready, 3))
    print(f"login node up: {ready - started:.3f} s; ssh true: {time.monotonic() - ready:.3f} s")
    login.kill()
