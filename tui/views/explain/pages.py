"""What the view Explain opens or writes: pages, copies, and a what-if in workflow.toml.

The dashboard does not write a what-if by itself: the user confirms the lines.
"""

from __future__ import annotations

import contextlib
import json
import textwrap
from collections.abc import Callable, Collection
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rowtui.core.base.document import VERSION, document
from rowtui.core.base.text import visible
from rowtui.core.mapping.model.decision import Decision
from rowtui.core.mapping.model.decision_json import Explained, GroupsDecision, shown_decision
from rowtui.core.project.views.views import Edit, EditRequest
from rowtui.tui.commands.explain import may_undo_write
from rowtui.tui.commands.registry import BY_ID
from rowtui.tui.shell.work import start
from rowtui.tui.views.dialogs import Dialog, PageScreen, field_keys
from rowtui.tui.views.explain.explain import DestinationRow
from rowtui.tui.views.explain.explain_text import lines_to_add
from rowtui.tui.views.explain.sources import SourcesScreen, source_rows
from rowtui.tui.views.explain.what_if import LABELS
from rowtui.tui.views.questions import difference_line
from rowtui.tui.widgets.cells import as_content, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.text_lines import TextLines
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

if TYPE_CHECKING:
    from rowtui.tui.views.view import ScreenView


_AROUND = 8  # The number of columns by which a page is narrower than the screen, with its frame.
_NARROWEST = 20
_KEYS = line(("←→ Enter", "key"), " answers   ", ("Esc", "key"), " writes nothing")


def show_sources(view: ScreenView, row: DestinationRow | None) -> None:
    """Open a page with all sources of the decision, first those of the destination `row`."""
    found, snapshot = view.session.explanation, view.session.snapshot
    if found is None or found.decision is None or snapshot is None:
        return
    name = visible(row.name) if row is not None else "this job"
    title = f"Values that decided about {name}, and their places"
    view.app.push_screen(SourcesScreen(title, source_rows(row, found.decision), snapshot.root))


def show_lines(view: ScreenView, plain: Decision | None, why: str = "") -> None:
    """Open a page with the lines that make the what-if permanent.

    `why` is the reason why the dashboard does not write the lines itself.
    """
    asked, action = view.session.what_if, view.session.action
    if asked is None or action is None:
        return
    lines = [
        *textwrap.wrap(
            f"{why}." if why else "Nothing of this is written; y copies the page.",
            max(_NARROWEST, view.size.width - _AROUND),
        ),
        "",
        *lines_to_add(asked, action.name, plain),
    ]
    view.app.push_screen(PageScreen(f"Lines for the what-if of {action.name}", lines))


def copy_json(view: ScreenView) -> None:
    """Copy the decision, in the format of `rowtui explain --json`, to the clipboard."""
    found, action = view.session.explanation, view.session.action
    if found is None or action is None:
        return
    these = (((found.group, found.group),), found.directories, found.first)
    explained = Explained(
        action.name,
        view.session.filter.word,
        found.groups,
        None,
        found.files,
        found.problems,
        [] if found.decision is None else [GroupsDecision(*these, shown_decision(found.decision))],
    )
    data = {"version": VERSION, **document(explained)}
    view.dashboard.copy_text(json.dumps(data, indent=2))


class WriteScreen(Dialog[bool]):
    """A dialog that returns True after Write; Cancel has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "no", "write nothing", id="write.no", tooltip="write nothing"),
        *field_keys("write", "left", "right"),
    ]
    AUTO_FOCUS: ClassVar[str | None] = "#cancel"

    def __init__(self, question: str, edit: Edit) -> None:
        super().__init__()
        self._question = question
        self._edit = edit

    def compose(self) -> ComposeResult:
        """Compose the changed lines, the notes, and the two answers."""
        with Vertical(id="write") as dialog:
            set_titles(dialog, self._question, "Tab, then j k: scroll")
            yield TextLines(difference_line, name="write-text")
            if self._edit.notes:
                yield Static(as_content([line(text) for text in self._edit.notes]), markup=False)
            with Horizontal(id="login-buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button("Write", id="write-it", compact=True)
                yield Static(as_content([_KEYS]), markup=False)

    def on_mount(self) -> None:
        """Show the change from its beginning."""
        page: TextLines[str] = self.query_one(TextLines)
        page.show(self._edit.diff)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Return True only for the button Write."""
        event.stop()
        self.dismiss(event.button.id == "write-it")


def write_what_if(
    view: ScreenView, plain: Decision | None, became_so: Callable[[Collection[str]], None]
) -> None:
    """Show the change, and write it after a confirmation; show lines to copy for the rest.

    `became_so` is called with the fields that were written.
    """
    session = view.session
    action, what_if = session.action, session.what_if
    if action is None or what_if is None:
        return
    change = what_if.change
    if change.walltime_seconds is None and not any(it is not None for it in change.amounts):
        show_lines(view, plain, "Nothing of this belongs in workflow.toml")
        return

    def done(edit: Edit) -> None:
        what = ", ".join(LABELS.get(name, name) for name in edit.fields)
        session.note("you", f"wrote {what} of {visible(action.name)} to workflow.toml")
        text = f"wrote {what} of {visible(action.name)} to workflow.toml"
        became_so(edit.fields)  # This changes the what-if, so it is a step of its own.
        session.can_undo("explain", text, partial(take_back, view), asks=True)
        key = BY_ID["app.undo"].keys_of(session.keys) or ":app.undo"
        view.dashboard.notify(f"Written to workflow.toml. {key} undoes it.")

    def refused(why: str) -> None:
        show_lines(view, plain, f"Nothing can be written: {why}")

    asked = EditRequest(action.index, session.filter.statuses, session.group, what_if)
    title = f"Write to workflow.toml for {action.name}?"
    start(view, partial(_ask, view, asked, title, done, refused), "write", exclusive=True)


def take_back(view: ScreenView) -> str:
    """Show the changes of the last write, and undo them after a confirmation.

    Return why that is impossible, or "".
    """
    session = view.session
    if why := may_undo_write(session):
        return why

    def done(_: Edit) -> None:
        session.note("you", "took the last write to workflow.toml back")
        view.dashboard.notify("workflow.toml is as it was before.")

    def refused(why: str) -> None:
        session.written = ""
        view.dashboard.warn(f"It cannot be taken back: {why}.")
        view.show_bottom()

    asked = EditRequest(undo=session.written)
    title = "Take the last write to workflow.toml back?"
    start(view, partial(_ask, view, asked, title, done, refused), "write", exclusive=True)
    return ""


def forget_if_changed(view: ScreenView) -> None:
    """Check that the file is unchanged since the last write; otherwise no undo is offered."""
    start(view, partial(_forget_if_changed, view), "written", exclusive=True)


async def _forget_if_changed(view: ScreenView) -> None:
    session = view.session
    token = session.written
    with contextlib.suppress(Exception):  # A later undo reports the error.
        edit = await session.engine.mapping.edit_workflow(EditRequest(undo=token))
        if edit.refused and session.written == token:
            session.written = ""
            view.show_bottom()


async def _ask(
    view: ScreenView,
    asked: EditRequest,
    title: str,
    done: Callable[[Edit], None],
    refused: Callable[[str], None],
) -> None:
    try:
        edit = await view.session.engine.mapping.edit_workflow(asked)
    except Exception as error:
        view.dashboard.report("workflow.toml cannot be changed", error)
        return
    if edit.refused:
        refused(edit.refused)
        return

    def answered(yes: bool | None) -> None:
        if yes:
            confirmed = asked._replace(confirmed=edit.token)
            start(view, partial(_write, view, confirmed, done), "write")
        else:
            view.dashboard.notify("Nothing was written.")

    view.app.push_screen(WriteScreen(title, edit), answered)


async def _write(view: ScreenView, asked: EditRequest, done: Callable[[Edit], None]) -> None:
    try:
        edit = await view.session.engine.mapping.edit_workflow(asked)
    except Exception as error:
        view.dashboard.report("workflow.toml was not changed", error)
        return
    view.session.written = edit.token
    done(edit)
    view.dashboard.feed.refresh_now(queues=True)
