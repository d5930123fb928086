"""The collector goes through what is new only, and finds all of it; in a process of its own."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc, weakref
from rowtui.tui.textual_patches import driver as garbage

class Page:
    def __init__(self):
        self.me = self

view = Page()
garbage.begin()
seen = {id(one) for one in gc.get_objects()}
print("view" if id(view) in seen else "nothing", "is searched")

closed = weakref.ref(Page())
gc.collect(1)  # it lived long enough to be old
held, page = [], Page()
again = weakref.ref(page)
gc.collect(1)
del page
garbage.search()
print("found at once" if again() is None else "not due")
while gc.get_count()[2] < garbage.DUE:
    held.append([])
print("found by itself" if again() is None else "still there")
garbage.search()
print("found" if again() is None else "lost", gc.get_count()[2])
print(closed(), view.me is view)
"""


def test_what_was_set_aside_is_not_searched_and_what_came_since_is_when_it_is_due() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.splitlines() == [
        "nothing is searched", "not due", "still there", "found 0", "None True",
    ], done.stderr  # fmt: skip
