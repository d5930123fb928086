"""The difference between two scripts, in the form that the user wants to see.

The input is the script last submitted and the script to be submitted. The result is lines that are
the same, gone or new. Data that always differs (token, directories, job name, values) is summarised
in one line. Unchanged lines are folded, except for some context around changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from rowtui.core.base.text import plural

CONTEXT = 2
"""Number of unchanged lines around a change."""

LEAST_FOLDED = 3
"""Fewer unchanged lines than this are shown, because a fold marker takes a line as well."""

MOST_COMPARED = 1500
"""Most differing lines of each script that are compared; longer scripts are listed in sequence,
which takes no time.
"""

MOST_SHOWN = 200
"""Most lines that are shown of a completely different script."""

_BLOCK = re.compile(r"(directories|rowtui_(?!products\b)\w+)=\((?!.*\)\s*$).*")
_ONE_LINE = re.compile(r"(directories|rowtui_(?:token|not_utf8|requires|values?_?\w*))=(.*)")
_NAME = re.compile(r"#SBATCH --job-name=")
_WORDS = {
    "directories": "directories",
    "rowtui_not_utf8": "directories",
    "rowtui_token": "token",
    "rowtui_tokens": "token",
    "rowtui_requires": "needed files",
    "job name": "job name",
}


class Part(NamedTuple):
    """A line of a difference.

    `kind`: "same", "gone", "new", "fold" (of `lines` lines), or "quiet".
    """

    kind: str
    text: str
    lines: int = 0


class _Entry(NamedTuple):
    """One line: `key` is compared, `text` is shown.

    `own`: the kind of data, for data that always differs.
    """

    key: str
    text: str
    own: str = ""


class Difference(NamedTuple):
    """All lines, unfolded. `quiet`: the data that also differs, "" for none."""

    parts: tuple[Part, ...]
    quiet: str

    @property
    def changes(self) -> int:
        """Return the number of lines that are gone or new."""
        return sum(1 for part in self.parts if part.kind in ("gone", "new"))


def difference(old: str, new: str) -> Difference:
    """Return what differs in the new script."""
    before, after = _entries(old), _entries(new)
    head = _alike(before, after)
    left, right = before[head:], after[head:]
    tail = _alike(left[::-1], right[::-1])
    left, right = left[: len(left) - tail], right[: len(right) - tail]
    parts = [Part("same", it.text) for it in after[:head]]
    if max(len(left), len(right)) > MOST_COMPARED:
        parts += [*_many("gone", left), *_many("new", right)]
    else:
        parts += _compared(left, right)
    parts += [Part("same", it.text) for it in after[len(after) - tail :]]
    return Difference(tuple(parts), _quiet(before, after))


def shape(script: str) -> tuple[str, ...]:
    """Return the compared lines. Scripts of one shape differ from another in the same lines."""
    return tuple(entry.key for entry in _entries(script))


def _compared(left: Sequence[_Entry], right: Sequence[_Entry]) -> Iterable[Part]:
    matcher = SequenceMatcher(None, [it.key for it in left], [it.key for it in right], False)
    for word, from_left, to_left, from_right, to_right in matcher.get_opcodes():
        kind = "same" if word == "equal" else "new"
        if word != "equal":
            yield from (Part("gone", it.text) for it in left[from_left:to_left])
        yield from (Part(kind, it.text) for it in right[from_right:to_right])


def _many(kind: str, entries: Sequence[_Entry]) -> list[Part]:
    parts = [Part(kind, it.text) for it in entries[:MOST_SHOWN]]
    if len(entries) > MOST_SHOWN:
        left = len(entries) - MOST_SHOWN
        parts.append(Part("fold", f"{plural(left, 'more line')} that are {kind}", left))
    return parts


def _alike(one: Sequence[_Entry], other: Sequence[_Entry]) -> int:
    """Return the number of equal entries at the beginning."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a.key != b.key:
            break
        count += 1
    return count


def _entries(script: str) -> list[_Entry]:
    """Return the lines, with each list of job-specific data as one entry."""
    found: list[_Entry] = []
    lines = iter(script.splitlines())
    for text in lines:
        if block := _BLOCK.match(text):
            inside = []
            for more in lines:
                if more == ")":
                    break
                inside.append(more)
            shown = f"{block[1]}=( {_some(inside)} )"
            found.append(_Entry(f"{block[1]}=(", shown, f"{block[1]}\n" + "\n".join(inside)))
        elif one := _ONE_LINE.match(text):
            found.append(_Entry(f"{one[1]}=", text, f"{one[1]}\n{one[2]}"))
        elif _NAME.match(text):
            found.append(_Entry("--job-name", text, f"job name\n{text}"))
        else:
            found.append(_Entry(text.replace("%A_%a", "%j"), text))
    return found


def _some(inside: Sequence[str]) -> str:
    if len(inside) <= 3:
        return " ".join(inside)
    return f"{inside[0]} {inside[1]} … {len(inside):,}"


def _quiet(before: Sequence[_Entry], after: Sequence[_Entry]) -> str:
    """Return `other directories, job name and token`: the kinds of data that always differ."""
    old, new = ({it.key: it.own for it in those if it.own} for those in (before, after))
    names = [own.partition("\n")[0] for key, own in new.items() if old.get(key, own) != own]
    words = list(dict.fromkeys(_WORDS.get(name, "values") for name in names))
    if not words:
        return ""
    return "other " + (" and ".join([", ".join(words[:-1]), words[-1]] if words[1:] else words))


def folded(parts: Sequence[Part], context: int = CONTEXT) -> list[Part]:
    """Return the changes with some context, and counts for the other lines."""
    keep = bytearray(len(parts))
    for at, part in enumerate(parts):
        if part.kind != "same":
            first, last = max(0, at - context), min(len(parts), at + context + 1)
            keep[first:last] = b"\1" * (last - first)
    found: list[Part] = []
    at = 0
    while at < len(parts):
        end = at
        while end < len(parts) and not keep[end]:
            end += 1
        if end - at >= LEAST_FOLDED:
            found.append(Part("fold", "", end - at))
        else:
            found += parts[at:end]
        if end < len(parts):
            found.append(parts[end])
        at = end + 1
    return found
