"""The differences between a copy and its project: as a table for users, and as JSON."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from rowtui.cli.output.table import Cell, Column, table_lines
from rowtui.core.base.text import file_size, visible
from rowtui.core.engine.api.json_views import utc
from rowtui.core.mirror.compare import Side
from rowtui.core.mirror.facts import FOLDER, LINK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rowtui.cli.output.output import Output
    from rowtui.core.base import json_objects as to
    from rowtui.core.mirror.compare import Copy, Transfer
    from rowtui.core.mirror.facts import FileFacts
    from rowtui.core.project.context.copy_by_hand import Compared

_SHOWN = 10  # of each kind, without -v
_KINDS = (
    "conflict", "newer here", "only here", "newer there", "only there",
    "deleted here", "deleted there",
)  # fmt: skip
_STYLES = {"conflict": "red bold", "deleted here": "dim", "deleted there": "dim"}


class Difference(NamedTuple):
    """One path that differs. `kind`: `conflict`, `newer here`, `only there`, `deleted here`, ..."""

    kind: str
    path: str
    here: FileFacts | None
    there: FileFacts | None
    reason: str = ""


def differences(transfer: Transfer) -> Iterator[Difference]:
    """Yield all differences, beginning with the ones that the user has to decide."""
    for conflict in transfer.conflicts:
        yield Difference("conflict", *conflict)
    for copy in transfer.send:
        yield Difference(_kind(copy, "here"), copy.path, copy.facts, copy.replaces)
    for copy in transfer.fetch:
        yield Difference(_kind(copy, "there"), copy.path, copy.replaces, copy.facts)
    for gone in transfer.removed:
        sides = (None, gone.facts) if gone.gone is Side.HERE else (gone.facts, None)
        yield Difference(f"deleted {gone.gone.value}", gone.path, *sides)


def _kind(copy: Copy, side: str) -> str:
    return f"newer {side}" if copy.replaces else f"only {side}"


def print_compared(compared: Compared, out: Output, *, all_of_them: bool) -> None:
    """Print where the copy is, the differences, and what the user can do."""
    name = visible(compared.cluster)
    out.print(f"{out.style(name, 'bold')}: {visible(compared.place)}")
    transfer = compared.transfer
    same = f"{transfer.unchanged:,} files and folders are the same"
    found_by_kind: dict[str, list[Difference]] = {kind: [] for kind in _KINDS}
    for it in differences(transfer):
        found_by_kind[it.kind].append(it)
    by_kind = {kind: found for kind, found in found_by_kind.items() if found}
    counts = [f"{len(found):,} {_noun(kind, len(found))}" for kind, found in by_kind.items()]
    out.print(f"  {', '.join([same, *counts])}")
    for notice in transfer.notices:
        out.warn(f"{name}: {notice}")
    if not by_kind:
        return
    rows: list[Sequence[str | Cell]] = []
    for kind, found in by_kind.items():
        shown = found if all_of_them else found[:_SHOWN]
        rows += [_row(it) for it in shown]
        if len(found) > len(shown):
            rows.append([Cell(kind, "dim"), Cell(f"and {len(found) - len(shown):,} more", "dim")])
    columns = [Column("Difference"), Column("File", style="bold"), Column("Here"), Column("There")]
    out.print()
    out.lines(table_lines(columns, rows, out))
    out.print()
    for why in dict.fromkeys(it.reason for it in by_kind.get("conflict", ()) if _unusual(it)):
        out.print(f"Conflict: {visible(why)}.")
    command = f"rowtui mirror {name}"
    advice = [
        (f"{command} --keep here|there FILE...", "decides conflicts", transfer.conflicts),
        (f"{command} --send", "copies there what is newer here", transfer.send),
        (f"{command} --fetch", "copies here what is newer there", transfer.fetch),
    ]
    width = max((len(words) for words, _, wanted in advice if wanted), default=0)
    for words, what, wanted in advice:
        if wanted:
            out.print(f"{words:<{width}}  {what}")


def _noun(kind: str, number: int) -> str:
    return "conflicts" if kind == "conflict" and number != 1 else kind


def _unusual(it: Difference) -> bool:
    """Whether times and sizes do not already explain the conflict."""
    return it.here is None or it.there is None or it.here.kind != it.there.kind


def _row(it: Difference) -> list[str | Cell]:
    here, there = _side(it, it.here, "here"), _side(it, it.there, "there")
    return [Cell(it.kind, _STYLES.get(it.kind, "")), it.path, here, there]


def _side(it: Difference, facts: FileFacts | None, side: str) -> str:
    if facts is None:
        return "deleted" if it.kind == f"deleted {side}" else "-"
    if facts.kind == FOLDER:
        return "folder"
    if facts.kind == LINK:
        return f"link to {facts.target}"
    return f"{file_size(facts.size):>8} {_moment(facts.mtime_ns)}"


def _moment(mtime_ns: int) -> str:
    """Return `14:03:12`, with the day unless it is today."""
    try:
        then = time.localtime(mtime_ns // 10**9)
    except (OverflowError, ValueError, OSError):
        return "at no time"
    now = time.localtime()
    if then[:3] == now[:3]:
        return time.strftime("%H:%M:%S", then)
    return time.strftime("%m-%d %H:%M" if then[0] == now[0] else "%Y-%m-%d", then)


def compared_json(compared: Compared) -> to.Comparison:
    """Return the comparison for programs."""
    return {
        "cluster": compared.cluster,
        "place": compared.place,
        "same": compared.transfer.unchanged,
        "differences": [
            {
                "kind": it.kind,
                "path": it.path,
                "here": _facts_json(it.here),
                "there": _facts_json(it.there),
                "reason": it.reason or None,
            }
            for it in differences(compared.transfer)
        ],
        "notices": list(compared.transfer.notices),
    }


def _facts_json(facts: FileFacts | None) -> to.FileFacts | None:
    if facts is None:
        return None
    of_file = facts.kind not in (LINK, FOLDER)
    return {
        "kind": facts.kind,
        "size": facts.size if of_file else None,
        "modified_at": utc(facts.mtime_ns / 1e9) if of_file else None,
        "target": facts.target if facts.kind == LINK else None,
    }
