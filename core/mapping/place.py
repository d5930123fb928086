"""Where in a mapping file something stands."""

from __future__ import annotations

from typing import NamedTuple


class Place(NamedTuple):
    """A position in a file. `line` and `column` count from 1; 0 means the whole file."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """`file:line`, as editors and compilers write it."""
        return f"{self.file}:{self.line}" if self.line else self.file
