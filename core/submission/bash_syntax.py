"""Whether bash can read a script, asked of bash where that is not plain already.

Takes a recipe or a script; gives yes, or what bash says.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rowtui.core.text import visible

if TYPE_CHECKING:
    from rowtui.core.submission.script import Recipe

# Words that stand for themselves, and our templates as they stand between words.
_WORD = r"[A-Za-z0-9_+,./:@%=-]+"
_RESERVED = "if|then|else|elif|fi|do|done|case|esac|while|until|for|in|function|time|select|coproc"
_ONE_COMMAND = re.compile(
    rf"(?!(?:{_RESERVED}) )(?!(?:{_RESERVED})$){_WORD}"
    rf"(?: +(?:{_WORD}|\"\$\w+\"|\"\$\{{directories\[@\]\}}\"))*"
)


def is_one_command(recipe: Recipe) -> bool:
    """Whether a command is so plain that no bash has anything against it: it need not be asked."""
    return _ONE_COMMAND.fullmatch(recipe.filled.text) is not None


def bash_complaint(script: str) -> str:
    """What bash has against a script's syntax, "" if nothing. `bash -n` runs none of it."""
    import subprocess

    try:
        done = subprocess.run(
            ["bash", "-n"], input=script.encode(), capture_output=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""  # cannot be asked here: the node will tell
    # A here-document that does not end is only a warning to bash.
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return visible(lines[0].removeprefix("bash: ")) if lines else ""
