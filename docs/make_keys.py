"""Write docs/keys.md from the dashboard's registry of commands: `python docs/make_keys.py`.

The dashboard reads the same registry (`tui/commands/registry.py`), so the table is correct; a test
fails if the page was not written again after a change.
"""

from __future__ import annotations

from pathlib import Path

from rowtui.tui.commands.command import TITLES, VIEWS, Command
from rowtui.tui.commands.registry import COMMANDS
from rowtui.tui.line.commands import LINE_COMMANDS

PATH = Path(__file__).with_name("keys.md")

_INTRODUCTION = """\
# Keys of the dashboard

`docs/make_keys.py` writes this page from `tui/commands/registry.py`. `?` in the dashboard shows the
keys of the current view; `ctrl+p` lists all commands by name, and `:` accepts them as typed words.
A command that cannot be used now shows the reason.

Commands that change something outside the dashboard are marked with *: they ask before they act,
and `rowtui --read-only` disables them.

To change keys, name commands by their id in `~/.config/rowtui/keys.toml`:

```toml
"queue.cancel" = "ctrl+x"
"list.line-down" = "j,down,ctrl+n"
```

Where two commands want one key, a message at the start states which of them keeps the key; `:keys`
shows the file and the resulting keys.

A text that arrives at once, pasted or not, goes into the field that is open. Where no field is
open, it does nothing, and a line reports this.
"""


# What the help page says of itself would read strangely here.
_OTHER_WORDS = {"app.help": "the keys that work in the view at hand"}


def page() -> str:
    """The whole of keys.md."""
    scopes = {
        "app": "Everywhere",
        "list": "In tables and texts",
        "rows": "In long lists",
        "text": "In texts",
        "graph": "In the picture of a network",
        **{
            name: f"{VIEWS[name][0]} {title}" if name in VIEWS else title
            for name, title in TITLES.items()
        },
    }
    unknown = {command.scope for command in COMMANDS} - scopes.keys()
    if unknown:
        raise ValueError(f"scopes without a title: {', '.join(sorted(unknown))}")
    parts = [_INTRODUCTION]
    for scope, title in scopes.items():
        rows = [_row(command) for command in COMMANDS if command.scope == scope]
        if rows:
            parts.append(
                f"## {title}\n\n| keys | what happens | id |\n|---|---|---|\n" + "".join(rows)
            )
    return "\n".join([*parts, _typed()])


def _typed() -> str:
    """The commands that are typed after `:`."""
    rows = ""
    for one in LINE_COMMANDS:
        also = "".join(f", `:{name}`" for name in one.aliases)
        rows += f"| `:{one.usage}`{also} | {one.description} |\n"
    return (
        "## Typed after `:`\n\nBeside these, every command with a key can be typed by its id, "
        "`:groups.submit`, and those of the view at hand by their label. Tab completes; what "
        "stands in brackets may be left out.\n\n| typed | what happens |\n|---|---|\n" + rows
    )


def _row(command: Command) -> str:
    keys = " ".join(f"`{key}`" for key in command.shown_keys.replace("|", "\\|").split())
    text = _OTHER_WORDS.get(command.id, command.description)
    mark = " *" if command.asks else ""
    return f"| {keys} | {text}{mark} | {command.id} |\n"


if __name__ == "__main__":
    PATH.write_text(page(), encoding="utf-8")
