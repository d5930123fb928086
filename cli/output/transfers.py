"""Copies of files to clusters that do not share the project's folder: preview and progress."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.cli.output.output import Output
from rowtui.cli.output.progress import REDRAW_SECONDS
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import file_size, plural, visible

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.project.views.views import TransferView
    from rowtui.core.submission.plan.model import Plan

_CONFLICTS = 10  # that are named


def planned_transfers(project: OpenProject, plan: Plan) -> tuple[TransferView, ...]:
    """Return what would be copied to each cluster that needs a copy. Raises: RowtuiError."""
    if not any(cluster.remote for cluster in project.configured.clusters):
        return ()  # connections take long to load
    if not project.connections.copied(plan.jobs):
        return ()
    views: tuple[TransferView, ...] = project.wait(project.copies.preview(plan))
    return views


def say_transfers(views: Sequence[TransferView], out: Output) -> None:
    """Print a line for each cluster; with -v the files."""
    for view in views:
        cluster = visible(view.cluster)
        what = f"{plural(view.files, 'file')} ({file_size(view.size)})"
        if view.files:
            are = "is copied" if view.files == 1 else "are copied"
            first = f"{what} {are} to {cluster}:{visible(view.place)}"
        else:
            first = f"nothing has to be copied to {cluster}:{visible(view.place)}"
        back = ", ".join(map(visible, view.back))
        come = f"{back} and the logs come back" if back else "the logs come back"
        out.print(f"{out.style(cluster, 'bold')}: {first}; {come}.")
        for path in view.first:
            out.info(f"  {visible(path)}")
        if view.files > len(view.first) > 0:
            out.info(f"  and {view.files - len(view.first):,} more")
        for notice in view.notices:
            out.warn(f"{cluster}: {notice}")


def conflict_errors(views: Sequence[TransferView]) -> list[RowtuiError]:
    """Return the conflicts that the user has to decide before a submission."""
    errors = []
    for view in views:
        if view.conflicts:
            cluster = visible(view.cluster)
            shown = [f"  {visible(path)}" for path in view.conflicts[:_CONFLICTS]]
            if len(view.conflicts) > _CONFLICTS:
                shown.append(f"  and {len(view.conflicts) - _CONFLICTS:,} more")
            changed = plural(len(view.conflicts), "file has", "files have")
            text = "\n".join([f"{changed} changed here and on {cluster}:", *shown])
            errors.append(RowtuiError(text, f"'rowtui mirror {cluster}' shows both sides"))
    return errors


class CopyingLine:
    """The current copy, on one line of stderr that is updated; without a terminal only its end."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._text = ""
        self._drawn_at = 0.0

    @property
    def under_way(self) -> bool:
        """Whether a copy is in progress."""
        return bool(self._text)

    def show(self, text: str) -> None:
        """Show the progress."""
        self._text = text
        now = time.monotonic()
        if self._out.progress and now - self._drawn_at >= REDRAW_SECONDS:
            self._drawn_at = now
            self._draw()

    def close(self) -> None:
        """End the line; its last text stays."""
        if self._text and self._out.progress:
            self._draw()
            sys.stderr.write("\n" if self._out.keep_progress else "\r\x1b[K")
            sys.stderr.flush()
        elif self._text:
            self._out.note(self._text)
        self._text = ""

    def interrupted(self) -> None:
        """End the line after an interruption."""
        if self._text:
            if self._out.progress:
                sys.stderr.write("\n")
            self._text = ""
            self._out.note(
                "Interrupted while copying: no job was submitted. Copied files are kept; "
                "the same command copies the rest."
            )

    def _draw(self) -> None:
        text = visible(self._text)
        columns = shutil.get_terminal_size().columns
        if len(text) >= columns:  # a second line could not be erased
            text = f"{text[: columns - 2]}…"
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
