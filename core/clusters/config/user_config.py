"""Append an entry to rowtui's own clusters.toml, which users write by hand.

The existing text is not changed, a backup of it is kept beside the file, and an entry that would
not be read as intended is not written.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.files import (
    own_config_folder,
    read_bounded,
    replace_file,
    row_config_folder,
    write_synced,
)
from rowtui.core.base.text import visible
from rowtui.core.clusters.config.cluster_keys import CLUSTER_KEYS
from rowtui.core.clusters.config.load import ClusterFile, load_clusters
from rowtui.core.workflow.toml_file import LARGEST_FILE, open_toml

# Find where in the user's files each cluster is described, for users who want to edit it.
#
# The input is the environment, which determines the files; the result is the name, file and line of
# every entry, including entries that only add something. Files that cannot be read are left out:
# `load_clusters` reports their errors.


class ClusterPlace(NamedTuple):
    """One `[[cluster]]` entry. `file`: safe to show."""

    name: str
    file: str
    line: int

    def __str__(self) -> str:
        """Return file and line, such as `/home/me/.config/rowtui/clusters.toml:12`."""
        return f"{self.file}:{self.line}" if self.line else self.file


def cluster_places(environ: Mapping[str, str]) -> tuple[ClusterPlace, ...]:
    """Return every entry of Row's file, then of rowtui's file, in their order."""
    found = []
    for folder in (row_config_folder(environ), own_config_folder(environ)):
        if folder is None:
            continue
        try:
            file = open_toml(folder / "clusters.toml", CLUSTER_KEYS)
        except RowtuiError:
            continue
        for table in () if file is None else file.top.tables("cluster") or ():
            name = table.values.get("name")
            if isinstance(name, str):
                line, _ = table.file.locate(table.path)
                found.append(ClusterPlace(name, table.file.file, line))
    return tuple(found)


FILE = "clusters.toml"
_MOST_BACKUPS = 1000


class Added(NamedTuple):
    """The written file. `backup`: the file with the previous content; None if there was no file."""

    file: Path
    backup: Path | None


def own_file(environ: Mapping[str, str]) -> Path:
    """Return rowtui's clusters.toml, which need not exist. Raises: RowtuiError without a home."""
    folder = own_config_folder(environ)
    if folder is None:
        raise RowtuiError("there is no folder for configuration", "set HOME or XDG_CONFIG_HOME")
    return folder / FILE


def add_entry(text: str, name: str, environ: Mapping[str, str]) -> Added:
    """Append an entry for the cluster `name`; `text` contains its node types.

    Raises: RowtuiError if the entry would not be read as intended, or cannot be written.
    """
    file = own_file(environ)
    try:
        target = file.resolve()  # a link to a file elsewhere remains a link
        before = _content(target)
        content = (before or b"") + (b"\n" if before else b"") + text.encode()
        _try_out(content, name, environ)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = 0o666 if before is None else target.stat().st_mode & 0o777
        backup = None if before is None else _keep(target, before, mode)
        if _content(target) != before:
            raise RowtuiError(f"{visible(str(file))} was changed meanwhile", "try once more")
        replace_file(target, content, mode)
    except OSError as error:
        text = f"{visible(str(file))} cannot be written: {error.strerror}"
        raise RowtuiError(text) from None
    return Added(file, backup)


def _content(path: Path) -> bytes | None:
    try:
        return read_bounded(path, LARGEST_FILE)
    except FileNotFoundError:
        return None


def _try_out(content: bytes, name: str, environ: Mapping[str, str]) -> None:
    """Read the new content from a temporary folder and compare it with the old problems.

    Raises: RowtuiError, OSError.
    """
    with tempfile.TemporaryDirectory(prefix="rowtui-") as folder:
        trial = Path(folder) / "rowtui" / FILE
        trial.parent.mkdir()
        trial.write_bytes(content)
        after = load_clusters({**environ, "XDG_CONFIG_HOME": folder})
    known = _mistakes(load_clusters(environ))
    new = [said for place, said in _mistakes(after).items() if place not in known]
    cluster = after.named(name)
    if new or cluster is None or not cluster.node_types:
        why = new or list(known.values()) or ["another description comes before it"]
        raise RowtuiError(
            f"nothing was written: in {FILE} it would not be read: {why[0]}",
            "correct the file first, or insert the text by hand",
        )


def _mistakes(file: ClusterFile) -> dict[tuple[str, int, str], str]:
    """Return the errors keyed by file name, line and message, independent of the folder."""
    return {
        (os.path.basename(it.file), it.line, it.message): f"line {it.line}: {it.message}"
        for it in file.problems
        if it.severity == "error"
    }


def _keep(target: Path, content: bytes, mode: int) -> Path:
    for number in range(1, _MOST_BACKUPS):
        backup = target.with_name(f"{target.name}.bak{number}")
        try:
            write_synced(backup, content, mode)
        except FileExistsError:
            continue
        return backup
    raise RowtuiError(f"there are too many copies beside {visible(str(target))}", "delete some")
