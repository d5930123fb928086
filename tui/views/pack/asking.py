"""Requests for packings: one at a time, and only the newest answer counts; their typed limits.

A request has the wanted groups and the choice of `PackingState`, on the newest generation of the
project; the answer, or the error, is stored in the state. The previous picture stays until then.
`compare` requests the result of every packer for the same jobs.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.tui.shell.session import describe
from rowtui.tui.shell.work import NewestAnswer, start
from rowtui.tui.views.explain.what_if import Unreadable, read_walltime
from rowtui.tui.views.pack.bundles import Picture, picture_of
from rowtui.tui.views.pack.packing import figures_of
from rowtui.tui.views.pack.state import PackerResult, PackingRequest
from rowtui.tui.widgets.fields import Fields, InputField
from textual.app import ComposeResult
from textual.widgets import Static

if TYPE_CHECKING:
    from rowtui.tui.shell.app import RowtuiApp
    from rowtui.tui.views.pack.view import PackView
    from textual.screen import Screen


# The limits of a packing as typed text: jobs in a bundle, longest bundle, time factor.
#
# The input is the texts of the fields, parsed at every key. The output is the choice with the
# limits that can be parsed, and a sentence for each text that cannot; such a text changes nothing.
# An empty field means the value of clusters.toml.


FIELDS = ("largest", "longest", "factor")

MOST_JOBS = 1_000_000
LEAST_FACTOR, MOST_FACTOR = 0.01, 100.0


class TypedPackLimits(NamedTuple):
    """The choice of the fields, and (field, sentence) for each text that cannot be parsed."""

    choice: PackChoice
    wrong: tuple[tuple[str, str], ...] = ()


def read_limits(texts: Mapping[str, str], choice: PackChoice) -> TypedPackLimits:
    """Return the choice with the limits of these texts; unreadable texts change nothing."""
    found: dict[str, int | float | None] = dict.fromkeys(FIELDS)
    before = (choice.largest_bundle, choice.longest_seconds, choice.time_factor)
    wrong = []
    for field, read, was in zip(FIELDS, (_jobs, _seconds, _factor), before, strict=True):
        text = texts.get(field, "").strip()
        if not text:
            continue
        try:
            found[field] = read(text)
        except Unreadable as error:
            found[field] = was
            wrong.append((field, str(error)))
    largest, longest, factor = found["largest"], found["longest"], found["factor"]
    new = choice._replace(
        largest_bundle=None if largest is None else int(largest),
        longest_seconds=None if longest is None else int(longest),
        time_factor=factor,
    )
    return TypedPackLimits(new, tuple(wrong))


def limit_texts(choice: PackChoice) -> dict[str, str]:
    """Return the texts of the fields for a choice."""
    minutes, second = divmod(choice.longest_seconds or 0, 60)
    longest = f"{minutes // 60:02d}:{minutes % 60:02d}:{second:02d}"
    return {
        "largest": "" if choice.largest_bundle is None else str(choice.largest_bundle),
        "longest": "" if choice.longest_seconds is None else longest,
        "factor": "" if choice.time_factor is None else f"{choice.time_factor:g}",
    }


def _jobs(text: str) -> int:
    digits = text.replace(",", "")
    if not digits.isdecimal() or not 1 <= int(digits[:9]) <= MOST_JOBS:
        raise Unreadable(f"{visible(text)} is not a number of jobs, from 1 on")
    return int(digits[:9])


def _seconds(text: str) -> int:
    seconds = read_walltime(text)
    if seconds < 1:
        raise Unreadable("a bundle takes longer than that")
    return seconds


def _factor(text: str) -> float:
    try:
        value = float(text.lstrip("x×* ").rstrip("x×* "))
    except ValueError:
        value = math.nan
    if not LEAST_FACTOR <= value <= MOST_FACTOR:  # The comparison is also false for NaN.
        raise Unreadable(f"{visible(text)} is not a factor such as 1.5 (at most {MOST_FACTOR:g})")
    return value


# The form


LABELS = {"largest": "jobs in a bundle", "longest": "longest bundle", "factor": "time factor"}
_EXAMPLES = {"largest": "like 16", "longest": "like 12:00:00", "factor": "like 1.5"}


class LimitsForm(Fields):
    """Three fields on a line. An empty field means the configured value."""

    DEFAULT_CSS = "LimitsForm { layout: horizontal; }"
    NAMES = FIELDS
    PREFIX = "limit-"

    def compose(self) -> ComposeResult:
        """Compose each field with its name."""
        for name in FIELDS:
            yield Static(LABELS[name], markup=False)
            yield InputField(id=f"{self.PREFIX}{name}", keys=self.KEYS, placeholder=_EXAMPLES[name])


# The comparison of packers

MOST_PACKERS = 8
"""The number of packers that are compared."""


async def compare(view: PackView) -> None:
    """Run all packers; show each answer when it arrives. Another choice ends the comparison."""
    packing = view.packing
    what = packing.compare_what()
    if what is None or packing.shown is None:
        return
    packers = [name for name, _ in packing.shown.packed.packers][:MOST_PACKERS]
    packing.compared, packing.compared_of = (), what
    try:
        for name in packers:
            packing.comparing = name
            view.show_choices()
            choice = what.choice._replace(packer=name)
            packed = await view.session.engine.plans.pack(
                what.wanted.action, what.wanted.groups, None, choice
            )
            picture = await asyncio.to_thread(picture_of, packed, dict(packing.known))
            if packing.compare_what() != what:
                return
            at = min(packing.at, len(picture.looks) - 1)
            cores = picture.looks[at].total[0] if picture.looks else None
            idle = None if cores is None else 1 - cores.busy
            packing.compared = (*packing.compared, PackerResult(name, figures_of(picture), idle))
    except Exception as error:
        view.dashboard.report("the packers cannot be compared", error)
    finally:
        packing.comparing = ""
        view.show_choices()


class PackAsking:
    """The requests of one view. `show(begins)` is called after an answer; `begins`: it is the
    first.
    """

    def __init__(self, app: RowtuiApp, screen: Screen[None], show: Callable[[bool], None]) -> None:
        self._app = app
        self._session = app.session
        self._show = show
        self._answers: NewestAnswer[PackingRequest, Picture] = NewestAnswer(
            self._fetch,
            spawn=lambda work: start(screen, work, "pack"),
            arrived=self._take,
            failed=self._failed,
        )

    def ask_if_needed(self) -> None:
        """Send a request if the screen does not show the current choice."""
        packing, snapshot = self._session.packing, self._session.snapshot
        if packing.wanted is None or snapshot is None:
            return
        asked = PackingRequest(packing.wanted, packing.choice, snapshot.generation)
        if asked != packing.asked:
            packing.asked = asked
            packing.computing = True
            self._answers.ask(asked)

    async def _fetch(self, asked: PackingRequest) -> Picture:
        wanted, packing = asked.wanted, self._session.packing
        packed = await self._session.engine.plans.pack(
            wanted.action, wanted.groups, None, asked.choice
        )
        if wanted.groups is not None:
            firsts = {job.directories[0] for job in packed.plan.jobs if job.directories}
            if not firsts <= wanted.firsts:
                raise _Changed
        if asked.choice.node_types == () and packing.wanted == wanted:
            packing.known = {
                str(there.destination): there.node_types for there in packed.destinations
            }
        return await asyncio.to_thread(picture_of, packed, dict(packing.known))

    def _take(self, asked: PackingRequest, picture: Picture) -> None:
        packing = self._session.packing
        if asked != packing.asked:  # The choice has changed since, and a new request follows.
            return
        begins = packing.shown is None
        same_choice = packing.answered is not None and packing.answered.choice == asked.choice
        if packing.shown and same_choice and figures_of(picture) != figures_of(packing.shown):
            packing.change = ""  # The project made the difference, not the choice.
        packing.answered = asked
        packing.shown, packing.error, packing.computing = picture, None, False
        packing.at = min(packing.at, max(0, len(picture.looks) - 1))
        self._show(begins)

    def _failed(self, error: Exception) -> None:
        packing = self._session.packing
        if isinstance(error, _Changed):
            packing.error = (
                "the project changed meanwhile: these are not the groups that were marked",
                "mark them again in 2, then press 4",
            )
        else:
            packing.error = describe(error)
            self._app.report("the jobs cannot be packed", error)
        packing.computing = False
        self._show(False)


class _Changed(Exception):
    """Raised if the packed groups differ from the marked ones."""
