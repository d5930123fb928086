from __future__ import annotations

from typing import Any

import pytest
from rowtui.core.clusters.config.builtin import LAUNCHERS
from rowtui.core.clusters.model import Launcher, LauncherError, Launchers, launcher_prefix
from rowtui.core.workflow.model import Action, Processes, Resources

ALL = Launchers(LAUNCHERS)


def prefix(*launchers: str, cluster: str = "delta", directories: int = 1, **resources: Any) -> str:
    action = Action(0, "a", "x", launchers, resources=Resources(**resources))
    return launcher_prefix(action, ALL, cluster, directories)


@pytest.mark.parametrize(
    ("launchers", "cluster", "resources", "expected"),
    [
        ((), "delta", {}, ""),
        (("openmp",), "delta", {}, ""),
        (("openmp",), "delta", {"threads_per_process": 4}, "OMP_NUM_THREADS=4 "),
        (("rayon",), "none", {"threads_per_process": 4}, "RAYON_NUM_THREADS=4 "),
        (("mpi",), "delta", {}, "srun --ntasks=1 "),
        (("mpi",), "none", {}, "mpirun -n 1 "),
        (("mpi",), "local", {"threads_per_process": 2}, "mpirun -n 1 "),
        (("mpi",), "anvil", {"processes": Processes(3)}, "srun --mpi=pmi2 --ntasks=3 "),
        (
            ("mpi",),
            "delta",
            {"threads_per_process": 2, "gpus_per_process": 3},
            "srun --ntasks=1 --cpus-per-task=2 --tres-per-task=gres/gpu:3 ",
        ),
        (
            ("openmp", "mpi"),
            "delta",
            {"threads_per_process": 2},
            "OMP_NUM_THREADS=2 srun --ntasks=1 --cpus-per-task=2 ",
        ),
        (
            ("mpi", "openmp"),
            "none",
            {"threads_per_process": 2},
            "mpirun -n 1 OMP_NUM_THREADS=2 ",
        ),
    ],
)
def test_the_parts_stand_in_rows_order(
    launchers: tuple[str, ...], cluster: str, resources: dict[str, Any], expected: str
) -> None:
    assert prefix(*launchers, cluster=cluster, **resources) == expected


def test_processes_per_directory_count_the_directories_of_the_job() -> None:
    each = Processes(2, per_directory=True)
    assert prefix("mpi", cluster="none", directories=5, processes=each) == "mpirun -n 10 "


def test_an_unknown_launcher_says_which_and_what_was_meant() -> None:
    with pytest.raises(LauncherError, match="launcher 'mpl' of action 'a' not found") as caught:
        prefix("openmp", "mpl")
    assert caught.value.hint == "did you mean 'mpi'?"
    assert caught.value.index == 1
    with pytest.raises(LauncherError) as caught:
        prefix("zzz")
    assert caught.value.hint == "the known launchers are 'mpi', 'openmp', 'rayon'"


def test_several_processes_need_a_launcher_that_starts_them() -> None:
    with pytest.raises(LauncherError, match=r"no process launcher .* requests 2 processes"):
        prefix("openmp", processes=Processes(2))
    with pytest.raises(LauncherError, match="no process launcher"):
        prefix(directories=2, processes=Processes(1, per_directory=True))
    assert prefix(directories=1, processes=Processes(1, per_directory=True)) == ""


def test_only_one_launcher_may_start_processes() -> None:
    with pytest.raises(LauncherError, match=r"more than one process launcher .* 'mpi' and 'mpi'"):
        prefix("mpi", "mpi")


def test_an_empty_string_is_a_part_and_an_absent_one_is_not() -> None:
    launchers = Launchers({"x": {"default": Launcher("", "", None, "g")}})
    action = Action(0, "a", "x", ("x",))
    assert launcher_prefix(action, launchers, "t", 1) == " 1 "


def test_a_launcher_that_starts_one_process_is_named_where_several_are_requested() -> None:
    with pytest.raises(LauncherError) as caught:
        prefix("openmp", processes=Processes(3))
    assert caught.value.hint == "give one of 'openmp' `processes` in launchers.toml"
    with pytest.raises(LauncherError) as caught:
        prefix(processes=Processes(3))
    assert caught.value.hint == 'add one: launchers = ["mpi"]'
