"""A project whose cluster does not see its folder: copied there, run there, brought back."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.command_log import CommandResult
from rowtui.core.clusters.commands import LocalTransport
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.project.context.copies import _read_staged, _remove_staged
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.planning.plan_submission import plan_submission
from rowtui.core.state.row.staging import encode_names

from tests.eventually import eventually_async
from tests.rig.login import LoginNode
from tests.rig.slurm import SlurmRig

WORKFLOW = '''\
[[action]]
name = "one"
command = "sh tools/run.sh 'workspace/'{directory}"
products = ["out"]
group.maximum_size = 1

[[action]]
name = "two"
command = """
cat "workspace/"{directory}/out > "workspace/"{directory}/copied; pwd; [ {directory} != bad ]
"""
products = ["copied"]
previous_actions = ["one"]
'''
CLUSTERS = """\
[[cluster]]
name = "alpha"
scheduler = "slurm"
partition = [{{ name = "cpu" }}]
[cluster.ssh]
host = "alpha"
config = ["{config}"]
mirror = "{mirror}"
"""
NAMES = ("a", "b c", "it's $HOME", "bad")


@pytest.fixture
def project(login: LoginNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenProject:
    home = tmp_path / "home"
    (home / ".config/rowtui").mkdir(parents=True)
    (home / ".config/rowtui/clusters.toml").write_text(
        CLUSTERS.format(config=login.ssh_config, mirror=tmp_path / "there")
    )
    monkeypatch.setenv("HOME", str(home))
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(name)
    root = tmp_path / "here"
    for name in NAMES:
        (root / "workspace" / name).mkdir(parents=True)
        (root / "workspace" / name / "value").write_text(name)
    (root / "tools").mkdir()
    (root / "tools/run.sh").write_text('pwd; cat "$1/value" > "$1/out"\n')
    (root / "workflow.toml").write_text(WORKFLOW)
    project = OpenProject.open(root, cluster="alpha")
    project.synchronise()
    return project


async def carry_out(project: OpenProject, action: str) -> list[str]:
    plan = plan_submission(project, [one for one in project.workflow.actions if one.name == action])
    steps = [step async for step in project.jobs.submit(plan)]
    assert [step.error for step in steps if step.error] == []
    return [step.message for step in steps if not step.token]


async def ended(project: OpenProject) -> None:
    await eventually_async(
        project.jobs.view,
        lambda view: not any(job.state.active for job in view.jobs),
        every=0.1,
    )


async def test_a_project_is_copied_run_and_brought_back(
    project: OpenProject, tmp_path: Path
) -> None:
    # given what would be copied
    (view,) = await project.copies.preview(plan_submission(project, project.workflow.actions[:1]))
    assert view.files == 2 + len(NAMES)
    assert view.place.startswith(str(tmp_path / "there"))
    assert view.back == ("out",)
    # when the first action has run there
    said = await carry_out(project, "one")
    await ended(project)
    # then its products are here, with what it reported and wrote
    assert said
    assert said[-1].startswith("copying to alpha: ")
    for name in NAMES:
        assert (project.root / "workspace" / name / "out").read_text() == name
    assert project.state.completed["one"].bit_count() == len(NAMES)
    jobs = (await project.jobs.view()).jobs
    tail = await project.jobs.log_tail(jobs[0].token, 10)
    assert tail.lines[0].startswith(str(tmp_path / "there"))
    # and the second, which fails in one directory, finds them there
    await carry_out(project, "two")
    await ended(project)
    assert project.state.completed["two"].bit_count() >= len(NAMES) - 1
    states = {job.state for job in (await project.jobs.view()).jobs}
    assert states == {JobState.COMPLETED, JobState.FAILED}
    assert not list((Path(view.place) / ".row/completed").glob("*"))
    await project.let_go()


async def test_what_changed_on_both_sides_stops_the_submission(
    project: OpenProject, tmp_path: Path
) -> None:
    await carry_out(project, "one")
    await ended(project)
    (view,) = await project.copies.preview(plan_submission(project, project.workflow.actions))
    (project.root / "tools/run.sh").write_text("echo mine\n")
    (Path(view.place) / "tools/run.sh").write_text("echo theirs, longer\n")

    with pytest.raises(RowtuiError, match=r"tools/run\.sh"):
        await carry_out(project, "two")

    assert (project.root / "tools/run.sh").read_text() == "echo mine\n"
    assert (Path(view.place) / "tools/run.sh").read_text() == "echo theirs, longer\n"
    assert not any(project.state.submitted.values())
    await project.let_go()


async def test_results_that_cannot_be_fetched_stay_submitted(
    project: OpenProject, login: LoginNode, tmp_path: Path
) -> None:
    plan = plan_submission(project, project.workflow.actions[:1])
    async for _ in project.jobs.submit(plan):
        pass
    (view,) = await project.copies.preview(plan)
    ends = Path(view.place) / ".row/rowtui/ended"
    await eventually_async(lambda: [*ends.glob("*")], lambda found: len(found) == len(NAMES))
    login.kill()
    login.cut()
    await project.jobs.view()
    assert project.state.submitted_set("one").bit_count() == len(NAMES)
    login.restart()
    await project.connections.connect("alpha")
    await ended(project)
    assert project.state.completed["one"].bit_count() == len(NAMES)
    await project.let_go()


async def test_an_ended_job_is_over_although_one_of_its_files_may_not_be_read(
    project: OpenProject, slurm_rig: SlurmRig, tmp_path: Path
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    script = f'case " $* " in *" -readable "*) n="{as_nobody}";; esac\nexec $n /usr/bin/find "$@"\n'
    (programs / "find").write_text(f"#!/bin/sh\n{script}")
    (programs / "find").chmod(0o755)
    node = LoginNode(
        slurm_rig.keeper, slurm_rig.cluster, name="closed", bashrc=f"PATH={programs}:$PATH"
    )
    try:
        clusters = tmp_path / "home/.config/rowtui/clusters.toml"
        clusters.write_text(clusters.read_text().replace('host = "alpha"', 'host = "closed"'))
        (project.root / "mirror.toml").write_text('fetch = ["**"]\n')
        run = project.root / "tools/run.sh"
        run.write_text(f'{run.read_text()}echo x > "$1/closed"; chmod 0 "$1/closed"\n')
        run.write_text(f'{run.read_text()}ln -s /etc/hostname "$1/away"\n')
        project = OpenProject.open(project.root, cluster="alpha")
        project.synchronise()

        await carry_out(project, "one")
        await ended(project)

        assert project.state.completed["one"].bit_count() == len(NAMES)
        assert (project.root / "workspace/a/out").read_text() == "a"
        assert not (project.root / "workspace/a/closed").exists()
        notices = "\n".join(project.take_notices())
        assert "workspace/a/closed cannot be read on alpha" in notices
        assert "workspace/a/away is a link that leads out of the project" in notices
        await project.let_go()
    finally:
        node.kill()
        node.cut()


class Liar:
    """A cluster that says what it likes about the reports of its jobs."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.said = "".join(f"{line}\n" for line in (*lines, "done")).encode()

    async def run(self, argv: Sequence[str], **_: object) -> CommandResult:
        return CommandResult(tuple(argv), 0, self.said)


async def test_reports_with_names_that_lead_out_of_the_project_are_left_where_they_are() -> None:
    # given a true report among files that would be written elsewhere, or speak of other folders
    good = f"{'0a' * 16}.names"
    report = encode_names({"one": [b"a", b"it's"]})

    def line(name: str, data: bytes) -> str:
        return f"{name} {base64.b64encode(data).decode()}"

    lines = [
        line(good, report),
        *(
            line(name, report)
            for name in (
                "../../../.ssh/authorized_keys",
                "/etc/cron.d/rowtui.names",
                "../evil.postcard",
                "a/b.names",
                "..",
                ".names",
                "completed.lock",
                "x.tmp",
                "\x1b[2J.names",
            )
        ),
        *(
            line(f"{number}.names", encode_names({"one": [name]}))
            for number, name in enumerate((b"..", b"../x", b"/etc", b"a/../../..", b"."))
        ),
    ]
    # when they are read, then only the true one is
    found = await _read_staged(Liar(lines), "/there")
    assert found == {good: (report, {"one": [b"a", b"it's"]})}


async def test_more_reports_are_removed_than_a_command_line_can_name(tmp_path: Path) -> None:
    folder = tmp_path / ".row/completed"
    folder.mkdir(parents=True)
    names = [f"{number:032x}.names" for number in range(4_000)]
    for name in (*names, "kept.names"):
        (folder / name).touch()
    await _remove_staged(LocalTransport(), str(tmp_path), names)
    assert os.listdir(folder) == ["kept.names"]
