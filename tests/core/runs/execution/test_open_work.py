"""How often work is submitted before a run gives it up."""

from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.retry_policy import NO_RETRIES
from rowtui.core.runs.execution.open_work import MOST_SENDS, open_work
from rowtui.core.submission.plan.outcome import JobOutcome, ended_by

from tests.job_records import a_record

WORKFLOW = """\
[[action]]
name = "one"
command = "true"
products = ["one"]
"""


@pytest.mark.parametrize("outcome", [JobOutcome.CANCELLED, JobOutcome.COMPLETED])
def test_requests_that_a_lost_allocation_did_not_begin_are_not_counted(
    tmp_path: Path, outcome: JobOutcome
) -> None:
    (tmp_path / "workflow.toml").write_text(WORKFLOW)
    (tmp_path / "workspace/d").mkdir(parents=True)
    records = []
    for number in range(MOST_SENDS):
        pilot = f"{number}-pilot"
        end = ended_by(JobOutcome.NOT_REACHED, "not begun")
        records.append(a_record(f"{pilot}~1", directories=("d",))._replace(end=end))
        records.append(
            a_record(pilot, action="", directories=())._replace(end=ended_by(outcome, ""))
        )
    project = OpenProject.open(tmp_path)
    try:
        found = open_work(project, project.workflow.actions, records, NO_RETRIES, due={})
    finally:
        project.close()
    again = outcome is JobOutcome.CANCELLED
    assert found.fresh == ({0: [0]} if again else {})
    assert bool(found.left) is not again
