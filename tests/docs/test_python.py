"""The examples of docs/python.md run as they stand there, and what they do not show."""

from __future__ import annotations

import asyncio
import doctest
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import rowtui
from rowtui import AsyncProject, Confirmation, Project, RowtuiError
from rowtui.core.clusters.schedulers.local.scheduler import local_folder

from tests.rig.login import LoginNode

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hello(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """examples/hello, with a home and a queue of its own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples/hello", "hello")
    subprocess.run(["sh", "hello/make_workspace.sh"], check=True)
    return tmp_path / "hello"


def test_the_examples_run_as_they_stand(hello: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rowtui.project.WAIT_SECONDS", 0.1)
    text = (ROOT / "docs/python.md").read_text().replace("```", "\n")  # fences are no output
    examples = doctest.DocTestParser().get_doctest(text, {}, "python.md", None, 0)
    found = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(examples)
    assert (found.failed, found.attempted > 15) == (0, True)


def test_tables_of_notebooks_show_names_as_text(hello: Path) -> None:
    (hello / "workflow.toml").write_text(
        '[[action]]\nname = "<b>&"\ncommand = "true {directory}"\nproducts = ["a"]\n'
        'group.maximum_size = 1\nresources.walltime.per_submission = "01:00:00"\n'
    )
    with Project(hello, cluster="local") as project:
        shown = project.status()._repr_html_()
        assert '<td style="text-align:left">&lt;b&gt;&amp;</td>' in shown
        assert shown.count("<tr>") == 2
        plan = project.plan()
        assert len(plan) == 3
        assert plan._repr_html_().count("&lt;b&gt;") == 3
        assert rowtui.document(plan.document)["jobs"][0]["directories"] == ["directory0"]


def test_what_was_not_confirmed_is_not_sent(hello: Path) -> None:
    with Project(hello, cluster="local") as project:
        plan = project.plan(directories=["directory1"])
        for confirmation in (Confirmation(0), Confirmation(1, cpu_hours=0.01)):
            with pytest.raises(RowtuiError):
                project.submit(plan, confirmation)
        assert project.jobs() == []
    assert not local_folder().exists()


def test_wrong_words_are_named_with_the_right_ones(hello: Path) -> None:
    project = Project(hello, cluster="local")
    for call in (project.groups, project.explain, project.plan):
        with pytest.raises(RowtuiError) as refused:
            call("hallo")
        assert refused.value.hint == "the actions are hello"
    with pytest.raises(RowtuiError) as refused:
        project.groups("hello", status="done")
    assert "completed, submitted" in refused.value.hint
    with pytest.raises(RowtuiError):
        project.plan(directories=["nowhere"])
    with pytest.raises(RowtuiError):
        Project(hello.parent)


CLUSTERS = """\
[[cluster]]
name = "alpha"
scheduler = "slurm"
[cluster.ssh]
host = "alpha"
config = ["{config}"]
paths = [{{ local = "/", remote = "/" }}]
"""


def test_a_cluster_that_a_key_opens_is_used_over_ssh(
    login: LoginNode, hello: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rowtui.project.WAIT_SECONDS", 0.1)
    settings = Path.home() / ".config/rowtui/clusters.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(CLUSTERS.format(config=login.ssh_config))
    root = login.cluster.work / hello.parent.name
    shutil.copytree(hello, root)
    with Project(root, cluster="alpha") as project:
        plan = project.plan("hello")
        sent = project.submit(plan, Confirmation(1))
        assert sent.errors == []
        (job,) = project.wait(sent, timeout=45)
        assert (job.state, job.cluster) == ("completed", "alpha")
        assert project.status().actions[0].counts.completed == 3


def cancel_all(folder: Path) -> None:
    words = [sys.executable, "-m", "rowtui", "--cluster", "local", "cancel", "--all", "--yes"]
    subprocess.run(words, cwd=folder, check=True, capture_output=True, timeout=30)


def test_a_running_loop_is_not_blocked_and_a_wait_can_be_left(hello: Path) -> None:
    (hello / "workflow.toml").write_text(
        '[[action]]\nname = "long"\ncommand = "sleep 60 # {directories}"\nproducts = ["a"]\n'
        'resources.walltime.per_submission = "01:00:00"\n'
    )

    async def main() -> None:
        async with await AsyncProject.open(hello, cluster="local") as project:
            sent = await project.submit(await project.plan(), Confirmation(1))
            try:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.3):
                        await project.wait(sent)
                with pytest.raises(TimeoutError):
                    project.project.wait(sent, timeout=0)
                (job,) = await project.jobs()
                assert job.state in {"pending", "running"}
            finally:
                await asyncio.to_thread(cancel_all, hello)

    asyncio.run(main())


def test_importing_it_loads_and_starts_nothing() -> None:
    code = (
        "import sys, threading, rowtui; print(sorted(it for it in sys.modules if 'rowtui' in it),"
        " threading.active_count(), 'asyncio' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout == "['rowtui', 'rowtui.core'] 1 False\n"
    assert set(rowtui.__all__) <= {name for name in rowtui.__all__ if getattr(rowtui, name)}
    with pytest.raises(AttributeError):
        _ = rowtui.nothing
    assert threading.active_count() >= 1
