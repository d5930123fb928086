"""A job's script taken apart, to put the scripts of arrays and bundles together of the parts.

Takes a script that `script.py` made; gives its header, what is that job's own (token, directories,
values, resources in words), and the rest after the fixed part, which jobs of one action share.
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.submission.shell import PRELUDE

FIXED = PRELUDE.strip("\n")  # the same in every script


class ScriptParts(NamedTuple):
    """A script is `header`, `own`, the fixed part, and `rest`."""

    header: tuple[str, ...]
    own: str
    rest: str


def split_script(script: str) -> ScriptParts | None:
    """The parts of a script; None if it does not have them."""
    before, fixed, rest = script.partition(FIXED)
    if not fixed:
        return None
    lines = before.split("\n")
    count = next((at for at, line in enumerate(lines) if not line.startswith("#")), len(lines))
    return ScriptParts(tuple(lines[:count]), "\n".join(lines[count:]), rest)
