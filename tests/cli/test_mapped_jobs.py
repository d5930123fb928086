"""Jobs go where mapping files send them, with what these give them, and run there to their end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import Shell
from tests.cli.test_examples import jobs_of, wait_for_jobs

if TYPE_CHECKING:
    from tests.rig.slurm import SlurmCluster

WORKFLOW = """\
[workspace]
value_file = "v.json"

[[action]]
name = "prepare"
command = "echo $ACTION_THREADS_PER_PROCESS $GREETING > workspace/{directory}/p.out"
products = ["p.out"]
resources.walltime.per_submission = "00:05:00"

[[action]]
name = "fit"
command = "echo $SIZE > workspace/{directory}/f.out"
products = ["f.out"]
previous_actions = ["prepare"]
resources.walltime.per_submission = "00:05:00"
"""

MAPPING = """\
global: {default_inherits: default}
tools:
  default:
    cores: 1
    env: {GREETING: "it's {tool.id} of {user.name!r}"}
  prepare:
    rules:
      - id: some
        if: len(directories) > 1 and values[0]["n"] == 0
        cores: 2
  fit:
    context: {inputs: ["raw.*"]}
    mem: max(0.01, input_size * 2)
    env: {SIZE: "{input_size:.6f}"}
    scheduling: {require: [large]}
    rules:
      - if: values[0]["n"] == 3
        fail: number {values[0]['n']} is not wanted
destinations:
  small: {runner: CLUSTER, cores: 1, params: {partition: PART1}}
  large:
    runner: CLUSTER
    cores: 2
    mem: 100
    params: {partition: PART2, gibberish: 1}
    scheduling: {accept: [large]}
"""


def project(shell: Shell, cluster: str, partitions: tuple[str, str]) -> None:
    (shell.folder / "workflow.toml").write_text(WORKFLOW)
    for number in range(3):
        directory = shell.folder / "workspace" / f"d{number}"
        directory.mkdir(parents=True)
        (directory / "v.json").write_text(json.dumps({"n": number}))
        (directory / "raw.bin").write_bytes(bytes(1 << 19))
    text = MAPPING.replace("CLUSTER", cluster)
    for number, name in enumerate(partitions, 1):
        text = text.replace(f"PART{number}", name)
    own = Path(shell.environment["HOME"]) / ".config/rowtui/mapping"
    own.mkdir(parents=True, mode=0o755)
    (own / "site.yml").write_text(text)


def plan(shell: Shell, cluster: str | None, *words: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(shell.succeed("plan", "--json", *words, cluster=cluster))
    return document


def run(shell: Shell, cluster: str | None, action: str, jobs: int) -> None:
    done = shell("submit", "--yes", "--detach", "-a", action, cluster=cluster)
    assert done.returncode == 0, done.stderr
    wait_for_jobs(shell, cluster, jobs)


def check_files(shell: Shell) -> None:
    for number in range(3):
        folder = shell.folder / f"workspace/d{number}"
        threads, *greeting = folder.joinpath("p.out").read_text().split()
        assert threads == "2"
        assert greeting[:3] == ["it's", "prepare", "of"]
        assert float(folder.joinpath("f.out").read_text()) == pytest.approx(
            3 * (2**19 + len(" ".join([threads, *greeting])) + 1) / 2**30, abs=1e-6
        )


def test_mapped_jobs_run_on_this_machine(empty_folder: Shell) -> None:
    project(empty_folder, "local", ("", ""))
    (job,) = plan(empty_folder, "local")["jobs"]
    assert job["cpus"] == 2
    assert job["reasons"][0].startswith("large: it is the only destination")
    assert any("asks 2 CPUs, accepts at most 1" in reason for reason in job["reasons"])

    run(empty_folder, "local", "prepare", 1)
    (job,) = plan(empty_folder, "local")["jobs"]
    assert job["memory_mb"] == 11  # 0.01 GB, rounded up
    assert "gibberish" in " ".join(job["warnings"])
    run(empty_folder, "local", "fit", 2)
    check_files(empty_folder)


@pytest.mark.slurm
def test_mapped_jobs_run_on_slurm_in_the_partition_of_their_destination(
    empty_folder: Shell, slurm: SlurmCluster
) -> None:
    empty_folder.environment["SLURM_CONF"] = str(slurm.conf)
    project(empty_folder, slurm.name, ("shared", "highmem"))
    (job,) = plan(empty_folder, None, "--scripts")["jobs"]
    assert job["partition"] == "highmem"
    assert "#SBATCH --cpus-per-task=2" in job["script"]

    run(empty_folder, None, "prepare", 1)
    run(empty_folder, None, "fit", 2)
    check_files(empty_folder)
    ids = [str(job["id"]) for job in jobs_of(empty_folder, None)]
    shown = slurm.run(f"scontrol show job {ids[0]} -o").stdout
    assert "Partition=highmem" in shown
    assert "MinMemoryCPU=11M" in shown or "mem=11M" in shown


def test_a_job_that_a_rule_fails_is_left_out_and_the_others_go_on(empty_folder: Shell) -> None:
    project(empty_folder, "local", ("", ""))
    workflow = empty_folder.folder / "workflow.toml"
    workflow.write_text(
        WORKFLOW.replace('previous_actions = ["prepare"]\n', "")
        + "[action.group]\nsort_by = ['/n']\nmaximum_size = 1\n"
    )
    for number in (3, 4):
        directory = empty_folder.folder / f"workspace/d{number}"
        directory.mkdir()
        (directory / "v.json").write_text(json.dumps({"n": number}))

    found = plan(empty_folder, "local")

    names = [job["directories"] for job in found["jobs"] if job["action"] == "fit"]
    assert names == [["d0"], ["d1"], ["d2"], ["d4"]]
    (left_out,) = found["skipped"]
    assert "fit: 1 job left out, from d3 on: refused: number 3 is not wanted" in left_out
    assert "site.yml:18" in left_out


def test_jobs_over_the_budget_of_a_pool_wait_for_those_before_them(empty_folder: Shell) -> None:
    project(empty_folder, "local", ("", ""))
    own = Path(empty_folder.environment["HOME"]) / ".config/rowtui/mapping"
    (own / "pool.yml").write_text("pools: {all: {max_concurrent_cores: 2}}\n")
    workflow = empty_folder.folder / "workflow.toml"
    slow = WORKFLOW.replace("echo $ACTION", "sleep 60; echo $ACTION").replace(
        '\n\n[[action]]\nname = "fit"', '\ngroup.maximum_size = 1\n\n[[action]]\nname = "fit"'
    )
    workflow.write_text(slow)

    found = plan(empty_folder, "local")
    assert [job["directories"] for job in found["jobs"]] == [["d0"], ["d1"]]
    (left_out,) = found["skipped"]
    assert "prepare: 1 job left out, from d2 on: waits: pool all has no room for it now" in left_out

    # When one of them is submitted, then it counts.
    done = empty_folder("submit", "--yes", "--detach", "-n", "1", cluster="local")
    assert done.returncode == 0, done.stderr
    found = plan(empty_folder, "local")
    assert [job["directories"] for job in found["jobs"]] == [["d1"]]
    assert "from d2 on: waits" in found["skipped"][0]
    empty_folder.succeed("cancel", "--all", "--yes", cluster="local")


def test_explain_states_the_memory_of_the_plan(empty_folder: Shell) -> None:
    # Given 0.9 GB for four CPUs, which each get whole MB,
    (empty_folder.folder / "workspace/a").mkdir(parents=True)
    (empty_folder.folder / "workflow.toml").write_text(
        '[[action]]\nname = "one"\ncommand = "true {directory}"\n'
    )
    own = Path(empty_folder.environment["HOME"]) / ".config/rowtui/mapping"
    own.mkdir(parents=True)
    (own / "site.yml").write_text(
        "tools: {one: {cores: 4, mem: 0.9}}\ndestinations: {here: {runner: local}}\n"
    )
    empty_folder.environment["ROWTUI_LOCAL_CORES"] = "4"
    planned = [job["memory_mb"] for job in plan(empty_folder, "local")["jobs"]]
    found = json.loads(empty_folder.succeed("explain", "one", "--json", cluster="local"))
    assert planned == [each["job"]["memory_mb"] for each in found["decisions"]] == [924]
    assert "4 CPUs, 924 MB" in empty_folder.succeed("explain", "one", cluster="local")


def test_a_mapping_file_that_nobody_trusts_is_never_evaluated(empty_folder: Shell) -> None:
    project(empty_folder, "local", ("", ""))
    (empty_folder.folder / "mapping.yml").write_text(
        "tools:\n  prepare:\n    cores: __import__('os').system('touch evaluated') or 1\n"
    )

    found = plan(empty_folder, "local")

    assert found["jobs"] == []
    (left_out,) = found["skipped"]
    assert "mapping.yml is not trusted yet" in left_out
    assert "rowtui mapping trust mapping.yml" in left_out
    assert not (empty_folder.folder / "evaluated").exists()


def test_a_broken_mapping_file_is_explained_and_sends_nothing(empty_folder: Shell) -> None:
    project(empty_folder, "local", ("", ""))
    own = Path(empty_folder.environment["HOME"]) / ".config/rowtui/mapping"
    (own / "zz.yml").write_text("tools: {fit: {cores: [}}\n")

    done = empty_folder("submit", "--yes", cluster="local")

    assert "zz.yml:1" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (empty_folder.folder / ".row/rowtui/plans").exists()
