"""Links to files (OSC 8): a terminal that supports them opens the file; others show the text."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import quote

from rowtui.tui.shell.terminal import FEW_COLOURS
from textual.app import App

LINK = " links to "
"""Between the names of a style and the file that the span links to."""


def linked(text: str, file: str, style: str = "") -> tuple[str, str]:
    """Return a part of a line that links to a file, in the project or absolute, or an address."""
    return text, f"{style}{LINK}{file}" if file else style


def link_to(file: str, root: str) -> str:
    """Return the address of a file for the terminal (OSC 8); "" if its folder is unknown.

    The address names this machine, so that a terminal on another one does not open its own file.
    """
    if file.startswith(("https://", "http://")):
        return quote(file, safe=":/?#[]@!$&()*+,;=%")
    path = os.path.join(root, os.path.expanduser(file))
    if not file or not path.startswith("/"):
        return ""
    return f"file://{os.uname().nodename}{quote(os.fsencode(os.path.normpath(path)))}"


def link_of(app: App[Any], file: str) -> str | None:
    """Return the address of a file of the project on the screen; None if it is not to be written.

    A terminal without colours or glyphs may print the sequence of a link.
    """
    how, session = getattr(app, "how", None), getattr(app, "session", None)
    if how is None or how.ascii_only or how.colours <= FEW_COLOURS or session is None:
        return None
    root = session.snapshot.root if session.snapshot is not None else ""
    return link_to(file, root) or None
