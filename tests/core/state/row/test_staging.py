from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.state.row.postcard import PostcardError, decode_completed
from rowtui.core.state.row.staging import (
    decode_names,
    encode_names,
    list_staged,
    read_staged,
    set_aside_staged,
    stage_completions,
    staging_folder,
)

names = st.binary(min_size=1, max_size=20).filter(lambda name: b"\0" not in name)
actions = st.text(min_size=1, max_size=9).filter(lambda a: "\0" not in a and a.isprintable())


@given(st.dictionaries(actions, st.lists(names, min_size=1, max_size=9), max_size=4))
def test_names_of_any_bytes_come_back(records: dict[str, list[bytes]]) -> None:
    data = encode_names(records)
    assert decode_names(data) == records
    if data:
        with pytest.raises(PostcardError):
            decode_names(data[:-1])


def test_one_file_is_staged_as_row_does(tmp_path: Path) -> None:
    (path,) = stage_completions(tmp_path, {"one": ["b", b"a", "b"], "two": []})
    assert path.parent == tmp_path / ".row" / "completed"
    stem, _, ending = path.name.partition(".")
    assert (len(stem), ending) == (32, "postcard")
    assert int(stem, 16)
    assert decode_completed(path.read_bytes()) == {"one": [b"a", b"b"]}
    assert os.listdir(path.parent) == [path.name]


def test_names_that_rows_form_cannot_hold_are_staged_beside(tmp_path: Path) -> None:
    paths = stage_completions(tmp_path, {"one": ["a", "\udcff\n"], "two": ["x"]})
    assert [path.suffix for path in paths] == [".postcard", ".names"]
    read = read_staged(tmp_path, list_staged(tmp_path))
    found = sorted((a, n) for file in read.staged for a, some in file.records.items() for n in some)
    assert found == [("one", b"a"), ("one", b"\xff\n"), ("two", b"x")]


def test_nothing_complete_stages_nothing(tmp_path: Path) -> None:
    assert stage_completions(tmp_path, {"one": []}) == []
    assert not (tmp_path / ".row").exists()
    assert list_staged(tmp_path) == []


def test_a_staged_file_that_cannot_be_read_stops_nobody(tmp_path: Path) -> None:
    stage_completions(tmp_path, {"one": ["a"]})
    folder = staging_folder(tmp_path)
    (folder / "bad.postcard").write_bytes(b"\x01\xff\xff")
    (folder / "bad.names").write_bytes(b"one\0a")
    os.mkfifo(folder / "pipe.postcard")
    (folder / "0123.tmp").write_bytes(b"half")
    read = read_staged(tmp_path, [*list_staged(tmp_path), "gone.postcard"])
    assert len(read.staged) == 1
    assert read.vanished
    assert [file for file, _ in read.unreadable] == ["bad.names", "bad.postcard", "pipe.postcard"]
    assert set_aside_staged(tmp_path, "bad.names")
    assert not set_aside_staged(tmp_path, "gone.postcard")
    assert "bad.names" not in list_staged(tmp_path)


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / ".row").write_bytes(b"a file")
    with pytest.raises(RowtuiError, match="completions cannot be saved") as caught:
        stage_completions(tmp_path, {"one": ["a"]})
    assert "rowtui scan" in caught.value.hint
