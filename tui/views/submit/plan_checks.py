"""The checks of a plan: as lines, in one line, and as the text that the confirmation needs.

The input is the checks and the choice of jobs. The text follows the choice at once: a finding about
jobs that are all off is not shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import amount, plural
from rowtui.core.project.review.views import NAMES, CheckState, PlanCheck, PlanFinding, worst
from rowtui.tui.widgets.cells import bar, line

if TYPE_CHECKING:
    from rowtui.core.project.review.views import Budget
    from rowtui.tui.views.submit.plan_choice import PlanChoice
    from rowtui.tui.widgets.cells import Line

MARKS = {
    CheckState.OK: ("✓", "completed"),
    CheckState.PENDING: ("◌", "dim"),
    CheckState.WARNING: ("▲", "warning"),
    CheckState.FAILED: ("✗", "failed"),
    CheckState.NOT_OFFERED: ("–", "dim"),
}
BAR = 16
MOST_NUMBERS = 3
"""The number of jobs that are named before a finding."""

_WIDTH = 11  # Columns of a name.

Checks = Mapping[str, PlanCheck]


class CheckResult(NamedTuple):
    """The result of a check for the jobs that are on."""

    check: PlanCheck
    state: CheckState
    findings: tuple[PlanFinding, ...]
    over: tuple[tuple[Budget, float], ...] = ()


def standing(check: PlanCheck, chosen: PlanChoice) -> CheckResult:
    """Return the result of a check for the jobs that are on.

    The state of the check as a whole counts if no finding gives the reason.
    """
    left = tuple(it for it in check.findings if chosen.concerns(it))
    over = tuple(it for it in chosen.overdrawn if it[0] in check.budgets)
    state = check.state
    if check.findings and state in (CheckState.WARNING, CheckState.FAILED):
        state = worst(it.state for it in left)
        if state is CheckState.NOT_OFFERED:
            state = CheckState.OK
    if over:
        state = CheckState.FAILED
    return CheckResult(check, state, left, over)


def standings(checks: Checks, chosen: PlanChoice) -> list[CheckResult]:
    """Return all results: failures first, then budgets, warnings, and the rest."""
    found = [standing(checks[name], chosen) for name in NAMES if name in checks]
    return sorted(found, key=_importance)


def _importance(one: CheckResult) -> int:
    if one.state is CheckState.FAILED:
        return 0
    if one.check.budgets:
        return 1
    return {CheckState.WARNING: 2, CheckState.NOT_OFFERED: 4}.get(one.state, 3)


def check_lines(checks: Checks, chosen: PlanChoice) -> list[Line]:
    """Return each check with its findings, and possible actions."""
    lines: list[Line] = []
    for one in standings(checks, chosen):
        lines += _check(one, chosen)
    return lines


def indent_of(spans: Line) -> int:
    """Return the indent of the continuation of a long line: below its text."""
    named = len(spans) > 1 and spans[1].style == "dim" and len(spans[1].text) == _WIDTH
    return INDENT if named or spans[:1] == _BLANK else 2


INDENT = _WIDTH + 2
_BLANK = line(" " * INDENT)


def _check(one: CheckResult, chosen: PlanChoice) -> list[Line]:
    check = one.check
    glyph, style = MARKS[one.state]
    head = line((f"{glyph} ", style), (f"{check.name:<{_WIDTH}}", "dim"))
    if one.state is CheckState.PENDING:
        return [(*head, *line(("…", "dim")))]
    if one.state is CheckState.NOT_OFFERED:
        return [(*head, *line((f"not offered: {check.text}", "dim")))]
    texts: list[Line] = []
    if check.text and all(it.state is CheckState.OK for it in one.findings):
        texts += [] if len(one.findings) == 1 else [line(check.text)]
    for finding in one.findings:
        mark, colour = MARKS[finding.state]
        plain = finding.state in (CheckState.OK, CheckState.NOT_OFFERED)
        text = (_about(finding, chosen) + finding.text, "" if plain else colour)
        texts.append(line(text) if finding.state is one.state else line((f"{mark} ", colour), text))
        if finding.fix and not plain:
            texts.append(line((f"→ {finding.fix}", "dim")))
    texts += budget_lines(check.budgets, chosen)
    if not texts:
        texts.append(line(("nothing was found", "dim")))
    return [(*head, *texts[0]), *((*_BLANK, *text) for text in texts[1:])]


def _about(finding: PlanFinding, chosen: PlanChoice) -> str:
    """Return `jobs 4, 8: `; empty if the finding concerns all jobs, or names the jobs itself."""
    total = sum(last - first for first, last in finding.jobs)
    everyone = total == len(chosen.plan.jobs) and total > 1
    if not total or everyone or finding.state is CheckState.OK or finding.text.startswith("job "):
        return ""
    numbers = chosen.numbers(finding, MOST_NUMBERS + 1)
    more = " and more" if len(numbers) > MOST_NUMBERS else ""
    word = "job " if len(numbers) == 1 else "jobs "
    return word + ", ".join(f"{at:,}" for at in numbers[:MOST_NUMBERS]) + more + ": "


def budget_lines(budgets: Iterable[Budget], chosen: PlanChoice) -> list[Line]:
    """Return `118,204 → 110,508 of 200,000 CPU-hours left`, and the spent share as a bar."""
    lines = []
    for number, budget in enumerate(chosen.budgets):
        if budget not in budgets:
            continue
        left = chosen.left_of(number)
        name = f"{budget.name} " if budget.name != "budget" else ""
        style = "failed" if left < -1e-6 else "title"
        of = f" of {_hours(budget.whole)}" if budget.whole else ""
        lines.append(
            line(name, f"{_hours(budget.left)} → ", (_hours(left), style),
                 f"{of} {budget.unit.replace('hours', 'h')} left", (f"  {budget.where}", "dim"))
        )  # fmt: skip
        if left < -1e-6:
            lines.append(line((f"✗ {_hours(-left)} {budget.unit} too many", "failed")))
        elif budget.whole:
            spent, takes = max(0.0, budget.whole - budget.left), budget.left - left
            parts = ((spent, "█", "completed"), (takes, "▒", "submitted"), (left, "░", "faint"))
            share = f"  {100 * (spent + takes) / budget.whole:.0f} % spent"
            lines.append((*bar(parts, budget.whole, BAR), *line((share, "dim"))))
    return lines


def _hours(number: float) -> str:
    """Return `118,204`; below a hundred, with the significant decimals."""
    return f"{number:,.0f}" if abs(number) >= 100 else amount(number)


def checks_short(checks: Checks, chosen: PlanChoice) -> Line:
    """Return `✓ 4 checks  ▲ 1 warning: ...`, for low terminals: the worst result with its text."""
    found = standings(checks, chosen)
    by = {state: [it for it in found if it.state is state] for state in CheckState}
    parts: list[str | tuple[str, str]] = []
    for number, budget in enumerate(chosen.budgets):
        left = chosen.left_of(number)
        style = "failed" if left < -1e-6 else ""
        parts.append((f"  {budget.name} {_hours(left)} h left", style))
    if by[CheckState.PENDING]:
        parts.append((f"  ◌ {len(by[CheckState.PENDING])} to do", "dim"))
    if by[CheckState.FAILED]:
        parts.append((f"  ✗ {plural(len(by[CheckState.FAILED]), 'check')} failed", "failed"))
    elif by[CheckState.WARNING]:
        many = sum(
            sum(last - first for first, last in it.jobs) or 1
            for one in by[CheckState.WARNING]
            for it in one.findings or (PlanFinding(CheckState.WARNING, ""),)
        )
        parts.append((f"  ▲ {plural(many, 'warning')}", "warning"))
    elif by[CheckState.OK] and not by[CheckState.PENDING]:
        parts.append((f"  ✓ {plural(len(by[CheckState.OK]), 'check')}", "completed"))
    return line(*parts)


def why_not(checks: Checks, chosen: PlanChoice) -> str:
    """Return why the confirmation needs one more word: the failures in short; "" if none."""
    whys = []
    for one in standings(checks, chosen):
        if one.over:
            budget, missing = one.over[0]
            whys.append(f"over {budget.name} by {_hours(missing)} {budget.unit}")
        elif one.state is CheckState.FAILED:
            bad = [it for it in one.findings if it.state is CheckState.FAILED]
            whys.append(f"{one.check.name}: {bad[0].text if bad else one.check.text}")
    return "; ".join(sorted(whys, key=lambda why: not why.startswith("over ")))
