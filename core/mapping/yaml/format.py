"""Format a mapping file: order of properties, indentation and blank lines, and nothing else.

The input and output are texts of a file. Everything whose order has a meaning (entities, rules,
variables, tags) stays in order, and comments and anchors stay with the lines that they belong to.
Lines are moved and indented, but their contents are not rewritten. The result is parsed again, and
if its meaning differs or anything is missing, the text stays unchanged. TPV's own formatter sorts
entries, and so changes the mapping.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from rowtui.core.base.errors import InvalidFileError
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.fields import FIELDS, SECTIONS, TOP_LEVEL
from rowtui.core.mapping.model.tags import STRENGTHS
from rowtui.core.mapping.yaml.layout import (
    Leaf,
    Piece,
    Unsure,
    YamlBlock,
    block_header,
    keeps_blanks,
    last_line,
    outline,
    piece_names,
)
from rowtui.core.mapping.yaml.nodes import Items, Node, Scalar, YamlTable
from rowtui.core.mapping.yaml.text import read_yaml

_MOST_ROUNDS = 4  # rounds until the form no longer changes; one more than was ever needed
_STEP = 2  # columns

_LAST = len(FIELDS)
_BEFORE_REST = [field.name for field in FIELDS].index("scheduling")
_PROPERTIES = {
    **{field.name: n for n, field in enumerate(FIELDS) if n <= _BEFORE_REST},
    "<<": -1,
    "rules": _LAST + 1,
}
_TAGS = {name: n for n, name in enumerate(STRENGTHS)}
_SECTIONS = {name: n for n, name in enumerate(TOP_LEVEL)}

_NOQA = re.compile(r"#\s*noqa\b")
_OTHER_BREAKS = re.compile("[\r\x85\u2028\u2029\ufeff]")


def format_mapping(text: str, name: str) -> str:
    """Return the same mapping in the usual form; formatting it again changes nothing.

    `name`: the name of the file, for errors. Raises: InvalidFileError if it is not YAML.
    """
    shaped = text.lstrip("\ufeff").replace("\r\n", "\n")
    read_yaml(text.encode("utf-8", "surrogatepass"), name)
    if not shaped.strip() or _OTHER_BREAKS.search(shaped):
        return text
    for _ in range(_MOST_ROUNDS):
        before = shaped
        shaped = _formatted(before)
        if shaped == before:
            return shaped if _same(text, shaped, name) else text
    return text


def _formatted(text: str) -> str:
    """Return the text after one round of formatting."""
    try:
        root = outline(text)
    except Unsure:
        return text
    if not isinstance(root, YamlBlock):
        return text
    lines = text.split("\n")
    if keeps_blanks(root, lines):
        return text  # blank lines at the end of the file are part of a text
    while not lines[-1].strip():
        lines.pop()
    counts: dict[str, int] = {}
    for anchor, defined in piece_names(root):
        counts[anchor] = counts.get(anchor, 0) + defined
    writer = _Writer(lines, may_move=all(count < 2 for count in counts.values()))
    return "\n".join(writer.document(root)) + "\n"


class _Entry(NamedTuple):
    """A key or item with all of its lines.

    `lead`: the comments above it; `stop`: the line after its last line.
    """

    key: Leaf
    value: Piece
    lead: list[str]
    last: int
    stop: int


class _Writer:
    """Writes the lines of a text in another order and with another indentation."""

    def __init__(self, lines: list[str], *, may_move: bool) -> None:
        self.lines = lines
        self.may_move = may_move

    def document(self, root: YamlBlock) -> list[str]:
        """Return all lines of the file."""
        first = root.first_line
        head = [line.rstrip() for line in self.lines[:first]]
        cut = 0
        for n, line in enumerate(head, 1):
            if not line or not line.startswith("#") or "yaml-language-server" in line:
                cut = n
        holder = "file" if root.is_map else ""
        body = self._block(root, head[cut:], len(self.lines), 0, holder)
        return [*_without_first_blanks(head[:cut]), *body]

    def _block(
        self, block: YamlBlock, head: list[str], stop: int, indent: int, holder: str
    ) -> list[str]:
        """Return the lines of a map or list; the lines `head` are above its first key or dash."""
        entries, tail = self._entries(block, head, stop)
        if block.is_map:
            entries, top = self._in_order(entries, holder)
        else:
            top = []
        apart = holder == "file" or holder.startswith("section ")
        out = _commented(top, indent)
        blank_counts = False
        for n, entry in enumerate(entries):
            lead = _single_blanks(entry.lead)
            if n == 0 or blank_counts or apart:
                lead = _without_first_blanks(lead)
            if n and apart and not blank_counts:
                lead = ["", *lead]
            out += _commented(lead, indent)
            below = _below(holder, entry.key.text) if block.is_map else _below(holder, "")
            write = self._map_entry if block.is_map else self._item
            out += write(entry, indent, below)
            blank_counts = keeps_blanks(entry.value, self.lines)
        tail = _without_last_blanks(tail)
        if holder == "file" and tail and not blank_counts:
            tail = ["", *_without_first_blanks(tail)]
        return out + _commented(tail, indent)

    def _entries(
        self, block: YamlBlock, head: list[str], stop: int
    ) -> tuple[list[_Entry], list[str]]:
        """Return the entries, and the comments after them at the end of the block."""
        entries = []
        lead = head
        for n, (key, value) in enumerate(block.members):
            last = max(key.start[0], last_line(value, self.lines))
            following = block.members[n + 1][0].start[0] if n + 1 < len(block.members) else stop
            inner = self._end_of_remarks(last + 1, following, block.column)
            entries.append(_Entry(key, value, lead, last, inner))
            lead = [line.strip() for line in self.lines[inner:following]]
        return entries, lead

    def _end_of_remarks(self, start: int, stop: int, column: int) -> int:
        """Return the line after the comments of an entry, which are indented more than its key."""
        end = start
        for row in range(start, stop):
            line = self.lines[row]
            if line.strip():
                if len(line) - len(line.lstrip()) <= column:
                    break
                end = row + 1
        return end

    def _in_order(self, entries: list[_Entry], holder: str) -> tuple[list[_Entry], list[str]]:
        """Return the entries in the usual order, and the comments that stay above all of them."""
        ranks = _ranks(holder)
        lead = entries[0].lead
        stays = max((n for n, line in enumerate(lead, 1) if _NOQA.match(line)), default=0)
        top, first = lead[:stays], entries[0]._replace(lead=lead[stays:])
        entries = [first, *entries[1:]]
        if ranks is None or not self.may_move:
            return entries, top
        wanted = sorted(entries, key=lambda entry: _rank(entry.key.text, ranks, holder))
        moves_comment = any(_NOQA.match(line) for entry in entries[1:] for line in entry.lead)
        moves_blanks = any(keeps_blanks(entry.value, self.lines) for entry in entries)
        if moves_comment or moves_blanks or not _anchors_stand(entries, wanted):
            return entries, top
        return wanted, top

    def _map_entry(self, entry: _Entry, indent: int, below: str) -> list[str]:
        row, column = entry.key.start
        return self._with_value(entry, " " * indent + self.lines[row][column:], indent, below)

    def _item(self, entry: _Entry, indent: int, below: str) -> list[str]:
        value = entry.value
        row, dash = entry.key.start
        if isinstance(value, YamlBlock) and value.first_line == row:
            inner = self._block(value, [], entry.stop, indent + _STEP, below)
            first = next(n for n, line in enumerate(inner) if line.strip()[:1] not in ("", "#"))
            comments = _commented([line.strip() for line in inner[:first]], indent)
            return [*comments, " " * indent + "- " + inner[first].lstrip(), *inner[first + 1 :]]
        text = self.lines[row][dash + 1 :].lstrip(" ")
        opening = " " * indent + ("- " + text if text else "-")
        return self._with_value(entry, opening, indent, below)

    def _with_value(self, entry: _Entry, opening: str, indent: int, below: str) -> list[str]:
        """Return the line of a key or dash and the lines of its value."""
        value, row = entry.value, entry.key.start[0]
        if isinstance(value, YamlBlock):
            head = [line.strip() for line in self.lines[row + 1 : value.first_line]]
            inner = self._block(value, head, entry.stop, indent + _STEP, below)
            return [opening.rstrip(), *inner]
        is_text = value.style in ("|", ">")
        if entry.last == row or is_text or value.style == "{":
            opening = opening.rstrip()
        write = self._block_text if is_text else self._continued
        behind = [line.strip() for line in self.lines[entry.last + 1 : entry.stop]]
        # After a text, a comment must be indented less, or it would become part of the text.
        remarks = _commented(_without_last_blanks(behind), indent if is_text else indent + _STEP)
        return [opening, *write(entry, value, indent), *remarks]

    def _continued(self, entry: _Entry, value: Leaf, indent: int) -> list[str]:
        """Return further lines of quoted text, `{` and `[`, whose indentation has no meaning."""
        row, column = entry.key.start
        lines = self.lines[row + 1 : entry.last + 1]
        split = [(len(line) - len(bare), bare) for line in lines for bare in [line.lstrip(" \t")]]
        by, least = indent - column, indent
        if value.style != "{":
            least = indent + _STEP
            by = least - min((was for was, bare in split if bare), default=0)
        return [" " * max(was + by, least) + bare if bare else "" for was, bare in split]

    def _block_text(self, entry: _Entry, value: Leaf, indent: int) -> list[str]:
        """Return the lines of a text behind `|` or `>`, all moved by the same number of columns."""
        row, column = entry.key.start
        lines = self.lines[row + 1 : entry.last + 1]
        full = next((line for line in lines if line.strip(" ")), "")
        was = len(full) - len(full.lstrip(" "))
        numbered = any(char.isdigit() for char in block_header(value, self.lines))
        by = indent - column if numbered else indent + _STEP - was
        return [
            "" if not line.strip(" ") and (len(line) <= was or not full) else _shifted(line, by)
            for line in lines
        ]


def _shifted(line: str, by: int) -> str:
    if by >= 0:
        return " " * by + line if line else line
    return line[-by:] if not line[:-by].strip(" ") else line


def _commented(lines: Sequence[str], indent: int) -> list[str]:
    return [" " * indent + line if line else "" for line in lines]


def _single_blanks(lines: Sequence[str]) -> list[str]:
    """Return the lines with single blank lines in place of several."""
    return [line for n, line in enumerate(lines) if line or n == 0 or lines[n - 1]]


def _without_first_blanks(lines: Sequence[str]) -> list[str]:
    lines = _single_blanks(lines)
    return lines[1:] if lines and not lines[0] else lines


def _without_last_blanks(lines: Sequence[str]) -> list[str]:
    lines = _single_blanks(lines)
    return lines[:-1] if lines and not lines[-1] else lines


def _below(holder: str, key: str) -> str:
    """Return the holder below: "file", "section tools", "tools", "rules of", "rules", "tags"."""
    if holder == "file":
        return f"section {key}" if key in SECTIONS else ""
    if holder.startswith("section "):
        return holder.partition(" ")[2]
    if holder == "rules of":
        return "rules"
    if holder in SECTIONS and key == "rules":
        return "rules of"
    if (holder in SECTIONS or holder == "rules") and key == "scheduling":
        return "tags"
    return ""


def _ranks(holder: str) -> dict[str, int] | None:
    """Return the usual order of the entries in a holder; None if the order has a meaning."""
    if holder == "file":
        return _SECTIONS
    if holder == "tags":
        return _TAGS
    return _PROPERTIES if holder in SECTIONS or holder == "rules" else None


def _rank(name: str, ranks: dict[str, int], holder: str) -> int:
    if holder == "file" and name.startswith(("x-", ".")):
        return -1
    return ranks.get(name, _LAST)


def _anchors_stand(entries: list[_Entry], wanted: list[_Entry]) -> bool:
    """Whether every anchor is still defined before it is used."""

    def defined(of: list[_Entry]) -> list[tuple[str, bool]]:
        seen: set[str] = set()
        found = []
        for entry in of:
            for anchor, defines in (*entry.key.names, *piece_names(entry.value)):
                if defines:
                    seen.add(anchor)
                else:
                    found.append((anchor, anchor in seen))
        return sorted(found)

    return defined(entries) == defined(wanted)


def _same(before: str, after: str, name: str) -> bool:
    """Whether two texts have the same meaning and the same words."""
    if sorted(before.lstrip("\ufeff").split()) != sorted(after.split()):
        return False
    meanings = []
    for text in (before, after):
        data = text.encode("utf-8", "surrogatepass")
        try:
            root = read_yaml(data, name)
        except InvalidFileError:
            return False
        silenced: dict[tuple[str, str], Any] = {}
        if "noqa" in text:
            file = parse_mapping(data, name)
            for kind, entities in file.entities.items():
                for entity in entities.values():
                    silenced[kind, entity.id] = file.silenced.get(entity.place.line)
        meanings.append((_meaning(root, "file"), silenced))
    return meanings[0] == meanings[1]


def _meaning(node: Node | None, holder: str) -> Any:
    """Return a comparable meaning of a node: maps are dicts if their order has no meaning."""
    if node is None:
        return None
    if isinstance(node, Scalar):
        return (type(node.value).__name__, node.text)
    if isinstance(node, Items):
        return [_meaning(item, _below(holder, "")) for item in node.items]
    assert isinstance(node, YamlTable)
    entries = [
        (name, _meaning(value, _below(holder, name))) for name, (_, value) in node.entries.items()
    ]
    return entries if _ranks(holder) is None else dict(entries)
