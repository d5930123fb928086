"""The bytes of a YAML file as text, and the parser that makes events of the text.

The input is bytes; the output is text without a byte order mark, or the problem that makes it
unreadable.
"""

from __future__ import annotations

import re
from typing import Any

from rowtui.core.base.errors import InvalidFileError, Problem

LONGEST_FILE = 10_000_000
"""Bytes of one file. Galaxy's shared tool database has 100,000."""

# Outside YAML's printable set: control characters except tab and line breaks, and noncharacters.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")


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
