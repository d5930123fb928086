"""The commands of the view Queue."""

from __future__ import annotations

from rowtui.tui.commands.command import Command
from rowtui.tui.shell.reasons import may_act_on_jobs, with_job, with_own_job
from rowtui.tui.views.queue.job_verbs import CANCEL, HOLD, RELEASE, RETRY
from rowtui.tui.views.queue.reasons import with_clusters, with_fold, with_row

COMMANDS: tuple[Command, ...] = (
    Command("queue.open", "enter,l", "log", "log of this job", "queue", 1, enabled=with_own_job,
            twin="logs"),
    Command("queue.why", "w", "why", "why it is not running, and all that its scheduler says",
            "queue", 2, enabled=with_row, twin="show jobs --long"),
    Command("queue.mark", "space", "mark", "mark or unmark this job, or this array", "queue", 3,
            enabled=with_own_job),
    Command("queue.mark-all", "a", "all", "mark all active, all failed, or none", "queue",
            enabled=with_job),
    Command("queue.cancel", "c", "cancel…", "cancel the marked jobs, or this one", "queue", 4,
            asks=True, enabled=may_act_on_jobs(CANCEL), twin="cancel"),
    Command("queue.hold", "h", "hold…", "keep the marked jobs, or this one, from starting",
            "queue", 5, asks=True, enabled=may_act_on_jobs(HOLD), twin="hold"),
    Command("queue.release", "H", "release…", "let the marked jobs, or this one, start", "queue",
            6, asks=True, enabled=may_act_on_jobs(RELEASE), twin="release"),
    Command("queue.retry", "R", "retry…", "retry the marked failed jobs, or this one",
            "queue", 7, asks=True, enabled=may_act_on_jobs(RETRY), twin="retry"),
    Command("queue.fold", "z", "fold", "fold or unfold this array or bundle", "queue", 8,
            enabled=with_fold),
    Command("queue.fold-all", "Z", "fold all", "fold or unfold all arrays and bundles", "queue"),
    Command("queue.others", "m", "my others", "show or hide your jobs that are not this project's",
            "queue", 9),
    Command("queue.everybody", "u", "all users", "show or hide the jobs of all users", "queue", 10),
    Command("queue.cluster", "n", "cluster", "only the next cluster, or all again", "queue", 11,
            enabled=with_clusters, twin="queue --cluster"),
)  # fmt: skip
