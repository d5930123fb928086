"""A log as rows: the same rows however it was written, read, and however it grew."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.project.views import log_book
from rowtui.core.project.views.log_book import LogBook, row_starts
from rowtui.core.project.views.logs import LocalLog, read_log_end
from rowtui.core.project.views.views import LogRow

text_bytes = st.binary(max_size=300) | st.text(alphabet="ab\n é€𝄞", max_size=200).map(
    lambda text: text.encode()
)


def naive(data: bytes, width: int) -> list[int]:
    """Where rows begin, told line by line."""
    starts, at = [], 0
    for line in re.findall(rb"[^\n]*\n|[^\n]+$", data):
        begin, end = at, at + len(line)
        while True:
            starts.append(begin)
            body = end - begin - line.endswith(b"\n")
            if body <= width:
                break
            stop = begin + width
            for less in range(3):
                if data[stop - less] & 0xC0 != 0x80:
                    stop -= less
                    break
            begin = stop
        at = end
    return starts


@given(text_bytes, st.integers(4, 40), st.lists(st.integers(1, 60), max_size=20))
def test_rows_are_the_same_in_one_part_and_in_many(
    data: bytes, width: int, sizes: list[int]
) -> None:
    whole, _ = row_starts(data, 0, width)
    assert whole == naive(data, width)
    parts: list[int] = []
    at = carry = 0
    for size in [*sizes, len(data) + 1]:
        starts, carry = row_starts(data[at : at + size], carry, width)
        parts += [at + start for start in starts]
        at += size
    if data.isascii():  # where two parts meet a character may be cut, and rows go on from there
        assert parts == whole


async def rows_of(book: LogBook) -> list[LogRow]:
    state = book.state
    rows: list[LogRow] = []
    while len(rows) < state.rows:
        page = await book.page(len(rows), 100)
        assert page.rows
        rows += page.rows
    return rows


@settings(deadline=None, max_examples=40)
@given(st.lists(st.binary(max_size=400) | st.just(b"line\n") | st.just(b"x" * 90), max_size=12))
async def test_a_log_that_grows_in_pieces_has_the_rows_of_the_whole(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("log") / "out"
    path.touch()
    small = pytest.MonkeyPatch()
    small.setattr(log_book, "BLOCK", 64)
    small.setattr(log_book, "KEPT_BLOCKS", 3)
    try:
        book = LogBook(LocalLog(path), width=24)
        await book.look()
        for piece in pieces:
            path.write_bytes(path.read_bytes() + piece)
            await book.look()
        data = b"".join(pieces)
        rows = await rows_of(book)
        assert [row.offset for row in rows][:1] == ([0] if data else [])
        ends = [*(row.offset for row in rows[1:]), len(data)] if rows else []
        for row, end in zip(rows, ends, strict=True):
            raw = data[row.offset : end].removesuffix(b"\n")
            assert row.text == raw.decode("utf-8", "replace")
            assert row.goes_on == (row.offset > 0 and data[row.offset - 1 : row.offset] != b"\n")
            assert len(raw) <= 24
    finally:
        small.undo()


async def test_the_end_comes_first_and_the_rest_when_it_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "out"
    lines = [f"{number:07} step" for number in range(100_000)]
    path.write_text("\n".join(lines) + "\n")
    book = LogBook(LocalLog(path))
    state = await book.look()
    assert 0 < state.rows < 25_000
    last = await book.page(state.rows - 1, 5)
    assert [row.text for row in last.rows] == ["0099999 step"]
    before = (await book.page(0, 1)).rows[0]
    while state.first:
        generation = state.generation
        state = await book.earlier()
        assert state.generation > generation
        assert before in (await book.page(state.added, 1)).rows
        before = (await book.page(0, 1)).rows[0]
    assert state.rows == 100_000
    assert [row.text for row in (await book.page(50_000, 2)).rows] == lines[50_000:50_002]
    assert (await book.earlier()).generation == state.generation


async def test_a_line_of_five_megabytes_is_rows_that_go_on(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"\x00\xff\x1b[2J" * 900_000)
    book = LogBook(LocalLog(path))
    state = await book.look()
    page = await book.page(0, 10_000)
    assert len(page.rows) == min(state.rows, log_book.MOST_ROWS)
    assert all(len(row.text) <= log_book.ROW for row in page.rows)
    assert page.rows[1].goes_on
    while state.first:
        state = await book.earlier()
    assert state.rows == -(-path.stat().st_size // log_book.ROW)


@pytest.mark.parametrize("end", [b"", b"\n", b"x", b"\nhello\n"])
async def test_a_sparse_log_of_gigabytes_is_shown_as_what_it_is(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "log"
    with path.open("wb") as log:
        log.truncate(11 << 30)
        log.seek(0, os.SEEK_END)
        log.write(end)
    book = LogBook(LocalLog(path))
    state = await book.look()
    assert state.size == (11 << 30) + len(end)
    assert state.rows > 0
    state = await book.earlier()
    assert 0 < state.rows < 200  # of four megabytes
    rows = [row.text for row in (await book.page(0, 500)).rows]
    assert rows[0] == "65,536 NUL bytes"
    assert end.strip() == b"" or rows[-1].endswith(end.strip().decode())
    tail = await read_log_end(LocalLog(path), 5)
    assert tail.lines


async def test_another_file_in_its_place_starts_over(tmp_path: Path) -> None:
    path = tmp_path / "out"
    book = LogBook(LocalLog(path))
    assert (await book.look()).error == "nothing has been written yet"
    path.write_text("one\ntwo\n")
    state = await book.look()
    assert (state.rows, state.error) == (2, "")
    path.write_text("1\n")  # cut
    again = await book.look()
    assert again.generation > state.generation
    assert [row.text for row in await rows_of(book)] == ["1"]
    (tmp_path / "new").write_text("a requeued job\nwrites anew\n")
    os.replace(tmp_path / "new", path)
    await book.look()
    assert [row.text for row in await rows_of(book)] == ["a requeued job", "writes anew"]
    path.unlink()
    gone = await book.look()
    assert gone.rows == 2  # what is known stays readable
    path.mkdir()
    with pytest.raises(RowtuiError, match="cannot be read"):
        await book.look()


async def test_what_runs_away_is_followed_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("begin\n")
    book = LogBook(LocalLog(path), far=True)
    await book.look()
    path.write_text("begin\n" + "".join(f"{number:09}\n" for number in range(200_000)))
    state = await book.look()
    assert state.first > 0
    assert (await book.page(state.rows - 1, 1)).rows[0].text == f"{199_999:09}"


async def test_finding_goes_both_ways_and_round_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out"
    lines = [f"step {number}" for number in range(30_000)]
    for at in (10, 15_000, 29_990):
        lines[at] = f"step {at} NaN in forces"
    path.write_text("\n".join(lines) + "\n")
    book = LogBook(LocalLog(path))
    while (await book.look()).first:
        await book.earlier()
    pattern = re.compile(b"NaN")
    assert (await book.find(pattern, 0, backwards=False)).row == 10
    assert (await book.find(pattern, 10, backwards=False)).row == 15_000
    wrapped = await book.find(pattern, 29_990, backwards=False)
    assert (wrapped.row, wrapped.wrapped) == (10, True)
    assert (await book.find(pattern, 29_990, backwards=True)).row == 15_000
    wrapped = await book.find(pattern, 10, backwards=True)
    assert (wrapped.row, wrapped.wrapped) == (29_990, True)
    assert (await book.find(re.compile(b"nowhere"), 5, backwards=False)).row is None
    assert sum((await book.look()).trouble) == 0


async def test_what_looks_like_an_error_is_counted_where_it_is(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("fine\n" * 40_000 + "Traceback (most recent call last):\n" + "fine\n" * 10)
    state = await LogBook(LocalLog(path)).look()
    assert sum(state.trouble) == 1
    assert state.trouble[-1] == 1
