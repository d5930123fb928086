"""A look at a cluster over its connection."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.model import Cluster, Identify, Remote
from rowtui.core.clusters.polling.probe import visit
from rowtui.core.clusters.transports.asyncssh_transport import AsyncsshTransport
from rowtui.core.clusters.transports.login import NoUser, SshTarget

from tests.rig.login import LoginNode

ALPHA = Cluster("alpha", Identify(), "slurm", remote=Remote("alpha"))


class Answers:
    """A transport that has an answer to each program, and status 127 for the others."""

    def __init__(self, **stdout: str) -> None:
        self.stdout = stdout

    async def run(self, argv: Sequence[str], **_: object) -> CommandResult:
        text = self.stdout.get(argv[0])
        return CommandResult(tuple(argv), 127 if text is None else 0, (text or "").encode())


@pytest.mark.parametrize(
    ("told", "ahead"),
    [
        ("1000.5\n", 0.0),
        ("1000.500000000\n", 0.0),
        ("1003\n", 2.0),
        ("999\n", 0.0),
        ("998.25\n", -1.75),
        ("997\n", -2.0),
        ("1003.N\n", 2.0),
        ("soon\n", None),
        ("", None),
    ],
)
async def test_the_difference_of_the_clocks_is_what_it_must_be_at_least(
    told: str, ahead: float | None
) -> None:
    clock = iter((1000.0, 1001.0))
    answers = Answers(true="", date=told, scontrol="")
    seen = await visit(ALPHA._replace(scheduler="grid_engine"), answers, clock=lambda: next(clock))
    assert seen.ahead == ahead
    assert (seen.error, seen.described, seen.version, seen.rsync) == ("", None, "", "")


async def test_a_node_without_slurm_is_told() -> None:
    seen = await visit(ALPHA, Answers(true="", rsync="rsync  version 3.2.7\nand more"))
    assert (seen.described, seen.silence) == (None, "there is no Slurm on its login node")
    assert seen.rsync == "rsync version 3.2.7"


async def test_without_a_connection_nothing_is_known() -> None:
    class Closed:
        async def run(self, argv: Sequence[str], **_: object) -> CommandResult:
            return CommandResult(tuple(argv), None, trouble=Trouble.UNREACHABLE, detail="no way")

    seen = await visit(ALPHA, Closed())
    assert seen.error == "no way"


@pytest.mark.slurm
async def test_a_real_cluster_is_looked_at(login: LoginNode) -> None:
    transport = AsyncsshTransport(SshTarget(login.name, config=(login.ssh_config,)), NoUser())
    try:
        seen = await visit(ALPHA, transport)
    finally:
        await transport.close()
    assert seen.error == seen.silence == ""
    assert seen.version.startswith("slurm")
    assert seen.described is not None
    assert seen.described.name == login.cluster.name
    assert seen.described.partitions[0].name == "cpu"
    assert seen.ahead == 0.0  # the same clock
