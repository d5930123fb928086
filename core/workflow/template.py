"""Split the command of an action into literal text and templates.

The input is the command from workflow.toml; the output is a `CommandTemplate` whose parts a script
writer fills with quoted names and values. The module refuses exactly the commands that Row 1.1
refuses when it builds a script.

- `{directory}`: the command runs once for each directory; `{directories}`: once for all.
- `{workspace_path}`: the workspace as written in workflow.toml.
- `{/pointer}` and `{}`: the value, or a part of it, of the directory; only with `{directory}`.

With `{directory}` any other `{...}` is an error. With `{directories}` other braces are left to the
shell. Source: the behaviour of Row 1.1.
"""

from __future__ import annotations

import enum
import re
from typing import NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import visible


class PartKind(enum.Enum):
    """The kind of one part of a command."""

    TEXT = "text"  # literal shell text
    DIRECTORY = "directory"
    DIRECTORIES = "directories"
    WORKSPACE_PATH = "workspace_path"
    VALUE = "value"  # the value at `text`, a JSON pointer; "" is the whole value


class TemplatePart(NamedTuple):
    """One part; `text` is the literal text, or the JSON pointer of a VALUE."""

    kind: PartKind
    text: str = ""


class CommandTemplate(NamedTuple):
    """A command in parts. `kind` is DIRECTORY (run for each) or DIRECTORIES (run once)."""

    kind: PartKind
    parts: tuple[TemplatePart, ...]

    @property
    def pointers(self) -> tuple[str, ...]:
        """The JSON pointers that the command needs, each once, in order; "" is the whole value."""
        values = (part.text for part in self.parts if part.kind is PartKind.VALUE)
        return tuple(dict.fromkeys(values))


class TemplateError(RowtuiError):
    """The templates of a command cannot be used."""


_TEMPLATES = {
    "{directory}": TemplatePart(PartKind.DIRECTORY),
    "{directories}": TemplatePart(PartKind.DIRECTORIES),
    "{workspace_path}": TemplatePart(PartKind.WORKSPACE_PATH),
}
_FOR_ALL = pattern(r"\{directories\}|\{workspace_path\}")
_WITH_VALUES = pattern(r"\{[^}]*\}")
# Row inserts the directory before it searches for other templates: `{{directory}` is `{` and a
# name, while `{{directory}}` is the unknown template `{...}`.
_FOR_EACH = pattern(r"\{directory\}|\{(?>(?:\{directory\}|[^}])*)\}")


def parse_command(command: str) -> CommandTemplate:
    """Split a command into parts.

    Raises: TemplateError for none or both of the directory templates, for pointers with
    `{directories}`, and for any other `{...}` with `{directory}`.
    """
    each, together = "{directory}" in command, "{directories}" in command
    values = "{/" in command or "{}" in command
    if each and together:
        raise TemplateError(
            "the command has both {directory} and {directories}",
            "use {directory} to run it once for each directory, {directories} to run it once",
        )
    if not each and not together:
        raise TemplateError(
            "the command has neither {directory} nor {directories}",
            "add {directory} to run it once for each directory, {directories} to run it once",
        )
    if together and values:
        raise TemplateError(
            "the command has {directories} and a value template such as {/pointer} or {}",
            "values belong to one directory: use {directory}, or move `{}` into a script",
        )
    pattern = _FOR_ALL if together else _WITH_VALUES if values else _FOR_EACH
    parts = _split(command, pattern)
    return CommandTemplate(PartKind.DIRECTORIES if together else PartKind.DIRECTORY, parts)


def _split(command: str, pattern: re.Pattern[str]) -> tuple[TemplatePart, ...]:
    parts = []
    end = 0
    for match in pattern.finditer(command):
        if match.start() > end:
            parts.append(TemplatePart(PartKind.TEXT, command[end : match.start()]))
        parts.append(_template(match.group(), command[: match.start()]))
        end = match.end()
    if end < len(command):
        parts.append(TemplatePart(PartKind.TEXT, command[end:]))
    return tuple(parts)


def _template(text: str, before: str) -> TemplatePart:
    if part := _TEMPLATES.get(text):
        return part
    if text == "{}" or text.startswith("{/"):
        return TemplatePart(PartKind.VALUE, text[1:-1])
    raise TemplateError(
        f"the command has the unknown template {visible(text)}", _hint(text, before)
    )


def _hint(text: str, before: str) -> str:
    name = text[1:-1]
    if before.endswith("$") and name.isidentifier():
        return f"write ${name}: braces are for templates"
    if name.isidentifier():
        from rowtui.core.workflow.toml_file import did_you_mean

        known = [template[1:-1] for template in _TEMPLATES]
        if name == "action_name":
            return "use $ACTION_NAME"
        return did_you_mean(name, known) or f"for a value of the directory write {{/{name}}}"
    return "braces are for templates: move shell code that needs them into a script"
