"""The tables of `usage`: which jobs they are of, what they show, and in which form."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.measured import MeasuredBy, Used
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.store import UsageStore

from tests.cli.in_process import Here, prepared

WORKFLOW = """\
[[action]]
name = "one"
command = "touch workspace/{directory}/x; [ {directory} != b ]"
products = ["y"]
group.maximum_size = 1
"""


@pytest.fixture
def here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    return prepared(tmp_path, monkeypatch, capsys, WORKFLOW)


def job(number: int, *, gpus: int = 0, gpu: float | None = None) -> JobUsage:
    by = MeasuredBy.SCRIPT
    used = Used(100.0, 90.0, 2048, gpu, None, "n1", by, by, by, by)
    kind = UsageKind("one", "gamma", "", "me", 1, 1, gpus, 1000, 60)
    end = read_old_end(0, "", 1.7e9 + number)
    return JobUsage(f"abc-{number}", kind, number, 1, end, 1.6e9, used, True)


def test_a_directory_names_its_jobs(here: Here) -> None:
    assert here("submit", "--yes").code == 1  # no job makes its product
    assert here("submit", "--yes", "b").code == 1

    for name, jobs in (("a", 1), ("b/", 2)):
        assert here("usage", name).out.count("  one on 1 directory, none") == jobs
        assert len(here.json("usage", name)["jobs"]) == jobs
    assert here.json("usage", "a", "b")["total"]["jobs"] == 3
    done = here("usage", "nowhere")
    assert done.code == 1
    assert "no job ran on a directory with this name" in done.err


def test_the_use_of_gpus_has_columns_where_it_was_measured(here: Here) -> None:
    here.cluster = ""
    store = UsageStore(here.folder)
    store.append([job(1), job(2, gpus=2)])
    assert "GPU" not in here("usage").out
    store.append([job(3, gpus=2, gpu=50.0)])

    lines = [line.split() for line in here("usage").out.splitlines()]
    assert lines[0][4:7] == ["Used", "GPU-hours", "GPU"]
    assert lines[1][4:7] == ["90%", "0.11", "25%"]
    [row] = here.json("usage")["groups"]
    assert row["gpu_share"] == 0.25
    assert row["charged_gpu_hours"] == pytest.approx(2 * row["measured_gpu_hours"])
    assert "| GPU |" in here("report", "--markdown").out


def test_csv_has_a_row_for_each_job_and_no_groups(here: Here) -> None:
    here.cluster = ""
    UsageStore(here.folder).append([job(at) for at in range(5)])

    assert len(here("usage", "--csv").out.splitlines()) == 6
    done = here("usage", "--csv", "--by", "reason")
    assert (done.code, done.out) == (1, "")
    assert "leave --by out" in done.err


def test_names_are_exact_in_json_and_visible_in_csv_which_may_go_to_a_terminal(here: Here) -> None:
    here.cluster = ""
    name = "fit\x1b[31m"
    found = job(1)
    UsageStore(here.folder).append([found._replace(kind=found.kind._replace(action=name))])

    assert [group["name"] for group in here.json("usage")["groups"]] == [name]
    out = here("usage", "--csv").out
    assert "fit" in out
    assert "\x1b" not in out


def test_the_last_line_of_a_marker_may_come_after_the_end_of_a_request_was_seen(
    here: Here,
) -> None:
    here.cluster = "local"
    seen = job(1)._replace(token="abc-0~1", complete=False)
    UsageStore(here.folder).append([seen._replace(kind=seen.kind._replace(cluster="local"))])
    marker = here.folder / ".row/rowtui/ended/abc-0~1"
    marker.parent.mkdir(parents=True)
    used = "used began=1.0 ended=101.0 user=1m30.0s system=0m0.0s sampled=2048"
    marker.write_text(f"0\nexit\nlocal:1\n1700000001\n0\n\n{used}\nchildren=9000\n")

    [found] = here.json("usage", "1.1")["jobs"]
    assert (found["memory_kib"], found["cpu_seconds"], found["node"]) == (9000, 90.0, "n1")


@pytest.mark.parametrize("command", ["usage", "history"])
def test_csv_and_json_together_are_a_usage_error(here: Here, command: str) -> None:
    done = here(command, "--csv", "--json")
    assert done.code == 2
    assert "cannot be used with" in done.err


@pytest.mark.parametrize("command", ["usage", "history", "report"])
def test_a_cluster_that_does_not_exist_is_an_error_and_one_of_old_jobs_is_not(
    here: Here, command: str
) -> None:
    UsageStore(here.folder).append([job(1)])
    here.cluster = "xyz"
    done = here(command)
    assert done.code == 1
    assert "cluster 'xyz' not found" in done.err
    assert "'gamma'" in done.err
    here.cluster = "gamma"
    assert here(command).code == 0
