"""`w` in the queue: a page with the reasons why a job is not running."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rowtui.core.project.queue.rows import QueueRow
from rowtui.core.project.queue.views import JobDetail
from rowtui.tui.shell.session import Session, describe
from rowtui.tui.shell.work import start
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.views.queue.reasons import WAITS, why_page
from rowtui.tui.widgets.cells import Line, plain
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.text_lines import LaidOut
from textual.app import ComposeResult
from textual.binding import Binding


class WhyScreen(Dialog[None]):
    """A page to read. The scheduler is polled when the page opens, and for an estimate after `e`.

    Each answer is passed to the callback `told`, for the pane below the list.
    """

    BINDINGS = [
        Binding("escape,w,q", "dismiss", "close", id="why.close", tooltip="close this page"),
        Binding("e", "estimate", "estimate", id="why.estimate",
                tooltip="ask when it may start, and how many jobs go first"),
        Binding("y", "copy", "copy", id="why.copy", tooltip="copy all of it"),
    ]  # fmt: skip

    def __init__(self, session: Session, row: QueueRow, told: Callable[[JobDetail], None]) -> None:
        super().__init__()
        self._session = session
        self._row = row
        self._told = told
        self._detail: JobDetail | None = None

    def compose(self) -> ComposeResult:
        """Compose one long text."""
        yield LaidOut(name="why")

    def on_mount(self) -> None:
        """Show the known information at once, and poll the scheduler."""
        self._show()
        self._ask(False)

    def _ask(self, estimate: bool) -> None:
        start(self, partial(self._look, estimate), "why", exclusive=True)

    async def _look(self, estimate: bool) -> None:
        key = self._row.key
        try:
            detail = await self._session.engine.queue.detail(key, estimate=estimate)
        except Exception as error:
            detail = JobDetail(key, self._session.clock(), problem=describe(error)[0])
        self._detail = detail
        self._told(detail)
        self._show()

    def _show(self) -> None:
        row, page = self._row, self.query_one(LaidOut)
        waits = row.state in WAITS
        title = f"{row.label} · why is it not running?" if waits else f"{row.label} · {row.cluster}"
        ask = "e when may it start? · " if waits else ""
        set_titles(page, title, f"{ask}y copy · Esc close")
        page.show_made(self._lines)

    def _lines(self, width: int) -> list[Line]:
        return why_page(self._row, self._detail, self._session.clock(), width)

    def action_estimate(self) -> None:
        """Ask the scheduler for the estimated start."""
        self._ask(True)

    def action_copy(self) -> None:
        """Copy the whole page."""
        self.app.copy_to_clipboard("\n".join(plain(one) for one in self._lines(10_000)))
        self.app.notify("Copied the page.", markup=False)
