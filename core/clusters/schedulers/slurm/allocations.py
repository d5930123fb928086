"""Remaining hours of the accounts of a Slurm site, and their fair-share factors.

The input is the accounts that jobs name. `sshare` lists this user's accounts and `scontrol show
assoc_mgr` their limits; its limit and usage have the same unit (minutes, decayed as the site
configures). Limits of parent accounts and of a QOS are not read. Source: the manuals of sshare and
scontrol, and measured behaviour of 22.05.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.clusters.commands import CommandResult, Transport

QUERY_TIMEOUT = 30.0
_NO_ACCOUNTS = re.compile(r"storage is disabled|not running a database|not currently running")
_RECORD = re.compile(r"^ClusterName=\S* Account=(\S+) UserName=([^\s(]*)", re.MULTILINE)
_MINUTES = re.compile(r"GrpTRESMins=(\S*)")
_LIMIT = re.compile(r"([\w/:]+)=(\d+)\((\d+)\)")
_SHARE = "Account,User,FairShare"
HOURS = {"cpu": "CPU-hours", "gres/gpu": "GPU-hours"}


class Allocation(NamedTuple):
    """One limit on one account (or on this user in it). Hours; `unit` as in `HOURS`."""

    account: str
    user: str  # "": all users of the account together
    unit: str
    whole: float
    used: float


class Allocations(NamedTuple):
    """The allocations that could be read. `why`: the reason if there are none.

    `shares`: fair-share factors by account, None if the site has none.
    """

    found: tuple[Allocation, ...] = ()
    shares: Mapping[str, float | None] = {}
    default: str = ""  # the account of jobs that name none, if the user has only one
    why: str = ""


async def ask_allocations(transport: Transport, accounts: Collection[str]) -> Allocations:
    """Query the allocations for jobs with these accounts ("" for jobs that name none)."""
    argv = ["sshare", "-U", "-n", "-P", "-o", _SHARE]
    shown = await transport.run(argv, timeout=QUERY_TIMEOUT)
    if why := _why_not(shown):
        return Allocations(why=why)
    shares, user = read_shares(shown.stdout)
    default = next(iter(shares)) if len(shares) == 1 else ""
    wanted = sorted({account or default for account in accounts} - {""})
    if not wanted:
        why = "the scripts name no account, and you have " + (
            "several" if shares else "none that sshare shows"
        )
        return Allocations(shares=shares, why=why)
    named = "accounts=" + ",".join(wanted)
    argv = ["scontrol", "show", "assoc_mgr", "flags=assoc", named]
    limits = await transport.run(argv, timeout=QUERY_TIMEOUT)
    if why := _why_not(limits):
        return Allocations(shares=shares, default=default, why=why)
    found = tuple(it for it in read_limits(limits.stdout) if it.user in ("", user))
    chosen = {name: share for name, share in shares.items() if name in wanted}
    return Allocations(found, chosen, default)


def read_shares(stdout: bytes) -> tuple[dict[str, float | None], str]:
    """Return fair-share factors by account, and the user, from `sshare -U -n -P`."""
    shares: dict[str, float | None] = {}
    user = ""
    for line in stdout.decode(errors="replace").splitlines():
        account, _, rest = line.strip().partition("|")
        name, _, share = rest.partition("|")
        if not (account and name):
            continue
        user = name
        shares[account] = None
        try:
            shares[account] = float(share)
        except ValueError:
            continue  # the site has no multifactor priority
    return shares, user


def read_limits(stdout: bytes) -> list[Allocation]:
    """Return the limits in hours from `scontrol show assoc_mgr`, including unused ones."""
    text = stdout.decode(errors="replace")
    records = list(_RECORD.finditer(text))
    found = []
    for at, record in enumerate(records):
        end = records[at + 1].start() if at + 1 < len(records) else len(text)
        minutes = _MINUTES.search(text, record.end(), end)
        for limit in _LIMIT.finditer(minutes[1] if minutes else ""):
            if unit := HOURS.get(limit[1]):
                whole, used = int(limit[2]) / 60, int(limit[3]) / 60
                found.append(Allocation(record[1], record[2], unit, whole, used))
    return found


def _why_not(result: CommandResult) -> str:
    if result.exit_status == 0 and not result.truncated:
        return ""
    if _NO_ACCOUNTS.search(result.stderr.decode(errors="replace")):
        return "the site keeps no accounts"
    return visible(result.complaint or "the answer was too long")
