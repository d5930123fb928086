"""No job and no command of a scheduler sees a secret from the environment."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest
from rowtui.core.clusters.commands import LocalTransport
from rowtui.core.clusters.schedulers.base import Accepted, JobSpec, Scheduler
from rowtui.core.clusters.schedulers.bash.scheduler import BashScheduler
from rowtui.core.clusters.schedulers.local.scheduler import LocalScheduler

from tests.eventually import eventually_async

PLANTED = "plum-7731-tree"


@pytest.fixture(autouse=True)
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ROWTUI_SECRET_LOGIN_JANE", PLANTED)
    monkeypatch.setenv("ROWTUI_LOCAL_DIR", str(tmp_path / "queue"))
    monkeypatch.setenv("KEPT", "kept")


def files_of(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_commands_of_a_scheduler_see_none() -> None:
    done = await LocalTransport().run(["env"], timeout=30)
    assert b"KEPT=kept" in done.stdout
    assert PLANTED.encode() not in done.stdout


@pytest.mark.parametrize("kind", [BashScheduler, LocalScheduler])
async def test_jobs_see_none_and_nothing_on_disk_has_any(
    kind: type[Scheduler], tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    script = f"#!/bin/bash\nenv > {seen}.part; mv {seen}.part {seen}\n"
    job = JobSpec(secrets.token_hex(6), "env", script, tmp_path, str(tmp_path / "%j.out"))
    scheduler = kind("here")  # type: ignore[call-arg]
    assert isinstance(await scheduler.submit(job), Accepted)
    await eventually_async(seen.exists)
    assert "KEPT=kept" in seen.read_text()
    assert [path for path in files_of(tmp_path) if PLANTED.encode() in path.read_bytes()] == []
