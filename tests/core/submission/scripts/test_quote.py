"""Quoted words are read back by a real bash as the bytes they stand for."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rowtui.core.base.text import header_value
from rowtui.core.submission.scripts.parts import (
    QuotingError,
    file_name_part,
    quote,
    quote_all,
)

NASTY = [b"'", b'"', b"\\", b"$", b"`", b"\n", b"\x1b", b"\xff", b"!", b"\x01", b"\x7f", b"\xc3"]
NAMES = st.lists(
    st.one_of(
        st.binary(min_size=0, max_size=12).map(lambda data: data.replace(b"\0", b"")),
        st.lists(st.sampled_from([*NASTY, b"a", b"0", b" ", b"f"]), max_size=8).map(b"".join),
    ),
    min_size=1,
    max_size=200,
)


def read_back(words: list[str], locale: str) -> list[bytes]:
    script = "printf '%s\\0' " + " ".join(words)
    done = subprocess.run(
        ["bash"],
        input=script.encode(),
        capture_output=True,
        env={"PATH": os.environ["PATH"], "LC_ALL": locale},
        check=True,
    )
    assert done.stderr == b""
    return done.stdout.split(b"\0")[:-1]


@given(NAMES, st.sampled_from(["C", "C.UTF-8"]))
@settings(max_examples=100, deadline=None)
def test_bash_reads_any_bytes_back(names: list[bytes], locale: str) -> None:
    words = [quote(name) for name in names]

    assert read_back(words, locale) == names
    assert [quote(os.fsdecode(name)) for name in names] == words


def test_every_single_byte_and_every_pair_with_a_digit_comes_back() -> None:
    names = [bytes([code]) + tail for code in range(1, 256) for tail in (b"", b"0", b"f", b"'")]

    assert read_back([quote(name) for name in names], "C.UTF-8") == names


# What Row 1.1 prints in the directories array for directories of these names.
ROW_PRINTS = {
    "\x01": r"$'\x01'",
    " lead": "$' lead'",
    "!": "$'!'",
    "#c": "$'#c'",
    "+a": "+a",
    "-d4": "-d4",
    "=a": "$'=a'",
    "a%b": "$'a%b'",
    "a+b": "a+b",
    "a,b": "a,b",
    "a:b": "a:b",
    "a=b": "$'a=b'",
    "a@b": "a@b",
    "a\\b": r"$'a\\b'",
    "a]b": "$'a]b'",
    "a^b": "$'a^b'",
    "a_b-c.d": "a_b-c.d",
    "a{b": "$'a{b'",
    "a\x7fb": r"$'a\x7Fb'",
    "a\u00a0b": "$'a\u00a0b'",
    "a\u0301": "$'a\u0301'",
    "d\t8": r"$'d\t8'",
    "d\n3": r"$'d\n3'",
    "d 1": "$'d 1'",
    'd"6': "$'d\"6'",
    "d'2": r"$'d\'2'",
    "e\x1b9": r"$'e\e9'",
    "{}": "$'{}'",
    "~x": "$'~x'",
    "é7": "$'é7'",
    "日本": "$'日本'",
    "\U0001f600": "$'\U0001f600'",
    "": "''",
}


@pytest.mark.parametrize(("name", "printed"), ROW_PRINTS.items())
def test_names_are_printed_as_row_prints_them(name: str, printed: str) -> None:
    assert quote(name) == printed


def test_a_trailing_newline_is_not_overlooked() -> None:
    assert quote("a\n") == r"$'a\n'"


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_what_no_argument_can_hold_is_refused(text: str) -> None:
    with pytest.raises(QuotingError):
        quote(text)


def test_header_values_stay_on_their_line_and_together() -> None:
    assert header_value("one-a+2") == "one-a+2"
    assert header_value("two x'y") == '"two x\'y"'
    assert header_value('a"b\\c #d') == '"a\\"b\\\\c #d"'
    assert header_value("a\n#SBATCH --wrap=x") == '"a\\\\n#SBATCH --wrap=x"'
    assert header_value("\udcff") == '"\\\\xff"'


def test_an_action_name_cannot_move_its_log() -> None:
    assert file_name_part("one") == "one"
    assert file_name_part("../x%j\\y\n") == ".._x_j_y_"


@given(st.lists(st.text() | st.from_regex(r"[a-z0-9_./-]+", fullmatch=True), max_size=4))
def test_many_texts_are_quoted_like_each_alone(texts: list[str]) -> None:
    texts = [text.replace("\0", "") for text in texts]
    assert quote_all(texts) == [quote(text) for text in texts]
