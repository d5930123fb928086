r"""Parts of every job script: quoted words, the batch header, and sections shared with bundles.

The input is text (bytes that are not UTF-8 as surrogates, the `os.fsdecode` form) or bytes. The
result is text that bash reads back as exactly these bytes. Plain names stay unquoted, everything
else is ANSI-C quoted: `$'d 1'`. The result equals that of Row 1.1 for the same names, to the byte.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import pattern, subprocess
from rowtui.core.base.text import visible
from rowtui.core.clusters.model import Cluster, Partition
from rowtui.core.clusters.schedulers.kind import HeaderRequest, kind_of
from rowtui.core.groups.model import JobRequest
from rowtui.core.submission.scripts.fixed_part import PRELUDE
from rowtui.core.workflow.model import Action, SubmitOptions

if TYPE_CHECKING:
    pass


# Whether bash can parse a script; bash is run only if the answer is not obvious.
#
# The input is a recipe or a script; the result is the answer, or bash's error message.


# Words that need no quoting, and rowtui's templates as they stand between words.
_WORD = r"[A-Za-z0-9_+,./:@%=-]+"
_RESERVED = "if|then|else|elif|fi|do|done|case|esac|while|until|for|in|function|time|select|coproc"
_ONE_COMMAND = pattern(
    rf"(?!(?:{_RESERVED}) )(?!(?:{_RESERVED})$){_WORD}"
    rf"(?: +(?:{_WORD}|\"\$\w+\"|\"\$\{{directories\[@\]\}}\"))*"
)


def is_one_command(command: str) -> bool:
    """Whether a command is so simple that bash certainly accepts it without a check."""
    return _ONE_COMMAND.fullmatch(command) is not None


def bash_complaint(script: str) -> str:
    """Return bash's complaint about a script's syntax, "" if there is none.

    The check is `bash -n`, which does not run the script.
    """
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
_PLAIN = pattern(r"[A-Za-z0-9_+,./:@-]+")
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


# The header of a job script, and the parts of it that do not depend on the scheduler.
#
# The input is an action, the totals of a job and the chosen partition; the result is lines.


def options_for(action: Action, cluster: str) -> SubmitOptions:
    """Return the action's options for this cluster; all are unset if the action has none."""
    return action.submit_options.get(cluster, SubmitOptions())


def job_name(action: Action, names: Sequence[str]) -> str:
    """Return `<action>-<first directory>`, and `+<others>` if there are more; safe to show."""
    name = f"{action.name}-{names[0]}" if names else action.name
    return visible(name + (f"+{len(names) - 1}" if len(names) > 1 else ""))


def log_path(action: Action, cluster: str) -> str:
    """Return the path of a job's output, relative to the project; `%j` is the job id.

    The action's name cannot move the log to another folder, but an option of the user can.
    """
    options = options_for(action, cluster)
    name = file_name_part(action.name)
    path = f"{name}-%j.out"
    if options.output_file_name is not None:
        path = options.output_file_name.replace("{action_name}", name)
    if options.output_file_path is not None:
        folder = options.output_file_path.replace("{action_name}", name)
        path = f"{folder.rstrip('/') or '/'}/{path}" if folder else path
    return path


def shared_header(request: JobRequest, cluster: Cluster, partition: Partition | None) -> list[str]:
    """Return all lines but the job's name: they are the same for equal requests.

    Raises: RowtuiError.
    """
    action = request.action
    asked = HeaderRequest(
        action.resources,
        options_for(action, cluster.name),
        log_path(action, cluster.name),
        request.processes,
        request.cpus,
        request.gpus,
        request.walltime_seconds,
    )
    return kind_of(cluster).header(asked, cluster, partition)


# Parts of a job's script, from which the scripts of arrays and bundles are assembled.
#
# The input is a script from `script.py`. The result is its header, the job's own part (token,
# directories, values, resources in words), and the rest after the fixed part, which jobs of one
# action share.


# Many plain names as the lines of a script, without an object for each name.
#
# The input is the names as bytes, each ended by a newline; the result is a sequence of names that
# also has them as one text. This form holds only names that bash reads without quotes; a caller
# with other names keeps them one by one.


_PLAIN_LINES = PLAIN_BYTES + b"\n"


class NameLines(Sequence[str]):
    """Names in order; `text` has each name on its own line, without a last newline."""

    __slots__ = ("_count", "_names", "text")

    def __init__(self, text: str, count: int) -> None:
        self.text = text
        self._count = count
        self._names: list[str] | None = None

    @classmethod
    def of(cls, lines: bytes, count: int) -> NameLines | None:
        """Return `count` names, each ended by a newline; None unless all are plain, not empty."""
        if lines.count(b"\n") != count or lines.translate(None, _PLAIN_LINES):
            return None
        if b"\n\n" in lines or lines.startswith(b"\n"):
            return None
        return cls(str(memoryview(lines)[:-1], "ascii"), count)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> str:  # type: ignore[override]
        if index == 0 and self._count:  # the name of a job needs only the first
            return self.text.partition("\n")[0] if self._count > 1 else self.text
        if self._names is None:
            self._names = self.text.split("\n") if self._count else []
        return self._names[index]


_HEADER_ENDS = pattern(r"\n(?!#)")
_MARK = 24  # characters that are very unlikely to occur elsewhere
FIXED = PRELUDE.strip("\n")  # the same in every script
_LAST_LINE = "\nrowtui_begin\n"  # of the fixed part


class ScriptParts(NamedTuple):
    """A script consists of `header`, `own`, the fixed part, and `rest`."""

    header: tuple[str, ...]
    own: str
    rest: str


def split_script(script: str) -> ScriptParts | None:
    """Return the parts of a script; None if it does not have them.

    The fixed part may be that of another version of rowtui, in a plan that is sent again.
    """
    cut = cut_at(script, FIXED) or _cut_by_ends(script)
    if cut is None:
        return None
    before, rest = cut
    if not before.startswith("#"):
        return ScriptParts((), before, rest)
    end = _HEADER_ENDS.search(before)
    if end is None:
        return ScriptParts(tuple(before.split("\n")), "", rest)
    return ScriptParts(tuple(before[: end.start()].split("\n")), before[end.end() :], rest)


def _cut_by_ends(script: str) -> tuple[str, str] | None:
    start = script.find(FIXED.partition("\n")[0][:_MARK])
    end = script.find(_LAST_LINE, start) if start >= 0 else -1
    return None if end < 0 else (script[:start], script[end + len(_LAST_LINE) - 1 :])


def cut_at(script: str, fixed: str) -> tuple[str, str] | None:
    """Return the text before and after the first `fixed`; None if `fixed` does not occur.

    The search uses only the beginning of `fixed`: a search for thousands of characters first builds
    a table of the same size, which takes longer than everything else here.
    """
    mark = fixed[:_MARK]
    at = script.find(mark)
    while at >= 0:
        if script.startswith(fixed, at):
            return script[:at], script[at + len(fixed) :]
        at = script.find(mark, at + 1)
    return None
