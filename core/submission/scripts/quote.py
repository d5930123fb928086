r"""Any name or value as one word of bash, and values for a batch header.

The input is text (bytes that are not UTF-8 as surrogates, the `os.fsdecode` form) or bytes. The
result is text that bash reads back as exactly these bytes. Plain names stay unquoted, everything
else is ANSI-C quoted: `$'d 1'`. The result equals that of Row 1.1 for the same names, to the byte.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible

if TYPE_CHECKING:
    from rowtui.core.submission.scripts.script import Recipe


# Whether bash can parse a script; bash is run only if the answer is not obvious.
#
# The input is a recipe or a script; the result is the answer, or bash's error message.


# Words that need no quoting, and rowtui's templates as they stand between words.
_WORD = r"[A-Za-z0-9_+,./:@%=-]+"
_RESERVED = "if|then|else|elif|fi|do|done|case|esac|while|until|for|in|function|time|select|coproc"
_ONE_COMMAND = re.compile(
    rf"(?!(?:{_RESERVED}) )(?!(?:{_RESERVED})$){_WORD}"
    rf"(?: +(?:{_WORD}|\"\$\w+\"|\"\$\{{directories\[@\]\}}\"))*"
)


def is_one_command(recipe: Recipe) -> bool:
    """Whether a command is so simple that bash certainly accepts it without a check."""
    return _ONE_COMMAND.fullmatch(recipe.filled.text) is not None


def bash_complaint(script: str) -> str:
    """Return bash's complaint about a script's syntax, "" if there is none.

    The check is `bash -n`, which does not run the script.
    """
    import subprocess

    try:
        done = subprocess.run(
            ["bash", "-n"], input=script.encode(), capture_output=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""  # bash cannot be run here: the node will report errors
    # Bash only warns about a here-document without an end.
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return visible(lines[0].removeprefix("bash: ")) if lines else ""


# fullmatch, because `$` would accept a trailing newline. Bash takes each of these characters
# literally anywhere in a word. ASCII only: whether another character is a letter depends on the
# locale of the node.
_PLAIN = re.compile(r"[A-Za-z0-9_+,./:@-]+")
_ESCAPES = {
    0x07: "\\a",
    0x08: "\\b",
    0x09: "\\t",
    0x0A: "\\n",
    0x0B: "\\v",
    0x0C: "\\f",
    0x0D: "\\r",
    0x1B: "\\e",
    0x27: "\\'",
    0x5C: "\\\\",
}
_TABLE = {code: f"\\x{code:02X}" for code in (*range(1, 0x20), 0x7F)} | _ESCAPES


class QuotingError(RowtuiError):
    """Text that cannot be an argument of any command."""


def is_plain(text: str) -> bool:
    """Whether bash reads the text literally without quotes."""
    return _PLAIN.fullmatch(text) is not None


def quote(text: str | bytes) -> str:
    """Return one word of bash that stands for exactly these bytes; the word is always valid UTF-8.

    Raises: QuotingError for NUL, and for surrogates that do not stand for a byte.
    """
    if isinstance(text, bytes):
        text = os.fsdecode(text)
    if _PLAIN.fullmatch(text):
        return text
    if not text:
        return "''"
    if "\0" in text:
        raise QuotingError(
            f"{visible(text)} holds a NUL character, which no argument of a command can hold"
        )
    quoted = text.translate(_TABLE)
    try:
        quoted.encode()
    except UnicodeEncodeError:
        quoted = _escape_bytes(quoted)
    return f"$'{quoted}'"


def quote_all(texts: Sequence[str]) -> list[str]:
    """Return `quote` of each; nearly all names are plain, which one test shows for all together.

    Raises: as `quote`.
    """
    together = "".join(texts)
    if together.isascii() and all(texts) and not together.encode().translate(None, PLAIN_BYTES):
        return list(texts)
    return list(map(quote, texts))


# The bytes of plain texts.
PLAIN_BYTES = bytes(byte for byte in range(0x80) if _PLAIN.fullmatch(chr(byte)))


def _escape_bytes(text: str) -> str:
    # bash takes at most two digits after \x, so a digit that follows is safe.
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise QuotingError(f"{visible(text)} holds half a character (a surrogate)") from error
    return "".join(
        f"\\x{ord(char) - 0xDC00:02X}" if 0xDC80 <= ord(char) <= 0xDCFF else char
        for char in data.decode("utf-8", "surrogateescape")
    )


def file_name_part(name: str) -> str:
    """Return an action's name as part of a log's name, without a folder or a `%j` of its own.

    Every character that would change the log's place becomes `_`.
    """
    return "".join(c if c.isprintable() and c not in "/\\%" else "_" for c in name) or "_"
