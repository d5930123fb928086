"""The job of a decision in short: whose it is, what it asks for, and where it goes."""

from __future__ import annotations

from rowtui.core.base.text import plural, visible
from rowtui.core.mapping.model.decision import (
    Decision,
    Placement,
)
from rowtui.core.mapping.model.sentences import outcome_sentence, what_to_do
from rowtui.core.project.views.views import PlacementExplanation
from rowtui.tui.views.explain.explain import NOWHERE, OUTCOMES
from rowtui.tui.views.explain.what_if import amount_text, walltime_of
from rowtui.tui.widgets.cells import Line, line, wrapped
from rowtui.tui.widgets.short_text import duration


def who(decision: Decision | None) -> str:
    """Return `someone · roles physics, gpu-users`, for a frame."""
    user = decision.request.user if decision else None
    if user is None:
        return ""
    shown = ", ".join(map(visible, user.roles[:4]))
    if len(user.roles) > 4:
        shown += f" and {len(user.roles) - 4} more"
    return f"{visible(user.name)} · " + (f"roles {shown}" if shown else "no roles")


def job_lines(explanation: PlacementExplanation, width: int) -> list[Line]:
    """Return the outcome, the next step, and the resources that the job asks for."""
    decision = explanation.decision
    lines = []
    if explanation.problem:
        lines += wrapped(line(("▲ ", "warning"), (explanation.problem, "warning")), width, 2)
    if decision is None:
        return lines
    parts: list[str | tuple[str, str]] = [(amounts_text(decision), "title")]
    parts.append((f"  {plural(explanation.directories, 'directory', 'directories')}", ""))
    if explanation.first:
        parts.append((f", first {explanation.first}", "dim"))
    lines += outcome_lines(decision.chosen, width)
    return lines + wrapped(line(*parts), width, 2)


def outcome_lines(placement: Placement, width: int) -> list[Line]:
    """Return the outcome in words, and the next step if there is one."""
    mark = OUTCOMES.get(placement.outcome, NOWHERE)
    sentence = outcome_sentence(placement)
    if placement.runner and not placement.name.startswith(placement.runner):
        sentence += f" on {visible(placement.runner)}"
    if placement.chosen and placement.destination != placement.name:
        sentence += f" (destination {visible(placement.destination)})"
    style = "title" if placement.chosen else mark.style
    lines = wrapped(line((f"{mark.glyph} ", mark.style), (sentence, style)), width, 2)
    if step := what_to_do(placement):
        lines += wrapped(line(("  ", ""), (step, "key")), width, 4)
    return lines


def amounts_text(decision: Decision) -> str:
    """Return `16 cores · 64 GB · no GPUs · 4:00:00`."""
    job, request = decision.job, decision.request
    # The mapper stopped before it computed the job's amounts.
    if not decision.contributions and job == (None, None, None):
        job = request.declared
    cores = "cores not set" if job.cores is None else f"{amount_text(job.cores)} cores"
    memory = "memory not set" if job.mem is None else f"{amount_text(job.mem)} GB"
    gpus = f"{amount_text(job.gpus)} GPUs" if job.gpus else "no GPUs"
    parts = [cores.replace("1 cores", "1 core") if cores == "1 cores" else cores, memory]
    parts.append("1 GPU" if gpus == "1 GPUs" else gpus)
    if (seconds := walltime_of(decision)) is not None:
        parts.append(duration(seconds))
    return " · ".join(parts)
