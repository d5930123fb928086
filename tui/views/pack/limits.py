"""The typed limits of a packing: the form, and the choice that its texts mean.

The texts of the fields are parsed at every key. The result is the choice with the limits that can
be parsed, and a sentence for each text that cannot; such a text changes nothing. An empty field
means the value of clusters.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.quantities import parse_count, parse_factor
from rowtui.core.base.text import visible
from rowtui.core.project.planning.pack_views import PackChoice
from rowtui.core.workflow.duration import DurationError, parse_time
from rowtui.tui.widgets.fields import Fields, InputField
from textual.app import ComposeResult
from textual.widgets import Static

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
    for field, read, was in zip(FIELDS, READERS, before, strict=True):
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


def _seconds(text: str) -> int:
    seconds = parse_time(text)
    if seconds < 1:
        raise RowtuiError("a bundle takes longer than that")
    return seconds


READERS: tuple[Callable[[str], int | float], ...] = (
    lambda text: parse_count(text, 1, MOST_JOBS),
    _seconds,
    lambda text: parse_factor(text, LEAST_FACTOR, MOST_FACTOR),
)

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
