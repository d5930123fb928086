"""What can be done in the view Queue."""

from __future__ import annotations

from rowtui.tui.command import Command
from rowtui.tui.job_verbs import CANCEL, HOLD, RELEASE, RESUBMIT
from rowtui.tui.reasons import may_act_on_jobs, with_job, with_own_job

COMMANDS: tuple[Command, ...] = (
    Command("queue.open", "enter", "log", "log of this job", "queue", 1, enabled=with_own_job),
    Command("queue.mark", "space", "mark", "mark or unmark this job", "queue", 2,
            enabled=with_own_job),
    Command("queue.mark-all", "a", "all", "mark all active, all failed, or none", "queue",
            enabled=with_job),
    Command("queue.cancel", "c", "cancel…", "cancel the marked jobs, or this one", "queue", 3,
            asks=True, enabled=may_act_on_jobs(CANCEL)),
    Command("queue.hold", "h", "hold…", "keep the marked jobs, or this one, from starting",
            "queue", 4, asks=True, enabled=may_act_on_jobs(HOLD)),
    Command("queue.release", "u", "release…", "let the marked jobs, or this one, start", "queue",
            5, asks=True, enabled=may_act_on_jobs(RELEASE)),
    Command("queue.resubmit", "R", "resubmit…", "resubmit marked failed jobs, or this one",
            "queue", 6, asks=True, enabled=may_act_on_jobs(RESUBMIT)),
    Command("queue.others", "v", "others", "show or hide your jobs that are not this project's",
            "queue", 7),
    Command("queue.sort", "o", "sort", "sort by the next column", "queue", 8),
    Command("queue.reverse", "O", "reverse", "turn the order round", "queue"),
)  # fmt: skip
