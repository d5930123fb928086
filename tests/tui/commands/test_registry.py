"""The registry: complete, unambiguous, and what the screens really offer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rowtui.core.clusters.schedulers.base import JobState
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.core.project.queue.views import QueueRequest
from rowtui.core.project.views.views import WhatIfRequest
from rowtui.tui.commands.command import NO_KEY, PARTS, TITLES
from rowtui.tui.commands.registry import COMMANDS, bindings_for, commands_here, hints_here
from rowtui.tui.line.commands import LINE_COMMANDS
from rowtui.tui.shell.app import RowtuiApp
from rowtui.tui.shell.session import FILTERS, Session
from rowtui.tui.views.help import help_sections, is_reverse
from rowtui.tui.views.network.graph import NetworkGraph
from rowtui.tui.views.pack.bundles import picture_of
from rowtui.tui.views.status.needs import needs
from rowtui.tui.views.submit.plan import Sending
from rowtui.tui.views.view_classes import view_class
from rowtui.tui.widgets.table.list_table import ListTable
from rowtui.tui.widgets.table.virtual_table import VirtualTable
from rowtui.tui.widgets.text_lines import TextLines
from textual.binding import Binding

from tests.tui.sample import SampleEngine
from tests.tui.sample_network import FAILURES, SampleNetwork

SCOPES = ["app", *PARTS, *TITLES]


def test_every_command_has_an_id_a_key_a_label_and_a_description() -> None:
    assert len({command.id for command in COMMANDS}) == len(COMMANDS)
    for command in COMMANDS:
        assert command.keys
        assert command.label
        assert command.description
        assert command.scope in SCOPES
        assert command.asks == command.label.endswith("…"), command.id


def test_every_key_is_shown_as_people_write_it() -> None:
    assert [one.id for one in COMMANDS if "_" in one.shown_keys] == []


@pytest.mark.parametrize("scope", SCOPES)
def test_every_binding_has_an_id_and_a_tooltip(scope: str) -> None:
    for binding in bindings_for(scope):
        assert isinstance(binding, Binding)
        assert binding.id
        assert binding.description
        assert binding.tooltip


VERBS = "shows|starts|asks|tries|stops|logs in|reads|chooses|goes on|continues|settles|saves|lists"
NAMED = re.compile(rf"(?:[:;,·(]|\band|\bor|['\".]) ?([A-Za-z=|\[\]]) (?:{VERBS})\b")


def test_no_sentence_on_the_screen_names_a_key_without_a_command() -> None:
    known = {key for command in COMMANDS for key in command.shown_keys.split()}
    named = [
        (path.name, found[1])
        for folder in ("tui", "core")
        for path in (Path(__file__).parents[3] / folder).rglob("*.py")
        for found in NAMED.finditer(path.read_text())
    ]
    assert len(named) > 10
    assert [one for one in named if one[1] not in known] == []


@pytest.mark.parametrize("view", TITLES)
def test_no_key_has_two_meanings_in_a_view(view: str) -> None:
    keys = [key for command in commands_here(view) for key in command.keys.split(",")]
    keys += [
        key for command in COMMANDS if command.scope == "list" for key in command.keys.split(",")
    ]
    keys = [key for key in keys if key != NO_KEY]
    assert len(keys) == len(set(keys))


def test_no_single_key_is_destructive_and_k_is_up() -> None:
    assert all(
        command.asks
        for command in COMMANDS
        if command.id.endswith((".submit", ".cancel")) and command.scope != "app"
    )
    assert [command.id for command in COMMANDS if "k" in command.keys.split(",")] == [
        "list.line-up"
    ]


def test_every_command_is_carried_out_by_somebody() -> None:
    views = {name: view_class(name) for name in RowtuiApp.MODES}
    for command in COMMANDS:
        if command.id.startswith("go."):
            assert command.id.removeprefix("go.") in TITLES
        elif command.id.startswith("terminal."):
            assert [one.name for one in LINE_COMMANDS if one.command == command.id]
        elif command.scope in PARTS:
            name = command.method.replace("command_", "action_")
            assert command.scope != "rows" or hasattr(ListTable, name), command.id
            assert command.scope in ("graph", "rows") or hasattr(TextLines, name), command.id
            assert command.scope in ("text", "rows") or hasattr(NetworkGraph, name), command.id
            assert command.scope != "list" or hasattr(VirtualTable, name), command.id
        else:
            owner = RowtuiApp if command.scope == "app" else views[command.scope]
            assert callable(getattr(owner, command.method)), command.id


@pytest.mark.parametrize("view", TITLES)
def test_the_bottom_line_has_six_keys_that_work_in_the_view(view: str) -> None:
    found = hints_here(view)
    assert len({one.id for one in found}) == len(found) <= 6
    assert {one.id for one in found} <= {one.id for one in commands_here(view)}
    assert all(one.shown_keys for one in found)


@pytest.mark.parametrize("view", TITLES)
def test_help_lists_every_command_of_the_view_and_why_one_cannot_be_used(view: str) -> None:
    session = Session(SampleEngine(), read_only=True)
    text = "\n".join(
        "".join(span.text for span in entry)
        for _, lines in help_sections(session, view, ())
        for entry in lines
    )
    for command in commands_here(view):
        reason = command.enabled(session)
        if command.scope == "app" and command.keys == NO_KEY:
            continue  # the `:` line has the reason
        if command.id.startswith("go.") and command.id != "go.clusters":
            continue  # the views are one line
        assert command in hints_here(view) or reason in text
        shown = command.description in text or f"{command.label.rstrip('…')}: {reason}" in text
        assert shown or is_reverse(command), command.id


async def test_read_only_refuses_every_command_that_asks_whatever_is_chosen() -> None:
    engine = SampleEngine()
    session = Session(engine)
    session.snapshot, session.jobs = await engine.refresh(), await engine.jobs.view()
    session.action_index = 1
    session.sending = Sending(await engine.plans.make(1, None, None))
    session.packing.shown = picture_of(await engine.plans.pack(1, None, None, PackChoice()), {})
    active = [job for job in session.jobs.jobs if job.state.active]
    await engine.jobs.hold([active[0].token])
    engine.jobs_by_token[active[1].token].state = JobState.PENDING
    session.jobs = await engine.jobs.view()
    rows = (await engine.queue.page(QueueRequest(folding=False), 0, 100)).rows
    session.queue_marks = {row.key: row.marked for row in rows}
    session.queue_row = rows[0]
    session.network.take(SampleNetwork(engine.now).view(frozen=True))
    session.need = needs(session.snapshot)[0]
    session.network.under = "failures"
    session.network.failure = FAILURES[0]
    session.what_if, session.written = WhatIfRequest(user="somebody"), "a token"
    asking = [command for command in COMMANDS if command.asks]
    possible = set()
    for session.filter in FILTERS:
        possible |= {command.id for command in asking if not command.enabled(session)}
    assert possible == {command.id for command in asking}
    session.read_only = True
    for command in asking:
        assert "read-only" in command.enabled(session), command.id
