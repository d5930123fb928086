"""What the machine has for jobs."""

import os

import pytest
from rowtui.core.base.errors import RowtuiError
from rowtui.core.clusters.schedulers.local.machine import boot_id, host_name, machine_capacity


def test_the_cores_are_those_that_this_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        assert machine_capacity({}).cores == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert 1 <= machine_capacity({}).cores <= len(allowed)


def test_the_memory_is_at_most_what_the_machine_has() -> None:
    with open("/proc/meminfo") as file:
        total = int(file.readline().split()[1]) // 1024
    assert 16 <= machine_capacity({}).memory_mb <= total + 1


def test_a_person_may_state_what_there_is() -> None:
    stated = {
        "ROWTUI_LOCAL_CORES": "7",
        "ROWTUI_LOCAL_MEMORY_MB": " 5000 ",
        "ROWTUI_LOCAL_GPUS": "2",
    }
    capacity = machine_capacity(stated)
    assert (capacity.cores, capacity.memory_mb, capacity.gpus) == (7, 5000, ("0", "1"))


def test_only_visible_gpus_count() -> None:
    assert machine_capacity({"CUDA_VISIBLE_DEVICES": "3, GPU-ab"}).gpus == ("3", "GPU-ab")
    assert machine_capacity({"CUDA_VISIBLE_DEVICES": ""}).gpus == ()
    assert machine_capacity({"CUDA_VISIBLE_DEVICES": "-1"}).gpus == ()


@pytest.mark.parametrize("text", ["many", "0", "-1", "1.5", "²"])
def test_a_number_of_cores_that_is_none_is_an_error_that_names_the_variable(text: str) -> None:
    with pytest.raises(RowtuiError, match=r"ROWTUI_LOCAL_CORES is .*not a whole number"):
        machine_capacity({"ROWTUI_LOCAL_CORES": text})


def test_the_names_of_the_machine_and_of_its_boot_are_fit_for_files() -> None:
    assert len(boot_id()) == 36
    assert host_name()
    assert "/" not in host_name()
