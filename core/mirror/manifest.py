"""The state of both sides of a mirror when both were last equal, stored between runs.

There is one file for each cluster, `.row/rowtui/mirror/<cluster>.json`: the copy's place and id,
and for each path the facts of both sides. The file is replaced as a whole; changes that another
process saved in the meantime are kept. If the file is lost or damaged, no file of the project is
lost: equal files are found by sizes, times and checksums, and any other difference is a conflict.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import read_bounded, replace_file
from rowtui.core.base.text import visible
from rowtui.core.mirror.compare import ManifestEntry
from rowtui.core.mirror.model import FILE, FOLDER, LINK, FileFacts, is_relative

VERSION = 1
_LIMIT = 1 << 30
_LETTERS = {FILE: "f", LINK: "l", FOLDER: "d"}
_KINDS = {letter: kind for kind, letter in _LETTERS.items()}


class Manifest(NamedTuple):
    """One manifest as read. `notice`: why the manifest is empty although a file existed."""

    place: str = ""  # the copy's absolute path on the cluster
    copy_id: str = ""
    entries: Mapping[str, ManifestEntry] = {}
    notice: str = ""

    def is_of(self, place: str, copy_id: str) -> bool:
        """Whether the manifest describes this copy."""
        return self.place == place and self.copy_id == copy_id


def manifest_path(root: Path, cluster: str) -> Path:
    """Return the path of the manifest of a project's copy on a cluster."""
    name = (
        quote(cluster, safe=" @+,=") if cluster not in (".", "..") else cluster.replace(".", "%2E")
    )
    return root / ".row" / "rowtui" / "mirror" / f"{name}.json"


def read_manifest(path: Path) -> Manifest:
    """Read the manifest; return an empty one if the file is missing or damaged.

    A damaged file is renamed to a name that ends in `.bad`. Raises: RowtuiError if the file exists
    and cannot be read, or has a later version.
    """
    try:
        data = read_bounded(path, _LIMIT)
    except FileNotFoundError:
        return Manifest()
    except OSError as error:
        raise RowtuiError(f"cannot read {visible(str(path))}: {error.strerror}") from None
    try:
        return _parsed(json.loads(data))
    except _LaterVersionError as error:
        raise RowtuiError(
            f"{visible(str(path))} has version {error}, this rowtui supports {VERSION}",
            "use the newer rowtui, or remove the file: both sides are then compared again",
        ) from None
    except (ValueError, TypeError, KeyError, RecursionError):
        with contextlib.suppress(OSError):
            os.replace(path, path.with_name(path.name + ".bad"))
        return Manifest(
            notice=f"{visible(path.name)} was damaged: both sides are compared by checksums"
        )


def save_manifest(
    path: Path,
    place: str,
    copy_id: str,
    changed: Mapping[str, ManifestEntry],
    forgotten: Collection[str],
) -> Manifest:
    """Change entries of the stored manifest. Raises: RowtuiError."""
    now = read_manifest(path)
    entries = dict(now.entries) if now.is_of(place, copy_id) else {}
    for gone in forgotten:
        entries.pop(gone, None)
    entries.update(changed)
    manifest = Manifest(place, copy_id, entries)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, _written(manifest))
    except OSError as error:
        raise RowtuiError(
            f"cannot write {visible(str(path))}: {error.strerror}",
            "the copied files are compared again the next time",
        ) from None
    return manifest


class _LaterVersionError(Exception):
    pass


def _written(manifest: Manifest) -> bytes:
    """Return the file's text: one line for each path for readability, in ASCII for all names."""
    lines = [
        f"{json.dumps(path)}: {json.dumps([_row(entry.here), _row(entry.there)])}"
        for path, entry in sorted(manifest.entries.items())
    ]
    head = json.dumps(
        {"version": VERSION, "place": manifest.place, "copy_id": manifest.copy_id}, indent=0
    )
    text = head.removesuffix("\n}") + ',\n"files": {\n' + ",\n".join(lines) + "\n}}\n"
    return text.encode("ascii")


def _row(facts: FileFacts | None) -> list[object] | None:
    if facts is None:
        return None
    return [_LETTERS[facts.kind], facts.size, facts.mtime_ns, facts.target, int(facts.executable)]


def _parsed(data: Any) -> Manifest:
    version = data["version"]
    if isinstance(version, int) and version > VERSION:
        raise _LaterVersionError(version)
    if version != VERSION:
        raise ValueError(version)
    place, copy_id, files = data["place"], data["copy_id"], data["files"]
    if not isinstance(place, str) or not isinstance(copy_id, str) or not isinstance(files, dict):
        raise TypeError
    entries = {}
    for path, (here, there) in files.items():
        if not is_relative(path):
            raise ValueError(path)
        entries[path] = ManifestEntry(_facts(here), _facts(there))
    return Manifest(place, copy_id, entries)


def _facts(row: Any) -> FileFacts | None:
    if row is None:
        return None
    letter, size, mtime_ns, target, executable = row
    if not (isinstance(size, int) and isinstance(mtime_ns, int) and isinstance(target, str)):
        raise TypeError
    return FileFacts(size, mtime_ns, _KINDS[letter], target, bool(executable))
