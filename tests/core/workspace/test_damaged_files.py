"""Row's files are damaged, deleted or restored: no completion is forgotten that the disk shows."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from rowtui.core.state.model import Submitted
from rowtui.core.state.records import forget
from rowtui.core.state.row import export, row_files
from rowtui.core.state.row.postcard import decode_completed, encode_submitted
from rowtui.core.state.row.row_files import DamagedFile
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Identity
from rowtui.core.workflow.model import Action, Workflow
from rowtui.core.workspace.sync import Synced, synchronise

from tests.core.state.encoding import encode_completed
from tests.core.workspace.test_sync_race import start
from tests.rig.gate import Gate

RUBBISH = b"\x05rubbish" * 8


@pytest.fixture
def project(tmp_path: Path) -> Workflow:
    """Six directories; `one` is complete in all of them, and Row's files say so."""
    for name in "abcdef":
        (tmp_path / "p" / "workspace" / name).mkdir(parents=True)
        (tmp_path / "p" / "workspace" / name / "out").touch()
    workflow = Workflow(tmp_path / "p", actions=(Action(0, "one", "x", products=("out",)),))
    for _ in range(2):
        look(workflow)
    return workflow


@pytest.fixture
def gates(tmp_path: Path) -> Iterator[list[Gate]]:
    made = [Gate(tmp_path, "found"), Gate(tmp_path, "kept")]
    yield made
    for gate in made:
        gate.close()


def look(project: Workflow, **options: bool) -> Synced:
    return synchronise(Store(project.root), project, **options)


def completed(synced: Synced) -> int:
    return synced.state.completed["one"]


def row_file(project: Workflow, name: str = "completed.postcard") -> Path:
    return project.root / ".row" / name


def in_row(project: Workflow) -> set[bytes]:
    return set(decode_completed(row_file(project).read_bytes())["one"])


def damage(path: Path) -> None:
    path.write_bytes(RUBBISH)


def pass_gate(gate: Gate) -> None:
    subprocess.run(["bash", "-c", gate.shell], check=True, timeout=30)


def succeeded(pid: int) -> bool:
    return os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize("full", [False, True])
def test_a_process_that_found_the_damage_first_never_removes_the_file_that_replaced_it(
    project: Workflow, gates: list[Gate], full: bool
) -> None:
    damage(row_file(project))
    found, real = gates[0], export.set_aside

    def slow() -> None:
        def stopped(file: DamagedFile) -> str | None:
            pass_gate(found)
            return real(file)

        export.set_aside = stopped
        assert completed(look(project, full=full)) == 0b111111

    process = start(slow)
    found.wait()
    assert completed(look(project)) == 0b111111
    inode = row_file(project).stat().st_ino
    found.open()
    assert succeeded(process)

    assert row_file(project).stat().st_ino == inode
    assert in_row(project) == {b"a", b"b", b"c", b"d", b"e", b"f"}
    assert row_file(project, "completed.postcard.damaged").read_bytes() == RUBBISH
    assert completed(look(project)) == 0b111111


def test_a_file_that_is_set_aside_stays_at_its_path_until_a_new_one_replaces_it(
    project: Workflow, gates: list[Gate]
) -> None:
    damage(row_file(project))
    kept, real = gates[1], export.set_aside

    def mend() -> None:
        def stopped(file: DamagedFile) -> str | None:
            name = real(file)
            pass_gate(kept)
            return name

        export.set_aside = stopped
        look(project)

    process = start(mend)
    kept.wait()
    assert row_file(project).read_bytes() == RUBBISH
    kept.open()
    assert succeeded(process)
    assert len(in_row(project)) == 6


def test_damage_is_kept_where_files_cannot_be_linked(
    project: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(_: object, __: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    damage(row_file(project))
    view = look(project, export=False)
    with monkeypatch.context() as only:
        # publishing a generation needs links; the damaged file is set aside before
        only.setattr(export.os, "link", link)
        name = export.set_aside(DamagedFile(row_file(project), identity(row_file(project))))
    assert name == "completed.postcard.damaged"
    assert row_file(project, name).read_bytes() == row_file(project).read_bytes() == RUBBISH
    assert completed(view) == 0b111111


def identity(path: Path) -> Identity:
    found = export.identity_of(path)
    assert found is not None
    return found


def test_many_damaged_files_are_kept_and_none_twice(project: Workflow) -> None:
    for number in range(export.MOST_ASIDE + 2):
        row_file(project).write_bytes(RUBBISH + bytes([number]))
        assert completed(look(project)) == 0b111111
    kept = sorted(path.read_bytes()[-1] for path in row_file(project).parent.glob("*.damaged*"))
    assert kept == list(range(export.MOST_ASIDE))
    assert len(in_row(project)) == 6


def test_without_the_file_a_completion_ends_only_where_its_products_are_gone(
    project: Workflow,
) -> None:
    row_file(project).unlink()
    (project.workspace / "b" / "out").unlink()
    synced = look(project)
    assert completed(synced) == 0b111101
    assert synced.notices == ("1 completion taken back: the products are gone",)
    assert in_row(project) == {b"a", b"c", b"d", b"e", b"f"}


def test_a_completion_that_an_older_file_of_row_lacks_stays_where_its_products_are(
    project: Workflow,
) -> None:
    # Row read its file before rowtui entered these completions, and writes it after that.
    row_file(project).write_bytes(encode_completed({"one": [b"a", b"c"]}))
    (project.workspace / "b" / "out").unlink()
    assert completed(look(project)) == 0b111101
    assert len(in_row(project)) == 5


def test_a_file_that_vanishes_before_the_export_overrules_no_full_look(
    project: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = export.import_row_files

    def gone(*given: object) -> row_files.Imported:
        row_file(project).unlink(missing_ok=True)
        monkeypatch.setattr(export, "import_row_files", real)
        return real(*given)  # type: ignore[arg-type]

    damage(row_file(project, "directories.json"))  # so that the same call exports
    monkeypatch.setattr(export, "import_row_files", gone)
    assert completed(look(project, full=True)) == 0b111111
    assert completed(look(project)) == 0b111111
    assert len(in_row(project)) == 6


def test_completions_that_rowtui_cleans_are_gone_at_once_whatever_the_products(
    project: Workflow,
) -> None:
    forget(Store(project.root), directories=False, submitted=False, completed=True)
    for _ in range(2):
        assert completed(look(project)) == 0
    assert in_row(project) == set()


def test_a_file_restored_from_a_backup_adds_the_completions_whose_products_exist(
    project: Workflow,
) -> None:
    backup = row_file(project, "backup")
    shutil.copy2(row_file(project), backup)
    forget(Store(project.root), directories=False, submitted=False, completed=True)
    assert completed(look(project)) == 0
    (project.workspace / "b" / "out").unlink()
    shutil.copy2(backup, row_file(project))

    assert completed(look(project)) == 0b111101
    assert len(in_row(project)) == 5


def test_what_row_writes_late_to_a_file_that_was_set_aside_is_taken_over(
    project: Workflow,
) -> None:
    for name in "gh":
        (project.workspace / name).mkdir()
    (project.workspace / "g" / "late").touch()
    project = project._replace(
        actions=(*project.actions, Action(1, "two", "x", products=("late",)))
    )
    look(project)
    (project.workspace / "h" / "late").touch()
    jobs = row_file(project, "submitted.postcard")
    jobs.write_bytes(encode_submitted({"two": {b"a": ("c", 5)}}))
    look(project)
    done, sent = encode_completed({"two": [b"h"]}), encode_submitted({"two": {b"b": ("c", 7)}})
    with open(row_file(project), "wb") as late, open(jobs, "wb") as late_jobs:
        late.write(done[:5])
        late_jobs.write(sent[:5])
        late.flush()
        late_jobs.flush()
        assert not look(project).state.completed["two"] >> 7
        late.write(done[5:])
        late_jobs.write(sent[5:])

    synced = look(project)

    assert synced.state.completed["two"] >> 7
    assert synced.state.submitted["two"] == {0: Submitted("c", 5), 1: Submitted("c", 7)}
    assert synced.stored.row.aside == {}
    assert b"h" in decode_completed(row_file(project).read_bytes())["two"]


def test_a_file_that_still_changes_is_not_called_damaged(
    project: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, pauses = row_file(project).read_bytes(), [0]

    def pause(_: float) -> None:  # Row writes a fifth of its file, and nothing in the next pause
        pauses[0] += 1
        if pauses[0] % 2:
            row_file(project).write_bytes(whole[: len(whole) * (pauses[0] // 2 + 1) // 5])

    clock = SimpleNamespace(sleep=pause, monotonic=lambda: 0.3 * pauses[0])
    monkeypatch.setattr(row_files, "time", clock)
    row_file(project).write_bytes(whole[:1])
    synced = look(project)
    assert pauses[0] > 5
    assert synced.notices == ()
    assert completed(synced) == 0b111111
    assert not [*row_file(project).parent.glob("*.damaged*")]


def test_a_file_that_changes_all_the_time_is_left_to_row(
    project: Workflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = iter(range(1, 1_000_000))

    def pause(_: float) -> None:
        row_file(project).write_bytes(bytes([255]) * (next(sizes) % 7 + 1))

    (project.workspace / "g").mkdir()
    (project.workspace / "g" / "out").touch()  # so that there is something to export
    clock = SimpleNamespace(sleep=pause, monotonic=time.monotonic)
    monkeypatch.setattr(row_files, "time", clock)
    monkeypatch.setattr(row_files, "LONGEST_SECONDS", 0.05)
    pause(0)
    inode = row_file(project).stat().st_ino
    synced = look(project)
    assert any("it changes all the time" in notice for notice in synced.notices)
    assert completed(synced) == 0b1111111
    assert row_file(project).stat().st_ino == inode
    assert not [*row_file(project).parent.glob("*.damaged*")]
