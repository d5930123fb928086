"""Measure long lists: `python -m bench.lists [--directories 100000]`.

Filters, sorts and pages of all directories of an action, as a screen asks for them, through the
engine in this process; each question twice, so that what is kept shows. On the project of
`bench.make_project`.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import tempfile
import time
from pathlib import Path

from bench.__main__ import machine
from bench.make_project import make_project

QUESTIONS = (
    ("as it is", "", "", False),
    ("status", "status=eligible", "", False),
    ("part of a name", "beef", "", False),
    ("part of a name, few letters", "0", "", False),
    ("pattern of a name", "name~^00.*ff$", "", False),
    ("a stored value", "temperature<1.5", "", False),
    ("a stored value and a name", "temperature<1.5 ab !status=completed", "", False),
    ("a value that is not stored", "seed>10", "", False),
    ("by name, descending", "", "name", True),
    ("by status", "", "status", False),
    ("by a value", "", "/temperature", False),
    ("by a value, filtered", "status!=completed", "/temperature", True),
)


async def measure(root: Path, action: int) -> list[str]:
    from rowtui.core.engine import ListAsked
    from rowtui.core.grouping.model import Status
    from rowtui.core.in_process import InProcessEngine
    from rowtui.core.project.project import Project

    engine = InProcessEngine(Project.open(root, cluster="local"))
    await engine.refresh()
    everything = tuple(Status)
    lines = [
        "| question | rows | first page, ms | a page in the middle, ms |",
        "|---|---:|---:|---:|",
    ]
    for kind in ("directories", "groups"):
        ask = getattr(engine, kind)
        for title, text, sort, descending in QUESTIONS:
            by = {"name": "first", "status": "size"}.get(sort, sort) if kind == "groups" else sort
            words = text.replace("status", "size") if kind == "groups" else text
            words = words.replace("size=eligible", "size=100").replace("size=completed", "size=1")
            words = words.replace("size!=completed", "size!=1")
            if kind == "groups" and "seed" in text:
                continue
            asked = ListAsked(words, by, descending)
            times = []
            for start in (0, None):
                at = page.total // 2 if start is None else 0  # noqa: F821
                began = time.perf_counter()
                page = await ask(action, everything, at, 100, asked=asked)
                times.append(1000 * (time.perf_counter() - began))
            lines.append(
                f"| {kind}: {title} | {page.total:,} | {times[0]:,.1f} | {times[1]:,.1f} |"
            )
    await engine.close()
    return lines


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--directories", type=int, default=100_000)
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rowtui-lists-") as temporary:
        folder = chosen.folder or Path(temporary)
        make_project(folder, chosen.directories)
        lines = asyncio.run(measure(folder / "rowtui", 3))
    print(f"## {chosen.directories:,} directories\n\n{machine()}\n")
    print("\n".join(lines))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
    print(f"\nMost memory of the process, the project's synchronisation included: {most:,} MB.")


if __name__ == "__main__":
    main()
