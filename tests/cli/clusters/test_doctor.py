"""`rowtui doctor` marks what would fail later, and names what to do."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from rowtui.cli.clusters.machine import folder_findings
from rowtui.core.clusters.config.builtin import CLUSTERS

from tests.cli.conftest import Shell


def findings(shell: Shell, **environment: str) -> tuple[int, dict[str, tuple[str, str, str]]]:
    """The exit code, and verdict, text and hint of the last finding of each topic."""
    done = shell("doctor", "--json", cluster=None, **environment)
    found = json.loads(done.stdout)["findings"]
    return done.returncode, {it["topic"]: (it["verdict"], it["text"], it["hint"]) for it in found}


def test_a_machine_without_faults_has_no_error(empty_folder: Shell) -> None:
    code, found = findings(empty_folder, TERM="xterm-256color", LC_ALL="C.UTF-8")
    assert code == 0
    assert found["state"][0] == "ok"
    assert "locale" not in found
    assert "home" not in found


def test_centres_elsewhere_are_not_named(empty_folder: Shell) -> None:
    _, found = findings(empty_folder)
    said = " ".join(found["cluster"][1:] if found["cluster"][2] else found["cluster"][1:2])
    names = {it.name for it in CLUSTERS} - {"local", "none"}
    assert not [name for name in names if f" {name}" in said]


def test_folders_that_cannot_be_written_are_errors(empty_folder: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, found = findings(
        empty_folder,
        XDG_STATE_HOME=str(tmp_path / "file"),
        ROWTUI_LOCAL_DIR="/proc/nowhere",
    )
    assert code == 1
    assert found["state"][0] == "error"
    assert "XDG_STATE_HOME" in found["state"][2]
    assert found["queue"][0] == "warning"  # other clusters do not need it
    assert "ROWTUI_LOCAL_DIR" in found["queue"][2]


def test_a_home_that_is_no_folder_is_an_error(empty_folder: Shell) -> None:
    code, found = findings(empty_folder, HOME="")
    assert (code, found["home"][0]) == (1, "error")
    assert "not set" in found["home"][1]


def test_a_clock_of_a_file_server_that_differs_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    now = time.time()
    monkeypatch.setattr("rowtui.cli.clusters.machine.time.time", lambda: now + 3600)
    found = {it.topic: it for it in folder_findings(None)}
    assert found["clock"].text.endswith("s behind this machine's")
    assert found["clock"].verdict == "warning"
    assert [it.name for it in tmp_path.iterdir()] == []  # the probe is gone


def test_little_room_and_few_inodes_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("rowtui.cli.clusters.machine._LEAST_ROOM", 1 << 62)
    monkeypatch.setattr("rowtui.cli.clusters.machine._LEAST_FILES", 1 << 62)
    found = {it.topic: it.text for it in folder_findings(None)}
    assert found["room"].startswith("only ")
    assert "more files fit" in found["inodes"]
