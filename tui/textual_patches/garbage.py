"""Control when and where Python searches for garbage: not in the dashboard's own objects, and not
while a key is handled.

Modules, styles and views are half a million small objects that live until the end. Python's
collector searches all of them whenever their number has grown by a quarter, in the middle of other
work. Such a search blocks frames and keys for 40 to 80 ms, the longest pause that was measured.
This module excludes those objects, so that the time of a full search depends only on newer objects,
and runs the search as a separate step of the event loop.
"""

from __future__ import annotations

import gc

NEVER = 1_000_000_000
"""Searches of younger generations before Python starts a full search by itself."""

DUE = 4
"""Searches of younger generations before `search` starts a full one: about ten thousand new
objects, 10 to 20 ms.
"""

YOUNG = 1
"""The oldest generation that is searched before objects are set aside: some thousand
objects, 2 ms.
"""


def begin() -> None:
    """Leave full searches to `search` from now on; only for a process that belongs to rowtui."""
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, NEVER)
    set_aside()


def set_aside() -> None:
    """Exclude all existing objects from later searches.

    Call this function rarely: an excluded object that becomes garbage is never freed.
    """
    gc.collect(YOUNG)
    gc.freeze()


def search() -> None:
    """Run a full search if many objects were created since the last one; to be called at
    intervals.
    """
    if gc.get_count()[2] >= DUE:
        gc.collect()
