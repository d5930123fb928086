"""The names of the directories of samples: readable, stable, and unique.

Takes the source or node of the samples (the home), dimensions and values; gives
`average,temperature=1.0,replica=0`. Characters that would need quotes in a shell, or that would be
parsed wrongly, are written as `%` and their bytes in hex. A name that is too long for a file system
ends in a hash. Names are the same in every version of Python, because they are stored for longer.
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

from rowtui.core.base.errors import RowtuiError
from rowtui.core.network.definition.spec import JSON

# File systems allow 255 bytes; derived names (`.name.tmp`, logs) need some of them.
LONGEST: Final = 200
# 64 bits: among a million long names with the same beginning, two have the same hash with a
# probability of one in 40 million.
HASH_DIGITS: Final = 16
CUT: Final = "~"  # occurs in no unshortened name

# Beyond these limits, Row converts the integers in value files to doubles.
LEAST_INTEGER: Final = -(1 << 63)
GREATEST_INTEGER: Final = (1 << 64) - 1

# Characters that need no quotes anywhere. `:` needs them for rsync and scp, which end a host's name
# there.
_PLAIN: Final = re.compile(r"[A-Za-z0-9_+@][A-Za-z0-9_+@.-]*")
_KEPT: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+@.-")
# The JSON texts of values that are not strings.
_NO_STRING: Final = re.compile(
    r"true|false|null|-?(0|[1-9][0-9]*)(?P<fraction>(\.[0-9]+)?([eE][+-]?[0-9]+)?)"
)
# Letters and their composition must not depend on the version of Python.
_UNICODE: Final = unicodedata.ucd_3_2_0


def text_of(value: JSON) -> str:
    """Return the text of a value in names: `5`, `1.0`, `1e-06`, `true`, `null`, `left%20lung`.

    A string that looks like one of the others has its first character escaped (`%31`), and the
    empty string is `%`: different values have different texts (also 1 and 1.0). Raises: RowtuiError
    for a list, an object, NaN, an infinity, or an integer beyond 64 bits.
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


def names_of(
    home: str,
    dimensions: Sequence[str],
    columns: Sequence[tuple[Sequence[JSON], Iterable[int]]],
) -> list[str]:
    """Return the names of many samples; without dimensions, the name of the one sample.

    `columns[d]` are the values of dimension d, and for each sample the position of its value (an
    array of numpy or a sequence of integers). Raises: RowtuiError for a value that has no text.
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
    # Join two parts at a time, without a tuple for each name.
    *_, joined = accumulate(picked, lambda left, right: map(add, left, right))
    return list(joined if longest <= LONGEST else map(shortened_name, joined))


def _as_integers(codes: Iterable[int]) -> Iterable[int]:
    """Return Python integers, because single numpy integers are slow."""
    as_list = getattr(codes, "tolist", None)
    return codes if as_list is None else as_list()


def shortened_name(name: str) -> str:
    """Return the name if it is short enough, otherwise the beginning of the name and its hash."""
    data = name.encode()
    if len(data) <= LONGEST:
        return name
    kept = data[: LONGEST - HASH_DIGITS - len(CUT)].decode(errors="ignore")
    kept = re.sub(r"%[0-9A-F]?$", "", kept)
    return f"{kept}{CUT}{sha256(data).hexdigest()[:HASH_DIGITS]}"


def case_collisions(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of names that are the same on a case-insensitive file system.

    Each name is paired with the first one like it, in the order of the names. The same name twice
    is a pair, too.
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
    # As in Unicode's definition of caseless matching, because folding may decompose characters.
    composed = unicodedata.normalize("NFD", name).casefold()
    return unicodedata.normalize("NFC", composed)


def escaped(text: str) -> str:
    """Return the text of a home or a dimension in names."""
    if _PLAIN.fullmatch(text):
        return text
    written = _escaped(text, _is_readable)
    # Escape characters that some file systems would compose, also with the `=` or `%2A` before
    # them.
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
    # A lone surrogate stands for a byte that was not UTF-8, or for no character.
    return "".join(f"%{byte:02X}" for byte in char.encode(errors="surrogatepass"))


def _is_readable(char: str) -> bool:
    """Whether a character is plain, or a letter, mark or digit of another alphabet."""
    return char in _KEPT or (char > "\x7f" and _UNICODE.category(char)[0] in "LMN")


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
