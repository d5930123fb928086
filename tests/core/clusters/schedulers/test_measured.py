"""What sources say of a job's usage, and which of them counts."""

from __future__ import annotations

from itertools import permutations

import pytest
from rowtui.core.clusters.schedulers.base import JobKey
from rowtui.core.clusters.schedulers.grid_engine.accounts import (
    read_accounts,
    read_usage,
    read_usage_now,
)
from rowtui.core.clusters.schedulers.measured import (
    Measured,
    MeasuredBy,
    MeasuredStep,
    Used,
    combined,
    read_script_words,
    with_more,
)
from rowtui.core.clusters.schedulers.slurm import usage as slurm
from rowtui.core.clusters.schedulers.slurm.parse import SlurmFormatError
from rowtui.core.clusters.schedulers.slurm.usage import UsageForm, cpu_seconds, kibibytes

SCRIPT = Measured(MeasuredBy.SCRIPT, 10.25, 20.5, 4096, node="n1")


def test_the_words_of_a_script() -> None:
    lines = [
        "used began=100.50 ended=110.75 node=n1 user=0m20.250s system=0m0.250s sampled=4000"
        " group_memory=9216000",
        "children=4096",
    ]
    assert read_script_words(lines) == SCRIPT
    assert read_script_words(lines[:1]) == SCRIPT._replace(memory=4000)


@pytest.mark.parametrize(
    "line",
    [
        "used began= ended=x user=1 system=-0m1s sampled=1e9 group_memory=",
        "used began=5 ended=4 sampled=99999999999999999999999",
        "used =5 ===",
    ],
)
def test_words_that_cannot_be_read_are_unknown(line: str) -> None:
    found = read_script_words([line])
    assert found is not None
    assert found[1:] == (None,) * 6 + ("", (), None, 0.0)


def test_a_marker_of_an_older_version_measured_nothing() -> None:
    assert read_script_words([]) is None
    assert read_script_words([""]) is None


def test_the_largest_value_counts_in_every_order() -> None:
    account = Measured(MeasuredBy.SCHEDULER, 11.0, 19.0, 5000, node="n[1-2]")
    expected = Used(
        10.25, 20.5, 5000, None, None, "n[1-2]", MeasuredBy.SCRIPT, MeasuredBy.SCRIPT,
        MeasuredBy.SCHEDULER,
    )  # fmt: skip
    for order in permutations([SCRIPT, account, Measured()]):
        assert combined(order) == expected
    assert with_more(combined([SCRIPT]), account) == expected


@pytest.mark.parametrize(
    ("words", "memory", "cpu", "by"),
    [
        ("sampled=11436", 12_988, 1.5, MeasuredBy.SCRIPT),
        # The group held more than the processes below the script.
        ("sampled=11436 group_memory=634880000", 620_000, 1.5, MeasuredBy.GROUP),
        # What it held more are files, the system, or the stepds.
        ("group_memory=634880000 group_file=600000000", 12_988, 1.5, MeasuredBy.SCRIPT),
        ("group_memory=60000000", 12_988, 1.5, MeasuredBy.SCRIPT),
        # Four processes share most of their memory, which the group counts once.
        ("sampled=1555000 group_memory=360000000", 351_562, 1.5, MeasuredBy.GROUP),
        ("sampled=14000 group_memory=9216000", 12_988, 1.5, MeasuredBy.SCRIPT),
        # The work was not below the script; only the group may have seen it.
        ("sampled=11436 outside=tree", None, None, MeasuredBy.UNKNOWN),
        ("outside=tree group_memory=60000000 group_cpu=9000000000", 58_593, 9.0, MeasuredBy.GROUP),
        ("outside=group group_memory=60000000 group_cpu=9000000", None, None, MeasuredBy.UNKNOWN),
    ],
)
def test_what_did_not_contain_the_work_is_no_measurement(
    words: str, memory: int | None, cpu: float | None, by: MeasuredBy
) -> None:
    lines = [f"used began=1 ended=2 user=0m1.0s system=0m0.5s {words}", "children=12988"]
    script = read_script_words(lines)
    assert script is not None
    used = combined([script])
    assert (used.wall, used.memory, used.cpu, used.memory_by) == (1.0, memory, cpu, by)
    group_cpu = "group_cpu" in words and cpu
    assert (used.cpu_by is MeasuredBy.GROUP) == bool(group_cpu)
    # Accounts saw everything, and no files.
    used = with_more(used, Measured(MeasuredBy.SCHEDULER, cpu=20.0, memory=300_000))
    assert (used.memory, used.cpu) == (300_000, 20.0)


@pytest.mark.parametrize(
    ("words", "cut_short", "cpu"),
    [
        ("", False, 2.0),
        ("", True, None),  # of a script that did not look, or could not
        ("seen=195 lag=9", True, 2.0),  # all that was seen has come to the script
        ("seen=210 lag=9", True, 2.1),
        ("seen=9000 lag=0", True, 90.0),  # a shell died before its program
        ("seen=9000 lag=5", True, 90.0),
        ("seen=9000 lag=6", True, None),  # nothing is known of the last 6 of 100 seconds
        ("seen=9000", True, None),
        ("seen=9000 lag=6", False, None),
        ("seen=9000 lag=6 group_cpu=93000000000", True, 93.0),
        ("seen=9000 lag=0 outside=tree", True, None),
    ],
)
def test_the_cpu_time_of_processes_that_died_with_their_parents_is_not_left_out(
    words: str, cut_short: bool, cpu: float | None
) -> None:
    lines = [f"used began=1 ended=101 user=0m1.5s system=0m0.5s {words}"]
    found = read_script_words(lines, cut_short=cut_short)
    assert found is not None
    assert combined([found]).cpu == cpu


def test_a_control_group_counts_files_too_and_only_without_accounts() -> None:
    only = Measured(MeasuredBy.SCRIPT, 1.0, 1.0, None, 9000)
    found = combined([only])
    assert (found.memory, found.memory_by) == (9000, MeasuredBy.GROUP)
    account = Measured(MeasuredBy.SCHEDULER, memory=100)
    found = with_more(found, account)
    assert (found.memory, found.memory_by) == (100, MeasuredBy.SCHEDULER)
    assert with_more(combined([only]), Measured(MeasuredBy.SCHEDULER)).memory == 9000


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:00:00", 0), ("03:04.567", 184.567), ("1-02:03:04", 93784), ("", None), ("x", None)],
)
def test_cpu_times_of_sacct(text: str, seconds: float | None) -> None:
    assert cpu_seconds(text) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("text", "amount"),
    [("191756K", 191756), ("2.50M", 2560), ("2048", 2), ("1.5G", 1572864), ("", None), ("?", None)],
)
def test_sizes_of_sacct(text: str, amount: int | None) -> None:
    assert kibibytes(text) == amount


def sacct(*records: tuple[str, ...]) -> tuple[UsageForm, bytes]:
    form = UsageForm.new()
    lines = [form.mark.join(("a\nname", *record)) for record in records]
    return form, "".join(f"{line}\n" for line in lines).encode()


LINE = "sbatch --parsable --comment=rowtui:abc-1 --hold"


def test_sacct_joins_a_job_with_its_steps() -> None:
    form, text = sacct(
        (LINE, "", "COMPLETED", "5", "123", "01:02.500", "", "", "", "n[1-2]", "12"),
        ("", "", "COMPLETED", "5", "123", "00:02.000", "2000K", "1", "", "n1", "12.batch"),
        ("", "", "COMPLETED", "6", "60", "01:00.500", "3000K", "4", "mem=12000K", "n1", "12.0"),
        ("", "", "COMPLETED", "66", "60", "00:00.500", "1000K", "4", "", "n1", "12.1"),
    )
    wanted = {JobKey(12): "abc-1"}
    steps = (
        MeasuredStep("batch", "a\nname", 1, 123.0, 2.0, 2000),
        MeasuredStep("0", "a\nname", 4, 60.0, 60.5, 3000),
        MeasuredStep("1", "a\nname", 4, 60.0, 0.5, 1000),
    )
    measured = Measured(MeasuredBy.SCHEDULER, 123.0, 62.5, 14000, node="n[1-2]", steps=steps)
    assert form.read(text, wanted) == {JobKey(12): measured}


@pytest.mark.parametrize(
    ("spans", "memory"),
    [
        ([("5", "60"), ("5", "60")], 602),  # at the same time
        ([("5", "60"), ("64", "3")], 602),
        ([("5", "60"), ("65", "60"), ("125", "9")], 301),  # one after another
        ([("5", "60"), ("65", "60"), ("70", "9")], 602),
        ([("5", "60"), ("9", "0"), ("9", "0")], 602),  # short steps, of which one at a time runs
        ([("9", "0"), ("9", "0"), ("9", "5")], 602),
        ([("5", "60"), ("", "60"), ("Unknown", "2")], 903),
    ],
)
def test_the_memory_of_steps_that_ran_at_the_same_time_is_added(
    spans: list[tuple[str, str]], memory: int
) -> None:
    form, text = sacct(
        (LINE, "", "COMPLETED", "5", "140", "", "", "", "", "n1", "12"),
        *(
            ("", "", "COMPLETED", *span, "", "301K", "1", "gres/gpumem=301K", "n1", f"12.{number}")
            for number, span in enumerate(spans)
        ),
    )
    found = form.read(text, {JobKey(12): "abc-1"})[JobKey(12)]
    assert (found.memory, found.gpu_memory) == (memory, memory)


def test_sacct_of_another_job_with_a_reused_id_is_not_believed() -> None:
    form, text = sacct(
        (LINE, "", "COMPLETED", "5", "63", "01:02.500", "", "", "", "n1", "12"),
        ("", "", "COMPLETED", "5", "63", "00:02.000", "2000K", "1", "", "n1", "12.batch"),
        ("sbatch x", "rowtui:xyz-1", "RUNNING", "5", "3", "00:02.000", "", "", "", "n1", "13"),
        ("sbatch x", "", "PENDING", "5", "0", "00:00:00", "", "", "", "None assigned", "14_[0-7]"),
    )
    assert form.read(text, {JobKey(12): "other-1", JobKey(13): "xyz-1"}) == {}
    assert form.read(b"", {JobKey(12): "abc-1"}) == {}


def test_sacct_of_tasks() -> None:
    line = "sbatch --comment=rowtui:abc-0a --array=0-1"
    form, text = sacct(
        (line, "", "OUT_OF_MEMORY", "5", "5", "00:04.000", "", "", "", "n1", "12_0"),
        ("", "", "OUT_OF_MEMORY", "5", "5", "00:04.000", "900K", "1", "", "n1", "12_0.batch"),
        (line, "", "COMPLETED", "5", "6", "00:05.000", "", "", "", "n2", "12_1"),
    )
    found = form.read(text, {JobKey(12, 0): "abc-0a.0", JobKey(12, 1): "abc-0a.1"})
    assert found == {
        JobKey(12, 0): Measured(
            MeasuredBy.SCHEDULER,
            5.0,
            4.0,
            900,
            node="n1",
            steps=(MeasuredStep("batch", "a\nname", 1, 5.0, 4.0, 900),),
        ),
        JobKey(12, 1): Measured(MeasuredBy.SCHEDULER, 6.0, 5.0, node="n2"),
    }


QACCT = b"""\
==============================================================
qname        all.q
hostname     node1
jobname      simulate.rowtui-abc-1
jobnumber    3
taskid       undefined
failed       0
exit_status  0
ru_wallclock 3s
ru_maxrss    204.800MB
cpu          2.120s
maxvmem      1.773GB
category     NONE
"""


def test_qacct() -> None:
    measured = Measured(MeasuredBy.SCHEDULER, 3.0, 2.12, 209_715, node="node1")
    assert read_usage(QACCT, {JobKey(3): "abc-1"}) == {JobKey(3): measured}
    assert read_usage(QACCT, {JobKey(3): "abc-2"}) == {}
    assert read_usage(b"", {JobKey(3): "abc-2"}) == {}


def test_qacct_with_a_record_for_each_task_of_a_parallel_environment() -> None:
    job = QACCT.replace(b"taskid ", b"pe_taskid    NONE\ntaskid ")
    task = QACCT.replace(b"taskid ", b"pe_taskid    1.node2\ntaskid ")
    for text in (task + task + job, job + task + task):
        found = read_usage(text, {JobKey(3): "abc-1"})[JobKey(3)]
        assert len(read_accounts(text)) == 1
        assert (found.wall, found.node) == (3.0, "node1")
        assert found.cpu == pytest.approx(6.36)


SSTAT = b"""\
1.batch|1|00:00:00|10804K|cpu=00:00:00,energy=0,fs/disk=29337,mem=10804K,pages=0,vmem=219336K
1.0|4|00:00:03|3200K|cpu=00:00:12,energy=0,fs/disk=18765,mem=12000K,pages=0,vmem=5520K
5.batch|2|00:01:02|4812K|
5.batch|2|00:01:02|4812K|
2.batch|1|00:00:02|4940K|cpu=00:00:02,energy=0,fs/disk=15145,mem=4940K,pages=0,vmem=8112K
"""


def test_sstat_adds_the_running_steps_of_a_job() -> None:
    found = slurm.read_usage_now(SSTAT, {1: JobKey(1), 5: JobKey(2, 3)})
    assert found == {
        JobKey(1): Measured(MeasuredBy.SCHEDULER, cpu=12.0, memory=22804),
        JobKey(2, 3): Measured(MeasuredBy.SCHEDULER, cpu=124.0, memory=9624),
    }
    with pytest.raises(SlurmFormatError):
        slurm.read_usage_now(b"sstat: something else\n", {1: JobKey(1)})


def test_squeue_prints_the_own_ids_of_tasks() -> None:
    text = b"2|4|2\n2|3|5\n7|N/A|7\nrubbish\n2|3\n"
    assert slurm.read_task_ids(text) == {2: JobKey(2, 4), 5: JobKey(2, 3)}


QSTAT = b"""\
==============================================================
job_number:                 3
job_name:                   simulate.rowtui-abc-1
usage         1:            cpu=00:01:05, mem=0.09012 GB s, io=0.00000 GB, vmem=10.5M, maxvmem=12M
==============================================================
job_number:                 4
job_name:                   simulate.rowtui-abc-0a
job-array tasks:            1-2:1
usage         1:            cpu=00:00:00, mem=0.0 GBs, io=0.0, vmem=N/A, maxvmem=N/A
usage         2:            cpu=1:00:00:07, mem=0.0 GBs, io=0.0, vmem=1M, maxvmem=1M, maxrss=2.000M
"""


def test_usage_lines_of_qstat() -> None:
    wanted = {JobKey(3): "abc-1", JobKey(4, 0): "abc-0a.0", JobKey(4, 1): "abc-0a.1"}
    found = read_usage_now(QSTAT, wanted)
    assert [found[key].cpu for key in wanted] == [65.0, 0.0, 86_407.0]
    assert [found[key].memory for key in wanted] == [None, None, 2048]
    assert read_usage_now(QSTAT, {JobKey(3): "other-1", JobKey(9): "x"}) == {}
    assert read_usage_now(b"\xff\nusage 1: cpu\n", wanted) == {}


@pytest.mark.parametrize(
    ("shown", "space", "kib"),
    [
        ("610.137KB", "613.996MB", 624_780),  # 8.1.9, a job of 600 MB: KiB taken for bytes
        ("624780", "613.996MB", 624_780),
        ("624780.000", "0.000", 624_780),
        ("610.137MB", "613.996MB", 624_780),  # converted correctly
        ("1.500MB", "1.600GB", 1_572_864),  # 8.1.9, a job of 1.5 GB
        ("900.000B", "4.000MB", 900),
        ("0", "0.000", 0),
        ("NA", "0", None),
        ("-1", "0", None),
    ],
)
def test_memory_of_qacct_is_in_kib_whatever_unit_is_printed(
    shown: str, space: str, kib: int | None
) -> None:
    text = QACCT.replace(b"204.800MB", shown.encode()).replace(b"1.773GB", space.encode())
    [found] = read_usage(text, {JobKey(3): "abc-1"}).values()
    # qacct prints three decimals.
    assert (found.memory is None) == (kib is None)
    assert abs((found.memory or 0) - (kib or 0)) <= 2


def test_accounts_that_are_older_than_the_last_look_of_the_script_are_no_measurement() -> None:
    lines = ["used began=1 ended=6 user=0m0.1s system=0m0.0s sampled=1000 seen=210 lag=3"]
    script = read_script_words(lines, cut_short=True)
    assert script is not None
    assert (script.cpu, script.cpu_seen) == (None, 2.1)
    for accounted, expected in ((1.03, None), (2.0, 2.0), (4.5, 4.5)):
        account = Measured(MeasuredBy.SCHEDULER, cpu=accounted)
        assert combined([script, account]).cpu == expected
        assert with_more(combined([account]), script).cpu == expected
