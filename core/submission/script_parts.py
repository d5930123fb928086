"""A job's script taken apart, to put the scripts of arrays and bundles together of the parts.

Takes a script that `script.py` made; gives its header, what is that job's own (token, directories,
values, resources in words), and the rest after the fixed part, which jobs of one action share.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rowtui.core.submission.shell import PRELUDE

_HEADER_ENDS = re.compile(r"\n(?!#)")
_MARK = 24  # characters that are hardly anywhere else
FIXED = PRELUDE.strip("\n")  # the same in every script


class ScriptParts(NamedTuple):
    """A script is `header`, `own`, the fixed part, and `rest`."""

    header: tuple[str, ...]
    own: str
    rest: str


def split_script(script: str) -> ScriptParts | None:
    """The parts of a script; None if it does not have them."""
    cut = cut_at(script, FIXED)
    if cut is None:
        return None
    before, rest = cut
    if not before.startswith("#"):
        return ScriptParts((), before, rest)
    end = _HEADER_ENDS.search(before)
    if end is None:
        return ScriptParts(tuple(before.split("\n")), "", rest)
    return ScriptParts(tuple(before[: end.start()].split("\n")), before[end.end() :], rest)


def cut_at(script: str, fixed: str) -> tuple[str, str] | None:
    """What stands before and after the first `fixed`; None if it is not there.

    It is found by its beginning: a search for thousands of characters first prepares for as many,
    which takes longer than everything else here.
    """
    mark = fixed[:_MARK]
    at = script.find(mark)
    while at >= 0:
        if script.startswith(fixed, at):
            return script[:at], script[at + len(fixed) :]
        at = script.find(mark, at + 1)
    return None
