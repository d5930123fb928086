"""The form in which the user sets the limits of a network run: its dialog, its texts, their parser.

An empty field means no limit. A text that cannot be parsed is reported beneath its field, and
nothing starts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeVar

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.quantities import parse_amount, parse_count, parse_money
from rowtui.core.runs.limits.limits import FAILURES_IN_A_ROW, TRIES, RunLimits
from rowtui.core.runs.limits.times import parse_until, unknown_clusters
from rowtui.tui.views.dialogs import field_keys
from rowtui.tui.views.forms import FormField, FormScreen
from rowtui.tui.widgets.cells import Line, as_content, line
from rowtui.tui.widgets.fields import InputField
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Static

if TYPE_CHECKING:
    from rowtui.core.base.text import Cost
    from rowtui.core.runs.views import NetworkView


T = TypeVar("T")


FIELDS = (
    FormField("cpu_hours", "CPU-hours", "no limit"),
    FormField("gpu_hours", "GPU-hours", "no limit"),
    FormField("money", "money", "like 50 EUR; empty: no limit"),
    FormField("jobs_in_queue", "in queue", "jobs at once; empty: no limit"),
    FormField("destinations", "may go to", "like anvil or anvil/shared, delta; empty: anywhere"),
    FormField("until", "until", "like 18:00, +8h or 2026-11-30; empty: no end"),
    FormField("failures_in_a_row", "stop after", "failures in a row; empty: never"),
    FormField("failures", "or after", "failures in all; empty: never"),
    FormField("over_budget", "budgets", "yes: may be exceeded; empty: pause before"),
)


class TypedLimits(NamedTuple):
    """The limits of the fields, and (field, sentence) for each text that cannot be parsed."""

    limits: RunLimits
    wrong: tuple[tuple[str, str], ...] = ()


def proposed(view: NetworkView | None, cluster: str, *, anew: bool = False) -> RunLimits:
    """Return suggested limits: the remaining cost with retries, added to the spent amount."""
    run = None if anew or view is None else view.run
    if run is not None and run.status.is_over:
        run = None
    before = run.limits if run else RunLimits()
    left = view.left if view else None
    spent = run.spent if run else None
    core = TRIES * (left.cpu_hours if left else 0.0) + (spent.cpu_hours if spent else 0.0)
    gpu = TRIES * (left.gpu_hours if left else 0.0) + (spent.gpu_hours if spent else 0.0)
    grows = any(node.lists for node in view.nodes) if view else False
    first = run is None or before == RunLimits()
    until = before.until if before.until and view and before.until > view.at else None
    in_a_row = FAILURES_IN_A_ROW if first else before.failures_in_a_row
    return before._replace(
        cpu_hours=_more(before.cpu_hours, core, first, grows),
        gpu_hours=_more(before.gpu_hours, gpu, first, grows) if gpu else before.gpu_hours,
        destinations=((cluster,) if cluster else None) if first else before.destinations,
        until=until,
        failures_in_a_row=in_a_row,
    )


def _more(before: float | None, needed: float, first: bool, grows: bool) -> float | None:
    if before is None and (grows or not first):
        return None  # The number of jobs from lists is unknown, or the user allowed any amount.
    return max(before or 0.0, rounded_up(needed))


def rounded_up(hours: float) -> float:
    """Return the hours with three digits, never less than the given number."""
    if hours <= 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(hours)) - 2)
    return float(f"{math.ceil(hours / step - 1e-9) * step:.6g}")


def asked_text(cost: Cost) -> str:
    """Return `0.684 CPU-hours`: the resources that jobs ask for, in the units of limits."""
    parts = [
        f"{rounded_up(hours):,.10g} {unit}"
        for hours, unit in ((cost.cpu_hours, "CPU-hours"), (cost.gpu_hours, "GPU-hours"))
        if hours > 0
    ]
    return " and ".join(parts) or "nothing"


def limit_texts(limits: RunLimits) -> dict[str, str]:
    """Return the texts of the fields for these limits."""
    until = ""
    if limits.until is not None:
        until = time.strftime("%Y-%m-%d %H:%M", time.localtime(limits.until))
    money = "" if limits.price is None else f"{limits.price:g} {limits.currency}".strip()
    return {
        "cpu_hours": _number_text(limits.cpu_hours),
        "gpu_hours": _number_text(limits.gpu_hours),
        "money": money,
        "jobs_in_queue": _number_text(limits.jobs_in_queue),
        "destinations": ", ".join(limits.destinations or ()),
        "until": until,
        "failures_in_a_row": _number_text(limits.failures_in_a_row),
        "failures": _number_text(limits.failures),
        "over_budget": "yes" if limits.over_budget else "",
    }


def _number_text(number: float | None) -> str:
    return "" if number is None else f"{number:.10g}"


def read_limits(
    texts: Mapping[str, str], now: float, before: RunLimits, clusters: Collection[str] = ()
) -> TypedLimits:
    """Return the limits of these texts. `now` is in epoch seconds, for times of day.

    `before` has the limits without a text. `clusters`: the names to which jobs can be sent; empty
    if they are unknown.
    """
    wrong: list[tuple[str, str]] = []

    def read(name: str, parse: Callable[[str], T]) -> T | None:
        text = texts.get(name, "").strip()
        try:
            return parse(text) if text else None
        except RowtuiError as error:
            wrong.append((name, error.message + (f": {error.hint}" if error.hint else "")))
            return None

    money, currency = read("money", parse_money) or (None, "")
    until = read("until", lambda text: parse_until(text, now))
    over_budget = texts.get("over_budget", "").strip().lower()
    if over_budget not in ("", "no", "yes"):
        wrong.append(("over_budget", "write yes, or leave it empty"))
    names = tuple(one.strip() for one in texts.get("destinations", "").split(",") if one.strip())
    if clusters and (unknown := unknown_clusters(names, clusters)):
        wrong.append(("destinations", unknown))
    return TypedLimits(
        before._replace(
            cpu_hours=read("cpu_hours", parse_amount),
            gpu_hours=read("gpu_hours", parse_amount),
            price=money,
            currency=currency,
            jobs_in_queue=read("jobs_in_queue", parse_count),
            destinations=names or None,
            until=until,
            failures=read("failures", parse_count),
            failures_in_a_row=read("failures_in_a_row", parse_count),
            over_budget=over_budget == "yes",
        ),
        tuple(wrong),
    )


class RunLimitsScreen(FormScreen[RunLimits]):
    """A dialog that returns the limits of a run, or None; only the exact word confirms them."""

    NAME = "allow"
    ENTER = "next field"
    MOVES = ("↑ ↓", "fields")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "no", "start nothing", id="run-limits.no", tooltip="start nothing"),
        *field_keys("run-limits"),
    ]

    def __init__(
        self,
        question: str,
        lines: Sequence[Line],
        proposal: RunLimits,
        clock: Callable[[], float] = time.time,
        clusters: Collection[str] = (),
    ) -> None:
        def read(typed: Mapping[str, str]) -> tuple[RunLimits, Mapping[str, str]]:
            limits, wrong = read_limits(typed, clock(), proposal, clusters)
            return limits, dict(wrong)

        texts = limit_texts(proposal)
        fields = [one._replace(text=texts.get(one.name, "")) for one in FIELDS]
        super().__init__(question, "", lines, fields, read)

    def below(self) -> ComposeResult:
        """Compose the word that confirms, and the field for the answer."""
        yes = line(
            "Type ", ("yes", "key"), " and press ", ("Enter", "key"), ".  ",
            ("Esc", "key"), " does nothing.",
        )  # fmt: skip
        yield Static(as_content([yes]), markup=False)
        with Horizontal(classes="field"):
            yield Static("answer", markup=False)
            yield InputField(
                id="allow-answer",
                keys=(("Enter", "answer yes"), self.MOVES),
                placeholder="no",
            )

    def on_mount(self) -> None:
        """Focus the answer, because the fields already have suggested numbers."""
        answer = self.query_one("#allow-answer", Input)
        answer.focus()
        self.call_after_refresh(answer.scroll_visible, animate=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go from a field to the next one; from the answer, start only for the exact word, and stay
        without one.
        """
        event.stop()
        event.prevent_default()  # That of a form takes the values at once.
        wrong = self._check()
        if event.input.id != "allow-answer":
            if self._name_of(event.input) not in wrong:
                self.focus_next()
            return
        if not (typed := event.value.strip().lower()):
            return
        if typed not in ("yes", "y"):
            self.dismiss(None)
        elif wrong:
            self._input(next(iter(wrong))).focus()
        else:
            self.dismiss(self._typed()[0])
