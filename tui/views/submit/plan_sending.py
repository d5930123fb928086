"""A plan that is being sent: its progress as a line and a bar, and the next steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.base.text import plural, visible
from rowtui.tui.widgets.cells import line, portion, width_of
from rowtui.tui.widgets.short_text import duration

if TYPE_CHECKING:
    from rowtui.tui.views.submit.plan import Sending
    from rowtui.tui.widgets.cells import Line


BAR = 24
LEAST_BAR = 8


def sending_line(sending: Sending, now: float | None = None, width: int = 0) -> Line:
    """Return the progress in one line; with a bar if `width` has room. `now`: epoch seconds."""
    total = len(sending.plan.jobs)
    accepted, refused = sending.accepted, sending.refused
    bad = [(f"  ✗ {refused:,} refused", "failed")] if refused else []
    if sending.unclear:
        bad.append((f"  ▲ {sending.unclear:,} unclear", "warning"))
    if sending.skipped:
        bad.append((f"  – {sending.skipped:,} skipped", "warning"))
    if sending.phase == "sending" and sending.copied:
        return line(("▶ ", "submitted"), sending.copied)
    if sending.phase == "sending":
        parts = line(
            ("▶ ", "submitted"),
            f"sending: {sending.done:,} of {total:,}",
            (f"  ✓ {accepted:,} accepted", "completed"),
            *bad,
        )
        return (*parts, *_bar(sending, width - width_of(parts), now))
    if sending.phase == "stopping" and sending.copied:
        return line(("▲ ", "warning"), "stopping; copied files are kept")
    if sending.phase == "stopping":
        return line(("▲ ", "warning"), f"stopping after this job: {sending.done:,} of {total:,}")
    if sending.phase == "broken":
        return line(
            ("✗ ", "failed"),
            (sending.error, "failed"),
            f"  {accepted:,} of {total:,} were accepted.",
        )
    mark = ("✓ ", "completed") if accepted == total else ("▲ ", "warning")
    of = plural(len(sending.plan.jobs), "job")
    ending: list[str | tuple[str, str]] = [mark, f"{accepted:,} of {of} accepted", *bad]
    if left := sending.not_sent:
        why = " (stopped)" if sending.phase == "stopped" else ""
        ending.append((f"  · {left:,} not sent{why}", "dim"))
    return line(*ending)


def _bar(sending: Sending, room: int, now: float | None) -> Line:
    pace = pace_words(sending, now)
    size = min(BAR, room - len(pace) - 4)
    if size < LEAST_BAR:
        return line((f"  {pace}", "dim")) if pace and room >= len(pace) + 2 else ()
    full = portion(sending.done, len(sending.plan.jobs), size)
    return line("  ", ("█" * full, "submitted"), ("░" * (size - full), "faint"),
                (f"  {pace}" if pace else "", "dim"))  # fmt: skip


def pace_words(sending: Sending, now: float | None) -> str:
    """Return `3.1/s, 0:02 left`; empty until there is a rate."""
    if now is None or sending.started is None or not sending.done:
        return ""
    seconds = now - sending.started
    if seconds < 0.5:
        return ""
    rate = sending.done / seconds
    left = (len(sending.plan.jobs) - sending.done) / rate
    shown = f"{rate:,.1f}/s" if rate >= 0.1 else f"{60 * rate:,.1f}/min"
    return f"{shown}, {duration(int(left) + 1)} left" if left else shown


def badge(sending: Sending | None) -> str:
    """Return `sending 12/40`, for the header of any view."""
    if sending is None or not sending.running:
        return ""
    word = "stopping" if sending.phase == "stopping" else "sending"
    return f"{word} {sending.done:,}/{len(sending.plan.jobs):,}"


def first_error(sending: Sending) -> Line:
    """Return the first error: it stays until the user leaves the plan."""
    return (
        line(("✗ ", "failed"), (visible(sending.first_error), "failed"))
        if (sending.first_error)
        else ()
    )


def afterwards(sending: Sending) -> list[Line]:
    """Return what happened to the jobs that were not accepted, and what to do about each."""
    lines: list[Line] = []
    if sending.unclear:
        lines.append(line(
            ("▲ ", "warning"), f"{plural(sending.unclear, 'job')} unclear: the connection broke "
            "before the scheduler answered. The directories stay reserved; r asks again.",
        ))  # fmt: skip
    if sending.refused:
        lines.append(line(
            ("✗ ", "failed"), f"{plural(sending.refused, 'job')} refused: the directories are free "
            "again. Correct the errors above, then plan again in 2.",
        ))  # fmt: skip
    if sending.skipped:
        lines.append(line(
            ("– ", "warning"), f"{plural(sending.skipped, 'job')} skipped: the rows show why.",
        ))  # fmt: skip
    if sending.not_sent and not sending.running:
        lines.append(line(
            ("· ", "dim"), f"{plural(sending.not_sent, 'job')} not sent: nothing of "
            f"{'it' if sending.not_sent == 1 else 'them'} is reserved. Mark them in 2 and press s.",
        ))  # fmt: skip
    return lines
