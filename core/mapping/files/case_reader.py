"""Read a file of cases for `mapping test`.

The input is a YAML file with a list of cases; the output is a `MappingRequest` and the expected
result for each case, and the problems of the file with their places.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rowtui.core.base.errors import InvalidFileError, Problem
from rowtui.core.mapping.code.patterns import PatternError, compile_pattern
from rowtui.core.mapping.files.cases import (
    CASE_KEYS,
    EXPECT_KEYS,
    OUTCOMES,
    Case,
    Cases,
    ExpectedDecision,
    either,
)
from rowtui.core.mapping.files.subject import as_number, kind_of_node, quoted
from rowtui.core.mapping.model.decision import MappingOutcome
from rowtui.core.mapping.model.fields import AMOUNTS
from rowtui.core.mapping.model.origin import FilePosition
from rowtui.core.mapping.model.request import Amounts, MappingRequest, Person
from rowtui.core.mapping.yaml.nodes import Items, Node, Scalar, YamlTable, plain
from rowtui.core.mapping.yaml.text import read_yaml
from rowtui.core.workflow.toml_file import did_you_mean


def read_cases(data: bytes, name: str) -> Cases:
    """Parse the cases of a file called `name`: a list, or a map with the key `cases`.

    Never raises.
    """
    try:
        root = read_yaml(data, name)
    except InvalidFileError as error:
        return Cases((), error.problems)
    reading = _Reading(name)
    cases = tuple(reading.cases(root))
    return Cases(cases, tuple(reading.problems))


class _Reading:
    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []

    def wrong(self, place: FilePosition, message: str, hint: str = "") -> None:
        self.problems.append(Problem(place.file, place.line, place.column, message, hint))

    def cases(self, root: Node | None) -> Iterator[Case]:
        if isinstance(root, YamlTable):
            self.unknown(root, {"cases": ""}, "the file")
            entry = root.entries.get("cases")
            root = entry[1] if entry else None
        if root is None or (isinstance(root, Scalar) and root.value is None):
            self.wrong(
                FilePosition(self.file), "there are no cases", "begin each of them with `- name:`"
            )
            return
        if not isinstance(root, Items):
            message = f"cases are a list, but this is {kind_of_node(root)}"
            self.wrong(root.place, message, "begin each of them with `- name:`")
            return
        for number, item in enumerate(root.items, 1):
            before = len(self.problems)
            case = self.case(item, number)
            if case is not None and len(self.problems) == before:
                yield case

    def case(self, node: Node, number: int) -> Case | None:
        if not isinstance(node, YamlTable):
            self.wrong(node.place, f"case {number} must be a map, not {kind_of_node(node)}")
            return None
        name = self.text(node, "name", f"case {number}") or f"case {number}"
        words = f"case {quoted(name)}"
        self.unknown(node, CASE_KEYS, words)
        tools = [key for key in ("tool", "action") if key in node.entries]
        if len(tools) != 1:
            self.wrong(
                node.place,
                f"{words} names {'two tools' if tools else 'no tool'}",
                "write either `tool` or `action`" if tools else "write `tool:` and its id",
            )
            return None
        request = self.request(node, tools[0], words)
        return Case(name, node.place, request, self.expected(node, words))

    def request(self, node: YamlTable, tool: str, words: str) -> MappingRequest:
        amounts = Amounts(*(self.number(node, what, words) for what in AMOUNTS))
        attempt = self.number(node, "attempt", words)
        if attempt is not None and (attempt < 1 or attempt != int(attempt)):
            self.wrong(node.entries["attempt"][1].place, f"`attempt` of {words} counts from 1")
        values = self.list_of(node, "values", words)
        previous = node.entries.get("previous_params")
        return MappingRequest(
            tool_id=self.text(node, tool, words),
            user=self.person(node, words),
            declared=amounts,
            input_size=float(self.number(node, "input_size", words) or 0.0),
            attempt=int(attempt or 1),
            state=self.text(node, "state", words) or "new",
            version=self.text(node, "version", words),
            params=self.table(node, "params", words),
            previous_params=self.table(node, "previous_params", words) if previous else None,
            history_tags=self.texts(node, "history_tags", words),
            preferences=self.table(node, "preferences", words),
            directories=self.texts(node, "directories", words),
            values=tuple(plain(each) for each in values),
            cluster=self.text(node, "cluster", words),
        )

    def person(self, node: YamlTable, words: str) -> Person | None:
        name = self.text(node, "user", words)
        roles = self.texts(node, "roles", words)
        if not name:
            if roles:
                place = node.entries["roles"][0].place
                self.wrong(place, f"{words} has roles, but no user", "write `user:` as well")
            return None
        return Person(name, roles, name if "@" in name else "")

    def expected(self, node: YamlTable, words: str) -> ExpectedDecision:
        entry = node.entries.get("expect")
        table = entry[1] if entry else None
        if not isinstance(table, YamlTable) or not table.entries:
            place = entry[0].place if entry else node.place
            hint = "write `expect:` and below it `destination:` or another expected outcome"
            self.wrong(place, f"{words} expects nothing", hint)
            return ExpectedDecision()
        words = f"`expect` of {words}"
        self.unknown(table, EXPECT_KEYS, words)
        outcome = self.outcome(table, words)
        destinations = self.texts(table, "destination", words)
        there = [key for key in (*AMOUNTS, "params", "env") if key in table.entries]
        if outcome is None and (destinations or there):
            outcome = MappingOutcome.CHOSEN
        elif outcome not in {None, MappingOutcome.CHOSEN} and (destinations or there):
            key = "destination" if destinations else there[0]
            place = table.entries[key][0].place
            assert outcome is not None
            self.wrong(place, f"{words}: a job that ends as {outcome.value} has no {quoted(key)}")
        return ExpectedDecision(
            outcome,
            destinations,
            self.texts(table, "not_destination", words),
            Amounts(*(self.number(table, what, words) for what in AMOUNTS)),
            self.table(table, "params", words),
            self.table(table, "env", words),
            self.pattern(table, words),
        )

    def outcome(self, table: YamlTable, words: str) -> MappingOutcome | None:
        found = self.text(table, "outcome", words)
        if not found:
            return None
        if found not in OUTCOMES:
            hint = did_you_mean(found, OUTCOMES) or f"write {either(OUTCOMES)}"
            message = f"{words}: there is no outcome {quoted(found)}"
            self.wrong(table.entries["outcome"][1].place, message, hint)
            return None
        return MappingOutcome(found)

    def pattern(self, table: YamlTable, words: str) -> str:
        text = self.text(table, "message", words)
        try:
            compile_pattern(text)
        except PatternError as error:
            place = table.entries["message"][1].place
            self.wrong(place, f"`message` of {words}: {error.message}", error.hint)
        return text

    # Values of one kind

    def unknown(self, table: YamlTable, known: Iterable[str], words: str) -> None:
        names = list(known)
        for name, (key, _) in table.entries.items():
            if name not in names:
                hint = did_you_mean(name, names) or f"known are {', '.join(names)}"
                self.wrong(key.place, f"unknown key {quoted(name)} in {words}", hint)

    def mismatch(self, key: Scalar, node: Node, words: str, wanted: str) -> None:
        found = kind_of_node(node)
        message = f"{quoted(key.text)} of {words} must be {wanted}, but is {found}"
        self.wrong(node.place if isinstance(node, Scalar) else key.place, message)

    def text(self, table: YamlTable, name: str, words: str) -> str:
        entry = table.entries.get(name)
        if entry is None:
            return ""
        key, node = entry
        if isinstance(node, Scalar) and node.value is not None and node.text.strip():
            return node.text
        self.mismatch(key, node, words, "text")
        return ""

    def number(self, table: YamlTable, name: str, words: str) -> int | float | None:
        entry = table.entries.get(name)
        if entry is None:
            return None
        key, node = entry
        value = as_number(node)
        if value is None or value < 0 or value == float("inf"):
            self.mismatch(key, node, words, "a number that is not below 0")
            return None
        return value

    def list_of(self, table: YamlTable, name: str, words: str) -> Sequence[Node]:
        entry = table.entries.get(name)
        if entry is None:
            return ()
        key, node = entry
        if isinstance(node, Items):
            return node.items
        self.mismatch(key, node, words, "a list")
        return ()

    def texts(self, table: YamlTable, name: str, words: str) -> tuple[str, ...]:
        """Return one text, or a list of texts."""
        entry = table.entries.get(name)
        if entry is None:
            return ()
        key, node = entry
        items = node.items if isinstance(node, Items) else [node]
        found = [item.text for item in items if isinstance(item, Scalar) and item.text.strip()]
        if len(found) < len(items):
            self.mismatch(key, node, words, "text, or a list of texts")
        return tuple(found)

    def table(self, table: YamlTable, name: str, words: str) -> dict[str, Any]:
        entry = table.entries.get(name)
        if entry is None:
            return {}
        key, node = entry
        if isinstance(node, YamlTable):
            found = plain(node)
            assert isinstance(found, dict)
            return found
        self.mismatch(key, node, words, "a map")
        return {}
