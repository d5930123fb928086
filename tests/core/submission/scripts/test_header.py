"""Slurm headers are those of Row 1.1 for the same jobs."""

from __future__ import annotations

import subprocess

import pytest
from rowtui.core.clusters.model import Cluster, Identify, Partition
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.submission.scripts.parts import (
    job_name,
    log_path,
    shared_header,
)
from rowtui.core.workflow.model import Action, Processes, Resources, SubmitOptions, Walltime

from tests.core.submission.conftest import make_request

SHARED = Partition("shared", maximum_cpus_per_job=40, memory_per_cpu_mb=2000, account_suffix="-sh")
WHOLE = Partition("whole", cpus_per_node=32, maximum_gpus_per_job=0)
GPU = Partition("gpu", gpus_per_node=4, memory_per_gpu_mb=3000, minimum_gpus_per_job=1)
SLURM = Cluster(
    "s", Identify(), "slurm", (SHARED, WHOLE, GPU), submit_options=("--qos=x", "--foo bar")
)
NAMES = ["a", "b", "c d"]


def header(
    action: Action, partition: Partition, cluster: Cluster = SLURM, names: list[str] = NAMES
) -> list[str]:
    kind = kind_of(cluster)
    named = [kind.name_line(job_name(action, names))] if kind.names_job else []
    return [*named, *shared_header(make_request(action, len(names)), cluster, partition)]


def lines(text: str) -> list[str]:
    return [f"#SBATCH {line}" for line in text.split("\n")]


def without_signal(header: list[str]) -> list[str]:
    return [line for line in header if "--signal" not in line]


def test_a_job_on_cpus() -> None:
    action = Action(
        0,
        "one",
        "echo {directory}",
        resources=Resources(Processes(2, True), 4, walltime=Walltime(10, True)),
        submit_options={"s": SubmitOptions(account="acc", custom=("--c1", "--c2=a b"))},
    )

    assert without_signal(header(action, SHARED)) == lines(
        "--job-name=one-a+2\n--output=one-%j.out\n--partition=shared\n--ntasks=6\n"
        "--cpus-per-task=4\n--mem-per-cpu=2000M\n--time=1\n--qos=x\n--foo bar\n"
        "--account=acc-sh\n--c1\n--c2=a b"
    )


def test_a_job_on_gpus_counts_nodes_by_gpus() -> None:
    resources = Resources(Processes(8), 2, 1, Walltime(10, False), 200, 100)
    action = Action(0, "g", "echo {directories}", resources=resources)

    assert without_signal(header(action, GPU)) == lines(
        "--job-name=g-a+2\n--output=g-%j.out\n--partition=gpu\n--ntasks=8\n--cpus-per-task=2\n"
        "--gpus-per-task=1\n--nodes=2\n--mem-per-gpu=100M\n--time=1\n--qos=x\n--foo bar"
    )


def test_a_job_on_whole_nodes_counts_nodes_by_cpus() -> None:
    resources = Resources(Processes(64), 3, None, Walltime(3599, False), 100)
    options = {"s": SubmitOptions(output_file_name="x")}
    action = Action(0, "w", "echo {directory}", resources=resources, submit_options=options)

    assert without_signal(header(action, WHOLE)) == lines(
        "--job-name=w-a+2\n--output=x\n--partition=whole\n--ntasks=64\n--cpus-per-task=3\n"
        "--nodes=6\n--mem-per-cpu=100M\n--time=60\n--qos=x\n--foo bar"
    )


def test_the_key_for_gpus_is_the_clusters() -> None:
    cluster = SLURM._replace(slurm_gpus_per_task="--gres=")
    action = Action(0, "g", "echo {directories}", resources=Resources(gpus_per_process=2))

    assert "#SBATCH --gres=2" in header(action, GPU, cluster)


def test_memory_of_older_files_is_passed_on_as_written() -> None:
    action = Action(0, "g", "echo {directories}")

    assert "#SBATCH --mem-per-cpu=5G" in header(action, Partition("p", memory_per_cpu="5G"))


@pytest.mark.parametrize(
    ("options", "path"),
    [
        (SubmitOptions(), "a_b_j-%j.out"),
        (SubmitOptions(output_file_path="logs"), "logs/a_b_j-%j.out"),
        (SubmitOptions(output_file_path="logs/", output_file_name="x"), "logs/x"),
        (SubmitOptions(output_file_name="z {action_name}-%j.log"), "z a_b_j-%j.log"),
        (SubmitOptions(output_file_path="/l/{action_name}"), "/l/a_b_j/a_b_j-%j.out"),
    ],
)
def test_the_log_is_where_the_user_wants_it(options: SubmitOptions, path: str) -> None:
    assert log_path(Action(0, "a/b%j", "", submit_options={"s": options}), "s") == path


def test_names_cannot_end_their_line() -> None:
    action = Action(0, "a\n#SBATCH --wrap=x", "echo {directory}")

    made = header(action, SHARED, names=["d\n0", "\udcff"])

    assert made[0] == '#SBATCH --job-name="a\\\\n#SBATCH --wrap=x-d\\\\n0+1"'
    assert all("\n" not in line for line in made)
    assert job_name(action, ["d\n0"]) == "a\\n#SBATCH --wrap=x-d\\n0"


def test_custom_options_of_several_lines_stay_in_the_header() -> None:
    options = {"s": SubmitOptions(custom=("--a\n--b\n#SBATCH --c",))}

    made = header(Action(0, "a", "echo {directory}", submit_options=options), SHARED)

    assert made[-3:] == lines("--a\n--b\n--c")


def test_the_users_own_signal_is_left_alone() -> None:
    options = {"s": SubmitOptions(custom=("--signal=B:USR2@10",))}
    made = header(Action(0, "a", "echo {directory}", submit_options=options), SHARED)

    assert [line for line in made if "--signal" in line] == ["#SBATCH --signal=B:USR2@10"]


def test_slurm_is_asked_for_a_signal_before_the_limit() -> None:
    made = header(Action(0, "a", "echo {directory}"), SHARED)

    at = made.index("#SBATCH --time=180")
    assert made[at + 1].startswith("#SBATCH --signal=B:USR1@")


def test_headers_are_comments_to_bash() -> None:
    action = Action(0, "a\n`touch x`", "echo {directory}")
    text = "\n".join(header(action, SHARED))

    assert subprocess.run(["bash", "-c", text], capture_output=True).stderr == b""
