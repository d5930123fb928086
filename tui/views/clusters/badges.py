"""The state of the clusters in the top line: `anvil ● 15 s  delta ▲ login  frontier ◐ slow`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from rowtui.tui.views.clusters.texts import cluster_mark
from rowtui.tui.widgets.cells import line
from rowtui.tui.widgets.marks import (
    APART,
    CONNECTED,
    CONNECTING,
    HERE,
    NEEDS_LOGIN,
    SILENT,
    SLOW,
    UNREACHABLE,
)
from rowtui.tui.widgets.numbers import age

if TYPE_CHECKING:
    from rowtui.core.engine.api.engine import ClusterView
    from rowtui.tui.widgets.cells import Line
    from rowtui.tui.widgets.marks import Mark

MOST_BADGES = 6
"""The number of badges; further clusters are counted. The view Clusters shows all clusters."""

_WELL = (HERE, CONNECTED)
_WORDS = {
    APART: "apart", CONNECTING: "logging in", NEEDS_LOGIN: "login", SILENT: "no answer",
    UNREACHABLE: "away", SLOW: "slow",
}  # fmt: skip
_SHORT_NAME = 5


def cluster_badges(
    clusters: Sequence[ClusterView], now: float, connecting: Collection[str] = ()
) -> list[list[Line]]:
    """Return the badges in several forms, the longest first; empty if there is nothing to report.

    A single cluster without a problem needs no badge. Clusters with a problem keep their badges and
    words the longest.
    """
    marks = {one.name: cluster_mark(one, connecting) for one in clusters}
    if len(clusters) < 2 and all(mark in _WELL for mark in marks.values()):
        return []
    ill = [one for one in clusters if marks[one.name] not in _WELL]
    well = [one for one in clusters if one not in ill]
    kept = [one for one in clusters if one in [*ill, *well][:MOST_BADGES]]
    more = [line((f"+{len(clusters) - len(kept)}", "dim"))] if len(kept) < len(clusters) else []
    forms = [
        [_badge(one, marks[one.name], now) for one in kept] + more,
        [_short(one, marks[one.name], with_word=one in ill) for one in kept] + more,
        [_short(one, marks[one.name], with_word=False) for one in kept] + more,
    ]
    if ill and len(ill) < len(clusters):
        rest = line((f"+{len(clusters) - len(ill[:MOST_BADGES])}", "dim"))
        forms.append([*(_short(one, marks[one.name]) for one in ill[:MOST_BADGES]), rest])
    return forms


def _badge(cluster: ClusterView, mark: Mark, now: float) -> Line:
    word = _WORDS.get(mark, "")
    if not word and cluster.as_of is not None:
        word = age(max(0.0, now - cluster.as_of))
    style = "dim" if mark in _WELL else mark.style
    return line((cluster.name, ""), (f" {mark.glyph}", mark.style), (f" {word}".rstrip(), style))


def _short(cluster: ClusterView, mark: Mark, *, with_word: bool = False) -> Line:
    word = f" {_WORDS.get(mark, '')}".rstrip() if with_word else ""
    return line((cluster.name[:_SHORT_NAME], ""), (f"{mark.glyph}{word}", mark.style))
