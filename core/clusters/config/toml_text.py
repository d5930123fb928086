"""Write TOML keys and strings in the simplest form that can hold the text."""

from __future__ import annotations

import re


def toml_key(name: str) -> str:
    """Return a key, without quotes if possible."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    text = toml_string(name)
    return _escaped_string(name) if text.startswith(('"""', "'''")) else text


def toml_string(text: str) -> str:
    """Return a TOML string in the simplest form that can hold it, as the Rust library
    chooses it.
    """
    newline = "\n" in text
    control = _CONTROL.search(text) is not None
    start = "\n" if newline else ""
    if not (control or newline):
        if '"' not in text and "\\" not in text:
            return f'"{text}"'
        if "'" not in text:
            return f"'{text}'"
    if not control:
        if "\\" not in text and '"""' not in text:
            return f'"""{start}{text}"""'
        if "'''" not in text:
            return f"'''{start}{text}'''"
    if newline:
        return f'"""\n{_all_escaped(text)}"""'
    return _escaped_string(text)


_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")


def _escaped_string(text: str) -> str:
    return '"' + _all_escaped(text).replace("\n", "\\n") + '"'


def _all_escaped(text: str) -> str:
    return "".join(_ESCAPES.get(char) or _escaped(char) for char in text)


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04X}" if _CONTROL.fullmatch(char) else char
