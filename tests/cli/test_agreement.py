"""What the differential tester found: rowtui's output and files are Row's in these corners."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from tests.differential.fake_slurm import install, make_queue, take_jobs
from tests.differential.records import read_records

if TYPE_CHECKING:
    from .conftest import Shell

GROUPS = """\
[workspace]
value_file = "v.json"

[[action]]
name = "one"
command = "touch workspace/{directory}/one"
products = ["one"]
[action.group]
maximum_size = 2
include = [{ condition = ["/v", "<", 4] }]

[[action]]
from = "one"
[action.group]
include = [{ condition = ["/v", ">", 8] }]
"""


def test_an_element_of_an_action_ends_with_an_empty_line_also_without_separators(
    rowtui: Shell,
) -> None:
    (rowtui.folder / "workflow.toml").write_text(GROUPS)
    table = rowtui.succeed(
        "show", "directories", "-a", "one", "--no-header", "--eligible", "--no-separate-groups"
    )
    assert table == (
        "dir0      eligible\ndir1      eligible\ndir2      eligible\ndir3      eligible\n"
        "\ndir9      eligible\n"
    )


def test_a_list_that_n_shortened_shows_that_there_is_more(rowtui: Shell) -> None:
    (rowtui.folder / "workflow.toml").write_text(GROUPS.partition("[[action]]\nfrom")[0])
    command = ("show", "directories", "-a", "one", "--no-header", "--eligible", "-n")
    assert rowtui.succeed(*command, "1") == "dir0      eligible\ndir1      eligible\n\n"
    assert rowtui.succeed(*command, "2").splitlines()[-1] == "dir3      eligible"


def test_headers_over_values_stand_on_the_left(rowtui: Shell) -> None:
    (rowtui.folder / "workspace" / "dir1" / "v.json").write_text('{"v": 123456789, "v2": "text"}')
    table = rowtui.succeed(
        "show", "directories", "-a", "one", "--value", "/v", "--value", "/v2", "dir0", "dir1"
    )
    assert table.splitlines() == [
        "Directory Status   Job ID /v        /v2",
        "dir0      eligible                0      0",
        'dir1      eligible        123456789 "text"',
    ]


def test_a_directory_that_is_named_twice_is_listed_twice(rowtui: Shell) -> None:
    table = rowtui.succeed("show", "directories", "dir3", "dir1", "dir3/")
    assert table.splitlines() == ["dir1", "dir3", "dir3"]


def test_a_name_on_standard_input_may_have_a_slash_behind_it(rowtui: Shell) -> None:
    done = rowtui("show", "directories", "-", stdin="dir3/\ndir1\n")
    assert (done.stdout, done.stderr) == ("dir1\ndir3\n", "")


def test_a_status_that_cannot_be_told_is_an_error_and_the_others_are_shown(rowtui: Shell) -> None:
    (rowtui.folder / "workspace" / "dir4" / "v.json").write_text('{"v": "text"}')
    done = rowtui("show", "status")
    assert done.returncode == 1
    assert "dir4" in done.stderr
    assert "one" in done.stdout


def test_directories_that_were_not_asked_for_do_not_matter(rowtui: Shell) -> None:
    (rowtui.folder / "workspace" / "dir4" / "v.json").write_text('{"v": "text"}')
    command = ("show", "directories", "-a", "three", "--short", "--waiting")
    assert rowtui(*command).returncode == 1
    (rowtui.folder / "workspace" / "dir6" / "v.json").write_text('{"v": -1}')
    assert rowtui.succeed(*command, "dir5", "dir6") == "dir6\n"
    table = rowtui.succeed(*command[:-2], "--no-header", "dir5", "dir6")
    assert table == "dir6      waiting \n"


def test_row_learns_of_jobs_that_left_the_queue_with_the_first_command(rowtui: Shell) -> None:
    programs, slurm = rowtui.folder.parent / "bin", rowtui.folder.parent / "slurm"
    install(programs)
    make_queue(slurm)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "FAKE_SLURM": str(slurm)}
    done = rowtui("submit", "--yes", "-n", "1", cluster="anvil", **environment)
    assert "Row submitted job 1001." in done.stdout, done.stderr
    submitted = read_records(rowtui.folder).submitted["one"]
    assert set(submitted.values()) == {("anvil", 1001)}
    ((_, script),) = take_jobs(slurm, 1)
    # It began and ended: a job that is gone and never did would be sent again.
    token = re.search(r"^rowtui_token=(.*)$", script, re.MULTILINE)
    assert token is not None
    fence = rowtui.folder / ".row/rowtui/fence" / token[1]
    fence.parent.mkdir()
    fence.symlink_to("slurm:1001")
    ended = rowtui.folder / ".row/rowtui/ended" / token[1]
    ended.parent.mkdir()
    ended.write_text("0\nexit\nslurm:1001\n5\n0\n\n")
    rowtui("show", "status", cluster="anvil", **environment)
    assert read_records(rowtui.folder).submitted == {}
