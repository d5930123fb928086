from __future__ import annotations

from pathlib import Path

import pytest
from rowtui.core.base.errors import Problem
from rowtui.core.clusters.check import check_workflow
from rowtui.core.clusters.config.builtin import CLUSTERS, LAUNCHERS
from rowtui.core.clusters.model import Cluster, Identify, Launchers, Remote
from rowtui.core.workflow.load import load_workflow

BY_NAME = {cluster.name: cluster for cluster in CLUSTERS}
HEAD = '[[action]]\nname = "a"\ncommand = "x {directory}"\n'


def checked(tmp_path: Path, text: str, cluster: str = "anvil") -> tuple[Problem, ...]:
    (tmp_path / "workflow.toml").write_text(text)
    workflow = load_workflow(tmp_path)
    return check_workflow(workflow, BY_NAME[cluster], Launchers(LAUNCHERS))


@pytest.mark.parametrize("cluster", BY_NAME)
def test_a_plain_action_is_right_on_every_cluster(tmp_path: Path, cluster: str) -> None:
    assert checked(tmp_path, HEAD, cluster) == ()


@pytest.mark.parametrize(
    ("line", "severity", "words", "hint"),
    [
        ("launchers = ['mpl']", "error", "launcher 'mpl' of", "did you mean 'mpi'?"),
        ("launchers = ['mpi', 'mpi']", "error", "more than one process launcher", "keep one"),
        ("resources.processes.per_submission = 2", "error", "no process launcher", "mpi"),
        ("resources.processes.per_directory = 2", "error", "requests 2 processes", "mpi"),
        ("resources.processes.per_directory = 1", "warning", "requests 2 processes", "mpi"),
        ("submit_options.anvil.partition = 'wid'", "error", "no partition 'wid'", "'wide'?"),
        (
            "submit_options.anvil.partition = 'wide'",
            "error",
            "not even for one directory",
            "wide: require_cpus_multiple_of is 128",
        ),
        (
            "resources.threads_per_process = 129",
            "error",
            "no partition of anvil takes it",
            "shared: maximum_cpus_per_job is 127",
        ),
        ("submit_options.anvl.account = 'x'", "warning", "no cluster is called 'anvl'", "'anvil'?"),
    ],
)
def test_what_cannot_work_on_the_cluster_is_told_on_its_line(
    tmp_path: Path, line: str, severity: str, words: str, hint: str
) -> None:
    (problem,) = checked(tmp_path, HEAD + line + "\n")
    assert words in problem.message
    assert hint in problem.hint
    assert (problem.severity, problem.line, problem.action) == (severity, 4, 0)
    assert problem.file == str(tmp_path / "workflow.toml")


@pytest.mark.parametrize(
    "lines",
    [
        "submit_options.anvil.partition = 'highmem'",
        "submit_options.delta.partition = 'nope'",
        "resources.processes.per_submission = 2\nlaunchers = ['mpi']",
        "resources.processes.per_directory = 1\ngroup.maximum_size = 1",
        "resources.processes.per_directory = 64\nlaunchers = ['mpi']\n"
        "submit_options.anvil.partition = 'wholenode'",
    ],
)
def test_what_works_for_some_group_is_no_problem(tmp_path: Path, lines: str) -> None:
    assert checked(tmp_path, HEAD + lines + "\n") == ()


def test_partitions_do_not_matter_without_slurm(tmp_path: Path) -> None:
    text = HEAD + "resources.threads_per_process = 1000\nsubmit_options.none.partition = 'x'\n"
    assert checked(tmp_path, text, "none") == ()
    assert checked(tmp_path, text, "local") == ()


def test_partitions_that_are_still_to_be_asked_for_are_no_problem(tmp_path: Path) -> None:
    (tmp_path / "workflow.toml").write_text(HEAD)
    workflow, launchers = load_workflow(tmp_path), Launchers(LAUNCHERS)
    here = Cluster("x", Identify(), "slurm")
    there = here._replace(remote=Remote("login"))
    assert check_workflow(workflow, there, launchers) == ()
    assert [it.severity for it in check_workflow(workflow, here, launchers)] == ["error"]


def test_all_problems_of_all_actions_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = "[default.action]\nlaunchers = ['zz']\n" + HEAD + HEAD.replace('"a"', '"b"')
    text += "resources.gpus_per_process = 1\nsubmit_options.qq = {}\n"
    problems = checked(tmp_path, text, "andes")
    # An inherited mistake stands where it is written; the missing partition where GPUs are set.
    assert [(problem.line, problem.action) for problem in problems] == [
        (2, 0),
        (2, 1),
        (9, 1),
        (10, 1),
    ]


def test_a_file_that_is_gone_since_leaves_problems_without_a_line(tmp_path: Path) -> None:
    (tmp_path / "workflow.toml").write_text(HEAD + "launchers = ['zz']\n")
    workflow = load_workflow(tmp_path)
    (tmp_path / "workflow.toml").unlink()
    (problem,) = check_workflow(workflow, BY_NAME["none"], Launchers(LAUNCHERS))
    assert (problem.line, problem.column) == (0, 0)


def test_other_clusters_of_the_user_are_known_when_told(tmp_path: Path) -> None:
    (tmp_path / "workflow.toml").write_text(HEAD + "submit_options.mine.account = 'x'\n")
    workflow = load_workflow(tmp_path)
    launchers = Launchers(LAUNCHERS)
    assert check_workflow(workflow, BY_NAME["none"], launchers, ["mine"]) == ()
    assert len(check_workflow(workflow, BY_NAME["none"], launchers)) == 1
