"""Paths of this machine as paths of a cluster."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.config.load_remote import mapped, remote_path
from rowtui.core.clusters.model import PathPrefix

HOME = PathPrefix("/home/me", "/nfs/home/me")
DATA = PathPrefix("/home/me/data", "/lustre/me")


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("/home/me", "/nfs/home/me"),
        ("/home/me/a b/'c", "/nfs/home/me/a b/'c"),
        ("/home/me/data/x", "/lustre/me/x"),
        ("/home/me/database", "/nfs/home/me/database"),
        ("/home/meow", None),
        ("/home", None),
    ],
)
def test_the_longest_prefix_counts_by_whole_names(path: str, there: str | None) -> None:
    expected = None if there is None else PurePosixPath(there)
    for pairs in ((HOME, DATA), (DATA, HOME)):
        assert remote_path(Path(path), pairs) == expected


def test_a_link_into_a_shared_folder_is_followed_where_its_own_name_is_not_shared(
    tmp_path: Path,
) -> None:
    (tmp_path / "scratch" / "project").mkdir(parents=True)
    (tmp_path / "link").symlink_to("scratch")
    shared = PathPrefix(str(tmp_path / "scratch"), "/scratch")
    by_name = PathPrefix(str(tmp_path / "link"), "/link")

    assert remote_path(tmp_path / "link/project", [shared]) == PurePosixPath("/scratch/project")
    assert remote_path(tmp_path / "link/project", [shared, by_name]) == PurePosixPath(
        "/link/project"
    )
    assert remote_path(tmp_path / "link/new/one", [shared]) == PurePosixPath("/scratch/new/one")


def test_the_current_folder_is_found_where_the_prefix_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "data" / "me" / "project").mkdir(parents=True)
    (tmp_path / "home").symlink_to("data")
    pair = PathPrefix(str(tmp_path / "home" / "me"), "/nfs/me")

    here = (tmp_path / "home" / "me" / "project").resolve()  # as the system calls it

    assert remote_path(here, [pair]) == PurePosixPath("/nfs/me/project")


def test_dots_are_not_taken_away_before_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "far" / "inner").mkdir(parents=True)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "link").symlink_to("../far/inner")
    pair = PathPrefix(str(tmp_path / "shared"), "/s")

    assert remote_path(tmp_path / "shared/link/../x", [pair]) is None
    assert remote_path(tmp_path / "far/../shared/x", [pair]) == PurePosixPath("/s/x")


def test_a_loop_of_links_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert remote_path(tmp_path / "a/x", [PathPrefix("/elsewhere", "/e")]) is None
    assert remote_path(tmp_path / "a/x\0", [PathPrefix("/elsewhere", "/e")]) is None


names = st.text("ab '\"\n", min_size=1, max_size=3)
folders = st.lists(names, max_size=4).map(lambda parts: PurePosixPath("/", *parts))
pairs = st.lists(
    st.builds(PathPrefix, folders.map(str), folders.map(str)),
    max_size=4,
    unique_by=lambda pair: pair.local,
)


@given(folders, pairs)
def test_what_is_below_the_prefix_stays_as_it_is(
    path: PurePosixPath, known: list[PathPrefix]
) -> None:
    there = mapped(path, known)
    fitting = [
        pair
        for pair in known
        if path.parts[: len(parts := PurePosixPath(pair.local).parts)] == parts
    ]
    if not fitting:
        assert there is None
        return
    best = max(fitting, key=lambda pair: len(PurePosixPath(pair.local).parts))
    rest = path.parts[len(PurePosixPath(best.local).parts) :]
    assert there == PurePosixPath(best.remote, *rest)


@given(folders, pairs)
def test_the_order_of_the_prefixes_does_not_matter(
    path: PurePosixPath, known: list[PathPrefix]
) -> None:
    assert mapped(path, known) == mapped(path, known[::-1])


@given(folders, folders, folders)
def test_the_way_there_and_back_ends_where_it_began(
    local: PurePosixPath, remote: PurePosixPath, rest: PurePosixPath
) -> None:
    path = PurePosixPath(local, *rest.parts[1:])
    there = mapped(path, [PathPrefix(str(local), str(remote))])
    assert there is not None
    assert mapped(there, [PathPrefix(str(remote), str(local))]) == path
