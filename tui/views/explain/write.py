"""Write a what-if to workflow.toml: the user reviews the change first; the default is no."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rowtui.core.base.text import visible
from rowtui.core.engine.api.engine import Edit, EditAsked
from rowtui.tui.commands.registry import BY_ID
from rowtui.tui.shell.work import start
from rowtui.tui.views.dialog import Dialog, field_keys
from rowtui.tui.views.dialogs import difference_line
from rowtui.tui.views.explain.explain_text import show_lines
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.palette import as_content
from rowtui.tui.widgets.text_lines import TextLines
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

if TYPE_CHECKING:
    from rowtui.core.mapping.model.decision import Decision
    from rowtui.tui.views.explain.view import ExplainView

_KEYS = line(("←→ Enter", "key"), " answers   ", ("Esc", "key"), " writes nothing")


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


def write_what_if(view: ExplainView, plain: Decision | None) -> None:
    """Show the change, and write it after a confirmation; show lines to copy for the
    other fields.
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
        what = ", ".join(edit.fields)
        session.note("you", f"wrote {what} of {visible(action.name)} to workflow.toml")
        key = BY_ID["explain.undo-write"].keys_of(session.keys) or ":explain.undo-write"
        view.dashboard.notify(f"Written to workflow.toml. {key} takes it back.")
        view.became_so(edit.fields)

    def refused(why: str) -> None:
        show_lines(view, plain, f"Nothing can be written: {why}")

    asked = EditAsked(action.index, session.filter.statuses, session.group, what_if)
    title = f"Write to workflow.toml for {action.name}?"
    start(view, partial(_ask, view, asked, title, done, refused), "write", exclusive=True)


def take_back(view: ExplainView) -> None:
    """Show the changes of the last write, and undo them after a confirmation."""
    session = view.session

    def done(_: Edit) -> None:
        session.note("you", "took the last write to workflow.toml back")
        view.dashboard.notify("workflow.toml is as it was before.")

    def refused(why: str) -> None:
        session.written = ""
        view.dashboard.warn(f"It cannot be taken back: {why}.")
        view.show_bottom()

    asked = EditAsked(undo=session.written)
    title = "Take the last write to workflow.toml back?"
    start(view, partial(_ask, view, asked, title, done, refused), "write", exclusive=True)


def forget_if_changed(view: ExplainView) -> None:
    """Check that the file is unchanged since the last write; otherwise no undo is offered."""
    start(view, partial(_forget_if_changed, view), "written", exclusive=True)


async def _forget_if_changed(view: ExplainView) -> None:
    session = view.session
    token = session.written
    with contextlib.suppress(Exception):  # A later undo reports the error.
        edit = await session.engine.edit_workflow(EditAsked(undo=token))
        if edit.refused and session.written == token:
            session.written = ""
            view.show_bottom()


async def _ask(
    view: ExplainView,
    asked: EditAsked,
    title: str,
    done: Callable[[Edit], None],
    refused: Callable[[str], None],
) -> None:
    try:
        edit = await view.session.engine.edit_workflow(asked)
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


async def _write(view: ExplainView, asked: EditAsked, done: Callable[[Edit], None]) -> None:
    try:
        edit = await view.session.engine.edit_workflow(asked)
    except Exception as error:
        view.dashboard.report("workflow.toml was not changed", error)
        return
    view.session.written = edit.token
    done(edit)
    view.dashboard.command_refresh()
