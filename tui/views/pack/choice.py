"""How a packing is chosen: packers and settings in words, the typed limits, packers compared.

The texts of the fields for limits are parsed at every key. The result is the choice with the limits
that can be parsed, and a sentence for each text that cannot; such a text changes nothing. An empty
field means the value of clusters.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.quantities import parse_count, parse_factor
from rowtui.core.base.text import plural, price, visible
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.core.workflow.duration import DurationError, parse_time
from rowtui.tui.views.pack.packing import CONFIGURED, LEAST_GAP
from rowtui.tui.widgets.cells import Line, cut, fit, line, wrapped
from rowtui.tui.widgets.fields import Fields, InputField
from rowtui.tui.widgets.short_text import limit
from textual.app import ComposeResult
from textual.widgets import Static

if TYPE_CHECKING:
    from rowtui.tui.views.pack.state import PackerResult, PackingState

FIELDS = ("packer", "largest", "longest", "factor")

MOST_JOBS = 1_000_000
LEAST_FACTOR, MOST_FACTOR = 0.01, 100.0


def next_packer(name: str, packers: Sequence[tuple[str, str]]) -> str:
    """Return the next packer: first as configured, then the others, in a cycle.

    The first of `packers` is the default, so it comes last.
    """
    names = [one for one, _ in packers]
    round_ = ["", *names[1:], *names[:1]]
    at = round_.index(name) if name in round_ else 0
    return round_[(at + 1) % len(round_)]


def choice_words(choice: PackChoice) -> list[str]:
    """Return the user's choices in words; nothing for a setting that is as configured."""
    words = []
    if choice.packer:
        words.append(f"packer {choice.packer}")
    if choice.largest_bundle is not None:
        words.append(f"at most {plural(choice.largest_bundle, 'job')} on a node")
    if choice.longest_seconds is not None:
        words.append(f"at most {limit(choice.longest_seconds)}")
    if choice.time_factor is not None:
        words.append(f"times × {choice.time_factor:g}")
    if choice.node_types:
        words.append(f"only on {', '.join(choice.node_types)}")
    return words


def what_changed(old: PackChoice, new: PackChoice, known: Sequence[str]) -> str:
    """Return the change of a choice in a few words. `known` has all node types there are."""
    words = []
    if old.packer != new.packer:
        words.append(f"packer {new.packer or CONFIGURED}")
    if old.largest_bundle != new.largest_bundle:
        many = new.largest_bundle
        words.append("any number of jobs" if many is None else f"at most {many:,} on a node")
    if old.longest_seconds != new.longest_seconds:
        longest = new.longest_seconds
        words.append("time as configured" if longest is None else f"at most {limit(longest)}")
    if old.time_factor != new.time_factor:
        factor = new.time_factor
        words.append("times as configured" if factor is None else f"times × {factor:g}")
    if old.node_types != new.node_types:
        words.append(_types_changed(old.node_types or known, new.node_types or known))
    if old.budget != new.budget and not words:
        words.append(f"looked for up to {new.budget:g} s")
    return ", ".join(words)


def _types_changed(old: Sequence[str], new: Sequence[str]) -> str:
    gone = [name for name in old if name not in new]
    come = [name for name in new if name not in old]
    if len(gone) == 1 and not come:
        return f"without {gone[0]}"
    if len(come) == 1 and not gone:
        return f"with {come[0]}"
    return f"only on {', '.join(new)}"


def settings_lines(packing: PackingState, actions: Sequence[str], width: int) -> list[Line]:
    """Return the settings of the packing on the screen as values, and what a slot is."""
    look, choice = packing.look, packing.choice
    if look is None or packing.shown is None:
        return []
    settings, packed = look.of.settings, look.of.packed
    packer = settings.packer or choice.packer or packed.packer
    largest, longest = settings.largest_bundle, settings.longest_seconds
    jobs = "any number" if largest is None else f"at most {largest:,}"
    time = "any length" if longest is None else f"at most {limit(longest)}"
    rows = [
        ("packer", line((f"{packer} ▾", "title"), ("   = compares all", "dim"))),
        ("jobs", line(f"{jobs} on a node")),
        ("time", line(f"{time}, factor {settings.time_factor or 1.0:.1f}")),
        ("search", line(f"ended after {look.of.took:.1f} of {choice.budget:g} s")),
        ("actions", line(", ".join(actions))),
    ]
    lines = []
    for name, value in rows:
        lines += wrapped((*line((f"{name:<10}", "dim")), *value), width, 10)
    text = "A slot is a part of a node; its jobs run one after the other."
    if about := dict(packing.shown.packed.packers).get(choice.packer, ""):
        text += f" {choice.packer}: {about}."
    return [*lines, (), *wrapped(line((text, "dim")), width)]


def compared_lines(
    compared: Sequence[PackerResult], comparing: str, chosen: str, width: int
) -> list[Line]:
    """Return each packer's result for the same jobs, the cheapest first; `chosen`: current."""
    if not compared and not comparing:
        return []
    lines: list[Line] = [line(("packer       nodes  idle    cost", "heading"))]
    best = min((one.figures.cost for one in compared), default=0.0)
    for one in sorted(compared, key=lambda one: one.figures.cost):
        idle = "–" if one.idle is None else f"{one.idle:.0%}"
        style = "title" if one.packer == chosen else ""
        mark = "›" if one.packer == chosen else " "
        row = f"{one.figures.nodes:>5,} {idle:>5} {price(one.figures.cost):>7}"
        name = fit(line((f"{mark} {visible(one.packer)}", style)), 12)
        cheapest = one.figures.cost <= best * (1 + LEAST_GAP)
        lines.append((*name, *line((f" {row}", style), (" ✓" if cheapest else "", "completed"))))
    if comparing:
        lines.append(line(("◐ ", "submitted"), (f"{visible(comparing)}…", "dim")))
    return [cut(one, width) for one in lines]


class TypedPackLimits(NamedTuple):
    """The choice of the fields, and (field, sentence) for each text that cannot be parsed."""

    choice: PackChoice
    wrong: tuple[tuple[str, str], ...] = ()


def read_limits(
    texts: Mapping[str, str], choice: PackChoice, packers: Sequence[str] = ()
) -> TypedPackLimits:
    """Return the choice of these texts; a text that cannot be read changes nothing."""
    found: dict[str, int | float | None] = dict.fromkeys(READERS)
    before = (choice.largest_bundle, choice.longest_seconds, choice.time_factor)
    wrong = []
    packer = texts.get("packer", "").strip()
    if packer and packer not in packers:
        wrong.append(("packer", f"{visible(packer)} is none of {', '.join(packers)}"))
        packer = choice.packer
    for (field, read), was in zip(READERS.items(), before, strict=True):
        text = texts.get(field, "").strip()
        if not text:
            continue
        try:
            found[field] = read(text)
        except RowtuiError as error:
            found[field] = was
            wrong.append((field, error.message))
        except DurationError:
            found[field] = was
            wrong.append((field, f"{visible(text)} is not like 04:00:00, 4h or 30m"))
    largest, longest, factor = found["largest"], found["longest"], found["factor"]
    new = choice._replace(
        packer=packer,
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
        "packer": choice.packer,
        "largest": "" if choice.largest_bundle is None else str(choice.largest_bundle),
        "longest": "" if choice.longest_seconds is None else longest,
        "factor": "" if choice.time_factor is None else f"{choice.time_factor:g}",
    }


def _seconds(text: str) -> int:
    seconds = parse_time(text)
    if seconds < 1:
        raise RowtuiError("jobs take longer than that")
    return seconds


READERS: Mapping[str, Callable[[str], int | float]] = {
    "largest": lambda text: parse_count(text, 1, MOST_JOBS),
    "longest": _seconds,
    "factor": lambda text: parse_factor(text, LEAST_FACTOR, MOST_FACTOR),
}

LABELS = {
    "packer": "packer",
    "largest": "jobs on a node",
    "longest": "time",
    "factor": "factor",
}
_EXAMPLES = {
    "packer": "its name",
    "largest": "like 16",
    "longest": "like 12:00:00",
    "factor": "like 1.5",
}


class LimitsForm(Fields):
    """Four fields on a line. An empty field means the configured value."""

    DEFAULT_CSS = "LimitsForm { layout: horizontal; }"
    NAMES = FIELDS
    PREFIX = "limit-"

    def compose(self) -> ComposeResult:
        """Compose each field with its name."""
        for name in FIELDS:
            yield Static(LABELS[name], markup=False)
            yield InputField(id=f"{self.PREFIX}{name}", keys=self.KEYS, placeholder=_EXAMPLES[name])
