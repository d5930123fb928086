"""A YAML document as a small tree in which every node has its place in the file.

The input is the bytes of one mapping file; the output is `YamlTable`, `Items` and `Scalar` nodes,
typed by YAML 1.2's core schema (`yes` is text, `0o17` is 15), with aliases and merge keys resolved.
The tree is built from libyaml's events in one pass and without recursion. The size of a document
with expanded aliases is computed without expanding them.
"""

from __future__ import annotations

import gc
import re
from typing import Any, NamedTuple

from rowtui.core.base.errors import InvalidFileError, Problem
from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import visible
from rowtui.core.mapping.model.origin import FilePosition
from rowtui.core.mapping.yaml.decode import decoded, event_parser, explain_fault
from rowtui.core.mapping.yaml.nodes import (
    MOST_DIGITS,
    NOT_TEXT,
    Items,
    Node,
    Scalar,
    YamlTable,
    typed,
)

DEEPEST = 50
"""Levels of nesting, aliases expanded. Real mapping files stay below 10."""
MOST_NODES = 200_000
"""Nodes of one file, aliases expanded. The largest real files have about 15,000."""
LONGEST_SCALAR = 100_000
"""Characters of one text or number."""
_MOST_PROBLEMS = 1_000


def read_yaml(data: bytes, file: str) -> Node | None:
    """Return the tree of one YAML document; None if it is empty. `file` is the name in places.

    Aliases share their nodes: treat the tree as read-only. Raises: InvalidFileError with all
    problems up to the first syntax error or limit. Source: YAML 1.2 core schema.
    """
    text = decoded(data, file)
    from yaml import YAMLError

    reader = _Reader(file, text)
    root = None
    collecting = gc.isenabled()
    gc.disable()  # parsing makes no garbage, and collecting would take a third of the time
    try:
        root = reader.read()
    except YAMLError as error:
        reader.problems.append(Problem(file, *explain_fault(error, text)))
    except _LimitReached:
        pass
    finally:
        if collecting:
            gc.enable()
    if reader.problems:
        raise InvalidFileError(tuple(reader.problems))
    return root


def _shown(text: str) -> str:
    """Return a key, tag or anchor as messages quote it, shortened if it is long."""
    return "`" + visible(text if len(text) <= 80 else text[:77] + "...") + "`"


class _LimitReached(Exception):
    """Reading stops here; the problem is already recorded."""


class _Open:
    """A map or list that is being read."""

    __slots__ = (
        "anchor",
        "before",
        "entries",
        "height",
        "items",
        "key",
        "merge_key",
        "merged",
        "node",
    )

    def __init__(self, node: Items | YamlTable, anchor: str | None, before: int) -> None:
        self.node = node
        self.entries = node.entries if isinstance(node, YamlTable) else None
        self.items = node.items if isinstance(node, Items) else []
        self.anchor = anchor
        self.before = before  # nodes of the document before this one
        self.height = 1  # levels of nodes, including this one
        self.key: Scalar | None = None  # the key of the next value
        self.merge_key: Scalar | None = None  # the key `<<`
        self.merged: Node | None = None  # the value of `<<`


class _Anchored(NamedTuple):
    node: Node
    size: int
    height: int


class _Reader:
    """One pass over the events of one document."""

    def __init__(self, file: str, text: str) -> None:
        self.problems: list[Problem] = []
        self._file = file
        self._text = text
        self._lines: list[str] = []
        self._anchors: dict[str, _Anchored | None] = {}  # None while the anchored node is open
        self._nodes = 0

    def read(self) -> Node | None:
        """Return the document's root, in a single loop: a call per node would double the time."""
        from yaml import events

        scalar_event, alias_event = events.ScalarEvent, events.AliasEvent
        table_event, items_event = events.MappingStartEvent, events.SequenceStartEvent
        ends = (events.MappingEndEvent, events.SequenceEndEvent)
        next_event = event_parser(self._text).get_event
        new = tuple.__new__  # takes half the time of a NamedTuple's own constructor
        file = self._file
        top = bottom = _Open(Items([], FilePosition(file)), None, 0)
        stack = [bottom]
        node: Node
        while True:
            event: Any = next_event()
            kind = type(event)
            mark = event.start_mark
            if kind is scalar_event:
                self._nodes += 1
                text = event.value
                line = mark.line + 1
                if event.anchor is None and event.tag is None and len(text) <= LONGEST_SCALAR:
                    value = text
                    if event.implicit[0] and text[:1] in NOT_TEXT:
                        value = self._typed(text, mark)
                    place = new(FilePosition, (file, line, mark.column + 1))
                    text_line = line + 1 if event.style in _BLOCK_STYLES else line
                    node = new(Scalar, (value, text, place, text_line))
                else:
                    node = self._unusual(event, mark)
                    value = node.value
                if top.key is None and top.entries is not None:
                    if value is not text or text == "<<" or text in top.entries:
                        self._take_key(top, node, event.implicit[0])
                    else:
                        top.key = node
                    continue
                height = 1
            elif kind is table_event or kind is items_event:
                self._nodes += 1
                if top.key is None and top.entries is not None:
                    raise self._complex_key(mark, "map" if kind is table_event else "list")
                if len(stack) > DEEPEST:
                    raise self._too_deep(mark)
                top = self._opened(event, mark, kind is table_event)
                stack.append(top)
                continue
            elif kind in ends:
                stack.pop()
                if top.merged is not None:
                    self._merge(top)
                node, height = top.node, top.height
                if top.anchor is not None:
                    size = self._nodes - top.before
                    self._anchors[top.anchor] = _Anchored(node, size, height)
                top = stack[-1]
            elif kind is alias_event:
                found = self._aliased(event.anchor, mark)
                self._nodes += found.size
                node, height = found.node, found.height
                if len(stack) - 1 + height > DEEPEST:
                    raise self._too_deep(mark)
                if top.key is None and top.entries is not None:
                    if not isinstance(node, Scalar):
                        raise self._complex_key(mark, "map or list")
                    self._take_key(top, node._replace(place=self._place(mark)), False)
                    continue
            elif kind is events.DocumentStartEvent:
                self._start_document(event, mark, bool(bottom.items))
                continue
            elif kind is events.StreamEndEvent:
                return bottom.items[0] if bottom.items else None
            else:
                continue
            if self._nodes > MOST_NODES:
                message = f"the file has more than {MOST_NODES:,} values, its aliases expanded"
                raise self._limit(mark, message, "Use fewer aliases (`*name`), or split the file.")
            if height >= top.height:
                top.height = height + 1
            key = top.key
            if key is None or top.entries is None:
                top.items.append(node)
                continue
            top.key = None
            if key is _MERGED:
                top.merged = node
            elif key is not _DROPPED:
                top.entries[key.text] = (key, node)

    def _note(self, place: FilePosition, message: str, hint: str) -> None:
        self.problems.append(Problem(*place, message, hint))
        if len(self.problems) >= _MOST_PROBLEMS:
            message = f"reading stopped after {_MOST_PROBLEMS:,} problems"
            self.problems.append(Problem(*place, message, "Correct these errors first."))
            raise _LimitReached

    def _limit(self, mark: Any, message: str, hint: str) -> _LimitReached:
        self.problems.append(Problem(*self._place(mark), message, hint))
        return _LimitReached()

    def _too_deep(self, mark: Any) -> _LimitReached:
        message = f"values are nested more than {DEEPEST} levels deep"
        return self._limit(mark, message, "Does a `[` or `{` lack its end?")

    def _complex_key(self, mark: Any, what: str) -> _LimitReached:
        hint = 'Text that begins with `{` or `[` needs quotes: "{...}".'
        return self._limit(mark, f"a {what} cannot be a key", hint)

    def _place(self, mark: Any) -> FilePosition:
        return FilePosition(self._file, mark.line + 1, mark.column + 1)

    def _start_document(self, event: Any, mark: Any, is_second: bool) -> None:
        if is_second:
            hint = "A mapping file is one document: remove this `---` or use a file for each."
            raise self._limit(mark, "a second document begins here", hint)
        if event.version == (1, 1):
            hint = "Remove the line; `yes` and `on` are text here, true is `true`."
            raise self._limit(
                mark, "mapping files are YAML 1.2, this file declares %YAML 1.1", hint
            )

    def _unusual(self, event: Any, mark: Any) -> Scalar:
        """Return a scalar that has a tag or an anchor, or is too long."""
        text: str = event.value
        place = self._place(mark)
        if len(text) > LONGEST_SCALAR:
            message = f"a text has {len(text):,} characters; {LONGEST_SCALAR:,} are allowed"
            self._note(place, message, "Does a quote lack its end? If not, shorten it.")
            text = ""
        value = self._tagged(event.tag, text, event.implicit[0], mark)
        scalar = Scalar(value, text, place, self._text_line(event, mark))
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(scalar, 1, 1)
        return scalar

    def _text_line(self, event: Any, mark: Any) -> int:
        """Return the line of a text behind a tag or an anchor, which may be lines further."""
        is_block = event.style in _BLOCK_STYLES
        line: int = mark.line + 1
        if event.end_mark.line > mark.line:
            self._lines = self._lines or re.split(r"\r\n|[\r\n]", self._text)
            written = "\n".join(self._lines[mark.line : event.end_mark.line + 1])
            found = _PROPERTIES.match(written, mark.column)
            line += written.count("\n", 0, found.end()) if found else 0
            line = min(line, event.end_mark.line + 1)
        return line + 1 if is_block else line

    def _typed(self, text: str, mark: Any) -> str | int | float | bool | None:
        try:
            return typed(text)
        except ValueError:
            message = f"a number of {len(text):,} characters is too large: {MOST_DIGITS} digits "
            message += "are the most"
            self._note(self._place(mark), message, "Put quotes around it if it is text.")
            return text

    def _tagged(
        self, tag: str | None, text: str, is_plain: bool, mark: Any
    ) -> str | int | float | bool | None:
        if tag is None:
            return self._typed(text, mark) if is_plain else text
        if tag in ("!", _STANDARD + "str"):
            return text
        wanted = _SCALAR_TAGS.get(tag)
        if wanted is None:
            self._refuse_tag(tag, self._place(mark))
            return text
        value = self._typed(text, mark)
        if wanted is float and type(value) is int:
            return float(value)
        if type(value) is not wanted:
            message = f"{_shown(text)} does not match its tag {_short(tag)}"
            self._note(self._place(mark), message, "Remove the tag.")
        return value

    def _refuse_tag(self, tag: str, place: FilePosition) -> None:
        hint = "Remove the tag. Text that begins with `!` needs quotes."
        self._note(place, f"the tag {_short(tag)} is not allowed in a mapping file", hint)

    def _opened(self, event: Any, mark: Any, is_table: bool) -> _Open:
        place = self._place(mark)
        if event.tag not in (None, "!", _STANDARD + ("map" if is_table else "seq")):
            self._refuse_tag(event.tag, place)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        node = YamlTable({}, place) if is_table else Items([], place)
        return _Open(node, event.anchor, self._nodes - 1)

    def _aliased(self, name: str, mark: Any) -> _Anchored:
        found = self._anchors.get(name)
        if found is not None:
            return found
        place = self._place(mark)
        if name in self._anchors:
            message = f"the alias {_shown('*' + name)} stands inside its own anchor"
            self._note(place, message, "Move the alias out of its own anchor.")
        else:
            message = (
                f"the alias {_shown('*' + name)} refers to nothing: no &{visible(name)[:80]} before"
            )
            self._note(place, message, 'Text that begins with `*` needs quotes: "*...".')
        return _Anchored(Scalar(None, "*" + name, place, place.line), 1, 1)

    def _take_key(self, top: _Open, key: Scalar, is_plain: bool) -> None:
        """Store the key of the next value, unless the map already has this key."""
        assert top.entries is not None
        if is_plain and key.text == "<<":
            first = top.merge_key
            top.merge_key = top.merge_key or key
            top.key = _MERGED
        else:
            first = top.entries[key.text][0] if key.text in top.entries else None
            top.key = key
        if first is not None:
            message = f"the key {_shown(key.text)} is already given on line {first.place.line}"
            self._note(key.place, message, "Keep one of the two.")
            top.key = _DROPPED

    def _merge(self, top: _Open) -> None:
        """Add the entries of `<<` after the map's own entries.

        The map's own entries take precedence, and earlier sources over later ones.
        """
        assert top.entries is not None
        assert top.merge_key is not None
        for source in top.merged.items if isinstance(top.merged, Items) else [top.merged]:
            if not isinstance(source, YamlTable):
                hint = "Write `<<: *name` or `<<: [*one, *other]`; quote the key if it is text."
                self._note(top.merge_key.place, "`<<` takes a map or a list of maps", hint)
                return
            for name, entry in source.entries.items():
                top.entries.setdefault(name, entry)


# Placeholders for a key: for `<<`, and for a value that is read and dropped.
_MERGED = Scalar("", "", FilePosition("", 0, 0), 0)
_DROPPED = Scalar("", "", FilePosition("", 0, 0), 0)
_BLOCK_STYLES = ("|", ">")
_STANDARD = "tag:yaml.org,2002:"
_SCALAR_TAGS: dict[str, type] = {
    _STANDARD + "int": int,
    _STANDARD + "float": float,
    _STANDARD + "bool": bool,
    _STANDARD + "null": type(None),
}
_PROPERTIES = pattern(r"(?:\s++|#[^\n]*+|[!&]\S*+)*+")  # tags, anchors, comments


def _short(tag: str) -> str:
    return _shown("!!" + tag.removeprefix(_STANDARD) if tag.startswith(_STANDARD) else tag)
