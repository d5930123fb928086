"""The faulty login node runs commands for real, and fails exactly as it was told."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from tests.eventually import eventually
from tests.rig.faults import (
    Delay,
    DropAfter,
    DropBefore,
    Hang,
    LoginAttempt,
    Prompt,
    Refuse,
    Reply,
)
from tests.rig.faulty import FaultyLogin, faulty_login
from tests.rig.processes import process_state, require
from tests.rig.slurm import SlurmCluster

ROOT = Path(__file__).parents[2]
OWNER = """
import asyncio, asyncssh, sys
from pathlib import Path
from tests.rig.faulty import faulty_login

async def own() -> None:
    async with faulty_login(Path(sys.argv[1])) as node:
        async with asyncssh.connect(node.name, config=[node.ssh_config]) as client:
            process = await client.create_process("echo $$; exec sleep 300")
            print(await process.stdout.readline(), flush=True)
            await process.wait()

asyncio.run(own())
"""


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[FaultyLogin]:
    async with faulty_login(tmp_path / "faulty") as node:
        yield node


def connect(node: FaultyLogin, **options: object) -> Any:
    return asyncssh.connect(node.name, config=[node.ssh_config], **options)


class Answers(asyncssh.SSHClient):
    """A client that answers what it is asked from a list, and writes down what that was."""

    def __init__(self, *dialogues: list[str]) -> None:
        self.dialogues = list(dialogues)
        self.seen: list[tuple[str, list[tuple[str, bool]]]] = []

    def password_auth_requested(self) -> str | None:
        return self.dialogues.pop(0)[0] if self.dialogues else None

    def kbdint_auth_requested(self) -> str | None:
        return "" if self.dialogues else None

    def kbdint_challenge_received(
        self, name: str, instructions: str, lang: str, prompts: Sequence[tuple[str, bool]]
    ) -> list[str]:
        self.seen.append((instructions, list(prompts)))
        return self.dialogues.pop(0)


@pytest.mark.slurm
async def test_commands_run_in_the_environment_of_a_real_cluster(
    slurm: SlurmCluster, tmp_path: Path
) -> None:
    async with faulty_login(tmp_path / "faulty", env=slurm.env) as node, connect(node) as client:
        script = "#!/bin/bash\ntrue\n"
        done = await client.run("sbatch --parsable --hold -o /dev/null", input=script)
        job = int(str(done.stdout))
        assert slurm.state(job) == "PENDING"
        slurm.run(f"scancel {job}")
        assert bytes(node.asked[0].stdin) == script.encode()
        assert node.asked[0].status == 0


async def test_output_errors_status_and_signals_come_back(node: FaultyLogin) -> None:
    async with connect(node) as client:
        done = await client.run("cat; echo oh >&2; exit 3", input="b\0\xff\n", encoding="latin-1")
        assert (done.stdout, done.stderr, done.exit_status) == ("b\0\xff\n", "oh\n", 3)
        done = await client.run("kill -9 $$")
        assert done.exit_signal is not None
        assert done.exit_signal[0] == "KILL"
        done = await client.run("pwd")
        assert done.stdout == f"{node.home}\n"


async def test_the_openssh_client_may_use_it(node: FaultyLogin) -> None:
    node.inject("sinfo", Reply("idle\n", "slow\n", 4))
    client = await asyncio.create_subprocess_exec(
        *(require("ssh")["ssh"], "-F", str(node.ssh_config), node.name, "sinfo -h"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert await client.communicate() == (b"idle\n", b"slow\n")
    assert client.returncode == 4


async def test_a_drop_before_the_command_leaves_no_trace_of_it(
    node: FaultyLogin, tmp_path: Path
) -> None:
    node.inject("touch", DropBefore())
    async with connect(node) as client:
        done = await client.run(f"touch {tmp_path}/trace")
        assert done.exit_status is None
        await client.wait_closed()
    assert not (tmp_path / "trace").exists()
    assert [asked.fault for asked in node.asked] == [DropBefore()]


async def test_a_drop_after_the_command_loses_only_the_reply(
    node: FaultyLogin, tmp_path: Path
) -> None:
    node.inject("cat", DropAfter())
    async with connect(node) as client:
        done = await client.run(f"cat > {tmp_path}/trace; echo 17", input="whole script")
        assert (done.stdout, done.exit_status) == ("", None)
        await client.wait_closed()
    assert (tmp_path / "trace").read_text() == "whole script"
    assert node.asked[0].status == 0
    assert bytes(node.asked[0].stdout) == b"17\n"


async def test_a_hang_lasts_until_it_is_lifted(node: FaultyLogin) -> None:
    lifted = asyncio.Event()
    node.inject("echo", Hang(lifted))
    async with connect(node) as client:
        hanging = asyncio.create_task(client.run("echo late"))
        asked = await node.asked_for("echo late")
        # Other commands of the same connection go on.
        assert (await client.run("printf other")).stdout == "other"
        assert asked.status is None
        assert not hanging.done()
        lifted.set()
        assert (await hanging).stdout == "late\n"


async def test_a_hang_without_an_end_ends_with_the_node(tmp_path: Path) -> None:
    async with faulty_login(tmp_path / "faulty") as node:
        node.inject("echo", Hang())
        client = await connect(node)
        hanging = asyncio.create_task(client.run("echo never"))
        await node.asked_for("echo never")
    assert (await hanging).exit_status is None
    client.close()
    await client.wait_closed()
    assert node.asked[0].status is None


async def test_a_delay_comes_before_the_command(node: FaultyLogin) -> None:
    node.inject("date", Delay(0.2))
    async with connect(node) as client:
        loop = asyncio.get_running_loop()
        before = loop.time()
        assert (await client.run("date")).exit_status == 0
        assert loop.time() - before >= 0.2


async def test_a_refused_command_is_a_channel_that_does_not_open(
    node: FaultyLogin, tmp_path: Path
) -> None:
    node.inject("touch", Refuse())
    async with connect(node) as client:
        with pytest.raises(asyncssh.ChannelOpenError):
            await client.run(f"touch {tmp_path}/trace")
        assert not (tmp_path / "trace").exists()
        await client.run(f"touch {tmp_path}/trace", check=True)
        assert (tmp_path / "trace").exists()


async def test_channels_are_refused_as_by_max_sessions(node: FaultyLogin) -> None:
    node.refuse_channels = 2
    async with connect(node) as client:
        for _ in range(2):
            with pytest.raises(asyncssh.ChannelOpenError, match="open failed"):
                await client.run("true")
        await client.run("true", check=True)
    assert len(node.asked) == 1


async def test_faults_hit_the_commands_that_were_named_and_counted(node: FaultyLogin) -> None:
    node.inject(r"^squeue\b", Reply("hit\n"), times=2, skip=1)
    node.inject(lambda command: command.endswith("odd"), Reply("odd\n"), times=None)
    async with connect(node) as client:
        said = [
            (await client.run(command)).stdout
            for command in (
                "echo squeue",
                "squeue() { echo real; }; squeue",
                *("squeue() { echo real; }; squeue",) * 3,
                "echo odd",
                "true # odd",
            )
        ]
    # The first squeue was let pass, the next two were hit, the fourth ran.
    assert said == ["squeue\n", "real\n", "hit\n", "hit\n", "real\n", "odd\n", "odd\n"]


async def test_a_cut_loses_the_connection_and_the_command_goes_on(
    node: FaultyLogin, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "go")
    async with connect(node) as client:
        process = await client.create_process(f"echo begun; read < {tmp_path}/go; exit 5")
        assert await process.stdout.readline() == "begun\n"
        node.cut()
        assert (await process.wait()).exit_status is None
    await asyncio.to_thread((tmp_path / "go").write_text, "\n")
    await node.asked[0].ended.wait()
    assert node.asked[0].status == 5


async def test_commands_end_with_the_node(tmp_path: Path) -> None:
    async with faulty_login(tmp_path / "faulty") as node, connect(node) as client:
        process = await client.create_process("sleep 300 & echo $!; wait")
        pid = int(str(await process.stdout.readline()))
        assert process_state(pid) != ""
        await node.close()
        eventually(lambda: process_state(pid) in ("", "Z"), what="the command to be gone")


async def test_commands_end_with_the_test_process(tmp_path: Path) -> None:
    owner = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", OWNER, str(tmp_path / "faulty")),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )
    assert owner.stdout is not None
    pid = int(await owner.stdout.readline())
    assert process_state(pid) != ""
    owner.kill()
    await owner.wait()
    eventually(lambda: process_state(pid) in ("", "Z"), what="the command to be gone")


async def test_it_can_be_closed_and_opened_again(node: FaultyLogin) -> None:
    port = node.port
    await node.close()
    with pytest.raises(ConnectionRefusedError):
        await connect(node)
    await node.open()
    assert node.port == port
    async with connect(node) as client:
        await client.run("true", check=True)


async def test_only_the_client_key_and_its_user_are_let_in(node: FaultyLogin) -> None:
    stranger = asyncssh.generate_private_key("ssh-ed25519")
    with pytest.raises(asyncssh.PermissionDenied):
        await connect(node, client_keys=[stranger])
    with pytest.raises(asyncssh.PermissionDenied):
        await connect(node, username="nobody-else")
    assert {attempt.accepted for attempt in node.logins} == {False}


async def test_a_password_is_asked_again_after_a_wrong_one(tmp_path: Path) -> None:
    async with faulty_login(tmp_path / "faulty", keys=False, password="right") as node:
        client = Answers(["wrong"], ["right"])
        async with connect(node, client_factory=lambda: client) as connection:
            await connection.run("true", check=True)
        assert node.logins == [
            LoginAttempt("password", ("wrong",), False),
            LoginAttempt("password", ("right",), True),
        ]


TWO_ROUNDS = (
    (Prompt("Password: ", "secret"),),
    (Prompt("One-time code: ", "123456", echo=True, once=True),),
)


async def test_password_then_code_with_a_wrong_code_first(tmp_path: Path) -> None:
    async with faulty_login(
        tmp_path / "faulty",
        keys=False,
        rounds=TWO_ROUNDS,
        instructions="Take your token.",
        banner="Authorised use only\n",
    ) as node:
        client = Answers(["secret"], ["000000"], ["secret"], ["123456"])
        async with connect(node, client_factory=lambda: client) as connection:
            await connection.run("true", check=True)
        assert (
            client.seen
            == [
                ("Take your token.", [("Password: ", False)]),
                ("Take your token.", [("One-time code: ", True)]),
            ]
            * 2
        )
        assert node.logins == [
            LoginAttempt("keyboard-interactive", ("secret", "000000"), False),
            LoginAttempt("keyboard-interactive", ("secret", "123456"), True),
        ]


async def test_a_one_time_code_is_good_once(tmp_path: Path) -> None:
    async with faulty_login(tmp_path / "faulty", keys=False, rounds=TWO_ROUNDS) as node:
        async with connect(node, client_factory=lambda: Answers(["secret"], ["123456"])):
            pass
        with pytest.raises(asyncssh.PermissionDenied):
            await connect(node, client_factory=lambda: Answers(["secret"], ["123456"]))
        node.rounds = (TWO_ROUNDS[0], (Prompt("One-time code: ", "654321", once=True),))
        async with connect(node, client_factory=lambda: Answers(["secret"], ["654321"])):
            pass


async def test_several_prompts_come_in_one_round(tmp_path: Path) -> None:
    both = (Prompt("Password: ", "secret"), Prompt("Code: ", "42", echo=True))
    async with faulty_login(tmp_path / "faulty", keys=False, rounds=(both,)) as node:
        client = Answers(["secret", "42"])
        async with connect(node, client_factory=lambda: client):
            pass
        assert client.seen == [("", [("Password: ", False), ("Code: ", True)])]


async def test_right_answers_may_be_called_wrong(tmp_path: Path) -> None:
    async with faulty_login(tmp_path / "faulty", keys=False, password="right") as node:
        node.refuse_logins = 1
        async with connect(node, client_factory=lambda: Answers(["right"], ["right"])):
            pass
        assert [attempt.accepted for attempt in node.logins] == [False, True]


async def test_sftp_sees_its_folder_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    async with (
        faulty_login(tmp_path / "faulty", sftp_root=tmp_path / "root") as node,
        connect(node) as client,
        client.start_sftp_client() as sftp,
    ):
        async with sftp.open("/sent", "wb") as file:
            await file.write(b"\0\xff" * 1000)
        assert (tmp_path / "root" / "sent").read_bytes() == b"\0\xff" * 1000
        with pytest.raises(asyncssh.SFTPNoSuchFile):
            await sftp.stat(str(tmp_path))


async def test_a_site_may_have_no_sftp(node: FaultyLogin) -> None:
    async with connect(node) as client:
        with pytest.raises(asyncssh.ChannelOpenError):
            await client.start_sftp_client()
