"""Schedulers are found by their entry points: rowtui's own, and those of other packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.config.load import ClusterFile, load_clusters
from rowtui.core.clusters.model import Cluster, Identify
from rowtui.core.clusters.schedulers.base import Accepted, JobKey, JobSpec
from rowtui.core.clusters.schedulers.kind import scheduler_names
from rowtui.core.project.context.connections import scheduler_of
from rowtui.core.submission.sending.fence import job_key_of

THEIRS = """\
from rowtui.core.clusters.schedulers.bash.scheduler import BashScheduler
from rowtui.core.clusters.schedulers.kind import SchedulerKind


class TheirScheduler(BashScheduler):
    kind = "theirs"


class Theirs(SchedulerKind):
    name = "theirs"
    runs_here = True

    def connect(self, cluster, transport, query_timeout):
        return TheirScheduler(cluster)


class Misnamed(Theirs):
    name = "slurm"


class Refusing(Theirs):
    name = "refusing"

    def connect(self, cluster, transport, query_timeout):
        raise ValueError("password=1234")


def fails():
    raise ValueError("password=1234")


def nothing():
    return 3
"""
POINTS = """\
[rowtui.schedulers]
theirs = their_scheduler:Theirs
misnamed = their_scheduler:Misnamed
fails = their_scheduler:fails
nothing = their_scheduler:nothing
refusing = their_scheduler:Refusing
gone = their_scheduler:Gone
slurm = their_scheduler:Misnamed
"""
OWN = """\
[[cluster]]
name = "t"
scheduler = "{scheduler}"
identify.always = true
partition = []
"""


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another package with schedulers is installed."""
    info = tmp_path / "site/their_scheduler-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: their-scheduler\nVersion: 1\n")
    (info / "entry_points.txt").write_text(POINTS)
    (tmp_path / "site/their_scheduler.py").write_text(THEIRS)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "their_scheduler", raising=False)


def cluster(scheduler: str) -> Cluster:
    return Cluster("t", Identify(always=True), scheduler, ())


def configured(home: Path, scheduler: str) -> ClusterFile:
    """The user's own clusters.toml with a cluster of this scheduler."""
    folder = home / ".config/rowtui"
    folder.mkdir(parents=True)
    (folder / "clusters.toml").write_text(OWN.format(scheduler=scheduler))
    return load_clusters({"HOME": str(home)})


def test_every_scheduler_of_ours_is_found_and_has_the_name_of_its_entry_point() -> None:
    assert {"bash", "grid_engine", "local", "slurm"} <= set(scheduler_names())
    for name in ("bash", "grid_engine", "local", "slurm"):
        assert scheduler_of(cluster(name)).kind == name


@pytest.mark.usefixtures("theirs")
async def test_a_scheduler_of_another_package_is_configured_and_runs_jobs(tmp_path: Path) -> None:
    found = configured(tmp_path, "theirs").clusters[0]
    made = tmp_path / "made"

    scheduler = scheduler_of(found)
    result = await scheduler.submit(
        JobSpec(
            token="x",
            name="x",
            script=f"#!/bin/bash\ntouch {made}\n",
            workdir=tmp_path,
            log_path="",
        )
    )

    assert scheduler.kind == "theirs"
    assert isinstance(result, Accepted)
    assert made.exists()


@pytest.mark.usefixtures("theirs")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("misnamed", "its plug-in calls itself 'slurm'"),
        ("fails", "its plug-in failed with ValueError"),
        ("gone", "its plug-in failed with AttributeError"),
        ("nothing", "its plug-in makes no scheduler"),
        ("refusing", "its plug-in failed with ValueError"),
    ],
)
def test_a_plug_in_that_is_of_no_use_is_named_without_its_own_words(
    name: str, message: str
) -> None:
    with pytest.raises(RowtuiError) as found:
        scheduler_of(cluster(name))

    assert found.value.message == f"scheduler '{name}': {message}"
    assert "their_scheduler" in found.value.hint


@pytest.mark.usefixtures("theirs")
def test_no_package_takes_the_place_of_a_scheduler_of_ours() -> None:
    assert type(scheduler_of(cluster("slurm"))).__module__.startswith("rowtui.")


def test_a_scheduler_that_is_not_installed_is_an_error_with_file_line_and_names(
    tmp_path: Path,
) -> None:
    (problem,) = configured(tmp_path, "htcondor").problems

    assert problem.file == str(tmp_path / ".config/rowtui/clusters.toml")
    assert problem.line == 3
    assert problem.message == "`scheduler` cannot be 'htcondor'"
    assert "'grid_engine'" in problem.hint
    assert "'slurm'" in problem.hint


@pytest.mark.usefixtures("theirs")
def test_a_configured_scheduler_of_no_use_is_an_error_with_file_and_line(tmp_path: Path) -> None:
    (problem,) = configured(tmp_path, "gone").problems

    assert problem.line == 3
    assert problem.message == "scheduler 'gone': its plug-in failed with AttributeError"
    assert "their_scheduler:Gone" in problem.hint


def test_a_cluster_whose_scheduler_is_not_there_never_runs_jobs_on_this_machine() -> None:
    with pytest.raises(RowtuiError, match="there is no scheduler 'htcondor'"):
        scheduler_of(cluster("htcondor"))


def test_the_id_of_a_job_is_read_whatever_its_scheduler_is_called() -> None:
    assert job_key_of("theirs:12") == JobKey(12)
    assert job_key_of("theirs:12_3") == JobKey(12, 3)
    assert job_key_of("theirs:12.345") == JobKey(0)
