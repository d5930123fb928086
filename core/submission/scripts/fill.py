r"""Fill names and values into a command, quoted for the place of each template.

The input is a parsed command. The result is shell text in which every template is a reference to a
variable (`"$directory"`), never the name itself. Bash does not parse the content of a variable as
shell again, so no name can break out of the command, and the script contains the command once for
any number of directories. The surrounding quotes are tracked closely enough to keep one name one
word: in double quotes `${directory}`, in single quotes `'"$directory"'`; a here-document with a
quoted end word is rewritten so that only rowtui's templates are expanded. An error in this tracking
could split a name into words, but could never run it.

Unquoted `$directory` is split at spaces, as in Row.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import visible
from rowtui.core.submission.scripts.parts import is_plain
from rowtui.core.workflow.template import CommandTemplate, PartKind, TemplatePart

_TEMPLATE = "\0"  # stands for a template while the text is parsed; bash text cannot contain it


class FilledCommand(NamedTuple):
    """The text of a command for a script.

    `values` are the JSON pointers that the text needs: `values[k]` must be in variable
    `value_variable(k)`. `arithmetic` are the templates inside `$((...))`, where bash would evaluate
    any text that is not a number.
    """

    text: str
    values: tuple[str, ...]
    arithmetic: frozenset[TemplatePart] = frozenset()


def value_variable(index: int) -> str:
    """Return the variable that holds the value of the pointer with this index."""
    return f"rowtui_value_{index + 1}"


def fill_command(command: CommandTemplate, workspace_path: str, prefix: str = "") -> FilledCommand:
    """Fill the templates of a command and put the launchers' prefix before its first word.

    Raises: RowtuiError for NUL characters, and for a template as the end word of a here-document.
    """
    if any(_TEMPLATE in part.text for part in command.parts):
        raise RowtuiError("the command holds a NUL character, which no shell can read")
    templates = [part for part in command.parts if part.kind is not PartKind.TEXT]
    source = "".join(
        part.text if part.kind is PartKind.TEXT else _TEMPLATE for part in command.parts
    )
    reader = _Reader(templates, command.pointers, workspace_path)
    text = reader.read(source, "plain")
    return FilledCommand(_with_prefix(prefix, text), command.pointers, frozenset(reader.arithmetic))


_BEFORE_FIRST_WORD = pattern(r"(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*")


def _with_prefix(prefix: str, text: str) -> str:
    # A launcher belongs before the first word, not before preceding blank lines or comments.
    match = _BEFORE_FIRST_WORD.match(text)
    start = match.end() if match else 0
    rest = text[start:]
    if not rest or rest.startswith("#"):
        return f"{text}\n:"  # only comments: the script needs a command here
    return text[:start] + prefix + rest


# Kinds of frames: "plain" (words of shell; also inside $(...), (...) and backticks), "double",
# "param" and "quoted param" (${...} outside and inside of double quotes), "arithmetic", "here".
_WORD_START = frozenset(" \t\n;&|()")


class _Reader:
    """Parses shell text once, from left to right, and writes it with templates filled."""

    def __init__(
        self, templates: list[TemplatePart], pointers: tuple[str, ...], workspace: str
    ) -> None:
        self.templates = iter(templates)
        self.pointers = pointers
        self.workspace = workspace
        self.arithmetic: set[TemplatePart] = set()

    def read(self, source: str, outermost: str) -> str:
        out: list[str] = []
        frames = [outermost]
        closers = [""]  # the character that ends each frame
        documents: list[tuple[int, str, bool, bool]] = []  # place in out, end word, quoted, tabs
        at, end = 0, len(source)
        while at < end:
            char = source[at]
            frame = frames[-1]
            plain = frame in ("plain", "param")
            if char == _TEMPLATE:
                out.append(self.expansion(frame))
                at += 1
            elif char == "\\":
                # A backslash before a template would escape the inserted quote; the name needs no
                # backslash.
                if source[at + 1 : at + 2] != _TEMPLATE:
                    out.append(source[at : at + 2])
                    at += 1
                at += 1
            elif char == "'" and plain:
                at = self.single(source, at + 1, out, "'")
            elif source.startswith("$'", at) and plain:
                at = self.single(source, at + 2, out, "$'")
            elif char == "$" and source[at + 1 : at + 2] == _TEMPLATE:
                # ${directory}: the braces belong to the template, and the meaning is the same
                at += 1
            elif source.startswith("$((", at):
                frames += ["arithmetic", "arithmetic"]
                closers += [")", ")"]
                out.append("$((")
                at += 3
            elif source.startswith("$(", at):
                frames.append("plain")
                closers.append(")")
                out.append("$(")
                at += 2
            elif source.startswith("${", at):
                frames.append("param" if plain else "quoted param")
                closers.append("}")
                out.append("${")
                at += 2
            elif char == closers[-1]:
                frames.pop()
                closers.pop()
                out.append(char)
                at += 1
            elif char == '"' and frame != "here":
                frames.append("double")
                closers.append('"')
                out.append(char)
                at += 1
            elif char == "`":
                frames.append("plain")
                closers.append("`")
                out.append(char)
                at += 1
            elif source.startswith("((", at) and frame == "plain":
                frames += ["arithmetic", "arithmetic"]
                closers += [")", ")"]
                out.append("((")
                at += 2
            elif char == "(" and frame in ("plain", "arithmetic"):
                frames.append(frame)
                closers.append(")")
                out.append(char)
                at += 1
            elif char == "#" and frame == "plain" and (not at or source[at - 1] in _WORD_START):
                stop = source.find("\n", at)
                stop = end if stop < 0 else stop
                out.append(self.literal(source[at:stop], "comment"))
                at = stop
            elif source.startswith("<<<", at):
                out.append("<<<")
                at += 3
            elif source.startswith("<<", at) and frame == "plain":
                at = self.here_word(source, at, out, documents)
            elif char == "\n" and documents and frame == "plain":
                for document in documents:
                    out.append(source[at : at + 1])
                    at = self.here_body(source, at + 1, out, document)
                documents.clear()
            else:
                out.append(char)
                at += 1
        return "".join(out)

    def expansion(self, context: str) -> str:
        """Return the text for the next template in a context."""
        part = next(self.templates)
        if part.kind is PartKind.WORKSPACE_PATH and is_plain(self.workspace):
            return self.workspace
        if context == "arithmetic":
            self.arithmetic.add(part)
        many = part.kind is PartKind.DIRECTORIES
        if part.kind is PartKind.VALUE:
            name = value_variable(self.pointers.index(part.text))
        else:
            name = (
                "ACTION_WORKSPACE_PATH" if part.kind is PartKind.WORKSPACE_PATH else part.kind.value
            )
        if context in ("plain", "param"):
            return '"${directories[@]}"' if many else f'"${name}"'
        inside = "${directories[*]}" if many else f"${{{name}}}"
        if context in ("'", "$'"):
            return f'\'"{inside}"{context}'
        return inside

    def literal(self, text: str, context: str) -> str:
        """Return the text with templates filled, where no other character is special."""
        pieces = text.split(_TEMPLATE)
        filled = [pieces[0]]
        for piece in pieces[1:]:
            filled += [self.expansion(context), piece]
        return "".join(filled)

    def single(self, source: str, at: int, out: list[str], opening: str) -> int:
        r"""Parse '...' or $'...' after its opening quote; return the position after it."""
        stop = at
        while stop < len(source) and source[stop] != "'":
            stop += 2 if opening == "$'" and source[stop] == "\\" else 1
        stop = min(stop, len(source))
        out += [opening, self.literal(source[at:stop], opening), "'" if stop < len(source) else ""]
        return stop + 1

    def here_word(
        self, source: str, at: int, out: list[str], documents: list[tuple[int, str, bool, bool]]
    ) -> int:
        """Note the document of `<<WORD`, which begins at the next newline."""
        match = _HERE_WORD.match(source, at)
        if match is None:
            out.append("<<")
            return at + 2
        word = match["word"]
        if _TEMPLATE in word:
            raise RowtuiError("a template cannot be the end word of a here-document")
        bare = _HERE_QUOTES.sub(lambda found: found[1] or found[2] or found[3] or "", word)
        documents.append((len(out), bare, bare != word, bool(match["tabs"])))
        out.append(match.group())
        return match.end()

    def here_body(
        self, source: str, at: int, out: list[str], document: tuple[int, str, bool, bool]
    ) -> int:
        """Parse a here-document from its first line; return the position after its end word."""
        place, word, quoted, tabs = document
        start = at
        while at < len(source):
            newline = source.find("\n", at)
            stop = len(source) if newline < 0 else newline
            line = source[at:stop]
            if (line.lstrip("\t") if tabs else line) == word:
                break
            at = stop + 1
        else:
            at = stop = len(source)  # no end word: bash warns, and uses all remaining text
        body = source[start:at]
        if not quoted:
            out += [self.read(body, "here"), source[at:stop]]
        elif _TEMPLATE not in body:
            out += [body, source[at:stop]]
        else:
            # Only rowtui's templates may be expanded: escape the rest, and leave the end word
            # unquoted.
            new = "ROWTUI_END"
            while new in body:
                new += "_"
            out[place] = ("<<-" if tabs else "<<") + new
            out += [self.literal(_HERE_SPECIAL.sub(r"\\\g<0>", body), "here"), new]
        return stop


_HERE_WORD = pattern(r"""<<(?P<tabs>-?)[ \t]*(?P<word>(?:[^\s;&|()<>'"\\]|\\.|'[^']*'|"[^"]*")+)""")
_HERE_QUOTES = pattern(r"""\\(.)|'([^']*)'|"([^"]*)\"""")
_HERE_SPECIAL = pattern(r"[\\$`]")


def refuse_arithmetic(part: TemplatePart, text: str) -> str:
    """Return why a name or value may not stand inside `$((...))`, "" if it may.

    Bash evaluates the text there: `a[$(rm -rf ~)]` would run.
    """
    if re.fullmatch(r"[0-9A-Za-z_.+-]+", text):
        return ""
    what = (
        "the directory's name" if part.kind is PartKind.DIRECTORY else f"the value {{{part.text}}}"
    )
    return f"{what} is used in $((...)) but is not a number: {visible(text)}"
