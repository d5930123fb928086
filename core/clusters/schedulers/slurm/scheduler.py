"""Slurm as a scheduler: sbatch, squeue, scancel, and sacct if the site has accounting.

Each call reports only the facts that Slurm's commands have established: an sbatch without a clear
answer is `OutcomeUnknown`, and a failed squeue is never an empty queue. Each job has its token in
its comment, where `find` reads it; an id alone is no proof, because a controller that crashed may
reuse ids. Source: Slurm's manual pages, and measured behaviour of 22.05.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence

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
    slurm_output,
)
from rowtui.core.clusters.schedulers.measured import Measured
from rowtui.core.clusters.schedulers.slurm.accounting import AccountForm
from rowtui.core.clusters.schedulers.slurm.commands import (
    Word,
    batches,
    dependency,
    names_account,
    read_answers,
    read_dry_run,
    read_submission,
    waiting_and_whole,
    words_of,
)
from rowtui.core.clusters.schedulers.slurm.parse import (
    COMMENT_PREFIX,
    SlurmFormatError,
    write_tasks,
)
from rowtui.core.clusters.schedulers.slurm.queue import (
    EXIT_FORM,
    ExitOf,
    QueueForm,
    SqueueReading,
    knows_none,
    lacking_exits,
    learn_exits,
    with_exits,
)
from rowtui.core.clusters.schedulers.slurm.usage import UsageForm, ask_usage_now

SUBMIT_TIMEOUT = 90.0  # Slurm's own clients try for up to 60 s
QUERY_TIMEOUT = 60.0
AT_ONCE = 4  # parallel submissions: the number of channels of one connection
ACCOUNT_BATCH = 500  # ids on one sacct command line: 5 kB
SQUEUE_BATCH = 5_000  # ids on one squeue command line: 50 kB; each squeue lists all jobs
ACCOUNT_DAYS = 7  # how many days back a lost submission is searched in the accounts
# Without states sacct omits jobs that ended before they could have begun (held ones that were
# cancelled); with states it requires an end, which is here beyond any difference between clocks.
ACCOUNT_SPAN = ("-S", f"now-{ACCOUNT_DAYS}days", "-E", "now+1days")
ACCOUNT_STATES = ("-s", "PD,R,S,CD,CA,F,TO,NF,OOM,DL,PR,BF")


_DONE = {"scancel": "cancelled", "hold": "held", "release": "released"}


class SlurmScheduler:
    """One Slurm cluster, queried through a transport. Every wait is bounded."""

    kind = "slurm"
    immediate = False  # jobs are queued, and `submit` returns before they run
    shared = True  # the queue belongs to the whole cluster
    place = ""  # every machine of the cluster can query jobs
    holds = True  # every job can be submitted held
    forgets = True  # a controller saves the jobs that it has accepted only after some seconds
    at_once = AT_ONCE  # as many as one connection carries; the controller accepts hundreds

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
        self._has_accounts: bool | None = None  # None: not queried yet
        self._exits: ExitOf = {}

    async def submit(self, job: JobSpec) -> SubmitResult:
        """Submit one script to sbatch on its standard input, with the token as its comment."""
        argv = ["sbatch", "--parsable", f"--comment={COMMENT_PREFIX}{job.token}"]
        if job.held:
            argv.append("--hold")
        if job.tasks:
            argv.append(f"--array={write_tasks(job.tasks)}")
        if waits := dependency(job):
            # Without the second option a job whose predecessor failed would wait without end.
            argv += [f"--dependency={waits}", "--kill-on-invalid-dep=yes"]
        # Slurm puts the folder before a relative name of a log and then expands all of it. A name
        # with a backslash is not expanded, and loses its backslashes.
        folder, log = str(job.workdir), slurm_output(job.script) or "slurm-%j.out"
        if "\\" in folder and not log.startswith("/"):
            return Rejected(
                f"Slurm cannot write logs to a folder with a backslash in its name: {folder}"
            )
        if "%" in folder and not log.startswith("/"):
            argv.append(f"--output={folder.replace('%', '%%')}/{log}")
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

    async def test_only(self, job: JobSpec) -> DryAnswer:
        """Return the answer of `sbatch --test-only`: a refusal, or an estimate of start and nodes.

        The job's folder is not passed, because it may not exist before its files are copied.
        """
        result = await self._transport.run(
            ["sbatch", "--test-only"],
            stdin=job.script.encode("utf-8", "surrogateescape"),
            timeout=self._query_timeout,
            env={"SLURM_TIME_FORMAT": "%s"}
            | ({"SBATCH_ACCOUNT": None} if names_account(job.script) else {}),
        )
        return read_dry_run(result)

    async def find(self, tokens: Collection[str]) -> Mapping[str, tuple[Job, ...]] | None:
        """Return the jobs with these tokens, by id: from one squeue, the others from the accounts.

        Without accounting, jobs that ended longer than MinJobAge ago are not found.
        """
        if not tokens:
            return {}
        wanted = set(tokens)
        try:
            jobs, complaints = await self._jobs("--me")
        except SlurmFormatError:
            return None
        jobs = await self._with_exit_codes([job for job in jobs if job.token in wanted])
        missing = wanted - {job.token for job in jobs}
        if missing:
            if complaints:
                return None
            past = await self._accounts("--duplicates", *ACCOUNT_SPAN, *ACCOUNT_STATES)
            if past is None:
                return None
            # A reused id is two jobs. A requeued job has a record for each run, and the last one is
            # valid.
            last = {(job.key, job.token): job for job in past if job.token in missing}
            jobs += last.values()
        found: dict[str, tuple[Job, ...]] = {}
        for job in sorted(jobs, key=lambda it: it.id):
            found[job.token] = (*found.get(job.token, ()), job)
        return found

    async def queue(self, job_ids: Sequence[int] | None = None) -> QueueSnapshot:
        """Run one squeue for all jobs of this user; `job_ids` (of jobs, of arrays) selects among
        them.

        Requested ids that are not in the queue are searched among other users' jobs (several users
        may share a project), then in the accounts, if the site has accounting. An id that is not
        found is missing from the snapshot; one whose lookup failed is `JobState.UNKNOWN`. Tasks
        that left the queue while other tasks of their array are in it are also missing: `find`
        searches them in the accounts.
        """
        if job_ids is not None and not job_ids:
            return QueueSnapshot(self.cluster, self._clock())
        try:
            jobs, complaints = await self._jobs("--me")
        except SlurmFormatError as error:
            return self._no_answer(str(error))
        if not jobs and complaints:
            return self._no_answer(complaints)
        if job_ids is not None:
            wanted = set(job_ids)
            jobs = [job for job in jobs if job.id in wanted]
            jobs += await self._of_others(sorted(wanted - {job.id for job in jobs}))
            jobs += await self._past(sorted(wanted - {job.id for job in jobs}))
        jobs = await self._with_exit_codes(jobs)
        return QueueSnapshot(self.cluster, self._clock(), tuple(jobs))

    async def folders(self, job_ids: Sequence[int]) -> Mapping[int, str] | None:
        """Run one squeue for all jobs of this user. See `Scheduler`."""
        if not job_ids:
            return {}
        mark = secrets.token_hex(8)  # a folder's name may contain any other text
        result = await self._squeue("--me", "-t", "all", "-o", f"{mark}%F|%Z{mark}")
        if result.exit_status != 0 or result.truncated:
            return None
        wanted, found = set(job_ids), {}
        for record in result.stdout.decode("utf-8", "surrogateescape").split(mark)[1::2]:
            number, _, folder = record.partition("|")
            if number.isdecimal() and int(number) in wanted:
                found[int(number)] = folder
        return found

    async def cancel(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Run scancel, which reports no error for jobs that have ended or never existed.

        Cancelled waiting tasks of an array vanish from squeue, unless they have a record of their
        own; a hold gives them one. If all active tasks are cancelled, the whole array is cancelled
        instead.
        """
        asked = {key for key in jobs if key.task is not None}
        known: list[Job] = []
        if asked:
            try:
                known, _ = await self._jobs("--me")
            except SlurmFormatError:
                pass  # then cancel without this knowledge
        waiting, whole = await asyncio.to_thread(waiting_and_whole, asked, known)
        await self._act(("scontrol", "hold"), waiting, words_of(waiting))
        words = words_of([key for key in jobs if key.task is None or key.id not in whole])
        words += [Word(str(it), [key for key in jobs if key.id == it]) for it in sorted(whole)]
        return await self._act(("scancel",), jobs, words)

    async def hold(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Prevent waiting jobs from starting. A running job continues, and is held if requeued."""
        return await self._act(("scontrol", "hold"), jobs, words_of(jobs))

    async def release(self, jobs: Sequence[JobKey]) -> tuple[JobAnswer, ...]:
        """Allow held jobs to start; released and ended jobs are no error."""
        return await self._act(("scontrol", "release"), jobs, words_of(jobs))

    async def measured(self, jobs: Mapping[JobKey, str]) -> Mapping[JobKey, Measured] | None:
        """Run sacct with the steps of these jobs, in batches."""
        found: dict[JobKey, Measured] = {}
        ids = sorted({key.id for key in jobs})
        for start in range(0, len(ids), ACCOUNT_BATCH):
            batch = ",".join(map(str, ids[start : start + ACCOUNT_BATCH]))
            form = UsageForm.new()
            result = await self._sacct(*form.options, "-j", batch)
            if result is None:
                return {}
            if result.exit_status != 0 or result.truncated:
                return None
            try:
                found |= await asyncio.to_thread(form.read, result.stdout, jobs)
            except SlurmFormatError:
                return None
        return found

    async def measured_now(self, jobs: Mapping[JobKey, str]) -> Mapping[JobKey, Measured] | None:
        """Run sstat for these jobs, and before it squeue for tasks of arrays."""
        return await ask_usage_now(self._transport, jobs, self._query_timeout)

    async def _act(
        self, command: tuple[str, ...], jobs: Sequence[JobKey], words: Sequence[Word]
    ) -> tuple[JobAnswer, ...]:
        """Run one command on many jobs, in batches. After a timeout it may still be carried out."""
        errors: dict[JobKey, str] = {}
        for batch in batches(words):
            texts = [word.text for word in batch]
            listed = texts if command == ("scancel",) else [",".join(texts)]
            result = await self._transport.run([*command, *listed], timeout=self._submit_timeout)
            keys = [key for word in batch for key in word.jobs]
            errors |= read_answers(result, keys, _DONE[command[-1]])
        return tuple(JobAnswer(job, errors[job]) for job in jobs)

    async def _jobs(self, *options: str) -> tuple[list[Job], str]:
        """Return squeue's jobs, including ended ones, and the last line of its error output.

        squeue may print errors and still end with status 0. Raises: SlurmFormatError.
        """

        async def look(*more: str) -> tuple[SqueueReading, str]:
            form = QueueForm.new()
            result = await self._squeue("-t", "all", *more, *options, "-o", form.option)
            if knows_none(result):
                return SqueueReading([]), ""
            if result.exit_status != 0:
                raise SlurmFormatError(result.complaint or "squeue failed")
            if result.truncated:
                raise SlurmFormatError("squeue printed more than can be read")
            try:
                # In a thread: ten thousand jobs take a few hundredths of a second.
                reading = await asyncio.to_thread(form.read, result.stdout)
            except SlurmFormatError as error:
                raise SlurmFormatError(f"squeue printed something unexpected: {error}") from error
            return reading, result.stderr.decode(errors="replace").strip().rpartition("\n")[2]

        reading, complaint = await look()
        if not reading.merged:
            return reading.jobs, complaint
        apart, complaint = await look("-r")
        return await asyncio.to_thread(reading.told_apart, apart), complaint

    async def _squeue(self, *options: str) -> CommandResult:
        """Run one squeue.

        The controller applies the filter `--me`, squeue itself the other filters.
        """
        return await self._transport.run(
            ["squeue", "-h", *options],
            timeout=self._query_timeout,
            env={"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "0"},
        )

    async def _of_others(self, job_ids: Sequence[int]) -> list[Job]:
        """Return squeue's jobs of any user, if the site shows them."""
        jobs: list[Job] = []
        for start in range(0, len(job_ids), SQUEUE_BATCH):
            batch = job_ids[start : start + SQUEUE_BATCH]
            try:
                shown, _ = await self._jobs("--jobs", ",".join(map(str, batch)))
                wanted = set(batch)
                jobs += [job for job in shown if job.id in wanted]
            except SlurmFormatError as error:
                reason = f"squeue could not be asked: {error}"
                jobs += [Job(job_id, JobState.UNKNOWN, reason=reason) for job_id in batch]
        return jobs

    async def _with_exit_codes(self, jobs: list[Job]) -> list[Job]:
        """Fill in how failed jobs ended, with one more squeue only after a new failure."""
        failed, is_new = await asyncio.to_thread(lacking_exits, jobs, self._exits)
        if not failed:
            return jobs
        if is_new:
            result = await self._squeue("--me", "-t", "F", "-O", EXIT_FORM)
            if result.exit_status == 0:
                # Jobs without an answer are not queried again with every poll.
                self._exits = await asyncio.to_thread(learn_exits, failed, result.stdout)
        return await asyncio.to_thread(with_exits, jobs, self._exits)

    async def _past(self, job_ids: Sequence[int]) -> list[Job]:
        """Return the accounts of jobs that left the queue."""
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
        """Return jobs from sacct; none without accounting, None if the query failed."""
        form = AccountForm.new()
        result = await self._sacct(*form.options, *options)
        if result is None:
            return []
        if result.exit_status != 0 or result.truncated:
            return None
        try:
            return await asyncio.to_thread(form.read, result.stdout)
        except SlurmFormatError:
            return None

    async def _sacct(self, *options: str) -> CommandResult | None:
        """Run one sacct; None if the site has no accounting."""
        if self._has_accounts is False:
            return None
        env = {"SLURM_BITSTR_LEN": "0", "SLURM_TIME_FORMAT": "%s"}
        result = await self._transport.run(
            ["sacct", *options], timeout=self._query_timeout, env=env
        )
        if _no_such_program(result) or b"storage is disabled" in result.stderr:
            self._has_accounts = False
            return None
        return result

    def _no_answer(self, error: str) -> QueueSnapshot:
        return QueueSnapshot(self.cluster, self._clock(), error=error or "squeue failed")


def _no_such_program(result: CommandResult) -> bool:
    """Whether a program is missing or forbidden.

    Other reasons for a failed start may be temporary.
    """
    words = ("not found", "No such file", "Permission denied")
    return result.trouble is Trouble.NOT_STARTED and any(it in result.detail for it in words)
