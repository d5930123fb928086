"""Compare a plan with the present state before a transfer, and with the result after it.

The input is the plan and the present facts; the result is the files that may still be copied,
notices about the others, and the destinations that have the intended content. The module is pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rowtui.core.base.text import visible
from rowtui.core.mirror.compare import Copy
from rowtui.core.mirror.facts import FILE, FOLDER, LINK, FileFacts, Selection, parents
from rowtui.core.mirror.listing import Listing


def merged(
    listings: Sequence[Listing], selection: Selection
) -> tuple[dict[str, FileFacts], tuple[str, ...]]:
    """Combine several listings into one, with all notices.

    A file is left out if a parent of it is listed as something other than a folder: a cluster that
    lists such a file would make rowtui write through a link that the same cluster sends. Folders
    above the selection may be links.
    """
    files: dict[str, FileFacts] = {}
    notices = list(selection.notices)
    for listing in listings:
        files |= listing.files
        notices += listing.notices
    others = {path for path, facts in files.items() if facts.kind != FOLDER} - selection.above
    if others:
        files = {path: it for path, it in files.items() if others.isdisjoint(parents(path))}
    return files, tuple(notices)


def folders_above(paths: Iterable[str]) -> set[str]:
    """Return all folders above the paths."""
    return {parent for path in paths for parent in parents(path)}


def as_planned(
    copies: Sequence[Copy], now: Mapping[str, FileFacts], where: str
) -> tuple[list[Copy], list[Copy], list[str]]:
    """Return the files still to be copied, the files that have arrived, and notices on the others.

    A plan may be carried out again after an interruption; some files have then already arrived.
    """
    same, already, changed = [], [], []
    for copy in copies:
        found = now.get(copy.path)
        if found == copy.replaces:
            same.append(copy)
        elif found is not None and _is_it(found, copy.facts):
            already.append(copy)
        else:
            changed.append(f"{visible(copy.path)} was left alone: it changed on {where} meanwhile")
    return same, already, changed


def _is_it(found: FileFacts, facts: FileFacts) -> bool:
    """Whether a file is the one to be copied; some sides have times in whole seconds only."""
    if found.kind != facts.kind or found.kind != FILE:
        return found == facts
    times = (facts.mtime_ns, _second(facts) * 10**9)
    return found.size == facts.size and found.mtime_ns in times


def arrived(copy: Copy, found: FileFacts | None) -> bool:
    """Whether the file at a destination is the copied file, or a later state of it."""
    if found is None or found.kind != copy.facts.kind:
        return False
    if found.kind == LINK:
        return found.target == copy.facts.target
    if found.kind == FOLDER or found != copy.replaces:
        return True
    # The file seems unchanged; on a side with times in whole seconds it may have been replaced.
    return found.size == copy.facts.size and _second(found) == _second(copy.facts)


def as_fetched(planned: FileFacts, here: FileFacts) -> FileFacts:
    """Return the facts of the other side's file at the time when it was read.

    If the file changed since the plan, as a growing log does, the facts are those of the version
    that has arrived.
    """
    if here.kind != FILE or (here.size == planned.size and _second(here) == _second(planned)):
        return planned
    return planned._replace(size=here.size, mtime_ns=here.mtime_ns)


def _second(facts: FileFacts) -> int:
    return facts.mtime_ns // 10**9
