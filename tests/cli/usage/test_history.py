"""What ran when, as text, JSON and CSV: the same jobs in every form."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.measured import Used
from rowtui.core.submission.plan.outcome import read_old_end
from rowtui.core.usage.model import JobUsage, UsageKind
from rowtui.core.usage.store import UsageStore

from tests.cli.conftest import Shell

WORKFLOW = '[[action]]\nname = "simulate"\ncommand = "touch workspace/{directory}/out"\n'
KIND = UsageKind("simulate", "alpha", "cpu", "jane", 1, 4, 0, 2048, 3600)
MIDNIGHT = 1_795_305_600  # 2026-11-22, UTC


def record(root: Path) -> None:
    """400 jobs of two days on ten nodes; on one of them every third fails."""
    luck = random.Random(5)
    jobs = []
    for number in range(400):
        node = f"n{number % 10}"
        fails = luck.random() < (0.4 if node == "n3" else 0.04)
        ended = MIDNIGHT + 1000 + number * 425
        jobs.append(
            JobUsage(
                f"abc-{number}", KIND._replace(action="fit" if number % 4 == 0 else "simulate"),
                number + 1, 1, read_old_end(int(fails), "exit code 1" if fails else "", ended),
                ended - 900,
                Used(wall=600.0, cpu=500.0, node=node), True,
            )
        )  # fmt: skip
    UsageStore(root).append(jobs)


@pytest.fixture
def past(empty_folder: Shell) -> Shell:
    (empty_folder.folder / "workspace").mkdir()
    (empty_folder.folder / "workflow.toml").write_text(WORKFLOW)
    record(empty_folder.folder)
    return empty_folder


def test_a_row_for_each_day_has_a_bar_and_a_bad_node_has_a_sentence(past: Shell) -> None:
    text = past.succeed("history", "--by", "day", cluster=None)
    rows = [row for row in text.splitlines() if "2026-11-2" in row]
    assert sum(int(row.split()[2]) for row in rows) == 400
    assert all("##" in row for row in rows)
    assert "400 jobs ended." in text
    assert "alpha/cpu  400    00:05:00" in text
    assert "n3 stands out: " in text


def test_json_and_csv_have_the_same_jobs(past: Shell) -> None:
    found = json.loads(past.succeed("history", "--by", "hour", "--json", cluster=None))
    assert found["job_count"] == sum(each["jobs"] for each in found["intervals"]) == 400
    assert found["seconds_each"] == 3600
    assert [row["node"] for row in found["nodes"] if row["stands_out"]] == ["n3"]
    assert sum(each["cpu_hours"] for each in found["intervals"]) == pytest.approx(400 * 4 / 6)
    assert len(found["jobs"]) + found["jobs_left_out"] == 400
    rows = csv.DictReader(
        io.StringIO(past.succeed("history", "--by", "hour", "--csv", cluster=None))
    )
    assert [int(row["jobs"]) for row in rows] == [each["jobs"] for each in found["intervals"]]


def test_actions_times_and_clusters_choose_jobs(past: Shell) -> None:
    def jobs(*options: str) -> int:
        text = past.succeed("history", "--json", *options, cluster=None)
        count: int = json.loads(text)["job_count"]
        return count

    assert jobs("-a", "sim*") == 300
    assert jobs("--cluster", "alpha") == 400
    assert 0 < jobs("--since", "2026-11-23") < 400
    assert past.succeed("history", "-a", "none", cluster=None) == "No job matches.\n"


def test_a_project_without_ended_jobs_says_so(empty_folder: Shell) -> None:
    (empty_folder.folder / "workspace").mkdir()
    (empty_folder.folder / "workflow.toml").write_text(WORKFLOW)
    assert empty_folder.succeed("history") == "No job has ended yet.\n"
    assert empty_folder.succeed("history", "--csv").startswith("start")
