"""The origin of every value in an entity."""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.base.text import visible

# Places in mapping files.


class FilePosition(NamedTuple):
    """A position in a file. `line` and `column` count from 1; 0 means the whole file."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        """Return `file:line`, the form that editors and compilers use."""
        return f"{self.file}:{self.line}" if self.line else self.file


class Origin(NamedTuple):
    """The entity (and its rule) that a value comes from, and the place of the value.

    `kind`: tool, role, user, rule, destination, pool, global, request (values of the action itself
    in workflow.toml), or what-if. `sealed`: the file is not trusted.
    """

    kind: str
    id: str
    place: FilePosition = FilePosition("")
    rule: str = ""
    sealed: bool = False

    def __str__(self) -> str:
        """Return `rule R of tool T in F:L`."""
        text = f"{self.kind} {visible(self.id)}" if self.id else self.kind
        if self.rule:
            text = f"rule {visible(self.rule)} of {text}"
        return f"{text} in {self.place}" if self.place.file else text
