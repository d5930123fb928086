"""What sshare and scontrol say of accounts, as 22.05 prints it."""

from __future__ import annotations

from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.schedulers.slurm.accounting import (
    AccountLimit,
    Allocations,
    ask_allocations,
)

SHARES = b"root|root|0.000000\nlab|me|0.412000\n"
LIMITS = b"""Current Association Manager state

Association Records

ClusterName=gamma Account=lab UserName= Partition= Priority=0 ID=3
    GrpTRES=cpu=8(0),mem=N(0)
    GrpTRESMins=cpu=120000(6000),mem=N(0),node=N(3),gres/gpu=600(0)
    GrpTRESRunMins=cpu=N(0),mem=N(0)
ClusterName=gamma Account=lab UserName=me(0) Partition= Priority=0 ID=4
    GrpTRESMins=cpu=N(6000),mem=N(0)
ClusterName=gamma Account=lab UserName=other(7) Partition= Priority=0 ID=5
    GrpTRESMins=cpu=60(0)
"""


class Recorded:
    """Answers by the name of the program."""

    def __init__(self, **answers: CommandResult) -> None:
        self.answers = answers

    async def run(self, argv: list[str], **_: object) -> CommandResult:
        return self.answers[argv[0]]


def said(stdout: bytes = b"", status: int = 0, stderr: bytes = b"") -> CommandResult:
    return CommandResult(("x",), status, stdout, stderr)


async def asked(accounts: set[str], **answers: CommandResult) -> Allocations:
    return await ask_allocations(Recorded(**answers), accounts)  # type: ignore[arg-type]


async def test_limits_of_the_account_and_of_this_user_come_in_hours() -> None:
    found = await asked({"lab"}, sshare=said(SHARES), scontrol=said(LIMITS))
    assert found.found == (
        AccountLimit("lab", "", "CPU-hours", 2000, 100),
        AccountLimit("lab", "", "GPU-hours", 10, 0),
    )
    assert found.shares == {"lab": 0.412}


async def test_jobs_without_an_account_have_the_only_one_there_is() -> None:
    one = await asked({""}, sshare=said(b"lab|me|\n"), scontrol=said(LIMITS))
    assert (one.default, one.shares, len(one.found)) == ("lab", {"lab": None}, 2)
    several = await asked({""}, sshare=said(SHARES))
    assert "you have several" in several.why


async def test_a_site_without_accounts_says_so_and_other_trouble_is_told() -> None:
    none = said(status=1, stderr=b"sshare: error: Slurm accounting storage is disabled\n")
    assert (await asked({"lab"}, sshare=none)).why == "the site keeps no accounts"
    denied = said(status=1, stderr=b"scontrol: Access denied\n")
    assert "Access denied" in (await asked({"lab"}, sshare=said(SHARES), scontrol=denied)).why
