"""Why a job is not running, in words, and its scheduler's whole information about it.

`w` in the queue shows the reasons on a page of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rowtui.core.base.text import plural
from rowtui.core.clusters.schedulers.base import Job, JobState
from rowtui.core.project.queue.rows import QueueRow
from rowtui.core.project.queue.views import JobDetail
from rowtui.core.usage.running import UsageNow
from rowtui.tui.shell.session import Session, describe
from rowtui.tui.shell.work import start
from rowtui.tui.views.dialogs import Dialog
from rowtui.tui.views.queue.render_rows import start_text
from rowtui.tui.widgets.cells import Line, line, plain, width_of, wrapped
from rowtui.tui.widgets.chrome import set_titles
from rowtui.tui.widgets.short_text import JOB_MARKS, age, ago, clock_time, duration
from rowtui.tui.widgets.text_lines import LaidOut
from textual.app import ComposeResult
from textual.binding import Binding

WAITS = (JobState.PENDING, JobState.HELD)
OLD = 20.0
"""Seconds from which the age of a measurement is shown."""
NAME = 16
"""Columns of the names on the left."""


def row_lines(
    row: QueueRow,
    detail: JobDetail | None,
    now: float,
    width: int,
    used: UsageNow | None = None,
) -> list[Line]:
    """Return all information about a row, the most useful first. `now` is in epoch seconds."""
    lines = explained(row, now, width)
    lines += used_lines(used, now, width) if used is not None else []
    lines += detail_lines(detail, now, width) if detail is not None else []
    place = row.cluster + (f"/{row.partition}" if row.partition else "")
    if row.key.folded:
        lines.append(_counts(row))
    record = row.record
    if record is None:
        lines += [
            _field("name", row.name),
            _field("user", row.user),
            _field("at", place + (f" on {row.nodes}" if row.nodes else "")),
            line(("Not of this project: it is only shown here.", "dim")),
        ]
        return [one for one in lines if one]
    named = record.directories[:4]
    shown = ", ".join(named)
    if row.size > len(named):
        shown += f" and {row.size - len(named):,} more"
    noun = plural(row.size, "directory", "directories")
    lines += [
        _field(noun if len(noun) < NAME else "directories", shown),
        _field("at", place + (f" on {row.nodes}" if row.nodes else "")),
    ]
    if not row.key.folded:
        lines += [_field("log", record.log_path), _field("name", record.name)]
    return [one for one in lines if one]


def explained(row: QueueRow, now: float, width: int) -> list[Line]:
    """Return state and explanation, durations, the scheduler's own reason; below, what to do."""
    # A late import, because the module builds tables that the first row does not need.
    from rowtui.core.clusters.schedulers.reasons import explain

    mark = JOB_MARKS[row.state]
    exit_code = row.record.exit_code if row.record is not None else None
    found = explain(
        Job(
            row.key.id, row.state, reason=row.reason, elapsed=row.elapsed, limit=row.limit,
            nodes=row.nodes, start_estimate=row.start_estimate, exit_code=exit_code,
        ),
        now,
    )  # fmt: skip
    about: list[str | tuple[str, str]] = [(f"{mark.glyph} {mark.word}", mark.style)]
    since = row.record.submitted_at if row.record is not None else 0.0
    if row.state in WAITS and since and now - since >= 60:
        about.append((f" for {age(now - since)}", mark.style))
    about.append((f"  {found.sentence}", "warning" if found.needs_person else ""))
    if row.elapsed is not None and row.state not in WAITS:
        about.append((f"  {'for' if row.state.active else 'after'} {duration(row.elapsed)}", "dim"))
    if row.reason and row.reason.lower() not in found.sentence.lower():
        with_word = line(*about, (f"  {row.reason}", "dim"))
        if width_of(with_word) <= width:  # The reason is also in the list.
            about.append((f"  {row.reason}", "dim"))
    lines = wrapped(line(*about), width, 2)
    if found.hint:
        lines += wrapped(line(f"  {found.hint}"), width, 2)
    return lines


def used_lines(used: UsageNow, now: float, width: int) -> list[Line]:
    """Return what a job has used against what it requested; limits that are near come first."""
    if used.problem or not used.words:
        return []
    name = "uses" if used.running else "used"
    parts: list[str | tuple[str, str]] = [(f"{name:<{NAME}}", "dim")]
    if used.warning:
        parts.append((f"▲ {used.warning}: ", "warning"))
    parts.append(used.words)
    if used.running and now - used.at >= OLD:
        parts.append((f" · {ago(used.at, now)}", "dim"))
    return wrapped(line(*parts), width, NAME)


def detail_lines(detail: JobDetail, now: float, width: int) -> list[Line]:
    """Return the scheduler's answers about priority and start, in some lines."""
    lines: list[Line] = []
    if detail.priority:
        (_, total), *parts = detail.priority
        added = " + ".join(f"{name} {number:,}" for name, number in parts)
        lines += wrapped(
            line((f"{'priority':<{NAME}}", "dim"), f"{total:,}", (f" = {added}" if added else "")),
            width,
            NAME,
        )
    if detail.ahead is not None and detail.waiting:
        before = "none" if not detail.ahead else f"{detail.ahead:,} of {detail.waiting:,}"
        text = f"{before} of the jobs that wait there (an array counts once)"
        lines.append(_field("goes first", text))
    if detail.estimated and not detail.problem:
        start = start_text(detail.start, now)
        when = f"about {start}" if start else "the scheduler gives no estimate"
        lines.append(
            _field("may start", when + (f" on {detail.on}" if start and detail.on else ""))
        )
    if detail.problem:
        lines += wrapped(line((f"{'not offered':<{NAME}}", "dim"), detail.problem), width, NAME)
    return lines


def why_page(row: QueueRow, detail: JobDetail | None, now: float, width: int) -> list[Line]:
    """Return the explanation, the scheduler's numbers, and its whole output by command."""
    lines = explained(row, now, width)
    if row.key.folded:
        lines.append(_counts(row))
    lines.append(())
    if detail is None:
        return [*lines, line(("Asking the scheduler…", "dim"))]
    found = detail_lines(detail, now, width)
    if found:
        lines += [*found, ()]
    asked_at = f"   {clock_time(detail.at)}, {ago(detail.at, now)}"
    for part in detail.parts:
        lines.append(line((part.command, "heading"), (asked_at, "dim")))
        if part.problem:
            lines += wrapped(line(("▲ ", "warning"), (part.problem, "warning")), width, 2)
        wide = min(24, max((len(name) for name, _ in part.fields), default=0)) + 2
        for name, value in part.fields:
            lines += wrapped(line((f"{name:<{wide}}", "dim"), value), width, wide)
        lines.append(())
    return lines


def _counts(row: QueueRow) -> Line:
    text = "  ".join(f"{number:,} {state.value}" for state, number in row.counts)
    return _field(f"{row.jobs:,} jobs", text)


def _field(name: str, text: str) -> Line:
    return line((f"{name:<{NAME}}", "dim"), text) if text else ()


class WhyScreen(Dialog[None]):
    """A page to read. The scheduler is polled when the page opens, and for an estimate after `r`.

    Each answer is passed to the callback `told`, for the pane below the list.
    """

    BINDINGS = [
        Binding("escape,w,q", "dismiss", "close", id="why.close", tooltip="close this page"),
        Binding("r", "estimate", "estimate", id="why.estimate",
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
        ask = "r when may it start? · " if waits else ""
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
