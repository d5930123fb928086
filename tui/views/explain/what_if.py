"""The what-if form: its fields become a request to the engine, and a description of it.

The texts of the fields are parsed at every key. The output is a `WhatIfRequest` from the texts that
can be parsed, and a sentence for each text that cannot. An empty field leaves the job unchanged.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.mapping.model.decision import Decision
from rowtui.core.mapping.model.request import AddedTag, Amounts, WhatIf
from rowtui.core.mapping.model.sentences import amount_in_words
from rowtui.core.project.views.views import WhatIfRequest
from rowtui.core.workflow.duration import DurationError, format_duration, parse_time
from rowtui.tui.widgets.cells import Line, line
from rowtui.tui.widgets.fields import Fields, InputField
from rowtui.tui.widgets.short_text import limit
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

FIELDS = ("cores", "mem", "gpus", "walltime", "tags", "user", "roles")

STRENGTHS = ("require", "prefer", "accept", "reject")

NO_ROLES = "-"
"""In the field of the roles: a user without any role."""

_AMOUNT = re.compile(r"(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)", re.IGNORECASE)
_GIGABYTES = {
    "": 1.0,
    "m": 1 / 1024,
    "mb": 1 / 1024,
    "g": 1.0,
    "gb": 1.0,
    "t": 1024.0,
    "tb": 1024.0,
}


class TypedWhatIf(NamedTuple):
    """The request of the form (None: no change), and (field, sentence) for unreadable texts."""

    asked: WhatIfRequest | None
    wrong: tuple[tuple[str, str], ...] = ()


class Unreadable(Exception):
    """Raised for a field whose text has no meaning."""


def read_form(texts: Mapping[str, str], known: Iterable[str] = ()) -> TypedWhatIf:
    """Return the request of the fields. `known` has tags and roles in their original form.

    The screen may show a name in its visible form; `known` maps that form to the original name.
    """
    names = {visible(name): name for name in known}
    wrong: list[tuple[str, str]] = []
    found: dict[str, Any] = {}
    for field in FIELDS:
        text = texts.get(field, "").strip()
        if not text:
            continue
        try:
            found[field] = _read(field, text, names)
        except Unreadable as error:
            wrong.append((field, str(error)))
    adds, drops = found.get("tags", ((), ()))
    amounts = Amounts(found.get("gpus"), found.get("cores"), found.get("mem"))
    asked = WhatIfRequest(
        WhatIf(amounts, found.get("walltime"), drops, adds),
        found.get("user"),
        found.get("roles"),
    )
    return TypedWhatIf(None if asked == WhatIfRequest() else asked, tuple(wrong))


def known_names(decision: Decision) -> set[str]:
    """Return every tag and role that occurs in a decision."""
    names = {tag for _, tag, _ in decision.tags}
    names.update(decision.request.user.roles if decision.request.user else ())
    for refusal in decision.refusals:
        for change in refusal.changes:
            names.update(change.what_if.drop_tags, (tag for tag, _ in change.what_if.add_tags))
    if (what_if := decision.request.what_if) is not None:
        names.update(what_if.drop_tags, (tag for tag, _ in what_if.add_tags))
    return names


def _read(field: str, text: str, names: Mapping[str, str]) -> object:
    if field in ("cores", "gpus", "mem"):
        return _amount(field, text)
    if field == "walltime":
        return read_walltime(text)
    if field == "user":
        return text
    if field == "roles":
        return () if text == NO_ROLES else _roles(text, names)
    return _tags(text, names)


def _amount(field: str, text: str) -> float | int:
    match = _AMOUNT.fullmatch(text)
    units = _GIGABYTES if field == "mem" else {"": 1.0}
    if match is None or match[2].lower() not in units:
        example = "64, 1.5T or 800M" if field == "mem" else "a number"
        raise Unreadable(f"{visible(text)} is not {example}")
    value = float(match[1]) * units[match[2].lower()]
    if not math.isfinite(value) or value > 1e15:
        raise Unreadable("that is more than there is")
    return int(value) if value == int(value) else value


def read_walltime(text: str) -> int:
    """Return the seconds of `04:00:00`, `4h`, `30m`, `2d`.

    Raises: Unreadable if the text is none of these forms.
    """
    try:
        return parse_time(text)
    except DurationError:
        raise Unreadable(f"{visible(text)} is not like 04:00:00, 4h or 30m") from None


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise Unreadable("a quote is still open") from None


def _roles(text: str, names: Mapping[str, str]) -> tuple[str, ...]:
    words = [part for word in _words(text) for part in word.split(",") if part]
    return tuple(names.get(word, word) for word in words)


def _tags(text: str, names: Mapping[str, str]) -> tuple[tuple[AddedTag, ...], tuple[str, ...]]:
    adds: dict[str, str] = {}
    drops: dict[str, None] = {}
    for word in _words(text):
        sign, body = word[:1], word[1:]
        if sign not in "+-" or not body:
            raise Unreadable(f"{visible(word)}: +tag adds a tag, -tag drops it")
        if sign == "-":
            drops[names.get(body, body)] = None
            continue
        tag, equals, strength = body.rpartition("=")
        if not equals or body in names:
            tag, strength = body, "require"
        elif strength not in STRENGTHS:
            raise Unreadable(f"after = comes {', '.join(STRENGTHS[:-1])} or {STRENGTHS[-1]}")
        adds[names.get(tag, tag)] = strength
    return tuple(map(AddedTag._make, adds.items())), tuple(drops)


def with_change(texts: Mapping[str, str], change: WhatIf) -> dict[str, str]:
    """Return the form's texts with one more change in them."""
    new = {field: texts.get(field, "") for field in FIELDS}
    for name, value in change.amounts._asdict().items():
        if value is not None:
            new[name] = amount_text(value)
    if change.walltime_seconds is not None:
        new["walltime"] = f"PT{change.walltime_seconds}S"
        if change.walltime_seconds < 360_000:  # The hours have at most two digits.
            hours, rest = divmod(change.walltime_seconds, 3600)
            new["walltime"] = f"{hours:02d}:{rest // 60:02d}:{rest % 60:02d}"
    words = [f"-{visible(tag)}" for tag in change.drop_tags]
    words += [f"+{visible(tag)}={strength}" for tag, strength in change.add_tags]
    try:
        kept = _words(new["tags"])
    except Unreadable:  # The text is incomplete: the change replaces it.
        new["tags"], kept = "", []
    words = [shlex.quote(word) for word in words if word not in kept]
    new["tags"] = " ".join(part for part in (new["tags"].strip(), *words) if part)
    return new


def amount_text(value: object) -> str:
    """Return a number without a needless fraction; `–` if there is no value."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else f"{value:.6g}"
    return visible(str(value))


def what_if_parts(asked: WhatIfRequest, plain: Decision | None) -> list[str]:
    """Return `64 CPUs instead of 16`, `with the tag highmem (require)`, ...; `plain` is the job
    without the what-if.
    """
    change = asked.change
    parts = []
    for name in ("cores", "mem", "gpus"):
        if (value := getattr(change.amounts, name)) is not None:
            was = getattr(plain.job, name) if plain else None
            instead = "" if was in (None, value) else f" instead of {amount_text(was)}"
            parts.append(f"{amount_in_words(name, value)}{instead}")
    if change.walltime_seconds is not None:
        totals = plain.request.totals if plain else None
        instead = f" instead of {limit(totals.walltime_seconds)}" if totals else ""
        parts.append(f"{limit(change.walltime_seconds)}{instead}")
    parts += [f"with the tag {visible(tag)} ({strength})" for tag, strength in change.add_tags]
    parts += [f"without the tag {visible(tag)}" for tag in change.drop_tags]
    if asked.user is not None:
        parts.append(f"as user {visible(asked.user)}")
    if asked.roles is not None:
        parts.append(f"roles {', '.join(map(visible, asked.roles)) or 'none'}")
    return parts


def banner(asked: WhatIfRequest, plain: Decision | None) -> Line:
    """Return the line that is shown above everything while a what-if is active."""
    words = ", ".join(what_if_parts(asked, plain))
    return line((" WHAT IF ", "badge"), (" not part of the plan: ", "warning"), words)


def walltime_of(decision: Decision) -> int | None:
    """Return the effective walltime in seconds: that of the what-if, otherwise that of the job."""
    what_if, totals = decision.request.what_if, decision.request.totals
    if what_if is not None and what_if.walltime_seconds is not None:
        return what_if.walltime_seconds
    return totals.walltime_seconds if totals else None


LABELS = {
    "cores": "CPUs",
    "mem": "memory",
    "gpus": "GPUs",
    "walltime": "limit",
    "tags": "tags",
    "user": "user",
    "roles": "roles",
}
_ROWS = (("cores", "mem", "gpus", "walltime"), ("tags", "user", "roles"))


class WhatIfForm(Fields):
    """Seven fields on two lines. An empty field shows the job's own value, and changes nothing."""

    NAMES = FIELDS
    PREFIX = "if-"

    def compose(self) -> ComposeResult:
        """Compose the job's resources in the first line, its tags, user and roles in the second."""
        for number, names in enumerate(_ROWS):
            with Horizontal(id=f"what-if-{number}"):
                for name in names:
                    yield Static(LABELS[name], markup=False)
                    yield InputField(id=f"{self.PREFIX}{name}", keys=self.KEYS)

    def show_job(self, decision: Decision | None) -> None:
        """Show the job's own values in the empty fields."""
        for name, text in _own(decision).items():
            field = self.field(name)
            theirs = name == "roles" and self.field("user").value.strip()
            shown = "their own; -: none" if theirs else text
            if field.placeholder != shown:
                field.placeholder = shown


def _own(decision: Decision | None) -> dict[str, str]:
    own = dict.fromkeys(FIELDS, "")
    own["tags"] = "+tag  +tag=prefer  -tag"
    if decision is None:
        return own
    job, user = decision.job, decision.request.user
    for name, value in job._asdict().items():
        own[name] = "" if value is None else amount_text(value)
    own["mem"] += " GB" if own["mem"] else ""
    seconds = walltime_of(decision)
    own["walltime"] = "" if seconds is None else format_duration(seconds)
    if user is not None:
        own["user"] = visible(user.name)
        own["roles"] = ", ".join(map(visible, user.roles))
    return own
