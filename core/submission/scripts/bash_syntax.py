"""Whether bash can parse a script; bash is run only if the answer is not obvious.

The input is a recipe or a script; the result is the answer, or bash's error message.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rowtui.core.base.text import visible

if TYPE_CHECKING:
    from rowtui.core.submission.scripts.script import Recipe

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
