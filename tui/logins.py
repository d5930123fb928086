"""Logins before the screen: what clusters ask stands in line, and one dialog is shown at a time.

Takes the engine's questions and gives it the answers, which pass through and are kept nowhere. A
dialog never comes while somebody is typing elsewhere: it would get what is meant for that.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from rowtui.core.clusters.transports.login import LoginError, LoginTrouble
from rowtui.core.engine import Question
from rowtui.core.text import visible
from rowtui.tui.session import describe
from rowtui.tui.work import start
from textual.screen import ModalScreen
from textual.widgets import Input

if TYPE_CHECKING:
    from rowtui.tui.app import RowtuiApp
    from rowtui.tui.feed import Feed
    from rowtui.tui.screens.login import Failure, LoginDialog
    from rowtui.tui.session import Session

RETRY_SECONDS = 5.0
"""Before questions are listened for again after that broke."""


class Logins:
    """The line of questions and failures of one app, and the verb that starts a login."""

    def __init__(self, app: RowtuiApp, session: Session, feed: Feed) -> None:
        self._app = app
        self._session = session
        self._feed = feed
        self._line: deque[Question | Failure] = deque()
        self._shown: tuple[Question | Failure, LoginDialog] | None = None
        self._said_wait = False

    # Logging in

    def choose(self) -> None:
        """Log in to the one cluster that waits for it, or ask to which of several."""
        from rowtui.tui.screens.login import ChooseScreen  # dialogs: not before the first paint

        clusters = self._session.logins
        if len(clusters) == 1:
            self.connect(clusters[0].name)
        elif clusters:
            self._app.push_screen(
                ChooseScreen(clusters), lambda name: self.connect(name) if name else None
            )

    def connect(self, cluster: str) -> None:
        """Log in to a cluster; it may ask."""
        if cluster in self._session.connecting:
            return
        self._session.connecting.add(cluster)
        self._session.note("you", f"log in to {cluster}")
        start(self._app, partial(self._connect, cluster), "connect")
        self._app.show_again("connecting")

    async def _connect(self, cluster: str) -> None:
        try:
            await self._session.engine.connect(cluster)
        except Exception as error:
            self._tell_failure(cluster, error)
        else:
            text = f"logged in to {cluster}"
            self._session.note("jobs", text, "completed")
            self._app.notify(visible(text), markup=False)
        finally:
            self._session.connecting.discard(cluster)
        self._feed.refresh_now(queues=True)
        self._app.show_again("connected")

    def _tell_failure(self, cluster: str, error: Exception) -> None:
        from rowtui.tui.screens.login import Failure

        message, hint = describe(error)
        apart = isinstance(error, LoginError)
        text = f"{'no login to ' if apart else ''}{cluster}: {message}"
        if isinstance(error, LoginError) and error.trouble is LoginTrouble.CANCELLED:
            self._session.note("jobs", text, "warning")
            self._app.notify(visible(text), severity="warning", markup=False)
            return
        self._session.note("error", text + (f"\n{hint}" if hint else ""), "failed")
        title = f"No connection to {cluster}" if apart else f"Trouble with {cluster}"
        self._line.append(Failure(cluster, title, message, hint))
        self.show_next()

    # Questions

    async def listen(self) -> None:
        """Show what clusters ask, until cancelled."""
        while True:
            try:
                async for news in self._session.engine.questions():
                    if isinstance(news, Question):
                        self._line.append(news)
                        self.show_next()
                    else:
                        self._withdraw(news.number)
                return  # the engine was closed
            except Exception as error:
                self._app.report("questions of logins cannot be followed", error)
            await asyncio.sleep(RETRY_SECONDS)

    def show_next(self) -> None:
        """Show the next in line, unless a dialog is open or somebody is typing."""
        if self._shown is not None or not self._line or not self._app.is_running:
            return
        if isinstance(self._app.screen, ModalScreen) or isinstance(self._app.focused, Input):
            if not self._said_wait:
                text = f"{self._line[0].cluster} asks something, as soon as you are done here."
                self._app.notify(visible(text), markup=False)
                self._said_wait = True
            return
        self._said_wait = False
        item = self._line.popleft()
        dialog = self._dialog(item)
        self._shown = (item, dialog)
        self._app.push_screen(dialog, lambda _: self._closed())

    def _dialog(self, item: Question | Failure) -> LoginDialog:
        from rowtui.tui.screens.login import Failure, FailureScreen, HostKeyScreen, PromptScreen

        if isinstance(item, Failure):
            return FailureScreen(item)
        clusters = self._session.jobs.clusters if self._session.jobs else ()
        where = next((one.where for one in clusters if one.name == item.cluster), "")
        answer = partial(self._answer, item.number)
        if item.host_key is not None:
            return HostKeyScreen(item.cluster, item.host_key, answer)
        return PromptScreen(item.cluster, where, item.prompts, answer)

    def _answer(self, number: int, answers: Sequence[str] | None) -> None:
        self._session.engine.answer(number, answers)

    def _closed(self) -> None:
        self._shown = None
        self.show_next()

    def _withdraw(self, number: int) -> None:
        """Nobody waits for an answer any more."""
        for item in self._line:
            if isinstance(item, Question) and item.number == number:
                self._line.remove(item)
                return
        if self._shown is None:
            return
        item, dialog = self._shown
        if isinstance(item, Question) and item.number == number and dialog.is_current:
            text = f"{item.cluster} does not wait for an answer any more."
            self._session.note("jobs", text, "warning")
            self._app.notify(visible(text), severity="warning", markup=False)
            dialog.close()
