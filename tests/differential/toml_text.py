"""Python values as TOML text, as far as the generator needs it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


class Raw(str):
    """TOML text as it is, for what Python's values cannot say (dates, broken text)."""

    __slots__ = ()


def toml_text(document: Mapping[str, Any]) -> str:
    """A TOML document. Dicts in lists become `[[...]]` at the top level, inline tables below."""
    lines: list[str] = []
    _table(document, (), lines)
    return "\n".join(lines) + "\n"


def _table(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    later = []
    for key, value in table.items():
        if isinstance(value, Mapping) or (
            not path and isinstance(value, list) and value and isinstance(value[0], Mapping)
        ):
            later.append((key, value))
        else:
            lines.append(f"{_key(key)} = {_value(value)}")
    for key, value in later:
        name = ".".join(map(_key, (*path, key)))
        if isinstance(value, Mapping):
            lines += ["", f"[{name}]"]
            _table(value, (*path, key), lines)
        else:
            for element in value:
                lines += ["", f"[[{name}]]"]
                _element(element, (*path, key), lines)


def _element(table: Mapping[str, Any], path: tuple[str, ...], lines: list[str]) -> None:
    """An element of an array of tables: its sub-tables are written inline, as dotted keys."""
    for key, value in table.items():
        lines.append(f"{_key(key)} = {_value(value)}")


def _key(key: str) -> str:
    plain = key and all(char.isascii() and (char.isalnum() or char in "_-") for char in key)
    return key if plain else _string(key)


def _value(value: Any) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if math.isinf(value) or math.isnan(value):
            return str(value)
        text = repr(value)
        return text if any(char in text for char in ".e") else text + ".0"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items())
        return "{ " + inside + " }"
    raise TypeError(type(value).__name__)


def _string(text: str) -> str:
    out = []
    for char in text:
        if char in '"\\':
            out.append("\\" + char)
        elif ord(char) < 32 or ord(char) == 127:
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return '"' + "".join(out) + '"'
