"""Write docs/rowtui.1 and docs/commands.md from the command line's grammar.

`python docs/make_man.py` writes the manual page and the same as Markdown. A test fails if they were
not written again after the grammar changed.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rowtui.cli.argument_parser import common_options
from rowtui.cli.parser import build_parser
from rowtui.core import __version__

PATH = Path(__file__).with_name("rowtui.1")
COMMANDS = Path(__file__).with_name("commands.md")

_DESCRIPTION = """\
.PP
Without a command,
.B rowtui
opens the dashboard on the project of the current folder: the folder, or the nearest one above it,
with a
.IR workflow.toml .
Commands of Row take the options of Row.
Options are written in full and given once, unless their description says otherwise.
"""

_END = """\
.SH EXIT STATUS
.TP
.B 0
The command did all that was asked, or the user answered no.
.TP
.B 1
An error, or something that was asked for was left out. The message on standard error names it.
.TP
.B 2
The command line is wrong.
.TP
.B 130
The user interrupted the command.
.SH ENVIRONMENT
Each variable may begin with
.B ROWTUI_
or, as for Row, with
.BR ROW_ ;
the first counts if both are set.
.TP
.BR ROW_CLUSTER ", " ROW_COLOR ", " ROW_IO_THREADS ", " ROW_NO_PROGRESS ", " ROW_CLEAR_PROGRESS
Defaults of the common options.
.TP
.B ROW_HOME
The folder in which
.I .config/row
is looked for, in place of the home folder.
.TP
.B NO_COLOR
No colours, if set.
.SH FILES
.TP
.I workflow.toml
The actions of the project.
.TP
.I .row
The state of the project; Row and rowtui share it.
.TP
.IR ~/.config/row/clusters.toml ", " ~/.config/row/launchers.toml
.TQ
.I ~/.config/rowtui/clusters.toml
Clusters and launchers.
"""


def page() -> str:
    """The whole manual page."""
    parser = build_parser()
    common = {action.dest for action in common_options()._actions}
    parts = [
        f'.TH ROWTUI 1 "" "rowtui {__version__}" "User Commands"\n',
        ".SH NAME\n",
        "rowtui \\- run thousands of directories through a workflow on HPC clusters\n",
        ".SH SYNOPSIS\n.B rowtui\n[\\fIOPTIONS\\fR] [\\fICOMMAND\\fR [\\fIARGUMENTS\\fR]]\n",
        f".SH DESCRIPTION\n{_roff(parser.description or '')}\n{_DESCRIPTION}",
        ".SH COMMON OPTIONS\nEvery command takes these, before or after its name.\n",
        *(_argument(it) for it in parser._actions if it.dest in common),
        ".SH DASHBOARD OPTIONS\n",
        *(_argument(it) for it in parser._actions if it.dest not in common and _is_option(it)),
        ".SH COMMANDS\n",
    ]
    for words, command in _commands(parser):
        own = [it for it in command._actions if it.dest not in common and _is_shown(it)]
        parts.append(f".SS {_roff(' '.join(words))}\n{_synopsis(words, own)}")
        parts.append(f".PP\n{_roff(command.description or '')}\n")
        parts += map(_argument, own)
        parts.append(_examples(command.epilog or ""))
    return "".join([*parts, _END, _examples(parser.epilog or "", ".SH EXAMPLES\n")])


def _commands(parser: Any, words: tuple[str, ...] = ("rowtui",)) -> Iterator[tuple[Any, Any]]:
    """Each command that does something, with its parser, in the order of the help."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            names = {sub: name for name, sub in reversed(action.choices.items())}  # no aliases
            for sub, name in reversed(names.items()):
                below = [*_commands(sub, (*words, name))]
                yield from below or [((*words, name), sub)]


def _is_shown(action: argparse.Action) -> bool:
    return action.help is not argparse.SUPPRESS and action.dest != "help"


def _is_option(action: argparse.Action) -> bool:
    return bool(action.option_strings) and _is_shown(action)


def _value(action: argparse.Action) -> str:
    """The value that an argument takes, as the help shows it."""
    if action.nargs == 0:
        return ""
    choices = "|".join(map(str, action.choices)) if action.choices else ""
    name = action.metavar or choices or action.dest.upper()
    shown = f"\\fI{_roff(name if isinstance(name, str) else ' '.join(name))}\\fR"
    if action.nargs in ("*", "?"):
        shown = f"[{shown}]"
    return shown + " ..." * (action.nargs in ("*", "+"))


def _argument(action: argparse.Action) -> str:
    value, help_text = _value(action), (action.help or "") % {**vars(action), "prog": "rowtui"}
    names = ", ".join(f"\\fB{_roff(name)}\\fR" for name in action.option_strings)
    return f".TP\n{f'{names} {value}'.strip()}\n{_roff(help_text)}\n"


def _synopsis(words: tuple[str, ...], arguments: list[argparse.Action]) -> str:
    values = [_value(action) for action in arguments if not action.option_strings]
    options = ["[\\fIOPTIONS\\fR]"] if len(values) < len(arguments) else []
    return f".B {_roff(' '.join(words))}\n{' '.join([*options, *values])}\n".replace("\n\n", "\n")


def _examples(epilog: str, title: str = ".PP\n") -> str:
    """The examples as they are written, without their own title."""
    if not epilog:
        return ""
    lines = [_roff(line[2:] if line.startswith("  ") else line) for line in epilog.split("\n")]
    if lines[0] == "Examples:":
        del lines[0]
    return title + ".nf\n" + "".join(f"{line}\n" for line in lines) + ".fi\n"


def _roff(text: str) -> str:
    """Text in which nothing is taken for a request."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join(f"\\&{it}" if it.startswith((".", "'")) else it for it in lines)


def commands_page() -> str:
    """All commands with their options as Markdown."""
    parser = build_parser()
    common = {action.dest for action in common_options()._actions}
    dashboard = [it for it in parser._actions if it.dest not in common and _is_option(it)]
    parts = [
        "# Commands\n\n`docs/make_man.py` writes this page from the command line's grammar; "
        "`rowtui COMMAND --help` and `man rowtui` print the same. [Verbs](verbs.md) lists the "
        "commands beside the keys of the dashboard.\n",
        "## Common options\n\nEvery command takes these options, before or after its name.\n",
        _table([it for it in parser._actions if it.dest in common and _is_option(it)]),
        "## Options of the dashboard\n\nWithout a command, `rowtui` opens the dashboard.\n",
        _table(dashboard),
    ]
    for words, command in _commands(parser):
        own = [it for it in command._actions if it.dest not in common and _is_shown(it)]
        name = " ".join(words)
        values = [_plain(_value(it)) for it in own if not it.option_strings]
        options = ["[OPTIONS]"] if len(values) < len(own) else []
        parts.append(f"## {name}\n\n```text\n{' '.join([name, *options, *values])}\n```\n")
        parts.append(f"{_markdown(command.description or '')}\n")
        parts.append(_table(own))
        examples = (command.epilog or "").removeprefix("Examples:\n")
        if examples:
            lines = [line.removeprefix("  ") for line in examples.split("\n")]
            parts.append("```text\n" + "".join(f"{line}\n" for line in lines) + "```\n")
    return "\n".join(part for part in parts if part)


def _table(arguments: list[argparse.Action]) -> str:
    rows = []
    for action in arguments:
        value = _plain(_value(action))
        shown = f"{', '.join(action.option_strings)} {value}".strip().replace("|", "\\|")
        help_text = (action.help or "") % {**vars(action), "prog": "rowtui"}
        rows.append(f"| `{shown}` | {_markdown(' '.join(help_text.split()))} |\n")
    return "| argument | meaning |\n|---|---|\n" + "".join(rows) if rows else ""


def _plain(roff: str) -> str:
    return roff.replace("\\fI", "").replace("\\fR", "").replace("\\-", "-").replace("\\e", "\\")


def _markdown(text: str) -> str:
    """Text in which nothing is taken for markup."""
    return re.sub(r"([\\`*_<>|\[\]])", r"\\\1", text)


if __name__ == "__main__":
    PATH.write_text(page(), encoding="utf-8")
    COMMANDS.write_text(commands_page(), encoding="utf-8")
