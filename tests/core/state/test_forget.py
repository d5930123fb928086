from __future__ import annotations

import os
from pathlib import Path

from rowtui.core.state.model import LastEnd, Submitted
from rowtui.core.state.records import forget, with_news
from rowtui.core.state.row.export import export_row_files
from rowtui.core.state.row.staging import stage_completions
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Stored

from tests.core.state.building import built


def begun(root: Path, submitted: dict[str, dict[int, Submitted]]) -> Store:
    """A store of directories a to f, two actions, and these jobs."""
    directories = built({name.encode(): 1 for name in "abcdef"})

    def edit(before: Stored) -> Stored:
        state = before.state._replace(
            directories=directories,
            completed={"one": 0, "two": 0},
            submitted=submitted,
            ends={"one": {3: LastEnd("c", 1, "t", "exit code 1")}},
        )
        return before._replace(state=state, reread=False)

    store = Store(root)
    store.commit(edit)
    return store


def test_cleaning_completions_also_forgets_those_that_still_lie_staged(tmp_path: Path) -> None:
    store = begun(tmp_path, {"two": {0: Submitted("c", 5, "t")}})
    stage_completions(tmp_path, {"one": ["b"]})
    store.commit(lambda stored: with_news(tmp_path, stored))
    export_row_files(Store(tmp_path))
    stage_completions(tmp_path, {"one": ["c"]})
    store.commit(lambda stored: with_news(tmp_path, stored))

    forget(Store(tmp_path), directories=False, submitted=False, completed=True)

    assert os.listdir(tmp_path / ".row" / "completed") == []
    assert not (tmp_path / ".row" / "completed.postcard").exists()
    stored = export_row_files(Store(tmp_path)).stored
    assert stored is not None
    assert stored.state.completed == {"one": 0, "two": 0}
    assert set(stored.state.submitted) == {"two"}
    assert set(stored.state.ends) == {"one"}


def test_cleaning_jobs_and_directories_forgets_these_and_keeps_the_completions(
    tmp_path: Path,
) -> None:
    store = begun(tmp_path, {"two": {0: Submitted("c", 5, "t")}})
    stage_completions(tmp_path, {"one": ["b"]})
    store.commit(lambda stored: with_news(tmp_path, stored))
    export_row_files(Store(tmp_path))

    stored = forget(Store(tmp_path), directories=True, submitted=True, completed=False)

    assert (stored.state.submitted, stored.state.ends) == ({}, {})
    assert stored.state.completed == {"one": 0b10, "two": 0}
    assert stored.reread
    assert not (tmp_path / ".row" / "directories.json").exists()
    assert not (tmp_path / ".row" / "submitted.postcard").exists()
    assert (tmp_path / ".row" / "completed.postcard").exists()
