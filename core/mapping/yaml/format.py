"""Format a mapping file: order of properties, indentation and blank lines, and nothing else.

The input and output are texts of a file. Everything whose order has a meaning (entities, rules,
variables, tags) stays in order, and comments and anchors stay with the lines that they belong to.
Lines are moved and indented, but their contents are not rewritten. The result is parsed again, and
if its meaning differs or anything is missing, the text stays unchanged. TPV's own formatter sorts
entries, and so changes the mapping.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from rowtui.core.base.errors import InvalidFileError
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.fields import FIELDS, SECTIONS, TOP_LEVEL
from rowtui.core.mapping.model.tags import STRENGTHS
from rowtui.core.mapping.yaml.text import Items, Node, Scalar, YamlTable, read_yaml

# The outline of a YAML text: the lines that belong to each key or item.
#
# The input is a text that is valid YAML; the output is a tree of marks (line and column, from 0)
# from the parser's events, so that lines can be moved and indented without writing new YAML.


Mark: TypeAlias = tuple[int, int]


class Unsure(Exception):
    """The text uses a form of YAML in which the lines of each key are uncertain."""


class Leaf(NamedTuple):
    """A node in one piece: a scalar, an alias, or a whole flow collection.

    `names`: the anchors defined (name, True) and used (name, False) in it, in order. `style`: "|"
    or ">" for block scalars, "{" for flow collections, otherwise the style of a scalar.
    """

    start: Mark
    end: Mark
    style: str = ""
    names: tuple[tuple[str, bool], ...] = ()
    text: str = ""


class YamlBlock(NamedTuple):
    """A map or list in lines of its own. `column`: the column of its keys or dashes.

    `members`: key and value for a map; for a list a leaf at the place of the dash, and the item.
    """

    start: Mark
    column: int
    is_map: bool
    members: tuple[tuple[Leaf, Piece], ...]
    names: tuple[tuple[str, bool], ...] = ()

    @property
    def first_line(self) -> int:
        """The line of its first key or dash."""
        return self.members[0][0].start[0]


Piece: TypeAlias = Leaf | YamlBlock


def outline(text: str) -> Piece | None:
    """Return the tree of a document; None if it is empty.

    Raises: Unsure for keys written as `? key`, for a `|` or `>` below its key, and for invalid
    YAML.
    """
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    events = iter(yaml.parse(text, Loader=loader))
    lines = text.split("\n")
    try:
        for event in events:
            kind = type(event).__name__
            if kind == "StreamEndEvent":
                return None
            if kind not in ("StreamStartEvent", "DocumentStartEvent"):
                return _piece(event, events, lines)
    except yaml.YAMLError as error:
        raise Unsure from error
    return None


def _piece(event: Any, events: Iterator[Any], lines: list[str]) -> Piece:
    """Return the node that begins with an event."""
    start = (event.start_mark.line, event.start_mark.column)
    kind = type(event).__name__
    names = ((event.anchor, kind != "AliasEvent"),) if event.anchor else ()
    if kind in ("ScalarEvent", "AliasEvent"):
        end = (event.end_mark.line, event.end_mark.column)
        if kind == "AliasEvent":
            return Leaf(start, end, "", names)
        return Leaf(start, end, event.style or "", names, event.value)
    is_map = kind == "MappingStartEvent"
    inner: list[Piece] = []
    for last in events:
        if type(last).__name__ in ("MappingEndEvent", "SequenceEndEvent"):
            break
        inner.append(_piece(last, events, lines))
    if event.flow_style:
        end = (last.end_mark.line, last.end_mark.column)
        return Leaf(
            start, end, "{", names + tuple(n for piece in inner for n in piece_names(piece))
        )
    if is_map:
        members = tuple(
            (_checked_key(key, value, lines), value)
            for key, value in zip(inner[::2], inner[1::2], strict=True)
        )
    else:
        members = tuple((_dash(item, lines), item) for item in inner)
    column = members[0][0].start[1]
    if any(member.start[1] != column for member, _ in members):
        raise Unsure
    return YamlBlock(start, column, is_map, members, names)


def piece_names(piece: Piece) -> Iterator[tuple[str, bool]]:
    """Yield the anchors defined and used in a piece, in order."""
    yield from piece.names
    if isinstance(piece, YamlBlock):
        for key, value in piece.members:
            yield from key.names
            yield from piece_names(value)


def _checked_key(key: Piece, value: Piece, lines: list[str]) -> Leaf:
    """Return a key that is on one line with its colon. Raises: Unsure."""
    if not isinstance(key, Leaf) or key.style == "{" or key.start[0] != key.end[0]:
        raise Unsure
    row, column = key.start
    if lines[row][:column].strip(" -") or not lines[row][key.end[1] :].lstrip(" ").startswith(":"):
        raise Unsure
    if isinstance(value, YamlBlock) and value.first_line == row:
        raise Unsure
    _check_header(value, row, lines)
    return key


def _check_header(value: Piece, row: int, lines: list[str]) -> None:
    """Raises: Unsure for a text whose `|` or `>` is not on the line of its key or dash."""
    if isinstance(value, Leaf) and value.style in ("|", ">"):
        at, _ = _header(value, lines)
        if at != row:
            raise Unsure


def _dash(item: Piece, lines: list[str]) -> Leaf:
    """Return the dash of an item, which is before the item or on a line above."""
    row, column = item.start
    before = lines[row][:column]
    if not before.strip():
        row -= 1
        while row >= 0 and lines[row].strip()[:1] in ("", "#"):
            row -= 1
        before = lines[row].partition(" #")[0].rstrip() if row >= 0 else ""
    column = before.rfind("-")
    if column < 0 or before.strip(" -"):
        raise Unsure
    _check_header(item, row, lines)
    return Leaf((row, column), (row, column + 1))


def last_line(piece: Piece, lines: list[str]) -> int:
    """Return the last line that belongs to a piece, without blank lines that have no meaning."""
    if isinstance(piece, YamlBlock):
        key, value = piece.members[-1]
        return max(key.start[0], last_line(value, lines))
    row, column = piece.end
    if piece.style not in ("|", ">"):
        return row
    if column == 0 or row >= len(lines):
        row = min(row, len(lines)) - 1
    if not keeps_blanks(piece, lines):
        while row > piece.start[0] and not lines[row].strip():
            row -= 1
    return row


def keeps_blanks(piece: Piece, lines: list[str]) -> bool:
    """Whether the blank lines behind a piece are part of its text (`|+`)."""
    if isinstance(piece, YamlBlock):
        return keeps_blanks(piece.members[-1][1], lines)
    return piece.style in ("|", ">") and "+" in block_header(piece, lines)


def block_header(piece: Leaf, lines: list[str]) -> str:
    """Return the characters behind `|` or `>` of a block scalar: `-`, `+`, a digit."""
    return _header(piece, lines)[1]


def _header(piece: Leaf, lines: list[str]) -> tuple[int, str]:
    """Return the line of the `|` or `>` of a block scalar, and the characters behind it."""
    row, column = piece.start
    for n in range(row, piece.end[0] + 1):
        words = lines[n][column if n == row else 0 :].partition(" #")[0].split()
        while words and words[0][0] in "&!":
            del words[0]
        if words:
            return n, words[0][1:]
    return row, ""


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
