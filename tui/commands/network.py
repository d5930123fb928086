"""The commands of the view Network, each with the reason why it cannot be used now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rowtui.tui.commands.command import NO_KEY, Command, may_change

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


_AS_NOW = "this is network.toml as it is now: = shows the run"


def with_network(session: Session) -> str:
    """Return why there is no network to show, or ""."""
    if session.network.view is not None:
        return ""
    if session.network.error is not None:
        return "the network cannot be read: see above"
    if not session.network.known:
        return "the network is not read yet"
    return "the project has no network.toml; `rowtui network init` writes one"


def with_run(session: Session) -> str:
    """Return why there is no run to compare with the current network.toml, or ""."""
    if reason := with_network(session):
        return reason
    view = session.network.view
    return "" if (view and view.run) or not session.network.frozen else "there is no run yet"


def _may_change_network(session: Session) -> str:
    if reason := may_change(session) or with_network(session):
        return reason
    if session.network.busy:
        return f"{session.network.busy} is under way"
    return ""


def _not_driven(session: Session) -> str:
    view = session.network.view
    run = view.run if view else None
    if run is not None and run.here:
        return "it runs by itself already: x stops it"
    if run is not None and run.holder:
        return f"the run is driven by {run.holder}"
    return ""


def _frozen(session: Session) -> str:
    view = session.network.view
    if view is None or view.run is None:
        return _AS_NOW if not session.network.frozen else "there is no run yet: S starts one"
    if view.run.holder and not view.run.here:
        return f"the run is driven by {view.run.holder}"
    return ""


def may_start_network(session: Session) -> str:
    """Return why the network cannot be started, or "": no process may drive the run."""
    return _may_change_network(session) or _not_driven(session)


def may_stop_network(session: Session) -> str:
    """Return why the autopilot of this dashboard cannot be stopped, or "" if it is on."""
    if reason := with_network(session):
        return reason
    view = session.network.view
    if view and view.run and view.run.here:
        return ""
    if view and view.run and view.run.holder:
        return f"the run is driven by {view.run.holder}: `rowtui network stop` stops it"
    return "the network does not run by itself"


def may_step_network(session: Session) -> str:
    """Return why no step can be planned, or "": it needs jobs, and a run that no process drives."""
    if reason := may_start_network(session):
        return reason
    if not session.network.frozen:
        return _AS_NOW
    view = session.network.view
    if view and view.run and view.run.status.is_over:
        left = "R tries what failed again, " if session.network.failed else ""
        return f"the run is over: {left}S starts a new one"
    return "" if session.network.left else "no job is left to send"


def may_retry_in_network(session: Session) -> str:
    """Return why no job can be retried, or "".

    One of the marked jobs must have failed, been cancelled or completed; without marks, any job
    must have failed.
    """
    if reason := _may_change_network(session) or _frozen(session):
        return reason
    look = session.network
    if redoes(look.marked):
        return may_redo(session)
    if look.marked and not {"failed", "cancelled"} & set(look.marked.values()):
        return "no marked job failed"
    return "" if look.failed or look.marked else "no sample failed"


def redoes(marked: Mapping[int, str]) -> bool:
    """Whether a retry makes completed samples again: no marked one failed or was cancelled."""
    return "completed" in marked.values() and not {"failed", "cancelled"} & set(marked.values())


def may_cancel_in_network(session: Session) -> str:
    """Return why no job can be cancelled, or "": it needs a run and a job not yet completed."""
    if reason := _may_change_network(session) or _frozen(session):
        return reason
    pointed = session.network.pointed
    if not pointed:
        return "the cursor is not on a job: Enter goes to the samples of a node"
    if set(pointed.values()) <= {"completed", "cancelled"}:
        return "the job is completed or cancelled" if len(pointed) == 1 else "all are over"
    return ""


def may_mark_sample(session: Session) -> str:
    """Return why the cursor is not on a sample that has a job, or ""."""
    if reason := with_network(session):
        return reason
    look = session.network
    if look.under != "samples" or look.sample is None:
        return "the cursor is not on a sample: Enter goes to the samples of a node"
    return "" if look.sample.job >= 0 else "the samples of a source have no jobs"


def may_ask_what_it_waits_for(session: Session) -> str:
    """Return why the cursor is not on a sample that has a job, or ""."""
    if reason := with_network(session):
        return reason
    if not session.network.under_cursor:
        return "the cursor is not on a sample: Enter goes to the samples of a node"
    return ""


def may_redo(session: Session) -> str:
    """Return why the results cannot be recomputed, or "": a run is needed that no other process
    drives, and the marked jobs must be completed.
    """
    if reason := may_change(session) or with_network(session):
        return reason
    look = session.network
    if look.busy:
        return f"{look.busy} is under way"
    run = look.view.run if look.view else None
    if not look.frozen:
        return _AS_NOW
    if run is None:
        return "there is no run yet: S starts one"
    if run.holder and not run.here:
        return f"the run is driven by {run.holder}"
    if look.marked and "completed" not in look.marked.values():
        return "no marked sample is completed: R is for failed samples"
    return ""


NETWORK: tuple[Command, ...] = (
    Command("network.open", "enter", "samples",
            "samples of this node; log of this sample's job; files of the product that is shown",
            "network", enabled=with_network),
    Command("network.start", "S", "run…",
            "let the network run by itself within limits: go on, allow more, or a new run",
            "network", asks=True, enabled=may_start_network, twin="network run"),
    Command("network.stop", "x", "stop", "stop the run; submitted jobs continue", "network",
            enabled=may_stop_network, twin="network stop"),
    Command("network.step", "s", "step…", "plan the eligible jobs, to be confirmed in 5", "network",
            asks=True, enabled=may_step_network, twin="network run --step"),
    Command("network.retry", "R", "retry…",
            "retry the marked jobs, this failure, or all that failed; make marked results again",
            "network", asks=True, enabled=may_retry_in_network, twin="network retry"),
    Command("network.cancel", "c", "cancel…",
            "cancel the marked jobs, or this one, with the jobs that depend on them", "network",
            asks=True, enabled=may_cancel_in_network, twin="network cancel"),
    Command("network.mark", "space", "mark", "mark or unmark this sample", "network",
            enabled=may_mark_sample),
    Command("network.mark-all", "a", "all", "mark all samples that are listed, or none", "network",
            enabled=with_network),
    Command("network.filter", "f", "state", "samples in the next state: all, failed, ...",
            "network", enabled=with_network, twin="network show --state"),
    Command("network.filter-before", "F", "state before", "samples in the state before", "network",
            enabled=with_network),
    Command("network.waits", "w", "why", "the jobs that this sample waits for", "network",
            enabled=may_ask_what_it_waits_for),
    Command("network.redo", NO_KEY, "redo…",
            "make the marked samples again, or all results made from other members than now",
            "network", asks=True, enabled=may_redo, twin="network redo"),
    Command("network.arrange", "i", "list", "draw the network as a graph, or as a list", "network",
            enabled=with_network),
    Command("network.as-now", "equals_sign", "as it is now",
            "switch between the present network.toml and the run", "network", enabled=with_run,
            twin="network show --now"),
    Command("network.pane", "tab", "pane", "between failures, graph, samples and node", "network"),
)  # fmt: skip
"""The commands of the view Network."""
