"""The dialogs of a login: questions of a cluster, the key of an unknown machine, a failure.

A cluster's text comes from outside: it is never parsed as markup, and a long text is cut in its
middle. The typed answers are passed to the cluster and not stored here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rowtui.core.base.text import visible
from rowtui.core.clusters.transports.login import Prompt, UnknownHostKey
from rowtui.tui.shell.session import Failure
from rowtui.tui.views.dialogs import Dialog, field_keys
from rowtui.tui.widgets.cells import Line, as_content, line
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.fields import InputField
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, Static

LONGEST_TEXT = 600
"""The number of characters of one question that are shown; the question itself is at the end."""

Answered = Callable[[Sequence[str] | None], None]


class LoginDialog(Dialog[None]):
    """Base class of the login dialogs, which can be closed from outside."""

    def close(self) -> None:
        """Close the dialog without an answer."""
        self.dismiss()


class LoginField(InputField):
    """A field for one answer. A secret answer cannot be copied either."""

    def __init__(self, *, secret: bool, name: str) -> None:
        super().__init__(
            keys=(("Enter", "next, or send"),), password=secret, id=name, select_on_focus=False
        )

    def action_copy(self) -> None:
        """Copy the text, unless the answer is secret."""
        if not self.password:
            super().action_copy()

    def action_cut(self) -> None:
        """Cut the text; a secret answer is only deleted, not copied."""
        if self.password:
            self.delete_selection()
        else:
            super().action_cut()


class ConnectingScreen(LoginDialog):
    """A notice that a login is under way; it has the keys until it ends or is hidden."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "hide", id="login.hide", tooltip="the login goes on")
    ]

    def __init__(self, cluster: str) -> None:
        super().__init__()
        self.cluster = cluster

    def compose(self) -> ComposeResult:
        """Compose the state of the login, and the key that leads back to the view."""
        parts: list[Line] = [
            line("The login is under way. Questions of the cluster appear here."),
            (),
            line(("Esc", "key"), " hides this, ", ("L", "key"), " shows it again"),
        ]
        with VerticalScroll(id="dialog", classes="login") as dialog:
            set_titles(dialog, f"Log in to {self.cluster}")
            yield Static(as_content(parts), markup=False)


class PromptScreen(LoginDialog):
    """The questions of one step of a login, each with a field for its answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "give_up", "give up", id="login.give-up", tooltip="give the login up")
    ]

    def __init__(
        self, cluster: str, where: str, prompts: Sequence[Prompt], answered: Answered
    ) -> None:
        super().__init__()
        self._cluster = cluster
        self._where = where
        self._prompts = prompts
        self._answered = answered
        self._warned = False

    def compose(self) -> ComposeResult:
        """Compose the cluster, the questions, and the keys."""
        with VerticalScroll(id="dialog", classes="login", can_focus=False) as dialog:
            set_titles(dialog, f"Log in to {self._cluster}", self._where)
            for number, prompt in enumerate(self._prompts):
                yield Static(_text(prompt.text), markup=False, classes="question")
                yield LoginField(secret=not prompt.echo, name=f"answer-{number}")
            yield Static(id="login-keys", markup=False)

    def on_mount(self) -> None:
        """Show the keys."""
        self._say_keys()

    @property
    def _lines(self) -> list[LoginField]:
        return list(self.query(LoginField))

    def _say_keys(self, warning: str = "") -> None:
        last = not self._lines or self.focused is self._lines[-1] or len(self._lines) == 1
        what = "sends it" if len(self._lines) == 1 else "sends them" if last else "next"
        parts: list[Line] = [line((warning, "warning"))] if warning else []
        parts.append(line(("Enter", "key"), f" {what}   ", ("Esc", "key"), " gives up"))
        self.query_one("#login-keys", Static).update(as_content(parts))

    def on_descendant_focus(self) -> None:
        """Update the keys: Enter has another meaning in the last field."""
        if self.is_mounted:
            self._say_keys()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go to the next field; from the last one, send the answers."""
        event.stop()
        lines = self._lines
        at = lines.index(event.input) if isinstance(event.input, LoginField) else len(lines) - 1
        if at + 1 < len(lines):
            lines[at + 1].focus()
            return
        if not any(one.value for one in lines) and not self._warned:
            self._warned = True  # A wrong answer counts as an attempt, and Enter is easily pressed.
            self._say_keys("Nothing is typed: Enter again sends just that.")
            return
        answers = tuple(one.value for one in lines)
        self._forget()
        self.dismiss()
        self._answered(answers)

    def action_give_up(self) -> None:
        """Close the dialog and return no answer."""
        self._forget()
        self.dismiss()
        self._answered(None)

    def close(self) -> None:
        """Clear the fields and close the dialog, because the answer is no longer needed."""
        self._forget()
        super().close()

    def _forget(self) -> None:
        with self.prevent(Input.Changed):
            for one in self._lines:
                one.value = ""


_HOST_KEY_KEYS = line(("←→ Enter", "key"), " answers   ", ("Esc", "key"), " rejects")


class HostKeyScreen(LoginDialog):
    """The question whether an unknown machine is the right one. The default is no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "reject", "reject", id="login.reject", tooltip="refuse this key"),
        *field_keys("login", "left,up", "right,down"),
    ]
    AUTO_FOCUS: ClassVar[str | None] = "#reject"

    def __init__(self, cluster: str, key: UnknownHostKey, answered: Answered) -> None:
        super().__init__()
        self._cluster = cluster
        self._key = key
        self._answered = answered

    def compose(self) -> ComposeResult:
        """Compose the key, a hint for its comparison, and the two answers."""
        key = self._key
        parts = [
            line((visible(key.host), "title"), " is unknown. Its host key is:"),
            (),
            line((f"{'kind':<13}", "dim"), key.kind),
            line((f"{'fingerprint':<13}", "dim"), (key.fingerprint, "key")),
            (),
            line(
                "Compare the fingerprint with the one that the site publishes. If they differ, "
                "the connection may be intercepted: reject."
            ),
            (),
            line(("Accepting writes the key to your known_hosts file.", "dim")),
        ]
        with VerticalScroll(id="dialog", classes="login", can_focus=False) as dialog:
            set_titles(dialog, f"Is this {self._cluster}?")
            yield Static(as_content(parts), markup=False)
            with Horizontal(id="login-buttons"):
                yield Button("Reject", id="reject", compact=True)
                yield Button("Accept", id="accept", compact=True)
                yield Static(as_content([_HOST_KEY_KEYS]), markup=False)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Accept the key only for the button "accept"."""
        event.stop()
        self._end(("yes",) if event.button.id == "accept" else None)

    def action_reject(self) -> None:
        """Reject the key."""
        self._end(None)

    def _end(self, answers: Sequence[str] | None) -> None:
        self.dismiss()
        self._answered(answers)


class FailureScreen(LoginDialog):
    """The reason for a failed connection, until the user closes the dialog."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter", "dismiss", "close", id="login.close", tooltip="close this")
    ]

    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self._failure = failure

    def compose(self) -> ComposeResult:
        """Compose the error, and a hint."""
        parts = [line(part) for part in self._failure.message.splitlines()]
        if self._failure.hint:
            parts += [(), *(line((part, "key")) for part in self._failure.hint.splitlines())]
        parts += [(), line(("Esc", "key"), " closes")]
        with VerticalScroll(id="dialog", classes="failure") as dialog:
            set_titles(dialog, self._failure.title)
            yield Static(as_content(parts), markup=False)


def _text(text: str) -> Content:
    """Return a cluster's text with its own lines, without any markup."""
    if len(text) > LONGEST_TEXT:
        half = LONGEST_TEXT // 2
        text = f"{text[:half]} … {text[-half:]}"
    return as_content([line(part) for part in text.split("\n")])
