"""The 34 command-line cases of Row's own test suite, against rowtui.

Where Row 1.x prints something else than 0.3.1, the current text counts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conftest import Shell

NAMES = [f"dir{number}" for number in range(10)]
HEADER = "Action Completed Submitted Eligible Waiting Remaining cost"


def counts(table: str) -> dict[str, tuple[int, ...]]:
    """Action -> (completed, submitted, eligible, waiting) of a status table."""
    found = {}
    for line in table.splitlines():
        words = line.split()
        if len(words) >= 5 and words[1].replace(",", "").isdigit():
            found[words[0]] = tuple(int(word.replace(",", "")) for word in words[1:5])
    return found


def staged(rowtui: Shell) -> list[str]:
    folder = rowtui.folder / ".row" / "completed"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def touch(rowtui: Shell, product: str, numbers: range) -> None:
    for number in numbers:
        (rowtui.folder / "workspace" / f"dir{number}" / product).touch()


def test_01_without_a_command_and_a_terminal_it_prints_the_status_as_text(rowtui: Shell) -> None:
    done = rowtui()
    assert done.returncode == 0
    assert done.stdout == rowtui.succeed("show", "status")
    assert "rowtui show status --watch" in done.stderr


def test_02_outside_of_a_project_it_says_so(empty_folder: Shell) -> None:
    done = empty_folder("show", "status")
    assert done.returncode == 1
    assert "workflow.toml not found" in done.stderr


def test_03_help_is_printed(rowtui: Shell) -> None:
    assert "Usage: row" in rowtui.succeed("--help")


def test_04_an_empty_workflow_is_valid(empty_folder: Shell) -> None:
    (empty_folder.folder / "workflow.toml").write_text("")
    (empty_folder.folder / "workspace").mkdir()
    done = empty_folder("show", "status")
    assert done.returncode == 0
    assert "workflow.toml has no action yet" in done.stderr


def test_05_status_counts_directories(rowtui: Shell) -> None:
    table = rowtui.succeed("show", "status")
    assert table.splitlines()[0] == HEADER
    assert counts(table) == {"one": (0, 0, 10, 0), "two": (0, 0, 0, 10)}


def test_06_status_of_waiting_actions(rowtui: Shell) -> None:
    assert list(counts(rowtui.succeed("show", "status", "--waiting"))) == ["two"]


def test_07_status_of_eligible_actions(rowtui: Shell) -> None:
    assert list(counts(rowtui.succeed("show", "status", "--eligible"))) == ["one"]


def test_08_status_of_submitted_actions(rowtui: Shell) -> None:
    assert counts(rowtui.succeed("show", "status", "--submitted")) == {}


def test_09_status_of_all_actions(rowtui: Shell) -> None:
    table = rowtui.succeed("show", "status", "--all")
    assert counts(table) == {
        "one": (0, 0, 10, 0),
        "two": (0, 0, 0, 10),
        "three": (0, 0, 0, 0),
    }


def test_10_status_of_completed_actions_after_submit(rowtui: Shell) -> None:
    rowtui.succeed("submit", "--yes")
    assert counts(rowtui.succeed("show", "status", "--completed")) == {"one": (10, 0, 0, 0)}


def test_11_status_of_one_action(rowtui: Shell) -> None:
    assert list(counts(rowtui.succeed("show", "status", "-a", "one"))) == ["one"]


def test_12_status_of_some_directories(rowtui: Shell) -> None:
    done = rowtui("show", "status", "dir1", "dir2", "nodir")
    assert done.returncode == 0
    assert counts(done.stdout) == {"one": (0, 0, 2, 0), "two": (0, 0, 0, 2)}
    assert "'nodir' not found in workspace" in done.stderr


def test_13_status_of_directories_on_standard_input(rowtui: Shell) -> None:
    done = rowtui("show", "status", "-", stdin="dir1\r\ndir2\nnodir\n")
    assert counts(done.stdout) == {"one": (0, 0, 2, 0), "two": (0, 0, 0, 2)}
    assert "'nodir' not found in workspace" in done.stderr


def test_14_scan_stages_what_was_made_behind_its_back(rowtui: Shell) -> None:
    rowtui.succeed("show", "status")
    touch(rowtui, "one", range(8))
    touch(rowtui, "two", range(4))
    assert counts(rowtui.succeed("show", "status"))["one"] == (0, 0, 10, 0)
    assert staged(rowtui) == []
    rowtui.succeed("scan")
    assert len(staged(rowtui)) == 1
    assert counts(rowtui.succeed("show", "status")) == {"one": (8, 0, 2, 0), "two": (4, 0, 4, 2)}
    assert staged(rowtui) == []


def test_15_scan_of_one_action(rowtui: Shell) -> None:
    rowtui.succeed("show", "status")
    touch(rowtui, "one", range(8))
    touch(rowtui, "two", range(4))
    rowtui.succeed("scan", "-a", "one")
    assert len(staged(rowtui)) == 1
    assert counts(rowtui.succeed("show", "status")) == {"one": (8, 0, 2, 0), "two": (0, 0, 8, 2)}


def test_16_scan_of_one_directory(rowtui: Shell) -> None:
    rowtui.succeed("show", "status")
    touch(rowtui, "one", range(8))
    rowtui.succeed("scan", "dir5")
    assert counts(rowtui.succeed("show", "status"))["one"] == (1, 0, 9, 0)


def test_completions_that_row_has_already_are_not_staged_again(rowtui: Shell) -> None:
    touch(rowtui, "one", range(8))
    found = rowtui.succeed("scan")
    rowtui.succeed("show", "status")

    assert rowtui.succeed("scan") == found
    assert staged(rowtui) == []

    touch(rowtui, "one", range(8, 9))
    rowtui.succeed("scan")
    assert len(staged(rowtui)) == 1
    assert counts(rowtui.succeed("show", "status"))["one"] == (9, 0, 1, 0)

    (rowtui.folder / ".row" / "completed.postcard").unlink()  # as `row clean --completed` does
    rowtui.succeed("scan")
    assert counts(rowtui.succeed("show", "status"))["one"] == (9, 0, 1, 0)


def test_17_submit_runs_the_jobs_in_bash(rowtui: Shell) -> None:
    rowtui.succeed("submit", "--yes")
    assert counts(rowtui.succeed("show", "status")) == {"one": (10, 0, 0, 0), "two": (0, 0, 10, 0)}
    assert (rowtui.folder / "workspace" / "dir7" / "one").exists()


def test_18_directories_are_listed_in_order(rowtui: Shell) -> None:
    assert rowtui.succeed("show", "directories").splitlines() == NAMES


def test_19_directories_of_an_action(rowtui: Shell) -> None:
    table = rowtui.succeed("show", "directories", "--action", "one")
    assert re.fullmatch(r"Directory +Status +Job ID", table.splitlines()[0])
    assert len(re.findall(r"^dir\d +eligible", table, re.MULTILINE)) == 10


def test_20_some_directories_of_an_action(rowtui: Shell) -> None:
    table = rowtui.succeed("show", "directories", "--action", "one", "dir3", "dir9")
    assert re.findall(r"^dir\d", table, re.MULTILINE) == ["dir3", "dir9"]


def test_21_directories_without_a_header(rowtui: Shell) -> None:
    table = rowtui.succeed("show", "directories", "--action", "one", "--no-header")
    assert "Directory" not in table
    assert len(table.splitlines()) == 10


def test_22_directories_with_values(rowtui: Shell) -> None:
    table = rowtui.succeed(
        "show", "directories", "--action", "one", "--value", "/v", "--value", "/v2"
    )
    lines = table.splitlines()
    assert re.fullmatch(r"Directory +Status +Job ID +/v +/v2", lines[0])
    for number in range(10):
        assert re.fullmatch(rf"dir{number} +eligible +{number} +{number // 2}", lines[number + 1])


def test_23_short_lists_are_names_only(rowtui: Shell) -> None:
    table = rowtui.succeed("show", "directories", "--action", "one", "--short")
    assert table.splitlines() == NAMES


def test_24_short_needs_an_action(rowtui: Shell) -> None:
    done = rowtui("show", "directories", "--short")
    assert done.returncode == 2
    assert "--action" in done.stderr


def test_25_the_cluster_is_shown(rowtui: Shell) -> None:
    assert 'name = "none"' in rowtui.succeed("show", "cluster")


def test_26_the_clusters_name_is_shown(rowtui: Shell) -> None:
    assert rowtui.succeed("show", "cluster", "--short") == "none\n"


def test_27_the_launchers_are_shown(rowtui: Shell) -> None:
    assert 'executable = "mpirun"' in rowtui.succeed("show", "launchers")


def test_28_the_launchers_names_are_shown(rowtui: Shell) -> None:
    names = rowtui.succeed("show", "launchers", "--short").split()
    assert {"mpi", "openmp"} <= set(names)


def test_29_signac_and_a_workspace_conflict(empty_folder: Shell) -> None:
    done = empty_folder("init", "--signac", "--workspace", "x", ".")
    assert done.returncode == 2
    assert "cannot be used with" in done.stderr


def test_30_a_workspace_is_a_relative_name(empty_folder: Shell) -> None:
    done = empty_folder("init", "--workspace", "/test/one", ".")
    assert done.returncode == 1
    assert "must be a relative" in done.stderr


def test_31_a_project_is_not_made_twice(rowtui: Shell) -> None:
    done = rowtui("init", ".")
    assert done.returncode == 1
    assert "project already exists" in done.stderr


def test_32_a_project_is_not_made_inside_another(rowtui: Shell) -> None:
    done = rowtui("init", "inner")
    assert done.returncode == 1
    assert "project already exists in the parent" in done.stderr
    assert not (rowtui.folder / "inner").exists()


def test_33_a_project_is_not_made_around_old_state(empty_folder: Shell) -> None:
    (empty_folder.folder / ".row").mkdir()
    done = empty_folder("init", ".")
    assert done.returncode == 1
    assert "cache directory" in done.stderr
    assert "already exists" in done.stderr


def test_34_init_makes_a_project(empty_folder: Shell) -> None:
    empty_folder.succeed("init", ".")
    assert (empty_folder.folder / "workspace").is_dir()
    assert (empty_folder.folder / "workflow.toml").read_text() == ""


def test_help_is_a_command_too_as_in_row(rowtui: Shell) -> None:
    assert rowtui.succeed("help", "show", "status", cluster=None) == rowtui.succeed(
        "show", "status", "--help", cluster=None
    )
