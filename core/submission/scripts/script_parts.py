"""Parts of a job's script, from which the scripts of arrays and bundles are assembled.

The input is a script from `script.py`. The result is its header, the job's own part (token,
directories, values, resources in words), and the rest after the fixed part, which jobs of one
action share.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rowtui.core.submission.scripts.quote import PLAIN_BYTES
from rowtui.core.submission.scripts.shell import PRELUDE

# Many plain names as the lines of a script, without an object for each name.
#
# The input is the names as bytes, each ended by a newline; the result is a sequence of names that
# also has them as one text. This form holds only names that bash reads without quotes; a caller
# with other names keeps them one by one.


_PLAIN_LINES = PLAIN_BYTES + b"\n"


class NameLines(Sequence[str]):
    """Names in order; `text` has each name on its own line, without a last newline."""

    __slots__ = ("_count", "_names", "text")

    def __init__(self, text: str, count: int) -> None:
        self.text = text
        self._count = count
        self._names: list[str] | None = None

    @classmethod
    def of(cls, lines: bytes, count: int) -> NameLines | None:
        """Return `count` names, each ended by a newline; None unless all are plain, not empty."""
        if lines.count(b"\n") != count or lines.translate(None, _PLAIN_LINES):
            return None
        if b"\n\n" in lines or lines.startswith(b"\n"):
            return None
        return cls(str(memoryview(lines)[:-1], "ascii"), count)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> str:  # type: ignore[override]
        if index == 0 and self._count:  # the name of a job needs only the first
            return self.text.partition("\n")[0] if self._count > 1 else self.text
        if self._names is None:
            self._names = self.text.split("\n") if self._count else []
        return self._names[index]


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
