"""The bench of faults sees what it should: a second run, a forgotten completion, a full disk."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.chaos import Seed, endure
from bench.chaos_faults import Chaos, Outcome
from bench.remote import ProjectsHere, local_projects, runs_of

ROOT = Path(__file__).parents[2]


@pytest.fixture
def here() -> Iterator[ProjectsHere]:
    with local_projects() as projects:
        yield projects


def outcome(jobs: int, **chosen: object) -> Outcome:
    return Outcome(1, arrays=False, crashes=False, jobs=jobs, cluster="local", **chosen)  # type: ignore[arg-type]


def test_a_seed_without_faults_ends_well_and_its_second_runs_are_seen(here: ProjectsHere) -> None:
    seed = outcome(5, journal=True)
    endure(here, seed, faults=1, talk=lambda _: None)
    assert seed.well, seed
    assert (seed.once, seed.twice, seed.forgotten) == (5, [], [])

    folder = here.work / "seed-1"
    os.symlink("77", folder / "workspace/d00002/again.1")
    runs = runs_of(folder)
    assert [len(each) for each in runs.values()] == [1, 1, 2, 1, 1]
    assert runs["d00002"][1] == "77"


def test_two_readers_show_that_completions_were_forgotten(here: ProjectsHere) -> None:
    seed = outcome(3)
    folder = here.make("seed-1", 3)
    (folder / "workspace/d00000/runs").touch()
    here.open(folder).synchronise(full=True)
    chaos = Chaos(here, folder, seed, 1, lambda: 1, lambda _: None)
    chaos.completed = lambda: 2  # one more than there is

    chaos.damage_before_readers()

    assert [text.endswith(" completed, 2 before") for text in seed.forgotten] == [True, True]
    assert not seed.well


def test_a_completed_set_that_shrinks_is_noted_once(here: ProjectsHere) -> None:
    seed = Seed(here, outcome(3), lambda _: None)
    for name in ("d00000", "d00001"):
        (seed.folder / "workspace" / name / "runs").touch()
    seed.watcher.synchronise(full=True)
    seed.look(seed.watcher, 0)
    assert seed.known() == 2
    (seed.folder / "workspace/d00001/runs").unlink()
    seed.watcher.synchronise(full=True)
    seed.look(seed.watcher, seed.completed)
    seed.look(seed.watcher, seed.completed)
    assert seed.outcome.forgotten == ["1 of 2 completed directories are not any more"]


def test_a_seed_may_stop_with_a_message_but_not_without_one() -> None:
    ended = outcome(2)
    ended.once = 1
    assert not ended.well
    ended.stopped = "the journal is gone: wait until the jobs have ended"
    assert ended.well
    ended.twice.append("d00001: 1, 2")
    assert not ended.well


DISKS = """\
import errno, pathlib, sys, threading
from bench import chaos_faults as faults
from bench.chaos_faults import Chaos, Outcome, own_namespace, small_disk
from bench.remote import local_projects

def refused(path):
    try:
        path.write_bytes(b"x" * 5000)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "written"

own_namespace()
faults.NO_DISK = (0.0, 0.0)
with local_projects() as here:
    folder = here.work / "seed-1"
    with small_disk(folder):
        (folder / "workspace").mkdir()
        chaos = Chaos(here, folder, Outcome(1, False, False, 1), 1, lambda: 0, print)
        seen = []
        faults.time.sleep = lambda _: seen.append(refused(folder / "new"))
        chaos.fill_disk()
        chaos.read_only()
        print(*seen, refused(folder / "new"))
"""


def test_a_disk_is_full_then_read_only_and_then_as_before(tmp_path: Path) -> None:
    as_root = [] if os.geteuid() == 0 else ["unshare", "--map-root-user"]
    done = subprocess.run(
        [*as_root, sys.executable, "-c", DISKS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.stdout == "ENOSPC EROFS written\n", done.stderr
    mounts = Path("/proc/mounts").read_text()
    assert "rowtui-chaos" not in mounts
