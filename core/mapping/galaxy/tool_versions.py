"""Order versions of tools: 1.10 after 1.9, 2.0rc1 before 2.0, 2.0+galaxy1 after 2.0.

The input is text; the output is a sort key. Versions of PEP 440 are compared by its rules; any
other text comes before all of them, compared number by number and word by word, as in TPV. Source:
PEP 440, "Summary of permitted suffixes and relative ordering".
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_PARTS = re.compile(
    r"""\s*v?
    (?:(?P<epoch>[0-9]+)!)?
    (?P<release>[0-9]+(?:\.[0-9]+)*)
    (?:[-_.]?(?P<pre>alpha|beta|preview|pre|rc|a|b|c)[-_.]?(?P<pre_number>[0-9]+)?)?
    (?P<post>-(?P<post_dash>[0-9]+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_number>[0-9]+)?)?
    (?P<dev>[-_.]?dev[-_.]?(?P<dev_number>[0-9]+)?)?
    (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?
    \s*""",
    re.VERBOSE | re.IGNORECASE,
).fullmatch
_PRE = {"alpha": 0, "a": 0, "beta": 1, "b": 1}  # all others are release candidates
_LAST_PRE = (3, 0)
_WORDS = re.compile(r"[0-9]+|[a-z]+|[.-]")
_MEANING = {"pre": "c", "preview": "c", "rc": "c", "dev": "@", "-": "final-"}
_LONGEST = 200  # characters; Python refuses to parse numbers of thousands of digits


@lru_cache(4096)
def version_key(version: str) -> tuple[Any, ...]:
    """Return the sort key of a version."""
    match = _PARTS(version) if len(version) <= _LONGEST else None
    if match is None:
        return (0, _in_words(version.lower()))
    release = [int(part) for part in match["release"].split(".")]
    while release and release[-1] == 0:  # 1.0 is 1
        release.pop()
    post = -1
    if match["post"] is not None:
        post = int(match["post_dash"] or match["post_number"] or 0)
    final = match["dev"] is None
    if match["pre"] is not None:
        pre = (_PRE.get(match["pre"].lower(), 2), int(match["pre_number"] or 0))
    elif post < 0 and not final:
        pre = (-1, 0)  # 1.0.dev1 comes before 1.0a1
    else:
        pre = _LAST_PRE
    return (
        1,
        int(match["epoch"] or 0),
        tuple(release),
        pre,
        post,
        (final, int(match["dev_number"] or 0)),
        _local(match["local"]),
    )


def _local(text: str | None) -> tuple[tuple[int, int, str], ...]:
    if text is None:
        return ()
    parts = re.split(r"[-_.]", text.lower())
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts)


def _in_words(version: str) -> tuple[str, ...]:
    """Return numbers padded to sort as text, and drop a release's end after words like "beta"."""
    words: list[str] = []
    at = 0
    found: list[str] = []
    for match in _WORDS.finditer(version):
        found += [version[at : match.start()], match[0]]
        at = match.end()
    found.append(version[at:])
    for word in (*found, "final"):
        word = _MEANING.get(word, word)  # noqa: PLW2901
        if not word or word == ".":
            continue
        if word[0] in "0123456789":
            words.append(word.zfill(8))
            continue
        if word < "final":
            while words and words[-1] == "*final-":
                words.pop()
        while words and words[-1] == "00000000":
            words.pop()
        words.append(f"*{word}")
    return tuple(words)
