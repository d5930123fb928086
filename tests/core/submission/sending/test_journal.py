"""The journal survives crashes, and several processes write it."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import Cost
from rowtui.core.submission.plan.json import plan_id, save_plan
from rowtui.core.submission.plan.model import (
    JobStep,
    JournalEntry,
    Plan,
    PlannedDestination,
    PlannedJob,
)
from rowtui.core.submission.plan.outcome import JobOutcome, JobResult
from rowtui.core.submission.sending.fence import ended_path, fence_path
from rowtui.core.submission.sending.job_records import JobTable, job_records
from rowtui.core.submission.sending.journal import (
    Journal,
    _lines,
    end_detail,
    read_end_detail,
)

PLAN = "p" * 64


def entry(
    token: str, step: JobStep, job_id: int = 0, detail: str = "", at: float = 1.0
) -> JournalEntry:
    return JournalEntry(token, PLAN, step, at, job_id, detail)


def job(token: str) -> PlannedJob:
    return PlannedJob(
        token, "one-a", "one", 0, ("a", "b\udcff"), PlannedDestination("local"), "#!", "one-%j.out",
        1, 1, 0, None, 60, Cost(),
    )  # fmt: skip


def plan(*tokens: str) -> Plan:
    return Plan(
        PLAN, "2026-01-01T00:00:00Z", "me", "local", "local", tuple(map(job, tokens)), Cost()
    )


ENTRY = st.builds(
    JournalEntry,
    token=st.text(), plan_id=st.just(PLAN), step=st.sampled_from(JobStep),
    at=st.floats(0, 1e12), job_id=st.integers(0, 10**6),
    detail=st.text(st.characters()), cluster=st.text(max_size=3),
    task=st.none() | st.integers(0, 10**6),
    end=st.none() | st.builds(JobResult, st.sampled_from(JobOutcome), st.text(), st.text()),
)  # fmt: skip


@given(ENTRY, st.lists(st.tuples(st.text(), st.none() | st.integers(0, 9)), max_size=3), ENTRY)
def test_lines_are_what_json_would_write(
    first: JournalEntry, like_it: list[tuple[str, int | None]], last: JournalEntry
) -> None:
    tasks = [first._replace(token=token, task=task) for token, task in like_it]
    entries = [first, *tasks, last]

    written = _lines(entries)

    assert written == b"".join(map(by_json, entries))


def by_json(entry: JournalEntry) -> bytes:
    fields: dict[str, object] = {
        "at": entry.at, "detail": entry.detail, "job_id": entry.job_id,
        "step": entry.step.value, "token": entry.token, "v": 1,
    }  # fmt: skip
    fields |= {"cluster": entry.cluster} if entry.cluster else {}
    fields |= {} if entry.end is None else {"end": entry.end.to_json()}
    fields |= {} if entry.task is None else {"task": entry.task}
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def test_entries_come_back_in_order(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    entries = [
        entry("t-0", JobStep.PLANNED),
        entry("t-0", JobStep.REJECTED, detail="no\n\udcff\x1b"),
    ]

    journal.append(entries[:1])
    journal.append(entries[1:])

    assert journal.entries(PLAN) == entries
    assert journal.latest(PLAN) == {"t-0": entries[1]}
    assert journal.plan_ids() == [PLAN]
    assert Journal(tmp_path / "other").plan_ids() == []


def test_a_line_cut_off_anywhere_loses_only_itself(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    first, second, third = (entry(f"t-{n}", JobStep.SENDING) for n in range(3))
    journal.append([first, second])
    path = journal.folder / f"{PLAN}.jsonl"
    whole = path.read_bytes()
    end_of_first = whole.index(b"\n") + 1

    for cut in range(end_of_first, len(whole) + 1):
        path.write_bytes(whole[:cut])
        journal.append([third])
        kept = [first, second] if cut >= len(whole) - 1 else [first]
        assert journal.entries(PLAN) == [*kept, third]


def append_many(root: Path, who: int) -> None:
    for number in range(25):
        Journal(root).append([entry(f"t-{who}-{number}", JobStep.SENDING, detail="x" * 5000)])


def test_entries_that_are_kept_in_memory_follow_what_others_write(tmp_path: Path) -> None:
    journal, other = Journal(tmp_path), Journal(tmp_path)
    entries = [entry(f"t-{number}", JobStep.PLANNED) for number in range(3)]
    journal.append(entries[:1])
    journal.entries(PLAN).clear()  # the caller's own list
    assert journal.entries(PLAN) == entries[:1]
    other.append(entries[1:])
    assert journal.entries(PLAN) == entries
    other.put_away(PLAN)
    assert journal.entries(PLAN) == entries
    other.append(entries[:1])
    assert journal.entries(PLAN) == [*entries, entries[0]]


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=append_many, args=(tmp_path, who)) for who in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    assert len(Journal(tmp_path).latest(PLAN)) == 100


def test_a_journal_of_another_version_is_not_guessed_at(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append([entry("t-0", JobStep.PLANNED)])
    path = journal.folder / f"{PLAN}.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"v":1', b'"v":2'))

    with pytest.raises(RowtuiError, match="another version"):
        journal.entries(PLAN)


def test_what_cannot_be_written_down_is_an_error(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.folder.parent.mkdir(parents=True)
    journal.folder.write_text("in the way")

    with pytest.raises(RowtuiError, match="no job is submitted"):
        journal.append([entry("t-0", JobStep.PLANNED)])


def test_a_held_journal_is_free_again_when_its_process_is_killed(tmp_path: Path) -> None:
    hold = (
        "import sys, pathlib\n"
        "from rowtui.core.submission.sending.journal import Journal\n"
        "with Journal(pathlib.Path(sys.argv[1])).hold(sys.argv[2]) as held:\n"
        "    print(held, flush=True); sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", hold, os.fspath(tmp_path), PLAN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"True\n"

    with Journal(tmp_path).hold(PLAN) as held:
        assert not held
    holder.kill()
    holder.communicate()
    with Journal(tmp_path).hold(PLAN) as held:
        assert held


def test_records_are_the_plan_with_the_latest_that_is_known() -> None:
    entries = [
        entry("t-0", JobStep.PLANNED),
        entry("t-1", JobStep.PLANNED),
        entry("t-2", JobStep.PLANNED),
        entry("t-0", JobStep.ACCEPTED, 41, at=2.0),
        entry("t-0", JobStep.ENDED, 0, "2 exit code 2", at=5.0),
        entry("t-1", JobStep.REJECTED, detail="no such partition"),
    ]

    ended, rejected, planned, new = job_records(plan("t-0", "t-1", "t-2", "t-3"), entries)

    assert (ended.step, ended.job_id, ended.submitted_at, ended.ended_at) == (
        JobStep.ENDED,
        41,
        2,
        5,
    )
    assert (ended.exit_code, ended.end_reason) == (2, "exit code 2")
    assert (ended.log_path, ended.directories) == ("one-41.out", ("a", "b\udcff"))
    assert (rejected.step, rejected.end_reason) == (JobStep.REJECTED, "no such partition")
    assert planned.step is new.step is JobStep.PLANNED


@given(st.none() | st.integers(0, 255), st.text().map(str.strip))
def test_an_end_comes_back(code: int | None, reason: str) -> None:
    end = JobResult(JobOutcome.NO_REPORT, reason, reason, code)
    assert read_end_detail(JobStep.ENDED, end_detail(end)) == (code, reason)


def test_the_time_of_an_entry_is_stored_exactly(tmp_path: Path) -> None:
    # a rounded time may be later than that of a queue which was asked directly afterwards
    journal = Journal(tmp_path)
    for at in (1.0005, 1795379090.8504126, 1795379090.8506):
        journal.append([JournalEntry("t-0", PLAN, JobStep.SENDING, at)])
        assert journal.latest(PLAN)["t-0"].at == at


def test_an_end_without_a_run_time_has_that_of_the_marks_of_the_job(tmp_path: Path) -> None:
    made = plan("t-0", "t-1")
    made = made._replace(id=plan_id(made))
    save_plan(tmp_path, made)
    journal = Journal(tmp_path)
    end = JobResult(JobOutcome.EXIT, "exit code 2", "exit code 2", 2, ended_at=5.0, seconds=0.0)
    lines = [entry("t-0", JobStep.ENDED, 41, "2 exit code 2", at=5.0), entry("t-1", JobStep.ENDED)]
    journal.append(
        [lines[0]._replace(plan_id=made.id), lines[1]._replace(plan_id=made.id, end=end)]
    )
    for path, at in [(fence_path, 2.0), (ended_path, 5.5)]:
        for token in ("t-0", "t-1"):
            path(tmp_path, token).parent.mkdir(exist_ok=True)
            path(tmp_path, token).touch()
            os.utime(path(tmp_path, token), (at, at))

    records = JobTable(tmp_path, journal, pytest.fail).records()

    assert [(it.seconds, it.elapsed) for it in records] == [(3.5, 4)] * 2


def test_the_tasks_of_an_array_are_listed_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    tasks = (0, 3, 10, 11)
    made = plan(*(f"t-{task}" for task in tasks))
    made = made._replace(id=plan_id(made))
    save_plan(tmp_path, made)
    journal = Journal(tmp_path)
    sent = [entry(f"t-{task}", JobStep.ACCEPTED, 41) for task in tasks]
    journal.append(
        [it._replace(plan_id=made.id, task=task) for it, task in zip(sent, tasks, strict=True)]
    )
    assert [it.task for it in JobTable(tmp_path, journal, pytest.fail).records()] == list(tasks)


def test_a_changed_job_has_its_new_limit_partition_and_cost(tmp_path: Path) -> None:
    whole = plan("t-1", "t-2")._replace(
        jobs=tuple(job(token)._replace(cost=Cost(2.0, 1.0)) for token in ("t-1", "t-2")),
    )
    whole = whole._replace(id=plan_id(whole))
    save_plan(tmp_path, whole)
    journal = Journal(tmp_path)
    table = JobTable(tmp_path, journal, lambda text: None)
    sent = [JournalEntry(it, whole.id, JobStep.ACCEPTED, 1.0, 7, "") for it in ("t-1", "t-2")]
    note = sent[0]._replace(step=JobStep.CHANGED, detail="120 long")
    cancelling = sent[0]._replace(step=JobStep.CANCELLING)
    journal.append([*sent, cancelling, note])

    assert journal.changed(whole.id) == {"t-1": (120, "long")}
    assert journal.entries(whole.id) == sent
    assert journal.cancel_asked(whole.id) == {"t-1"}
    changed, other = table.plan(whole.id).jobs
    assert (changed.walltime_seconds, changed.destination.partition) == (120, "long")
    assert changed.cost == Cost(4.0, 2.0)
    assert other == whole.jobs[1]._replace(script=other.script)
    assert [it.planned for it in table.records()] == [changed, other]
    # the last change counts; one without a partition keeps that of the plan
    journal.append([note._replace(detail="30 ")])
    assert table.plan(whole.id).jobs[0].cost == Cost(1.0, 0.5)
    assert table.records()[0].partition == ""
