"""The name of one sample's directory, and the values that the texts in a name stand for."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.definition.spec import JSON
from rowtui.core.network.samples.names import _NO_STRING, names_of, text_of


def sample_name(home: str, dimensions: Sequence[str], values: Sequence[JSON]) -> str:
    assert len(dimensions) == len(values)
    (name,) = names_of(home, dimensions, [([value], [0]) for value in values])
    return name


_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")


def value_of(text: str) -> JSON:
    """Return the value with this text; the inverse of `text_of`.

    Raises: ValueError if `text_of` makes no such text.
    """
    match = _NO_STRING.fullmatch(text)
    value: JSON
    if match is None:
        value = unescaped(text)
    elif text in _WORDS:
        value = _WORDS[text]
    else:
        value = float(text) if match["fraction"] else int(text)
    try:
        if text_of(value) == text:
            return value
    except RowtuiError:
        pass
    raise ValueError(f"no value is written {text!r}")


_WORDS: dict[str, JSON] = {"true": True, "false": False, "null": None}


def unescaped(text: str) -> str:
    if text == "%":
        return ""
    plain = _ESCAPED.sub(
        lambda run: bytes.fromhex(run[0].replace("%", "")).decode(errors="surrogatepass"), text
    )
    if _ESCAPED.sub("", text).count("%"):
        raise ValueError(f"a lone % in {text!r}")
    return plain
