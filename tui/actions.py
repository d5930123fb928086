"""The one registry of what a person can do: footer, help, palette and key map all read it.

A command that cannot be used now is shown with the reason; it is never hidden. `enabled` gives
that reason, or "" when the command can be used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rowtui.tui.job_verbs import CANCEL, HOLD, RELEASE, RESUBMIT, JobVerb
from rowtui.tui.session import Session
from textual.binding import Binding, BindingType


def always(_: Session) -> str:
    """Available at any time."""
    return ""


def with_action(session: Session) -> str:
    """There is an action to look at."""
    return "" if session.action else "there is no action yet"


def with_failures(session: Session) -> str:
    """Some directory failed."""
    if session.snapshot and any(action.failed for action in session.snapshot.actions):
        return ""
    return "nothing failed"


def may_change(session: Session) -> str:
    """Verbs are possible at all."""
    if session.read_only:
        return "the project was opened read-only"
    if session.sending and session.sending.running:
        return "a plan is being sent"
    if session.planning:
        return "a plan is being prepared"
    return ""


def may_submit(session: Session) -> str:
    """The chosen action has something to submit."""
    if reason := may_change(session) or with_action(session):
        return reason
    action = session.action
    if action and not action.eligible:
        return f"no directory is eligible for {action.name}"
    return ""


def may_submit_groups(session: Session) -> str:
    """The groups on the screen are those that would be submitted."""
    if reason := may_submit(session):
        return reason
    if session.filter.word != "eligible":
        return "only eligible groups can be submitted: press f until the list shows them"
    return ""


def may_resubmit_groups(session: Session) -> str:
    """The groups on the screen are of directories that failed."""
    if reason := may_change(session) or with_action(session):
        return reason
    action = session.action
    if action and not action.failed:
        return f"no directory failed at {action.name}"
    if session.filter.word != "failed":
        return "only failed groups can be resubmitted: press f until the list shows them"
    return ""


def may_mark(session: Session) -> str:
    """Marks are for submitting and resubmitting."""
    if session.filter.word not in ("eligible", "failed"):
        return "only eligible or failed groups can be marked: press f until the list shows them"
    return with_action(session)


def may_submit_all(session: Session) -> str:
    """Any action has something to submit."""
    if reason := may_change(session):
        return reason
    if session.snapshot and any(action.eligible for action in session.snapshot.actions):
        return ""
    return "no directory is eligible"


def may_confirm(session: Session) -> str:
    """A plan waits for its yes."""
    if session.read_only:
        return "the project was opened read-only"
    if session.sending is None:
        return "there is no plan: mark groups in 2 and press s"
    if session.sending.phase != "review":
        return "this plan was already confirmed"
    if conflict := session.sending.copying.conflict:
        return conflict
    return "" if session.sending.plan.jobs else "the plan has no jobs"


def may_stop(session: Session) -> str:
    """A plan is being sent."""
    if session.sending and session.sending.phase == "sending":
        return ""
    return "nothing is being sent"


def with_job(session: Session) -> str:
    """There is a job to look at."""
    return "" if session.job else "there are no jobs yet"


def with_own_job(session: Session) -> str:
    """The job under the cursor is one of this project's."""
    if session.other_job:
        return "the job is not of this project: it is only shown"
    return with_job(session)


def may_act_on_jobs(verb: JobVerb) -> Callable[[Session], str]:
    """The chosen job, or a marked one, is in a state for which that makes sense."""

    def enabled(session: Session) -> str:
        if reason := may_change(session):
            return reason
        if not session.marked_jobs and (reason := with_own_job(session)):
            return reason
        return verb.why_not(session.chosen_jobs)

    return enabled


def may_connect(session: Session) -> str:
    """Some cluster waits for a login."""
    if session.jobs is None:
        return "the clusters are not known yet"
    if session.logins:
        return ""
    if session.connecting:
        return f"the login to {min(session.connecting)} is under way"
    if any(cluster.connected for cluster in session.jobs.clusters):
        return "every cluster is connected"
    return "no cluster needs a login"


def with_decision(session: Session) -> str:
    """There is a job whose way is known."""
    if session.explanation is None:
        return "nothing is explained yet"
    return "" if session.explanation.decision else "there is no group to explain"


def with_groups(session: Session) -> str:
    """There are several groups to step through."""
    many = session.explanation is not None and session.explanation.groups > 1
    return "" if many else "there is no other group"


def may_reset(session: Session) -> str:
    """Something is wondered about."""
    return "" if session.what_if else "there is no what-if"


def may_make_change(number: int) -> Callable[[Session], str]:
    """The destination under the cursor has a change with this number, from 0."""

    def enabled(session: Session) -> str:
        if reason := with_decision(session):
            return reason
        if session.refusal is None:
            return "this destination takes the job"
        if not session.refusal.changes:
            return "no change is known that helps"
        known = len(session.refusal.changes)
        return "" if number < known else "there is no further change"

    return enabled


@dataclass(frozen=True, slots=True)
class Command:
    """One thing a person can do.

    `scope` is "app", "list" (tables and texts), "text" or the name of a view. `hint` orders the
    bottom line, 0 keeps it out. `asks`: it changes something outside, so it is confirmed first.
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
    "submit": (5, "Submit"),
    "queue": (6, "Queue"),
    "log": (7, "Log"),
}
"""Views that exist: name -> (number, title). The numbers leave room for those to come."""

TO_COME = {"pack": (4, "the packer"), "network": (8, "the network")}
"""Views that do not exist yet, and what they come with."""

_GO = tuple(
    Command(f"go.{name}", str(number), title.lower(), f"go to {title}")
    for name, (number, title) in VIEWS.items()
) + tuple(
    Command(f"go.{name}", str(number), name, f"{name.capitalize()} (comes with {what})")
    for name, (number, what) in TO_COME.items()
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
)  # fmt: skip

BY_ID = {command.id: command for command in COMMANDS}


def bindings_for(scope: str) -> list[BindingType]:
    """Textual's bindings for one scope; each has the id by which a person can remap it."""
    return [
        Binding(
            command.keys,
            command.method.removeprefix("command_")
            if scope in ("list", "text")
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
