"""How the directories of samples are called: readable, stable, and no two samples alike.

Takes whose samples they are (the home), dimensions and values; gives
`average,temperature=1.0,replica=0`. What would need quotes in a shell, or would be taken apart
wrongly, stands as `%` and its bytes in hex. A name that is too long for a file system ends in a
hash. Names are the same in every version of Python: they outlive it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from itertools import accumulate
from operator import add
from typing import Final

from rowtui.core.errors import RowtuiError
from rowtui.core.network.spec import JSON

# File systems allow 255 bytes; what is derived from a name (`.name.tmp`, logs) needs some of them.
LONGEST: Final = 200
# 64 bits: among a million long names that begin alike, two have one hash once in 40 million times.
HASH_DIGITS: Final = 16
CUT: Final = "~"  # stands in no name that is whole

# Beyond these, Row makes doubles of the integers in value files.
LEAST_INTEGER: Final = -(1 << 63)
GREATEST_INTEGER: Final = (1 << 64) - 1

# What needs no quotes anywhere. `:` does for rsync and scp, which take it for a host's end.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_+@][A-Za-z0-9_+@.-]*")
_KEPT: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+@.-")
# How JSON writes what is no string.
_NO_STRING: Final = re.compile(
    r"true|false|null|-?(0|[1-9][0-9]*)(?P<fraction>(\.[0-9]+)?([eE][+-]?[0-9]+)?)"
)
_ESCAPED: Final = re.compile(r"(?:%[0-9A-F]{2})+")
# Which characters are letters, and how they compose, must not depend on the version of Python.
_UNICODE: Final = unicodedata.ucd_3_2_0


def text_of(value: JSON) -> str:
    """A value as it stands in names: `5`, `1.0`, `1e-06`, `true`, `null`, `left%20lung`.

    A string that reads like one of the others has its first character escaped (`%31`), and the
    empty string is `%`: different values have different texts (1 and 1.0 have, too).
    Raises: RowtuiError for a list, an object, NaN, an infinity, or an integer beyond 64 bits.
    """
    if isinstance(value, str):
        return _text_of_string(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and LEAST_INTEGER <= value <= GREATEST_INTEGER:
        return int.__repr__(value)
    if isinstance(value, float) and math.isfinite(value):
        return float.__repr__(value)
    raise RowtuiError(f"no directory can be named after {_shortened(value)}")


def value_of(text: str) -> JSON:
    """What `text_of` made the text of.

    Raises: ValueError if it made no such text.
    """
    match = _NO_STRING.fullmatch(text)
    value: JSON
    if match is None:
        value = _unescaped(text)
    elif text in _WORDS:
        value = _WORDS[text]
    else:
        value = float(text) if match["fraction"] else int(text)
    try:
        if text_of(value) == text:
            return value
    except RowtuiError:
        pass
    raise ValueError(f"no value is written {_shortened(text)}")


_WORDS: Final[dict[str, JSON]] = {"true": True, "false": False, "null": None}


def sample_name(home: str, dimensions: Sequence[str], values: Sequence[JSON]) -> str:
    """The name of one sample's directory; just the home's without dimensions.

    Raises: RowtuiError for a value that has no text.
    """
    parts = [f",{escaped(d)}={text_of(v)}" for d, v in zip(dimensions, values, strict=True)]
    return shortened_name(escaped(home) + "".join(parts))


def names_of(
    home: str,
    dimensions: Sequence[str],
    columns: Sequence[tuple[Sequence[JSON], Iterable[int]]],
) -> list[str]:
    """The names of many samples at once; for no dimensions at all, that of the one sample.

    `columns[d]` are the values of dimension d, and for each sample the position of its own in
    them (an array of numpy or a sequence of integers).
    Raises: RowtuiError for a value that has no text.
    """
    if not dimensions:
        return [shortened_name(escaped(home))]
    start = escaped(home)
    longest = 0
    parts = []
    for dimension, (values, _) in zip(dimensions, columns, strict=True):
        start = f"{start},{escaped(dimension)}="
        texts = [start + text_of(value) for value in values]
        longest += max((len(text.encode()) for text in texts), default=0)
        parts.append(texts)
        start = ""
    picked = [
        map(texts.__getitem__, _as_integers(codes))
        for texts, (_, codes) in zip(parts, columns, strict=True)
    ]
    # Two at a time, without a tuple for each name.
    *_, joined = accumulate(picked, lambda left, right: map(add, left, right))
    return list(joined if longest <= LONGEST else map(shortened_name, joined))


def _as_integers(codes: Iterable[int]) -> Iterable[int]:
    """The integers of Python: those of numpy are slow to use one by one."""
    as_list = getattr(codes, "tolist", None)
    return codes if as_list is None else as_list()


def shortened_name(name: str) -> str:
    """The name if it is short enough, else as much of it as there is room for, and its hash."""
    data = name.encode()
    if len(data) <= LONGEST:
        return name
    kept = data[: LONGEST - HASH_DIGITS - len(CUT)].decode(errors="ignore")
    kept = re.sub(r"%[0-9A-F]?$", "", kept)
    return f"{kept}{CUT}{sha256(data).hexdigest()[:HASH_DIGITS]}"


def case_collisions(names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of names that are one name to a file system that ignores case.

    Each with the first that is like it, in their order. The same name twice is a pair, too.
    """
    folded = [_folded(name) for name in names]
    if len(set(folded)) == len(folded):
        return []
    first: dict[str, int] = {}
    owners = [first.setdefault(fold, at) for at, fold in enumerate(folded)]
    return [(names[owner], names[at]) for at, owner in enumerate(owners) if owner != at]


def _folded(name: str) -> str:
    if name.isascii():
        return name.lower()
    # As Unicode defines caseless matching: folding may take the composed form apart again.
    composed = unicodedata.normalize("NFD", name).casefold()
    return unicodedata.normalize("NFC", composed)


def escaped(text: str) -> str:
    """A text that is no value (a home, a dimension) as it stands in names."""
    if _PLAIN.fullmatch(text):
        return text
    written = _escaped(text, _is_readable)
    # What some file systems would compose is escaped, also with the `=` or `%2A` before it.
    if not (written.isascii() or _UNICODE.is_normalized("NFC", "=" + written)):
        written = _escaped(text, _KEPT.__contains__)
    return written or "%"


def _escaped(text: str, is_kept: Callable[[str], bool]) -> str:
    pieces = [char if is_kept(char) else _escape(char) for char in text]
    if text[:1] in ("-", "."):  # an option, or a hidden file
        pieces[0] = _escape(text[0])
    return "".join(pieces)


def _text_of_string(text: str) -> str:
    if _NO_STRING.fullmatch(text):
        return _escape(text[0]) + text[1:]
    return escaped(text)


def _escape(char: str) -> str:
    # Half a surrogate pair stands for a byte that was not UTF-8, or for nothing at all.
    return "".join(f"%{byte:02X}" for byte in char.encode(errors="surrogatepass"))


def _is_readable(char: str) -> bool:
    """Also letters, marks and digits of other alphabets."""
    return char in _KEPT or (char > "\x7f" and _UNICODE.category(char)[0] in "LMN")


def _unescaped(text: str) -> str:
    if text == "%":
        return ""
    plain = _ESCAPED.sub(
        lambda run: bytes.fromhex(run[0].replace("%", "")).decode(errors="surrogatepass"), text
    )
    if _ESCAPED.sub("", text).count("%"):
        raise ValueError(f"a lone % in {text!r}")
    return plain


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
