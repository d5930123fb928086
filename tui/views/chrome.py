"""The lines around every view: header with subject and clusters, tabs, message and key hints."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import plural, si
from rowtui.tui.views.clusters.texts import cluster_mark
from rowtui.tui.widgets.cells import Span, cut, line, width_of
from rowtui.tui.widgets.chrome import Pressable
from rowtui.tui.widgets.short_text import (
    APART,
    CONNECTED,
    CONNECTING,
    HERE,
    NEEDS_LOGIN,
    SILENT,
    SLOW,
    UNREACHABLE,
    age,
    clock_time,
)

if TYPE_CHECKING:
    from rowtui.core.engine.api.snapshot import ProjectSnapshot
    from rowtui.core.project.views.views import ClusterView
    from rowtui.tui.widgets.cells import Line
    from rowtui.tui.widgets.short_text import Mark

STALE_AFTER = 150.0
"""Seconds after which data counts as stale: a little more than twice the full refresh."""


class Freshness(NamedTuple):
    """The age of the data and whether the data is still reliable. `word` is "" if it is."""

    seconds: float
    word: str = ""


def header(
    width: int,
    project: str,
    snapshot: ProjectSnapshot | None,
    fresh: Freshness,
    read_only: bool = False,
    *,
    crumbs: Sequence[str] = (),
    badges: Sequence[Sequence[Line]] = (),
    busy: str = "",
    played: str = "",
    now: float = 0.0,
) -> Line:
    """Return the header: project and subject of the view; clusters and the clock on the right.

    `badges` has several forms of all badges, the longest first. Exceptional states and work in the
    background (`busy`) are always shown; directories, badges and the outer crumbs are dropped as
    the line gets narrower. `now`: epoch seconds; the time of day is shown in minutes.
    """
    words: list[tuple[str, str]] = []
    if fresh.word:
        old = age(fresh.seconds)
        words.append((f" {fresh.word}{'' if old == 'now' else f' {old}'} ", "badge"))
    if read_only:
        words.append((" READ ONLY ", "badge"))
    if busy:
        words.append((f" {busy} ", "badge"))
    words.append((f" {clock_time(now)[:5]} ", "dim"))
    if played:
        words.append((f" {played} ", "badge"))
    always = line(*words)
    if snapshot is None:
        whole = line((f" {project}", "title"), ("  reading the project", "dim"))
        left = cut(whole, max(0, width - width_of(always)))
        return cut(_ends(left, always, width), width)
    lefts = _lefts(project, crumbs, snapshot)
    rights = [(*_spread(form), *always) for form in badges] or [always]
    # The crumbs matter more than the number of directories, and the badges more than that number.
    for left, right in _by_importance(lefts, rights, always):
        if width_of(left) + width_of(right) < width:
            return _ends(left, right, width)
    left = cut(lefts[-1], max(0, width - 1 - width_of(always)))
    return cut(_ends(left, always, width), width)


def _lefts(project: str, crumbs: Sequence[str], snapshot: ProjectSnapshot) -> list[Line]:
    """Return the left side in several forms, from the longest to the shortest."""
    many = plural(snapshot.directories, "directory", "directories")
    start = (f" {project}", "title")
    trail = [part for crumb in crumbs for part in ((" ▸ ", "dim"), (crumb, "title"))]
    last = [(f" {crumbs[-1]}", "title")] if crumbs else [start]
    # Behind a group, a plan or a job, the number would seem to be its own.
    counted = [many, f"{si(snapshot.directories)} dirs"] if len(crumbs) < 2 else []
    return [
        *(line(start, *trail, f"  {text}") for text in counted),
        line(start, *trail),
        line(*([] if len(crumbs) > 1 else [start]), *trail[-4:]),
        line(*last),
    ]


def _by_importance(
    lefts: Sequence[Line], rights: Sequence[Line], always: Line
) -> Iterator[tuple[Line, Line]]:
    """Yield pairs of a left and a right side, in the order in which they are tried."""
    whole, shorter = rights[0], rights[1:]
    yield from ((left, whole) for left in lefts[:-1])
    for right in shorter:
        yield from ((left, right) for left in lefts[:-1])
    yield from ((left, always) for left in lefts)


def _spread(parts: Sequence[Line]) -> Line:
    """Return the parts one after the other, and a blank at the end."""
    found: list[Span] = []
    for part in parts:
        found += [*part, Span("  ")]
    return (*found[:-1], Span(" ")) if found else ()


def _ends(left: Line, right: Line, width: int) -> Line:
    room = max(0, width - width_of(left) - width_of(right))
    return (*left, *line(" " * room), *right)


class Tab(NamedTuple):
    """One view in the line of tabs: its key, title, name and the command that opens it."""

    key: str
    title: str
    mode: str
    command: str


FULL_NAMES, MORE_TABS, WIDE_TABS = 72, 112, 180
"""Columns from which tabs have full names, views without a number, and further blanks."""


def tabs(width: int, views: Sequence[Tab], current: str) -> tuple[Line, tuple[Pressable, ...]]:
    """Return `[1 Status]2 Groups ...`; on a narrow line the other views are numbers alone."""
    more = [it for it in views if it.mode == current and not it.key.isdigit()]
    full = width >= FULL_NAMES + sum(len(f"[{it.key} {it.title}]") for it in more)
    apart = full and width < MORE_TABS  # one blank between two tabs, which brackets take
    spans: list[tuple[str, str]] = []
    areas = []
    at = 0
    for tab in views:
        here = tab.mode == current
        if not (here or tab.key.isdigit() or width >= MORE_TABS):
            continue
        text = f"{tab.key} {tab.title}" if here or full else tab.key
        text = f"[{text}]" if here else f" {text} "
        if width >= WIDE_TABS and spans:
            spans.append((" ", ""))
            at += 1
        if apart and spans:
            before, style = spans[-1]
            if here:
                spans[-1] = (before[:-1], style)
                at -= 1
            else:
                text = text[1:]
        spans.append((text, "tab" if here else "dim"))
        areas.append(Pressable(at, at + len(text), tab.command))
        at += len(text)
    return cut(line(*spans), width), tuple(areas)


class Hint(NamedTuple):
    """One key in the bottom line. With `enabled` False, the key is dim; `about`: what it does."""

    key: str
    label: str
    command: str
    enabled: bool = True
    about: str = ""


def hints(
    width: int, keys: Sequence[Hint], always: Sequence[Hint] = ()
) -> tuple[Line, tuple[Pressable, ...]]:
    """Return the keys in their order, as many as fit, and `always` at the right: on a narrow line
    its last one, or its key alone. Without `always`, the last of the keys is never left out.
    """
    shown, last = (list(keys), []) if always else (list(keys[:-1]), list(keys[-1:]))
    forms = [always, always[-1:], [one._replace(label="") for one in always[-1:]]]
    size = sum(width_of(_hint(one)) for one in shown)
    right = next((one for one in forms if size + _room_of(one) < width), forms[-1])
    room = width - 1 - _room_of(right) - sum(width_of(_hint(one)) for one in last)
    spans: list[tuple[str, str]] = [(" ", "")]
    areas = []
    at = 1
    placed = []
    for hint in shown:
        room -= width_of(_hint(hint))
        if room < 0:
            break
        placed.append(hint)
    for hint in [*placed, *last, *right]:
        if right and hint is right[0]:
            spans.append((" " * (width - at - _room_of(right)), ""))
            at = width - _room_of(right)
        text = _hint(hint)
        areas.append(Pressable(at, at + width_of(text), hint.command, hint.about))
        spans += [(span.text, span.style) for span in text]
        at += width_of(text)
    return cut(line(*spans), width), tuple(areas)


def _room_of(keys: Sequence[Hint]) -> int:
    return sum(width_of(_hint(one)) for one in keys)


def _hint(hint: Hint) -> Line:
    return line(
        (hint.key, "key" if hint.enabled else "dim"),
        (f" {hint.label}".rstrip() + "  ", "" if hint.enabled else "dim"),
    )


MOST_BADGES = 6
"""The number of badges; further clusters are counted. The view Clusters shows all clusters."""


_WELL = (HERE, CONNECTED)
_WORDS = {
    APART: "not connected", CONNECTING: "logging in", NEEDS_LOGIN: "log in: L",
    SILENT: "no answer", UNREACHABLE: "no connection", SLOW: "slow",
}  # fmt: skip
_SHORT_WORDS = _WORDS | {NEEDS_LOGIN: "L", APART: "", UNREACHABLE: "away"}
_SHORT_NAME = 5


def cluster_badges(
    clusters: Sequence[ClusterView], now: float, connecting: Collection[str] = ()
) -> list[list[Line]]:
    """Return the badges in several forms, the longest first; empty if there is no cluster.

    Clusters with a problem keep their badges and words the longest.
    """
    marks = {one.name: cluster_mark(one, connecting) for one in clusters}
    ill = [one for one in clusters if marks[one.name] not in _WELL]
    well = [one for one in clusters if one not in ill]
    kept = [one for one in clusters if one in [*ill, *well][:MOST_BADGES]]
    more = [line((f"+{len(clusters) - len(kept)}", "dim"))] if len(kept) < len(clusters) else []
    forms = [
        [_badge(one, marks[one.name], now) for one in kept] + more,
        [_badge(one, marks[one.name], now, short=True) for one in kept] + more,
        [_short(one, marks[one.name], with_word=one in ill) for one in kept] + more,
        [_short(one, marks[one.name]) for one in kept] + more,
    ]
    if ill and len(ill) < len(clusters):
        rest = line((f"+{len(clusters) - len(ill[:MOST_BADGES])}", "dim"))
        forms.append([*(_short(one, marks[one.name]) for one in ill[:MOST_BADGES]), rest])
    return forms if clusters else []


def _badge(cluster: ClusterView, mark: Mark, now: float, *, short: bool = False) -> Line:
    word = (_SHORT_WORDS if short else _WORDS).get(mark, "")
    if not word and cluster.as_of is not None:
        word = age(max(0.0, now - cluster.as_of))
        word += "" if short or word == "now" else " ago"
    style = "dim" if mark in _WELL else mark.style
    return line((cluster.name, ""), (f" {mark.glyph}", mark.style), (f" {word}".rstrip(), style))


def _short(cluster: ClusterView, mark: Mark, *, with_word: bool = False) -> Line:
    word = f" {_SHORT_WORDS.get(mark, '')}".rstrip() if with_word else ""
    return line((cluster.name[:_SHORT_NAME], ""), (f"{mark.glyph}{word}", mark.style))
