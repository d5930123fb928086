"""What a transport says of a command is true, whatever happens to its connection."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

import pytest
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.transports.login import SshTarget
from rowtui.core.clusters.transports.openssh_transport import OpensshTransport

from tests.core.clusters.transports.conftest import Reach
from tests.rig.faults import DropAfter, DropBefore, Fault, Refuse
from tests.rig.faulty import FaultyLogin
from tests.rig.login import LoginNode

FAULTS: list[Fault] = [DropBefore(), DropAfter(), Refuse()]


async def append_many(transport: Transport, file: Path, count: int) -> list[CommandResult]:
    """Each command appends its number; few at once, so that losses hit them at all stages."""
    few = asyncio.Semaphore(5)

    async def append(number: int) -> CommandResult:
        async with few:
            words = ["sh", "-c", f"echo {number} >> {file}; echo ok"]
            return await transport.run(words, timeout=60)

    return list(await asyncio.gather(*(append(number) for number in range(count))))


def check(results: list[CommandResult], file: Path) -> Counter[str]:
    """Compare with what was really done; how many of each kind there were."""
    ran = Counter(int(line) for line in file.read_text().split())
    kinds: Counter[str] = Counter()
    for number, result in enumerate(results):
        if result.trouble is None:
            assert (result.exit_status, ran[number]) == (0, 1)
            assert result.stdout == b"ok\n" or result.truncated
            kinds["done"] += 1
        elif result.trouble is Trouble.UNREACHABLE:
            assert ran[number] == 0, result
            kinds["not sent"] += 1
        else:
            assert result.trouble is Trouble.LOST
            assert ran[number] <= 1
            kinds["unknown"] += 1
    return kinds


def hurt(node: FaultyLogin, seed: int) -> None:
    """Do something to about one command in six, and cut the line at some others."""
    chance = random.Random(seed)
    for fault in FAULTS:
        node.inject(
            lambda command: "sh -c" in command and chance.random() < 0.06, fault, times=None
        )


async def test_what_asyncssh_did_not_send_never_ran_and_nothing_ran_twice(
    reach: Reach, tmp_path: Path
) -> None:
    node = await reach.faulty()
    hurt(node, 1)

    results = await append_many(reach(node), tmp_path / "ran", 80)
    await asyncio.gather(*(asked.ended.wait() for asked in node.asked if asked.fault is None))

    kinds = check(results, tmp_path / "ran")
    assert kinds["done"] > 30
    assert kinds["unknown"]


async def test_what_the_systems_ssh_did_not_send_never_ran_and_nothing_ran_twice(
    reach: Reach, tmp_path: Path
) -> None:
    node = await reach.faulty()
    hurt(node, 3)
    transport = OpensshTransport(SshTarget(node.name, config=(node.ssh_config,)))

    results = await append_many(transport, tmp_path / "ran", 40)
    await transport.close()
    await asyncio.gather(*(asked.ended.wait() for asked in node.asked if asked.fault is None))

    kinds = check(results, tmp_path / "ran")
    assert kinds["done"] > 10
    assert kinds["unknown"]


@pytest.mark.slurm
@pytest.mark.parametrize("way", ["asyncssh", "ssh"])
async def test_the_same_while_sessions_of_a_real_server_are_killed(
    reach: Reach, login: LoginNode, tmp_path: Path, way: str
) -> None:
    ours = reach(login)
    theirs = OpensshTransport(SshTarget(login.name, config=(login.ssh_config,)))
    transport: Transport = ours if way == "asyncssh" else theirs
    (tmp_path / "ran").touch()
    running = asyncio.create_task(append_many(transport, tmp_path / "ran", 40))

    async with asyncio.timeout(50):
        while not running.done():
            before = len((tmp_path / "ran").read_text())
            await asyncio.to_thread(login.cut)
            while len((tmp_path / "ran").read_text()) < before + 20 and not running.done():
                await asyncio.wait({running}, timeout=0.01)
        results = await running
    await transport.run(["true"], timeout=60)
    await theirs.close()

    assert check(results, tmp_path / "ran")["done"] > 10
