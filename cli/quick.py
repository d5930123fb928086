"""Frequently typed commands, answered without loading the rest of the program.

Only `rowtui show status` with the plainest options is handled, and only if nothing has changed
since it was last computed; anything else is left to the complete command line.
"""

from __future__ import annotations

import os
import sys

# The modules that make the table's text, relative to this folder: a stored text is valid only for
# their current version.
RENDERING = (
    "show/status.py",
    "output/table.py",
    "output/output.py",
    "../core/base/text.py",
)
# Options without effect here: without submitted jobs no cluster is polled.
HARMLESS = frozenset({"--no-progress", "--clear-progress"})
# Variables that change output or logging; the complete program handles them.
SETTINGS = ("ROW_COLOR", "ROWTUI_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "NO_COLOR")


def quick_answer(arguments: list[str]) -> int | None:
    """Print the stored answer and return the exit code, or None if the case is not that simple."""
    if [word for word in arguments if word not in HARMLESS] != ["show", "status"]:
        return None
    if len(set(arguments)) < len(arguments) or any(name in os.environ for name in SETTINGS):
        return None
    if "" in (os.environ.get("ROW_CLUSTER"), os.environ.get("ROWTUI_CLUSTER")):
        return None  # this option is refused
    from rowtui.core.project.summary import read_text

    coloured = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    text = read_text(os.getcwd(), text_key(coloured=coloured))
    if text is None:
        return None
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        return None
    sys.stdout.flush()
    return 0


def text_key(*, coloured: bool) -> str:
    """Return the key of a stored text, from its format and the version of the code."""
    from rowtui.core.project.summary import identity

    folder = os.path.dirname(__file__)
    versions = [identity(os.path.join(folder, name)) for name in RENDERING]
    return f"status{' in colour' if coloured else ''} {versions}"
