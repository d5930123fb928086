"""JSON objects of `history`."""

from __future__ import annotations

from typing import TypedDict


class PastIntervalJson(TypedDict):
    """The jobs that ended from `start` on, up to the next interval.

    `cpu_hours`: charged to these jobs; `cpus_in_use`: the mean during the interval, of all jobs
    that have ended since.
    """

    start: str | None
    jobs: int
    ended_well: int
    failed: int
    cancelled: int
    cpu_hours: float
    cpus_in_use: float


class PartitionWaitJson(TypedDict):
    """Seconds from submission to start; 90 % of the jobs waited at most `most_of_seconds`."""

    partition: str
    jobs: int
    median_seconds: float
    most_of_seconds: float
    longest_seconds: float


class NodeFailuresJson(TypedDict):
    """The jobs of a node, without cancelled ones. `expected`: failures if they did not depend on
    the node; `chance`: the probability of so many by chance, corrected for the number of nodes.
    """

    node: str
    jobs: int
    failed: int
    expected: float
    chance: float
    stands_out: bool


class PastJobJson(TypedDict):
    """One job. `state`: `completed`, `failed` or `cancelled`; `reason`: null if it ended well."""

    id: str | None
    action: str
    node: str | None
    started_at: str | None
    ended_at: str | None
    state: str
    reason: str | None


class HistoryJson(TypedDict):
    """`history`. `..._left_out`: how many rows a list is short of; `jobs`: the newest ones."""

    version: int
    first: str | None
    last: str | None
    seconds_each: int
    intervals: list[PastIntervalJson]
    older_intervals_left_out: bool
    waits: list[PartitionWaitJson]
    partitions_left_out: int
    nodes: list[NodeFailuresJson]
    nodes_left_out: int
    jobs: list[PastJobJson]
    jobs_left_out: int
    job_count: int
    damaged_records: int
