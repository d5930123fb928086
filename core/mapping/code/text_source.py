"""Text with expressions in braces as a Python literal.

The input is the text in a mapping file; the output is source code, and the conversion of positions
in the source to positions in the text.
"""

from __future__ import annotations

from typing import NamedTuple

_OPEN, _CLOSE = "f'''", "'''"


class TextSource(NamedTuple):
    """Source code of a text.

    `shift`: the number of characters before the text in line 1; `inserted`: the places in the
    source of characters that the text does not have, ascending.
    """

    source: str
    shift: int = 0
    inserted: tuple[int, ...] = ()

    def position(self, line: int, column: int) -> tuple[int, int]:
        """Return the position in the text of a position in the source. All count from 1."""
        before = self.source.split("\n")[: max(line, 1) - 1]
        start = sum(len(each) + 1 for each in before)
        extra = sum(1 for at in self.inserted if start <= at < start + column - 1)
        return max(line, 1), max(column - extra - (self.shift if line <= 1 else 0), 1)

    def _within(self, line: int, column: int, text: str) -> tuple[int, int]:
        lines = text.split("\n")
        line = min(line, len(lines))
        return line, min(column, len(lines[line - 1]) + 1)

    def position_of_node(self, line: int, column: int) -> tuple[int, int]:
        """Return the same for a node of the syntax tree, whose columns are bytes."""
        lines = self.source.split("\n")
        shown = lines[line - 1] if line <= len(lines) else ""
        before = shown.encode("utf-8", "replace")[: column - 1]
        return self.position(line, len(before.decode("utf-8", "replace")) + 1)

    def place_in_text(self, error: SyntaxError, text: str) -> tuple[int, int]:
        """Return the position in the text at which Python found the error."""
        line, column = error.lineno or 1, error.offset or 1
        # Python 3.11 reads each expression of an f-string on its own, as "(expression)".
        shown = (error.text or "").strip()
        if self.shift and error.msg.startswith("f-string") and shown[:1] == "(":
            inner = shown[1:-1] if shown.endswith(")") else shown[1:]
            at = text.find("{" + inner) + 1
            if at:
                at += max(min(column - 2, len(inner)), 0)
                start = text.rfind("\n", 0, at) + 1
                return text.count("\n", 0, at) + 1, at - start + 1
            return 1, 1
        return self._within(*self.position(line, column), text)


def text_source(text: str, *, as_tpv: bool) -> TextSource:
    """Return the f-string of a text.

    `as_tpv`: put any text unchanged between three single quotes. Otherwise quotes outside braces
    are escaped where they would end the literal.
    """
    plain = _OPEN + text + _CLOSE
    if as_tpv or not ("'''" in text or text.endswith("'")):
        return TextSource(plain, len(_OPEN))
    parts: list[str] = []
    inserted: list[int] = []
    at = len(_OPEN)
    for part, literal in _split(text):
        if not literal or "'" not in part:
            parts.append(part)
            at += len(part)
            continue
        escaped = False
        for char in part:
            if char == "'" and not escaped:
                parts.append("\\")
                inserted.append(at)
                at += 1
            escaped = char == "\\" and not escaped
            parts.append(char)
            at += 1
    return TextSource(_OPEN + "".join(parts) + _CLOSE, len(_OPEN), tuple(inserted))


def _split(text: str) -> list[tuple[str, bool]]:
    """Return the text in order as (part, whether it is outside braces)."""
    found: list[tuple[str, bool]] = []
    at = start = 0
    while at < len(text):
        char = text[at]
        if char == "\\":
            named = text.startswith("\\N{", at)
            end = text.find("}", at) if named else -1
            at = end + 1 if end >= 0 else at + 2
        elif char == "{" and not text.startswith("{{", at):
            end = _end_of_field(text, at)
            found += [(text[start:at], True), (text[at:end], False)]
            at = start = end
        else:
            at += 2 if text.startswith(("{{", "}}"), at) else 1
    found.append((text[start:], True))
    return found


def _end_of_field(text: str, at: int) -> int:
    """Return the position after the brace that closes the one at `at`, or the end of the text."""
    depth = 0
    in_format = False  # behind the colon, quotes are ordinary characters
    while at < len(text):
        char = text[at]
        in_format = in_format or (char == ":" and depth == 1)
        if char in "'\"" and not in_format:
            quote = char * 3 if text.startswith(char * 3, at) else char
            end = text.find(quote, at + len(quote))
            if end < 0:
                return len(text)
            at = end + len(quote)
            continue
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if depth <= 0:
                return at + 1
        at += 1
    return len(text)
