"""A cluster that is slow, or that waits for a login, is a matter of its own views alone."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.transports.login import LoginError, NoUser
from rowtui.core.engine.local import InProcessEngine
from rowtui.core.engine.process.serve import open_engine
from rowtui.core.engine.process.start import EngineOptions
from rowtui.core.project.context.questions import LoginQuestion
from rowtui.core.project.open_project import OpenProject
from rowtui.core.project.queue.queues import POLL_VARIABLE
from rowtui.core.project.views.views import ClusterView

from tests.eventually import eventually_async
from tests.rig.faults import Hang, Prompt
from tests.rig.faulty import FaultyLogin, faulty_login

PASSWORD = [[Prompt("Password: ", "right")]]
CLUSTER = """\
[[cluster]]
name = "{name}"
scheduler = "slurm"
[cluster.ssh]
host = "{name}"
config = ["{config}"]
paths = [{{ local = "/", remote = "/" }}]
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(name)
    (tmp_path / "run").mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    monkeypatch.setenv(POLL_VARIABLE, "0")
    root = tmp_path / "project"
    (root / "workspace" / "d").mkdir(parents=True)
    (root / "workflow.toml").write_text('[[action]]\nname = "one"\ncommand = "true {directory}"\n')
    return root


@contextlib.asynccontextmanager
async def two(
    home: Path, **options: object
) -> AsyncIterator[tuple[InProcessEngine, FaultyLogin, FaultyLogin]]:
    """An engine whose jobs go to `other`, and two clusters that have empty queues.

    `options`: of the login of `other`. NoUser described the partitions of the clusters.
    """
    programs = home / "bin"
    programs.mkdir()
    (programs / "squeue").write_text("#!/bin/sh\n")
    (programs / "squeue").chmod(0o755)
    async with contextlib.AsyncExitStack() as stack:
        nodes = [
            await stack.enter_async_context(faulty_login(home / name, name=name, **more))
            for name, more in (("other", options), ("quick", {}))
        ]
        for node in nodes:
            node.env["PATH"] = f"{programs}:{node.env['PATH']}"
        file = home / ".config/rowtui/clusters.toml"
        file.parent.mkdir(parents=True)
        file.write_text(
            "".join(CLUSTER.format(name=node.name, config=node.ssh_config) for node in nodes)
        )
        # As the process of the dashboard's engine opens it.
        _, make = open_engine(EngineOptions(str(home / "project"), cluster="other"))
        engine = make()
        try:
            yield engine, nodes[0], nodes[1]
        finally:
            await engine.close()


async def known(engine: InProcessEngine, *, now: bool = False) -> dict[str, ClusterView]:
    """The clusters whose queues are known."""
    view = await engine.jobs.view(now=now)
    return {one.name: one for one in view.clusters if one.as_of is not None}


async def test_an_open_login_dialog_keeps_no_other_cluster_waiting(
    root: Path, tmp_path: Path
) -> None:
    async with two(tmp_path, keys=False, rounds=PASSWORD) as (engine, _, quick):
        # given a login that waits for its password
        questions = engine.clusters.questions()
        login = asyncio.create_task(engine.clusters.connect("other"))
        question = await anext(questions)
        assert isinstance(question, LoginQuestion)
        assert question.prompts[0].text == "Password:"
        # when the dashboard looks for the first time, and again
        await engine.refresh()
        await eventually_async(lambda: known(engine), lambda seen: {"local", "quick"} <= set(seen))
        before = len(quick.asked)
        await eventually_async(lambda: known(engine, now=True), lambda _: len(quick.asked) > before)
        # then the login still waits, and its answer is of use
        assert not login.done()
        engine.clusters.answer(question.number, ["right"])
        with contextlib.suppress(RowtuiError):
            await login
        await eventually_async(lambda: known(engine), lambda seen: "other" in seen)


async def test_a_queue_that_hangs_keeps_no_other_cluster_waiting(
    root: Path, tmp_path: Path
) -> None:
    async with two(tmp_path) as (engine, other, quick):
        answered = asyncio.Event()
        other.inject("squeue", Hang(until=answered))
        changes = engine.changes()
        await engine.refresh()
        seen = await eventually_async(
            lambda: known(engine), lambda seen: {"local", "quick"} <= set(seen)
        )
        await other.asked_for("squeue")
        assert "other" not in seen
        # when the others are looked at again
        await eventually_async(
            lambda: known(engine, now=True),
            lambda _: sum("squeue" in it.command for it in quick.asked) > 1,
        )
        # then the slow answer is announced as soon as it is there
        answered.set()
        async for word in changes:
            if word == "jobs":
                break
        await eventually_async(lambda: known(engine), lambda seen: "other" in seen)


async def test_the_dashboard_asks_for_a_login_only_where_the_user_connects(
    root: Path, tmp_path: Path
) -> None:
    async with two(tmp_path, keys=False, rounds=PASSWORD) as (engine, _, _):
        listening = asyncio.create_task(anext(engine.clusters.questions()))
        await engine.refresh()
        await engine.mapping.explain(0, (), 0)
        view = await eventually_async(
            engine.jobs.view, lambda view: any(one.login for one in view.clusters)
        )
        assert [one.name for one in view.clusters if one.login] == ["other"]
        assert not listening.done()
        login = asyncio.create_task(engine.clusters.connect("other"))
        question = await listening
        assert isinstance(question, LoginQuestion)
        engine.clusters.answer(question.number, None)
        with pytest.raises(LoginError):
            await login


async def test_explaining_asks_only_for_the_login_of_the_cluster_that_jobs_go_to(
    root: Path, tmp_path: Path
) -> None:
    asked: list[str] = []

    def person(cluster: str) -> NoUser:
        asked.append(cluster)
        return NoUser()

    async with two(tmp_path, keys=False, rounds=PASSWORD):
        project = OpenProject.open(root, cluster="local")
        project.person, project.always_ask = person, True  # as a command in a terminal
        await project.mapping.ask_loads()
        await project.let_go()
        assert asked == []
        described = tmp_path / ".config/rowtui/clusters.toml"
        described.write_text(
            described.read_text().replace(
                "[cluster.ssh]", '[[cluster.partition]]\nname = "cpu"\n[cluster.ssh]', 1
            )
        )
        project = OpenProject.open(root, cluster="other")
        project.person, project.always_ask = person, True
        await project.mapping.ask_loads()
        await project.let_go()
        assert set(asked) == {"other"}


async def test_after_a_changed_host_key_no_login_is_advised(root: Path, tmp_path: Path) -> None:
    async with two(tmp_path) as (engine, other, quick):
        address, *_ = other.known_hosts.read_text().split()
        _, *key = quick.known_hosts.read_text().split()
        other.known_hosts.write_text(f"{address} {' '.join(key)}\n")
        view = await eventually_async(
            engine.jobs.view, lambda view: any(one.login for one in view.clusters)
        )
        (cluster,) = [one for one in view.clusters if one.login]
        assert "shows another key than before" in cluster.login
        assert "ssh-keygen -R" in cluster.login
        assert cluster.login_command == ""
