"""Slurm as a scheduler: sbatch, squeue, scancel, and sacct where a site keeps accounts.

Decides what one call of Slurm's commands has established and nothing more: an sbatch without a
clear answer is `OutcomeUnknown`, a squeue that failed is never an empty queue. Each job carries
its token in its comment, where `find` sees it; ids alone prove nothing, since a controller that
crashed may give them out again. Source: Slurm's manual pages, and measured behaviour of 22.05.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from rowtui.core.clusters.commands import CommandResult, LocalTransport, Transport, Trouble
from rowtui.core.clusters.schedulers.base import (
    Job,
    JobAnswer,
    JobKey,
    JobSpec,
    JobState,
    QueueSnapshot,
    SubmitResult,
)
from rowtui.core.clusters.schedulers.slurm_parse import (
    COMMENT_PREFIX,
    AccountForm,
    QueueForm,
    UnreadableError,
    knows_none,
    read_answers,
    read_exit_statuses,
    read_submission,
)
from rowtui.core.clusters.schedulers.slurm_tasks import write_tasks

SUBMIT_TIMEOUT = 90.0  # Slurm's clients themselves try for up to 60 s
QUERY_TIMEOUT = 60.0
ACT_BATCH = 100  # scancel and scontrol send one message for each id, about a millisecond each
AT_ONCE = 4  # submissions under way: what the channels of one connection carry
ACCOUNT_BATCH = 500  # ids on one sacct command line: 5 kB
SQUEUE_BATCH = 5_000  # ids on one squeue command line: 50 kB; each costs a list of all jobs
ACCOUNT_DAYS = 7  # how far back a lost submission is looked for in the accounts


class SlurmScheduler:
    """One Slurm cluster, asked through a transport. Every wait is bounded."""

    def __init__(
        self,
        cluster: str,
        transport: Transport | None = None,
        *,
        clock: Callable[[], float] = time.time,
        submit_timeout: float = SUBMIT_TIMEOUT,
        query_timeout: float = QUERY_TIMEOUT,
    ) -> None:
        self._cluster = cluster
        self._transport: Transport = transport or LocalTransport()
        self._clock = clock
        self._submit_timeout = submit_timeout
        self._query_timeout = query_timeout
        self._has_accounts: bool | None = None  # None: not asked yet
        self._exits: dict[tuple[int, str], tuple[int | None, int | None]] = {}

    @property
    def cluster(self) -> str:
        """The cluster's name."""
        return self._cluster

    @property
    def immediate(self) -> bool:
        """Jobs are queued: submit returns before they run."""
        return False

    @property
    def shared(self) -> bool:
        """It is the whole cluster's."""
        return True

    @property
    def place(self) -> str:
        """Any machine of the cluster can ask."""
        return ""

    @property
    def holds(self) -> bool:
        """Any job can be submitted held."""
        return True

    @property
    def at_once(self) -> int:
        """As many as one connection carries; the controller takes hundreds."""
        return AT_ONCE

    async def submit(self, job: JobSpec) -> SubmitResult:
        """Hand one script to sbatch on its standard input, with the token as its comment."""
        argv = ["sbatch", "--parsable", f"--comment={COMMENT_PREFIX}{job.token}"]
        if job.held:
            argv.append("--hold")
        if job.tasks:
            argv.append(f"--array={write_tasks(job.tasks)}")
        if job.after:
            # Without the second option a job whose predecessor failed waits for ever.
            ids = ":".join(map(str, job.after))
            argv += [f"--dependency=afterok:{ids}", "--kill-on-invalid-dep=yes"]
        # The environment would override an account that the script names.
        env = {"SBATCH_ACCOUNT": None} if names_account(job.script) else None
        result = await self._transport.run(
            argv,
            stdin=job.script.encode("utf-8", "surrogateescape"),
            timeout=self._submit_timeout,
            cwd=job.workdir,
            env=env,
        )
        return read_submission(result)

    async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        """The jobs with these tokens, by id: from one squeue, the rest from the accounts.

        Where a site keeps no accounts, jobs that ended longer than MinJobAge ago are not found.
        """
        if not tokens:
            return {}
        wanted = set(tokens)
        form = QueueForm.new()
        result = await self._squeue("-t", "all", "-o", form.option)
        if result.exit_status != 0 or result.truncated:
            return None
        try:
            jobs = [job for job in form.read(result.stdout) if job.token in wanted]
        except UnreadableError:
            return None
        jobs = await self._with_exit_codes(jobs)
        missing = wanted - {job.token for job in jobs}
        if missing:
            if result.stderr.strip():  # squeue may complain and still end with status 0
                return None
            past = await self._accounts("-S", f"now-{ACCOUNT_DAYS}days")
            if past is None:
                return None
            jobs += [job for job in past if job.token in missing]
        found: dict[str, tuple[Job, ...]] = {}
        for job in sorted(jobs, key=lambda it: it.id):
            found[job.token] = (*found.get(job.token, ()), job)
        return found

    async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        """One squeue for all jobs of this user; `job_ids` selects among them here.

        Of the ids asked for, those that are not there are looked for among other users' jobs
        (several people may share a project), then in the accounts, if the site keeps any. An id
        that is nowhere is missing from the snapshot; one that could not be looked up is in it
        as `JobState.UNKNOWN`.
        """
        if job_ids is not None and not job_ids:
            return QueueSnapshot(self._cluster, self._clock())
        form = QueueForm.new()
        result = await self._squeue("-t", "all", "-o", form.option)
        if result.exit_status != 0:
            return self._no_answer(result.complaint)
        if result.truncated:
            return self._no_answer("squeue printed more than can be read")
        try:
            jobs = form.read(result.stdout)
        except UnreadableError as error:
            return self._no_answer(f"squeue printed something unexpected: {error}")
        if not jobs and result.stderr.strip():
            return self._no_answer(_last_line(result.stderr))
        if job_ids is not None:
            wanted = set(job_ids)
            jobs = [job for job in jobs if job.id in wanted]
            jobs += await self._of_others(sorted(wanted - {job.id for job in jobs}))
            jobs += await self._past(sorted(wanted - {job.id for job in jobs}))
        jobs = await self._with_exit_codes(jobs)
        return QueueSnapshot(self._cluster, self._clock(), tuple(jobs))

    async def cancel(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Scancel. It is silent about jobs that have ended or never were."""
        return await self._act(("scancel",), " ", "cancelled", jobs)

    async def hold(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Keep waiting jobs from starting."""
        return await self._act(("scontrol", "hold"), ",", "held", jobs)

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Let held jobs start; those that are released, or over, are no error."""
        return await self._act(("scontrol", "release"), ",", "released", jobs)

    async def _act(
        self, command: tuple[str, ...], between: str, done: str, jobs: Sequence[JobKey]
    ) -> tuple[JobAnswer, ...]:
        """One command on many jobs, in batches. After a time-out it may still be carried out."""
        answers: list[JobAnswer] = []
        for start in range(0, len(jobs), ACT_BATCH):
            batch = jobs[start : start + ACT_BATCH]
            words = list(map(str, batch))
            result = await self._transport.run(
                [*command, *(words if between == " " else [between.join(words)])],
                timeout=self._submit_timeout,
            )
            errors = read_answers(result, batch, done)
            answers += [JobAnswer(job, errors[job]) for job in batch]
        return tuple(answers)

    async def _squeue(self, *options: str) -> CommandResult:
        """One squeue of this user's jobs. `--me` is the filter that the controller applies."""
        return await self._transport.run(
            ["squeue", "--me", "-h", *options],
            timeout=self._query_timeout,
            env={"SLURM_TIME_FORMAT": "%s"},
        )

    async def _of_others(self, job_ids: Sequence[int]) -> list[Job]:
        """What squeue knows of jobs of whatever user, as far as the site shows them."""
        jobs: list[Job] = []
        for start in range(0, len(job_ids), SQUEUE_BATCH):
            batch = job_ids[start : start + SQUEUE_BATCH]
            form = QueueForm.new()
            result = await self._transport.run(
                [
                    "squeue",
                    "-h",
                    "-t",
                    "all",
                    "--jobs",
                    ",".join(map(str, batch)),
                    "-o",
                    form.option,
                ],
                timeout=self._query_timeout,
                env={"SLURM_TIME_FORMAT": "%s"},
            )
            try:
                if knows_none(result):
                    continue
                if result.exit_status != 0 or result.truncated:
                    raise UnreadableError(result.complaint)
                jobs += [job for job in form.read(result.stdout) if job.id in set(batch)]
            except UnreadableError as error:
                reason = f"squeue could not be asked: {error}"
                jobs += [Job(job_id, JobState.UNKNOWN, reason=reason) for job_id in batch]
        return jobs

    async def _with_exit_codes(self, jobs: list[Job]) -> list[Job]:
        """Fill in how failed jobs ended: one more squeue, only when one has newly failed."""
        failed = {(job.id, job.token) for job in jobs if _lacks_exit(job)}
        if failed - self._exits.keys():
            result = await self._squeue("-t", "F", "-O", "JobID:20,exit_code:20")
            found = read_exit_statuses(result.stdout) if result.exit_status == 0 else {}
            # What could not be learnt now is not asked again with every poll.
            self._exits = {
                key: self._exits.get(key) or found.get(key[0], (None, None)) for key in failed
            }
        return [self._with_exit(job) if _lacks_exit(job) else job for job in jobs]

    def _with_exit(self, job: Job) -> Job:
        code, by_signal = self._exits[job.id, job.token]
        return replace(job, exit_code=code, exit_signal=by_signal)

    async def _past(self, job_ids: Sequence[int]) -> list[Job]:
        """What the accounts know of jobs that left the queue."""
        jobs: list[Job] = []
        for start in range(0, len(job_ids), ACCOUNT_BATCH):
            batch = job_ids[start : start + ACCOUNT_BATCH]
            found = await self._accounts("-j", ",".join(map(str, batch)))
            if found is None:
                jobs += [
                    Job(job_id, JobState.UNKNOWN, reason="the accounts could not be asked")
                    for job_id in batch
                ]
            else:
                jobs += [job for job in found if job.id in set(batch)]
        return jobs

    async def _accounts(self, *options: str) -> list[Job] | None:
        """Jobs from sacct; none where no accounts are kept, None where it could not be asked."""
        if self._has_accounts is False:
            return []
        form = AccountForm.new()
        result = await self._transport.run(
            ["sacct", *form.options, *options], timeout=self._query_timeout
        )
        if _no_such_program(result) or b"storage is disabled" in result.stderr:
            self._has_accounts = False
            return []
        if result.exit_status != 0 or result.truncated:
            return None
        try:
            return form.read(result.stdout)
        except UnreadableError:
            return None

    def _no_answer(self, error: str) -> QueueSnapshot:
        return QueueSnapshot(self._cluster, self._clock(), error=error or "squeue failed")


def _lacks_exit(job: Job) -> bool:
    return job.state is JobState.FAILED and job.exit_code is None and job.exit_signal is None


def _no_such_program(result: CommandResult) -> bool:
    """Not there, or not for us. Whatever else keeps a command from starting may pass."""
    words = ("not found", "No such file", "Permission denied")
    return result.trouble is Trouble.NOT_STARTED and any(it in result.detail for it in words)


def _last_line(output: bytes) -> str:
    return output.decode(errors="replace").strip().splitlines()[-1]


def names_account(script: str) -> bool:
    """Whether the script's own header sets an account."""
    for line in script.splitlines():
        if not line.startswith("#"):
            if line.strip():
                return False
        elif line.startswith("#SBATCH") and line[7:].strip().startswith(("--account", "-A")):
            return True
    return False


def time_limit_signal_option(walltime_seconds: int) -> str:
    """The sbatch option that has SIGUSR1 sent to the script, and to it alone, before its limit.

    A tenth of the limit before it, at least 10 and at most 60 s. Slurm looks at limits every
    30 s and rather signals early: up to about 30 s earlier than asked, never later. The script
    gets it at once only while it waits with `wait` for a command in the background.
    Source: sbatch's manual (--signal).
    """
    limit = max(60, -(-walltime_seconds // 60) * 60)  # Slurm counts limits in minutes
    return f"--signal=B:USR1@{min(60, max(10, limit // 10))}"
