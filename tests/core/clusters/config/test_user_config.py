"""An entry is added to our clusters.toml as it was meant, or nothing is changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.config.load import load_clusters
from rowtui.core.clusters.config.user_config import add_entry, own_file

ENTRY = (
    '[[cluster]]\nname = "{}"\n[[cluster.node_type]]\nname = "n"\ncpus = 1\nmemory = "1G"\n'
)  # fmt: skip


def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path)}


def test_an_entry_makes_the_file_and_the_next_keeps_what_stood_there(tmp_path: Path) -> None:
    first = add_entry(ENTRY.format("anvil"), "anvil", environ(tmp_path))
    second = add_entry(ENTRY.format("andes"), "andes", environ(tmp_path))
    third = add_entry(ENTRY.format("delta"), "delta", environ(tmp_path))

    assert first == (own_file(environ(tmp_path)), None)
    assert second.backup is not None
    assert second.backup.read_text() == ENTRY.format("anvil")
    assert third.backup == second.backup.with_name("clusters.toml.bak2")
    loaded = load_clusters(environ(tmp_path))
    assert loaded.problems == ()
    assert [it.name for it in loaded.clusters if it.node_types] == ["andes", "anvil", "delta"]


def test_an_entry_that_would_not_be_read_is_not_written(tmp_path: Path) -> None:
    add_entry(ENTRY.format("anvil"), "anvil", environ(tmp_path))
    before = own_file(environ(tmp_path)).read_bytes()

    for text, name, why in (
        (ENTRY.format("anvil"), "anvil", "there are two node types 'n'"),
        (ENTRY.format("andes").replace("= 1\n", "= 0\n"), "andes", "`cpus` is 0"),
        (ENTRY.format("nowhere"), "nowhere", "no cluster is called 'nowhere'"),
        ("[[cluster]\n", "andes", "not valid TOML"),
        (ENTRY.format("andes"), "delta", "another description comes before it"),
    ):
        with pytest.raises(RowtuiError, match="nothing was written") as caught:
            add_entry(text, name, environ(tmp_path))
        assert why in caught.value.message

    assert own_file(environ(tmp_path)).read_bytes() == before
    assert [it.name for it in own_file(environ(tmp_path)).parent.iterdir()] == ["clusters.toml"]


def test_mistakes_that_are_there_already_do_not_stand_in_the_way(tmp_path: Path) -> None:
    file = own_file(environ(tmp_path))
    file.parent.mkdir(parents=True)
    file.write_text('[[cluster]]\nname = "bad"\nscheduler = "slrum"\n')
    add_entry(ENTRY.format("anvil"), "anvil", environ(tmp_path))
    anvil = load_clusters(environ(tmp_path)).named("anvil")
    assert anvil is not None
    assert len(anvil.node_types) == 1


def test_a_folder_that_cannot_be_made_is_an_error_for_people(tmp_path: Path) -> None:
    (tmp_path / ".config").write_text("")
    with pytest.raises(RowtuiError, match="cannot be written: Not a directory"):
        add_entry(ENTRY.format("anvil"), "anvil", environ(tmp_path))
    with pytest.raises(RowtuiError, match="no folder for configuration"):
        own_file({})


def test_a_pipe_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    file = own_file(environ(tmp_path))
    file.parent.mkdir(parents=True)
    os.mkfifo(file)
    with pytest.raises(RowtuiError, match="not a regular file"):
        add_entry(ENTRY.format("anvil"), "anvil", environ(tmp_path))
