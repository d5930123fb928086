"""Parts of a job's script, from which the scripts of arrays and bundles are assembled.

The input is a script from `script.py`. The result is its header, the job's own part (token,
directories, values, resources in words), and the rest after the fixed part, which jobs of one
action share.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rowtui.core.submission.scripts.shell import PRELUDE

_HEADER_ENDS = re.compile(r"\n(?!#)")
_MARK = 24  # characters that are very unlikely to occur elsewhere
FIXED = PRELUDE.strip("\n")  # the same in every script


class ScriptParts(NamedTuple):
    """A script consists of `header`, `own`, the fixed part, and `rest`."""

    header: tuple[str, ...]
    own: str
    rest: str


def split_script(script: str) -> ScriptParts | None:
    """Return the parts of a script; None if it does not have them."""
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
    """Return the text before and after the first `fixed`; None if `fixed` does not occur.

    The search uses only the beginning of `fixed`: a search for thousands of characters first builds
    a table of the same size, which takes longer than everything else here.
    """
    mark = fixed[:_MARK]
    at = script.find(mark)
    while at >= 0:
        if script.startswith(fixed, at):
            return script[:at], script[at + len(fixed) :]
        at = script.find(mark, at + 1)
    return None
