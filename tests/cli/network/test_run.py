"""`rowtui network run`: to the end on this machine, and what stops it on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.runs.model import Retried
from rowtui.core.runs.store import RunStore

from tests.cli.conftest import Shell
from tests.cli.on_clusters import OnClusters
from tests.cli.small_network import small_network, study
from tests.cli.terminal import on_a_terminal
from tests.core.runs.driving import of_one_size

CHARGES = ("charged", "prices", "jobs_in_queue", "failures", "failures_in_a_row")


@pytest.fixture
def small(here: OnClusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Inside of the small network's project."""
    folder = small_network(tmp_path / "project")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """The small network, with a process of its own for each command."""
    (tmp_path / "home").mkdir()
    return Shell(small_network(tmp_path / "project"), tmp_path / "home")


def ran(folder: Path) -> Counter[str]:
    """How often the first step began in each directory."""
    return Counter((folder / "ran").read_text().split())


def run_json(here: OnClusters) -> dict[str, Any]:
    view = json.loads(here("network", "show", "--json").out)
    return dict(view["run"])


def test_the_study_runs_by_itself_to_its_plot(
    here: OnClusters, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = study(tmp_path / "study")
    of_one_size(folder)
    monkeypatch.chdir(folder)
    done = here("network", "run", "--yes")
    assert done.code == 0, done.err
    assert "A new run of network study: 21 samples." in done.out
    assert "12 directories will be made" in done.out
    assert done.out.endswith("Done: all jobs of the network are completed.\n")
    assert "<svg" in (folder / "results" / "slopes.svg").read_text()
    assert run_json(here)["status"] == "finished"
    assert "1 completed" in here("network").out


def test_of_processes_that_begin_at_the_same_time_one_drives_the_network(
    here: OnClusters, small: Path
) -> None:
    store = RunStore(small)
    with store.hold():
        second = here("network", "run", "--yes")
    assert second.code == 1
    assert f"the project is driven by process {os.getpid()}" in second.err
    assert store.latest() is None


def test_what_is_done_is_not_done_again_by_another_run(here: OnClusters, small: Path) -> None:
    assert here("network", "run", "--yes").code == 0
    done = here("network", "run", "--yes", "--new")
    assert done.code == 0, done.err
    assert "Nothing is left to send." in done.out
    assert ran(small) == {"s,x=1": 1, "s,x=2": 1, "s,x=3": 1}


def test_a_failed_job_is_told_with_its_log_and_tried_again_once_mended(
    here: OnClusters, small: Path
) -> None:
    (small / "broken").touch()
    done = here("network", "run", "--yes")
    assert done.code == 1
    assert "one s,x=2: exit code" in done.err
    assert "Its log: one-" in done.err
    assert done.err.count("s,x=2: exit code") == 1
    # the one that needs it is lost, the others are done
    out = here("network").out
    assert "1 sample failed (others need their results: 1)" in out
    assert "2 completed, 1 failed" in out
    view = json.loads(here("network", "show", "--json").out)
    assert [(it["directory"], it["lost"]) for it in view["failures"]] == [("s,x=2", 1)]
    assert (small / view["failures"][0]["log_path"]).is_file()
    # what was only lost with it is not what has to be tried again
    done = here("network", "retry", "sum", "sum")
    assert done.code == 1
    assert "in node one: s,x=2" in done.err
    assert here("network", "retry", "one", "s,x=1").code == 1
    assert here("network", "retry").code == 1
    (small / "broken").unlink()
    done = here("network", "retry", "--all")
    assert done.code == 0, done.err
    assert "1 sample will be tried again, and 1 sample" in done.out
    done = here("network", "run", "--yes")
    assert done.code == 0, done.err
    assert ran(small) == {"s,x=1": 1, "s,x=2": 2, "s,x=3": 1}


def test_what_is_to_be_retried_is_failed_in_no_list_and_keeps_its_attempts(
    here: OnClusters, small: Path
) -> None:
    # Given a run in which a job failed,
    (small / "broken").touch()
    assert here("network", "run", "--yes", "--no-retry").code == 1

    def failed() -> tuple[int, int]:
        nodes = json.loads(here("network", "show", "--json").out)["nodes"]
        actions = json.loads(here("show", "status", "--json").out)["actions"]
        of_nodes = sum(node["states"].get("failed", 0) for node in nodes)
        return of_nodes, sum(action["failed"] for action in actions)

    assert failed() == (1, 1)
    # when the user asks for a retry, and no process drives the run,
    assert here("network", "retry", "--all").code == 0
    # then both lists agree,
    assert failed() == (0, 0)
    assert here("show", "directories", "-a", "one", "s,x=2").out.split()[-1] == "eligible"
    # and the next job is the second attempt.
    (small / "broken").unlink()
    assert here("network", "run", "--yes").code == 0
    jobs = json.loads(here("show", "jobs", "--long", "--json").out)["jobs"]
    attempts = [job["attempt"] for job in jobs if job["directories"] == ["s,x=2"]]
    assert attempts == [2, 1]


def test_a_new_run_tries_again_what_failed_in_another(here: OnClusters, small: Path) -> None:
    (small / "broken").touch()
    assert here("network", "run", "--yes").code == 1
    (small / "broken").unlink()
    done = here("network", "run", "--yes")
    assert done.code == 0, done.err
    assert "2 samples to send" in done.out
    assert ran(small) == {"s,x=1": 1, "s,x=2": 2, "s,x=3": 1}


def test_results_made_from_fewer_samples_than_now_are_made_again(
    here: OnClusters, small: Path
) -> None:
    assert here("network", "run", "--yes").code == 0
    assert "Every result was made from the present samples." in here("network", "redo").out
    network = small / "network.toml"
    network.write_text(network.read_text().replace("[1, 2, 3]", "[1, 2, 3, 4]"))
    assert here("network", "run", "--yes").code == 0
    done = here("network", "redo")
    assert done.code == 1
    assert "1 sample would run again: sum 1." in done.out
    assert "--yes" in done.err
    done = here("network", "redo", "--yes")
    assert done.code == 0, done.err
    assert here("network", "run", "--yes").code == 0
    members = json.loads((small / "workspace" / "sum" / "sum").read_text())["inputs"]["one"]
    assert [it["sample"]["x"] for it in members] == [1, 2, 3, 4]
    assert set(ran(small).values()) == {1}
    assert "5 samples would run again: one 4, sum 1." in here("network", "redo", "one").out


def test_a_job_that_is_given_up_takes_with_it_what_needs_it(here: OnClusters, small: Path) -> None:
    assert here("network", "run", "--yes", "--max-cpu-hours", "0").code == 1
    done = here("network", "cancel", "one", "s,x=2")
    assert done.code == 1
    assert "--yes" in done.err
    done = here("network", "cancel", "one", "s,x=2", "--yes")
    assert done.code == 0, done.err
    assert "1 sample cannot run without: sum 1." in done.out
    assert here("network", "run", "--yes", "--max-cpu-hours", "1").code == 1
    assert ran(small) == {"s,x=1": 1, "s,x=3": 1}
    done = here("network", "cancel", "one", "s,x=1", "--yes")
    assert "is completed already" in done.err
    assert "no sample in directory 'nowhere'" in here("network", "cancel", "one", "nowhere").err


def test_without_anybody_to_ask_nothing_begins(here: OnClusters, small: Path) -> None:
    done = here("network", "run")
    assert done.code == 1
    assert "--yes" in done.err
    assert here("network", "run", "--step").code == 1
    assert not (small / "ran").exists()
    assert RunStore(small).ids() == []


def test_the_list_of_runs_has_the_numbers_of_the_run(here: OnClusters, small: Path) -> None:
    # Given a run that paused at a limit, with jobs in the queue,
    (small / "wait").touch()
    assert here("network", "run", "--yes", "--max-cpu-hours", "0.034").code == 1
    # then the list and the view of the run state the same charges and numbers of jobs.
    run = run_json(here)
    [listed] = json.loads(here("network", "runs", "--json").out)["runs"]
    (small / "wait").unlink()
    assert listed["jobs_in_queue"] == 2
    assert {name: listed[name] for name in CHARGES} == {name: run[name] for name in CHARGES}


def test_beyond_its_limits_it_pauses_and_says_how_to_go_on(here: OnClusters, small: Path) -> None:
    # two of the three jobs of a core-minute each fit
    done = here("network", "run", "--yes", "--max-cpu-hours", "0.034")
    assert done.code == 1
    assert "Paused: 1 more job would bring it to 0.05 CPU-hours, of 0.03 confirmed" in done.err
    run = run_json(here)
    runs = json.loads(here("network", "runs", "--json").out)["runs"]
    assert [(it["status"], it["submitted"]) for it in runs] == [("paused", 2)]
    assert f"rowtui network run --run {run['id']}" in done.err
    # the same limits again: the same answer
    assert here("network", "run", "--yes").code == 1
    done = here("network", "run", "--yes", "--run", run["id"], "--max-cpu-hours", "1")
    assert done.code == 0, done.err
    assert run_json(here)["id"] == run["id"]
    assert set(ran(small).values()) == {1}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--to", "local/elsewhere"), "local, which was not confirmed"),
        (("--max-cost", "20EUR"), "have no price"),
    ],
    ids=["destination", "money"],
)
def test_what_was_not_allowed_is_not_sent(
    here: OnClusters, small: Path, words: tuple[str, ...], why: str
) -> None:
    done = here("network", "run", "--yes", *words)
    assert done.code == 1
    assert why in done.err
    assert not (small / "ran").exists()


def test_limits_that_make_no_sense_are_refused(here: OnClusters, small: Path) -> None:
    assert "the currency of cluster" in here("network", "run", "--yes", "--max-cost", "20").err
    assert "is not a time" in here("network", "run", "--yes", "--until", "soon").err
    assert "no scheduling plug-in" in here("network", "run", "--yes", "--priority", "odd").err
    assert "no execution plug-in 'odd'" in here("network", "run", "--yes", "--execution", "odd").err
    assert 'no run "x"' in here("network", "run", "--yes", "--run", "x").err
    unknown = here("network", "run", "--yes", "--to", "local,anvl/cpu").err
    assert "there is no cluster 'anvl'; choose from " in unknown
    assert RunStore(small).ids() == []


def test_one_at_a_time_drives_a_run_and_the_other_says_who(here: OnClusters, small: Path) -> None:
    here("network", "run", "--yes", "--max-cpu-hours", "0")
    run = RunStore(small).latest()
    assert run is not None
    with run.hold():
        done = here("network", "run", "--yes", "--max-cpu-hours", "1")
        assert done.code == 1
        assert f"is driven by process {os.getpid()}" in done.err
        assert f"process {os.getpid()}" in here("network").out
        # another run may go on at the same time
        assert here("network", "run", "--yes", "--new").code == 0
    assert run.limits.cpu_hours == 0


def test_each_event_is_an_object_on_a_line_for_programs(here: OnClusters, small: Path) -> None:
    (small / "broken").touch()
    done = here("network", "run", "--yes", "--json")
    assert done.code == 1
    events = [json.loads(line) for line in done.out.splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds[:2] == ["run", "begun"]
    assert kinds[-1] == "over"
    assert not events[-1]["success"]
    assert events[-1]["states"] == dict.fromkeys(
        ("waiting", "eligible", "submitted", "cancelled", "skipped"), 0
    ) | {
        "completed": 2,
        "failed": 1,
        "blocked": 1,
    }
    sent = [job["directories"] for it in events for job in it.get("jobs", ())]
    assert sorted(sent) == [["s,x=1"], ["s,x=2"], ["s,x=3"]]
    failed = [it["directory"] for event in events for it in event.get("failed", ())]
    assert failed == ["s,x=2"]


# -- a person --------------------------------------------------------------------------------------


def test_step_by_step_every_plan_is_shown_and_asked_for(shell: Shell) -> None:
    code, seen = on_a_terminal(shell, "network", "run", "--step", typed=b"y\ny\n\n")
    text = seen.decode()
    assert code == 0, text
    assert "Submitting 3 jobs (one 3) to local" in text
    assert "Submitting 1 job (sum 1) to local" in text
    assert text.count("Proceed?") == 2


def test_a_plan_that_is_not_confirmed_pauses_the_run(shell: Shell) -> None:
    code, seen = on_a_terminal(shell, "network", "run", "--step", typed=b"y\nn\n")
    assert code == 1
    assert b"the plan was not confirmed" in seen
    assert not (shell.folder / "ran").exists()


def test_step_by_step_makes_no_directories_before_a_person_said_yes(shell: Shell) -> None:
    code, seen = on_a_terminal(shell, "network", "run", "--step", typed=b"n\n")
    assert code == 1
    assert b"Make 3 directories now" in seen
    assert not list((shell.folder / "workspace").glob("*"))
    assert not list((shell.folder / ".row/rowtui/network").glob("2*"))


def test_it_asks_once_and_then_runs(shell: Shell) -> None:
    code, seen = on_a_terminal(shell, "network", "run", typed=b"\n")
    text = seen.decode()
    assert code == 0, text
    assert "4 samples to send, which may cost up to " in text
    assert "at most 0.13 CPU-hours" in text
    assert "stops at 3 failed jobs in a row" in text
    assert text.count("Proceed?") == 1
    code, seen = on_a_terminal(shell, "network", "run", "--new", typed=b"n\n")
    assert code == 1
    assert b"Nothing was begun." in seen


def test_beyond_limits_a_person_may_allow_more(shell: Shell) -> None:
    words = ("network", "run", "--yes", "--max-cpu-hours", "0")
    code, seen = on_a_terminal(shell, *words, typed=b"what\na\n")
    text = seen.decode()
    assert code == 0, text
    assert "a  allow it from now on: at most 0.07 CPU-hours" in text
    # what is known to come was in it: nothing had to be asked again
    assert text.count("Beyond the limits") == 1


def test_beyond_limits_a_person_may_send_once_or_pause(shell: Shell) -> None:
    words = ("network", "run", "--yes", "--max-cpu-hours", "0")
    code, seen = on_a_terminal(shell, *words, typed=b"o\np\n")
    text = seen.decode()
    assert code == 1, text
    assert text.count("Which? [a/o/P]") == 2
    assert set(ran(shell.folder).values()) == {1}
    assert (shell.folder / "workspace" / "s,x=3" / "one").exists()


def test_deleting_wants_the_number_of_directories(shell: Shell) -> None:
    shell.succeed("network", "make", cluster="local")
    network = shell.folder / "network.toml"
    network.write_text(network.read_text().replace("[1, 2, 3]", "[1]"))
    words = ("network", "retire", "--delete")
    code, seen = on_a_terminal(shell, *words, typed=b"y\n")
    assert (code, b"Nothing was moved." in seen) == (1, True)
    code, seen = on_a_terminal(shell, *words, typed=b"2\n")
    assert (code, b"Moved 2 directories to the trash." in seen) == (0, True)


def test_an_interrupted_run_lets_go_of_its_jobs_and_is_taken_up_again(shell: Shell) -> None:
    (shell.folder / "wait").touch()
    child = subprocess.Popen(
        [sys.executable, "-m", "rowtui.cli.main", "network", "run", "--yes", "--json"],
        cwd=shell.folder,
        env=shell.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    for line in child.stdout:
        if json.loads(line)["event"] == "sent":
            break
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "continues the run" in err
    assert "Traceback" not in err
    (shell.folder / "wait").unlink()
    out = shell.succeed("network", "run", "--yes", cluster="local")
    assert "Done: all jobs of the network are completed." in out
    assert ran(shell.folder) == {"s,x=1": 1, "s,x=2": 1, "s,x=3": 1}


# Fails on 2 with exit code 75 until it has twice the time.
SLOW = """\
echo "$1" >> ran
test "$2" = 2 && test "$ACTION_WALLTIME_IN_MINUTES" -lt 4 && exit 75
touch "workspace/$1/one"
"""
RULE = '[[retry]]\naction = "one"\non = "exit 75"\nattempts = 3\nwalltime = "2x"\n'


def test_a_failure_that_a_rule_covers_is_retried_within_the_run(
    here: OnClusters, small: Path
) -> None:
    (small / "step.sh").write_text(SLOW)
    (small / "rowtui.toml").write_text(RULE)
    done = here("network", "run", "--yes", "--max-failures-in-a-row", "1", "--max-cpu-hours", "1")
    assert done.code == 0, done.err
    assert "  one: exit 75: time 2x, at most 3 attempts\n" in done.out
    assert "retry: one on 1 directory: exit code 75; attempt 2 of 3, time 2x" in done.out
    assert "attempt 3 of 3" in done.out
    assert ran(small) == {"s,x=1": 1, "s,x=2": 3, "s,x=3": 1}
    assert (small / "workspace" / "sum" / "sum").exists()
    run = RunStore(small).latest()
    assert run is not None
    retried = [it.why for it in run.events() if isinstance(it, Retried)]
    assert [why.split("; ")[1] for why in retried] == [
        "attempt 2 of 3, time 2x",
        "attempt 3 of 3, time 2x",
    ]


def test_a_job_that_continues_is_no_failure_of_the_run(here: OnClusters, small: Path) -> None:
    (small / "step.sh").write_text(
        'echo "$1" >> ran; test "$2" = 2 && test $(grep -c "$1" ran) -lt 3 && exit 75\n'
        'touch "workspace/$1/one"\n'
    )
    (small / "rowtui.toml").write_text('[[retry]]\non = "exit 75"\ncontinue = true\n')
    limits = ("--max-failures", "1", "--max-failures-in-a-row", "1", "--max-retries", "1")
    done = here("network", "run", "--yes", "--max-cpu-hours", "1", *limits)
    assert done.code == 0, done.err
    assert "1 sample continues" in done.out
    assert "continues: one on 1 directory: exit code 75; continuation 2 of 100" in done.out
    assert "failed" not in done.out.partition("Run ")[2]
    assert ran(small) == {"s,x=1": 1, "s,x=2": 3, "s,x=3": 1}
    run = RunStore(small).latest()
    assert run is not None
    assert (run.standing.failed, run.standing.retries) == (0, 0)
    retried = [it for it in run.events() if isinstance(it, Retried)]
    assert [(it.samples, it.continues) for it in retried] == [(("s,x=2",), True)] * 2


def test_a_failure_beyond_the_attempts_of_its_rule_ends_the_run(
    here: OnClusters, small: Path
) -> None:
    (small / "step.sh").write_text(SLOW)
    (small / "rowtui.toml").write_text(RULE.replace("3", "2"))
    done = here("network", "run", "--yes")
    assert done.code == 1
    assert ran(small)["s,x=2"] == 2
    assert "1 sample failed" in done.err


def test_a_run_goes_on_with_the_rules_after_a_pause(here: OnClusters, small: Path) -> None:
    (small / "step.sh").write_text(SLOW)
    assert here("network", "run", "--yes", "--no-retry").code == 1
    (small / "rowtui.toml").write_text(RULE.replace("3", "5"))
    assert here("network", "retry", "--all").code == 0
    done = here("network", "run", "--yes", "--max-cpu-hours", "0.09")  # 4 minutes more: too much
    assert done.code == 1
    assert "Paused:" in done.err
    assert ran(small)["s,x=2"] == 2
    done = here("network", "run", "--yes", "--max-cpu-hours", "1")
    assert done.code == 0, done.err
    assert ran(small) == {"s,x=1": 1, "s,x=2": 4, "s,x=3": 1}
