"""Pack small files into a tar archive in memory, and unpack such an archive.

Modification times keep all their digits, and names keep their bytes (PAX headers).
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import tarfile
from collections.abc import Sequence
from pathlib import Path

from rowtui.core.base.text import visible
from rowtui.core.mirror.compare import Copy
from rowtui.core.mirror.facts import FILE, FOLDER, FileFacts
from rowtui.core.mirror.transfer.arriving import make_link, write_whole

_TIME = re.compile(r"([0-9]{1,9}|[0-8][0-9]{9})(?:\.([0-9]*))?")  # until the year 2255
_NAMES = {"encoding": "utf-8", "errors": "surrogateescape"}


def packed(root: Path, copies: Sequence[Copy], largest: int) -> tuple[bytes, list[str]]:
    """Return an archive of these files, and notices about files that are not in the archive.

    `largest`: the most bytes that a file may have.
    """
    buffer = io.BytesIO()
    missing = []
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT, **_NAMES) as archive:  # type: ignore[call-overload]
        for copy in copies:
            member = tarfile.TarInfo(copy.path)
            try:
                if copy.facts.kind == FOLDER:
                    member.type, member.mode = tarfile.DIRTYPE, 0o755
                    archive.addfile(member)
                elif copy.facts.kind == FILE:
                    data = _read(root / copy.path, largest, member)
                    archive.addfile(member, io.BytesIO(data))
                else:
                    member.type, member.linkname = tarfile.SYMTYPE, os.readlink(root / copy.path)
                    archive.addfile(member)
            except OSError as error:
                missing.append(f"{visible(copy.path)} was not sent: {error.strerror or error}")
    return buffer.getvalue(), missing


def _read(place: Path, largest: int, member: tarfile.TarInfo) -> bytes:
    fd = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        data = file.read(largest + 1)
    if not stat.S_ISREG(status.st_mode) or len(data) > largest:
        raise OSError("it changed meanwhile")
    member.size = len(data)
    member.mode = status.st_mode & 0o755
    member.mtime = int(status.st_mtime)
    seconds, nanoseconds = divmod(status.st_mtime_ns, 10**9)
    # tar programs disagree on the fraction of a negative time in this format.
    if seconds >= 0:
        member.pax_headers = {"mtime": f"{seconds}.{nanoseconds:09d}"}
    return data


def unpack(root: Path, copies: Sequence[Copy], data: bytes) -> list[str]:
    """Write these files from an archive; return notices about files that are not in the archive.

    Raises: OSError if a file cannot be written.
    """
    wanted = {copy.path: copy for copy in copies}
    for path, copy in wanted.items():
        if copy.facts.kind == FOLDER:
            os.makedirs(root / path, exist_ok=True)
        elif copy.facts.kind != FILE:
            os.makedirs((root / path).parent, exist_ok=True)
            make_link(root / path, copy.facts.target)
    left = {path for path, copy in wanted.items() if copy.facts.kind == FILE}
    with contextlib.suppress(tarfile.TarError, ValueError), tarfile.open(
        fileobj=io.BytesIO(data), mode="r:", **_NAMES  # type: ignore[call-overload]
    ) as archive:  # fmt: skip
        for member in archive:
            path = member.name.removeprefix("./")
            # A sparse member may have a size larger than the whole archive, made of zeros only:
            # skip it.
            if path not in left or not member.isreg() or member.size > len(data):
                continue
            file = archive.extractfile(member)
            assert file is not None
            os.makedirs((root / path).parent, exist_ok=True)
            write_whole(root / path, file.read(), _facts(member, wanted[path].facts))
            left.discard(path)
    return [f"{visible(path)} could not be read there" for path in sorted(left)]


def _facts(member: tarfile.TarInfo, planned: FileFacts) -> FileFacts:
    """Return the facts with the time from the archive, which is the time of the content read."""
    time = _TIME.fullmatch(member.pax_headers.get("mtime", ""))
    if time is None:
        return planned
    return planned._replace(mtime_ns=int(time[1]) * 10**9 + int((time[2] or "")[:9].ljust(9, "0")))
