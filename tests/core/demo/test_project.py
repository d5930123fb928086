"""The clusters of the large demo, as its configuration describes them, and its past."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.config.node_types import node_types_for
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.demo.engine import DemoEngine, made_demo
from rowtui.core.demo.study import PLACES, environment, write_files
from rowtui.core.submission.plan.model import JobStep
from rowtui.core.usage.past import PastRequest


def test_every_place_of_the_demo_has_nodes_that_jobs_can_be_packed_on(tmp_path: Path) -> None:
    root = tmp_path / "demo"
    write_files(root)

    found = load_clusters(environment(root))

    assert found.problems == ()
    for name, partition, *_ in PLACES:
        cluster = next(cluster for cluster in found.clusters if cluster.name == name)
        (kind,) = node_types_for(cluster, partition)
        assert kind.price_per_hour is not None


async def test_the_records_of_the_past_agree_with_the_journal_and_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    project = await asyncio.to_thread(made_demo, tmp_path / "demo", 2_000, 1, 8)
    ended = {it.token: it for it in project.jobs.records() if it.step is JobStep.ENDED}
    engine = DemoEngine(project, moving=False)
    past = await engine.past.view(PastRequest())
    assert past.all_jobs == past.job_count == len(ended) > 10
    assert sum(one.jobs for one in past.intervals) == len(ended)
    assert all(row.median_seconds >= 45 for row in past.waits)
    assert past.last - past.first > 5 * 86_400
    await engine.refresh()
    counted = (await engine.jobs.view(now=True)).states
    assert counted[JobState.FAILED] == past.failed
    assert counted[JobState.COMPLETED] == sum(one.ended_well for one in past.intervals)
    now = await engine.past.view(PastRequest())
    assert len(now.running) == counted[JobState.RUNNING]
    assert 0 < now.budgets[0].left[-1] < now.budgets[0].left[0] < now.budgets[0].cpu_hours
    for job in project.usage.store.columns().jobs():
        record = ended[job.token]
        assert record.end is not None
        assert abs(job.ended_at - record.end.ended_at) < 5
        assert abs(job.submitted_at - record.submitted_at) < 5
    await engine.close()
