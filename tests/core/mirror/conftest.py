"""Names that nobody likes, and trees of real files."""

from __future__ import annotations

import os
from pathlib import Path

HOSTILE = (
    "plain.txt",
    "with space",
    "quote's",
    'double"quote',
    "new\nline",
    "ends in newline\n",
    "-leading dash",
    "--files-from=x",
    "#comment",
    "; comment",
    "esc\x1b[31mape",
    "back\\slash",
    "back\\nslash",
    "not\udcffutf8",
    "ümläut",
    "star*",
    "[x]",
    "$(touch gone)",
    "`touch gone`",
    "host:path",
    "!bang",
    "~",
    "%s%n",
    "tab\tand\rreturn",
    "a" * 255,
)


def fill(root: Path, names: tuple[str, ...] = HOSTILE) -> dict[str, bytes]:
    """Files with these names, at the top and in a folder of each name; what they hold."""
    made = {}
    for number, name in enumerate(names):
        for path in (name, f"in/{name}", f"in {name[:200]}/{name}"):
            data = b"%d " % number + os.fsencode(path)
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            os.utime(place, ns=(1, 1_600_000_000_123_456_789 + number))
            made[path] = data
    return made


def content(root: Path) -> dict[str, bytes]:
    """All files of a tree and what they hold; links as what they lead to."""
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            place = Path(folder) / name
            path = os.path.relpath(place, root)
            link = place.is_symlink()
            found[path] = b"-> " + os.fsencode(place.readlink()) if link else place.read_bytes()
    return found
