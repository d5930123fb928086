"""Grid Engine as a scheduler: qsub, qstat, qacct, qdel, qhold and qrls.

Each call reports only the facts that the command has established: a qsub without a clear answer is
`OutcomeUnknown`, and a failed qstat is never an empty queue. `after` becomes -hold_jid, which waits
until the given jobs have ended, with or without success: Grid Engine cannot check how they ended,
so a job whose predecessor failed starts, and the products of its predecessor are missing. Source:
Grid Engine's manual pages, and the measured behaviour of 8.1.9.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.commands import LocalTransport, Transport
from rowtui.core.clusters.schedulers.base import (
    DryAnswer,
    Job,
    JobAnswer,
    JobKey,
    JobSpec,
    JobState,
    QueueSnapshot,
    Rejected,
    SubmitResult,
)
from rowtui.core.clusters.schedulers.grid_engine.accounts import (
    keeps_no_accounts,
    read_accounts,
    read_usage,
    read_usage_now,
)
from rowtui.core.clusters.schedulers.grid_engine.parse import (
    MARK,
    ListedJobs,
    QstatFormatError,
    common_beginning,
    in_error,
    key_words,
    knows_none,
    marked_name,
    read_answers,
    read_dry_run,
    read_error_reasons,
    read_folders,
    read_queue,
    read_submission,
    task_range,
)
from rowtui.core.clusters.schedulers.measured import Measured

SUBMIT_TIMEOUT = 90.0  # a qsub would wait for a frozen qmaster without limit
QUERY_TIMEOUT = 60.0
BATCH = 500  # words on one command line
ACCOUNT_DAYS = 30  # how many days back jobs are searched in the accounts
SINGLE_LOOKS = 3  # up to this number, jobs are looked up in the accounts one by one
# Accounts are written up to 15 s after a job has left the queue (flush_time in the manual of
# sge_conf), and are visible on other machines a little later.
ACCOUNT_SECONDS = 60.0
_TIMES = {"TZ": "UTC0", "LC_ALL": "C"}


class _NoAnswerError(Exception):
    """A query failed; the text is the reason."""


class GridEngineScheduler:
    """One Grid Engine cluster, queried through a transport. Every wait is bounded."""

    kind = "grid_engine"
    immediate = False  # jobs are queued, and `submit` returns before they run
    shared = True  # the queue belongs to the whole cluster
    place = ""  # every machine of the cluster can query jobs
    holds = True  # `qsub -h` submits a held job
    forgets = False  # the qmaster stores a job before it answers
    at_once = 4  # the qmaster has two threads for requests by default

    def __init__(
        self,
        cluster: str,
        transport: Transport | None = None,
        *,
        clock: Callable[[], float] = time.time,
        submit_timeout: float = SUBMIT_TIMEOUT,
        query_timeout: float = QUERY_TIMEOUT,
    ) -> None:
        self.cluster = cluster
        self._transport: Transport = transport or LocalTransport()
        self._clock = clock
        self._submit_timeout = submit_timeout
        self._query_timeout = query_timeout
        self._seen: dict[JobKey, tuple[float, Job]] = {}  # when each job was last in the queue
        self._errors: dict[JobKey, str] = {}  # of jobs that could not be started

    async def submit(self, job: JobSpec) -> SubmitResult:
        """Submit one script to qsub on its standard input, with the token in its name."""
        # Override ~/.sge_request: this is a script, and rowtui does not wait for its end.
        argv = ["qsub", "-terse", "-sync", "n", "-b", "n", "-now", "n"]
        argv += ["-N", marked_name(job.name, job.token), "-wd", str(job.workdir)]
        if job.log_path:
            log = job.log_path.replace("%A_%a", "$JOB_ID_$TASK_ID").replace("%j", "$JOB_ID")
            if "," in log:
                return Rejected(f"Grid Engine cannot write a log with a comma in its name: {log}")
            argv += ["-j", "y", "-o", f":{log}"]  # a host could stand before the colon
        if job.held:
            argv.append("-h")
        if job.after:
            argv += ["-hold_jid", ",".join(map(str, job.after))]
        if job.tasks:
            tasks = task_range(job.tasks)
            if tasks is None:
                return Rejected("Grid Engine's arrays are ranges: the tasks must be a range")
            argv += ["-t", tasks]
        result = await self._transport.run(
            argv,
            stdin=job.script.encode("utf-8", "surrogateescape"),
            timeout=self._submit_timeout,
            cwd=job.workdir,
        )
        return read_submission(result)

    async def test_only(self, job: JobSpec) -> DryAnswer:
        """Return the answer of `qsub -w v`: could a queue run the job on an empty cluster?"""
        argv = ["qsub", "-w", "v", "-sync", "n", "-b", "n", "-now", "n"]
        result = await self._transport.run(
            [*argv, "-N", marked_name(job.name, job.token)],
            stdin=job.script.encode("utf-8", "surrogateescape"),
            timeout=self._query_timeout,
        )
        return read_dry_run(result)

    async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        """Return the jobs with these tokens; None if the answer is uncertain.

        Jobs that are not in the queue are searched in the accounts, if the site has accounts that
        are readable on this machine. A job that was deleted before it started has no account.
        """
        wanted = set(tokens)
        if not wanted:
            return {}
        try:
            jobs = [job for job in (await self._listed()).jobs if job.token in wanted]
            missing = wanted - {job.token for job in jobs}
            if missing:
                past = await self._past(f"*{MARK}{common_beginning(missing)}*")
                jobs += [job for job in past if job.token in missing]
        except _NoAnswerError:
            return None
        found: dict[str, tuple[Job, ...]] = {}
        for job in sorted(jobs, key=lambda job: job.id):
            found[job.token] = (*found.get(job.token, ()), job)
        return found

    async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        """Run one qstat for all jobs of this user, and select `job_ids` from its output.

        Requested ids that are not in the queue are searched in the accounts, then among other
        users' jobs. A job that is not found is missing from the snapshot; but within the time that
        its account may take to be written, it is `JobState.UNKNOWN`.
        """
        if job_ids is not None and not job_ids:
            return QueueSnapshot(self.cluster, self._clock())
        try:
            listed = await self._listed()
            if job_ids is None:
                jobs = await self._with_details(listed)
            else:
                jobs = await self._asked_for(listed, set(job_ids))
        except _NoAnswerError as error:
            return QueueSnapshot(self.cluster, self._clock(), error=str(error))
        return QueueSnapshot(self.cluster, self._clock(), tuple(jobs))

    async def folders(self, job_ids: Sequence[int]) -> Mapping[int, str] | None:
        stdout = await self._details_of(job_ids)
        return None if stdout is None else read_folders(stdout)

    async def _details_of(self, job_ids: Sequence[int]) -> bytes | None:
        """Run `qstat -j` for these jobs, in batches; return None if one has no answer."""
        found = []
        for start in range(0, len(job_ids), BATCH):
            ids = ",".join(map(str, job_ids[start : start + BATCH]))
            result = await self._ask(["qstat", "-j", ids])
            if result.exit_status != 0 and not knows_none(result):
                return None
            found.append(result.stdout)
        return b"\n".join(found)

    async def cancel(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Run qdel. After a timeout the request may still be carried out."""
        return await self._request("qdel", jobs, gone_is_fine=True)

    async def hold(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Run qhold."""
        return await self._request("qhold", jobs)

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Run qrls."""
        return await self._request("qrls", jobs)

    async def measured(self, jobs: Mapping[JobKey, str]) -> Mapping[JobKey, Measured] | None:
        """Run qacct for these jobs. See `Scheduler`."""
        wanted = {key.id for key in jobs}
        which = [f"*{MARK}*"] if len(wanted) > SINGLE_LOOKS else [str(it) for it in sorted(wanted)]
        found: dict[JobKey, Measured] = {}
        for one in which:
            try:
                stdout = await self._accounts(one)
                found |= await asyncio.to_thread(read_usage, stdout, jobs)
            except (_NoAnswerError, QstatFormatError):
                return None
        return found

    async def measured_now(self, jobs: Mapping[JobKey, str]) -> Mapping[JobKey, Measured] | None:
        """See `Scheduler`."""
        stdout = await self._details_of(sorted({key.id for key in jobs}))
        return None if stdout is None else read_usage_now(stdout, jobs)

    async def _request(
        self, command: str, jobs: Sequence[JobKey], *, gone_is_fine: bool = False
    ) -> tuple[JobAnswer, ...]:
        words = key_words(jobs)
        errors: dict[JobKey, str] = dict.fromkeys(jobs, "")
        for start in range(0, len(words), BATCH):
            batch = words[start : start + BATCH]
            ids = {int(word.partition(".")[0]) for word in batch}
            result = await self._transport.run([command, *batch], timeout=self._submit_timeout)
            concerned = [key for key in jobs if key.id in ids]
            found = read_answers(result, concerned, gone_is_fine=gone_is_fine)
            errors |= {key: errors[key] or error for key, error in found.items()}
        return tuple(JobAnswer(key, errors[key]) for key in jobs)

    async def _listed(self, *options: str) -> ListedJobs:
        """Return the jobs that qstat lists. Raises: _NoAnswerError."""
        result = await self._ask(["qstat", "-xml", "-r", *(options or ("-s", "prs"))])
        _refuse_no_answer(result)
        try:
            # Parsing ten thousand jobs takes half a second: not in the event loop.
            return await asyncio.to_thread(read_queue, result.stdout, self._clock())
        except QstatFormatError as error:
            raise _NoAnswerError(f"qstat printed something unexpected: {error}") from error

    async def _asked_for(self, listed: ListedJobs, wanted: set[int]) -> list[Job]:
        """Return all that is known of these ids."""
        now = self._clock()
        there = [job for job in listed.jobs if job.id in wanted]
        jobs = await self._with_details(ListedJobs(there, listed.waiting))
        known = {job.id for job in jobs}
        # Tasks of an array leave the queue one by one.
        unsure = (wanted - known) | {job.id for job in jobs if job.task is not None}
        try:
            past = await self._past_of(unsure)
        except _NoAnswerError as error:
            reason = str(error)
            past = [Job(it, JobState.UNKNOWN, reason=reason) for it in sorted(wanted - known)]
        there_now = {job.key for job in jobs}
        # A job that could not be started has an account, but is also in the queue.
        jobs += [job for job in past if job.key not in there_now]
        missing = wanted - {job.id for job in jobs}
        if missing:
            others = await self._listed("-s", "prs", "-u", "*")
            theirs = [job for job in others.jobs if job.id in missing]
            jobs += await self._with_details(ListedJobs(theirs, others.waiting))
        return jobs + self._just_left(jobs, wanted, now)

    def _just_left(self, jobs: Sequence[Job], wanted: set[int], now: float) -> list[Job]:
        """Return jobs that were recently in the queue and are not found now."""
        known = {job.key for job in jobs}
        self._seen = {
            key: (at, job)
            for key, (at, job) in self._seen.items()
            if key not in known and now - at < ACCOUNT_SECONDS
        }
        left = [
            job._replace(state=JobState.UNKNOWN, reason="it has left the queue; no account yet")
            for _, job in self._seen.values()
            if job.id in wanted
        ]
        # Jobs that never started get no account.
        started = (JobState.RUNNING, JobState.SUSPENDED, JobState.COMPLETING)
        self._seen |= {job.key: (now, job) for job in jobs if job.state in started}
        return left

    async def _with_details(self, listed: ListedJobs) -> list[Job]:
        """Return the jobs with details that need a second qstat, which is seldom necessary."""
        jobs = listed.jobs
        if any(job.key in listed.waiting for job in jobs):
            # qstat shows a job that waits for others as held, whether or not it is also held.
            held = {job.key for job in (await self._listed("-s", "hu")).jobs}
            jobs = [
                job._replace(state=JobState.PENDING)
                if job.key in listed.waiting and job.key not in held
                else job
                for job in jobs
            ]
        failed = {job.key for job in jobs if in_error(job)}
        if failed - self._errors.keys():
            ids = sorted({key.id for key in failed})[:BATCH]
            result = await self._ask(["qstat", "-j", ",".join(map(str, ids))])
            reasons = read_error_reasons(result.stdout)
            self._errors = {key: reasons.get(key, "") for key in failed}
        return [
            job._replace(reason=f"error: {self._errors.get(job.key) or 'it could not be started'}")
            if job.key in failed
            else job
            for job in jobs
        ]

    async def _past_of(self, job_ids: Collection[int]) -> list[Job]:
        """Return the accounts of these jobs. Raises: _NoAnswerError.

        qacct reads the whole file each time, so for many jobs one query for all of rowtui's is
        faster.
        """
        if len(job_ids) > SINGLE_LOOKS:
            return [job for job in await self._past(f"*{MARK}*") if job.id in job_ids]
        return [job for job_id in sorted(job_ids) for job in await self._past(str(job_id))]

    async def _past(self, which: str) -> list[Job]:
        """Return the jobs with a job id or a name pattern. Raises: _NoAnswerError."""
        try:
            return read_accounts(await self._accounts(which))
        except QstatFormatError as error:
            raise _NoAnswerError(f"qacct printed something unexpected: {error}") from error

    async def _accounts(self, which: str) -> bytes:
        """Return qacct's output, nothing if there are no accounts. Raises: _NoAnswerError."""
        result = await self._ask(["qacct", "-d", str(ACCOUNT_DAYS), "-j", which])
        no_program = result.trouble is Trouble.NOT_STARTED
        if no_program or knows_none(result) or keeps_no_accounts(result):
            return b""
        _refuse_no_answer(result)
        return result.stdout

    async def _ask(self, argv: Sequence[str]) -> CommandResult:
        return await self._transport.run(argv, timeout=self._query_timeout, env=_TIMES)


def _refuse_no_answer(result: CommandResult) -> None:
    """Raise _NoAnswerError for a command that failed, or whose output was truncated."""
    program = result.argv[0]
    if result.exit_status != 0:
        raise _NoAnswerError(_complaint(result) or f"{program} failed")
    if result.truncated:
        raise _NoAnswerError(f"{program} printed more than can be read")


def _complaint(result: CommandResult) -> str:
    """Return the whole error message: its cause and its place are on different lines."""
    lines = result.stderr.decode(errors="replace").splitlines()
    said: Iterable[str] = (re.sub(r"^error: ", "", line.strip()) for line in lines)
    if result.trouble is not None:
        return result.complaint
    return "; ".join(dict.fromkeys(line for line in said if line)) or result.complaint
