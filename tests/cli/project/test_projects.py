"""`rowtui projects`: the list, what it says without projects, and what it forgets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import Shell

if TYPE_CHECKING:
    from tests.rig.slurm import SlurmCluster


def listed(rowtui: Shell, *words: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(rowtui.succeed("projects", *words, "--json"))[
        "projects"
    ]
    return found


def test_without_projects_three_lines_say_how_to_begin(empty_folder: Shell) -> None:
    lines = empty_folder.succeed("projects").splitlines()
    assert len(lines) == 3
    assert "rowtui init" in lines[1]


def test_projects_are_found_listed_and_forgotten(rowtui: Shell) -> None:
    rowtui.succeed("scan")
    rowtui.succeed("projects", "find", str(rowtui.folder.parent))
    (one,) = listed(rowtui)
    assert (one["path"], one["state"], one["opened_at"]) == (str(rowtui.folder), "ok", None)
    assert one["directories"] == 10
    assert "project" in rowtui.succeed("projects", "--cached")
    (rowtui.folder / "workflow.toml").rename(rowtui.folder / "elsewhere.toml")
    assert [one["state"] for one in listed(rowtui)] == ["gone"]
    assert "gone" in rowtui.succeed("projects")
    rowtui.succeed("projects", "forget", ".")
    assert listed(rowtui) == []
    assert rowtui("projects", "forget", ".").returncode == 1
    assert (rowtui.folder / "elsewhere.toml").exists()


def test_names_from_outside_are_made_visible(empty_folder: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "a\x1b[31mred"
    folder.mkdir()
    (folder / "workflow.toml").write_text("")
    empty_folder.succeed("projects", "find", str(tmp_path))
    assert "\x1b" not in empty_folder.succeed("projects")


@pytest.mark.parametrize("words", [("forget",), ("find",), ("list", "x")])
def test_a_missing_or_extra_folder_is_explained(
    empty_folder: Shell, words: tuple[str, ...]
) -> None:
    done = empty_folder("projects", *words)
    assert done.returncode == 1
    assert "rowtui projects" in done.stderr


@pytest.mark.slurm
def test_a_job_that_is_held_needs_a_person_in_the_queue_and_in_the_list(
    empty_folder: Shell, slurm: SlurmCluster
) -> None:
    # Given a job that waits on hold,
    slurm.clean()
    empty_folder.environment["SLURM_CONF"] = str(slurm.conf)
    clusters = Path(empty_folder.environment["HOME"]) / ".config/rowtui/clusters.toml"
    clusters.parent.mkdir(parents=True)
    clusters.write_text(
        '[[cluster]]\nname = "alpha"\nscheduler = "slurm"\nidentify.always = true\n'
        'partition = [{ name = "cpu" }]\n'
    )
    (empty_folder.folder / "workspace/a").mkdir(parents=True)
    (empty_folder.folder / "workflow.toml").write_text(
        '[[action]]\nname = "one"\ncommand = "true {directory}"\n'
        'submit_options.alpha.custom = ["--hold"]\n'
    )
    empty_folder.succeed("submit", "--yes", cluster=None)
    # then the queue and the list of projects agree that a person has to act.
    clusters_now = json.loads(empty_folder.succeed("queue", "--json", cluster=None))["clusters"]
    jobs = [job for cluster in clusters_now for job in cluster["jobs"]]
    assert [job["needs_person"] for job in jobs] == [True]
    empty_folder.succeed("projects", "find", str(empty_folder.folder))
    assert [one["needs"] for one in listed(empty_folder)] == [["1 unable to start"]]
    slurm.clean()
