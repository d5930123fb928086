"""What `--json` prints of jobs that ended in different ways: one object for each thing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.in_process import Here, prepared
from tests.schemas import fits

WORKFLOW = """\
[[action]]
name = "one"
command = "case {directory} in b) exit 3;; c) sh -c 'kill -9 $$';; *) touch workspace/a/one;; esac"
products = ["one"]
[action.group]
maximum_size = 1
[action.resources]
threads_per_process = 2
memory_per_cpu_mb = 1024
walltime.per_submission = "00:30:00"

[[action]]
name = "two"
command = "touch workspace/{directory}/two"
products = ["two"]
previous_actions = ["one"]
"""


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    here = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    here.cluster = "local"
    monkeypatch.setenv("ROWTUI_LOCAL_CORES", "4")
    monkeypatch.setenv("ROWTUI_LOCAL_MEMORY_MB", "8192")
    return here


@pytest.fixture
def ended(here: Here) -> Here:
    """Jobs of all three directories have ended: well, with exit code 3, and by a signal."""
    assert here("submit", "-a", "one", "--yes").code == 1
    return here


def shared(document: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: document[name] for name in names}


AMOUNTS = ("processes", "cpus", "memory_mb", "gpus", "walltime_seconds", "cost")


def test_a_job_asks_for_the_same_in_every_command(here: Here) -> None:
    planned = here.json("plan", "-a", "one")["jobs"][0]
    (first, *_) = here.json("show", "directories", "-a", "one")["groups"]
    assert shared(planned, *AMOUNTS) == shared(first, *AMOUNTS)
    assert shared(planned, *AMOUNTS) == {
        "processes": 1,
        "cpus": 2,
        "memory_mb": 2048,
        "gpus": 0,
        "walltime_seconds": 1800,
        "cost": {"cpu_hours": 1.0, "gpu_hours": 0.0, "price": None, "currency": None},
    }
    assert shared(here.json("submit", "-a", "one", "--dry-run")["jobs"][0], *AMOUNTS) == shared(
        planned, *AMOUNTS
    )
    (decision,) = here.json("explain", "one")["decisions"]
    assert decision["destination"] == {"cluster": "local", "partition": None}
    assert (decision["state"], decision["job"]["cpus"]) == ("placed", 2)
    sent = here.json("submit", "-a", "one", "--yes", "--detach", "a")["jobs"]
    assert [(job["directories"], job["id"]) for job in sent] == [(["a"], "1")]
    assert shared(sent[0], *AMOUNTS) == shared(planned, *AMOUNTS)


def test_the_end_of_a_job_is_the_same_in_every_command(ended: Here) -> None:
    jobs = {job["directories"][0]: job for job in ended.json("show", "jobs", "--long")["jobs"]}
    facts = ("state", "exit_code", "signal", "reason")
    assert {name: tuple(shared(job, *facts).values()) for name, job in jobs.items()} == {
        "a": ("completed", 0, None, None),
        "b": ("failed", 3, None, "exit code 3 in directory b"),
        "c": ("failed", None, "KILL", "killed (signal KILL) in directory c"),
    }
    assert all(job["elapsed_seconds"] is not None for job in jobs.values())
    assert all(job["started_at"] <= job["ended_at"] for job in jobs.values())
    (cluster,) = ended.json("queue", "--ended", "--cluster", "local")["clusters"]
    for row in cluster["jobs"]:
        job = jobs[row["directories"][0]]
        names = (*facts, *AMOUNTS, "id", "elapsed_seconds", "walltime_seconds")
        assert shared(row, *names) == shared(job, *names)
    groups = ended.json("show", "directories", "-a", "one")["groups"]
    found = {group["directories"][0]["name"]: group["directories"][0] for group in groups}
    assert found["a"]["failed"] is None
    for name, code, signal in (("b", 3, None), ("c", None, "KILL")):
        failed = found[name]["failed"]
        assert (failed["exit_code"], failed["signal"]) == (code, signal)
        assert (failed["job"], failed["cluster"]) == (jobs[name]["id"], "local")


def test_the_elapsed_time_of_jobs_that_ended_is_in_both_tables(ended: Here) -> None:
    for words in (("show", "jobs", "--long"), ("queue", "--ended", "--cluster", "local")):
        times = re.findall(r" (\d\d:\d\d:\d\d) (00:30:00) ", ended(*words).out)
        assert [limit for _, limit in times] == ["00:30:00"] * 3, ended(*words).out
        assert all(elapsed < "00:01:00" for elapsed, _ in times)


def test_every_command_prints_what_its_schema_describes(ended: Here) -> None:
    # `Here` checks each document against its schema
    for words in (
        "show status", "show directories", "show directories -a two", "show jobs", "show cluster",
        "show cluster --all", "show launchers", "plan", "plan --pack", "plan --scripts",
        "submit --dry-run", "resubmit --dry-run", "explain two", "explain one --all", "queue",
        "queue --ended", "pack", "pack --compare", "scan", "logs 2",
    ):  # fmt: skip
        ended.json(*words.split())
    ended.json("resubmit", "--yes", "--detach")
    cancelled = ended("cancel", "--all", "--yes", "--json")
    assert cancelled.code in (0, 1), cancelled.err  # 1: a job has ended meanwhile
    doctor = ended("doctor", "--json")
    fits("findings", json.loads(doctor.out))


def test_a_directory_that_is_set_aside_is_in_the_status(here: Here) -> None:
    workflow = here.folder / "workflow.toml"
    workflow.write_text('[workspace]\nvalue_file = "v.json"\n' + workflow.read_text())
    for name in "abc":
        (here.folder / "workspace" / name / "v.json").write_text("{}")
    (here.folder / "workspace" / "b" / "v.json").write_text("nonsense")
    for words in (("show", "status"), ("show", "directories")):
        assert [*here.json(*words)["bad"]] == ["b"]
    findings = {it["topic"]: it for it in json.loads(here("doctor", "--json").out)["findings"]}
    assert findings["directories"]["verdict"] == "warning"
    assert findings["directories"]["text"].startswith("1 directory is not counted: b: ")


def test_an_error_is_an_object_where_a_result_would_be(here: Here) -> None:
    done = here("explain", "nothere", "--json")
    assert done.code == 1
    assert json.loads(done.out)["error"]["message"].startswith("Action 'nothere' not found")

    (here.folder / "workflow.toml").write_text("[[action]]\nnam = 1\n")
    error = json.loads(here("plan", "--json").out)["error"]
    found = {(it["line"], it["severity"]) for it in error["problems"]}
    assert found == {(1, "error"), (2, "error")}


def test_every_document_is_an_object_with_its_version(here: Here, tmp_path: Path) -> None:
    for words in (
        "show cluster", "show cluster --all", "show launchers", "doctor", "mirror", "connect",
        "disconnect --all", "cancel --all --yes", "hold --all", "release --all",
        f"init {tmp_path / 'new'}", "report", "report --trace t.csv", "clean --directory",
        "mapping show", "mapping lint", "mapping lint --codes", "mapping trust --list",
        "secrets list",
    ):  # fmt: skip
        done = here(*words.split(), "--json")
        assert json.loads(done.out)["version"] == 1, words
    assert (tmp_path / "new" / "workflow.toml").exists()
    assert here.json("clean")["removed"] == ["directory", "submitted", "completed"]
    written = here.json("report", "--trace", "t.csv", "r.html")
    assert written == {"version": 1, "file": "r.html", "trace": "t.csv"}
    assert here("report", "--json", "--markdown").code == 2
