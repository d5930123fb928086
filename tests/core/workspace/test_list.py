"""Listing a workspace."""

import os
import socket
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.workspace.list import RACY_NS, list_workspace, workspace_mtime_ns

HOSTILE = [b"a'; rm -rf ~ #", b"two\nlines", b"-rf", b"esc\x1b[2J", b"caf\xe9\xff", b" ", b"a b"]


def test_only_directories_are_listed_hidden_ones_included(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("one")
    (tmp_path / "broken").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")

    assert list_workspace(tmp_path).names == [b".hidden", b"one"]


def test_names_are_bytes_as_they_are_on_disk(tmp_path: Path) -> None:
    for name in HOSTILE:
        os.mkdir(os.path.join(os.fsencode(tmp_path), name))

    assert list_workspace(tmp_path).names == sorted(HOSTILE)


def test_a_listing_is_sorted_by_name_and_has_the_inodes(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / f"{number * 7919 % 200:03}").mkdir()

    listing = list_workspace(tmp_path)

    assert listing.names == [b"%03d" % number for number in range(200)]
    inodes = [(tmp_path / os.fsdecode(name)).stat().st_ino for name in listing.names]
    assert list(listing.inodes) == inodes
    assert list(listing.inodes_of(listing.names)) == inodes
    assert list(listing.inodes_of(listing.names[5:9])) == inodes[5:9]


def test_a_workspace_that_is_a_symlink_is_listed(tmp_path: Path) -> None:
    (tmp_path / "real" / "one").mkdir(parents=True)
    (tmp_path / "workspace").symlink_to("real")

    assert list_workspace(tmp_path / "workspace").names == [b"one"]


def test_the_modification_time_is_that_of_the_listed_state(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    before = list_workspace(tmp_path)
    assert before.mtime_ns == workspace_mtime_ns(tmp_path)

    os.utime(tmp_path, ns=(before.mtime_ns + 1, before.mtime_ns + 1))

    assert list_workspace(tmp_path).mtime_ns == before.mtime_ns + 1


@pytest.mark.parametrize(
    ("age_ns", "racy"), [(0, True), (RACY_NS // 2, True), (-(10**12), True), (10**12, False)]
)
def test_a_recent_or_future_change_makes_a_listing_racy(
    tmp_path: Path, age_ns: int, racy: bool
) -> None:
    when = list_workspace(tmp_path).listed_at_ns - age_ns
    os.utime(tmp_path, ns=(when, when))

    assert list_workspace(tmp_path).racy is racy


def test_a_missing_workspace_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RowtuiError, match="does not exist") as raised:
        list_workspace(tmp_path / "no\x1bwhere")

    assert "workflow.toml" in raised.value.hint
    assert "\x1b" not in raised.value.message
    with pytest.raises(RowtuiError, match="does not exist"):
        workspace_mtime_ns(tmp_path / "nowhere")


def test_a_workspace_that_is_no_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RowtuiError, match="is not a folder"):
        list_workspace(tmp_path / "file")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        with pytest.raises(RowtuiError, match="is not a folder"):
            list_workspace(tmp_path / "s")


def test_a_workspace_behind_a_loop_of_symlinks_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(RowtuiError, match="cannot be read"):
        list_workspace(tmp_path / "loop")


def test_the_state_of_a_project_is_no_directory_of_it(tmp_path: Path) -> None:
    for name in ("a", ".row", ".z"):
        (tmp_path / name).mkdir()
    assert list_workspace(tmp_path).names == [b".row", b".z", b"a"]
    (tmp_path / "workflow.toml").touch()
    listing = list_workspace(tmp_path)
    assert listing.names == [b".z", b"a"]
    assert set(listing.inodes) == {(tmp_path / name).stat().st_ino for name in ("a", ".z")}
