"""The bytes of a YAML file as text, the parser that makes events of it, and the parser's errors.

The input is bytes; the output is text without a byte order mark, or the problem that makes it
unreadable. Errors are in words for users: the input is the exception of PyYAML or libyaml (they
word the same errors differently) and the text; the output is line, column, message and hint.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from rowtui.core.base.errors import InvalidFileError, Problem
from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import visible

LONGEST_FILE = 10_000_000
"""Bytes of one file. Galaxy's shared tool database has 100,000."""

# Outside YAML's printable set: control characters except tab and line breaks, and noncharacters.
_UNPRINTABLE = pattern("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")

_INDENT = "Indent with spaces only: YAML does not allow tabs there."
_QUOTE = "Put the whole value in quotes if it is text."
_BRACES = 'Text that begins with `{` or `[` needs quotes around all of it: "{...} ...".'


def decoded(data: bytes, file: str) -> str:
    """Return the text of a file. Raises: InvalidFileError if YAML does not allow the text."""
    if len(data) > LONGEST_FILE:
        message = f"the file has {len(data) / 1e6:,.1f} MB; a mapping file may have 10 MB"
        raise _refused(file, 0, 0, message, "Is it really a mapping file? If so, split it.")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _refused(file, 0, 0, "the file is UTF-16, not UTF-8", "Save it as UTF-8.")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line, column = _line_and_column(data[: error.start].decode())
        message = f"the byte 0x{data[error.start]:02x} is not UTF-8"
        raise _refused(file, line, column, message, "Save the file as UTF-8.") from None
    found = _UNPRINTABLE.search(text)
    if found:
        line, column = _line_and_column(text[: found.start()])
        message = f"the control character U+{ord(found[0]):04X} is not allowed in YAML"
        hint = 'Remove it, or write it as an escape in double quotes, such as "\\x1b".'
        raise _refused(file, line, column, message, hint)
    return text


def _refused(file: str, line: int, column: int, message: str, hint: str) -> InvalidFileError:
    return InvalidFileError((Problem(file, line, column, message, hint),))


def _line_and_column(before: str) -> tuple[int, int]:
    before = before.replace("\r\n", "\n").replace("\r", "\n")
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def event_parser(text: str) -> Any:
    """Return libyaml's parser, or PyYAML's own, thirty times slower, if libyaml is missing."""
    try:
        from yaml._yaml import CParser
    except ImportError:
        return slow_parser(text)
    return CParser(text)


def slow_parser(text: str) -> Any:
    """Return PyYAML's own parser, for builds without libyaml. It yields the same events."""
    from yaml import parser, reader, scanner

    class SlowParser(reader.Reader, scanner.Scanner, parser.Parser):
        def __init__(self, text: str) -> None:
            reader.Reader.__init__(self, text)
            scanner.Scanner.__init__(self)
            parser.Parser.__init__(self)

    return SlowParser(text)


class Fault(NamedTuple):
    """One error. `line` and `column` count from 1; 0 means the whole file."""

    line: int
    column: int
    message: str
    hint: str


def explain_fault(error: Exception, text: str) -> Fault:
    """Return the place of the error, its description and a hint."""
    mark: Any = getattr(error, "problem_mark", None)
    opened: Any = getattr(error, "context_mark", None)
    problem = str(getattr(error, "problem", None) or "")
    context = str(getattr(error, "context", None) or "")
    if mark is None and opened is None:
        message = f"this is not YAML: {visible(problem or str(error))}"
        return Fault(0, 0, message, "Check indentation and quotes.")
    mark = mark or opened
    lines = re.split(r"\r\n|[\n\r\x85\u2028\u2029]", text)
    row, column = mark.line, mark.column
    before_end = False
    while row >= len(lines) or (row and row == len(lines) - 1 and not lines[row].strip()):
        row, before_end = row - 1, True  # at the end of the file, point at its last line
    line = lines[row]
    column = len(line) if before_end else min(column, len(line))
    start = opened.line + 1 if opened is not None else 0
    message, hint = _meaning(problem, context, line, column, start)
    return Fault(row + 1, column + 1, message, hint)


def _meaning(problem: str, context: str, line: str, column: int, start: int) -> tuple[str, str]:
    """Return message and hint. `start` is the line where the unfinished structure began."""
    before, here = line[:column], line[column : column + 1]
    indent = line[: len(line) - len(line.lstrip())]
    if here == "\t" or "tab character" in problem or "\t" in indent:
        return "a tab is used for indentation", _INDENT
    if "cannot start any token" in problem:
        return f"a value cannot begin with `{visible(here)}`", _QUOTE
    if "mapping values are not allowed" in problem:
        if re.search(r":\s", before):
            hint = 'Put the value in quotes if the second `:` belongs to it: "a: b".'
            return "there is a second `: ` on this line", hint
        hint = "Does the line above lack its `:`, or is this one indented too far?"
        return "a key is not expected here", hint
    if "sequence entries are not allowed" in problem:
        return "a list cannot begin here", "Begin it on the next line, or quote text such as `- x`."
    if "alias" in context:
        hint = 'Text that begins with `*` needs quotes; as a pattern it is ".*", not "*".'
        return "`*` begins an alias, but no name follows", hint
    if "anchor" in context:
        return "`&` begins an anchor, but no name follows", _QUOTE
    if "flow mapping" in context or "flow sequence" in context or "flow node" in context:
        return _unfinished(context, start)
    if "unexpected end of stream" in problem:
        return f"the quote that opens on line {start} is never closed", "Close it."
    if "escape" in problem:
        hint = r"Use single quotes for patterns: '\d+'. In double quotes write `\\` for `\`."
        return "this backslash escape does not exist in double quotes", hint
    if "simple key" in context:
        hint = "Write `key: value`, with a space after the colon; indent text that goes on."
        return f"line {start} has no `:`", hint
    if "block scalar" in context:
        hint = "Behind `|` or `>` comes a line break, and the text indented below."
        return "the block of text does not begin rightly", hint
    if "tag" in problem or "tag" in context:
        return "`!` begins a tag that is not supported", _QUOTE
    if "block mapping" in context:
        return _after_value(before, start)
    if "block collection" in context or "block sequence" in context:
        hint = f"Begin every item with `- `, at the column of the list's first one on line {start}."
        return "the list does not go on here as it began", hint
    if "document start" in problem:
        hint = "A mapping file is one document, and all of it must be indented as its first line."
        return "there is text after the end of the document", hint
    if "directive" in problem or "YAML document" in problem or "directive" in context:
        return "the line that begins with `%` is not understood", "Remove it."
    return f"this is not YAML: {visible(problem)}", "Check indentation and quotes here and above."


def _unfinished(context: str, start: int) -> tuple[str, str]:
    opening, closing = ("{", "}") if "mapping" in context else ("[", "]")
    if "flow node" in context:
        return "a value is missing before the end", "Close every `[` and `{`."
    message = f"the `{opening}` on line {start} lacks its `{closing}`, or a comma is missing"
    return message, _BRACES


def _after_value(before: str, start: int) -> tuple[str, str]:
    """Return message and hint for text where a map had to go on or end."""
    end = before.rstrip()[-1:]
    if end in ("}", "]"):
        return f"text follows the `{end}` that ended the value", _BRACES
    if end in ("'", '"'):
        hint = (
            f"Write {end * 2} for the quote inside the text." if end == "'" else 'Write \\" inside.'
        )
        return f"text follows the {end} that ended the value", hint
    if before.strip():
        return "the value has ended before this", _QUOTE
    hint = f"Indent it like the keys beside it; their map begins on line {start}."
    return "the indentation fits nothing above", hint
