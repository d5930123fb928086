"""squeue's answers read back, with hostile text in every free field."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.schedulers.base import Job, JobKey, JobState, task_token
from rowtui.core.clusters.schedulers.slurm import queue as slurm_queue
from rowtui.core.clusters.schedulers.slurm.parse import SlurmFormatError
from rowtui.core.clusters.schedulers.slurm.queue import QueueForm, read_exit_statuses


def line(
    form: QueueForm, fields: str, comment: str = "(null)", name: str = "x", own: int = 77
) -> bytes:
    """One record as squeue prints the form's format; `own` is its id among Slurm's records."""
    text = form.option.replace("%A|%F|%K|%T|%M|%l|%S|%P|%N|%r", f"{own}|{fields}")
    return (text.replace("%k", comment).replace("%j", name) + "\n").encode(
        "utf-8", "surrogateescape"
    )


def test_a_record_of_the_queue_becomes_a_job() -> None:
    form = QueueForm.new()
    running = line(form, "3|N/A|RUNNING|1:05|10:00|1795258775|cpu|n1|None", "rowtui:tok-1", "fit")
    waiting = line(
        form,
        "4|N/A|PENDING|0:00|UNLIMITED|1795258999|cpu||ReqNodeNotAvail, Reserved for x",
        "theirs",
    )
    never = line(form, "5|N/A|PENDING|0:00|10:00|N/A|cpu||Dependency")
    assert form.read(running + waiting + never).jobs == [
        Job(3, JobState.RUNNING, "fit", "tok-1", "", "cpu", 65, 600, "n1"),
        Job(
            id=4,
            state=JobState.PENDING,
            name="x",
            reason="ReqNodeNotAvail, Reserved for x",
            partition="cpu",
            elapsed=0,
            start_estimate=1795258999,
        ),
        Job(5, JobState.PENDING, "x", "", "Dependency", "cpu", 0, 600),
    ]


free_text = st.text(st.characters(blacklist_categories=()), max_size=30).map(
    lambda text: text.encode("utf-8", "replace").decode() + "|\n7|RUNNING"
)


@given(st.lists(st.tuples(st.integers(1, 10**8), free_text, free_text), max_size=5))
def test_whatever_stands_in_names_and_comments_no_job_is_lost_or_forged(
    jobs: list[tuple[int, str, str]],
) -> None:
    form = QueueForm.new()
    data = b"".join(
        line(form, f"{number}|N/A|RUNNING|0:01|1:00|N/A|cpu|n1|None", comment, name)
        for number, comment, name in jobs
    )
    assert [(job.id, job.name) for job in form.read(data).jobs] == [
        (number, name) for number, _, name in jobs
    ]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (b"a greeting\n%s", "a greeting"),
        (b"a gr\xfc\xdf\x1b[31m\n%s", "a gr��"),
        (b"%s and {mark}>cut", "a line that cannot be read: cut"),
        (b"{mark}>1|N/A|RUNNING", "a line that cannot be read: 1|N/A|RUNNING"),
        (b"{mark}>x|x|N/A|RUNNING|||||||{mark}|{mark}|j\xff", "a line that cannot be read: x|x|"),
    ],
)
def test_an_answer_in_another_form_is_refused_not_guessed(spoil: bytes, words: str) -> None:
    form = QueueForm.new()
    good = line(form, "3|N/A|RUNNING|1:05|10:00|N/A|cpu|n1|None")
    data = spoil.replace(b"%s", good).replace(b"{mark}", form.mark.encode())
    with pytest.raises(SlurmFormatError) as caught:
        form.read(data)
    assert str(caught.value).startswith(words)
    assert str(caught.value).isprintable()


PENDING = "PENDING|0:00|10:00|N/A|cpu||"


@pytest.mark.parametrize(
    ("numbers", "tasks"),
    [
        ("N/A", [None]),
        ("7", [7]),
        ("3-5%3", [3, 4, 5]),
        ("[1,3,5-7]", [1, 3, 5, 6, 7]),
        ("0-12:4", [0, 4, 8, 12]),
        ("0,2-3%10", [0, 2, 3]),
    ],
)
def test_a_line_of_an_array_is_a_job_for_each_task_with_a_token_of_its_own(
    numbers: str, tasks: list[int | None]
) -> None:
    form = QueueForm.new()
    ours = form.read(line(form, f"4|{numbers}|{PENDING}Priority", "rowtui:tok")).jobs
    theirs = form.read(line(form, f"4|{numbers}|{PENDING}Priority", "else")).jobs
    assert [job.key for job in ours] == [job.key for job in theirs]
    assert [(job.id, job.task) for job in ours] == [(4, task) for task in tasks]
    assert [job.token for job in ours] == [
        "tok" if task is None else task_token("tok", task) for task in tasks
    ]
    assert {job.token for job in theirs} == {""}


@pytest.mark.parametrize("numbers", ["1-5,...", "3-", "5-3", "0-9999999", "0x7f", "٣"])
def test_tasks_that_can_not_be_told_spoil_the_answer_only_where_they_are_ours(
    numbers: str,
) -> None:
    form = QueueForm.new()
    theirs = line(form, f"4|{numbers}|{PENDING}Priority", "else")
    assert [job.key for job in form.read(theirs).jobs] == [JobKey(4)]
    with pytest.raises(SlurmFormatError, match="the tasks of array 4"):
        form.read(line(form, f"4|{numbers}|{PENDING}Priority", "rowtui:tok"))


def test_arrays_are_no_longer_spread_out_when_there_are_too_many_jobs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slurm_queue, "MOST_JOBS", 10)
    form = QueueForm.new()
    data = b"".join(line(form, f"{number}|0-5|{PENDING}x") for number in (1, 2))
    assert [job.key for job in form.read(data).jobs] == [
        *(JobKey(1, task) for task in range(6)),
        JobKey(2),
    ]


@pytest.mark.parametrize(
    ("reason", "merged"),
    [
        ("JobHeldUser,None", True),
        ("JobArrayTaskLimit,JobHeldAdmin", True),
        ("JobHeldUser", False),
        ("ReqNodeNotAvail, UnavailableNodes:n2", False),
        ("Priority,Resources", False),
    ],
)
def test_a_line_that_speaks_for_held_and_other_tasks_of_ours_is_noticed(
    reason: str, merged: bool
) -> None:
    form = QueueForm.new()
    assert form.read(line(form, f"4|0-3|{PENDING}{reason}", "rowtui:t")).merged is merged
    assert not form.read(line(form, f"4|0-3|{PENDING}{reason}", "else")).merged


def test_a_task_that_squeue_leaves_out_when_it_tells_them_apart_is_as_its_record() -> None:
    form = QueueForm.new()
    together = form.read(line(form, f"4|0-3|{PENDING}None,JobHeldUser", "rowtui:t", own=4))
    held = [line(form, f"4|{task}|{PENDING}JobHeldUser", "rowtui:t", own=9) for task in (0, 2)]
    apart = form.read(b"".join([line(form, f"4|1|{PENDING}None", "rowtui:t", own=4), *held]))
    jobs = together.told_apart(apart)
    assert [(job.task, job.state, job.reason, job.token) for job in jobs] == [
        (1, JobState.PENDING, "", "t.1"),
        (0, JobState.HELD, "JobHeldUser", "t.0"),
        (2, JobState.HELD, "JobHeldUser", "t.2"),
        (3, JobState.PENDING, "", "t.3"),
    ]


def test_raw_wait_statuses_become_exit_codes_and_signals() -> None:
    table = (
        b"1    768  N/A \n2 9 N/A\n3 139 N/A\n4 0 0\n4 512 17\n5 256 0-4,7,19,22,24,30,3\n\nnoise\n"
    )
    assert read_exit_statuses(table) == {
        JobKey(1): (3, None),
        JobKey(2): (None, 9),
        JobKey(3): (None, 11),
        JobKey(4, 0): (0, None),
        JobKey(4, 17): (2, None),
        JobKey(5): (1, None),
    }
