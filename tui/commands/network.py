"""The commands of the view Network."""

from __future__ import annotations

from rowtui.tui.commands.command import Command
from rowtui.tui.shell.reasons import (
    may_cancel_in_network,
    may_mark_sample,
    may_retry_in_network,
    may_start_anew,
    may_start_network,
    may_step_network,
    may_stop_network,
    with_network,
    with_run,
)
from rowtui.tui.views.network.reasons import may_ask_what_it_waits_for, may_redo

COMMANDS: tuple[Command, ...] = (
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
