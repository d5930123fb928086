"""Findings of `rowtui doctor` on this machine: what would fail later, and what to do about it."""

from __future__ import annotations

import errno
import locale
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import platformdirs
from rowtui.cli.clusters.findings import (
    ERROR,
    OK,
    TOLERABLE_SECONDS,
    WARNING,
    DoctorFinding,
    Verdict,
)
from rowtui.core.base.text import count, file_size, is_utf8, visible
from rowtui.core.clusters.schedulers.local.scheduler import local_folder
from rowtui.core.project.open_project import OpenProject

_LEAST_ROOM = 100_000_000  # bytes; a plan for a million directories has about half of this
_LEAST_FILES = 1_000
_PROBE = bytes(1 << 16)  # more than a file system keeps beside a file's name
_REMEDIES = {
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "your quota is used up: `quota -s` shows it; remove files, or ask for more",
    errno.EROFS: "it is mounted for reading only",
    errno.EACCES: "`ls -ld` shows whose it is",
}


def terminal_findings() -> Iterator[DoctorFinding]:
    """Yield whether the terminal can draw the dashboard, and with which letters."""
    terminal = os.environ.get("TERM", "")
    if terminal in {"", "dumb"}:
        text = f"TERM is '{terminal}': the dashboard cannot be drawn"
        yield DoctorFinding("terminal", WARNING, text, "the commands work; 'rowtui show status'")
    else:
        colours = os.environ.get("COLORTERM") or "no COLORTERM: 256 colours at most"
        yield DoctorFinding("terminal", OK, f"{terminal}, {colours}")
    encodings = {locale.getpreferredencoding(do_setlocale=False), sys.stdout.encoding}
    if odd := sorted(it for it in encodings if not is_utf8(it)):
        text = f"the locale has {', '.join(odd)} in place of UTF-8: pictures are drawn with ASCII"
        hint = "export LC_ALL=C.UTF-8; `locale -a` lists others"
        yield DoctorFinding("locale", WARNING, text, hint)


def folder_findings(project: OpenProject | None) -> Iterator[DoctorFinding]:
    """Yield whether the folders that rowtui writes to accept files, and their room and clock."""
    home = os.environ.get("HOME", "")
    if not Path(home).is_absolute():
        text = f"HOME is '{visible(home)}'" if home else "HOME is not set"
        hint = "export HOME=..., the folder of your settings"
        yield DoctorFinding("home", ERROR, f"{text}: settings are not found", hint)
    if project is not None:
        hint = "you can look, but nothing can be submitted or remembered"
        yield from _folder("state", project.store.folder, hint, verdict=WARNING)
    own = platformdirs.user_state_path("rowtui")
    hint = "name another one in XDG_STATE_HOME"
    yield from _folder("state", own, f"{hint}: logins and lists of projects are kept there")
    queue = local_folder()
    if not queue.is_relative_to(own):
        hint = "the cluster 'local' needs it; name another one in ROWTUI_LOCAL_DIR"
        yield from _folder("queue", queue, hint, verdict=WARNING)


def _folder(
    topic: str, folder: Path, hint: str, *, verdict: Verdict = ERROR
) -> Iterator[DoctorFinding]:
    """Write a file of 64 kB into the folder, or where it would be made, and remove it."""
    there = next((it for it in (folder, *folder.parents) if it.exists()), Path(os.sep))
    shown = visible(str(there))
    try:
        with tempfile.NamedTemporaryFile(dir=there, prefix=".rowtui-", buffering=0) as file:
            file.write(_PROBE)
            os.fsync(file.fileno())
            ahead = os.fstat(file.fileno()).st_mtime - time.time()
        room = os.statvfs(there)
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0)
        hints = f"{remedy}\n{hint}" if remedy else hint
        yield DoctorFinding(topic, verdict, f"{shown} cannot be written: {error.strerror}", hints)
        return
    free = room.f_bavail * room.f_frsize
    yield DoctorFinding(topic, OK, f"{shown} can be written")
    if free < _LEAST_ROOM:
        yield DoctorFinding("room", WARNING, f"only {file_size(free)} are free in {shown}", hint)
    if room.f_files and room.f_favail < _LEAST_FILES:
        text = f"only {count(room.f_favail)} more files fit into the file system of {shown}"
        yield DoctorFinding("inodes", WARNING, text, "remove small files there, or ask for inodes")
    if abs(ahead) > TOLERABLE_SECONDS:
        side = "ahead of" if ahead > 0 else "behind"
        text = f"the clock of {shown} is {abs(ahead):,.0f} s {side} this machine's"
        hint = "new files may be overlooked: ask who looks after the file server"
        yield DoctorFinding("clock", WARNING, text, hint)
