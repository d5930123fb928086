"""Logins on the screen: the clusters' questions wait in a queue; one dialog is shown at a time.

The engine's questions are shown and the answers are returned to the engine; the answers are not
stored. From `L` to the end of a login a dialog is on the screen; each question replaces the dialog
before it. If the user hid the dialog, a question waits for `L`: a dialog that opens by itself would
take keys that are typed for the view behind it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.base.text import visible
from rowtui.core.clusters.transports.login import LoginError, LoginTrouble
from rowtui.core.project.context.questions import LoginQuestion
from rowtui.tui.shell.session import Failure, describe
from rowtui.tui.shell.work import start
from rowtui.tui.widgets.cells import line
from textual.screen import ModalScreen
from textual.widgets import Input

if TYPE_CHECKING:
    from rowtui.tui.shell.feed import Feed
    from rowtui.tui.shell.session import Session
    from rowtui.tui.shell.terminal_app import ProjectApp
    from rowtui.tui.views.clusters.login_dialog import ConnectingScreen, LoginDialog

RETRY_SECONDS = 5.0
"""Seconds until questions are received again after an error."""


class Logins:
    """The queue of questions and failures of one app, and the verb that starts a login."""

    def __init__(self, app: ProjectApp, session: Session, feed: Feed) -> None:
        self._app = app
        self._session = session
        self._feed = feed
        self._line: deque[LoginQuestion | Failure] = deque()
        self._shown: tuple[LoginQuestion | Failure, LoginDialog] | None = None
        # The dialog between the questions of a login.
        self._waiting: ConnectingScreen | None = None
        self._given_up = False
        self._announced: LoginQuestion | Failure | None = None

    # Logging in

    def choose(self) -> None:
        """Show the question that waits, or log in to the one cluster that needs a login.

        If several clusters need a login, let the user choose one.
        """
        # A late import, because the first paint needs no dialog.
        from rowtui.tui.views.questions import ChooseScreen

        clusters = self._session.logins
        if self._line:
            self._attend(self._line[0].cluster)
        elif len(clusters) == 1:
            self.connect(clusters[0].name)
        elif clusters:
            widest = max(len(visible(one.name)) for one in clusters)
            lines = [
                line(
                    (f"{visible(one.name):<{widest}}", "title"),
                    (f"  {one.where}", "dim"),
                    f"  {one.login or one.error}",
                )
                for one in clusters
            ]

            def chosen(at: int | None) -> None:
                if at is not None:
                    self.connect(clusters[at].name)

            self._app.push_screen(ChooseScreen("Log in to", lines, "logs in"), chosen)
        elif self._session.connecting:
            self._attend(min(self._session.connecting))

    def connect(self, cluster: str) -> None:
        """Log in to a cluster, which may ask questions. If this is under way, show its dialog."""
        if cluster not in self._session.connecting:
            self._session.connecting.add(cluster)
            self._session.note("you", f"log in to {cluster}")
            start(self._app, partial(self._connect, cluster), "connect")
            self._app.show_again("connecting")
        self._attend(cluster)

    def _attend(self, cluster: str) -> None:
        """Show a dialog: the next question, or a notice that the login is under way."""
        from rowtui.tui.views.clusters.login_dialog import ConnectingScreen

        if self._shown is not None or self._is_busy:
            return
        self._waiting = ConnectingScreen(cluster)
        self._app.push_screen(self._waiting)
        self.show_next()

    @property
    def _is_busy(self) -> bool:
        """Whether the user types elsewhere: in another dialog, or in a line of the view."""
        return isinstance(self._app.screen, ModalScreen) or isinstance(self._app.focused, Input)

    async def _connect(self, cluster: str) -> None:
        try:
            await self._session.engine.clusters.connect(cluster)
        except Exception as error:
            self._tell_failure(cluster, error)
        else:
            text = f"logged in to {cluster}"
            self._session.note("jobs", text, "completed")
            self._app.notify(visible(text))
        finally:
            self._session.connecting.discard(cluster)
            if self._waiting is not None and self._waiting.cluster == cluster:
                self._take_waiting_away()
        self._feed.refresh_now(queues=True)
        self._app.show_again("connected")

    def _tell_failure(self, cluster: str, error: Exception) -> None:
        message, hint = describe(error)
        apart = isinstance(error, LoginError)
        text = f"{'no login to ' if apart else ''}{cluster}: {message}"
        if isinstance(error, LoginError) and error.trouble is LoginTrouble.CANCELLED:
            self._session.note("jobs", text, "warning")
            self._app.warn(visible(text))
            return
        self._session.note("error", text + (f"\n{hint}" if hint else ""), "failed")
        title = f"No connection to {cluster}" if apart else f"Trouble with {cluster}"
        self._line.append(Failure(cluster, title, message, hint))
        self.show_next()

    def _take_waiting_away(self) -> bool:
        """Close the dialog between two questions; return whether the dialog was on the screen."""
        dialog, self._waiting = self._waiting, None
        if dialog is None or not dialog.is_current:
            return False
        dialog.close()
        return True

    # Questions

    async def listen(self) -> None:
        """Show the questions of clusters, until cancelled."""
        while True:
            try:
                async for news in self._session.engine.clusters.questions():
                    if isinstance(news, LoginQuestion):
                        self._line.append(news)
                        self.show_next()
                    else:
                        self._withdraw(news.number)
                return  # The engine was closed.
            except Exception as error:
                self._app.report("questions of logins cannot be followed", error)
            await asyncio.sleep(RETRY_SECONDS)

    def show_next(self) -> None:
        """Show the next question if a dialog of a login is on screen; otherwise announce it."""
        if self._shown is not None or not self._line or not self._app.is_running:
            return
        if not self._take_waiting_away():
            self._announce(self._line[0])
            return
        item = self._line.popleft()
        dialog = self._dialog(item)
        self._shown = (item, dialog)
        self._app.push_screen(dialog, lambda _: self._closed(item))

    def _announce(self, item: LoginQuestion | Failure) -> None:
        """Show a message with the key that opens the question; a failure is only reported."""
        if isinstance(item, Failure):
            self._line.remove(item)
            text = f"{item.title}: {item.message}"
            self._app.notify(visible(text), severity="error")
        elif item is not self._announced:
            self._announced = item
            text = f"{item.cluster} has a question: L shows it."
            self._app.notify(visible(text))

    def _dialog(self, item: LoginQuestion | Failure) -> LoginDialog:
        from rowtui.tui.views.clusters.login_dialog import (
            FailureScreen,
            HostKeyScreen,
            PromptScreen,
        )

        if isinstance(item, Failure):
            return FailureScreen(item)
        clusters = self._session.jobs.clusters if self._session.jobs else ()
        where = next((one.where for one in clusters if one.name == item.cluster), "")
        answer = partial(self._answer, item.number)
        if item.host_key is not None:
            return HostKeyScreen(item.cluster, item.host_key, answer)
        return PromptScreen(item.cluster, where, item.prompts, answer)

    def _answer(self, number: int, answers: Sequence[str] | None) -> None:
        self._given_up = answers is None
        self._session.engine.clusters.answer(number, answers)

    def _closed(self, item: LoginQuestion | Failure) -> None:
        """Wait for the next question on the screen, unless the user gave up."""
        self._shown = None
        given_up, self._given_up = self._given_up, False
        waiting = (other.cluster == item.cluster for other in self._line)
        if item.cluster not in self._session.connecting and not any(waiting):
            return
        if not given_up or (isinstance(item, LoginQuestion) and item.host_key is not None):
            self._attend(item.cluster)

    def _withdraw(self, number: int) -> None:
        """Remove a question whose answer is no longer needed."""
        for item in self._line:
            if isinstance(item, LoginQuestion) and item.number == number:
                self._line.remove(item)
                return
        if self._shown is None:
            return
        item, dialog = self._shown
        if isinstance(item, LoginQuestion) and item.number == number and dialog.is_current:
            text = f"{item.cluster} does not wait for an answer any more."
            self._session.note("jobs", text, "warning")
            self._app.warn(visible(text))
            dialog.close()
