"""The dialogs of a login: questions of a cluster, the key of an unknown machine, a failure.

What a cluster writes is text from outside: it is never read as markup, and what is too long is
cut in its middle. What is typed goes to whoever asked and is forgotten here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

from rowtui.core.clusters.transports.login import Prompt, UnknownHostKey
from rowtui.core.engine import ClusterView
from rowtui.core.text import visible
from rowtui.tui.render.cells import Line, line
from rowtui.tui.screens.dialog import Dialog
from rowtui.tui.screens.view import set_titles
from rowtui.tui.widgets.fields import Field
from rowtui.tui.widgets.palette import as_content
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Button, Input, OptionList, Static

LONGEST_TEXT = 600
"""Characters of one question that are shown; the question itself stands at the end."""

Answered = Callable[[Sequence[str] | None], None]


class Failure(NamedTuple):
    """A login that came to nothing, and what to do."""

    cluster: str
    title: str
    message: str
    hint: str = ""


class LoginDialog(Dialog[None]):
    """What all of them share: they can be taken away."""

    def close(self) -> None:
        """Take it away; nothing is answered."""
        self.dismiss()


class Answer(Field):
    """A line for one answer. One that must not be seen is not copied either."""

    def __init__(self, *, secret: bool, name: str) -> None:
        super().__init__(
            keys=(("Enter", "next, or send"),), password=secret, id=name, select_on_focus=False
        )

    def action_copy(self) -> None:
        """Nothing of a secret leaves the line."""
        if not self.password:
            super().action_copy()

    def action_cut(self) -> None:
        """Nothing of a secret leaves the line."""
        if self.password:
            self.delete_selection()
        else:
            super().action_cut()


class ConnectingScreen(LoginDialog):
    """That a login is under way: the keys belong to the login until it ends or this is hidden."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "hide", id="login.hide", tooltip="go on without this dialog")
    ]

    def __init__(self, cluster: str) -> None:
        super().__init__()
        self.cluster = cluster

    def compose(self) -> ComposeResult:
        """The state of the login, and the way back to the view."""
        told: list[Line] = [
            line("The login is under way. Questions of the cluster appear here."),
            (),
            line(("Esc", "key"), " hides this, ", ("L", "key"), " shows it again"),
        ]
        with VerticalScroll(id="dialog", classes="login") as dialog:
            set_titles(dialog, f"Log in to {self.cluster}")
            yield Static(as_content(told), markup=False)


class PromptScreen(LoginDialog):
    """The questions of one step of a login, each with a line for its answer."""

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
        """Who asks, the questions, and the way out."""
        with VerticalScroll(id="dialog", classes="login", can_focus=False) as dialog:
            set_titles(dialog, f"Log in to {self._cluster}", self._where)
            for number, prompt in enumerate(self._prompts):
                yield Static(_text(prompt.text), markup=False, classes="question")
                yield Answer(secret=not prompt.echo, name=f"answer-{number}")
            yield Static(id="login-keys", markup=False)

    def on_mount(self) -> None:
        """Say what the keys do."""
        self._say_keys()

    @property
    def _lines(self) -> list[Answer]:
        return list(self.query(Answer))

    def _say_keys(self, warning: str = "") -> None:
        last = not self._lines or self.focused is self._lines[-1] or len(self._lines) == 1
        what = "sends it" if len(self._lines) == 1 else "sends them" if last else "next"
        told: list[Line] = [line((warning, "warning"))] if warning else []
        told.append(line(("Enter", "key"), f" {what}   ", ("Esc", "key"), " gives up"))
        self.query_one("#login-keys", Static).update(as_content(told))

    def on_descendant_focus(self) -> None:
        """Enter means something else in the last line."""
        if self.is_mounted:
            self._say_keys()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """To the next line; from the last one: answer."""
        event.stop()
        lines = self._lines
        at = lines.index(event.input) if isinstance(event.input, Answer) else len(lines) - 1
        if at + 1 < len(lines):
            lines[at + 1].focus()
            return
        if not any(one.value for one in lines) and not self._warned:
            self._warned = True  # a wrong answer counts, and Enter is easily pressed
            self._say_keys("Nothing is typed: Enter again sends just that.")
            return
        answers = tuple(one.value for one in lines)
        self._forget()
        self.dismiss()
        self._answered(answers)

    def action_give_up(self) -> None:
        """No answer."""
        self._forget()
        self.dismiss()
        self._answered(None)

    def close(self) -> None:
        """Nobody waits any more: forget what was typed."""
        self._forget()
        super().close()

    def _forget(self) -> None:
        with self.prevent(Input.Changed):
            for one in self._lines:
                one.value = ""


_HOST_KEY_KEYS = line(("←→ Enter", "key"), " answers   ", ("Esc", "key"), " rejects")


class HostKeyScreen(LoginDialog):
    """Whether a machine that was never seen before is the right one. The default is no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "reject", "reject", id="login.reject", tooltip="do not believe it"),
        Binding(
            "left,up",
            "app.focus_previous",
            "previous",
            show=False,
            id="login.previous",
            tooltip="the field before",
        ),
        Binding(
            "right,down",
            "app.focus_next",
            "next",
            show=False,
            id="login.next",
            tooltip="the next field",
        ),
    ]
    AUTO_FOCUS: ClassVar[str | None] = "#reject"

    def __init__(self, cluster: str, key: UnknownHostKey, answered: Answered) -> None:
        super().__init__()
        self._cluster = cluster
        self._key = key
        self._answered = answered

    def compose(self) -> ComposeResult:
        """The key, what to compare it with, and the two answers."""
        key = self._key
        told = [
            line((visible(key.host), "title"), " was never seen before. It shows this key:"),
            (),
            line((f"{'kind':<13}", "dim"), key.kind),
            line((f"{'fingerprint':<13}", "dim"), (key.fingerprint, "key")),
            (),
            line(
                "Compare the fingerprint with what the site publishes. If it is another one, "
                "somebody may be listening in: reject."
            ),
            (),
            line(("Accepting writes the key to your known_hosts file.", "dim")),
        ]
        with VerticalScroll(id="dialog", classes="login", can_focus=False) as dialog:
            set_titles(dialog, f"Is this {self._cluster}?")
            yield Static(as_content(told), markup=False)
            with Horizontal(id="login-buttons"):
                yield Button("Reject", id="reject", compact=True)
                yield Button("Accept", id="accept", compact=True)
                yield Static(as_content([_HOST_KEY_KEYS]), markup=False)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Only this button is a yes."""
        event.stop()
        self._end(("yes",) if event.button.id == "accept" else None)

    def action_reject(self) -> None:
        """No."""
        self._end(None)

    def _end(self, answers: Sequence[str] | None) -> None:
        self.dismiss()
        self._answered(answers)


class FailureScreen(LoginDialog):
    """Why there is no connection, until it was read."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter", "dismiss", "close", id="login.close", tooltip="close this")
    ]

    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self._failure = failure

    def compose(self) -> ComposeResult:
        """What is wrong, and what to do."""
        told = [line(part) for part in self._failure.message.splitlines()]
        if self._failure.hint:
            told += [(), *(line((part, "key")) for part in self._failure.hint.splitlines())]
        told += [(), line(("Esc", "key"), " closes")]
        with VerticalScroll(id="dialog", classes="failure") as dialog:
            set_titles(dialog, self._failure.title)
            yield Static(as_content(told), markup=False)


class ChooseScreen(Dialog[str | None]):
    """To which of several clusters. Gives its name, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "nothing", "nothing", id="login.nothing", tooltip="log in to none"),
        Binding("j", "step(1)", "down", show=False, id="login.down", tooltip="one line down"),
        Binding("k", "step(-1)", "up", show=False, id="login.up", tooltip="one line up"),
    ]

    def __init__(self, clusters: Sequence[ClusterView]) -> None:
        super().__init__()
        self._clusters = clusters

    def compose(self) -> ComposeResult:
        """The clusters, and why each one is not connected."""
        widest = max(len(visible(one.name)) for one in self._clusters)
        with VerticalScroll(id="dialog", classes="login", can_focus=False) as dialog:
            set_titles(dialog, "Log in to")
            yield OptionList(
                *(
                    as_content(
                        [
                            line(
                                (f"{visible(one.name):<{widest}}", "title"),
                                (f"  {one.where}", "dim"),
                                f"  {one.login or one.error}",
                            )
                        ]
                    )
                    for one in self._clusters
                ),
                compact=True,
            )
            keys = line(("Enter", "key"), " logs in   ", ("Esc", "key"), " does nothing")
            yield Static(as_content([(), keys]), markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """The one that was chosen."""
        event.stop()
        self.dismiss(self._clusters[event.option_index].name)

    def action_nothing(self) -> None:
        """None of them."""
        self.dismiss(None)

    def action_step(self, by: int) -> None:
        """Up and down, as everywhere."""
        options = self.query_one(OptionList)
        if by > 0:
            options.action_cursor_down()
        else:
            options.action_cursor_up()


def _text(text: str) -> Content:
    """A cluster's text: its own lines, nothing in it means anything."""
    if len(text) > LONGEST_TEXT:
        half = LONGEST_TEXT // 2
        text = f"{text[:half]} … {text[-half:]}"
    return as_content([line(part) for part in text.split("\n")])
