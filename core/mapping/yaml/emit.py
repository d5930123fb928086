"""Write data as YAML in the layout of mapping files, a line at a time."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./@=<>()+*-]*(?: [A-Za-z0-9_./@=<>()+*-]+)*")
_WORDS = frozenset({"true", "false", "null", "nan", "inf", "yes", "no", "on", "off", "y", "n"})
_BLOCK = re.compile(r"[!-~][ -~]*(?:\n+[ -~]+)*\n?")  # printable lines, the first not indented
INDENT = "  "
_LONGEST_KEY = 1000  # characters; YAML allows 1024 before a colon on its line


def map_lines(values: Mapping[Any, Any], indent: str) -> Iterator[str]:
    """Yield the lines of a map, each after `indent`."""
    for key, value in values.items():
        shown = scalar(key)
        if len(shown) > _LONGEST_KEY:
            yield f"{indent}? {shown}"
            yield from _entry(f"{indent}:", value, indent)
        else:
            yield from _entry(f"{indent}{shown}:", value, indent)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    """Yield a key (or the dash of a list) with its value, on the same line if possible."""
    deeper = indent + INDENT
    if isinstance(value, Mapping) and value:
        yield head
        yield from map_lines(value, deeper)
    elif isinstance(value, (list, tuple)) and value:
        yield head
        for item in value:
            yield from _item(item, deeper)
    elif isinstance(value, str) and "\n" in value and _BLOCK.fullmatch(value):
        trailing = len(value) - len(value.rstrip("\n"))
        yield f"{head} |" + ("" if trailing else "-")
        for line in value.removesuffix("\n").split("\n"):
            yield f"{deeper}{line}" if line else ""
    else:
        yield f"{head} {scalar(value)}"


def _item(item: Any, indent: str) -> Iterator[str]:
    """Yield an item of a list; a map begins behind its dash."""
    if not isinstance(item, Mapping) or not item:
        yield from _entry(f"{indent}-", item, indent)
        return
    lines = map_lines(item, indent + INDENT)
    yield f"{indent}- {next(lines).lstrip(' ')}"
    yield from lines


def scalar(value: Any) -> str:
    """Return a value on one line, in a form that YAML 1.2 reads as the same value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(scalar, value)) + "]"
    if isinstance(value, Mapping):
        inside = ", ".join(f"{scalar(key)}: {scalar(each)}" for key, each in value.items())
        return "{" + inside + "}"
    text = str(value)
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS and not text.startswith("."):
        return text
    return _quoted(text)


def _number(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    text = repr(value)
    return text if "." in text or "e" not in text else text.replace("e", ".0e")


def _quoted(text: str) -> str:
    """Return the text in double quotes with unprintable characters escaped.

    JSON would write characters beyond 16 bits as pairs of surrogates.
    """
    parts = []
    for char in text:
        code = ord(char)
        if char in '"\\':
            parts.append("\\" + char)
        elif char.isprintable():
            parts.append(char)
        elif code < 0x20 or char == "\x7f":
            parts.append(json.dumps(char)[1:-1] if code < 0x20 else "\\x7f")
        else:
            parts.append(f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")
    return '"' + "".join(parts) + '"'
