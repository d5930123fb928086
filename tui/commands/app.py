"""The commands that work in every view."""

from __future__ import annotations

from rowtui.tui.commands.command import VIEWS, Command
from rowtui.tui.demo.reasons import when_demo, when_played
from rowtui.tui.shell.reasons import may_connect

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

COMMANDS: tuple[Command, ...] = (
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
