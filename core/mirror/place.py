"""Find or make a project's copy on a cluster, and check that it is this project's copy.

The input is a place as the user writes it (`~/rowtui`, `$SCRATCH/copies`). The folder is made with
a marker that names the project and the machine that it belongs to. A folder with files and without
a marker, or with the marker of another project, is never written to.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.text import visible
from rowtui.core.mirror.model import MARKER, CopyFailure, MirrorError, explain_result

if TYPE_CHECKING:
    from rowtui.core.clusters.command_log import CommandResult
    from rowtui.core.clusters.commands import Transport
    from rowtui.core.mirror.manifest import Manifest

_PLACE = re.compile(
    r"(?:\$([A-Za-z_][A-Za-z0-9_]*)|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|(~))(?:/(.*))?", re.S
)
_NO_VARIABLE, _TAKEN, _NONE = 7, 8, 9
# $1: a variable or nothing, $2: the rest, $3: the marker of this project, $4: a random name, $5:
# the place of the copy in the manifest, $6: whether to make the folder. The script prints the place
# and the marker. It touches the marker, because scratch file systems remove old files.
_EXPAND = f"""
place=$2
if [ -n "$1" ]; then
    eval "base=\\${{$1-}}"
    case $base in /*) ;; *) exit {_NO_VARIABLE};; esac
    place=${{base%/}}/$2
fi
"""
_RESOLVE = f"""{_EXPAND}
if [ -n "$6" ]; then mkdir -p -- "$place"; else [ -e "$place" ] || exit {_NONE}; fi
cd -- "$place" || exit 1
place=$(pwd -P && printf x) && place=${{place%??}}
if ! [ -e {MARKER} ]; then
    if [ -n "$(ls -A | head -n 1)" ] && [ "$place" != "$5" ]; then
        printf '%s' "$place"; exit {_TAKEN}
    fi
    [ -n "$6" ] || exit {_NONE}
    printf '%s\\n' "$3" > "{MARKER}.$4" || exit 1
    ln "{MARKER}.$4" {MARKER} 2>/dev/null || mv -n -- "{MARKER}.$4" {MARKER}
    rm -f -- "{MARKER}.$4"
fi
printf '%s\\0' "$place"; touch -c {MARKER} 2>/dev/null; cat {MARKER}
"""
# $1: the place, $2: the id that its marker must contain. The marker is removed last, so that an
# interrupted removal can be repeated.
_REMOVE = f"""
cd -- "$1" && [ "$(pwd -P)" = "$1" ] && grep -qF -- "\\"id\\": \\"$2\\"" {MARKER} || exit {_TAKEN}
find . -mindepth 1 -maxdepth 1 ! -name {MARKER} -exec rm -rf -- {{}} + || exit 1
rm -f -- {MARKER} && cd .. && rmdir -- "$1"
"""
_REMOVE_SECONDS = 3600.0


# Whether the place, or the folder in which it would be made, can be written to.
_TRY = f"""{_EXPAND}
while ! [ -e "$place" ]; do place=$(dirname -- "$place"); done
t=$(mktemp -- "$place/.rowtui-XXXXXX") || exit 1
head -c 65536 /dev/zero > "$t"; s=$?; rm -f -- "$t"; exit $s
"""


class Resolved(NamedTuple):
    """A copy that exists and belongs to this project."""

    path: str  # absolute, without links
    copy_id: str


def default_place(mirror: str, root: Path) -> str:
    """Return the place of a project's copy below `mirror` (`Remote.mirror`), not yet expanded.

    Projects whose folders have the same name get different places if their machines or paths
    differ.
    """
    whole = "\0".join(_owner(root).values())
    code = hashlib.sha256(os.fsencode(whole)).hexdigest()[:8]
    return f"{mirror.rstrip('/')}/{os.path.basename(os.path.realpath(root)) or 'project'}-{code}"


async def resolve(
    transport: Transport,
    place: str,
    root: Path,
    manifest: Manifest,
    where: str,
    *,
    make: bool = True,
) -> Resolved | None:
    """Return the copy's folder, made if it is missing; None if it is missing and `make` is false.

    Raises: MirrorError.
    """
    variable, rest = _parts(place, where)
    ours = _owner(root)
    copy_id = manifest.copy_id or os.urandom(8).hex()
    marker = json.dumps({"rowtui": 1, **ours, "id": copy_id})
    words = (variable, rest, marker, os.urandom(8).hex(), manifest.place, "make" if make else "")
    result = await transport.run(
        ["sh", "-c", _RESOLVE, "sh", *words], timeout=60.0, env={"LC_ALL": "C"}
    )
    if result.exit_status == _NONE and not make:
        return None
    _refuse_no_variable(result, variable, where)
    if result.exit_status == _TAKEN:
        raise _taken(os.fsdecode(result.stdout), where, "has files and is no copy of a project")
    if result.exit_status != 0:
        raise explain_result(result, where, f"making {visible(place)}")
    path, _, text = result.stdout.partition(b"\0")
    try:
        found_marker = json.loads(text)
        host, of, found_id = (str(found_marker[key]) for key in ("host", "path", "id"))
    except (ValueError, TypeError, KeyError):
        raise _taken(os.fsdecode(path), where, f"has a {MARKER} that cannot be read") from None
    if found_id != copy_id and {"host": host, "path": of} != ours:
        raise _taken(os.fsdecode(path), where, f"is the copy of {visible(of)} of {visible(host)}")
    return Resolved(os.fsdecode(path), found_id)


async def refuse_unwritable(transport: Transport, place: str, where: str) -> None:
    """Try whether copies can be made below a place; leave nothing there. Raises: MirrorError."""
    variable, rest = _parts(place, where)
    result = await transport.run(
        ["sh", "-c", _TRY, "sh", variable, rest], timeout=60.0, env={"LC_ALL": "C"}
    )
    _refuse_no_variable(result, variable, where)
    if result.exit_status != 0:
        raise explain_result(result, where, f"making copies below {visible(place)}")


def _parts(place: str, where: str) -> tuple[str, str]:
    """Return the variable that a place begins with, or "", and the rest. Raises: MirrorError."""
    if found := _PLACE.fullmatch(place):
        return found[1] or found[2] or "HOME", found[4] or ""
    if place.startswith("/"):
        return "", place
    raise MirrorError(
        CopyFailure.OTHER,
        f"{visible(place)} cannot be the place of a copy on {where}",
        "`mirror` is an absolute path, or begins with `~/` or `$VARIABLE/`",
    )


def _refuse_no_variable(result: CommandResult, variable: str, where: str) -> None:
    if result.exit_status == _NO_VARIABLE:
        raise MirrorError(
            CopyFailure.OTHER,
            f"there is no ${variable} on {where}, or it is no absolute path",
            "commands over SSH read few start-up files: name the folder itself as `mirror`",
        )


async def remove(transport: Transport, copy: Resolved, where: str) -> None:
    """Remove a copy with all files in it, if its marker still has the id of this copy.

    Raises: MirrorError.
    """
    result = await transport.run(
        ["sh", "-c", _REMOVE, "sh", copy.path, copy.copy_id],
        timeout=_REMOVE_SECONDS,
        env={"LC_ALL": "C"},
    )
    if result.exit_status == _TAKEN:
        raise _taken(copy.path, where, "is not this copy any more")
    if result.exit_status != 0:
        raise explain_result(result, where, f"removing {visible(copy.path)}")


def _owner(root: Path) -> dict[str, str]:
    return {"host": socket.gethostname(), "path": os.path.realpath(root)}


def _taken(path: str, where: str, what: str) -> MirrorError:
    return MirrorError(
        CopyFailure.TAKEN,
        f"{visible(path)} on {where} {what}",
        "name another folder as `mirror`, or move that one away",
    )
