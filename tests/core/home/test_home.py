"""The list of projects: stored atomically, bounded, and no project delays the others."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.polling.cache import (
    KnownQueue,
    PollCache,
    cache_name,
    queues_folder,
)
from rowtui.core.clusters.schedulers.base import Job, JobState, QueueSnapshot
from rowtui.core.home import known as known_module
from rowtui.core.home.known import (
    ActionCounts,
    KnownProject,
    KnownProjects,
    ProjectSummary,
    summary_of,
)
from rowtui.core.home.reading import find_below, read_projects
from rowtui.core.home.summary import found_below, read_summary
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.queue.needs import QueueNeed
from rowtui.core.project.views.needs import FailureCause
from rowtui.core.state.model import Submitted
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.store import UsageStore

WORKFLOW = """\
[workspace]
[[action]]
name = "one"
command = "touch workspace/{directory}/one"
products = ["one"]
"""

COUNTS = (
    "directories", "bad", "total", "completed", "submitted", "eligible", "waiting", "failed",
    "jobs",
)  # fmt: skip

# A reader for which the folder `frozen` is on a file system that does not answer.
FROZEN = """\
import time
from rowtui.core.home import summary
real = summary.read_summary
def read(root):
    if root.endswith("/frozen"):
        time.sleep(600)
    return real(root)
summary.read_summary = read
summary.main()
"""
# A reader that ends at the folder `deadly`.
DEADLY = FROZEN.replace("time.sleep(600)", "raise SystemExit").replace("/frozen", "/deadly")


def project(folder: Path, directories: int = 4, done: int = 1) -> str:
    folder.mkdir(parents=True)
    (folder / "workflow.toml").write_text(WORKFLOW)
    for number in range(directories):
        (folder / "workspace" / f"d{number}").mkdir(parents=True)
    for number in range(done):
        (folder / "workspace" / f"d{number}" / "one").touch()
    opened = OpenProject.open(folder)
    opened.synchronise(full=True)
    opened.close()
    return str(folder)


def tree(folder: str) -> dict[str, tuple[int, int]]:
    found = {}
    for path, _, files in os.walk(folder):
        for name in ["", *files]:
            status = os.stat(os.path.join(path, name))
            found[os.path.join(path, name)] = (status.st_mtime_ns, status.st_size)
    return found


def test_a_summary_has_the_counts_and_changes_nothing_in_the_project(tmp_path: Path) -> None:
    root = project(tmp_path / "study")
    before = tree(root)
    summary = read_summary(root)
    assert (summary.directories, summary.total, summary.eligible) == (4, 4, 4 - summary.completed)
    assert summary.usable
    assert summary.cpu_hours > 0
    [action] = summary.actions
    assert (action.name, action.completed, action.eligible) == (
        "one",
        summary.completed,
        summary.eligible,
    )
    assert action.cpu_hours == summary.cpu_hours
    assert summary.lately == ()
    assert KnownProject(root, summary=summary).needs == ("3 eligible",)
    assert tree(root) == before


def test_a_summary_counts_the_directories_that_jobs_completed_lately(tmp_path: Path) -> None:
    root = project(tmp_path / "study")
    kind = UsageKind("one", "alpha", "", "jane", 1, 1, 0, None, 60)
    now = time.time()
    ages = [(60, "", 3), (60, "cause", 5), (5 * 3600, "", 2), (23.9 * 3600, "", 1),
            (25 * 3600, "", 7)]  # fmt: skip
    UsageStore(Path(root)).append(
        JobUsage(f"abc-{at}", kind, at + 1, size, read_old_end(0, cause, now - ago), 1.0)
        for at, (ago, cause, size) in enumerate(ages)
    )
    assert read_summary(root).lately == (1, *[0] * 8, 2, 0, 3)


def test_a_summary_counts_jobs_by_the_stored_polls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = project(tmp_path / "study", done=0)
    opened = OpenProject.open(Path(root))
    jobs = {it: Submitted("anvil", it + 1) for it in range(4)}
    opened.store.commit(
        lambda stored: stored._replace(state=stored.state._replace(submitted={"one": jobs}))
    )
    assert (read_summary(root).jobs, read_summary(root).running) == (4, None)
    anvil = opened.configured.named("anvil")
    assert anvil is not None
    queues_folder().mkdir(parents=True)
    seen = (
        Job(1, JobState.RUNNING),
        Job(2, JobState.PENDING, reason="Priority"),
        Job(3, JobState.PENDING, reason="InvalidAccount"),
        Job(9, JobState.RUNNING),
    )
    cache = PollCache(queues_folder(), cache_name(anvil, opened.environment))
    assert cache.write(KnownQueue(snapshot=QueueSnapshot("anvil", 1.0, seen), as_of=1.0))
    summary = read_summary(root)
    assert (summary.jobs, summary.running, summary.pending) == (4, 1, 2)
    [stuck] = summary.stuck
    assert (stuck.action, stuck.cause, stuck.jobs) == ("one", "InvalidAccount", 1)
    assert "1 unable to start" in KnownProject(root, summary=summary).needs


def test_a_folder_inside_of_another_project_is_gone_and_not_the_other(tmp_path: Path) -> None:
    project(tmp_path / "study")
    assert read_summary(str(tmp_path / "study" / "workspace")).gone
    assert read_summary(str(tmp_path / "nowhere")).gone


def test_a_broken_project_has_a_reason(tmp_path: Path) -> None:
    root = project(tmp_path / "study")
    (tmp_path / "study" / "workflow.toml").write_text("[[action]\n")
    assert read_summary(root).problem.startswith("workflow.toml:1:")
    (tmp_path / "study" / "workflow.toml").unlink()
    os.mkfifo(tmp_path / "study" / "workflow.toml")
    assert "not a regular file" in read_summary(root).problem


def test_a_project_that_hangs_delays_no_other(tmp_path: Path) -> None:
    known = KnownProjects(tmp_path / "state")
    names = ["frozen", *(f"p{number}" for number in range(8))]
    for name in names:
        known.add(project(tmp_path / name), 1.0)
    # All readers meet the project that hangs first or another; the deadline is for each project.
    read = list(read_projects(known, known.load(), seconds=2.0, program=FROZEN))
    states = {one.name: one.state for one in read}
    assert states == {name: "no answer" if name == "frozen" else "ok" for name in names}
    assert {one.name: one.state for one in known.load()} == states
    assert read[-1].name == "frozen"


def test_the_time_without_an_answer_begins_once_and_keeps_the_last_summary(tmp_path: Path) -> None:
    known = KnownProjects(tmp_path / "state")
    root = project(tmp_path / "frozen")
    known.add(root, 1.0)
    (before,) = read_projects(known, known.load())
    (first,) = read_projects(known, known.load(), seconds=0.2, program=FROZEN)
    (second,) = read_projects(known, known.load(), seconds=0.2, program=FROZEN)
    assert first.no_answer_since == second.no_answer_since > 0
    assert second.summary == before.summary
    (after,) = read_projects(known, known.load())
    assert (after.no_answer_since, after.state) == (0.0, "ok")


def test_a_reader_that_ends_is_replaced(tmp_path: Path) -> None:
    known = KnownProjects(tmp_path / "state")
    for name in ("deadly", "a", "b", "c", "d"):
        known.add(project(tmp_path / name), 1.0)
    read = {one.name: one.state for one in read_projects(known, known.load(), program=DEADLY)}
    assert read == {"deadly": "no answer", "a": "ok", "b": "ok", "c": "ok", "d": "ok"}


def test_the_newest_projects_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_module, "MOST_KNOWN", 5)
    known = KnownProjects(tmp_path)
    for number in range(9):
        known.add(f"/p{number}", number + 1.0)
        known.store(KnownProject(f"/p{number}", summary=ProjectSummary(total=number)))
    assert [one.root for one in known.load()] == ["/p8", "/p7", "/p6", "/p5", "/p4"]
    assert len(os.listdir(known.folder)) == 10


def test_a_forgotten_project_does_not_come_back_with_a_late_answer(tmp_path: Path) -> None:
    known = KnownProjects(tmp_path)
    known.add("/p", 1.0)
    assert known.forget("/p")
    assert not known.forget("/p")
    known.store(KnownProject("/p", summary=ProjectSummary()))
    assert known.load() == []


def test_a_found_project_does_not_replace_the_time_of_its_opening(tmp_path: Path) -> None:
    known = KnownProjects(tmp_path)
    known.add("/p", 5.0)
    known.add("/p", 0.0)
    assert [one.opened for one in known.load()] == [5.0]


def test_damaged_files_are_left_out(tmp_path: Path) -> None:
    known = KnownProjects(tmp_path)
    for name in ("/a", "/b", "/c"):
        known.add(name, 1.0)
        known.store(KnownProject(name, summary=ProjectSummary(total=3), read=2.0))
    known._path("/a").write_text("[" * 50_000)
    known._path("/b", ".summary").write_text('{"version": 1, "summary": {"total": NaN}}')
    assert [(one.root, one.state) for one in known.load()] == [("/b", "unread"), ("/c", "ok")]


@given(
    st.builds(
        ProjectSummary,
        gone=st.booleans(),
        problem=st.text(max_size=50),
        **dict.fromkeys(COUNTS, st.integers(0, 1 << 40)),
        running=st.none() | st.integers(0, 1 << 40),
        pending=st.none() | st.integers(0, 1 << 40),
        stuck=st.lists(
            st.builds(
                QueueNeed, st.text(max_size=5), st.just("alpha"), st.text(max_size=5), st.just("x"),
                st.integers(0, 99), st.just(0.0), st.just(()),
            ),
            max_size=2,
        ).map(tuple),
        cpu_hours=st.floats(0, 1e12),
        gpu_hours=st.floats(0, 1e12),
        paused=st.text(max_size=50),
        silent=st.lists(st.text(max_size=5), max_size=5).map(tuple),
        actions=st.lists(
            st.tuples(
                st.integers(0, 9), st.text(max_size=5), *[st.integers(0, 99)] * 7,
                st.floats(0, 1e9), st.floats(0, 1e9), st.text(max_size=5),
            ).map(lambda it: ActionCounts(*it)),
            max_size=3,
        ).map(tuple),
        failures=st.lists(
            st.builds(FailureCause, st.integers(0, 9), st.text(max_size=5), st.integers(0, 99),
                      st.integers(0, 99)),
            max_size=3,
        ).map(tuple),
        lately=st.lists(st.integers(0, 99), max_size=12).map(tuple),
    )
)  # fmt: skip
def test_a_summary_is_the_same_after_a_file(summary: ProjectSummary) -> None:
    assert summary_of(json.loads(json.dumps(summary._asdict()))) == summary


@pytest.mark.parametrize(
    "wrong",
    [
        {"total": -1},
        {"total": True},
        {"silent": [1]},
        {"cpu_hours": "x"},
        {"more": 1},
        {"lately": [-1]},
        {"actions": [[0, "a", -1]]},
    ],
)
def test_a_summary_of_another_form_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"^(it has|total|silent)"):
        summary_of({**ProjectSummary()._asdict(), **wrong})


def test_projects_are_found_below_a_folder_but_not_inside_projects_or_links(tmp_path: Path) -> None:
    project(tmp_path / "a" / "b" / "one")
    project(tmp_path / "two")
    project(tmp_path / "two" / "inside")
    project(tmp_path / ".hidden" / "three")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    expected = [str(tmp_path / "two"), str(tmp_path / "a" / "b" / "one")]
    assert found_below(str(tmp_path)) == expected
    assert find_below(str(tmp_path)) == expected


def test_reading_can_be_stopped(tmp_path: Path) -> None:
    known = KnownProjects(tmp_path / "state")
    known.add(project(tmp_path / "frozen"), 1.0)
    begun = time.monotonic()
    assert list(read_projects(known, known.load(), program=FROZEN, stopped=lambda: True)) == []
    assert time.monotonic() - begun < 60
