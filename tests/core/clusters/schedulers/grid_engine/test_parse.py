"""What Grid Engine 8.1.9 printed, recorded, and what is read from it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.schedulers.base import (
    Accepted,
    Job,
    JobKey,
    JobState,
    OutcomeUnknown,
    Rejected,
    Unreachable,
)
from rowtui.core.clusters.schedulers.grid_engine.accounts import read_accounts
from rowtui.core.clusters.schedulers.grid_engine.parse import (
    QstatFormatError,
    common_beginning,
    in_error,
    key_words,
    marked_name,
    name_and_token,
    read_answers,
    read_error_reasons,
    read_queue,
    read_submission,
    task_range,
)

SAMPLES = Path(__file__).parents[1] / "samples"
NOW = 1795282600.0  # some seconds after the samples were taken
TOKENS = st.from_regex(r"[A-Za-z0-9]{1,16}-[0-9]{1,4}a?", fullmatch=True)
KEYS = st.builds(JobKey, st.integers(1, 5), st.none() | st.integers(0, 12))


def queue(text: bytes | None = None) -> dict[JobKey, Job]:
    whole = (SAMPLES / "grid_engine_qstat.xml").read_bytes() if text is None else text
    return {job.key: job for job in read_queue(whole, NOW).jobs}


def answer(status: int | None, stdout: str = "", stderr: str = "", **rest: object) -> CommandResult:
    return CommandResult(("qsub",), status, stdout.encode(), stderr.encode(), **rest)  # type: ignore[arg-type]


def one_job(inner: str) -> bytes:
    return f"<job_info><job_list>{inner}</job_list></job_info>".encode()


def test_the_queue_tells_states_names_tokens_and_tasks() -> None:
    jobs = queue()
    assert [(*key, job.state.value, job.reason) for key, job in jobs.items()] == [
        (2, None, "running", ""),
        (11, None, "running", ""),
        (13, None, "suspended", "suspended"),
        (10, None, "pending", ""),
        (8, None, "pending", "error"),
        (7, 0, "held", "held"),
        (7, 1, "held", "held"),
        (7, 2, "held", "held"),
        (7, 3, "held", "held"),
        (9, None, "held", "waits for 2"),
    ]
    running = jobs[JobKey(2)]
    assert (running.name, running.token, running.limit) == ("run", "n-1", 600)
    assert (running.partition, running.nodes) == ("all.q", "localhost")
    assert running.elapsed is not None
    assert 0 < running.elapsed < 1800
    assert jobs[JobKey(7, 3)].token == "n-6a.3"
    assert (jobs[JobKey(10)].name, jobs[JobKey(10)].token) == ("a<b>&c", "")
    assert [key.id for key, job in jobs.items() if in_error(job)] == [8]


def test_jobs_that_wait_for_others_are_told_from_those_that_somebody_holds() -> None:
    whole = (SAMPLES / "grid_engine_qstat.xml").read_bytes()
    assert read_queue(whole, NOW).waiting == {JobKey(9)}


@pytest.mark.parametrize(
    ("letters", "state"),
    [
        ("qw", JobState.PENDING),
        ("Rq", JobState.PENDING),
        ("hqw", JobState.HELD),
        ("hRwq", JobState.HELD),
        ("Eqw", JobState.PENDING),
        ("Ehqw", JobState.PENDING),
        ("t", JobState.RUNNING),
        ("hr", JobState.RUNNING),
        ("Rr", JobState.RUNNING),
        ("s", JobState.SUSPENDED),
        ("ts", JobState.SUSPENDED),
        ("S", JobState.SUSPENDED),
        ("T", JobState.SUSPENDED),
        ("dr", JobState.COMPLETING),
        ("dRr", JobState.COMPLETING),
        ("dqw", JobState.PENDING),
        ("", JobState.UNKNOWN),
    ],
)
def test_every_state_is_one_of_ours(letters: str, state: JobState) -> None:
    text = f"<JB_job_number>1</JB_job_number><state>{letters}</state>"
    assert queue(one_job(text))[JobKey(1)].state is state


def test_ranges_of_tasks_are_taken_apart() -> None:
    text = "<JB_job_number>1</JB_job_number><state>qw</state><tasks>3-9:3,11,20-21:1</tasks>"
    assert [key.task for key in queue(one_job(text))] == [2, 5, 8, 10, 19, 20]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"error: no connection",
        b"<job_info><job_list>",
        one_job("<JB_job_number>x</JB_job_number>"),
        one_job("<state>qw</state>"),
        one_job("<JB_job_number>1</JB_job_number><tasks>1-99999999:1</tasks>"),
        b'<!DOCTYPE a [<!ENTITY b "c">]><job_info>&b;</job_info>',
    ],
)
def test_an_answer_that_is_not_whole_is_no_answer(text: bytes) -> None:
    with pytest.raises(QstatFormatError) as caught:
        read_queue(text, NOW)
    assert "literal" not in str(caught.value)
    if b"number>x" in text:
        assert str(caught.value) == "a job that cannot be read: JB_job_number=x"


def test_a_name_with_bytes_that_xml_cannot_hold_spoils_nothing() -> None:
    text = one_job("<JB_job_number>1</JB_job_number><JB_name>a\x1b[31m</JB_name>")
    assert queue(text.replace(b"[31m", b"\xff"))[JobKey(1)].name == "a?�"


def test_the_accounts_tell_how_jobs_ended() -> None:
    jobs = read_accounts((SAMPLES / "grid_engine_qacct.txt").read_bytes())
    told = {
        job.token: (job.state.value, job.exit_code, job.exit_signal, job.elapsed) for job in jobs
    }
    assert told == {
        "n-0": ("timeout", None, None, 2),
        "n-3": ("failed", 3, None, 1),
        "n-4": ("completed", 0, None, 1),
        "n-5a.0": ("completed", 0, None, 2),
        "n-5a.2": ("failed", 1, None, 1),
        "n-5a.4": ("completed", 0, None, 1),
        "n-9": ("cancelled", None, 9, 1),
        "n-2": ("cancelled", None, 9, 7),
    }
    assert {job.task for job in jobs if job.id == 6} == {0, 2, 4}


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"exit_status": "143                  (Terminated)"}, JobState.CANCELLED),
        ({"exit_status": "138"}, JobState.TIMEOUT),
        ({"exit_status": "143", "jobname": "another"}, JobState.FAILED),
        ({"failed": "100 : assumedly after job", "exit_status": "143"}, JobState.FAILED),
        ({"failed": "19 : before writing exit_status"}, JobState.NODE_FAIL),
        ({"failed": "28  : changing into working directory"}, JobState.FAILED),
        (
            {"failed": "37 : qmaster enforced", "category": "-l h_rt=600,h_vmem=100M"},
            JobState.OUT_OF_MEMORY,
        ),
    ],
)
def test_ways_to_end_are_told_apart(changes: dict[str, str], state: JobState) -> None:
    records = (SAMPLES / "grid_engine_qacct.txt").read_text().split("=" * 62)
    text = next(it for it in records if "n-4" in it)
    for key, value in changes.items():
        text = re.sub(rf"^{key} .*$", f"{key} {value}", text, flags=re.MULTILINE)
    (job,) = read_accounts(text.encode())
    assert job.state is state


def test_why_a_job_could_not_be_started_is_found_for_the_job_and_its_task() -> None:
    reason = 'can\'t open output file "/nodir/x": No such file or directory'
    reasons = read_error_reasons((SAMPLES / "grid_engine_qstat_j.txt").read_bytes())
    assert reasons == {JobKey(8): reason, JobKey(8, 0): reason}


REFUSALS = [
    'job rejected: the requested parallel environment "nosuch" does not exist',
    'job rejected: the requested project "nosuch" does not exist',
    "job rejected: only 200 jobs are allowed per user (current job count: 200)",
    'Job was rejected because job requests unknown queue "nosuch.q"',
    'unknown resource "nosuch"',
    "error: no suitable queues",
    'attribute "h_rt" is not a time value',
    'denied: host "a" is no submit host',
]


@pytest.mark.parametrize("words", REFUSALS)
def test_a_refusal_is_certain(words: str) -> None:
    said = read_submission(answer(1, stderr=f"Unable to run job: {words}\nExiting.\n"))
    assert said == Rejected(words)


@pytest.mark.parametrize(
    "words",
    [
        'qsub: invalid option argument "-bad"',
        'Unable to read script file because of error: invalid option argument "-nosuch"',
        "qsub: -t option only allows one range specification",
    ],
)
def test_what_qsub_itself_refuses_was_never_sent(words: str) -> None:
    assert isinstance(read_submission(answer(7, stderr=words + "\n")), Rejected)


@pytest.mark.parametrize(
    "result",
    [
        answer(0, "Your job 5 has been submitted\n"),
        answer(0, ""),
        answer(
            1,
            stderr="Unable to run job: warning: me's job is not allowed to run in any queue\n"
            'Your job 66 ("a") has been submitted\nExiting.\n',
        ),
        answer(1, stderr="Unable to run job: Error reading answer list from qmaster\nExiting.\n"),
        answer(1, stderr="Unable to run job: got no response from qmaster\nExiting.\n"),
        answer(255, stderr="Connection to login closed by remote host.\n"),
        answer(None, trouble=Trouble.TIMED_OUT),
        answer(None, trouble=Trouble.LOST),
        answer(None),
    ],
)
def test_whatever_may_have_arrived_is_unknown(result: CommandResult) -> None:
    assert isinstance(read_submission(result), OutcomeUnknown)


def test_a_qmaster_that_nobody_can_connect_to_has_got_nothing() -> None:
    words = (
        "error: commlib error: got select error (Connection refused)\n"
        "Unable to run job: unable to send message to qmaster using port 6444 on host "
        '"localhost": got send error\nExiting.\n'
    )
    assert isinstance(read_submission(answer(1, stderr=words)), Unreachable)
    no_connection = answer(None, trouble=Trouble.UNREACHABLE, detail="no login")
    assert read_submission(no_connection) == Unreachable("no login")
    missing = answer(None, trouble=Trouble.NOT_STARTED, detail="No such file or directory")
    assert isinstance(read_submission(missing), Rejected)


@pytest.mark.parametrize(
    ("line", "number"), [("12\n", 12), ("A banner of 7\n12.1-10:1\n", 12), ("3.2-4:2\n", 3)]
)
def test_the_id_is_the_last_line(line: str, number: int) -> None:
    assert read_submission(answer(0, line)) == Accepted(number)


def test_complaints_belong_to_the_jobs_that_they_name() -> None:
    jobs = [JobKey(29), JobKey(24, 2), JobKey(77)]
    said = answer(
        3,
        "modified hold of job 29\nmodified hold of job-array task 24.3\n"
        'denied: job "77" does not exist\n',
    )
    assert read_answers(said, jobs, gone_is_fine=False) == {
        JobKey(29): "",
        JobKey(24, 2): "",
        JobKey(77): "does not exist",
    }
    assert set(read_answers(said, jobs, gone_is_fine=True).values()) == {""}
    of_task = answer(1, 'job "24" task "3" does not exist\n')
    answers = read_answers(of_task, [JobKey(24, 1), JobKey(24, 2)], gone_is_fine=False)
    assert answers == {JobKey(24, 1): "", JobKey(24, 2): "does not exist"}


def test_a_complaint_about_no_job_concerns_all() -> None:
    said = answer(1, stderr='unable to send message to qmaster on host "a": got send error\n')
    found = read_answers(said, [JobKey(1), JobKey(2)], gone_is_fine=True)
    assert len(set(found.values())) == 1
    assert "send error" in found[JobKey(1)]


@given(st.text(), TOKENS)
def test_any_name_becomes_one_that_grid_engine_takes_and_gives_the_token_back(
    name: str, token: str
) -> None:
    marked = marked_name(name, token)
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_.+=-]{0,150}", marked)
    assert name_and_token(marked)[1] == token


@given(st.sets(TOKENS, min_size=1), st.lists(st.integers(0, 99)))
def test_the_common_beginning_finds_every_name(tokens: set[str], tasks: list[int]) -> None:
    of_tasks = {f"{token}.{task}" for token in tokens for task in tasks}
    beginning = common_beginning(tokens | of_tasks)
    assert all(name_and_token(marked_name("x", it))[1].startswith(beginning) for it in tokens)


@given(st.integers(0, 50), st.integers(1, 5), st.integers(1, 20))
def test_even_ranges_of_tasks_can_be_asked_for(first: int, step: int, count: int) -> None:
    tasks = range(first, first + step * count, step)
    text = task_range(tasks)
    assert text is not None
    low, high, width = map(int, re.split("[-:]", text))
    assert [number - 1 for number in range(low, high + 1, width)] == list(tasks)


def test_uneven_ranges_cannot() -> None:
    assert task_range([0, 1, 3]) is None
    assert task_range([2, 2]) is None


@given(st.sets(KEYS))
def test_words_for_jobs_name_each_of_them_once(keys: set[JobKey]) -> None:
    named = []
    for word in key_words(keys):
        number, dot, tasks = word.partition(".")
        low, _, high = tasks.partition("-")
        if not dot:
            named.append(JobKey(int(number)))
        else:
            span = range(int(low) - 1, int(high or low))
            named += [JobKey(int(number), task) for task in span]
    assert sorted(map(str, named)) == sorted(map(str, keys))
