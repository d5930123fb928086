"""Places in mapping files."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A position in a file. `line` and `column` count from 1; 0 means the whole file."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """Return `file:line`, the form that editors and compilers use."""
        return f"{self.file}:{self.line}" if self.line else self.file
