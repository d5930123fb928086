from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.state.row.postcard import (
    BLOCK_FROM,
    TRAILER_MAGIC,
    NameBlock,
    PostcardError,
    decode_completed,
    decode_submitted,
    encode_submitted,
    varint,
)

from tests.core.state.encoding import encode_completed

# Written by Row 1.1.0.
ROW_COMPLETED = bytes.fromhex("02036f6e6502046469723004646972310374776f00")
ROW_STAGED = bytes.fromhex("01036f6e6503046469723004646972310464697232")
ROW_SUBMITTED = bytes.fromhex(
    "01036f6e65020464697232037269678 0d0acf30e0464697233037269678 1d0acf30e".replace(" ", "")
)

utf8_names = st.text(max_size=200).map(lambda text: text.encode(errors="ignore").rstrip(b"/"))
actions = st.text(max_size=5).map(lambda text: text.encode(errors="ignore").decode())


def test_files_that_row_wrote_are_decoded() -> None:
    assert decode_completed(ROW_COMPLETED) == {"one": [b"dir0", b"dir1"], "two": []}
    assert decode_completed(ROW_STAGED) == {"one": [b"dir0", b"dir1", b"dir2"]}
    assert decode_submitted(ROW_SUBMITTED) == {
        "one": {b"dir2": ("rig", 4_000_000_000), b"dir3": ("rig", 4_000_000_001)}
    }


def test_our_bytes_are_rows_where_row_happened_to_sort() -> None:
    assert encode_completed(decode_completed(ROW_COMPLETED)) == ROW_COMPLETED
    assert encode_submitted(decode_submitted(ROW_SUBMITTED)) == ROW_SUBMITTED


@given(st.dictionaries(actions, st.sets(utf8_names, max_size=80), max_size=4), st.binary())
def test_completions_come_back_with_our_trailer_behind_them(
    records: dict[str, set[bytes]], trailer: bytes
) -> None:
    found = decode_completed(encode_completed(records) + TRAILER_MAGIC + trailer)
    assert {action: set(names) for action, names in found.items()} == records


@given(st.binary(min_size=1).filter(lambda it: not it.startswith(TRAILER_MAGIC)))
def test_other_bytes_behind_the_records_are_damage(garbage: bytes) -> None:
    for data in (encode_completed({}), encode_submitted({})):
        for decode in (decode_completed, decode_submitted):
            with pytest.raises(PostcardError):
                decode(data + garbage)


@given(
    st.dictionaries(
        actions,
        st.dictionaries(utf8_names, st.tuples(actions, st.integers(0, 2**32 - 1))),
        max_size=4,
    )
)
def test_jobs_come_back(records: dict[str, dict[bytes, tuple[str, int]]]) -> None:
    assert decode_submitted(encode_submitted(records)) == records


def test_the_same_records_give_the_same_bytes_in_any_order() -> None:
    one = encode_completed({"a": [b"x", b"y", b"x"], "b": []})
    assert one == encode_completed({"b": [], "a": [b"y", b"x"]})


@pytest.mark.parametrize("count", [BLOCK_FROM - 1, BLOCK_FROM, 3000])
def test_a_block_of_equal_lengths_has_the_names_that_single_reading_finds(count: int) -> None:
    names = [b"%032x" % number for number in range(count)]
    found = decode_completed(encode_completed({"a": names}))["a"]
    assert isinstance(found, NameBlock) == (count >= BLOCK_FROM)
    assert list(found) == names
    assert [found[0], found[count - 1], len(found)] == [names[0], names[-1], count]


@given(st.lists(st.sampled_from([b"ab", b"cd", b"ef\x02", b"\x02\x02", "é".encode()]), max_size=90))
def test_names_that_look_like_a_block_but_are_none_are_read_one_by_one(names: list[bytes]) -> None:
    data = varint(1) + b"\x01a" + varint(len(names))
    data += b"".join(varint(len(name)) + name for name in names)
    assert list(decode_completed(data)["a"]) == names


@given(
    st.dictionaries(actions, st.sets(utf8_names, max_size=70), min_size=1, max_size=3), st.data()
)
def test_a_file_cut_short_anywhere_is_an_error(
    records: dict[str, set[bytes]], data: st.DataObject
) -> None:
    whole = encode_completed(records)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(PostcardError):
        decode_completed(whole[:cut])


@given(st.binary(max_size=300))
def test_no_bytes_at_all_crash_the_decoders(data: bytes) -> None:
    for decode in (decode_completed, decode_submitted):
        with contextlib.suppress(PostcardError):
            assert isinstance(decode(data), dict)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xff" * 11, "too large"),
        (b"\x80" * 9 + b"\x02", "too large"),
        (b"\xff\xff\xff\x7f", "entries are announced"),
        (b"\x01\x01a\x01\x01\xff", "not UTF-8"),
        (b"", "in the middle"),
    ],
)
def test_absurd_lengths_and_bad_text_are_named(data: bytes, words: str) -> None:
    with pytest.raises(PostcardError, match=words):
        decode_completed(data)


def test_a_job_id_has_32_bits() -> None:
    good = b"\x01\x01a\x01\x01d\x01c" + varint(2**32 - 1)
    assert decode_submitted(good) == {"a": {b"d": ("c", 2**32 - 1)}}
    with pytest.raises(PostcardError, match="too large"):
        decode_submitted(b"\x01\x01a\x01\x01d\x01c" + varint(2**32))


@pytest.mark.parametrize("others", [3, 500])
@pytest.mark.parametrize("width", [10, 47])
def test_a_name_with_a_slash_behind_it_is_the_name(others: int, width: int) -> None:
    names = [f"{number:0{width}}".encode() for number in range(others)]
    given = [*names, b"x" * (width - 1) + b"/"]
    found = decode_completed(encode_completed({"one": given}))["one"]
    assert sorted(found) == sorted([*names, b"x" * (width - 1)])
    jobs = decode_submitted(encode_submitted({"one": {b"d0/": ("none", 1)}}))
    assert jobs == {"one": {b"d0": ("none", 1)}}
