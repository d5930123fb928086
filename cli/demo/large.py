"""`rowtui demo large`: 100,000 directories on four simulated clusters."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rowtui.cli.demo.parser import LEAST, MOST
from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import plural

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output

MANY = 100_000


def run_large(args: argparse.Namespace, out: Output) -> int:
    """Make the project, and open the dashboard. Raises: RowtuiError."""
    from rowtui.cli.dashboard.dashboard import settings_of, show

    many = args.directories or MANY
    if not LEAST <= many <= MOST:
        raise RowtuiError(f"the large demo has {LEAST:,} to {MOST:,} directories")
    settings = settings_of(args)
    if settings is None and not args.headless:
        raise RowtuiError("the large demo needs a terminal", "or try: rowtui demo large --headless")
    root = Path(args.keep or Path(tempfile.mkdtemp(prefix="rowtui-demo-"), "boiling"))
    root = root.expanduser().absolute()
    # The cache of polled queues is shared by all of a user's dashboards, but these queues are not
    # real.
    os.environ["XDG_CACHE_HOME"] = str(root / ".cache")
    out.note(f"Making {plural(many, 'directory', 'directories')} and four clusters …")
    try:
        if settings is None or args.headless:
            return _make(root, many, args.seed, out)
        from rowtui.core.engine.process.options import Demo, EngineOptions

        demo = Demo("large", many, args.seed)
        return show(EngineOptions(str(root), demo=demo), out, args, **settings)
    finally:
        if not args.keep:
            shutil.rmtree(root.parent, ignore_errors=True)


def _make(root: Path, many: int, seed: int, out: Output) -> int:
    from rowtui.core.demo.engine import made_demo

    started = time.monotonic()
    made_demo(root, many, seed)
    out.print(f"Made in {time.monotonic() - started:.1f} s in {root}.")
    return 0
