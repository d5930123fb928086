"""`rowtui mirror`: the copies of a project on clusters that do not share its folder.

The differences between a copy and its project are a table for users, and JSON for programs.
"""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from rowtui.cli.environment import cluster_name
from rowtui.cli.environment import run as run_async
from rowtui.cli.output.output import Output, TableCell, TextColumn, table_lines
from rowtui.cli.output.progress import Busy, ProgressBar
from rowtui.cli.project.open import answer_to, ask, open_project, say_notices
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import file_size, plural, visible
from rowtui.core.mirror.compare import Copy, Side, Transfer
from rowtui.core.mirror.model import FOLDER, LINK, FileFacts
from rowtui.core.project.context.copy_by_hand import copy_by_hand
from rowtui.core.project.open_project import OpenProject

if TYPE_CHECKING:
    from rowtui.core.base.document import TextOrNull
    from rowtui.core.mirror.transfer import arriving as files
    from rowtui.core.project.context.copy_by_hand import CopyByHand, CopyComparison


_SHOWN = 10  # of each kind, without -v
_KINDS = (
    "conflict", "newer here", "only here", "newer there", "only there",
    "deleted here", "deleted there",
)  # fmt: skip
_STYLES = {"conflict": "red bold", "deleted here": "dim", "deleted there": "dim"}


class PathDifference(NamedTuple):
    """A path that differs between the project and its copy; None: it is not there.

    `kind`: `conflict`, `newer here`, `only there`, `deleted here`, ...
    """

    kind: str
    path: str
    here: FileFacts | None
    there: FileFacts | None
    reason: TextOrNull = ""


class ShownComparison(NamedTuple):
    """`mirror`: a copy of the project against the project. `same`: how many paths."""

    cluster: str
    place: str
    same: int
    differences: Sequence[PathDifference]
    notices: Sequence[str]


class ShownComparisons(NamedTuple):
    """`mirror`."""

    copies: Sequence[ShownComparison]


class Copied(NamedTuple):
    """`mirror --send`, `--fetch` and `--keep`: what was copied. `size`: bytes."""

    cluster: str
    place: str
    files: int
    size: int
    notices: Sequence[str]


def differences(transfer: Transfer) -> Iterator[PathDifference]:
    """Yield all differences, beginning with the ones that the user has to decide."""
    for conflict in transfer.conflicts:
        yield PathDifference("conflict", *conflict)
    for copy in transfer.send:
        yield PathDifference(_kind(copy, "here"), copy.path, copy.facts, copy.replaces)
    for copy in transfer.fetch:
        yield PathDifference(_kind(copy, "there"), copy.path, copy.replaces, copy.facts)
    for gone in transfer.removed:
        sides = (None, gone.facts) if gone.gone is Side.HERE else (gone.facts, None)
        yield PathDifference(f"deleted {gone.gone.value}", gone.path, *sides)


def _kind(copy: Copy, side: str) -> str:
    return f"newer {side}" if copy.replaces else f"only {side}"


def print_compared(compared: CopyComparison, out: Output, *, all_of_them: bool) -> None:
    """Print where the copy is, the differences, and what the user can do."""
    name = visible(compared.cluster)
    out.print(f"{out.style(name, 'bold')}: {visible(compared.place)}")
    transfer = compared.transfer
    same = f"{transfer.unchanged:,} files and folders are the same"
    found_by_kind: dict[str, list[PathDifference]] = {kind: [] for kind in _KINDS}
    for it in differences(transfer):
        found_by_kind[it.kind].append(it)
    by_kind = {kind: found for kind, found in found_by_kind.items() if found}
    counts = [f"{len(found):,} {_noun(kind, len(found))}" for kind, found in by_kind.items()]
    out.print(f"  {', '.join([same, *counts])}")
    for notice in transfer.notices:
        out.warn(f"{name}: {notice}")
    if not by_kind:
        return
    rows: list[Sequence[str | TableCell]] = []
    for kind, found in by_kind.items():
        shown = found if all_of_them else found[:_SHOWN]
        rows += [_row(it) for it in shown]
        if len(found) > len(shown):
            rows.append(
                [TableCell(kind, "dim"), TableCell(f"and {len(found) - len(shown):,} more", "dim")]
            )
    columns = [
        TextColumn("Difference"),
        TextColumn("File", style="bold"),
        TextColumn("Here"),
        TextColumn("There"),
    ]
    out.print()
    out.lines(table_lines(columns, rows, out))
    out.print()
    for why in dict.fromkeys(it.reason for it in by_kind.get("conflict", ()) if _unusual(it)):
        out.print(f"Conflict: {visible(why)}.")
    command = f"rowtui mirror {name}"
    advice = [
        (f"{command} --keep here|there FILE...", "decides conflicts", transfer.conflicts),
        (f"{command} --send", "copies newer local files to the cluster", transfer.send),
        (f"{command} --fetch", "copies newer files of the cluster here", transfer.fetch),
    ]
    width = max((len(words) for words, _, wanted in advice if wanted), default=0)
    for words, what, wanted in advice:
        if wanted:
            out.print(f"{words:<{width}}  {what}")


def _noun(kind: str, number: int) -> str:
    return "conflicts" if kind == "conflict" and number != 1 else kind


def _unusual(it: PathDifference) -> bool:
    """Whether times and sizes do not already explain the conflict."""
    return it.here is None or it.there is None or it.here.kind != it.there.kind


def _row(it: PathDifference) -> list[str | TableCell]:
    here, there = _side(it, it.here, "here"), _side(it, it.there, "there")
    return [TableCell(it.kind, _STYLES.get(it.kind, "")), it.path, here, there]


def _side(it: PathDifference, facts: FileFacts | None, side: str) -> str:
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


def _shown(compared: CopyComparison) -> ShownComparison:
    transfer = compared.transfer
    found = [*differences(transfer)]
    return ShownComparison(
        compared.cluster, compared.place, transfer.unchanged, found, transfer.notices
    )


MUCH = 1_000_000_000  # bytes from which the user is asked first


def run(args: argparse.Namespace, out: Output) -> int:
    """Compare, copy, decide or remove; 1 if something could not be done."""
    side, paths = _kept(args.keep)
    project = open_project(args, out)
    name = args.of or getattr(args, "cluster", None)
    if args.send is None and args.fetch is None and side is None and not args.remove:
        return _compare(project, name, _names(args.compare), args, out)
    copy = copy_by_hand(project, name or cluster_name(args) or _only(project))
    try:
        if args.remove:
            return _remove(copy, out)
        if side is not None:
            compared = _looked(copy, out, lambda: copy.decide(side, paths))
        elif args.send is not None:
            names = _names(args.send)
            compared = _looked(copy, out, lambda: copy.compare(names, make=True))
        else:
            names = _names(args.fetch)
            compared = _looked(
                copy,
                out,
                lambda: copy.compare() if names is None else copy.compare_directories(names),
            )
        if not compared.place:
            raise copy.no_copy()
        send = side is Side.HERE or args.send is not None
        return _carry_out(copy, compared, args, out, send=send)
    finally:
        say_notices(project, out)


def _kept(words: Sequence[str] | None) -> tuple[Side | None, list[str]]:
    """Parse --keep. Raises: RowtuiError."""
    if words is None:
        return None, []
    if words[0] not in ("here", "there") or len(words) < 2:
        raise RowtuiError(
            "--keep needs a side and the files that it is about",
            "as in 'rowtui mirror alpha --keep here run.sh', or '--keep there run.sh'",
        )
    return Side(words[0]), list(words[1:])


def _names(directories: Sequence[str] | None) -> list[str] | None:
    """Return None for all. Raises: RowtuiError for a name that no directory can have."""
    names = [name.rstrip("/") for name in directories or ()]
    for name in names:
        if not name or "/" in name or name in (".", ".."):
            raise RowtuiError(
                f"'{visible(name)}' is not the name of a directory",
                "directories are named as in 'rowtui show directories'",
            )
    return names or None


def _only(project: OpenProject) -> str:
    """Return the only possible cluster. Raises: RowtuiError."""
    known = project.copies.known()
    if len(known) != 1:
        shown = ", ".join(map(visible, known))
        hint = f"these have copies: {shown}" if known else "'rowtui mirror alpha --send' makes one"
        raise RowtuiError("which cluster?", hint)
    return known[0]


def _compare(
    project: OpenProject,
    name: str | None,
    names: Sequence[str] | None,
    args: argparse.Namespace,
    out: Output,
) -> int:
    """Compare one copy, or all existing ones; a failing copy does not hide the others."""
    found: list[CopyComparison] = []
    failed = False
    for cluster in [name] if name else project.copies.known():
        copy = copy_by_hand(project, cluster)
        try:
            compared = _looked(copy, out, partial(copy.compare, names))
            if not compared.place:
                raise copy.no_copy()
        except RowtuiError as error:
            if name:
                raise
            failed = True
            out.error(f"{visible(cluster)}: {error}")
            continue
        if not args.json:
            if found:
                out.print()
            print_compared(compared, out, all_of_them=bool(getattr(args, "verbose", 0)))
        found.append(compared)
    if args.json:
        out.json(ShownComparisons([_shown(it) for it in found]))
    elif not found and not failed:
        out.note(
            "No cluster has a copy of this project. A submission makes one where it is needed."
        )
    say_notices(project, out)
    return 1 if failed else 0


def _looked(
    copy: CopyByHand, out: Output, look: Callable[[], Awaitable[CopyComparison]]
) -> CopyComparison:
    """Compare, with a message on the terminal if it takes long."""

    async def compare() -> CopyComparison:
        await copy.where()  # a login that is needed prompts now
        with Busy(out, f"Comparing with {visible(copy.cluster.name)}"):
            return await look()

    return run_async(compare())


def _carry_out(
    copy: CopyByHand, compared: CopyComparison, args: argparse.Namespace, out: Output, *, send: bool
) -> int:
    """Copy in one direction; 1 if not everything arrived."""
    name = visible(copy.cluster.name)
    transfer = compared.transfer
    if send:
        transfer = copy.to_send(compared)
    copies = transfer.send if send else transfer.fetch
    size = sum(it.facts.size for it in copies)
    where = f"to {name}:{visible(compared.place)}" if send else f"from {name}"
    if not copies:
        if not args.json:
            out.print(f"Nothing is newer {'here' if send else f'on {name}'}.")
    elif size > MUCH and not args.yes and not _yes(len(copies), size, where, args, out):
        out.warn("Nothing was copied.")
        return 0
    title = f"{'Sending' if send else 'Fetching'} {where}" if len(where) < 40 else "Copying"
    bar = ProgressBar(out, title, file_size)
    steps = copy.send_now(transfer) if send else copy.fetch_now(transfer)
    try:
        last = run_async(_followed(steps, bar))
    except KeyboardInterrupt:
        bar.close()
        out.note("Interrupted. Copied files are kept; the same command copies the rest.")
        raise
    finally:
        bar.close()
    notices = (*compared.transfer.notices, *last.notices)
    for notice in notices:
        out.warn(notice)
    if args.json:
        to = (copy.cluster.name, compared.place)
        out.json(Copied(*to, last.done_files, last.done_bytes, notices))
    elif copies:
        done = plural(last.done_files, "file")
        out.print(f"{done}, {file_size(last.done_bytes)}, copied {where}.")
    _say_left(compared.transfer, name, out)
    return 1 if last.done_files < last.files else 0


async def _followed(
    steps: AsyncGenerator[files.TransferProgress, None], bar: ProgressBar
) -> files.TransferProgress:
    """Draw the bar; return the end of the transfer."""
    async with contextlib.aclosing(steps) as going:
        async for last in going:
            bar(last.done_bytes, last.bytes)
    return last


def _say_left(transfer: Transfer, name: str, out: Output) -> None:
    if transfer.conflicts:
        number = plural(len(transfer.conflicts), "conflict was", "conflicts were")
        out.warn(f"{number} left alone; 'rowtui mirror {name}' shows both sides")


def _yes(number: int, size: int, where: str, args: argparse.Namespace, out: Output) -> bool:
    question = f"Copy {plural(number, 'file')}, {file_size(size)}, {where}?"
    return ask(question, out, default=False, as_json=args.json)


def _remove(copy: CopyByHand, out: Output) -> int:
    """Remove the copy if the user types the cluster's exact name."""
    name = copy.cluster.name

    async def look() -> Any:
        await copy.where()
        with Busy(out, f"Comparing with {visible(name)}"):
            return await copy.look_before_leaving()

    leaving = run_async(look())
    out.print(f"{visible(name)}:{visible(leaving.place)} will be deleted with all that is in it.")
    if leaving.only_there:
        gone = plural(len(leaving.only_there), "file that is", "files that are")
        out.print(
            f"{gone} deleted here will then be nowhere: {visible(leaving.only_there[0])}, ..."
        )
    hint = "only the cluster's name, typed or given on standard input, deletes the copy"
    if answer_to(f"Type {visible(name)} to delete it: ", hint) != name:
        out.warn("Nothing was deleted.")
        return 0
    with Busy(out, "Deleting"):
        run_async(copy.remove())
    out.print("Deleted.")
    return 0
