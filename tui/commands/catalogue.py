"""All commands of the dashboard with their keys: one table for each view, list and text.

A new command needs a line here and a method `command_<name>` of its view.
"""

from __future__ import annotations

from rowtui.tui.commands.command import (
    CHANGE_KEYS,
    VIEWS,
    Command,
)
from rowtui.tui.demo.reasons import (
    when_demo,
    when_played,
)
from rowtui.tui.shell.reasons import (
    may_act_on_jobs,
    may_cancel_in_network,
    may_connect,
    may_make_change,
    may_mark,
    may_mark_sample,
    may_reset,
    may_reset_packing,
    may_retry_groups,
    may_retry_in_network,
    may_retry_need,
    may_start_anew,
    may_start_network,
    may_step_network,
    may_stop_network,
    may_submit,
    may_submit_all,
    may_submit_groups,
    may_submit_packing,
    may_toggle_node_type,
    may_undo_write,
    may_write,
    with_action,
    with_action_or_need,
    with_decision,
    with_destinations,
    with_failures,
    with_groups,
    with_job,
    with_network,
    with_own_job,
    with_packing,
    with_run,
)
from rowtui.tui.views.clusters.reasons import (
    may_ask_nodes,
    may_log_in,
    with_cluster,
)
from rowtui.tui.views.network.reasons import (
    may_ask_what_it_waits_for,
    may_redo,
)
from rowtui.tui.views.pack.reasons import (
    may_compare,
)
from rowtui.tui.views.queue.job_verbs import (
    CANCEL,
    HOLD,
    RELEASE,
    RETRY,
)
from rowtui.tui.views.queue.reasons import (
    with_clusters,
    with_fold,
    with_row,
)
from rowtui.tui.views.submit.reasons import (
    may_confirm,
    may_stop,
    may_switch,
    may_write_plan,
    with_plan,
)

_TWINS = {
    "status": "show status",
    "groups": "show directories",
    "explain": "explain",
    "pack": "pack",
    "submit": "plan",
    "queue": "queue",
    "log": "logs",
    "network": "network show",
}
"""The command of the command line that prints what each view shows."""

_GO = tuple(
    Command(f"go.{name}", str(number), title.lower(), f"go to {title}", twin=_TWINS[name])
    for name, (number, title) in VIEWS.items()
)

APP: tuple[Command, ...] = (
    *_GO,
    Command("go.clusters", "C", "clusters", "go to Clusters: logins, nodes, partitions, health",
            twin="show cluster"),
    Command("app.line", "colon", "command", "type a command: `:queue delta`, `:action sample`"),
    Command("app.refresh", "r", "refresh", "read the project and the scheduler again", hint=91),
    Command("app.scan", "ctrl+r", "scan", "look at every directory again: products and values",
            twin="scan"),
    Command("app.pause", "p", "pause", "stop or go on following changes"),
    Command("app.activity", "at", "activity", "what happened, and what the program ran", hint=92),
    Command("app.connect", "L", "connect", "log in to a cluster that waits for it",
            enabled=may_connect, twin="connect"),
    Command("app.theme", "T", "theme", "next theme"),
    Command("app.copy", "y", "copy", "copy the selected name or id"),
    Command("app.help", "question_mark", "help", "this page", hint=90),
    Command("app.suspend", "ctrl+z", "suspend", "back to the shell; `fg` returns here"),
    Command("app.faster", "greater_than_sign", "faster", "let the clock of the demo run faster",
            enabled=when_played),
    Command("app.slower", "less_than_sign", "slower", "let the clock of the demo run slower",
            enabled=when_played),
    Command("app.steps", "exclamation_mark", "first steps", "show or hide the demo's first steps",
            enabled=when_demo),
    Command("app.back", "escape", "back", "one step back"),
    Command("app.quit", "q", "quit", "leave; jobs go on without rowtui", hint=99),
)  # fmt: skip
"""The commands that work in every view."""

MOVING: tuple[Command, ...] = (
    Command("list.line-down", "j,down", "down", "one line down", "list"),
    Command("list.line-up", "k,up", "up", "one line up", "list"),
    Command("list.half-down", "ctrl+d", "half page down", "half a page down", "list"),
    Command("list.half-up", "ctrl+u", "half page up", "half a page up", "list"),
    Command("list.page-down", "pagedown", "page down", "one page down", "list"),
    Command("list.page-up", "pageup", "page up", "one page up", "list"),
    Command("list.first", "g,home", "first", "first line", "list"),
    Command("list.last", "G,end", "last", "last line", "list"),
    Command("text.left", "left", "left", "scroll a text to the left", "text"),
    Command("text.right", "right", "right", "scroll a text to the right", "text"),
    Command("graph.left", "h,left", "left", "to the node that this one takes from", "graph"),
    Command("graph.right", "l,right", "right", "to the node that takes from this one", "graph"),
    Command("graph.find", "slash", "find", "go to a node by its name, or filter its samples",
            "graph"),
)  # fmt: skip
"""The commands that move in lists, texts and graphs; they are the same in all views."""

ROWS: tuple[Command, ...] = (
    Command("rows.filter", "slash", "filter", "show the rows that fit what you type", "rows", 4),
    Command("rows.sort", "o", "sort", "sort by the next column", "rows", 6),
    Command("rows.reverse", "O", "reverse", "turn the order round", "rows"),
    Command("rows.fields", "f", "columns", "choose the columns, and their order", "rows", 22),
    Command("rows.range", "v", "range", "mark from here to where v is pressed again", "rows", 23),
    Command("rows.mark-matching", "A", "all matching", "mark all rows that the filter leaves",
            "rows", 24),
    Command("rows.export", "E", "export", "write the rows to a CSV or JSON file", "rows"),
    Command("rows.left", "left", "left", "scroll long texts back", "rows"),
    Command("rows.right", "right", "right", "scroll long texts to their ends", "rows"),
)  # fmt: skip
"""The commands of long lists, for the views with such lists (`LISTED` in `command.py`)."""

STATUS: tuple[Command, ...] = (
    Command("status.open", "enter", "open", "groups of this action; next step of what needs you",
            "status", 1, enabled=with_action_or_need),
    Command("status.submit", "s", "submit…", "submit all eligible groups of this action", "status",
            2, asks=True, enabled=may_submit, twin="submit"),
    Command("status.submit-all", "S", "submit all…", "submit all eligible groups of every action",
            "status", asks=True, enabled=may_submit_all, twin="submit"),
    Command("status.failed", "x", "failed", "directories of this action that failed", "status", 3,
            enabled=with_failures, twin="show directories --failed"),
    Command("status.pane", "tab", "needs you", "between actions and what needs you", "status", 4),
    Command("status.retry", "R", "retry…", "try what failed alike again, of what needs you",
            "status", 5, asks=True, enabled=may_retry_need, twin="retry"),
)  # fmt: skip
"""The commands of the view Status."""

GROUPS: tuple[Command, ...] = (
    Command("groups.mark", "space", "mark", "mark or unmark this row", "groups", 1,
            enabled=may_mark),
    Command("groups.mark-all", "a", "all", "mark all rows, or none", "groups", 2,
            enabled=may_mark),
    Command("groups.submit", "s", "submit…", "submit what is marked, or this row", "groups",
            3, asks=True, enabled=may_submit_groups, twin="submit"),
    Command("groups.retry", "R", "retry…", "retry the marked failed groups, or this one", "groups",
            4, asks=True, enabled=may_retry_groups, twin="retry"),
    Command("groups.directories", "d", "directories",
            "all directories of the action, or its groups", "groups", 5, enabled=with_action,
            twin="show directories"),
    Command("groups.filter", "t", "status", "next status: eligible, all, failed, ...", "groups", 5,
            enabled=with_action),
    Command("groups.next-action", "n", "next action", "groups of the next action", "groups", 6,
            enabled=with_action),
    Command("groups.previous-action", "N", "previous action", "groups of the previous action",
            "groups", enabled=with_action),
    Command("groups.explain", "x", "explain", "where this group's job goes, and why",
            "groups", 7, enabled=with_action, twin="explain"),
    Command("groups.pane", "tab", "pane", "between groups and directories", "groups", 8),
)  # fmt: skip
"""The commands of the view Groups."""

EXPLAIN: tuple[Command, ...] = (
    Command("explain.what-if", "e", "what if", "try other amounts, tags, user or roles",
            "explain", 1, enabled=with_decision, twin="explain --cpus"),
    Command("explain.reset", "u", "undo what-if", "forget the what-if: the job as it is",
            "explain", 2, enabled=may_reset),
    *(
        Command(f"explain.change-{letter}", letter, "try change",
                f"try change {letter} that admits the job there", "explain",
                3 if not number else 0, enabled=may_make_change(number))
        for number, letter in enumerate(CHANGE_KEYS)
    ),
    Command("explain.next-group", "n,right_square_bracket", "next group",
            "the job of the next group", "explain", 4, enabled=with_groups),
    Command("explain.previous-group", "N,left_square_bracket", "previous group",
            "the job of the previous group", "explain", enabled=with_groups),
    Command("explain.sources", "enter", "sources",
            "where what decided is written: opens the file at its line", "explain", 5,
            enabled=with_decision),
    Command("explain.page", "i", "job's story", "the destination's reasons or the story",
            "explain", 5, enabled=with_decision),
    Command("explain.fold", "z", "fold", "leave the destinations that refuse the job out, or not",
            "explain", 7, enabled=with_decision),
    Command("explain.filter", "t", "status", "next status: eligible, all, failed, ...", "explain",
            enabled=with_action),
    Command("explain.write", "W", "write…",
            "write the what-if to workflow.toml, after a look at what changes", "explain",
            asks=True, enabled=may_write, twin="explain --write"),
    Command("explain.undo-write", "U", "undo write…",
            "take the last write to workflow.toml back", "explain", asks=True,
            enabled=may_undo_write, twin="explain --undo"),
    Command("explain.lines", "w", "lines to add",
            "what to write so that the what-if becomes so, to copy", "explain",
            enabled=may_reset),
    Command("explain.json", "J", "copy JSON", "copy it as `rowtui explain --json` writes it",
            "explain", enabled=with_decision, twin="explain --json"),
    Command("explain.pane", "tab", "pane", "between destinations and reasons", "explain", 6),
)  # fmt: skip
"""The commands of the view Explain."""

PACK: tuple[Command, ...] = (
    Command("pack.submit", "s", "submit…", "submit the jobs as they are packed here", "pack", 1,
            asks=True, enabled=may_submit_packing, twin="submit --pack"),
    Command("pack.packer", "right_square_bracket", "packer", "pack with the next packer", "pack",
            2, enabled=with_packing, twin="pack --packer"),
    Command("pack.packer-before", "left_square_bracket", "packer before",
            "pack with the packer before", "pack", enabled=with_packing),
    Command("pack.compare", "P", "compare", "pack with every packer, and show what each comes to",
            "pack", 5, enabled=may_compare, twin="pack --compare"),
    Command("pack.time", "t", "time", "the lanes of the bundle over time", "pack",
            enabled=with_packing),
    Command("pack.cores", "c", "cores", "which lane has which cores of the node", "pack", 10,
            enabled=with_packing),
    Command("pack.memory", "m", "memory", "which lane has what of the node's memory", "pack",
            enabled=with_packing),
    Command("pack.limits", "e", "limits", "jobs in a bundle, longest bundle, time factor", "pack",
            3, twin="pack --longest"),
    Command("pack.node-type", "space", "node type", "pack without this node type, or with it again",
            "pack", 4, enabled=may_toggle_node_type, twin="pack --node-type"),
    Command("pack.reset", "u", "as configured", "forget what was chosen here", "pack", 5,
            enabled=may_reset_packing),
    Command("pack.longer", "b", "look longer", "take more time to find a better packing", "pack",
            6, enabled=with_packing, twin="pack --search"),
    Command("pack.next-destination", "n", "next destination",
            "the packing at the next destination", "pack", 7, enabled=with_destinations),
    Command("pack.previous-destination", "N", "previous destination",
            "the packing at the destination before", "pack", enabled=with_destinations),
    Command("pack.all-actions", "a", "all actions",
            "pack the jobs of all actions together, or of this one", "pack", 8,
            enabled=with_action),
    Command("pack.pane", "tab", "pane", "between bundles and the lanes of one", "pack", 9),
)  # fmt: skip
"""The commands of the view Pack."""

SUBMIT: tuple[Command, ...] = (
    Command("submit.confirm", "s,enter", "confirm…", "type the yes for this plan", "submit", 1,
            asks=True, enabled=may_confirm, twin="submit"),
    Command("submit.toggle", "space", "on/off", "leave this job out, or take it in again",
            "submit", 3, enabled=may_switch),
    Command("submit.toggle-all", "a", "all", "all jobs that are shown on, or off", "submit",
            enabled=may_switch),
    Command("submit.stop", "x", "stop", "send no more jobs after the current one", "submit", 2,
            enabled=may_stop),
    Command("submit.diff", "d", "diff/full", "what differs from the last script, or all of it",
            "submit", 4, enabled=with_plan, twin="plan --diff"),
    Command("submit.fold", "z", "fold", "show or hide lines that are unchanged", "submit",
            enabled=with_plan),
    Command("submit.next", "n", "next script", "script of the next job", "submit", 5),
    Command("submit.previous", "N", "previous script", "script of the previous job", "submit"),
    Command("submit.explain", "w", "why", "where this job goes, and why, in Explain", "submit", 6,
            enabled=with_plan, twin="explain"),
    Command("submit.open", "e", "open", "this script in your pager, to read it", "submit",
            enabled=with_plan),
    Command("submit.export", "D", "to files…", "write all scripts and plan.json to a folder",
            "submit", asks=True, enabled=may_write_plan),
    Command("submit.pane", "tab", "pane", "between jobs, script and checks", "submit", 7),
)  # fmt: skip
"""The commands of the view Submit."""

QUEUE: tuple[Command, ...] = (
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
"""The commands of the view Queue."""

LOG: tuple[Command, ...] = (
    Command("log.follow", "F", "follow", "follow the end of the log, or stop", "log", 1,
            enabled=with_job, twin="logs --follow"),
    Command("log.find", "slash", "find", "find a text, or ~pattern", "log", 2, enabled=with_job),
    Command("log.next-match", "n", "next", "the next place with what was looked for", "log", 3,
            enabled=with_job),
    Command("log.previous-match", "N", "previous", "the place before", "log", enabled=with_job),
    Command("log.trouble", "e", "next error", "the next line that looks like an error", "log", 4,
            enabled=with_job),
    Command("log.previous-trouble", "E", "error before",
            "the line before that looks like an error", "log", enabled=with_job),
    Command("log.wrap", "w", "wrap", "break long lines at the width of the screen, or not", "log",
            5, enabled=with_job),
    Command("log.pager", "O", "pager", "all of it in $PAGER", "log", 6, enabled=with_job),
    Command("log.next", "right_square_bracket", "older job", "log of the next job in the list",
            "log", 7, enabled=with_job),
    Command("log.previous", "left_square_bracket", "newer job",
            "log of the previous job in the list", "log", enabled=with_job),
)  # fmt: skip
"""The commands of the view Log."""

NETWORK: tuple[Command, ...] = (
    Command("network.open", "enter", "open", "samples of this node; log of this sample's job",
            "network", 1, enabled=with_network),
    Command("network.start", "s", "run…",
            "let the network run by itself within limits, go on, or allow more", "network", 2,
            asks=True, enabled=may_start_network, twin="network run"),
    Command("network.stop", "x", "stop", "stop the autopilot; jobs that were sent go on",
            "network", 3, enabled=may_stop_network, twin="network stop"),
    Command("network.step", "e", "one step…", "plan what is eligible, to be confirmed in 5",
            "network", 4, asks=True, enabled=may_step_network, twin="network run --step"),
    Command("network.retry", "R", "retry…",
            "retry the marked jobs, this failure, or all jobs that failed", "network", 5, asks=True,
            enabled=may_retry_in_network, twin="network retry"),
    Command("network.cancel", "c", "cancel…",
            "cancel the marked jobs, or this one, with the jobs that depend on them", "network", 6,
            asks=True, enabled=may_cancel_in_network, twin="network cancel"),
    Command("network.mark", "space", "mark", "mark or unmark this sample", "network", 7,
            enabled=may_mark_sample),
    Command("network.filter", "t", "state", "samples in the next state: all, failed, ...",
            "network", 8, enabled=with_network, twin="network show --state"),
    Command("network.waits", "b", "blocked by", "what this sample waits for, or was lost for",
            "network", 10, enabled=may_ask_what_it_waits_for),
    Command("network.redo", "d", "redo…",
            "make the marked samples again, or all results made from other members than now",
            "network", asks=True, enabled=may_redo, twin="network redo"),
    Command("network.arrange", "m", "graph/list", "draw the network as a graph, or as a list",
            "network", enabled=with_network),
    Command("network.as-now", "a", "as it is now",
            "what network.toml says now, or the run again", "network", enabled=with_run,
            twin="network show --now"),
    Command("network.new-run", "n", "new run…", "a new run, of what network.toml says now",
            "network", asks=True, enabled=may_start_anew, twin="network run --new"),
    Command("network.pane", "tab", "pane", "between failures, graph, samples and node", "network",
            9),
)  # fmt: skip
"""The commands of the view Network."""

CLUSTERS: tuple[Command, ...] = (
    Command("clusters.connect", "enter", "connect", "log in to this cluster", "clusters", 1,
            enabled=may_log_in, twin="connect"),
    Command("clusters.nodes", "n", "nodes", "ask this cluster for its nodes, now", "clusters", 2,
            enabled=may_ask_nodes, twin="doctor --node-types"),
    Command("clusters.jobs", "v", "jobs", "the jobs on this cluster", "clusters", 3,
            enabled=with_cluster),
    Command("clusters.pane", "tab", "pane", "between clusters and what is known of one",
            "clusters", 4),
)  # fmt: skip
"""The commands of the view Clusters."""
