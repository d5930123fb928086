"""`rowtui run`: a project driven to its end on this machine, and what stops it on the way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.failed_jobs import ChosenFailures
from rowtui.core.project.jobs import Jobs
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.retry_policy import load_policy
from rowtui.core.runs.execution import project_run
from rowtui.core.runs.execution.open_work import found_retries
from rowtui.core.runs.execution.result import EndedJobs
from rowtui.core.runs.limits.limits import PROJECT_FAILURES_IN_A_ROW
from rowtui.core.runs.store import PROJECT_RUNS, RunStore

from tests.cli.conftest import Shell
from tests.cli.in_process import Here, prepared
from tests.eventually import eventually

COUNTED = """\
read -r n < workspace/{directory}/n || n=0; n=$((n + 1)); echo $n > workspace/{directory}/n; """
WORKFLOW = f'''\
[[action]]
name = "one"
command = """{COUNTED} test -e gate && cat gate; test {{directory}} = b && test $n -lt 3 && exit 75
test {{directory}} = c && test -e bad && exit 3; touch workspace/{{directory}}/x"""
products = ["x"]
group.maximum_size = 1
resources.walltime.per_submission = "00:01:00"

[[action]]
name = "two"
command = "touch workspace/{{directory}}/y"
previous_actions = ["one"]
products = ["y"]
resources.walltime.per_submission = "00:01:00"
'''
RULES = '[[retry]]\non = "exit 75"\nattempts = 5\n'


class Local(Here):
    """The same on this machine's own queue."""

    cluster = "local"


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Local:
    """A project of directories a, b and c; b fails twice with exit code 75."""
    made = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    (made.folder / "rowtui.toml").write_text(RULES)
    return Local(made.folder, made.home, made.capture)


def runs(folder: Path) -> dict[str, int]:
    """How often the first action ran in each directory."""
    found = (folder / "workspace").glob("*/n")
    return {path.parent.name: int(path.read_text()) for path in found}


def status(here: Local) -> Any:
    return here.json("run", "--status")


def test_a_project_is_driven_to_its_end_and_failures_are_retried_by_rules(project: Local) -> None:
    done = project("run", "--yes")
    assert done.code == 0, done.err
    assert "Jobs run on this machine." in done.out
    assert "Done: all directories are complete." in done.out
    assert "retry: one on 1 directory: exit code 75; attempt 3 of 5, the same again" in done.out
    assert runs(project.folder) == {"a": 1, "b": 3, "c": 1}
    assert all((project.folder / "workspace" / name / "y").exists() for name in "abc")

    after = status(project)
    assert (after["status"], after["failed"], after["driven_by"]) == ("finished", 2, None)
    assert [(it["action"], it["directories"]) for it in after["retried"]] == [("one", ["b"])] * 2
    assert after["retried"][0]["why"].startswith("one on 1 directory: exit code 75; attempt 2 of 5")


def test_a_failure_without_a_rule_is_left_and_the_rest_goes_on(project: Local) -> None:
    (project.folder / "bad").touch()
    done = project("run", "--yes")
    assert done.code == 1
    assert "one: exit code 3; no rule retries this cause" in done.err
    assert (
        "The run is over: 4 of 6 directories complete in 2 actions; 1 failed (one: exit" in done.err
    )
    assert runs(project.folder) == {"a": 1, "b": 3, "c": 1}
    assert status(project)["status"] == "failed"

    (project.folder / "bad").unlink()  # the user mends it, and retries by hand
    assert project("retry", "--yes").code == 0
    assert project("run", "--yes").code == 0


def test_without_retries_every_failure_is_left_to_the_user(project: Local) -> None:
    done = project("run", "--yes", "--no-retry")
    assert done.code == 1
    assert runs(project.folder) == {"a": 1, "b": 1, "c": 1}


def test_beyond_its_limits_a_run_pauses_and_goes_on_with_new_ones(project: Local) -> None:
    paused = project("run", "--yes", "--max-cpu-hours", "0.04")
    assert paused.code == 1
    assert "of 0.04 confirmed" in paused.err
    first = status(project)
    assert (first["status"], first["submitted"]) == ("paused", 2)

    done = project("run", "--yes", "--max-cpu-hours", "1")
    assert done.code == 0, done.err
    assert f"Run {first['id']} goes on" in done.out
    assert runs(project.folder) == {"a": 1, "b": 3, "c": 1}


def test_beyond_so_many_retries_a_run_pauses_also_after_a_restart(project: Local) -> None:
    for _ in range(2):  # the second driver counts the retries of the first
        paused = project("run", "--yes", "--max-retries", "1")
        assert paused.code == 1
        assert "1 more job would bring it to 2 retries, of 1 confirmed" in paused.err
        assert runs(project.folder) == {"a": 1, "b": 2, "c": 1}
        assert status(project)["limits"][-1] == "at most 1 retry"
    assert project("run", "--yes", "--max-retries", "2").code == 0
    assert runs(project.folder) == {"a": 1, "b": 3, "c": 1}


def test_a_job_that_continues_neither_fails_nor_counts_as_an_attempt(project: Local) -> None:
    (project.folder / "rowtui.toml").write_text('[[retry]]\non = "exit 75"\ncontinue = true\n')
    limits = ("--max-retries", "1", "--max-failures", "1", "--max-failures-in-a-row", "1")
    done = project("run", "--yes", *limits)
    assert done.code == 0, done.err
    assert "continues: one on 1 directory: exit code 75; continuation 2 of 100" in done.out
    assert "failed" not in done.out.partition("Proceed?")[2]
    assert runs(project.folder) == {"a": 1, "b": 3, "c": 1}

    after = status(project)
    assert (after["status"], after["failed"]) == ("finished", 0)
    assert [(it["directories"], it["continues"]) for it in after["retried"]] == [(["b"], True)] * 2
    assert "continues: one on 1 directory: exit code 75;" in project("run", "--status").out
    records = OpenProject.open(cluster="local").jobs.records()
    of_b = [it.planned for it in records if it.directories == ("b",)]
    made = [(it.attempt, it.continues) for it in of_b if it and it.action == "one"]
    assert made == [(1, 2), (1, 1), (1, 0)]
    run = RunStore(project.folder, PROJECT_RUNS).latest()
    assert run is not None
    assert run.standing.spent().retries == 0
    shown = project.json("run", "--rules")["rules"][0]
    assert (shown["continues"], shown["decides"]) == (100, {"continues": 2})


def test_a_job_continues_as_long_as_it_makes_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"{COUNTED} test $n -gt 2 || date > workspace/{{directory}}/checkpoint.$n; exit 3"
    workflow = f'[[action]]\nname = "one"\ncommand = """{command}"""\nproducts = ["x"]\n'
    workflow += "group.maximum_size = 1\n"
    made = prepared(tmp_path, monkeypatch, capsys, workflow)
    here = Local(made.folder, made.home, made.capture)
    (here.folder / "rowtui.toml").write_text(
        '[[retry]]\non = "any"\ncontinue = true\nprogress = "checkpoint.*"\n'
    )
    done = here("run", "--yes", "--max-cpu-hours", "100")
    assert done.code == 1
    assert "one: exit code 3; no rule retries this cause" in done.err
    assert set(runs(here.folder).values()) == {3}
    assert status(here)["failed"] == len(runs(here.folder))
    for file in (here.folder / "workspace").glob("*/checkpoint.*"):
        file.unlink()  # what continued did so for good, also for the next driver
    opened = OpenProject.open(cluster="local")
    records = opened.jobs.records()
    mine = {it.token for it in records}
    new = EndedJobs().take(records, mine, opened.workflow, load_policy(opened.root))
    assert len(new.events) == len(runs(here.folder))


def test_the_rules_are_shown_with_what_they_do_about_the_last_failures(project: Local) -> None:
    (project.folder / "bad").touch()
    (project.folder / "rowtui.toml").write_text(RULES.replace("5\n", "2\n"))
    assert project("run", "--yes").code == 1
    before = RunStore(project.folder, PROJECT_RUNS).latest()
    shown = project("run", "--rules").out
    assert shown.startswith(
        "exit 75: at most 2 attempts\n  attempts used up: 1, retried: 1\nout of memory: memory 2x"
    )
    assert "No rule matches 1 of the last 3 failed jobs (exit code 3: 1).\n" in shown
    found = project.json("run", "--rules")
    assert found["rules"][0]["decides"] == {"retried": 1, "attempts used up": 1}
    assert (found["failures"], found["unmatched"]) == (3, {"exit code 3": 1})
    after = RunStore(project.folder, PROJECT_RUNS).latest()
    assert before is not None
    assert after is not None
    assert after.events() == before.events()


def test_directories_that_a_failed_job_completed_are_not_run_again(project: Local) -> None:
    path = project.folder / "workflow.toml"
    path.write_text(path.read_text().replace("maximum_size = 1", "maximum_size = 3", 1))
    done = project("run", "--yes", "--max-cpu-hours", "9")
    assert done.code == 0, done.err
    assert "retry: one on 2 directories: exit code 75; attempt 3 of 5" in done.out
    assert runs(project.folder) == {"a": 1, "b": 3, "c": 1}  # in the order a, b, c


def test_a_node_is_not_excluded_where_the_scheduler_cannot(project: Local) -> None:
    (project.folder / "rowtui.toml").write_text(f"{RULES}exclude = true\n")
    done = project("run", "--yes")
    assert done.code == 0, done.err
    assert "attempt 2 of 5, another node, but none could be excluded" in done.out


def test_without_yes_nothing_is_begun(project: Local) -> None:
    refused = project("run")
    assert refused.code == 1
    assert RunStore(project.folder, PROJECT_RUNS).latest() is None
    assert runs(project.folder) == {}


def test_an_action_without_products_is_run_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workflow = f'[[action]]\nname = "one"\ncommand = """{COUNTED}"""\n'
    made = prepared(tmp_path, monkeypatch, capsys, workflow)
    here = Local(made.folder, made.home, made.capture)
    done = here("run", "--yes")
    assert done.code == 1
    assert "one: its job ended well, but it is not complete" in done.err
    assert runs(here.folder) == {"a": 1, "b": 1, "c": 1}


def test_the_help_states_the_default_limit_of_failures(project: Local) -> None:
    text = " ".join(project("run", "--help").out.split())
    assert f"in between [default: {PROJECT_FAILURES_IN_A_ROW}]" in text


def test_the_rules_are_shown_before_they_apply(project: Local) -> None:
    assert project("run", "--rules").out.splitlines()[0] == "exit 75: at most 5 attempts"
    rules = project.json("run", "--rules")["rules"]
    assert [rule["line"] for rule in rules] == [1, None, None, None, None]


def test_events_are_lines_of_json(project: Local) -> None:
    done = project("run", "--yes", "--json")
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [events[0]["event"], events[1]["event"], events[-1]["event"]] == ["run", "begun", "over"]
    assert sum(event.get("failed", 0) for event in events) == 2
    assert sum(event["event"] == "retry" for event in events) == 2


def test_a_project_with_a_network_is_left_to_its_own_command(project: Local) -> None:
    (project.folder / "network.toml").write_text("")
    refused = project("run", "--yes")
    assert refused.code == 1
    assert "rowtui network run" in refused.err


@pytest.fixture
def driven(tmp_path: Path) -> Iterator[tuple[Shell, subprocess.Popen[bytes]]]:
    """A run in a process of its own, all of whose jobs wait at a pipe."""
    folder, home = tmp_path / "project", tmp_path / "home"
    home.mkdir()
    for name in "abc":
        (folder / "workspace" / name).mkdir(parents=True)
    (folder / "workflow.toml").write_text(WORKFLOW)
    (folder / "rowtui.toml").write_text(RULES)
    os.mkfifo(folder / "gate")
    shell = Shell(folder, home)
    shell.environment["ROWTUI_LOCAL_CORES"] = "4"
    words = [sys.executable, "-m", "rowtui.cli.main", "--cluster", "local", "run", "--yes"]
    driver = subprocess.Popen(
        words, cwd=folder, env=shell.environment, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    began = [folder / "workspace" / name / "n" for name in "abc"]
    eventually(lambda: all(path.exists() for path in began), what="all jobs began")
    yield shell, driver
    if driver.poll() is None:
        driver.kill()
    driver.wait(30)


def open_gate(folder: Path) -> None:
    """Let the waiting jobs go on, and later jobs pass."""
    pipe = folder / "gate"
    fd = os.open(pipe, os.O_RDWR)
    pipe.unlink()
    os.close(fd)


def test_a_killed_driver_loses_and_doubles_nothing(
    driven: tuple[Shell, subprocess.Popen[bytes]],
) -> None:
    shell, driver = driven
    driver.send_signal(signal.SIGKILL)
    driver.wait(30)
    open_gate(shell.folder)
    done = shell("run", "--yes", cluster="local")
    assert done.returncode == 0, done.stderr
    assert "goes on" in done.stdout
    assert runs(shell.folder) == {"a": 1, "b": 3, "c": 1}


def test_one_process_drives_a_project_and_another_stops_it(
    driven: tuple[Shell, subprocess.Popen[bytes]],
) -> None:
    shell, driver = driven
    second = shell("run", "--yes", cluster="local")
    assert second.returncode == 1
    assert f"process {driver.pid}" in second.stderr

    stopped = shell("run", "--stop", cluster="local")
    assert "its submitted jobs continue" in stopped.stdout
    assert driver.wait(30) != 0
    open_gate(shell.folder)
    done = shell("run", "--yes", cluster="local")
    assert done.returncode == 0, done.stderr
    assert runs(shell.folder) == {"a": 1, "b": 3, "c": 1}


def test_of_processes_that_begin_at_the_same_time_one_drives_the_project(project: Local) -> None:
    store = RunStore(project.folder, PROJECT_RUNS)
    with store.hold():  # another process has the user's confirmation, and no run yet
        second = project("run", "--yes")
    assert second.code == 1
    assert f"the project is driven by process {os.getpid()}" in second.err
    assert "rowtui run --status" in second.err
    assert store.latest() is None
    assert project("run", "--yes").code == 0


def messages_to_a_file(home: Path) -> Path:
    """Configure a channel that appends each message to the returned file."""
    folder = home / ".config" / "rowtui"
    folder.mkdir(parents=True)
    seen = home / "seen"
    (folder / "messages.toml").write_text(
        '[[channel]]\nkind = "command"\nname = "file"\nmin_interval = "0s"\n'
        f'command = ["sh", "-c", \'echo "$ROWTUI_MESSAGE_TITLE $ROWTUI_MESSAGE_TEXT" >> {seen}\']\n'
    )
    return seen


def test_what_stops_all_sending_pauses_the_run_with_a_message(
    project: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(project_run, "STUCK_SECONDS", 0.2)
    monkeypatch.setattr(project_run, "LONGEST_SECONDS", 0.1)
    monkeypatch.setattr(project_run, "LOOK_SECONDS", 0.1)
    seen = messages_to_a_file(project.home)
    os.mkfifo(project.folder / "gate")
    assert project("submit", "--yes", "--detach", "-n", "1").code == 0
    shutil.rmtree(project.folder / ".row")  # the records of a queued job are lost
    done = project("run", "--yes")
    open_gate(project.folder)
    assert done.code == 1
    assert "Paused: nothing can be sent: 1 job of this project is in the queue" in done.err
    assert done.err.count("is in the queue of local") == 2  # a problem, and the pause
    assert status(project)["status"] == "paused"
    assert "paused: nothing can be sent" in seen.read_text()


def test_a_failure_after_a_pause_is_counted_without_a_driver(
    driven: tuple[Shell, subprocess.Popen[bytes]],
) -> None:
    shell, driver = driven
    assert shell("run", "--stop", cluster="local").returncode == 0
    driver.wait(30)
    (shell.folder / "bad").touch()
    open_gate(shell.folder)
    eventually(
        lambda: (
            json.loads(shell.succeed("run", "--status", "--json", cluster="local"))["failed"] == 2
        ),
        what="the failures of b and c are counted",
    )


def test_a_driver_that_was_killed_is_reported_by_the_next(
    driven: tuple[Shell, subprocess.Popen[bytes]],
) -> None:
    shell, driver = driven
    seen = messages_to_a_file(Path(shell.environment["HOME"]))
    driver.kill()
    driver.wait(30)
    open_gate(shell.folder)
    assert "'rowtui run' continues it." in shell("run", "--status", cluster="local").stdout
    assert shell("run", "--resume", cluster="local").returncode == 0
    assert "stood still: its driver ended without a word" in seen.read_text()


def test_an_error_that_ends_the_driver_is_a_message(
    project: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = messages_to_a_file(project.home)

    def broken(*_: object, **__: object) -> None:
        raise RowtuiError("the workflow is gone")

    monkeypatch.setattr(project_run, "open_work", broken)
    assert project("run", "--yes").code == 1
    assert "paused: the workflow is gone" in seen.read_text()


def test_a_notice_of_every_look_is_printed_once(
    project: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0
    records = Jobs.records

    def noticing(jobs: Jobs) -> Any:
        nonlocal looks
        looks += 1
        jobs.project.notice("a plan is missing")
        return records(jobs)

    monkeypatch.setattr(Jobs, "records", noticing)
    done = project("run", "--yes")
    assert (done.code, done.err.count("a plan is missing")) == (0, 1)
    assert looks > 5


def test_a_wait_before_a_retry_is_never_longer_than_the_rule_says(
    project: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project.folder / "rowtui.toml").write_text(f'{RULES}wait = "00:00:05"\n')
    project("submit", "--yes", "-a", "one")
    opened = OpenProject.open(cluster="local")
    choice = ChosenFailures(opened.workflow.actions)
    policy, hour = load_policy(opened.root), 3600.0

    def waits(difference: float, due: dict[str, float]) -> float:
        """The wait of a driver whose clock differs from the one that saw the job's end."""
        monkeypatch.setattr("time.time", lambda: now() + difference)
        found = found_retries(opened, choice, policy, due)
        return 0.0 if found.later is None else found.later - time.monotonic()

    now, due = time.time, dict[str, float]()
    assert 4 < waits(-hour, due) <= 5
    assert waits(hour, due) > 3  # the clock of the day does not change a wait that has begun
    assert waits(hour, {}) == 0


def test_the_end_of_a_run_and_the_first_failure_are_messages(project: Local) -> None:
    seen = messages_to_a_file(project.home)
    assert project("run", "--yes").code == 0
    texts = seen.read_text()
    assert "is finished: all directories are complete" in texts
    assert "exit code 75" in texts


def test_the_end_of_a_job_that_continues_is_no_message_of_a_failure(project: Local) -> None:
    seen = messages_to_a_file(project.home)
    (project.folder / "rowtui.toml").write_text('[[retry]]\non = "exit 75"\ncontinue = true\n')
    assert project("run", "--yes").code == 0
    assert "is finished: all directories are complete" in seen.read_text()
    assert "exit code 75" not in seen.read_text()
