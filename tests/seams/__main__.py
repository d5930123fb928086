"""Run the matrix, or the demos, and print every contradiction with the sources of both sides.

python -m tests.seams                      all combinations
python -m tests.seams --only packed-slurm  those whose name contains this
python -m tests.seams --demos              the demos instead, step by step
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from tests.rig.login import LoginNode
from tests.rig.slurm import start_slurm
from tests.seams.checker import in_brief
from tests.seams.combinations import everything, selection
from tests.seams.demos import DEMOS
from tests.seams.running import Moment, run

Run = Callable[[Path], Iterator[Moment]]


def main() -> int:
    """Run, print, count."""
    summary, _, examples = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m tests.seams",
        description=summary,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", action="append", metavar="TEXT", help="names that contain this")
    parser.add_argument("--list", action="store_true", help="print the names; run nothing")
    parser.add_argument("--covering", action="store_true", help="the test suite's selection")
    parser.add_argument("--demos", action="store_true", help="the demos instead of the matrix")
    parser.add_argument("--verbose", action="store_true", help="print each moment")
    options = parser.parse_args()
    os.environ["ROWTUI_POLL"] = "0"
    names = {str(it): it for it in (selection() if options.covering else everything())}
    chosen = [
        name
        for name in (DEMOS if options.demos else names)
        if not options.only or any(text in name for text in options.only)
    ]
    if options.list:
        print("\n".join(chosen))
        return 0
    bad, compared = 0, Counter[str]()
    with contextlib.ExitStack() as stack:
        login = None
        if not options.demos and any(names[name].place != "local" for name in chosen):
            rig = start_slurm()
            stack.callback(rig.close)
            login = LoginNode(rig.keeper, rig.cluster)
        for name in chosen:
            work = DEMOS[name] if options.demos else partial(run, names[name], login=login)
            bad += not _run_one(name, work, compared, verbose=options.verbose)
    for source, times in sorted(compared.items()):
        print(f"{times:>8,} comparisons with {source}")
    print(f"{len(chosen)} run, {bad} with contradictions or errors")
    return 1 if bad else 0


def _run_one(name: str, work: Run, compared: Counter[str], *, verbose: bool) -> bool:
    """Run one, print its line of the table and what contradicts; return whether all is well.

    `compared`: by source, the comparisons with other sources, which are added here.
    """
    started, facts, moments, lines = time.monotonic(), 0, 0, []
    verdict = "ok"
    with tempfile.TemporaryDirectory(prefix="seams-") as folder:
        try:
            for moment in work(Path(folder) / "here"):
                facts, moments = facts + moment.facts, moments + 1
                compared.update(moment.compared)
                if verbose:
                    lines.append(f"  {moment.name}: {moment.facts} facts")
                if moment.contradictions:
                    verdict = "contradictions"
                lines += [f"  {moment.name}: {it}" for it in in_brief(moment.contradictions)]
        except Exception:  # the others are still of interest
            lines += [f"  {line}" for line in traceback.format_exc().splitlines()]
            verdict = "error"
    seconds = time.monotonic() - started
    print(f"{name:<34} {moments:>2} moments {facts:>5} facts {seconds:>5.1f} s  {verdict}")
    print("".join(f"{line}\n" for line in lines), end="", flush=True)
    return verdict == "ok"


if __name__ == "__main__":
    raise SystemExit(main())
