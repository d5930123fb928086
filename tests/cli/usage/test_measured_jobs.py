"""What jobs really used, on every kind of cluster, against what their own processes say of it.

Each job touches memory and spins; the kernel tells it, as it tells `time -v`, how much that was.
`ROWTUI_USAGE_SECONDS=20` and `ROWTUI_USAGE_MB=500` make the jobs longer and larger.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.conftest import Shell
from tests.eventually import eventually

if TYPE_CHECKING:
    from tests.rig.accounting import AccountingRig
    from tests.rig.grid_engine import GridEngineCluster
    from tests.rig.login import LoginNode
    from tests.rig.slurm import SlurmCluster

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("ROWTUI_USAGE_SECONDS", "2"))
MB = int(os.environ.get("ROWTUI_USAGE_MB", "200"))
SPIN = """\
import json, os, resource, sys, time
began = time.monotonic()
block = bytearray(int(sys.argv[2]) << 20)
block[::4096] = b"x" * len(block[::4096])
while time.process_time() < float(sys.argv[3]):
    pass
used = resource.getrusage(resource.RUSAGE_SELF)
done = {"cpu": used.ru_utime + used.ru_stime, "memory": used.ru_maxrss}
done["wall"] = time.monotonic() - began
with open(os.path.join("workspace", sys.argv[1], "used"), "w") as file:
    json.dump(done, file)
"""
WORKFLOW = """\
[[action]]
name = "spin"
command = "{python} -S spin.py {{directory}} {mb} {seconds}"
products = ["used"]
group.maximum_size = 1
resources.walltime.per_submission = "00:05:00"
"""


def project(shell: Shell, names: str = "a", more: str = "") -> None:
    for name in names:
        (shell.folder / "workspace" / name).mkdir(parents=True)
    (shell.folder / "spin.py").write_text(SPIN)
    text = WORKFLOW.format(python=sys.executable, mb=MB, seconds=SECONDS)
    (shell.folder / "workflow.toml").write_text(text + more)


def configure(shell: Shell, text: str) -> None:
    file = Path(shell.environment["HOME"]) / ".config/rowtui/clusters.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)


def check(shell: Shell, cluster: str | None, *options: str) -> list[dict[str, str]]:
    """Run all jobs to their end, and compare; what is known of each job."""
    shell.succeed("submit", "--yes", *options, cluster=cluster)
    eventually(lambda: ended(shell, cluster), within=40, what="the end of the jobs")
    jobs = usage_of(shell, cluster)
    listed = json.loads(shell.succeed("show", "jobs", "--json", "--long", cluster=cluster))
    directories = {job["token"]: job["directories"] for job in listed["jobs"]}
    assert len(jobs) == len(list((shell.folder / "workspace").iterdir()))
    for job in jobs:
        [name] = directories[job["token"]]
        own = json.loads((shell.folder / "workspace" / name / "used").read_text())
        assert near(job["cpu_seconds"], own["cpu"], 0.15), (job, own)
        assert near(job["memory_kib"], own["memory"], 8 << 10), (job, own)
        # A busy machine starts a job, and a program, late.
        assert own["wall"] <= float(job["wall_seconds"]) + 0.02, (job, own)
        assert float(job["wall_seconds"]) <= own["wall"] * 1.05 + 1.5, (job, own)
        assert (job["action"], job["reason"], job["exit_code"]) == ("spin", "", "0")
        assert job["node"]
    return jobs


def ended(shell: Shell, cluster: str | None) -> bool:
    status = json.loads(shell.succeed("show", "status", "--all", "--json", cluster=cluster))
    return bool(status["actions"][0]["submitted"] == 0)


def near(text: str, own: float, start: float) -> bool:
    """Within 5 %, and what the interpreter and bash need themselves."""
    return own * 0.95 <= float(text) <= own * 1.05 + start


def usage_of(shell: Shell, cluster: str | None) -> list[dict[str, str]]:
    out = shell.succeed("usage", "--csv", cluster=cluster)
    return list(csv.DictReader(io.StringIO(out)))


def sources(job: dict[str, str]) -> tuple[str, str, str]:
    return job["wall_source"], job["cpu_source"], job["memory_source"]


def test_on_this_machine(empty_folder: Shell) -> None:
    project(empty_folder)
    [job] = check(empty_folder, "local")
    assert sources(job) == ("job script",) * 3
    text = empty_folder.succeed("usage", job["id"], cluster="local")
    assert "completed" in text
    assert "measured by the job script" in text


def test_run_at_once_by_bash(empty_folder: Shell) -> None:
    project(empty_folder)
    [job] = check(empty_folder, "none")
    assert (job["id"], sources(job)) == ("", ("job script",) * 3)


def test_in_a_bundle_of_several_jobs(empty_folder: Shell) -> None:
    empty_folder.environment["ROWTUI_LOCAL_CORES"] = "4"
    project(empty_folder, "abcd")
    jobs = check(empty_folder, "local", "--pack", "--search", "0")
    assert len({job["id"].partition(".")[0] for job in jobs}) < len(jobs)


@pytest.mark.slurm
def test_on_slurm_without_accounts(empty_folder: Shell, slurm: SlurmCluster) -> None:
    empty_folder.environment["SLURM_CONF"] = str(slurm.conf)
    project(empty_folder)
    [job] = check(empty_folder, None)
    assert sources(job) == ("job script",) * 3


@pytest.mark.slurm
def test_as_tasks_of_an_array(empty_folder: Shell, slurm: SlurmCluster) -> None:
    empty_folder.environment["SLURM_CONF"] = str(slurm.conf)
    project(empty_folder, "abc")
    jobs = check(empty_folder, None, "--array")
    assert len({job["id"].partition("_")[0] for job in jobs}) == 1


@pytest.mark.slurm
def test_on_slurm_with_accounts(empty_folder: Shell, slurm_accounts: AccountingRig) -> None:
    cluster = slurm_accounts.cluster
    empty_folder.environment["SLURM_CONF"] = str(cluster.conf)
    project(empty_folder)
    [job] = check(empty_folder, None)
    assert job["wall_source"] == "job script"
    assert {job["cpu_source"], job["memory_source"]} <= {"job script", "scheduler"}


@pytest.mark.slurm
def test_the_steps_of_a_job_on_slurm_with_accounts(
    empty_folder: Shell, slurm_accounts: AccountingRig
) -> None:
    empty_folder.environment["SLURM_CONF"] = str(slurm_accounts.cluster.conf)
    project(empty_folder)
    file = empty_folder.folder / "workflow.toml"
    file.write_text(file.read_text().replace('command = "', 'command = "srun -n1 true && '))
    empty_folder.succeed("submit", "--yes", cluster=None)
    eventually(lambda: ended(empty_folder, None), within=40, what="the end of the job")
    [job] = usage_of(empty_folder, None)

    def steps() -> list[dict[str, Any]]:
        out = empty_folder.succeed("usage", job["id"], "--json", cluster=None)
        return list(json.loads(out)["steps"])

    # Accounting has a job only some time after its end.
    found = eventually(steps, lambda seen: len(seen) == 2, within=30, what="the steps")
    assert [(step["step"], step["tasks"]) for step in found] == [("batch", 1), ("0", 1)]
    assert found[1]["name"] == "true"
    text = empty_folder.succeed("usage", job["id"], cluster=None)
    assert "Task memory" in text


@pytest.mark.slurm
def test_the_memory_of_steps_at_the_same_time_adds_up_and_of_later_steps_does_not(
    empty_folder: Shell, slurm_accounts: AccountingRig
) -> None:
    shell = empty_folder
    shell.environment["SLURM_CONF"] = str(slurm_accounts.cluster.conf)
    for name in ("a", "b"):
        (shell.folder / "workspace" / name).mkdir(parents=True)
    (shell.folder / "spin.py").write_text(SPIN)
    step = f"srun -n1 -c1 --exact --mem=900 {sys.executable} -S spin.py {{directory}} 300 1"
    (shell.folder / "workflow.toml").write_text(
        f"""\
[default.action]
products = ["used"]
group.maximum_size = 1
resources = {{ threads_per_process = 2, memory_per_cpu_mb = 1000 }}
[[action]]
name = "parallel"
command = "{step} & {step} & wait"
group.include = [{{ condition = ["", "==", 1] }}]
[[action]]
name = "serial"
command = "{step}; {step}"
group.include = [{{ condition = ["", "==", 2] }}]
"""
    )
    for number, name in enumerate("ab", 1):
        (shell.folder / "workspace" / name / "value.json").write_text(str(number))
    file = shell.folder / "workflow.toml"
    file.write_text('[workspace]\nvalue_file = "value.json"\n' + file.read_text())
    shell.succeed("submit", "--yes", cluster=None)

    def measured() -> dict[str, dict[str, str]]:
        # Accounting has a job only some time after its end.
        jobs = {job["action"]: job for job in usage_of(shell, None)}
        assert [job["memory_source"] for job in jobs.values()] == ["scheduler"] * 2, jobs
        return jobs

    jobs = eventually(measured, within=60, what="the accounts of the jobs")
    own = json.loads((shell.folder / "workspace/a/used").read_text())["memory"]
    around = 40_000  # KiB of the script's shell and of srun, which count as well
    assert float(jobs["parallel"]["memory_kib"]) == pytest.approx(2 * own, abs=2 * around)
    assert float(jobs["serial"]["memory_kib"]) == pytest.approx(own, abs=around)


@pytest.mark.slurm
def test_in_a_copy_of_the_project_over_ssh(empty_folder: Shell, login: LoginNode) -> None:
    project(empty_folder)
    configure(
        empty_folder,
        '[[cluster]]\nname = "alpha"\nscheduler = "slurm"\npartition = [{ name = "cpu" }]\n'
        f'[cluster.ssh]\nhost = "alpha"\nconfig = ["{login.ssh_config}"]\n'
        f'mirror = "{empty_folder.folder.parent / "there"}"\n',
    )
    [job] = check(empty_folder, "alpha")
    assert sources(job) == ("job script",) * 3


def test_on_grid_engine(empty_folder: Shell, grid_engine: GridEngineCluster) -> None:
    empty_folder.environment |= grid_engine.env
    empty_folder.prefix = tuple(grid_engine.enter)
    project(empty_folder)
    configure(
        empty_folder,
        '[[cluster]]\nname = "engine"\nscheduler = "grid_engine"\nidentify.always = true\n'
        'partition = [{ name = "all.q", parallel_environment = "smp" }]\n',
    )
    [job] = check(empty_folder, None)
    assert job["wall_source"] == "job script"


@pytest.mark.slurm
def test_a_job_that_is_killed_for_its_memory_shows_the_limit_that_it_reached(
    empty_folder: Shell, slurm_accounts: AccountingRig
) -> None:
    empty_folder.environment["SLURM_CONF"] = str(slurm_accounts.cluster.conf)
    project(empty_folder, "a", "resources.memory_per_cpu_mb = 50\n")
    empty_folder.succeed("submit", "--yes", cluster=None)
    eventually(lambda: ended(empty_folder, None), within=40, what="the end of the job")

    def text() -> str:
        [job] = usage_of(empty_folder, None)
        assert job["reason"] in ("out of memory", "killed (signal KILL)")
        return empty_folder.succeed("usage", job["id"], cluster=None)

    # Accounting has a job only some time after its end.
    eventually(text, lambda shown: "reached its limit of 50 MB" in shown, within=30)


# On SIGTERM it writes down its CPU time; the shell that started it dies at once.
UNTIL_STOPPED = """\
import os, signal, sys, time
path = os.path.join("workspace", sys.argv[1], "cpu")
def stop(*_):
    with open(path, "w") as file:
        file.write(str(time.process_time()))
    os._exit(1)
signal.signal(signal.SIGTERM, stop)
open(path + "-began", "w").close()
while True:
    pass
"""


def stopped(shell: Shell, cluster: str | None, seconds: float) -> tuple[float, dict[str, str]]:
    """Cancel a job that has worked for so long; its own word of its CPU time, and what is known."""
    project(shell, "a")
    (shell.folder / "spin.py").write_text(UNTIL_STOPPED)
    file = shell.folder / "workflow.toml"
    file.write_text(
        file.read_text()
        .replace('command = "', 'command = "true && ')
        .replace(f'{SECONDS}"', f'{SECONDS}; true"')
    )
    shell.succeed("submit", "--yes", "--detach", cluster=cluster)
    [listed] = json.loads(shell.succeed("show", "jobs", "--json", cluster=cluster))["jobs"]
    eventually((shell.folder / "workspace/a/cpu-began").exists, what="the beginning of the job")
    time.sleep(seconds)
    shell.succeed("cancel", "--yes", listed["id"], cluster=cluster)
    eventually(lambda: ended(shell, cluster), within=40, what="the end of the job")
    [job] = usage_of(shell, cluster)
    assert job["reason"] == "cancelled"
    return float((shell.folder / "workspace/a/cpu").read_text()), job


def test_a_cancelled_job_on_this_machine_has_the_cpu_time_that_it_used(empty_folder: Shell) -> None:
    own, job = stopped(empty_folder, "local", 1.5)

    assert near(job["cpu_seconds"], own, 0.15), (own, job)
    assert job["cpu_source"] in ("scheduler", "job script")


@pytest.mark.slurm
def test_a_cancelled_job_without_accounts_has_its_cpu_time_or_none(
    empty_folder: Shell, slurm: SlurmCluster
) -> None:
    empty_folder.environment["SLURM_CONF"] = str(slurm.conf)
    own, job = stopped(empty_folder, None, 1.5)

    assert not job["cpu_seconds"] or near(job["cpu_seconds"], own, 0.15), (own, job)


@pytest.mark.slurm
def test_a_cancelled_job_with_accounts_has_the_cpu_time_that_it_used(
    empty_folder: Shell, slurm_accounts: AccountingRig
) -> None:
    empty_folder.environment["SLURM_CONF"] = str(slurm_accounts.cluster.conf)
    own, _ = stopped(empty_folder, None, 4.5)

    # Accounting has a job only some time after its end, and a sample for each second, which may be
    # older than the last look of the script: then nothing is measured.
    for _ in range(10):
        [found] = usage_of(empty_folder, None)
        cpu = float(found["cpu_seconds"] or 0) or None
        assert cpu is None or own - 1.5 <= cpu <= own + 0.3, (own, found)
        if cpu is not None:
            break
        time.sleep(0.5)


def running(shell: Shell, cluster: str | None, *ids: str) -> list[dict[str, Any]]:
    """What running jobs use, once their CPU time is known and they have touched their memory."""

    def look() -> list[dict[str, Any]]:
        # No command asks a cluster again within five seconds after another.
        found = json.loads(shell.succeed("usage", *ids, "--json", cluster=cluster))["running"]
        assert found
        assert all(job["cpu_seconds"] for job in found), found
        assert all((job["memory_kib"] or 0) >= MB << 10 for job in found), found
        return list(found)

    return eventually(look, within=60, every=2, what="what running jobs use")


def spin_until_stopped(shell: Shell, names: str) -> None:
    project(shell, names, "resources.memory_per_cpu_mb = 2000\n")
    text = (shell.folder / "workflow.toml").read_text()
    assert f' {SECONDS}"' in text
    (shell.folder / "workflow.toml").write_text(text.replace(f' {SECONDS}"', ' 250"'))


def test_what_a_running_job_uses_on_this_machine(empty_folder: Shell) -> None:
    spin_until_stopped(empty_folder, "a")
    empty_folder.succeed("submit", "--yes", "--detach", cluster="local")
    [job] = running(empty_folder, "local", "1")
    try:
        assert job["memory_kib"] >= MB << 10
        assert job["requested_memory_kib"] == 2000 << 10
        assert job["requested_wall_seconds"] == 300
        assert job["wall_seconds"] > 0
        assert job["near_limits"] == []
        text = empty_folder.succeed("usage", "1", cluster="local")
        assert "running  memory" in text
        assert " of 00:05:00" in text
    finally:
        empty_folder.succeed("cancel", "--yes", "1", cluster="local")


@pytest.mark.slurm
def test_what_running_tasks_use_on_slurm(empty_folder: Shell, slurm: SlurmCluster) -> None:
    empty_folder.environment["SLURM_CONF"] = str(slurm.conf)
    spin_until_stopped(empty_folder, "ab")
    empty_folder.succeed("submit", "--yes", "--array", cluster=None)
    listed = json.loads(empty_folder.succeed("show", "jobs", "--json", cluster=None))["jobs"]
    array = listed[0]["id"].partition("_")[0]
    try:
        jobs = running(empty_folder, None, array)
        assert [job["id"] for job in jobs] == [f"{array}_{number}" for number in (0, 1)]
        for job in jobs:
            assert MB << 10 <= job["memory_kib"] < 2 * MB << 10
    finally:
        empty_folder.succeed("cancel", "--yes", array, cluster=None)


def test_what_a_running_job_uses_on_grid_engine(
    empty_folder: Shell, grid_engine: GridEngineCluster
) -> None:
    empty_folder.environment |= grid_engine.env
    empty_folder.prefix = tuple(grid_engine.enter)
    spin_until_stopped(empty_folder, "a")
    configure(
        empty_folder,
        '[[cluster]]\nname = "engine"\nscheduler = "grid_engine"\nidentify.always = true\n'
        'partition = [{ name = "all.q", parallel_environment = "smp" }]\n',
    )
    empty_folder.succeed("submit", "--yes", cluster=None)
    [listed] = json.loads(empty_folder.succeed("show", "jobs", "--json", cluster=None))["jobs"]

    def look() -> list[dict[str, Any]]:
        out = empty_folder.succeed("usage", listed["id"], "--json", cluster=None)
        found = json.loads(out)["running"]
        assert found
        return list(found)

    [job] = eventually(look, within=60, every=2, what="the running job")
    assert job["wall_seconds"] is not None
    empty_folder.succeed("cancel", "--yes", listed["id"], cluster=None)


@pytest.mark.slurm
def test_what_srun_starts_is_not_measured_without_accounts_and_nothing_is_recommended(
    empty_folder: Shell, slurm: SlurmCluster
) -> None:
    shell = empty_folder
    shell.environment["SLURM_CONF"] = str(slurm.conf)
    project(shell, "abcde", 'launchers = ["mpi"]\nresources.memory_per_cpu_mb = 300\n')
    file = shell.folder / "workflow.toml"
    file.write_text(file.read_text().replace(f"{MB} {SECONDS}", "50 0.1"))
    shell.succeed("submit", "--yes", cluster=None)
    eventually(lambda: ended(shell, None), within=50, what="the end of the jobs")

    jobs = usage_of(shell, None)
    for job in jobs:
        assert (job["reason"], job["cpu_seconds"], job["memory_kib"]) == ("", "", "")
        assert job["wall_seconds"]
    text = shell.succeed("usage", jobs[0]["id"], cluster=None)
    assert "CPU      not measured" in text
    assert "memory   not measured" in text
    for options in (["--recommend"], ["--recommend", "--write", "--yes"]):
        text = shell.succeed("usage", *options, cluster=None)
        assert "not measured in 5 completed jobs" in text
    assert "memory_per_cpu_mb = 300\n" in file.read_text()
    assert "threads_per_process" not in file.read_text()


@pytest.mark.slurm
def test_two_steps_at_the_same_time_are_not_measured_without_accounts(
    empty_folder: Shell, slurm: SlurmCluster
) -> None:
    shell = empty_folder
    shell.environment["SLURM_CONF"] = str(slurm.conf)
    project(shell, "a", "resources = { threads_per_process = 2, memory_per_cpu_mb = 1000 }\n")
    file = shell.folder / "workflow.toml"
    step = f"srun -n1 -c1 --exact --mem=900 {sys.executable} -S spin.py {{directory}} 300 0.5"
    text = file.read_text().replace("resources.walltime.per_submission", "# ")
    text = text.replace(f"{sys.executable} -S spin.py {{directory}} {MB} {SECONDS}", "STEPS")
    file.write_text(text.replace("STEPS", f"{step} & {step} & wait"))
    shell.succeed("submit", "--yes", cluster=None)
    eventually(lambda: ended(shell, None), within=50, what="the end of the job")

    [job] = usage_of(shell, None)
    assert (job["reason"], job["cpu_seconds"], job["memory_kib"]) == ("", "", "")
    assert float(job["wall_seconds"]) >= 0.5
