"""Reading what sacct says, and when it is asked: recorded answers.

No database runs here, so a transport gives the recorded rows in the form that was asked for.
test_slurm_accounting asks a real one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.schedulers.base import Job, JobKey, JobState, task_token
from rowtui.core.clusters.schedulers.slurm.accounting import AccountForm
from rowtui.core.clusters.schedulers.slurm.parse import SlurmFormatError
from rowtui.core.clusters.schedulers.slurm.scheduler import ACCOUNT_BATCH, SlurmScheduler

ROWS = (Path(__file__).parents[1] / "samples/sacct.txt").read_text().splitlines()[1:]
NO_ACCOUNTS = b"Slurm accounting storage is disabled\n"


class Site:
    """An empty queue, and accounts."""

    def __init__(
        self,
        rows: Sequence[str] = ROWS,
        error: bytes = b"",
        trouble: Trouble | None = None,
        detail: str = "",
    ) -> None:
        self.rows = rows
        self.error = error
        self.trouble = trouble
        self.detail = detail
        self.asked: list[tuple[str, ...]] = []

    async def run(self, argv: Sequence[str], **_: object) -> CommandResult:
        if argv[0] == "squeue":
            return CommandResult(tuple(argv), 0)
        self.asked.append(tuple(argv))
        if self.trouble:
            return CommandResult(tuple(argv), None, trouble=self.trouble, detail=self.detail)
        if self.error:
            return CommandResult(tuple(argv), 1, stderr=self.error)
        mark = next(word for word in argv if word.startswith("--delimiter=")).split("=", 1)[1]
        text = "".join(row.replace("|", mark) + "\n" for row in self.rows)
        return CommandResult(tuple(argv), 0, text.encode())


def recorded_accounts(form: AccountForm) -> bytes:
    return "".join(row.replace("|", form.mark) + "\n" for row in ROWS).encode()


def test_recorded_accounts_become_jobs() -> None:
    form = AccountForm.new()
    found = form.read(recorded_accounts(form))
    jobs = {job.id: job for job in found if job.task is None}
    assert [str(job.key) for job in found][-7:] == ["9", "4_0", "4_1", "4_2", "4_3", "4_4", "4_5"]
    assert len(jobs) == 8
    assert (jobs[1].state, jobs[1].exit_code, jobs[1].limit) == (JobState.COMPLETED, 0, 600)
    assert (jobs[3].state, jobs[3].exit_code) == (JobState.FAILED, 4)
    assert (jobs[6].exit_code, jobs[6].exit_signal) == (None, 9)
    assert jobs[5].state is JobState.CANCELLED
    assert (jobs[7].partition, jobs[7].nodes, jobs[7].elapsed) == ("gpu", "g1", 2)


@pytest.mark.parametrize(
    ("comment", "submit_line"),
    [("rowtui:tok-9", ""), ("", "sbatch --parsable --comment=rowtui:tok-9 --dependency=x")],
)
def test_a_token_is_read_from_the_comment_or_the_submit_line(
    comment: str, submit_line: str
) -> None:
    form = AccountForm.new()
    fields = [comment, submit_line, "a\n1|b", "None", "RUNNING", "0:0", "5", "10", "cpu", "n1"]
    record = form.mark.join([*fields, "9"]) + "\n"
    jobs = form.read((record * 3).encode())
    assert [job.token for job in jobs] == ["tok-9"] * 3
    assert jobs[0] == Job(9, JobState.RUNNING, "a\n1|b", "tok-9", "", "cpu", 5, 600, "n1")


def test_accounts_without_jobs_and_accounts_that_can_not_be_read_differ() -> None:
    form = AccountForm.new()
    assert form.read(b"") == []
    with pytest.raises(SlurmFormatError):
        form.read(b"sacct: something else\n")
    with pytest.raises(SlurmFormatError):
        form.read(recorded_accounts(form)[:-20])


@pytest.mark.parametrize(
    ("called", "keys"),
    [
        ("12_3", [JobKey(12, 3)]),
        ("12_[4-6%2]", [JobKey(12, 4), JobKey(12, 5), JobKey(12, 6)]),
        ("12_[1,3]", [JobKey(12, 1), JobKey(12, 3)]),
        ("12+1", [JobKey(13)]),
    ],
)
def test_tasks_in_the_accounts_are_jobs_with_tokens_of_their_own(
    called: str, keys: list[JobKey]
) -> None:
    form = AccountForm.new()
    fields = ["", "sbatch --comment=rowtui:arr --array=0-9", "n", "None", "PENDING", "0:0"]
    data = form.mark.join([*fields, "0", "10", "cpu", "None assigned", called]) + "\n"
    jobs = form.read(data.encode())
    assert [job.key for job in jobs] == keys
    assert [job.token for job in jobs] == [
        "arr" if key.task is None else task_token("arr", key.task) for key in keys
    ]


async def test_thousands_of_ids_never_make_one_command_line() -> None:
    site = Site()
    await SlurmScheduler("alpha", site).queue(range(10_000_000, 10_015_000))
    assert len(site.asked) == 15_000 // ACCOUNT_BATCH
    assert max(len(word) for argv in site.asked for word in argv) < 100_000


@pytest.mark.parametrize(
    "site",
    [
        Site(error=NO_ACCOUNTS),
        Site(trouble=Trouble.NOT_STARTED, detail="No such file or directory"),
        Site(trouble=Trouble.NOT_STARTED, detail="sacct: not found"),
    ],
)
async def test_a_site_without_accounts_is_asked_once(site: Site) -> None:
    scheduler = SlurmScheduler("alpha", site)
    for _ in range(3):
        assert (await scheduler.queue([3])).jobs == ()
        assert await scheduler.find(["token"]) == {}
    assert len(site.asked) == 1


@pytest.mark.parametrize(
    ("trouble", "detail"),
    [
        (Trouble.UNREACHABLE, "no connection to alpha"),
        (Trouble.NOT_STARTED, "fork: Resource temporarily unavailable"),
        (Trouble.LOST, ""),
    ],
)
async def test_accounts_that_could_not_be_asked_now_are_asked_again(
    trouble: Trouble, detail: str
) -> None:
    site = Site(trouble=trouble, detail=detail)
    scheduler = SlurmScheduler("alpha", site)
    assert await scheduler.find(["token"]) is None
    site.trouble = None
    assert [job.id for job in (await scheduler.queue([3])).jobs] == [3]


async def test_a_job_that_was_queued_again_is_found_once_as_it_was_at_last() -> None:
    line = "|sbatch --comment=rowtui:twice|j|None|"
    first, last = f"{line}REQUEUED|0:0|3|10|cpu|n1|5", f"{line}FAILED|5:0|2|10|cpu|n1|5"
    other = "|sbatch --comment=rowtui:other|j|None|COMPLETED|0:0|2|10|cpu|n1|5"

    found = await SlurmScheduler("alpha", Site([other, first, last])).find(["twice", "other"])

    assert found is not None
    assert {token: [job.state for job in jobs] for token, jobs in found.items()} == {
        "other": [JobState.COMPLETED],
        "twice": [JobState.FAILED],
    }


class Silent(Site):
    """Our own jobs are listed; when others are asked for, the controller does not answer."""

    async def run(self, argv: Sequence[str], **_: object) -> CommandResult:
        if argv[0] == "squeue" and "--me" not in argv:
            text = b"slurm_load_jobs error: Unable to contact slurm controller"
            return CommandResult(tuple(argv), 1, stderr=text)
        return await super().run(argv)


async def test_jobs_of_others_that_cannot_be_asked_for_are_unknown_not_missing() -> None:
    site = Silent([])
    snapshot = await SlurmScheduler("alpha", site).queue([3, 6])
    assert [(job.id, job.state) for job in snapshot.jobs] == [
        (3, JobState.UNKNOWN),
        (6, JobState.UNKNOWN),
    ]
    assert site.asked == []  # the accounts have no better answer
