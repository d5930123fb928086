"""Many plain names as the lines of a script, without an object for each name.

The input is the names as bytes, each ended by a newline; the result is a sequence of names that
also has them as one text. This form holds only names that bash reads without quotes; a caller with
other names keeps them one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.submission.scripts.quote import PLAIN_BYTES

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
