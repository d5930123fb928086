from __future__ import annotations

from pathlib import Path

from rowtui.core.state.model import Submitted
from rowtui.core.state.records import with_news
from rowtui.core.state.row.postcard import encode_submitted
from rowtui.core.state.row.staging import stage_completions, staging_folder
from rowtui.core.state.store.store import Store
from rowtui.core.state.store.stored import Stored

from tests.core.state.building import built
from tests.core.state.encoding import encode_completed


def begun(root: Path) -> Stored:
    directories = built({name.encode(): 1 for name in "abcdef"})

    def edit(before: Stored) -> Stored:
        state = before.state._replace(directories=directories, completed={"one": 0})
        return before._replace(state=state, reread=False)

    return Store(root).commit(edit)


def test_what_row_wrote_and_what_jobs_staged_since_is_in_the_records(tmp_path: Path) -> None:
    stored = begun(tmp_path)
    row = tmp_path / ".row"
    (row / "submitted.postcard").write_bytes(encode_submitted({"one": {b"a": ("anvil", 12)}}))
    (row / "completed.postcard").write_bytes(encode_completed({"one": [b"f"]}))
    stage_completions(tmp_path, {"one": ["b"]})

    after = with_news(tmp_path, stored)

    assert after.state.submitted == {"one": {0: Submitted("anvil", 12)}}
    assert after.state.completed == {"one": 0b100010}


def test_without_news_the_very_same_records_come_back(tmp_path: Path) -> None:
    stored = begun(tmp_path)
    assert with_news(tmp_path, stored) is stored
    stage_completions(tmp_path, {"one": ["b"]})
    after = with_news(tmp_path, stored)
    assert after is not stored
    assert with_news(tmp_path, after) is after


def test_a_staged_file_that_cannot_be_read_stops_nothing_and_stays(tmp_path: Path) -> None:
    stored = begun(tmp_path)
    stage_completions(tmp_path, {"one": ["b"]})
    strange = staging_folder(tmp_path) / f"{'0' * 32}.postcard"
    strange.write_bytes(b"\xff\xff\xff")

    after = with_news(tmp_path, stored)

    assert after.state.completed == {"one": 0b10}
    assert strange.exists()
