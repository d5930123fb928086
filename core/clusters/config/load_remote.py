"""Read `[cluster.ssh]`, `poll` and `query_timeout` of rowtui's clusters.toml.

The input is a table of the file; the result is a `Remote`, or None if there is a mistake. Every
mistake is reported with its position. The module is imported only if a cluster has such a setting.
Whether the host answers and the files exist is checked only when a connection is made.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from rowtui.core.base.text import has_control, visible
from rowtui.core.clusters.model import PathPrefix, Remote
from rowtui.core.clusters.transports.login import SshTarget
from rowtui.core.workflow.toml_file import TomlTable, kind_of

TRANSPORTS = ("asyncssh", "openssh")
_LONGEST = {"poll": 86400, "query_timeout": 600}  # seconds
_MEANINGS = {
    "poll": "the seconds between two looks at the queue",
    "query_timeout": "the seconds that the scheduler may take for one answer",
}

_SSH = ("host", "user", "port", "transport", "mirror", "config", "paths")
_PREFIX = ("local", "remote")
_LARGEST_PORT = (1 << 16) - 1
_MIRROR = re.compile(r"(/|~/|\$[A-Za-z_][A-Za-z0-9_]*/)")


def ssh_target(remote: Remote) -> SshTarget:
    """Return the machine to log in to."""
    files = tuple(Path(file).expanduser() for file in remote.config)
    return SshTarget(remote.host, remote.user, remote.port, files or None)


def load_remote(cluster: TomlTable) -> Remote | None:
    """Return the settings of `[cluster.ssh]`; None if there is an error."""
    before = len(cluster.file.problems)
    table = cluster.table("ssh")
    if table is None:
        hint = 'write it as a table: ssh.host = "..."'
        cluster.file.problems[-1] = cluster.file.problems[-1]._replace(hint=hint)
        return None
    table.only(_SSH)
    if "host" not in table:
        hint = 'the name of the login node, or a Host of ~/.ssh/config: host = "..."'
        table.problem((), "`cluster.ssh` is missing `host`", hint)
    host, user = table.string("host"), table.string("user")
    for key, target in (("host", SshTarget(host or "x")), ("user", SshTarget("x", user or ""))):
        if complaint := target.complaint:
            table.problem(key, complaint)
    if host == "":
        table.problem("host", SshTarget(host).complaint)
    port = table.integer("port", at_least=1)
    if port is not None and port > _LARGEST_PORT:
        table.problem("port", f"`port` is {port} but must be at most {_LARGEST_PORT}")
    transport = table.choice("transport", TRANSPORTS) or TRANSPORTS[0]
    remote = Remote(
        host=host or "",
        user=user or "",
        port=port or 0,
        transport=transport,
        paths=_prefixes(table),
        mirror=_mirror(table),
        config=_config(table, transport),
    )
    return remote if len(cluster.file.problems) == before else None


def load_seconds(cluster: TomlTable, key: str) -> float | None:
    """Return `poll` or `query_timeout` of a cluster; None if it is not set or invalid."""
    if key not in cluster:
        return None
    value, longest = cluster.values[key], _LONGEST[key]
    if not isinstance(value, int | float) or isinstance(value, bool):
        hint = f"write {_MEANINGS[key]}: {key} = 60"
        cluster.problem(key, f"`{key}` must be a number, not {kind_of(value)}", hint)
        return None
    if not (math.isfinite(value) and 1 <= value <= longest):
        text = f"`{key}` is {value} but must be between 1 and {longest} seconds"
        cluster.problem(key, text)
        return None
    return float(value)


def _mirror(table: TomlTable) -> str:
    default = Remote("").mirror
    mirror = table.line("mirror")
    if mirror is None:
        return default
    if not _MIRROR.match(mirror) or ".." in PurePosixPath(mirror).parts:
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
        element.only(_PREFIX)
        ends = [_absolute(element, key) for key in _PREFIX]
        local, remote = ends
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
    if key not in table:
        table.problem((), f"the pair of paths is missing `{key}`")
        return None
    text = table.line(key)
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
