"""Files from other people: cut short, damaged, far too large, or no recordings at all."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.engine.recording import tape
from rowtui.core.engine.recording.replay import ReplayEngine

HEAD = {tape.MAGIC: tape.VERSION, "rowtui": "0", "at": 1e9}
ANSWER = {"t": 1.0, "call": "network.view", "with": {}, "answer": None}


def written(path: Path, *entries: Any) -> Path:
    lines = [it if isinstance(it, bytes) else json.dumps(it).encode() for it in entries]
    path.write_bytes(gzip.compress(b"".join(line + b"\n" for line in lines)))
    return path


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ([b"\xff\x00 not json"], "not a recording"),
        ([{"name": "something else"}], "not a recording"),
        ([{**HEAD, tape.MAGIC: 1}, ANSWER], "of version 1"),
        ([{**HEAD, "at": "now"}, ANSWER], "when it was made"),
        ([HEAD], "holds nothing"),
        ([HEAD, b"{"], "line 2"),
        ([HEAD, {"t": -1, "call": "network.view"}], "line 2"),
        ([HEAD, {"t": 1, "call": 7}], "line 2"),
        ([HEAD, b"[" * 100_000], "line 2"),
    ],
)
def test_what_is_no_recording_is_said_in_a_sentence(
    tmp_path: Path, entries: list[Any], says: str
) -> None:
    with pytest.raises(RowtuiError, match=says):
        tape.read_tape(written(tmp_path / "r", *entries))


def test_what_is_not_even_compressed_or_is_not_there_is_said(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("hello")
    with pytest.raises(RowtuiError, match="not a recording"):
        tape.read_tape(tmp_path / "plain")
    with pytest.raises(RowtuiError, match="cannot be read"):
        tape.read_tape(tmp_path / "missing")


def test_a_recording_that_was_cut_plays_as_far_as_it_goes(tmp_path: Path) -> None:
    path = written(tmp_path / "r", HEAD, ANSWER, *({**ANSWER, "t": n} for n in range(2000)))
    path.write_bytes(path.read_bytes()[:-40])

    _, lines, notice = tape.read_tape(path)

    assert lines
    assert "ends in the middle" in notice


def test_a_file_that_unpacks_to_gigabytes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tape, "LARGEST", 1 << 20)
    path = written(tmp_path / "r", HEAD, *([ANSWER] * 50_000))
    assert path.stat().st_size < 100_000
    with pytest.raises(RowtuiError, match="unpacks to more"):
        tape.read_tape(path)
    (tmp_path / "huge").touch()
    with (tmp_path / "huge").open("r+b") as file:
        file.truncate(1 << 30)
    with pytest.raises(RowtuiError, match="too large"):
        tape.read_tape(tmp_path / "huge")


def test_a_full_tape_takes_no_more_and_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tape, "LARGEST", 10_000)
    made = tape.Tape(tmp_path / "r", 1e9)
    for _ in range(1000):
        made.add(ANSWER)
    made.close()
    assert made.full
    assert 50 < len(tape.read_tape(tmp_path / "r")[1]) < 1000
    with pytest.raises(RowtuiError, match="exists already"):
        tape.Tape(tmp_path / "r", 1e9)


async def test_a_damaged_answer_names_its_line_and_what_is_missing_is_said(tmp_path: Path) -> None:
    wrong = {**ANSWER, "answer": {"!": "text.Cost", "v": {}}}
    engine = ReplayEngine(written(tmp_path / "r", HEAD, wrong))
    with pytest.raises(RowtuiError, match="line 2 of the recording is damaged"):
        await engine.network.view()
    with pytest.raises(RowtuiError, match="not in the recording"):
        await engine.groups.page(0, (), 0, 10)
    with pytest.raises(RowtuiError, match="nothing can be changed"):
        await engine.jobs.cancel(["a"])
