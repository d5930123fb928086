"""The clusters as people look at them, on real configuration files and commands that really run."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.config.user_config import cluster_places
from rowtui.core.clusters.polling.policy import PollPace, pace_of
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.project.open_project import OpenProject

OURS = """\
[[cluster]]
name = "alpha"
scheduler = "slurm"
identify.always = true
poll = 60

[[cluster.partition]]
name = "cpu"
maximum_cpus_per_job = 64

[[cluster.node_type]]
name = "big"
partition = "cpu"
cpus = 64
memory = "256G"
price_per_hour = 1.5
count = 12

[[cluster]]
name = "beta"
[cluster.ssh]
host = "beta.invalid"
user = "me"

[[cluster]]
name = "gamma"
scheduler = "slurm"
identify.by_environment = ["SITE", "gamma"]
partition = []

[[cluster]]
name = "broken"
scheduler = "no-such"
"""
ROWS = """\
[[cluster]]
name = "gamma"
scheduler = "slurm"
identify.by_environment = ["SITE", "gamma"]
[[cluster.partition]]
name = "old"
"""
WORKFLOW = '[[action]]\nname = "one"\ncommand = "touch {directory}/x"\nproducts = ["x"]\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".config" / "rowtui").mkdir(parents=True)
    (tmp_path / ".config" / "rowtui" / "clusters.toml").write_text(OURS)
    (tmp_path / ".config" / "row").mkdir()
    (tmp_path / ".config" / "row" / "clusters.toml").write_text(ROWS)
    programs = tmp_path / "bin"
    programs.mkdir()
    squeue = programs / "squeue"
    squeue.write_text("#!/bin/sh\necho 'squeue: error: the controller is down' >&2\nexit 1\n")
    squeue.chmod(0o755)
    for name, value in {
        "HOME": tmp_path,
        "XDG_CONFIG_HOME": tmp_path / ".config",
        "XDG_CACHE_HOME": tmp_path / "cache",
        "XDG_STATE_HOME": tmp_path / "state",
        "PATH": f"{programs}:/usr/bin:/bin",
    }.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.delenv("ROW_HOME", raising=False)
    monkeypatch.delenv("ROWTUI_POLL", raising=False)
    return tmp_path


@pytest.fixture
def project(home: Path) -> OpenProject:
    root = home / "project"
    (root / "workspace" / "a").mkdir(parents=True)
    (root / "workflow.toml").write_text(WORKFLOW)
    return OpenProject.open(root)


async def test_clusters_are_shown_with_what_they_are_and_why_one_cannot_be_reached(
    home: Path, project: OpenProject
) -> None:
    engine = InProcessEngine(project)
    try:
        # given one that does not answer, one over SSH, one that is elsewhere, and one that is wrong
        await engine.refresh()
        await engine.jobs.view()
        view = await engine.clusters.view()
        shown = {one.name: one for one in view.clusters}
        file = home / ".config" / "rowtui" / "clusters.toml"

        # then where jobs go comes first, and each says where it was described
        assert view.clusters[0].name == "alpha"
        alpha = shown["alpha"]
        assert "always" in alpha.chosen
        assert alpha.places == (f"{file}:1",)
        assert [one.name for one in alpha.partitions] == ["cpu"]
        assert [(one.name, one.at_most, one.price_per_hour) for one in alpha.kinds] == [
            ("big", 12, 1.5)
        ]
        assert (alpha.failures, alpha.pace) == (1, PollPace.BACKING_OFF)
        assert "the controller is down" in alpha.error

        beta = shown["beta"]
        assert (beta.where, beta.connected, beta.transport) == (
            "me@beta.invalid",
            False,
            "asyncssh",
        )
        assert beta.partitions_note == "beta was not asked for its partitions yet"
        assert beta.login_command == "rowtui connect beta"

        gamma = shown["gamma"]
        assert gamma.away == ("SITE is not 'gamma' here, and no [cluster.ssh] defines its login")
        assert gamma.places == (f"{home}/.config/row/clusters.toml:1", f"{file}:25")
        assert shown["local"].kinds[0].name == "this-machine"
        assert "broken" not in shown
        assert any("no-such" in problem.message for problem in view.problems)
        assert pickle.loads(pickle.dumps(view)) == view

        # and what was run to find that out can be read
        ran = await engine.clusters.commands_ran(0)
        polls = [one for one in ran if one.what.startswith("squeue")]  # of beta in any order
        squeue = next(one for one in polls if one.where == "here")
        assert squeue.exit_status == 1
        assert squeue.said == "squeue: error: the controller is down"
        assert await engine.clusters.commands_ran(ran[-1].number) == ()

        # and who cannot be asked for nodes says why, while a local one answers
        with pytest.raises(RowtuiError):
            await engine.clusters.nodes("nowhere")
        nodes = await engine.clusters.nodes("local")
        assert nodes.kinds[0].example == "this machine"
        assert await engine.clusters.nodes("local") is nodes
    finally:
        await engine.close()


def test_files_that_cannot_be_read_have_no_places(tmp_path: Path) -> None:
    (tmp_path / "rowtui").mkdir()
    (tmp_path / "rowtui" / "clusters.toml").write_text("[[cluster]\n")
    assert cluster_places({"XDG_CONFIG_HOME": str(tmp_path)}) == ()
    (tmp_path / "rowtui" / "clusters.toml").write_text("\n[[cluster]]\nname = 3\n")
    assert cluster_places({"XDG_CONFIG_HOME": str(tmp_path)}) == ()


def test_a_queue_is_looked_at_more_seldom_for_a_reason() -> None:
    assert pace_of(0.4, 0, 60.0) is PollPace.AS_CONFIGURED
    assert pace_of(6.1, 0, 60.0) is PollPace.SLOWED
    assert pace_of(6.1, 2, 60.0) is PollPace.BACKING_OFF
    assert pace_of(6.1, 2, 0.0) is PollPace.AT_WILL
