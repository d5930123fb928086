from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.config.builtin import CLUSTERS
from rowtui.core.clusters.model import (
    Cluster,
    Identify,
    JobTotals,
    Partition,
    PartitionCheck,
    PartitionChoice,
    PartitionRefusal,
)
from rowtui.core.clusters.partition import (
    choose_partition,
    job_totals,
    memory_mb,
    partition_checks,
    partition_memory_mb,
    partition_warnings,
)
from rowtui.core.workflow.model import Processes, Resources, Walltime


def choose(
    *partitions: Partition,
    cpus: int = 1,
    gpus: int | None = None,
    named: str | None = None,
    directories: int = 1,
    **more: Any,
) -> PartitionChoice:
    """The choice for a job with that many CPUs (as threads) or GPUs (of one process)."""
    resources = Resources(threads_per_process=cpus, gpus_per_process=gpus, **more)
    cluster = Cluster("t", Identify(), "slurm", partitions)
    return choose_partition(cluster, resources, directories, named)


@pytest.mark.parametrize(
    ("limit", "good", "bad"),
    [
        ({"maximum_cpus_per_job": 4}, {"cpus": 4}, {"cpus": 5}),
        ({"require_cpus_multiple_of": 4}, {"cpus": 8}, {"cpus": 7}),
        ({"minimum_gpus_per_job": 2}, {"gpus": 2}, {"gpus": 1}),
        ({"minimum_gpus_per_job": 1}, {"gpus": 1}, {}),
        ({"maximum_gpus_per_job": 2}, {"gpus": 2}, {"gpus": 3}),
        ({"maximum_gpus_per_job": 0}, {}, {"gpus": 1}),
        ({"require_gpus_multiple_of": 2}, {"gpus": 4}, {"gpus": 3}),
        ({"require_gpus_multiple_of": 2}, {"gpus": 2}, {}),
        ({"memory_per_cpu_mb": 100}, {"memory_per_cpu_mb": 99}, {"memory_per_cpu_mb": 100}),
        ({"memory_per_cpu_mb": 100}, {"memory_per_gpu_mb": 101}, {"memory_per_cpu_mb": 101}),
        (
            {"memory_per_gpu_mb": 100},
            {"memory_per_gpu_mb": 99, "gpus": 1},
            {"memory_per_gpu_mb": 100, "gpus": 1},
        ),
        (
            {"maximum_walltime_seconds": 3600},
            {"walltime": Walltime(3600, False)},
            {"walltime": Walltime(3601, False)},
        ),
    ],
)
def test_each_limit_holds_up_to_its_boundary(
    limit: dict[str, Any], good: dict[str, Any], bad: dict[str, Any]
) -> None:
    partition = Partition("p", **limit)
    assert choose(partition, **good) == PartitionChoice(
        partition, choose(partition, **good).warnings
    )
    refused = choose(partition, **bad)
    assert refused.partition is None
    (refusal,) = refused.refusals
    assert refusal.partition == "p"
    assert refusal.constraint.removesuffix("_seconds") == next(iter(limit)).removesuffix("_seconds")
    assert refusal.asked
    assert refusal.offered
    assert refusal.hint


@pytest.mark.parametrize(
    ("limit", "quiet", "warned", "words"),
    [
        ({"warn_cpus_not_multiple_of": 4}, {"cpus": 8}, {"cpus": 6}, "CPUs (6) not a preferred"),
        ({"warn_gpus_not_multiple_of": 4}, {"gpus": 4}, {"gpus": 6}, "GPUs (6) not a preferred"),
        ({"warn_gpus_not_multiple_of": 4}, {"gpus": 8}, {}, "GPUs (0) not a preferred"),
        ({"memory_per_cpu_mb": 9}, {}, {"memory_per_cpu_mb": 8}, "omit `memory_per_cpu_mb`"),
        (
            {"memory_per_gpu_mb": 9},
            {"gpus": 1},
            {"gpus": 1, "memory_per_gpu_mb": 8},
            "omit `memory_per_gpu_mb`",
        ),
    ],
)
def test_warnings_do_not_refuse(
    limit: dict[str, Any], quiet: dict[str, Any], warned: dict[str, Any], words: str
) -> None:
    partition = Partition("p", **limit)
    assert choose(partition, **quiet).warnings == ()
    choice = choose(partition, **warned)
    assert choice.partition is partition
    assert words in choice.warnings[0]


def test_the_first_that_fits_is_taken_with_the_reasons_against_those_before_it() -> None:
    partitions = (
        Partition("manual", prevent_auto_select=True),
        Partition("small", maximum_cpus_per_job=2),
        Partition("fits", warn_cpus_not_multiple_of=2),
        Partition("also fits"),
    )
    choice = choose(*partitions, cpus=3)
    assert choice.partition is partitions[2]
    assert [(r.partition, r.constraint) for r in choice.refusals] == [
        ("manual", "prevent_auto_select"),
        ("small", "maximum_cpus_per_job"),
    ]
    assert 'submit_options.t.partition = "manual"' in choice.refusals[0].hint
    assert len(choice.warnings) == 1


def test_a_manual_partition_is_taken_when_named_and_its_limits_still_hold() -> None:
    manual = Partition("m", prevent_auto_select=True, maximum_cpus_per_job=2)
    assert choose(manual, named="m").partition is manual
    refused = choose(manual, Partition("other"), named="m", cpus=3)
    assert refused.partition is None
    assert [refusal.constraint for refusal in refused.refusals] == ["maximum_cpus_per_job"]


def test_a_named_partition_that_does_not_exist_is_one_refusal_with_the_near_name() -> None:
    choice = choose(Partition("standard"), Partition("gpu"), named="standrad")
    assert choice.partition is None
    (refusal,) = choice.refusals
    assert (refusal.constraint, refusal.offered) == ("name", "standard, gpu")
    assert refusal.hint == "did you mean 'standard'?"


def test_a_warning_about_cpus_does_not_skip_the_checks_of_gpus() -> None:
    partition = Partition("p", warn_cpus_not_multiple_of=4, minimum_gpus_per_job=1)
    assert choose(partition, cpus=3).partition is None


def test_too_much_memory_for_one_partition_goes_to_the_next() -> None:
    small, big = Partition("s", memory_per_cpu_mb=100), Partition("b", memory_per_cpu_mb=300)
    choice = choose(small, big, memory_per_cpu_mb=200)
    assert choice.partition is big
    assert choice.refusals[0].constraint == "memory_per_cpu_mb"


def test_memory_without_a_limit_of_the_partition_is_not_checked() -> None:
    assert choose(Partition("p"), memory_per_cpu_mb=10**9).partition is not None
    weird = Partition("p", memory_per_cpu="lots")
    assert choose(weird, memory_per_cpu_mb=10**9).partition is weird


def test_a_cluster_without_partitions_takes_nothing() -> None:
    assert choose() == PartitionChoice(None)


@pytest.mark.parametrize("scheduler", ["bash", "local"])
def test_without_slurm_nothing_is_checked(scheduler: str) -> None:
    partition = Partition("p", maximum_cpus_per_job=0)
    cluster = Cluster("t", Identify(), scheduler, (partition,))
    assert choose_partition(cluster, Resources(), 9, "nope") == PartitionChoice(partition)
    empty = Cluster("t", Identify(), scheduler)
    assert choose_partition(empty, Resources(), 9, None).partition == Partition("t")


@pytest.mark.parametrize(
    ("partition", "more", "hint"),
    [
        (Partition("p", maximum_cpus_per_job=7), {}, "at most 3 directories fit"),
        (Partition("p", maximum_cpus_per_job=1), {}, "ask for at most 1"),
        (Partition("p", require_cpus_multiple_of=6), {}, "ask for 6 or 12 CPUs"),
        (Partition("p", require_cpus_multiple_of=64), {}, "ask for 64 CPUs"),
        (Partition("p", maximum_gpus_per_job=0), {"gpus_per_process": 1}, "do not ask for any"),
        (Partition("p", maximum_gpus_per_job=9), {"gpus_per_process": 1}, "at most 4 directories"),
        (Partition("p", maximum_walltime_seconds=7200), {}, "at most 2 directories fit"),
    ],
)
def test_the_hint_is_the_smallest_change_that_lets_it_in(
    partition: Partition, more: dict[str, Any], hint: str
) -> None:
    resources = Resources(processes=Processes(2, per_directory=True), **more)
    cluster = Cluster("t", Identify(), "slurm", (partition,))
    (refusal,) = choose_partition(cluster, resources, 5, None).refusals
    assert hint in refusal.hint


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 60))
def test_the_number_of_directories_in_a_hint_is_the_largest_that_fits(
    limit: int, each: int, directories: int
) -> None:
    resources = Resources(processes=Processes(each, per_directory=True))
    cluster = Cluster("t", Identify(), "slurm", (Partition("p", maximum_cpus_per_job=limit),))
    choice = choose_partition(cluster, resources, directories, None)
    if choice.refusals and "maximum_size" in choice.refusals[0].hint:
        fits = int(choice.refusals[0].hint.rpartition(" ")[2])
        assert choose_partition(cluster, resources, fits, None).partition is not None
        assert choose_partition(cluster, resources, fits + 1, None).partition is None
    else:
        assert (choice.partition is not None) == (each * directories <= limit)


@pytest.mark.parametrize(
    ("name", "resources", "directories", "partition"),
    [
        ("andes", Resources(), 1, "batch"),
        ("anvil", Resources(processes=Processes(127)), 1, "shared"),
        ("anvil", Resources(processes=Processes(128)), 1, "wholenode"),
        ("anvil", Resources(processes=Processes(129)), 1, None),
        ("anvil", Resources(gpus_per_process=1), 1, "gpu"),
        ("delta", Resources(), 1, "cpu"),
        ("delta", Resources(gpus_per_process=1), 1, "gpuA100x4"),
        ("greatlakes", Resources(gpus_per_process=1), 1, "gpu_mig40,gpu"),
        ("greatlakes", Resources(gpus_per_process=2), 1, "gpu"),
        ("greatlakes", Resources(gpus_per_process=1), 2, "gpu_mig40,gpu"),
        ("greatlakes", Resources(Processes(1, True), gpus_per_process=1), 2, "gpu"),
        ("frontier", Resources(gpus_per_process=8), 1, "batch"),
    ],
)
def test_jobs_go_where_row_sends_them_on_the_built_in_clusters(
    name: str, resources: Resources, directories: int, partition: str | None
) -> None:
    (cluster,) = (cluster for cluster in CLUSTERS if cluster.name == name)
    choice = choose_partition(cluster, resources, directories, None)
    assert (choice.partition.name if choice.partition else None) == partition


@pytest.mark.parametrize(
    ("text", "mb"),
    [
        ("2000", 2000),
        ("1970M", 1970),
        ("5G", 5120),
        ("60g", 61_440),
        ("1T", 1 << 20),
        ("1025K", 2),
        ("5GB", 5120),
        ("", None),
        ("1.5G", None),
        ("lots", None),
    ],
)
def test_memory_of_row_0_3_is_read_as_slurm_reads_it(text: str, mb: int | None) -> None:
    assert memory_mb(text) == mb
    assert partition_memory_mb(Partition("p", memory_per_cpu=text), gpus=False) == mb
    assert partition_memory_mb(Partition("p", memory_per_gpu=text), gpus=True) == mb
    both = Partition("p", memory_per_cpu=text, memory_per_cpu_mb=7)
    assert partition_memory_mb(both, gpus=False) == 7


def checks(partition: Partition, job: JobTotals, by_name: bool = False) -> list[PartitionCheck]:
    return list(partition_checks(partition, job, cluster="t", by_name=by_name))


def test_every_check_is_given_with_what_was_asked_and_offered_those_that_passed_too() -> None:
    partition = Partition(
        "p",
        maximum_cpus_per_job=8,
        require_cpus_multiple_of=2,
        minimum_gpus_per_job=1,
        memory_per_cpu_mb=100,
        prevent_auto_select=True,
        maximum_walltime_seconds=3600,
    )
    job = job_totals(Resources(threads_per_process=9, memory_per_cpu_mb=99), 1)
    assert checks(partition, job) == [
        PartitionCheck(
            "prevent_auto_select",
            "no partition named",
            "true",
            False,
            'name it: submit_options.t.partition = "p"',
        ),
        PartitionCheck("maximum_cpus_per_job", "9 CPUs", "8", False, "ask for at most 8"),
        PartitionCheck("require_cpus_multiple_of", "9 CPUs", "2", False, "ask for 8 or 10 CPUs"),
        PartitionCheck(
            "minimum_gpus_per_job", "0 GPUs", "1", False, "ask for GPUs: gpus_per_process"
        ),
        PartitionCheck("memory_per_cpu_mb", "99 MB", "100 MB", True),
        PartitionCheck("maximum_walltime", "01:00:00", "01:00:00", True),
    ]
    assert checks(partition, job, by_name=True)[0] == PartitionCheck(
        "prevent_auto_select", "the partition named", "true", True
    )


def test_limits_that_a_partition_does_not_have_are_no_checks() -> None:
    resources = Resources(gpus_per_process=1, memory_per_gpu_mb=9)
    job = job_totals(resources, 1)._replace(memory_mb=99)
    assert checks(Partition("p"), job) == []
    assert partition_warnings(Partition("p"), job) == ()


def test_totals_that_are_not_the_actions_own_are_what_is_checked() -> None:
    partition = Partition("p", maximum_cpus_per_job=8, warn_cpus_not_multiple_of=4)
    own = job_totals(Resources(processes=Processes(2, per_directory=True)), 8)
    given = own._replace(cpus=6)
    (refused,) = checks(partition, own)
    (passed,) = checks(partition, given)
    assert (refused.asked, refused.passed) == ("16 CPUs", False)
    assert (passed.asked, passed.passed) == ("6 CPUs", True)
    assert "CPUs (6)" in partition_warnings(partition, given)[0]


def test_fewer_directories_are_advised_only_where_the_total_comes_from_them() -> None:
    resources = Resources(
        processes=Processes(1, per_directory=True), walltime=Walltime(60, per_directory=True)
    )
    partition = Partition("p", maximum_cpus_per_job=4, maximum_walltime_seconds=120)
    own = job_totals(resources, 5)
    assert [check.hint for check in checks(partition, own)] == [
        "at most 4 directories fit: maximum_size = 4",
        "at most 2 directories fit: maximum_size = 2",
    ]
    given = own._replace(cpus=6, walltime_seconds=200)
    assert [check.hint for check in checks(partition, given)] == [
        "ask for at most 4",
        "ask for less walltime",
    ]


@pytest.mark.parametrize(
    ("partition", "gpus", "key", "offered"),
    [
        (Partition("p", memory_per_cpu_mb=100), 0, "memory_per_cpu_mb", 400),
        (Partition("p", memory_per_cpu="1G"), 0, "memory_per_cpu_mb", 4096),
        (Partition("p", memory_per_gpu_mb=1000), 2, "memory_per_gpu_mb", 2000),
    ],
)
def test_memory_that_the_job_was_given_may_be_all_that_its_cpus_or_gpus_bring(
    partition: Partition, gpus: int, key: str, offered: int
) -> None:
    # The action's own wish is not what the job asks for any more.
    job = JobTotals(4, gpus, 60, Resources(memory_per_cpu_mb=10**6), 1)
    (fits,) = checks(partition, job._replace(memory_mb=offered))
    (refused,) = checks(partition, job._replace(memory_mb=offered + 1))
    shown = f"{offered} MB in all"
    assert fits == PartitionCheck(key, shown, shown, True)
    assert refused[:4] == (key, f"{offered + 1} MB in all", shown, False)
    assert f"at most {offered} MB" in refused.hint
    assert partition_warnings(partition, job._replace(memory_mb=offered)) == ()


def test_a_total_that_is_the_actions_own_memory_is_judged_as_row_does() -> None:
    partition = Partition("p", memory_per_cpu_mb=100)
    own = job_totals(Resources(threads_per_process=4, memory_per_cpu_mb=100), 1)
    assert checks(partition, own._replace(memory_mb=400)) == checks(partition, own)
    assert not checks(partition, own)[0].passed


LIMIT = st.none() | st.integers(0, 9)
PARTITIONS = st.builds(
    Partition,
    name=st.just("p"),
    maximum_cpus_per_job=LIMIT,
    require_cpus_multiple_of=LIMIT,
    warn_cpus_not_multiple_of=LIMIT,
    memory_per_cpu_mb=LIMIT,
    minimum_gpus_per_job=LIMIT,
    maximum_gpus_per_job=LIMIT,
    require_gpus_multiple_of=LIMIT,
    warn_gpus_not_multiple_of=LIMIT,
    memory_per_gpu_mb=LIMIT,
    prevent_auto_select=st.booleans(),
    maximum_walltime_seconds=LIMIT,
)
RESOURCES = st.builds(
    Resources,
    processes=st.builds(Processes, st.integers(1, 4), st.booleans()),
    threads_per_process=st.none() | st.integers(1, 3),
    gpus_per_process=st.none() | st.integers(0, 3),
    walltime=st.builds(Walltime, st.integers(1, 9), st.booleans()),
    memory_per_cpu_mb=LIMIT,
    memory_per_gpu_mb=LIMIT,
)


@given(PARTITIONS, RESOURCES, st.integers(1, 5), st.booleans())
def test_the_first_check_that_fails_is_what_the_choice_refuses_for(
    partition: Partition, resources: Resources, directories: int, by_name: bool
) -> None:
    cluster = Cluster("t", Identify(), "slurm", (partition,))
    choice = choose_partition(cluster, resources, directories, "p" if by_name else None)
    job = job_totals(resources, directories)
    all_checks = checks(partition, job, by_name)
    failed = [check for check in all_checks if not check.passed]
    assert all(bool(check.hint) != check.passed for check in all_checks)
    if failed:
        constraint, asked, offered, _, hint = failed[0]
        refusal = PartitionRefusal("p", constraint, asked, offered, hint)
        assert choice == PartitionChoice(None, (), (refusal,))
    else:
        assert choice == PartitionChoice(partition, partition_warnings(partition, job))
