"""`--watch`: everything once, then a line for each change, for those who listen."""

from __future__ import annotations

import re
import signal
import subprocess
import sys

from rowtui.cli.output.watch import changes, reported_jobs, reported_queue

from tests.cli.conftest import Shell


def test_each_change_is_one_line_with_the_time_the_thing_and_what_it_was() -> None:
    job = {"id": "12_3", "action": "sample", "state": "pending", "reason": "Priority"}
    before = reported_jobs(
        {"error": "", "jobs": [job, {**job, "id": "13_3", "action": "a\x1b[31m"}]}
    )
    running = {**job, "state": "running", "reason": ""}
    after = reported_jobs({"error": "no answer", "jobs": [running, {**job, "id": "14_3"}]})
    assert list(changes(None, before, "12:00:00")) == []
    assert list(changes(before, before, "12:00:00")) == []
    assert list(changes(before, after, "12:00:05")) == [
        "12:00:05 scheduler: error no answer (was none)",
        "12:00:05 job 12_3 (sample): state running (was pending), reason none (was Priority)",
        "12:00:05 job 14_3 (sample): new: state pending, reason Priority",
        r"12:00:05 job 13_3 (a\x1b[31m): gone",
    ]


def test_a_cluster_that_falls_silent_is_told_of() -> None:
    delta = {"name": "delta", "error": "", "login": "", "jobs": []}
    silent = {**delta, "error": "no route to host"}
    before, after = (reported_queue({"clusters": [one]}) for one in (delta, silent))
    assert list(changes(before, after, "9")) == ["9 delta: error no route to host (was none)"]


def test_a_status_is_told_once_and_then_what_changes(rowtui: Shell) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "rowtui.cli.main", "show", "status", "--watch", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=rowtui.folder,
        env=rowtui.environment,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        shown = [process.stdout.readline()]
        while "two" not in shown[-1]:
            shown.append(process.stdout.readline())
        workflow = rowtui.folder / "workflow.toml"
        good = workflow.read_text()
        new = rowtui.folder / "made"
        new.mkdir()
        (new / "v.json").write_text('{"v": 10, "v2": 5}')
        new.rename(rowtui.folder / "workspace" / "dir10")
        told = [process.stdout.readline() for _ in range(3)]
        workflow.write_text("nonsense")
        broken = process.stdout.readline()
        workflow.write_text(good)
        again = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    assert shown[0].split()[:2] == ["Action", "Completed"]
    assert re.match(r"\d\d:\d\d:\d\d workspace: directories 11 \(was 10\)", told[0])
    assert "one: eligible 11 (was 10)" in told[1]
    assert " error: " in broken
    assert "workflow.toml" in broken
    assert "readable again" in again
    assert rest.strip() == ""
    assert process.returncode == 130
