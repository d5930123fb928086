"""Which jobs `cancel`, `hold`, `release` and `logs` take for what was typed."""

from __future__ import annotations

import argparse
from typing import Any

import pytest
from rowtui.cli.jobs.choice import CANCEL, HOLD, RELEASE, Verb, choose_jobs
from rowtui.cli.jobs.job_text import JobName, read_job_name
from rowtui.cli.output.output import Output
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.submission.plan.record import JobRecord

from tests.job_records import a_record


def job(
    number: int,
    state: JobState,
    *,
    task: int | None = None,
    action: str = "sample",
    cluster: str = "alpha",
    directories: tuple[str, ...] = ("a",),
) -> JobRecord:
    return a_record(
        f"{cluster}-{number}.{task}",
        cluster=cluster,
        partition="cpu",
        action=action,
        directories=directories,
        job_id=number,
        task=task,
        state=state,
    )


JOBS = [
    job(1, JobState.RUNNING),
    job(2, JobState.PENDING, task=0),
    job(2, JobState.PENDING, task=1),
    job(2, JobState.HELD, task=10),
    job(3, JobState.HELD, action="scan"),
    job(4, JobState.COMPLETED),
    job(5, JobState.UNKNOWN),
    job(6, JobState.PENDING, cluster="beta", action="scan"),
    job(1, JobState.RUNNING, cluster="local"),
    job(0, JobState.PENDING),
    job(7, JobState.COMPLETED, cluster="gamma", directories=("one", "two")),
    job(8, JobState.PENDING, cluster="gamma", directories=("two", "three")),
]


def chosen(verb: Verb, *jobs: str, **options: Any) -> list[str]:
    given = {"jobs": list(jobs), "action": None, "all": False, **options}
    found = choose_jobs(argparse.Namespace(**given), JOBS, verb, Output())
    return [f"{it.cluster}/{it.key}" for it in found]


def test_ids_name_jobs_tasks_and_whole_arrays() -> None:
    assert chosen(CANCEL, "2_1", "3") == ["alpha/2_1", "alpha/3"]
    assert chosen(CANCEL, "2") == ["alpha/2_0", "alpha/2_1", "alpha/2_10"]
    assert chosen(CANCEL, "2_1", "2", "2_1") == ["alpha/2_1", "alpha/2_0", "alpha/2_10"]
    assert chosen(HOLD, "6") == ["beta/6"]


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("12", JobName(12)),
        ("12_3", JobName(12, 3)),
        ("012_03", JobName(12, 3)),
        ("12.3", JobName(12, None, 3)),
        *(
            (text, None)
            for text in ("", "12_", "_3", "12_3_4", "12.", "1.2.3", "-1", "٣", "1\n", "9" * 19)
        ),
    ],
)
def test_only_numbers_are_ids(typed: str, name: JobName | None) -> None:
    assert read_job_name(typed) == name


def test_actions_and_all_take_the_states_that_a_verb_is_for() -> None:
    assert chosen(CANCEL, all=True, clusters=["alpha"]) == [
        "alpha/1", "alpha/2_0", "alpha/2_1", "alpha/2_10", "alpha/3", "alpha/5",
    ]  # fmt: skip
    assert chosen(HOLD, all=True) == ["alpha/2_0", "alpha/2_1", "beta/6", "gamma/8"]
    assert chosen(RELEASE, all=True) == ["alpha/2_10", "alpha/3"]
    assert chosen(HOLD, action="sc*") == ["beta/6"]
    assert chosen(HOLD, "2_10", action="scan") == ["beta/6", "alpha/2_10"]


def test_a_directory_names_its_active_jobs() -> None:
    assert chosen(CANCEL, "two") == chosen(HOLD, "three/") == ["gamma/8"]
    assert chosen(CANCEL, "one") == []


def test_what_an_id_is_not_good_for_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert chosen(HOLD, "1", "4", "9", "x\x1b", clusters=["alpha"]) == []
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "[WARN  rowtui] Job 1 is running: there is nothing to hold.",
        "[WARN  rowtui] '4' is no active job of this project.",
        "[WARN  rowtui] '9' is no active job of this project.",
        r"[WARN  rowtui] 'x\x1b' is no active job of this project.",
    ]


def test_an_id_that_two_clusters_gave_wants_a_cluster() -> None:
    with pytest.raises(RowtuiError, match="a job 1 on alpha and local") as raised:
        chosen(CANCEL, "1")
    assert "--cluster" in raised.value.hint
    assert chosen(CANCEL, "1", clusters=["local"]) == ["local/1"]
    assert chosen(CANCEL, "1", clusters=["local", "beta"]) == ["local/1"]
