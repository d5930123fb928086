"""JSON objects of jobs: single jobs, `show jobs`, `logs` and `queue`."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from rowtui.core.base.json.directories import JobAmountsJson


class JobJson(JobAmountsJson):
    """One job: what it asks for and, once it was sent, how it stands.

    `id`: as in `JobReference`. `state`: waiting (for `depends_on`), eligible, reserved, held,
    pending, running, suspended, completing, completed, failed, timeout, out of memory, node failed,
    preempted, lost, cancelled, refused, never sent, or unknown. `reason`: why it waits (only then),
    or how it ended. `outcome`: how it ended, null before: completed, no product, exit code, setup
    failed, signal, time limit, out of memory, node failed, preempted, lost, not started, not
    reported, no report, cancelled, not reached, refused, never sent. `exit_code`: the command's
    own; null where a signal ended the command, or none is known. `signal`: `KILL`, `TERM`, ....
    `script`: null unless scripts are asked for.
    """

    token: str
    id: str | None
    cluster: str
    partition: str | None
    action: str
    directories: list[str]
    directory_count: int
    name: str
    attempt: int
    state: str
    reason: str | None
    outcome: str | None
    exit_code: int | None
    signal: str | None
    submitted_at: str | None
    started_at: str | None
    ended_at: str | None
    elapsed_seconds: float | None
    log_path: str | None
    nodes: str | None
    user: str | None
    plan: str | None
    script: str | None


class JobAnswersJson(TypedDict):
    """`cancel`, `hold` and `release`."""

    version: int
    answers: list[JobAnswerJson]


class JobAnswerJson(TypedDict):
    """What became of `cancel`, `hold` or `release` for one job. `error`: null if it was done."""

    id: str
    cluster: str
    error: str | None


class JobsJson(TypedDict):
    """`show jobs`: newest first; only with `--long` those that ended or are on other clusters.

    `error`: why states may be out of date.
    """

    version: int
    error: str | None
    jobs: list[JobJson]


class LogJson(TypedDict):
    """`logs`: the job and the text of its log, or the last lines of it. `path`: of the log."""

    version: int
    job: JobJson
    path: str
    lines: list[str]


class QueueRowJson(JobAmountsJson):
    """One scheduler job. The fields of `JobJson`, null where only the scheduler knows the job.

    `ours`: of this project. `requests`: the jobs in it, of a bundle. `explanation`, `hint`: what
    the state and the reason mean. `needs_person`: it does not start unless a person acts.
    `starts_at`: an estimate of the scheduler.
    """

    token: str | None
    id: str | None
    cluster: str
    partition: str | None
    action: str | None
    directories: list[str]
    directory_count: int
    name: str
    attempt: int | None
    state: str
    reason: str | None
    outcome: str | None
    exit_code: int | None
    signal: str | None
    submitted_at: str | None
    started_at: str | None
    ended_at: str | None
    elapsed_seconds: float | None
    log_path: str | None
    nodes: str | None
    user: str | None
    plan: str | None
    script: str | None
    ours: bool
    requests: list[JobJson]
    explanation: str
    hint: str | None
    needs_person: bool
    starts_at: str | None


class ClusterQueueJson(TypedDict):
    """The jobs of one cluster. `where`: `here` or `me@host`. `connected`: null without a login.

    `login`: why a person must log in. `error`: why the last poll failed; `as_of`: of what is known,
    `age_seconds` old; `next_at`: of the next poll.
    """

    name: str
    where: str
    scheduler: str
    connected: bool | None
    login: str | None
    error: str | None
    as_of: str | None
    age_seconds: float | None
    next_at: str | None
    jobs: list[QueueRowJson]


class QueueJson(TypedDict):
    """`queue`: all clusters."""

    version: int
    clusters: list[ClusterQueueJson]


# What `rowtui run` prints.


class ProjectRunEventJson(TypedDict):
    """One line of `run`. The first, `run`, has the `id`; the others have the rest.

    `plan`: the id of what was sent. `completed`, `failed`: jobs that ended since the last line.
    """

    event: str
    id: NotRequired[str]
    at: NotRequired[str | None]
    sentence: NotRequired[str]
    success: NotRequired[bool]
    plan: NotRequired[str | None]
    completed: NotRequired[int]
    failed: NotRequired[int]


class RetryRuleJson(TypedDict):
    """A rule. `attempts`: at most, in all. `line`: in rowtui.toml, null for a default rule."""

    action: str
    on: list[str]
    attempts: int
    change: str | None
    wait_seconds: float
    line: int | None


class RetryRulesJson(TypedDict):
    """`run --rules`: the first rule that matches a failure decides."""

    version: int
    rules: list[RetryRuleJson]
