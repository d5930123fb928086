"""What lies between a plan and a transfer, and after it: what changed meanwhile, what arrived.

Takes what a plan says and the facts of now; gives what may still be copied, what is told of the
rest, and which destinations have what was meant for them. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rowtui.core.mirror.compare import Copy
from rowtui.core.mirror.facts import FILE, FOLDER, LINK, FileFacts, Selection, parents
from rowtui.core.mirror.listing import Listing
from rowtui.core.text import visible


def merged(
    listings: Sequence[Listing], selection: Selection
) -> tuple[dict[str, FileFacts], tuple[str, ...]]:
    """Several listings as one, with all that a person should know of them.

    What lies in something that is no folder is left out: a cluster that says so would have files
    written through a link that it sends along. Folders above the selection may be links.
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
    """The folders that paths lie in."""
    return {parent for path in paths for parent in parents(path)}


def as_planned(
    copies: Sequence[Copy], now: Mapping[str, FileFacts], where: str
) -> tuple[list[Copy], list[Copy], list[str]]:
    """What is still to be copied, what is there already, and what is told of the others.

    A plan may be carried out again after a cut: what had arrived is there already.
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
    """Whether a file is what was to be copied; some sides know whole seconds only."""
    if found.kind != facts.kind or found.kind != FILE:
        return found == facts
    times = (facts.mtime_ns, _second(facts) * 10**9)
    return found.size == facts.size and found.mtime_ns in times


def arrived(copy: Copy, found: FileFacts | None) -> bool:
    """Whether what is found at a destination is what was copied, or a later state of it."""
    if found is None or found.kind != copy.facts.kind:
        return False
    if found.kind == LINK:
        return found.target == copy.facts.target
    if found.kind == FOLDER or found != copy.replaces:
        return True
    # Nothing seems to have happened; on a side that only knows seconds it may have.
    return found.size == copy.facts.size and _second(found) == _second(copy.facts)


def as_fetched(planned: FileFacts, here: FileFacts) -> FileFacts:
    """What the other side was when this file was read there.

    A log may have grown since the plan: then it is the version that has arrived.
    """
    if here.kind != FILE or (here.size == planned.size and _second(here) == _second(planned)):
        return planned
    return planned._replace(size=here.size, mtime_ns=here.mtime_ns)


def _second(facts: FileFacts) -> int:
    return facts.mtime_ns // 10**9
