"""When Python searches for garbage, and where: not in the dashboard itself, and not under a key.

Modules, looks and views are half a million small things that stay for good. Python's collector goes
through all of them whenever there are a quarter more, in the middle of whatever is being done: 40
to 80 ms without a frame or a key, the longest stop there was. Here they are set aside, so that a
full search takes as long as what came since, and it is a step of the event loop of its own.
"""

from __future__ import annotations

import gc

NEVER = 1_000_000_000
"""Searches of what is younger before a full one, by itself."""

DUE = 4
"""The same before `search` makes one: some ten thousand new things, 10 to 20 ms."""

YOUNG = 1
"""The generations that are searched before something is set aside: some thousand things, 2 ms."""


def begin() -> None:
    """From now on only `search` looks at everything; for a process that is ours."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)
    set_aside()


def set_aside() -> None:
    """All that is there now stays. To be said rarely: what of it becomes garbage stays as well."""
    gc.collect(YOUNG)
    gc.freeze()


def search() -> None:
    """Once in a while; does something if much was made since the last time."""
    if gc.get_count()[2] >= DUE:
        gc.collect()
