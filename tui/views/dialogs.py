"""Pages on top of a view: the base class of pages and questions, and a page of text."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import Any, ClassVar

from rowtui.core.base.text import plural
from rowtui.tui.commands.command import shown_keys
from rowtui.tui.views.chrome import Hint, hints
from rowtui.tui.widgets.cells import as_content, line, width_of
from rowtui.tui.widgets.chrome import OneLine, set_titles
from rowtui.tui.widgets.fields import InputField
from rowtui.tui.widgets.text_lines import TextLines
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen, Screen, ScreenResultType
from textual.widgets import Button, Static

AT_ONCE = 0.4
"""Seconds after which a question takes Enter: a line that was typed by mistake, whose first letter
opened the question, does not answer it.
"""


class Dialog(ModalScreen[ScreenResultType]):
    """A page on top of a view; its bottom line shows the keys of the page and of its list.

    It ignores Enter at first; with `takes_enter` at once, because no question is asked.
    """

    LIST_KEYS: Sequence[Hint] = ()
    takes_enter: ClassVar[bool] = False
    answer_text = ""
    _opened = 0.0

    def action_no(self) -> None:
        """Close the dialog without an answer."""
        self.dismiss(None)

    def on_mount(self) -> None:
        """Put the keys of the page over those of the view below."""
        self._opened = monotonic()
        self.mount(OneLine(name="keys"))
        self.call_after_refresh(self.show_keys)

    def on_resize(self) -> None:
        """Show the keys that fit the new width."""
        self.show_keys()

    def on_descendant_focus(self) -> None:
        """Show the keys of the field that now has the focus."""
        self.show_keys()

    def on_key(self, event: events.Key) -> None:
        """Drop an Enter that follows too closely to be an answer."""
        if event.key == "enter" and not self.takes_enter and too_soon(event, self._opened):
            event.stop()
            event.prevent_default()

    def answer(self, text: str) -> None:
        """Show this text about the pressed key, before the keys of the page; "" shows no text."""
        self.answer_text = text
        self.show_keys()

    def show_keys(self) -> None:
        """Show the keys of the field with the focus, then those of the page."""
        text = line((f" {self.answer_text} ", "warning")) if self.answer_text else ()
        for keys in self.query("#keys").results(OneLine):
            room = self.size.width - width_of(text)
            typed = typed_keys(self)
            of_list = () if isinstance(self.focused, InputField) else self.LIST_KEYS
            keys.show((*text, *hints(room, [*typed[:1], *of_list, *typed[1:]])[0]))


def too_soon(event: events.Key, opened: float) -> bool:
    """Whether the key was pressed before the user can have read a question."""
    return event.time - opened < AT_ONCE


def field_keys(name: str, before: str = "up", after: str = "down") -> list[BindingType]:
    """Return the hidden keys that move between the fields of the dialog with this name."""
    return [
        Binding(after, "app.focus_next", "next", show=False, id=f"{name}.next",
                tooltip="the next field"),
        Binding(before, "app.focus_previous", "previous", show=False, id=f"{name}.previous",
                tooltip="the field before"),
    ]  # fmt: skip


def show_wrong(screen: Screen[Any], field: str, text: str) -> None:
    """Show what is wrong beneath a field of a dialog; "" shows nothing."""
    sentence = screen.query_one(f"#wrong-{field}", Static)
    sentence.update(as_content([line((text, "warning"))]))
    sentence.set_class(bool(text), "-shown")


def typed_keys(screen: Screen[Any]) -> list[Hint]:
    """Return the keys of the field with the focus, and of its page.

    The result is empty in a view where no field has the focus: there, the keys are those of the
    view's commands.
    """
    focused = screen.focused
    if not screen.is_modal and not isinstance(focused, InputField):
        return []
    found = dict(focused.keys) if isinstance(focused, InputField) else {}
    if isinstance(focused, Button):
        found["Enter"] = str(focused.label)
    shown: dict[str, str] = {}
    for active in screen.active_bindings.values():
        if active.binding.show and active.enabled:
            shown.setdefault(active.binding.description, active.binding.key)
    for label, key in shown.items():
        found.setdefault(shown_keys(key), label)
    return [Hint(key, label, "") for key, label in found.items()]


class PageScreen(Dialog[None]):
    """Lines of text under a title."""

    BINDINGS = [
        Binding("escape,q", "dismiss", "close", id="page.close", tooltip="close this page"),
        Binding("y", "copy", "copy", id="page.copy", tooltip="copy all of it"),
    ]

    def __init__(self, title: str, lines: Sequence[str]) -> None:
        super().__init__()
        self._title = title
        self._lines = tuple(lines)

    def compose(self) -> ComposeResult:
        """Compose the text."""
        page: TextLines[str] = TextLines(line, name="page")
        page.empty = line(("There is nothing to read here.", "dim"))
        below = f"{plural(len(self._lines), 'line')} · y copy · Esc close"
        set_titles(page, self._title, below)
        yield page

    def on_mount(self) -> None:
        """Show the text from its beginning."""
        self.query_one(TextLines).show(self._lines)

    def action_copy(self) -> None:
        """Copy the whole text."""
        self.app.copy_to_clipboard("\n".join(self._lines))
        self.app.notify("Copied.", markup=False)
