"""Queues are asked at the same time, with or without a project, and each failure stays alone."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from rowtui.core.clusters.polling.poll import Polled
from rowtui.core.project.context.cluster_context import ClusterContext
from rowtui.core.project.queue.queues import POLL_VARIABLE, QueuePolls

from tests.rig.faults import Hang, Refuse
from tests.rig.faulty import FaultyLogin, faulty_login
from tests.rig.slurm import SlurmCluster


@pytest.fixture(autouse=True)
def own_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))


def cluster_context(home: Path, *nodes: FaultyLogin, more: str = "") -> ClusterContext:
    file = home / ".config/rowtui/clusters.toml"
    file.parent.mkdir(parents=True)
    file.write_text(
        "".join(
            f'[[cluster]]\nname = "{node.name}"\nssh.host = "{node.name}"\n'
            f'ssh.config = ["{node.ssh_config}"]\n'
            for node in nodes
        )
        + more
    )
    kept = {"HOME": str(home), "PATH": os.environ["PATH"], POLL_VARIABLE: "0"}
    return ClusterContext("local", kept)


async def asked(looks: QueuePolls) -> dict[str, Polled]:
    await looks.everywhere(looks.look, looks.all_names(), here=True)
    return looks.latest


async def test_a_cluster_that_hangs_keeps_no_other_waiting(
    slurm: SlurmCluster, tmp_path: Path
) -> None:
    env = {**os.environ, **slurm.env}
    async with AsyncExitStack() as stack:
        slow, quick = [
            await stack.enter_async_context(faulty_login(tmp_path / name, name=name, env=env))
            for name in ("a-slow-one", "quick")
        ]
        # given one that says nothing until the other has answered
        answered = asyncio.Event()
        slow.inject("", Hang(until=answered))
        around = cluster_context(tmp_path, slow, quick)
        looks = QueuePolls(around)
        # when all are asked
        done: asyncio.Queue[str] = asyncio.Queue()

        async def look(name: str) -> None:
            await looks.look(name)
            done.put_nowait(name)

        asking = asyncio.create_task(looks.everywhere(look, looks.all_names(), here=True))
        async with asyncio.timeout(30):
            await slow.asked_for("")
            await quick.asked_for("")
            first = {await done.get(), await done.get()}
        # then the others are known while it is waited for
        assert first == {"local", "quick"}
        assert not asking.done()
        assert [view.name for view in looks.views()] == ["local", "quick"]
        answered.set()
        await asking
        assert {name: polled.error for name, polled in looks.latest.items()} == {
            "a-slow-one": "", "local": "", "quick": "",
        }  # fmt: skip
        await around.let_go()


async def test_each_failure_stays_with_its_cluster(slurm: SlurmCluster, tmp_path: Path) -> None:
    env = {**os.environ, **slurm.env}
    async with AsyncExitStack() as stack:
        broken, well = [
            await stack.enter_async_context(faulty_login(tmp_path / name, name=name, env=env))
            for name in ("broken", "well")
        ]
        broken.inject("", Refuse(), times=None)
        nowhere = '[[cluster]]\nname = "nowhere"\nssh.host = "no.such.host.invalid"\n'
        around = cluster_context(tmp_path, broken, well, more=nowhere)
        looks = QueuePolls(around)

        known = await asked(looks)

        assert sorted(known) == ["broken", "local", "nowhere", "well"]
        assert {name for name, polled in known.items() if polled.error} == {"broken", "nowhere"}
        assert {view.name: view.login for view in looks.views()} == dict.fromkeys(known, "")
        await around.let_go()


async def test_a_machine_that_is_no_cluster_has_its_own_queue_only(tmp_path: Path) -> None:
    around = cluster_context(tmp_path)
    looks = QueuePolls(around)
    assert [*await asked(looks)] == ["local"]
    assert around.connections.known("gamma") is None
    assert await looks.look("gamma") is None
    (view,) = looks.views()
    assert (view.where, view.scheduler, view.connected, view.error) == ("here", "local", None, "")
