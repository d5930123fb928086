"""A plan as rows, as a page of costs and checks, and its scripts with colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rowtui.core.submission.model import Packed, Plan, PlannedJob
from rowtui.core.text import plural, visible
from rowtui.tui.render.bundles import costs, price
from rowtui.tui.render.cells import Cell, Choice, Line, Number, Span, line
from rowtui.tui.render.columns import Column
from rowtui.tui.render.numbers import cost_forms, duration
from rowtui.tui.render.transfers import Copying, copied_first


class Wanted(NamedTuple):
    """The eligible groups that would be submitted: of one action, or of all (None).

    `groups` are positions from 0, None for all of them; `firsts` their first directories.
    """

    action: int | None
    groups: tuple[int, ...] | None = None
    firsts: frozenset[str] = frozenset()


@dataclass(slots=True)
class Sending:
    """How far a confirmed plan has got. `outcomes` has (message, error) for each token.

    `phase` is "review", "sending", "stopping", "stopped", "done" or "broken".
    """

    plan: Plan
    phase: str = "review"
    copying: Copying = field(default_factory=Copying)  # what goes to clusters before
    copied: str = ""  # how far that is
    done: int = 0
    outcomes: dict[str, tuple[str, str]] = field(default_factory=dict)
    error: str = ""
    under_way: str = ""  # the token that was sent and has no answer yet
    asked_in: str = "groups"  # the view where the plan was asked for
    wanted: Wanted | None = None  # what it was asked for; None: it tries failed jobs again
    members: dict[str, tuple[str, ...]] | None = None  # tokens by token, of bundles

    @property
    def refused(self) -> int:
        """How many jobs were answered with an error."""
        return sum(1 for _, error in self.outcomes.values() if error)

    def sent_with(self, token: str) -> tuple[str, ...]:
        """The tokens of all jobs of its bundle; of a job that goes alone its own; none of none."""
        if self.members is None:
            self.members = {}
            bundles: dict[str, list[str]] = {}
            for job in self.plan.jobs:
                if job.bundle is not None:
                    bundles.setdefault(job.bundle.token, []).append(job.token)
            for tokens in bundles.values():
                self.members.update(dict.fromkeys(tokens, tuple(tokens)))
        return self.members.get(token, (token,) if token else ())

    @property
    def running(self) -> bool:
        """Jobs are being sent now."""
        return self.phase in ("sending", "stopping")


def plan_columns(jobs: Sequence[PlannedJob], sent: bool) -> tuple[Column, ...]:
    """The columns of the list of planned jobs; `sent` adds what became of each."""
    bundled = any(job.bundle is not None for job in jobs)
    names = max((len(job.action) for job in jobs), default=6)
    if bundled:  # headings of bundles, and requests are indented
        names = max(names + 2, len(f"bundle of {len(jobs):,}"))
    columns = [
        Column("number", "#", max(2, len(f"{len(jobs):,}")), align="right"),
        Column("action", "Action", min(max(names, 8), 16), min(max(names, 8), 30)),
        Column("size", "Dirs", 4, 6, "right"),
    ]
    if sent:
        columns.append(Column("outcome", "Result", 12, 22, grow=3))
    columns += [
        Column("destination", "Destination", 8, 18, priority=2, grow=1, short="To"),
        Column("cpus", "CPUs", 4, 6, "right", 3),
    ]
    if any(job.gpus for job in jobs):
        columns.append(Column("gpus", "GPUs", 4, 6, "right", 4))
    columns += [
        Column("walltime", "Walltime", 8, 9, "right", 4),
        Column("cost", "Cost", 8, 11, "right", 1),
    ]
    longest = max((len(reason_again(job)) for job in jobs), default=0)
    if longest:
        after = next(at for at, column in enumerate(columns) if column.id == "cpus")
        least, wide = (min(max(longest, 16), most) for most in (18, 70))
        columns.insert(after, Column("again", "Again because", least, wide, priority=1, grow=4))
    else:
        columns.append(
            Column("first", "First directory", 12, 15, priority=6, grow=1, short="First")
        )
    if any(job.warnings for job in jobs):
        columns.append(Column("warnings", "▲", 2, align="right"))
    return tuple(columns)


_WHO = re.compile(r"attempt \d+: (?:job [\d_]+ )?")


def reason_again(job: PlannedJob) -> str:
    """`ran out of memory; memory 2 GB -> 4 GB`; "" at the first try. The checks have all of it."""
    if job.attempt < 2 or not job.reasons:
        return ""
    return _WHO.sub("", job.reasons[0], count=1)


def plan_cells(number: int, job: PlannedJob, sending: Sending) -> dict[str, Cell]:
    """One row of the list of planned jobs. `number` counts from 1."""
    return {
        "number": line((f"{number:,}", "dim")),
        "action": line(job.action),
        "size": Number(len(job.directories)),
        "outcome": outcome_cell(job, sending),
        "destination": line(str(job.destination)),
        "cpus": Number(job.cpus),
        "gpus": Number(job.gpus),
        "walltime": line(duration(job.walltime_seconds)),
        "cost": Choice(tuple(line(form) for form in cost_forms(job.cost))),
        "first": line((job.directories[0] if job.directories else "", "dim")),
        "again": line(reason_again(job)),
        "warnings": line(("▲", "warning") if job.warnings else ""),
    }


def outcome_cell(job: PlannedJob, sending: Sending) -> Cell:
    """What became of a job; of those that are sent together, each has the same."""
    message, error = sending.outcomes.get(job.token, ("", ""))
    if error:
        return line(("✗ " + error, "failed"))
    if message:
        return line(("✓ " + message, "completed"))
    if sending.running and job.token in sending.sent_with(sending.under_way):
        return line(("▶ sending", "submitted"))
    return line(("· not sent", "waiting"))


def cost_and_checks(
    plan: Plan, job: PlannedJob | None, copying: Copying | None = None
) -> list[Line]:
    """What the plan costs, its warnings, what it leaves out, and why the job goes where it goes."""
    directories = sum(len(one.directories) for one in plan.jobs)
    lines = [
        line(("costs up to ", "dim"), (str(plan.cost), "title")),
        *packed_lines(plan),
        line(
            ("sends       ", "dim"),
            f"{jobs_words(plan)}, {plural(directories, 'directory', 'directories')}",
        ),
        line(("to          ", "dim"), plan.cluster, *_by(plan)),
    ]
    lines += copied_first(copying) if copying else []
    lines += [line(("▲ ", "warning"), (text, "warning")) for text in plan.warnings]
    lines += left_out(plan)
    if job is not None:
        which = f"job {plan.jobs.index(job) + 1}" if job.bundle is None else "this request"
        lines += [line(("▲ ", "warning"), f"{which}: {text}") for text in job.warnings]
        again, rest = job.reasons[: job.attempt > 1], job.reasons[job.attempt > 1 :]
        lines += [line(("· ", "dim"), text) for text in again]
        lines += [line(("· ", "dim"), (text, "dim")) for text in rest]
    return lines


def packed_lines(plan: Plan) -> list[Line]:
    """What packing does to the cost, for each destination."""
    several = len({packed.destination for packed in plan.packed}) > 1
    lines = []
    for packed in plan.packed:
        where = f" on {packed.destination}" if several else ""
        lines.append(line(("packed      ", "dim"), *before_and_after(packed), (where, "dim")))
    return lines


def before_and_after(packed: Packed) -> list[str | tuple[str, str]]:
    """`41.0 → 12.3 core-hours (70 % less)`."""
    parts: list[str | tuple[str, str]] = [
        f"{price(packed.alone)} → ",
        (costs(packed.cost, packed.unit), "title"),
    ]
    if packed.alone > 0 and (less := 1 - packed.cost / packed.alone) >= 0.005:
        parts.append((f" ({100 * less:.0f} % less)", "completed"))
    return parts


def left_out(plan: Plan) -> list[Line]:
    """What the plan does not send, and why."""
    return [
        line(("– ", "dim"), text if "left out" in text else f"left out: {text}")
        for text in plan.skipped
    ]


def _by(plan: Plan) -> list[tuple[str, str]]:
    return [(f" ({plan.scheduler})", "dim")] if plan.scheduler != plan.cluster else []


def checks_in_short(plan: Plan) -> Line:
    """The same in one line, for low terminals."""
    warnings = len(plan.warnings) + sum(len(job.warnings) for job in plan.jobs)
    parts: list[str | tuple[str, str]] = ["up to ", (str(plan.cost), "title")]
    for packed in plan.packed[:1]:
        parts += [("  packed ", "dim"), *before_and_after(packed)]
    if warnings:
        parts.append((f"  ▲ {plural(warnings, 'warning')}", "warning"))
    if plan.skipped and plan.jobs:
        parts.append(("  – some groups are left out, see @", "dim"))
    return line(*parts)


def jobs_to_send(plan: Plan) -> int:
    """How many jobs the scheduler would get: a bundle is one."""
    single = sum(1 for job in plan.jobs if job.bundle is None)
    return single + len({job.bundle.token for job in plan.jobs if job.bundle is not None})


def jobs_words(plan: Plan) -> str:
    """`8 jobs`; `3 jobs with 40 requests` where some of them are bundles."""
    jobs = plural(jobs_to_send(plan), "job")
    if all(job.bundle is None for job in plan.jobs):
        return jobs
    return f"{jobs} with {plural(len(plan.jobs), 'request')}"


def requests_words(plan: Plan) -> str:
    """`8 jobs`; `40 requests` where some of them are in bundles: what has an answer each."""
    bundled = any(job.bundle is not None for job in plan.jobs)
    return plural(len(plan.jobs), "request" if bundled else "job")


def may_gain(plan: Plan) -> bool:
    """Whether its jobs could be packed, and are not."""
    return len(plan.jobs) > 1 and not plan.packed


def confirm_word(plan: Plan) -> str:
    """What has to be typed to send the plan: the number of jobs; `yes` for a single one."""
    number = jobs_to_send(plan)
    return "yes" if number == 1 else str(number)


def confirms(plan: Plan, typed: str) -> bool:
    """Whether what was typed is the explicit yes for this plan."""
    word = typed.strip().lower().replace(",", "")
    wanted = confirm_word(plan)
    return bool(plan.jobs) and (word == wanted or (wanted == "yes" and word == "y"))


def sending_line(sending: Sending) -> Line:
    """How far it is, in one line."""
    total = len(sending.plan.jobs)
    accepted = len(sending.outcomes) - sending.refused
    refused = [(f"  ✗ {sending.refused:,} refused", "failed")] if sending.refused else []
    left = total - len(sending.outcomes)
    if sending.phase == "sending" and sending.copied:
        return line(("▶ ", "submitted"), sending.copied)
    if sending.phase == "sending":
        return line(
            ("▶ ", "submitted"),
            f"sending: {sending.done:,} of {total:,}",
            (f"  ✓ {accepted:,} accepted", "completed"),
            *refused,
        )
    if sending.phase == "stopping" and sending.copied:
        return line(("▲ ", "warning"), "stopping; what was copied is kept")
    if sending.phase == "stopping":
        return line(("▲ ", "warning"), f"stopping after this job: {sending.done:,} of {total:,}")
    if sending.phase == "broken":
        return line(
            ("✗ ", "failed"),
            (sending.error, "failed"),
            f"  {accepted:,} of {total:,} were accepted.",
        )
    mark = ("✓ ", "completed") if accepted == total else ("▲ ", "warning")
    of = requests_words(sending.plan)
    parts: list[str | tuple[str, str]] = [mark, f"{accepted:,} of {of} accepted"]
    parts += refused
    if left:
        word = "stopped" if sending.phase == "stopped" else "not sent"
        parts.append(
            (f"  · {left:,} not sent" + (" (stopped)" if word == "stopped" else ""), "dim")
        )
    return line(*parts)


_TOKENS = re.compile(
    r"(?P<comment>(?:^|(?<=\s))#.*$)"
    r"|(?P<string>\$'(?:\\.|[^'\\])*'|'[^']*'|\"(?:\\.|[^\"\\])*\")"
    r"|(?P<variable>\$\{?[\w@#?*!-]+(?:\[[^\]]*\])?\}?)"
    r"|(?P<keyword>\b(?:if|then|else|elif|fi|for|in|do|done|while|case|esac|function|local|export"
    r"|return|exit|trap|set|cd|test)\b)"
)


def script_line(text: str) -> Line:
    """One line of a shell script with colours; a scheduler's directive stands out."""
    shown = visible(text.expandtabs(4))
    if shown.startswith(("#SBATCH", "#!", "#PBS", "#FLUX")):
        return (Span(shown, "directive"),)
    spans: list[Span] = []
    end = 0
    for match in _TOKENS.finditer(shown):
        if match.start() > end:
            spans.append(Span(shown[end : match.start()]))
        spans.append(Span(match.group(), match.lastgroup or ""))
        end = match.end()
    if end < len(shown):
        spans.append(Span(shown[end:]))
    return tuple(spans)
