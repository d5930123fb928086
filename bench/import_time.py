"""What starting costs: `python -m bench.import_time`. Modules loaded, CPU time, heavy imports."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.make_project import make_project
from bench.measure import Run, least, run

# Each costs 20 ms or more; none belongs to a command that only shows something.
HEAVY = ("asyncio", "asyncssh", "numpy", "orjson", "platformdirs", "rich", "textual", "yaml")
ROUNDS = 15

_COUNT = """
import sys
before = set(sys.modules)
from rowtui.cli.main import main
sys.argv = ["rowtui", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
finally:
    sys.stdout.flush()
    print(*set(sys.modules) - before, file=sys.stderr)
"""

COMMANDS = (
    ("--help",),
    ("--version",),
    ("show", "status"),  # the second time: nothing has changed
    ("show", "status", "--all"),
    ("show", "directories", "-a", "a3"),
    ("submit", "--dry-run", "-n", "1", "--cluster", "none"),
)


def main() -> None:
    """Print a Markdown table."""
    rowtui = Path(sys.executable).parent / "rowtui"
    with tempfile.TemporaryDirectory(prefix="rowtui-bench-") as temporary:
        folder = Path(temporary)
        make_project(folder, 10)
        project, log = folder / "rowtui", folder / "stderr.log"
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": temporary, "LC_ALL": "C.UTF-8"}
        print("| command | CPU ms | wall ms | MB | modules | heavy ones |")
        print("|---|--:|--:|--:|--:|---|")
        python = [sys.executable, "-c", "pass"]
        floor = least([run(python, project, environment, log) for _ in range(ROUNDS)])
        print(f"| `python -c pass` | {figures(floor)} | | |")
        for words in COMMANDS:
            run([rowtui, *words], project, environment, log)
            runs = [run([rowtui, *words], project, environment, log) for _ in range(ROUNDS)]
            result = least(runs)
            loaded = (
                subprocess.run(
                    [sys.executable, "-c", _COUNT, *words],
                    cwd=project,
                    env=environment,
                    capture_output=True,
                    text=True,
                ).stderr.rpartition("\n \n")[2]
                or ""
            )
            modules = set(loaded.rpartition("\n")[0].rpartition("\n")[2].split())
            heavy = ", ".join(name for name in HEAVY if name in modules)
            print(f"| `rowtui {' '.join(words)}` | {figures(result)} | {len(modules)} | {heavy} |")


def figures(result: Run) -> str:
    """CPU, wall and memory of one command, or why there are none."""
    if result.error:
        return f"{result.error[:60]} | |"
    return f"{1e3 * result.cpu:.0f} | {1e3 * result.wall:.0f} | {result.peak:.0f}"


if __name__ == "__main__":
    main()
