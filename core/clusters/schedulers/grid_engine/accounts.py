"""The accounts of Grid Engine: the output of qacct as ended jobs.

Source: the manual pages of accounting and qacct, and the measured behaviour of 8.1.9.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.schedulers.base import Job, JobKey, JobState, array_of
from rowtui.core.clusters.schedulers.grid_engine.parse import (
    job_of_task,
    name_and_token,
    seconds_of,
    unread,
)
from rowtui.core.clusters.schedulers.measured import Measured, MeasuredBy

_RULE = re.compile(r"^={20,}$", re.MULTILINE)


_RESCHEDULED = frozenset({24, 25})  # the job was put back into the queue


_NODE_FAILED = frozenset({19, 21})  # the host lost the job


_NOTICED = {128 + 15: JobState.CANCELLED, 128 + 10: JobState.TIMEOUT}


_LIMIT_ENFORCED = 37


_BY_SIGNAL = 100


def read_accounts(stdout: bytes) -> list[Job]:
    """Return the jobs of `qacct -j`, each as it ended last. Raises: QstatFormatError."""
    found: dict[JobKey, Job] = {}
    for fields in _records(stdout):
        try:
            job = _ended_job(fields)
        except (KeyError, ValueError) as error:
            raise unread(error, fields) from error
        if job is not None and not _of_a_part(fields):
            found[job.key] = job
    return list(found.values())


def _records(stdout: bytes) -> Iterator[dict[str, str]]:
    for record in _RULE.split(stdout.decode("utf-8", "replace")):
        fields = {}
        for line in record.splitlines():
            name, _, value = line.partition(" ")
            fields[name] = value.strip()
        if "jobnumber" in fields:
            yield fields


def _of_a_part(fields: Mapping[str, str]) -> bool:
    """Whether a record is that of one task of a parallel environment."""
    return fields.get("pe_taskid", "NONE") not in ("NONE", "undefined")


def read_usage(stdout: bytes, wanted: Mapping[JobKey, str]) -> dict[JobKey, Measured]:
    """Return what these jobs used, from `qacct -j`. `wanted`: jobs with their tokens in the queue.

    `ru_maxrss` is the largest process; `maxvmem` is address space, which says little. A parallel
    environment may write a record for each of its tasks (`pe_taskid`): their CPU time is added.
    Raises: QstatFormatError.
    """
    found: dict[JobKey, Measured] = {}
    parts: list[tuple[JobKey, float]] = []
    for fields in _records(stdout):
        try:
            job = _ended_job(fields)
        except (KeyError, ValueError) as error:
            raise unread(error, fields) from error
        if job is None or job.key not in wanted:
            continue
        # A task has the token of its array, and its number.
        if job.token and array_of(job.token, job.task) != array_of(wanted[job.key], job.task):
            continue
        if _of_a_part(fields):
            parts.append((job.key, _seconds(fields.get("cpu", "")) or 0.0))
            continue
        found[job.key] = Measured(
            MeasuredBy.SCHEDULER,
            None if job.elapsed is None else float(job.elapsed),
            _seconds(fields.get("cpu", "")),
            _peak_kib(fields),
            node=job.nodes,
        )
    for key, cpu in parts:
        if key in found:
            found[key] = found[key]._replace(cpu=(found[key].cpu or 0.0) + cpu)
    return found


def read_usage_now(stdout: bytes, wanted: Mapping[JobKey, str]) -> dict[JobKey, Measured]:
    """Return what running jobs have used, from the usage lines of `qstat -j`.

    A line has the number of a task, 1 for a job that is no array: `usage    1:  cpu=00:00:05,
    mem=0.1 GBs, io=0.0, vmem=10.5M, maxvmem=12.1M`. `vmem` is address space, which says little;
    some versions add `rss` and `maxrss`.
    """
    found: dict[JobKey, Measured] = {}
    number, token = 0, ""
    for line in stdout.decode("utf-8", "replace").split("\n"):
        if match := re.match(r"job_number:\s*([0-9]{1,18})\s*$", line):
            number, token = int(match[1]), ""
        elif match := re.match(r"job_name:\s*(.*)$", line):
            token = name_and_token(match[1].strip())[1]
        elif match := re.match(r"usage\s+([0-9]{1,9}):(.*)$", line):
            words = dict(part.strip().partition("=")[::2] for part in match[2].split(","))
            for key in (JobKey(number), JobKey(number, int(match[1]) - 1)):
                if key not in wanted or token not in ("", array_of(wanted[key], key.task)):
                    continue
                cpu = seconds_of(words["cpu"]) if words.get("cpu") else None
                memory = _of_bytes(words.get("maxrss", "")) or _of_bytes(words.get("rss", ""))
                found[key] = Measured(
                    MeasuredBy.SCHEDULER, cpu=None if cpu is None else float(cpu), memory=memory
                )
    return found


def _seconds(text: str) -> float | None:
    try:
        return float(text.removesuffix("s"))
    except ValueError:
        return None


def _peak_kib(fields: Mapping[str, str]) -> int | None:
    """Return the memory of the largest process in KiB.

    qacct of 8.1.9 takes the kernel's KiB for bytes: it prints 624,780 KiB as `610.137KB`. Versions
    that print no unit print KiB. A version that converted the unit correctly would print
    `610.137MB`, which is recognised by `maxvmem`: that is in bytes everywhere, and no process has
    many times more memory than the job has address space.
    """
    shown, space = (_amount(fields.get(name, "")) for name in ("ru_maxrss", "maxvmem"))
    if shown is None:
        return None
    if space and shown * 1024 > _IMPOSSIBLE * space:
        return int(shown / 1024)
    return int(shown)


_IMPOSSIBLE = 16  # times the address space, which is sampled and may miss a short peak


def _amount(text: str) -> float | None:
    """Return `610.137KB` as 624780.3: qacct divides by powers of 1024."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([KMGT]?)B?", text)
    if match is None:
        return None
    power: int = ("", "K", "M", "G", "T").index(match[2])
    return float(match[1]) * 1024.0**power


def _of_bytes(text: str) -> int | None:
    """Return `10.500M` of qstat in KiB."""
    match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)([KMGT]?)", text)
    if match is None:
        return None
    return int(float(match[1]) * 1024 ** ("", "K", "M", "G", "T").index(match[2])) // 1024


def _ended_job(fields: Mapping[str, str]) -> Job | None:
    code, _, meaning = fields["failed"].partition(":")
    failed = int(code)
    if failed in _RESCHEDULED:
        return None
    status = int(fields["exit_status"].partition(" ")[0])
    elapsed = seconds_of(fields.get("ru_wallclock", ""))
    category = fields.get("category", "")
    state, exit_code, exit_signal = JobState.FAILED, None, None
    reason = meaning.strip()
    name, token = name_and_token(fields["jobname"])
    if failed == 0:
        state = JobState.FAILED if status else JobState.COMPLETED
        if token:  # rowtui's scripts end by themselves when notified
            state = _NOTICED.get(status, state)
        exit_code, reason = status, ""
    elif failed == _LIMIT_ENFORCED:
        limit = _asked(category, "h_rt")
        late = limit is None or elapsed is None or elapsed >= limit
        state = JobState.OUT_OF_MEMORY if not late and "h_vmem=" in category else JobState.TIMEOUT
    elif failed == _BY_SIGNAL and status > 128:
        exit_signal, reason = status - 128, ""
        # qdel sends SIGKILL. Programs that the kernel kills for their memory are rarely the script.
        state = JobState.CANCELLED if exit_signal == 9 else JobState.FAILED
    elif failed in _NODE_FAILED:
        state = JobState.NODE_FAIL
    host = fields.get("hostname", "")
    job = Job(
        int(fields["jobnumber"]),
        state,
        name,
        token,
        reason,
        fields.get("qname", ""),
        elapsed,
        _asked(category, "h_rt"),
        host,
        None,
        exit_code,
        exit_signal,
    )
    task = fields.get("taskid", "")
    return job_of_task(job, int(task) - 1) if task.isdigit() else job


def _asked(category: str, resource: str) -> int | None:
    match = re.search(rf"\b{resource}=([0-9:.]+)", category)
    return seconds_of(match[1]) if match else None


def keeps_no_accounts(result: CommandResult) -> bool:
    """Whether qacct finds no accounts, on this machine or at all."""
    words = result.stderr + result.stdout
    return b"no jobs running since startup" in words or b"No such file" in words
