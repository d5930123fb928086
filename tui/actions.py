"""The one registry of what a person can do: footer, help, palette and key map all read it.

A command that cannot be used now is shown with the reason; it is never hidden. `enabled` gives
that reason, or "" when the command can be used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rowtui.tui.job_verbs import CANCEL, HOLD, RELEASE, RESUBMIT
from rowtui.tui.reasons import (
    always,
    may_act_on_jobs,
    may_confirm,
    may_connect,
    may_give_up,
    may_make_change,
    may_mark,
    may_mark_sample,
    may_reset,
    may_reset_packing,
    may_resubmit_groups,
    may_retry_in_network,
    may_start_anew,
    may_start_network,
    may_step_network,
    may_stop,
    may_stop_network,
    may_submit,
    may_submit_all,
    may_submit_groups,
    may_submit_packing,
    may_toggle_node_type,
    with_action,
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
from rowtui.tui.session import Session
from textual.binding import Binding, BindingType


@dataclass(frozen=True, slots=True)
class Command:
    """One thing a person can do.

    `scope` is "app", one of `PARTS`, or the name of a view. `hint` orders the bottom line, 0 keeps
    it out. `asks`: it changes something outside, so it is confirmed first.
    """

    id: str
    keys: str
    label: str
    description: str
    scope: str = "app"
    hint: int = 0
    asks: bool = False
    enabled: Callable[[Session], str] = always

    @property
    def method(self) -> str:
        """The method of the app or view that carries it out."""
        return "command_" + self.id.partition(".")[2].replace("-", "_").replace(".", "_")

    @property
    def shown_keys(self) -> str:
        """The keys as people write them, `j ↓`."""
        return " ".join(KEY_NAMES.get(key, key) for key in self.keys.split(","))


PARTS = ("list", "text", "graph")
"""Scopes of widgets, whatever the view."""

CHANGE_KEYS = "abcd"
"""Keys of the changes that would admit a job; a destination seldom has more."""

KEY_NAMES = {
    "down": "↓", "up": "↑", "left": "←", "right": "→", "enter": "Enter", "escape": "Esc",
    "space": "space", "question_mark": "?", "at": "@", "pagedown": "PgDn", "pageup": "PgUp",
    "home": "Home", "end": "End", "tab": "Tab", "left_square_bracket": "[",
    "right_square_bracket": "]",
}  # fmt: skip

VIEWS = {
    "status": (1, "Status"),
    "groups": (2, "Groups"),
    "explain": (3, "Explain"),
    "pack": (4, "Pack"),
    "submit": (5, "Submit"),
    "queue": (6, "Queue"),
    "log": (7, "Log"),
    "network": (8, "Network"),
}
"""The views: name -> (number, title)."""

_GO = tuple(
    Command(f"go.{name}", str(number), title.lower(), f"go to {title}")
    for name, (number, title) in VIEWS.items()
)

COMMANDS: tuple[Command, ...] = (
    # everywhere
    *_GO,
    Command("app.refresh", "r", "refresh", "read the project and the scheduler again", hint=91),
    Command("app.reread", "ctrl+r", "re-read all", "also read every directory again"),
    Command("app.pause", "p", "pause", "stop or go on following changes"),
    Command("app.activity", "at", "activity", "what happened: changes, commands, errors", hint=92),
    Command("app.connect", "L", "log in", "log in to a cluster that waits for it",
            enabled=may_connect),
    Command("app.theme", "T", "theme", "next theme"),
    Command("app.copy", "y", "copy", "copy the selected name or id"),
    Command("app.help", "question_mark", "help", "this page", hint=90),
    Command("app.back", "escape", "back", "one step back"),
    Command("app.quit", "q", "quit", "leave; jobs go on without rowtui", hint=99),
    # moving in tables and texts
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
    # status
    Command("status.open", "enter", "groups", "groups of this action", "status", 1,
            enabled=with_action),
    Command("status.submit", "s", "submit…", "submit all eligible groups of this action", "status",
            2, asks=True, enabled=may_submit),
    Command("status.submit-all", "S", "submit all…", "submit all eligible groups of every action",
            "status", asks=True, enabled=may_submit_all),
    Command("status.failed", "x", "failed", "directories of this action that failed", "status", 3,
            enabled=with_failures),
    # groups
    Command("groups.mark", "space", "mark", "mark or unmark this group", "groups", 1,
            enabled=may_mark),
    Command("groups.mark-all", "a", "all", "mark all groups, or none", "groups", 2,
            enabled=may_mark),
    Command("groups.submit", "s", "submit…", "submit the marked groups, or this one", "groups",
            3, asks=True, enabled=may_submit_groups),
    Command("groups.resubmit", "R", "resubmit…", "resubmit marked groups, or this one", "groups",
            4, asks=True, enabled=may_resubmit_groups),
    Command("groups.filter", "f", "filter", "next status: eligible, all, failed, ...", "groups", 5,
            enabled=with_action),
    Command("groups.next-action", "n", "next action", "groups of the next action", "groups", 6,
            enabled=with_action),
    Command("groups.previous-action", "N", "previous action", "groups of the previous action",
            "groups", enabled=with_action),
    Command("groups.explain", "x", "explain", "where this group's job goes, and why",
            "groups", 7, enabled=with_action),
    Command("groups.pane", "tab", "pane", "between groups and directories", "groups", 8),
    # explain
    Command("explain.what-if", "e", "what if", "try other amounts, tags, user or roles",
            "explain", 1, enabled=with_decision),
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
    Command("explain.page", "v", "job's story", "the destination's reasons or the story",
            "explain", 5, enabled=with_decision),
    Command("explain.filter", "f", "filter", "next status: eligible, all, failed, ...", "explain",
            enabled=with_action),
    Command("explain.pane", "tab", "pane", "between destinations and reasons", "explain", 6),
    # pack
    Command("pack.submit", "s", "submit…", "submit the jobs as they are packed here", "pack", 1,
            asks=True, enabled=may_submit_packing),
    Command("pack.packer", "c", "packer", "pack with the next packer", "pack", 2,
            enabled=with_packing),
    Command("pack.limits", "e", "limits", "jobs in a bundle, longest bundle, time factor", "pack",
            3),
    Command("pack.node-type", "space", "node type", "pack without this node type, or with it again",
            "pack", 4, enabled=may_toggle_node_type),
    Command("pack.reset", "u", "as configured", "forget what was chosen here", "pack", 5,
            enabled=may_reset_packing),
    Command("pack.longer", "b", "look longer", "take more time to find a better packing", "pack",
            6, enabled=with_packing),
    Command("pack.next-destination", "n,right_square_bracket", "next destination",
            "the packing at the next destination", "pack", 7, enabled=with_destinations),
    Command("pack.previous-destination", "N,left_square_bracket", "previous destination",
            "the packing at the destination before", "pack", enabled=with_destinations),
    Command("pack.all-actions", "a", "all actions",
            "pack the jobs of all actions together, or of this one", "pack", 8,
            enabled=with_action),
    Command("pack.pane", "tab", "pane", "between bundles and the lanes of one", "pack", 9),
    # submit
    Command("submit.confirm", "s,enter", "confirm…", "type the yes for this plan", "submit", 1,
            asks=True, enabled=may_confirm),
    Command("submit.stop", "x", "stop", "send no more jobs after the current one", "submit", 2,
            enabled=may_stop),
    Command("submit.next", "n", "next script", "script of the next job", "submit", 3),
    Command("submit.previous", "N", "previous script", "script of the previous job", "submit"),
    Command("submit.pane", "tab", "pane", "between jobs and script", "submit", 4),
    # queue
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
    # log
    Command("log.follow", "F", "follow", "follow the end of the log, or stop", "log", 1,
            enabled=with_job),
    Command("log.next", "n", "older job", "log of the next job in the list", "log", 2,
            enabled=with_job),
    Command("log.previous", "N", "newer job", "log of the previous job in the list", "log", 3,
            enabled=with_job),
    # network
    Command("network.open", "enter", "open", "samples of this node; log of this sample's job",
            "network", 1, enabled=with_network),
    Command("network.start", "s", "autopilot…",
            "let the network run by itself within limits, go on, or allow more", "network", 2,
            asks=True, enabled=may_start_network),
    Command("network.stop", "x", "stop", "stop the autopilot; jobs that were sent go on",
            "network", 3, enabled=may_stop_network),
    Command("network.step", "e", "one step…", "plan what is ready, to be confirmed in 5",
            "network", 4, asks=True, enabled=may_step_network),
    Command("network.retry", "R", "retry…",
            "try the marked jobs, this failure, or all that failed again", "network", 5, asks=True,
            enabled=may_retry_in_network),
    Command("network.give-up", "c", "give up…",
            "give the marked jobs, or this one, up with what depends on them", "network", 6,
            asks=True, enabled=may_give_up),
    Command("network.mark", "space", "mark", "mark or unmark this sample", "network", 7,
            enabled=may_mark_sample),
    Command("network.filter", "f", "filter", "samples in the next state: all, failed, ...",
            "network", 8, enabled=with_network),
    Command("network.arrange", "o", "graph/list", "draw the network as a graph, or as a list",
            "network", enabled=with_network),
    Command("network.as-now", "v", "as it is now",
            "what network.toml says now, or the run again", "network", enabled=with_run),
    Command("network.new-run", "n", "new run…", "a new run, of what network.toml says now",
            "network", asks=True, enabled=may_start_anew),
    Command("network.pane", "tab", "pane", "between failures, graph, samples and node", "network",
            9),
)  # fmt: skip

BY_ID = {command.id: command for command in COMMANDS}


def bindings_for(scope: str) -> list[BindingType]:
    """Textual's bindings for one scope; each has the id by which a person can remap it."""
    return [
        Binding(
            command.keys,
            command.method.removeprefix("command_")
            if scope in PARTS
            else f"app.command('{command.id}')",
            command.label,
            show=False,
            tooltip=command.description,
            id=command.id,
        )
        for command in COMMANDS
        if command.scope == scope
    ]


def commands_here(view: str) -> list[Command]:
    """The commands that work in a view: its own, then those that work everywhere."""
    return [command for command in COMMANDS if command.scope == view] + [
        command for command in COMMANDS if command.scope == "app"
    ]


def hints_here(view: str) -> list[Command]:
    """The commands for the bottom line of a view, the most useful first."""
    return sorted(
        (command for command in commands_here(view) if command.hint),
        key=lambda command: command.hint,
    )


def checked_keymap(wanted: Mapping[str, object]) -> tuple[dict[str, str], list[str]]:
    """A person's keys by command id, and a sentence for each entry that cannot be used."""
    good: dict[str, str] = {}
    wrong = []
    for name, keys in wanted.items():
        if name not in BY_ID:
            wrong.append(f"there is no command {name!r}")
        elif not isinstance(keys, str) or not all(key.strip() for key in keys.split(",")):
            wrong.append(f"{name}: keys are a text such as 'ctrl+s,s'")
        else:
            good[name] = keys
    return good, wrong
