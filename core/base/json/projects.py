"""JSON objects of `projects`."""

from __future__ import annotations

from typing import TypedDict

from rowtui.core.base.json.directories import CostJson


class ProjectCountsJson(TypedDict):
    """Pairs of an action and a directory, by status. `failed` are among the eligible ones."""

    total: int
    completed: int
    submitted: int
    eligible: int
    waiting: int
    failed: int


class KnownProjectJson(TypedDict):
    """A project. `state`: `ok`, `no answer`, `gone`, `broken`, or `unread` if it was never read.

    `problem`: why it is broken. `opened_at`: null if it was found and not opened. `read_at`: when
    the other values were read; they are null before. `no_answer_since`: the first read without an
    answer. `running_jobs`: as of the last polls of the queues; null if a queue was not polled.
    `run_paused`: why a run is paused. `silent_clusters`: clusters with jobs of the project whose
    last poll failed. `needs`: what needs the user, in words.
    """

    path: str
    state: str
    problem: str | None
    opened_at: str | None
    read_at: str | None
    no_answer_since: str | None
    directories: int | None
    counts: ProjectCountsJson | None
    jobs: int | None
    running_jobs: int | None
    remaining_cost: CostJson | None
    run_paused: str | None
    silent_clusters: list[str]
    needs: list[str]


class ProjectsJson(TypedDict):
    """`projects`, in the order of the last opening."""

    version: int
    projects: list[KnownProjectJson]
