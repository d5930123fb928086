"""Row's record of its own jobs is damaged: `submit` sends nothing until it can be read again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rowtui.core.state.row import row_files
from rowtui.core.state.row.postcard import encode_submitted

from tests.cli.in_process import prepared

WORKFLOW = """\
[[action]]
name = "one"
command = "touch workspace/{directory}/x"
products = ["x"]
"""


def _replace_with_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "empty": lambda path: path.write_bytes(b""),
    "random bytes": lambda path: path.write_bytes(bytes(range(255, 155, -1))),
    "a directory": _replace_with_a_directory,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_submit_refuses_while_the_jobs_that_row_submitted_cannot_be_read(
    damage: Callable[[Path], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(row_files, "SETTLED_SECONDS", 0.0)
    here = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    path = here.folder / ".row/submitted.postcard"
    path.parent.mkdir()
    # Only Row has used the project: directory a has a job in the queue of another cluster.
    path.write_bytes(encode_submitted({"one": {b"a": ("elsewhere", 7)}}))
    whole = path.read_bytes()
    damage(path)

    for _ in range(2):  # also when rowtui has records of its own
        for words in (["--yes"], ["--yes", "--json"]):
            done = here("submit", *words)
            assert done.code == 1, done
            assert str(path) in done.err
            assert "cannot be read" in done.err
            assert "restore it" in done.err
            assert "rowtui clean --submitted" in done.err
            assert not [*here.folder.glob("workspace/*/x")]

    if path.is_dir():
        path.rmdir()
    path.write_bytes(whole)
    assert here("submit", "--yes").code == 0
    sent = sorted(found.parent.name for found in here.folder.glob("workspace/*/x"))
    assert sent == ["b", "c"]


def test_without_rows_list_of_jobs_their_directories_are_not_sent_while_they_are_queued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    here = prepared(tmp_path, monkeypatch, capsys, WORKFLOW)
    path = here.folder / ".row/submitted.postcard"
    path.parent.mkdir()
    path.write_bytes(encode_submitted({"one": {b"a": ("elsewhere", 7)}}))
    here("show", "status")
    path.unlink()

    done = here("submit", "--yes")

    assert done.code == 0
    assert done.err.count("Row's list of jobs is gone; 1 job that was in it is still queued") == 1
    sent = sorted(found.parent.name for found in here.folder.glob("workspace/*/x"))
    assert sent == ["b", "c"]
    assert "is gone" not in here("show", "status").err
