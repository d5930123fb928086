"""The object that is being read, with the places of its values and its problems.

The methods take nodes with their places, make messages that name them, and record every problem
with its line and column.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rowtui.core.base.errors import Problem
from rowtui.core.base.text import visible
from rowtui.core.mapping.model.entities import Entity
from rowtui.core.mapping.model.fields import UNKNOWN_KEY
from rowtui.core.mapping.model.origin import FilePosition, Origin, Said
from rowtui.core.mapping.yaml.nodes import Items, Node, Scalar, YamlTable
from rowtui.core.workflow.toml_file import did_you_mean

_ALL_CODES: frozenset[str] = frozenset()


def quoted(name: str) -> str:
    """Return a name from the file, for a message."""
    return f"`{visible(name if len(name) <= 80 else name[:77] + '...')}`"


def kind_of_node(node: Node) -> str:
    """Return the kind of a node with its article: `a map`, `a list`, `text`, ..."""
    if isinstance(node, YamlTable):
        return "a map"
    if isinstance(node, Items):
        return "a list"
    if node.value is None:
        return "empty"
    if isinstance(node.value, bool):
        return "true or false"
    return "text" if isinstance(node.value, str) else "a number"


class Subject:
    """The object whose properties are being read: an entity, a rule, or a section of the file.

    `words`: its name in messages; `error`: the first of its errors; `silenced`: the codes of lint
    messages that it silences (the empty set: all, None: none).
    """

    __slots__ = ("entity", "error", "problems", "silenced", "words")

    def __init__(
        self,
        entity: Entity,
        words: str,
        problems: list[Problem],
        silenced: frozenset[str] | None = None,
    ) -> None:
        self.entity = entity
        self.words = words
        self.problems = problems
        self.silenced = silenced
        self.error: Problem | None = None

    def say(self, field: str, value: Any, place: FilePosition) -> None:
        """Do the same as `Entity.say` without `_replace`, which would take most of the time."""
        entity = self.entity
        kind, name, _, rule, sealed = entity.origin
        said = Said(value, Origin(kind, name, place, rule, sealed))
        entity.said[field] = (said, *entity.said.get(field, ()))

    def wrong(self, place: FilePosition, message: str, hint: str = "") -> None:
        """Record an error."""
        problem = Problem(*place, message, hint)
        self.problems.append(problem)
        if self.error is None:
            self.error = problem

    def doubt(self, place: FilePosition, message: str, hint: str = "") -> None:
        """Record a warning."""
        self.problems.append(Problem(*place, message, hint, "warning"))

    def unexpected(self, key: Scalar, where: str, known: Iterable[str], hint: str = "") -> None:
        """Record a key that nothing reads."""
        if self.silenced == _ALL_CODES or (self.silenced and UNKNOWN_KEY in self.silenced):
            return
        names = list(known)
        message = f"unknown key {quoted(key.text)} in {where} is ignored ({UNKNOWN_KEY})"
        hint = hint or did_you_mean(key.text, names)
        known_ones = f"known are {', '.join(names)}" if len(names) < 10 else "remove it"
        self.doubt(key.place, message, hint or known_ones)

    def mismatch(self, key: Scalar, node: Node, wanted: str, hint: str = "") -> None:
        """Record a value of the wrong kind."""
        found = kind_of_node(node)
        message = f"{quoted(key.text)} of {self.words} must be {wanted}, but is {found}"
        self.wrong(node.place if isinstance(node, Scalar) else key.place, message, hint)

    def table(self, key: Scalar, node: Node, wanted: str = "a map") -> YamlTable | None:
        """Return the node as a map; for any other node, record a problem and return None."""
        if isinstance(node, YamlTable):
            return node
        self.mismatch(key, node, wanted, f"write `{visible(key.text)}:` and indented below it keys")
        return None


def value_place(key: Scalar, node: Node) -> FilePosition:
    """Return the place of a value: the first line of a text; the key of a map or list."""
    if type(node) is not Scalar:
        return key.place
    place = node.place
    return place if node.text_line == place.line else FilePosition(place.file, node.text_line, 1)
