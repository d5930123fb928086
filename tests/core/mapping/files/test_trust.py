"""What may run: the user's own files, and exactly the contents that the user trusted."""

from __future__ import annotations

import json
import os
import random
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.mapping.files.trust import (
    LARGEST_SOURCE,
    TrustRecord,
    TrustStore,
    day,
    difference,
    digest_of,
    own_file_objection,
)

NOON = 1_795_262_400.0  # 2026-11-21 12:00 UTC
RULES = b"tools:\n  a:\n    rules:\n    - if: cores > 3\n"


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "share" / "rowtui" / "trust")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = tmp_path / "config" / "mapping"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    return folder


def put(path: Path, data: bytes = RULES, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o755)
    path.write_bytes(data)
    path.chmod(mode)
    return path


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a file somebody else's: really where we may, else by being somebody else ourselves."""
    if os.getuid() == 0:
        os.chown(path, 4242, 4242)
    else:
        someone = os.getuid() + 1
        monkeypatch.setattr(os, "getuid", lambda: someone)


# --- the store ------------------------------------------------------------------------------------


def test_nothing_is_trusted_before_somebody_trusts_it(store: TrustStore) -> None:
    assert not store.is_trusted(digest_of(RULES))
    assert store.listing() == ()
    assert store.last_trusted("/p/mapping.yml") is None
    assert not store.folder.exists()


def test_a_trusted_content_is_trusted_and_a_changed_one_is_not(store: TrustStore) -> None:
    digest = store.trust("/p/mapping.yml", RULES, NOON)
    assert digest == digest_of(RULES)
    assert TrustStore(store.folder).is_trusted(digest)
    assert not store.is_trusted(digest_of(RULES + b" "))
    assert store.record(digest) == TrustRecord(digest, "/p/mapping.yml", NOON)


def test_the_store_is_for_this_user_alone(store: TrustStore) -> None:
    before = os.umask(0)
    try:
        store.trust("/p/mapping.yml", RULES, NOON)
    finally:
        os.umask(before)
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    files = list(store.folder.iterdir())
    assert len(files) == 2
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_the_same_content_may_be_trusted_under_several_names(store: TrustStore) -> None:
    digest = store.trust("/p/mapping.yml", RULES, NOON)
    store.trust("/q/mapping.yml", RULES, NOON + 5)
    store.trust("/p/mapping.yml", RULES, NOON + 9)
    assert store.listing() == (
        TrustRecord(digest, "/q/mapping.yml", NOON + 5),
        TrustRecord(digest, "/p/mapping.yml", NOON + 9),
    )


def test_the_last_content_under_a_name_is_what_a_new_one_is_compared_with(
    store: TrustStore,
) -> None:
    store.trust("/p/mapping.yml", b"new", NOON + 2)
    store.trust("/p/mapping.yml", b"old", NOON + 1)
    store.trust("/q/mapping.yml", b"other", NOON + 3)
    assert store.last_trusted("/p/mapping.yml") == b"new"


def test_revoked_content_is_trusted_no_more_and_the_rest_is(store: TrustStore) -> None:
    kept = store.trust("/p/a.yml", b"kept", NOON)
    gone = store.trust("/p/b.yml", RULES, NOON)
    assert store.revoke(gone)
    assert not store.is_trusted(gone)
    assert store.is_trusted(kept)
    assert not store.revoke(gone)
    assert len(list(store.folder.iterdir())) == 2


def test_a_text_that_was_tampered_with_does_not_count(store: TrustStore) -> None:
    digest = store.trust("/p/mapping.yml", RULES, NOON)
    (store.folder / f"{digest}.yml").write_bytes(b"import os")
    assert not store.is_trusted(digest)
    assert store.listing() == ()
    assert store.last_trusted("/p/mapping.yml") is None


def test_evil_text_under_a_trusted_record_is_not_trusted_either(store: TrustStore) -> None:
    store.trust("/p/mapping.yml", RULES, NOON)
    evil = digest_of(b"evil")
    (store.folder / f"{evil}.yml").write_bytes(b"evil")
    assert not store.is_trusted(evil)


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"version": 2, "sha256": "D", "names": [{"name": "n", "at": 1}]}',
        b'{"version": 1, "sha256": "0", "names": [{"name": "n", "at": 1}]}',
        b'{"version": 1, "sha256": "D", "names": []}',
        b'{"version": 1, "sha256": "D", "names": [{"name": "n"}]}',
        b'{"version": 1, "sha256": "D", "names": [{"name": "n", "at": "soon"}]}',
        b'{"version": 1, "sha256": "D", "names": [3]}',
    ],
)
def test_a_damaged_record_does_not_count(store: TrustStore, record: bytes) -> None:
    digest = store.trust("/p/mapping.yml", RULES, NOON)
    (store.folder / f"{digest}.json").write_bytes(record.replace(b'"D"', f'"{digest}"'.encode()))
    assert not store.is_trusted(digest)
    store.trust("/p/mapping.yml", RULES, NOON)
    assert store.is_trusted(digest)


def test_a_well_formed_record_is_what_the_damaged_ones_differ_from(store: TrustStore) -> None:
    digest = store.trust("/p/mapping.yml", RULES, NOON)
    record = {"version": 1, "sha256": digest, "names": [{"name": "n", "at": 1}]}
    (store.folder / f"{digest}.json").write_text(json.dumps(record))
    assert store.is_trusted(digest)


def test_a_store_that_others_can_write_does_not_count(store: TrustStore) -> None:
    digest = store.trust("/p/mapping.yml", RULES, NOON)
    store.folder.chmod(0o770)
    assert not store.is_trusted(digest)
    assert "its group" in store.objection()
    with pytest.raises(RowtuiError, match="nothing can be trusted"):
        store.trust("/p/mapping.yml", b"new", NOON)


@pytest.mark.parametrize("digest", ["", "x" * 64, "../" * 21 + "a", "/etc/passwd", "A" * 64])
def test_what_is_no_digest_is_never_looked_up(store: TrustStore, digest: str) -> None:
    store.trust("/p/mapping.yml", RULES, NOON)
    assert not store.is_trusted(digest)
    assert not store.revoke(digest)


def test_a_name_with_escape_sequences_is_kept_visible(store: TrustStore) -> None:
    store.trust("/p/\x1b[2J\udcff.yml", RULES, NOON)
    (record,) = store.listing()
    assert record.name == "/p/\\x1b[2J\\xff.yml"
    assert store.last_trusted("/p/\x1b[2J\udcff.yml") == RULES


def test_more_than_a_source_may_have_is_not_trusted(store: TrustStore) -> None:
    with pytest.raises(RowtuiError, match="too large"):
        store.trust("/p/mapping.yml", b" " * (LARGEST_SOURCE + 1), NOON)


def test_a_store_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(RowtuiError, match="cannot be written"):
        TrustStore(tmp_path / "file" / "trust").trust("/p/mapping.yml", RULES, NOON)


@pytest.mark.parametrize("at", [float("nan"), float("inf"), -1e300])
def test_a_damaged_date_has_no_day(at: float) -> None:
    assert day(at) == "an unknown day"
    assert day(NOON).startswith("2026-11-2")


# --- whose file it is -----------------------------------------------------------------------------


def test_a_file_in_the_users_own_folder_is_their_own(own: Path) -> None:
    assert own_file_objection(put(own / "a.yml"), own) == ""
    assert own_file_objection(put(own / "site" / "a.yml"), own) == ""


@pytest.mark.parametrize(("mode", "who"), [(0o664, "its group"), (0o646, "everybody")])
def test_a_file_that_others_can_write_is_not_the_users_own(own: Path, mode: int, who: str) -> None:
    path = put(own / "a.yml", mode=mode)
    assert own_file_objection(path, own) == f"{path} can be written by {who}"


@pytest.mark.parametrize("below", ["", "site"])
def test_nor_is_one_in_a_folder_that_others_can_write(own: Path, below: str) -> None:
    path = put(own / "site" / "a.yml")
    (own / below).chmod(0o775)
    assert own_file_objection(path, own) == f"{own / below} can be written by its group"


def test_nor_is_one_that_belongs_to_somebody_else(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(own / "a.yml")
    assert own_file_objection(path, own) == ""
    give_away(path, monkeypatch)
    assert "belongs to another user" in own_file_objection(path, own)


def test_nor_is_one_beside_the_folder(own: Path) -> None:
    path = put(own.parent / "mapping.evil" / "a.yml")
    assert "outside your configuration folder" in own_file_objection(path, own)


def test_a_configuration_folder_that_is_a_link_is_followed(own: Path, tmp_path: Path) -> None:
    put(own / "a.yml")
    link = tmp_path / "link"
    link.symlink_to(own)
    assert own_file_objection(own / "a.yml", link) == ""


# --- the difference -------------------------------------------------------------------------------


def test_the_difference_shows_what_was_there_and_what_is_now() -> None:
    old = b"".join(b"line %d\n" % n for n in range(20))
    new = old.replace(b"line 10\n", b"import os\n")
    assert difference(old, new, "mapping.yml") == [
        "--- mapping.yml (trusted)",
        "+++ mapping.yml (now)",
        "@@ -8,7 +8,7 @@",
        " line 7",
        " line 8",
        " line 9",
        "-line 10",
        "+import os",
        " line 11",
        " line 12",
        " line 13",
    ]


def test_a_new_file_is_all_additions() -> None:
    assert difference(None, b"a\nb\n", "m")[2:] == ["@@ -0,0 +1,2 @@", "+a", "+b"]


def test_the_same_content_has_no_difference() -> None:
    assert difference(RULES, RULES, "m") == []


def test_a_missing_newline_at_the_end_is_a_difference() -> None:
    lines = difference(b"a\nb\n", b"a\nb", "m")
    assert lines[-2:] == ["-b", "+b (no newline at the end)"]


def test_lines_that_look_like_headings_are_not_lost() -> None:
    many = b"".join(b"-- %d\n" % n for n in range(3_000))
    lines = difference(many, b"++ x\n-- y\n", "m", most_lines=5_000)
    assert lines.count("--- 0") == 1
    assert "+++ x" in lines
    assert "+-- y" in lines
    assert difference(b"-- x\n", b"++ x\n", "m")[3:] == ["--- x", "+++ x"]


def test_nothing_in_a_difference_steers_a_terminal() -> None:
    lines = difference(b"a\n", "\x1b[2Ja\r\u202e\xff\n".encode() + b"\xff\x00\n", "\x1b]0;m")
    assert all(line.isprintable() for line in lines)
    assert "+\\x1b[2Ja\\r\\u202e\xff" in lines


def test_what_is_left_out_of_a_long_difference_is_counted() -> None:
    lines = difference(None, b"x\n" * 50_000, "m", most_lines=10)
    assert len(lines) == 13
    assert lines[-1] == "... and 49,991 more lines of difference, not shown"


def test_the_end_of_a_very_long_line_is_counted() -> None:
    (line,) = difference(None, b"x" * 5_000 + b"\n", "m")[3:]
    assert line == "+" + "x" * 1_000 + " ... and 4,000 more characters"


def test_large_files_without_anything_in_common_are_listed() -> None:
    rng = random.Random(1)
    old, new = (b"".join(b"%d\n" % rng.randrange(30) for _ in range(9_000)) for _ in range(2))
    lines = difference(old, new, "m", most_lines=20_000)
    assert sum(line.startswith("-") for line in lines) > 8_000


texts = st.lists(st.sampled_from(["a", "b", "c", "-- x", "++ y", "@@"]), max_size=30)


@given(texts, texts, st.booleans(), st.booleans())
def test_a_difference_applied_to_the_old_text_gives_the_new_one(
    old: list[str], new: list[str], old_ends: bool, new_ends: bool
) -> None:
    def joined(lines: list[str], ends: bool) -> bytes:
        return ("\n".join(lines) + ("\n" if ends and lines else "")).encode()

    before, after = joined(old, old_ends), joined(new, new_ends)
    lines = difference(before, after, "m")
    assert (lines == []) == (before == after)
    assert _applied(before, lines) == after


def _applied(before: bytes, lines: list[str]) -> bytes:
    """A patch(1) of a few lines."""
    mark = " (no newline at the end)"
    old = before.decode().split("\n")
    old = [*old[:-1], old[-1] + mark] if old[-1] else old[:-1]
    done: list[str] = []
    at = 0
    for line in lines[2:]:
        if line.startswith("@@ "):
            start, _, count = line.split(" ")[1][1:].partition(",")
            first = int(start) - (count != "0")
            done += old[at:first]
            at = first
        elif line[0] == "+":
            done.append(line[1:])
        else:
            assert old[at] == line[1:]
            at += 1
            if line[0] == " ":
                done.append(line[1:])
    text = "".join(line + "\n" for line in done + old[at:])
    return text.removesuffix(mark + "\n").encode()
