"""Remaining hours of the accounts of a Slurm site, and their fair-share factors.

The input is the accounts that jobs name. `sshare` lists this user's accounts and `scontrol show
assoc_mgr` their limits; its limit and usage have the same unit (minutes, decayed as the site
configures). Limits of parent accounts and of a QOS are not read. Source: the manuals of sshare and
scontrol, and measured behaviour of 22.05.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from rowtui.core.base.text import visible
from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.commands import Transport
from rowtui.core.clusters.schedulers.base import Job, JobState, task_token
from rowtui.core.clusters.schedulers.kind import AccountLimit, Allocations
from rowtui.core.clusters.schedulers.slurm.parse import (
    MOST_JOBS,
    SlurmFormatError,
    job_state,
    reason_of,
    records_of,
    submitted_token,
    tasks_of,
    unread,
)

# Parse sacct's output into jobs. The module is pure.
#
# sacct is called so that its output can be parsed without ambiguity: with a separator that is
# random for each call, and with a field without free text last. Source: sacct's manual, and
# measured behaviour of 22.05.


@dataclass(frozen=True, slots=True)
class AccountForm:
    """One sacct output format: free text first, the job's id last.

    The id is `12`, `12_3` or `12_[4-9%2]`.
    """

    mark: str

    FIELDS = (
        "Comment,SubmitLine,JobName,Reason,State,ExitCode,ElapsedRaw,TimelimitRaw,Partition,"
        "NodeList,JobID"
    )

    @classmethod
    def new(cls) -> AccountForm:
        """Return a form with a new random mark."""
        return cls(f"|{secrets.token_hex(8)}|")

    @property
    def options(self) -> tuple[str, ...]:
        """The options of sacct: jobs without their steps, no header, a random separator."""
        return ("-X", "-n", "-P", f"--delimiter={self.mark}", f"--format={self.FIELDS}")

    def read(self, stdout: bytes) -> list[Job]:
        """Return the jobs in sacct's order. Raises: SlurmFormatError."""
        text = stdout.decode("utf-8", "surrogateescape")
        jobs: list[Job] = []
        called = ""
        try:
            for *record, called in records_of(text, self.mark, self.FIELDS.count(",") + 1):
                jobs += self._jobs(called, record, MOST_JOBS - len(jobs))
        except ValueError as error:
            raise unread(error, called) from error
        return jobs

    @staticmethod
    def _jobs(called: str, fields: list[str], room: int) -> Iterator[Job]:
        match = _ID.fullmatch(called)
        if match is None:
            raise SlurmFormatError(f"{called} is not the id of a job")
        comment, submit_line, name, reason, word, status, *rest = fields
        elapsed, limit, partition, nodes = rest
        code, _, by_signal = status.partition(":")
        state = job_state(word, reason)
        ended = not state.active and state is not JobState.UNKNOWN
        token = submitted_token(comment, submit_line)
        job = Job(
            int(match[1]) + int(match[2] or 0),
            state,
            name,
            token,
            reason_of(word.split(" ", 1)[0], reason),
            partition,
            int(elapsed) if elapsed.isdigit() else None,
            int(limit) * 60 if limit.isdigit() else None,
            "" if nodes == "None assigned" else nodes,
            None,
            int(code) if ended and code.isdigit() and by_signal in ("", "0") else None,
            int(by_signal) if by_signal.isdigit() and by_signal != "0" else None,
        )
        for task in tasks_of(match[3] or "", job.id, bool(token), room):
            if task is None:
                yield job
            else:
                yield job._replace(task=task, token=task_token(token, task) if token else "")


# A job, a part of a heterogeneous job (`12+1`, whose own id is 13), tasks of an array.
_ID = re.compile(r"(\d+)(?:\+(\d+))?(?:_(\S+))?", re.ASCII)


QUERY_TIMEOUT = 30.0
_NO_ACCOUNTS = re.compile(r"storage is disabled|not running a database|not currently running")
_RECORD = re.compile(r"^ClusterName=\S* Account=(\S+) UserName=([^\s(]*)", re.MULTILINE)
_MINUTES = re.compile(r"GrpTRESMins=(\S*)")
_LIMIT = re.compile(r"([\w/:]+)=(\d+)\((\d+)\)")
_SHARE = "Account,User,FairShare"
HOURS = {"cpu": "CPU-hours", "gres/gpu": "GPU-hours"}


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


def read_limits(stdout: bytes) -> list[AccountLimit]:
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
                found.append(AccountLimit(record[1], record[2], unit, whole, used))
    return found


def _why_not(result: CommandResult) -> str:
    if result.exit_status == 0 and not result.truncated:
        return ""
    if _NO_ACCOUNTS.search(result.stderr.decode(errors="replace")):
        return "the site keeps no accounts"
    return visible(result.complaint or "the answer was too long")
