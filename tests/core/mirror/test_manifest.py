"""What is remembered of both sides, on a real disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.mirror.compare import ManifestEntry
from rowtui.core.mirror.manifest import Manifest, manifest_path, read_manifest, save_manifest
from rowtui.core.mirror.model import FILE, FOLDER_FACTS, LINK, FileFacts

from tests.core.mirror.conftest import HOSTILE


def entry(number: int) -> ManifestEntry:
    here = FileFacts(number, 10**18 + number, FILE, "", number % 2 == 0)
    return ManifestEntry(here, FileFacts(number, 7) if number % 3 else None)


def test_every_name_and_fact_comes_back_as_it_was(tmp_path: Path) -> None:
    path = manifest_path(tmp_path, "alpha")
    entries = {name: entry(number) for number, name in enumerate(HOSTILE)}
    entries |= {"dir": ManifestEntry(FOLDER_FACTS, FOLDER_FACTS)}
    link = FileFacts(0, 0, LINK, "to\udcff\n")
    entries |= {"link": ManifestEntry(link, link)}

    save_manifest(path, "/home/\udcff", "id", entries, ())

    assert read_manifest(path) == Manifest("/home/\udcff", "id", entries)
    assert path.read_bytes().isascii()


def test_what_another_process_saved_meanwhile_stays(tmp_path: Path) -> None:
    path = manifest_path(tmp_path, "alpha")
    save_manifest(path, "/c", "id", {"a": entry(1), "b": entry(2)}, ())

    save_manifest(path, "/c", "id", {"c": entry(3)}, ["a"])

    assert read_manifest(path).entries == {"b": entry(2), "c": entry(3)}


def test_entries_of_another_copy_are_not_taken_over(tmp_path: Path) -> None:
    path = manifest_path(tmp_path, "alpha")
    save_manifest(path, "/c", "id", {"a": entry(1)}, ())

    save_manifest(path, "/c", "another id", {"b": entry(2)}, ())

    assert read_manifest(path) == Manifest("/c", "another id", {"b": entry(2)})


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b'{"version": 1}',
        b'{"version": "x", "place": "", "copy_id": "", "files": {}}',
        b'{"version": 1, "place": "", "copy_id": "", "files": {"../x": [null, null]}}',
        b'{"version": 1, "place": "", "copy_id": "", "files": {"x": [null]}}',
        b'{"version": 1, "place": "", "copy_id": "", "files": {"x": [["q",1,1,"",0], null]}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_manifest_is_set_aside(tmp_path: Path, damage: bytes) -> None:
    path = manifest_path(tmp_path, "alpha")
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)

    read = read_manifest(path)

    assert not read.entries
    assert "damaged" in read.notice
    assert not path.exists()
    assert path.with_name("alpha.json.bad").read_bytes() == damage


def test_a_later_version_is_not_touched(tmp_path: Path) -> None:
    path = manifest_path(tmp_path, "alpha")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"version": 2}))

    with pytest.raises(RowtuiError, match="version 2"):
        read_manifest(path)
    assert path.exists()


def test_a_cluster_s_name_cannot_lead_elsewhere(tmp_path: Path) -> None:
    folder = manifest_path(tmp_path, "alpha").parent

    for name in ("..", "../../x", "/etc/passwd", "a/b", ""):
        assert manifest_path(tmp_path, name).parent == folder
