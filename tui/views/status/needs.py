"""The items that wait for the user, as a list of values: each with its cause and its next step.

Pure functions: the input is the engine's last answers; the output is `NeedItem`s, the worst first.
`tui/views/status/steps.py` carries out a step.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import InvalidFileError
from rowtui.core.base.text import plural
from rowtui.core.runs.limits.times import describe
from rowtui.tui.views.status.status import first_line
from rowtui.tui.widgets.cells import line, wrapped
from rowtui.tui.widgets.columns import TableColumn
from rowtui.tui.widgets.links import linked

if TYPE_CHECKING:
    from rowtui.core.base.errors import Problem
    from rowtui.core.engine.api.snapshot import ActionSummary, ProjectSnapshot
    from rowtui.core.project.views.views import JobsView, Played
    from rowtui.core.runs.views import NetworkView
    from rowtui.tui.views.submit.plan import Sending
    from rowtui.tui.widgets.cells import Cell, Line


class NextStep(enum.Enum):
    """What Enter does about a need; the value is the text for the user."""

    NOTHING = ""
    EDIT = "open the file"
    FAILED = "look at these directories"
    LOGIN = "log in"
    QUEUE = "look at the queue"
    JOBS = "look at the job"
    TRUST = "read the file, then trust it"
    NETWORK = "look at the network"
    SENDING = "look at the submission"
    BAD = "see which, and why"
    SUBMIT = "plan them"
    PAST = "see when everything ran, and what it used"
    RESULTS = "see these directories"
    STOP_RUN = "stop the run"
    LIMITS = "give the run limits to go on with"


class NeedItem(NamedTuple):
    """One item that waits for the user. `subject` makes it unique; `more` has further information.

    `cause`, `cluster`, `place` (a file, with `line` and `column`) and `token` identify the object
    of the next step.
    """

    glyph: str
    text: str
    style: str
    step: NextStep = NextStep.NOTHING
    subject: str = ""
    more: tuple[str, ...] = ()
    action_index: int | None = None
    cause: str = ""
    cluster: str = ""
    place: str = ""
    line: int = 0
    column: int = 0
    token: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the need, independent of its current numbers."""
        return (self.step.name, self.subject or self.text)

    @property
    def spans(self) -> Line:
        """The spans of `✗ equilibrate: 12 failed: out of memory`."""
        return line((self.glyph + " ", self.style), linked(self.text, self.place))


COLUMNS = (TableColumn("text", "", 30, grow=2), TableColumn("more", "", 24, priority=1, grow=1))


def need_cells(need: NeedItem) -> dict[str, Cell]:
    """Return one row of the list."""
    return {"text": need.spans, "more": line((need.more[0] if need.more else "", "dim"))}


def need_detail(need: NeedItem, width: int) -> list[Line]:
    """Return all information about a need, and what Enter does about it."""
    lines = wrapped(need.spans, width, 2)
    for text in need.more:
        lines += wrapped(line(("  " + text, "dim")), width, 2)
    if need.step is not NextStep.NOTHING:
        lines.append(line(("Enter ", "key"), need.step.value))
    if need.step is NextStep.FAILED:
        lines.append(line(("R ", "key"), "retry the directories with this failure"))
    return lines


def needs(
    snapshot: ProjectSnapshot | None,
    broken: Exception | None = None,
    jobs: JobsView | None = None,
    network: NetworkView | None = None,
    sending: Sending | None = None,
) -> list[NeedItem]:
    """Return what needs the user, the worst first: errors, failures, warnings, ready work."""
    found = list(_broken(broken))
    if snapshot is None:
        return found
    found += [_problem(one) for one in snapshot.problems if one.severity == "error"]
    found += [
        NeedItem(
            "▲", f"{action.name}: {first_line(action.problem)}", "warning", NextStep.EDIT,
            f"problem {action.index}", tuple(action.problem.splitlines()[1:]),
            place=f"{snapshot.root}/workflow.toml",
        )
        for action in snapshot.actions
        if action.problem
    ]  # fmt: skip
    found += _sending(sending)
    found += _logins(jobs)  # Without a login, no other information about the cluster is available.
    found += _failures(snapshot)
    if network is not None and network.run is not None and network.run.why:
        text = f"network {network.name}: {network.run.why}"
        found.append(NeedItem("▲", text, "warning", NextStep.NETWORK, network.name))
    found += _run(snapshot)
    found += _silent(snapshot, jobs)
    found += _queued(jobs)
    found += [
        NeedItem(
            "▲", f"{one.name} is not trusted: its code does not run", "warning", NextStep.TRUST,
            one.place, place=one.place,
        )
        for one in snapshot.untrusted
    ]  # fmt: skip
    if snapshot.bad_count:
        count = plural(snapshot.bad_count, "directory", "directories")
        verb = "is" if snapshot.bad_count == 1 else "are"
        text = f"{count} {verb} not counted"
        more = tuple(f"{name}: {reason}" for name, reason in snapshot.bad)
        found.append(NeedItem("▲", text, "warning", NextStep.BAD, "bad", more))
    found += [_problem(one) for one in snapshot.problems if one.severity != "error"]
    found += [NeedItem("▲", notice, "warning") for notice in snapshot.notices]
    found += [
        NeedItem(
            "○", f"{action.name}: {action.eligible:,} eligible", "eligible",
            NextStep.SUBMIT, str(action.index), action_index=action.index,
            more=_among_eligible(action),
        )
        for action in snapshot.actions
        if action.eligible > action.failed
    ]  # fmt: skip
    return found


def complete(snapshot: ProjectSnapshot) -> bool:
    """Whether the project has directories, and all of them are completed in every action."""
    # An action that includes no directory has not completed anything.
    counts = [(one.completed, one.total) for one in snapshot.actions]
    return any(total for _, total in counts) and all(done == total for done, total in counts)


def finished(snapshot: ProjectSnapshot, played: Played | None) -> list[NeedItem]:
    """Return what there is to do in a project that is complete; in a demo, with its results."""
    total, last = sum(one.total for one in snapshot.actions), snapshot.actions[-1]
    text = f"all {total:,} are completed, in {plural(len(snapshot.actions), 'action')}"
    found = [NeedItem("✓", text, "completed", NextStep.PAST)]
    if played is not None:
        found += [NeedItem(" ", text, "", subject=text) for text in played.results()]
    text = f"results of {last.name}: its directories"
    found.append(NeedItem("›", text, "key", NextStep.RESULTS, action_index=last.index))
    if played is not None:
        found += [NeedItem("›", text, "dim") for text in played.state.try_next]
    return found


def _among_eligible(action: ActionSummary) -> tuple[str, ...]:
    """Return the ways in which the last job ended at eligible directories, which a plan includes.

    Failures are needs of their own.
    """
    more = [f"with the {action.failed:,} that failed"] * bool(action.failed)
    if action.not_reached:
        more.append(f"{action.not_reached:,} were not reached by their last job")
    if action.cancelled:
        more.append(f"the last job of {action.cancelled:,} was cancelled")
    return tuple(more)


def _failures(snapshot: ProjectSnapshot) -> Iterable[NeedItem]:
    """Yield failed directories by action and cause; without causes, by action."""
    found = {one.action_index for one in snapshot.failures}
    for action in snapshot.actions:
        if not action.failed:
            continue
        if action.index not in found:
            yield _failed(action, action.failed, "", ())
        for one in snapshot.failures:
            if one.action_index == action.index:
                more = (f"at {plural(one.jobs, 'job')}",)
                yield _failed(action, one.directories, one.cause, more)


def _failed(action: ActionSummary, count: int, cause: str, more: tuple[str, ...]) -> NeedItem:
    text = f"{action.name}: {count:,} failed" + (f", {cause}" if cause else "")
    return NeedItem(
        "✗", text, "failed", NextStep.FAILED, f"{action.index} {cause}", more,
        action_index=action.index, cause=cause,
    )  # fmt: skip


def _run(snapshot: ProjectSnapshot) -> Iterable[NeedItem]:
    """Yield what drives the run of the project, or why it does not go on."""
    run = snapshot.run
    if run is None:
        return
    jobs = sum(action.submitted for action in snapshot.actions)
    waits = plural(jobs, "submitted directory", "submitted directories")
    more = (*[f"it waits for the jobs of {waits}"] * bool(jobs), *describe(run.limits))
    if run.driver:
        text = f"run {run.id}: driven by {run.driver}"
        yield NeedItem("▶", text, "submitted", NextStep.STOP_RUN, run.id, more)
    else:
        text = f"run {run.id}: {run.why}"
        yield NeedItem("▲", text, "warning", NextStep.LIMITS, run.id, more)


def _sending(sending: Sending | None) -> Iterable[NeedItem]:
    """Yield a submission that was stopped or broke off: its remaining jobs wait for the user."""
    if sending is None or sending.phase not in ("stopped", "broken"):
        return
    left = len(sending.plan.jobs) - len(sending.outcomes)
    text = f"{plural(left, 'planned job')} not sent"
    if sending.phase == "broken":
        text = f"sending broke off: {sending.error}"
    yield NeedItem("✗", text, "failed", NextStep.SENDING, sending.plan.id)


def _logins(jobs: JobsView | None) -> list[NeedItem]:
    """Return clusters that wait for a login."""
    return [
        NeedItem(
            "▲", f"{one.name} asks for a login", "warning", NextStep.LOGIN, one.name,
            (one.login,), cluster=one.name,
        )
        for one in (jobs.clusters if jobs is not None else ())
        if one.login
    ]  # fmt: skip


def _silent(snapshot: ProjectSnapshot, jobs: JobsView | None) -> list[NeedItem]:
    """Return clusters whose queue does not answer."""
    if jobs is None:
        return []
    silent = [(one.name, one.error) for one in jobs.clusters if one.error and not one.login]
    if jobs.error and not any(one.error or one.login for one in jobs.clusters):
        silent.append((snapshot.cluster, jobs.error))
    return [
        NeedItem("▲", f"{name}: {error}", "warning", NextStep.QUEUE, name, cluster=name)
        for name, error in silent
    ]


def _queued(jobs: JobsView | None) -> Iterable[NeedItem]:
    """Yield jobs that cannot start or wait for days, by cause."""
    for one in jobs.needs if jobs is not None else ():
        text = f"{one.action}: {plural(one.jobs, 'job')} {one.kind}"
        if one.cause:
            text += f": {one.cause}"
        subject = f"{one.kind} {one.cluster} {one.action} {one.cause}"
        more = (f"on {one.cluster}", *((one.hint,) if one.hint else ()))
        token = one.tokens[0] if one.tokens else ""
        step = NextStep.JOBS if token else NextStep.QUEUE
        yield NeedItem(
            "▲", text, "warning", step, subject, more, cluster=one.cluster, token=token,
        )  # fmt: skip


def _broken(error: Exception | None) -> list[NeedItem]:
    if error is None:
        return []
    if isinstance(error, InvalidFileError):
        return [_problem(problem) for problem in error.problems]
    hint = getattr(error, "hint", "")
    text = getattr(error, "message", "") or str(error) or type(error).__name__
    return [NeedItem("✗", text, "failed", more=(hint,) if hint else ())]


def _problem(problem: Problem) -> NeedItem:
    place = problem.file.rsplit("/", 1)[-1]
    if problem.line:
        place += f":{problem.line}:{problem.column}"
    text = f"{place}: {problem.message}" + (f" ({problem.hint})" if problem.hint else "")
    glyph, style = ("✗", "failed") if problem.severity == "error" else ("▲", "warning")
    step = NextStep.EDIT if problem.file.startswith("/") else NextStep.NOTHING
    return NeedItem(
        glyph, text, style, step, text,
        place=problem.file, line=problem.line, column=problem.column,
    )  # fmt: skip


def nothing_needed(snapshot: ProjectSnapshot) -> Line:
    """Return the one line for a project without needs."""
    if not snapshot.actions:
        return line(("workflow.toml has no action yet. Add an [[action]] and it appears.", "dim"))
    if not snapshot.directories:
        return line(("The workspace has no directories yet. They appear when made.", "dim"))
    if any(action.submitted for action in snapshot.actions):
        return line(("▶ ", "submitted"), "Nothing now: jobs are with the scheduler.")
    return line(("Nothing now.", "dim"))


def distinct(found: Sequence[NeedItem]) -> list[NeedItem]:
    """Return the needs without duplicate keys, because the list identifies its rows by key."""
    first: dict[tuple[str, str], NeedItem] = {}
    for need in found:
        first.setdefault(need.key, need)
    return list(first.values())
