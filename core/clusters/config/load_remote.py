"""Read `[cluster.ssh]`, `poll` and `query_timeout` of rowtui's clusters.toml.

The input is a table of the file; the result is a `Remote`, or None if there is a mistake. Every
mistake is reported with its position. The module is imported only if a cluster has such a setting.
Whether the host answers and the files exist is checked only when a connection is made.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from rowtui.core.base.text import has_control, visible
from rowtui.core.clusters.config.cluster_keys import MIRROR_FORM, TRANSPORTS
from rowtui.core.clusters.model import PathPrefix, Remote
from rowtui.core.clusters.transports.login import SshTarget
from rowtui.core.workflow.toml_file import TomlTable


def ssh_target(remote: Remote) -> SshTarget:
    """Return the machine to log in to."""
    files = tuple(Path(file).expanduser() for file in remote.config)
    return SshTarget(remote.host, remote.user, remote.port, files or None)


def load_remote(cluster: TomlTable) -> Remote | None:
    """Return the settings of `[cluster.ssh]`; None if there is an error."""
    before = len(cluster.file.problems)
    table = cluster.table("ssh")
    if table is None:
        return None
    host, user = table.string("host"), table.string("user")
    for key, target in (("host", SshTarget(host or "x")), ("user", SshTarget("x", user or ""))):
        if complaint := target.complaint:
            table.problem(key, complaint)
    if host == "":
        table.problem("host", SshTarget(host).complaint)
    transport = table.string("transport") or TRANSPORTS[0]
    remote = Remote(
        host=host or "",
        user=user or "",
        port=table.integer("port") or 0,
        transport=transport,
        paths=_prefixes(table),
        mirror=_mirror(table),
        config=_config(table, transport),
    )
    return remote if len(cluster.file.problems) == before else None


def _mirror(table: TomlTable) -> str:
    default = Remote("").mirror
    mirror = table.string("mirror")
    if mirror is None:
        return default
    if not re.match(MIRROR_FORM, mirror) or ".." in PurePosixPath(mirror).parts:
        hint = "begin with `/`, `~/` or `$VARIABLE/`: the folder is on the cluster"
        table.problem("mirror", f"`mirror` cannot be '{visible(mirror)}'", hint)
        return default
    return mirror


def _config(table: TomlTable, transport: str) -> tuple[str, ...]:
    files = table.strings("config") or ()
    for index, file in enumerate(files):
        if not file.startswith(("/", "~/")) or has_control(file):
            text = f"element {index} of `config` cannot be '{visible(file)}'"
            table.problem(("config", index), text, "begin with `/` or `~/`")
    if len(files) > 1 and transport == "openssh":
        hint = "name one file that has an Include for each of the others"
        table.problem("config", "`ssh` reads only one file", hint)
    return files


def _prefixes(table: TomlTable) -> tuple[PathPrefix, ...]:
    found: dict[str, PathPrefix] = {}
    for element in table.tables("paths") or ():
        local, remote = (_absolute(element, key) for key in ("local", "remote"))
        if local is None or remote is None:
            continue
        if local in found:
            text = f"`local` repeats '{visible(local)}', which is {visible(found[local].remote)}"
            element.problem("local", text, "each folder of this machine is one folder there")
            continue
        found[local] = PathPrefix(local, remote)
    return tuple(found.values())


def _absolute(table: TomlTable, key: str) -> str | None:
    """Return an absolute path without `.`, doubled slashes and a slash at its end."""
    text = table.string(key)
    if text is None:
        return None
    path = PurePosixPath("/" + text.lstrip("/") if text.startswith("/") else text)
    if not path.is_absolute() or ".." in path.parts:
        hint = "write it in full, from the first `/` on"
        table.problem(key, f"`{key}` is not an absolute path: '{visible(text)}'", hint)
        return None
    return str(path)


# Map a folder of this machine to its path on a cluster that shares its file system.
#
# The input is a path and the pairs of prefixes of `[cluster.ssh] paths`; the result is the path on
# the cluster, or None if no prefix matches. The longest prefix is used, by whole folder names. A
# path is tried as it is written, then with its symbolic links resolved (`/home/me/project` may be a
# link into `/scratch`, which the cluster shares), and finally with the links of the prefixes
# resolved as well (if `/home` is a link to `/data/home`, the current folder is below `/data/home`).


def remote_path(path: Path, paths: Sequence[PathPrefix]) -> PurePosixPath | None:
    """Return the path of the same file or folder on the cluster; None if no prefix matches.

    `path` is absolute; it need not exist. A path with `..` is tried only with its links resolved,
    because the meaning of `..` depends on the links.
    """
    there = None if ".." in path.parts else mapped(PurePosixPath(path), paths)
    if there is not None or not paths:
        return there
    real = _real(str(path))
    if real is None:
        return None
    real_paths = [
        pair._replace(local=local) for pair in paths if (local := _real(pair.local)) is not None
    ]
    there = mapped(PurePosixPath(real), paths)
    return mapped(PurePosixPath(real), real_paths) if there is None else there


def mapped(path: PurePosixPath, paths: Sequence[PathPrefix]) -> PurePosixPath | None:
    """Replace the longest matching prefix of a path, without resolving links."""
    fitting = [pair for pair in paths if path.is_relative_to(pair.local)]
    if not fitting:
        return None
    best = max(fitting, key=lambda pair: len(PurePosixPath(pair.local).parts))
    return PurePosixPath(best.remote, path.relative_to(best.local))


def _real(path: str) -> str | None:
    """Return the path with its links resolved; None if it cannot be read from this machine."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return None
