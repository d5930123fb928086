"""Several processes merge what others stage, and are killed at any moment: nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.state.model import bit_set
from rowtui.core.state.row.postcard import decode_completed
from rowtui.core.state.row.staging import list_staged, read_staged, stage_completions
from rowtui.core.state.store.store import Store
from rowtui.core.workflow.model import Action, Workflow
from rowtui.core.workspace.sync import synchronise

DIRECTORIES = 60
STAGED = 120
COMMITTERS = 3
KILLS = 25
SEED = 20_26


def start(work: Callable[[], None]) -> int:
    """A child process that does `work`; exit code 0 if it succeeds."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def name(number: int) -> str:
    return f"d{number:03}"


@pytest.fixture
def project(tmp_path: Path) -> Workflow:
    for number in range(DIRECTORIES):
        (tmp_path / "workspace" / name(number)).mkdir(parents=True)
    actions = tuple(Action(at, f"a{at}", "x", products=(f"p{at}",)) for at in range(4))
    return Workflow(tmp_path, actions=actions)


def test_a_full_look_never_takes_back_what_was_completed_while_it_read(
    project: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project.root
    (root / "workspace" / name(3) / "p0").touch()
    synchronise(Store(root), project)
    (root / "workspace" / name(3) / "p0").unlink()
    publish, raced = Store.publish, []

    def later(self: Store, *given: Any) -> Any:
        if not raced:  # a job ends, and somebody else enters it first
            raced.append(True)
            (root / "workspace" / name(5) / "p0").touch()
            stage_completions(root, {"a0": [name(5)]})
            synchronise(Store(root), project)
        return publish(self, *given)

    monkeypatch.setattr(Store, "publish", later)
    synced = synchronise(Store(root), project, full=True)

    assert raced
    assert synced.stored.state.completed["a0"] == 1 << 5
    assert synced.uncompleted == 1


def test_no_completion_is_lost_or_invented_while_processes_race_and_die(
    project: Workflow,
) -> None:
    root = project.root
    synchronise(Store(root), project)
    rng = random.Random(SEED)
    pairs = [(f"a{a}", number) for a in range(4) for number in range(DIRECTORIES)]
    staged = [rng.sample(pairs, 3) for _ in range(STAGED)]
    stop = root / "stop"

    def stage() -> None:
        for some in staged:
            completions: dict[str, list[str]] = {}
            for action, number in some:
                completions.setdefault(action, []).append(name(number))
            stage_completions(root, completions)
            time.sleep(0.005)

    def merge() -> None:
        while not stop.exists():
            assert synchronise(Store(root), project).saved

    def watch() -> None:
        """What a reader sees never goes back, and no read is torn."""
        seen = {f"a{at}": 0 for at in range(4)}
        while not stop.exists():
            waiting = list_staged(root)
            stored = Store(root).load().stored
            assert stored is not None
            now = dict(stored.state.completed)
            for file in read_staged(root, waiting).staged:
                for action, names in file.records.items():
                    now[action] |= stored.directories.table.find(names)[0]
            for action, members in seen.items():
                # A staged file that was listed and then deleted is in a newer generation.
                if members & ~now[action]:
                    newer = Store(root).load().stored
                    assert newer is not None
                    assert not members & ~(now[action] | newer.state.completed[action])
                seen[action] |= now[action]

    stager = start(stage)
    watcher = start(watch)
    committers = [start(merge) for _ in range(COMMITTERS)]
    for _ in range(KILLS):
        time.sleep(rng.random() * 0.06)
        victim = rng.randrange(COMMITTERS)
        os.kill(committers[victim], signal.SIGKILL)
        assert os.waitpid(committers[victim], 0)[1] == signal.SIGKILL
        committers[victim] = start(merge)
    assert os.waitpid(stager, 0)[1] == 0
    stop.touch()
    for pid in (watcher, *committers):
        assert os.waitpid(pid, 0)[1] == 0

    synced = synchronise(Store(root), project)
    synced = synchronise(Store(root), project)
    expected = {
        action: bit_set(n for some in staged for a, n in some if a == action)
        for action in synced.state.completed
    }
    assert synced.state.completed == expected
    assert list_staged(root) == []
    row = decode_completed((root / ".row" / "completed.postcard").read_bytes())
    assert {a: set(names) for a, names in row.items()} == {
        action: {name(n).encode() for n in range(DIRECTORIES) if members >> n & 1}
        for action, members in expected.items()
    }
    assert synced.notices == ()
