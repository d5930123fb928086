"""Row's own figures, for machines without Row.

Row 0.3.1 (release build) on 2 AMD EPYC vCPUs, ext4, the page cache warm. `status` and `eligible`:
this bench's project of ten actions, 10k and 100k idle medians of 5 to 15 runs, 1M of 3. `first`:
listing and reading the same project without saving (hence a little flattered). The other rows: a
lighter project of three actions, medians of 7 to 15 runs and of 2 at 1M, CPU instead of wall,
because that machine was busy (Row is single-threaded when warm, so CPU is wall on an idle core).
"""

from __future__ import annotations

from bench.measure import Run
from bench.measured import Measured, of_runs

NOTE = (
    "Row's figures are those of Row 0.3.1 on another machine (2 AMD EPYC vCPUs, ext4); all but "
    "first, status and eligible are of a lighter project. With `--row PATH` they are measured."
)

_THREE = (10_000, 100_000, 1_000_000)


def _row(*figures: tuple[float, float, float]) -> dict[int, Run]:
    return {size: Run(*figure) for size, figure in zip(_THREE, figures, strict=True)}


ROW_FIGURES: dict[str, dict[int, Run]] = {
    "first show status": _row((0.14, 0.24, 23), (1.8, 2.9, 176), (33.0, 43.0, 1774)),
    "show status": _row((0.185, 0.185, 22), (3.32, 3.32, 168), (51.6, 51.6, 2576)),
    "show status --all": _row((0.185, 0.185, 22), (3.32, 3.32, 168), (51.6, 51.6, 2576)),
    "show status DIRECTORY": _row((0.02, 0.02, 16), (0.32, 0.32, 105), (5.0, 5.0, 1038)),
    "show directories --value": _row((0.06, 0.06, 22), (0.90, 0.90, 177), (17.6, 17.6, 1746)),
    "show directories --eligible": _row((0.05, 0.05, 22), (0.73, 0.73, 168), (9.46, 9.46, 2219)),
    "submit --dry-run": _row((0.06, 0.06, 20), (1.11, 1.11, 147), (20.4, 20.4, 1520)),
    "submit --dry-run -n 1": _row((0.05, 0.05, 20), (1.0, 1.0, 147), (20.4, 20.4, 1520)),
    "scan": _row((0.10, 0.10, 16), (1.05, 1.05, 26), (20.1, 20.1, 150)),
    # With one action, without groups.
    "1,000 new directories": {
        100_000: Run(1.06, 1.06, 168),
        1_000_000: Run(14.1, 14.1, 2219),
    },
}


def known(name: str, size: int) -> list[Measured]:
    """A command's row at a size, of the tool "row (reference)", where it is known."""
    figures = ROW_FIGURES.get(name, {}).get(size)
    return [of_runs(name, size, "row (reference)", [figures])] if figures else []
