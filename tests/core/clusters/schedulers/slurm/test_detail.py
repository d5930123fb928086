"""What Slurm and Grid Engine say of one job, read into fields and numbers."""

from __future__ import annotations

import asyncio

from rowtui.core.clusters.command_log import CommandResult, Trouble
from rowtui.core.clusters.commands import LocalTransport
from rowtui.core.clusters.schedulers.base import JobKey
from rowtui.core.clusters.schedulers.grid_engine.kind import read_lines
from rowtui.core.clusters.schedulers.kind import scheduler_kind
from rowtui.core.clusters.schedulers.slurm.detail import read_fields, read_priority, read_start

SHOWN = """JobId=3 JobName=me with space
   UserId=root(0) GroupId=root(0) MCS_label=N/A
   JobState=PENDING Reason=Priority Dependency=(null)
   NumNodes=1 NumCPUs=1 NumTasks=1 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   TRES=cpu=1,mem=2000M,node=1,billing=1
   Comment=tok:abc123\x20
   StdOut=/scratch/o-3
   Power=
"""


def test_fields_are_read_with_their_blanks_slashes_and_colons() -> None:
    fields = dict(read_fields(SHOWN))
    assert fields["JobName"] == "me with space"
    assert fields["CPUs/Task"] == "1"
    assert fields["ReqB:S:C:T"] == "0:0:*:*"
    assert fields["TRES"] == "cpu=1,mem=2000M,node=1,billing=1"
    assert fields["Power"] == ""
    assert read_fields("") == ()


def test_the_parts_of_a_priority_that_count_are_told() -> None:
    told = read_priority("41823|8200|21400|9223|0|3000|0|0|5\n")
    assert told == (
        ("priority", 41_823), ("age", 8_200), ("fair share", 21_400), ("job size", 9_223),
        ("QOS", 3_000), ("nice", -5),
    )  # fmt: skip
    assert read_priority("You are not running a supported priority plugin") == ()
    assert read_priority("") == ()


def test_an_estimate_has_a_time_and_nodes_or_nothing() -> None:
    assert read_start("1795237930|n[1-2]\n") == (1_795_237_930, "n[1-2]")
    assert read_start("N/A|(null)\n") == (None, "")
    assert read_start("") == (None, "")


def test_qstat_lines_are_name_and_value_and_keep_what_has_no_name() -> None:
    text = "=====\njob_number:    1\nusage         1:   cpu=00:00\nscheduling info:  no\n    a: b\n"
    assert read_lines(text) == (
        ("job_number", "1"), ("usage 1", "cpu=00:00"), ("scheduling info", "no"), ("", "a: b"),
    )  # fmt: skip


class Silent(LocalTransport):
    async def run(self, argv, **_):  # type: ignore[no-untyped-def, override]
        return CommandResult(tuple(argv), None, trouble=Trouble.TIMED_OUT, seconds=60)


def test_a_cluster_that_does_not_answer_says_so_in_each_part() -> None:
    detail = asyncio.run(scheduler_kind("slurm").detail(Silent(), JobKey(1), estimate=True))
    assert [bool(one.problem) for one in detail.asked] == [True] * 3
    assert detail.start is None
    assert "no answer" in asyncio.run(scheduler_kind("slurm").everybody(Silent(), 10)).problem


def test_a_scheduler_that_offers_nothing_says_so() -> None:
    assert "reports no further details" in asyncio.run(
        scheduler_kind("bash").detail(Silent(), JobKey(1), estimate=False)
    ).problem  # fmt: skip
    assert asyncio.run(scheduler_kind("local").everybody(Silent(), 10)).problem
