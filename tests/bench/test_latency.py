"""The slow file server delays what asks about a name below a folder, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

from bench.latency import compile_shim, measure, slow

# Each way to ask about a name that rowtui and Row use; prints the seconds of the quickest.
ASK = """
import os, sys, time
os.chdir(sys.argv[1])
folder = os.open(".", os.O_RDONLY)
def opened(name, **options):
    os.close(os.open(name, os.O_RDONLY, **options))
ways = [
    lambda: os.stat("a"), lambda: os.lstat(sys.argv[1] + "/a"), lambda: os.stat(sys.argv[1]),
    lambda: os.stat("a", dir_fd=folder), lambda: opened("a"), lambda: opened("a", dir_fd=folder),
    lambda: os.listdir("."), lambda: os.mkdir("b"), lambda: os.rename("b", "c"),
    lambda: os.rmdir("c"), lambda: os.symlink("a", "d"), lambda: os.readlink("d"),
    lambda: os.link("a", "e"), lambda: os.unlink("e"), lambda: os.access("a", os.R_OK),
]
least = 1e9
for number, way in enumerate(ways):
    began = time.perf_counter()
    way()
    if number != 10:  # symlink: nobody of us makes any
        least = min(least, time.perf_counter() - began)
os.listdir(folder), os.fstat(folder)
print(least)
"""


def ask(folder: Path, environment: dict[str, str]) -> float:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", ASK, str(folder)],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


def test_each_question_about_a_name_below_waits_and_no_other(tmp_path: Path) -> None:
    library = compile_shim(tmp_path)
    for name in ("slow", "slower"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").touch()

    assert ask(tmp_path / "slow", slow(library, tmp_path / "slow", 5)) >= 0.005
    # A folder whose name begins alike is another one: this would take an hour.
    ask(tmp_path / "slower", slow(library, tmp_path / "slow", 60 * 60 * 1000))


def test_the_commands_are_measured_on_it(tmp_path: Path) -> None:
    tools = {"rowtui": Path(sys.executable).parent / "rowtui"}

    rows = {row.what: row for row in measure(tmp_path / "p", tools, 20, 0.1, 1, (1, 8))}

    assert not [row.error for row in rows.values() if row.error]
    assert rows["first scan, 1 at once"].best["directories/s"] > 0
    assert rows["first scan, 8 at once"].best["times faster"] > 0
    assert {"show status", "show directories --eligible"} < rows.keys()
    assert rows["dashboard: first paint"].best["wall s"] > 0
    assert rows["dashboard: files opened"].best["files"] > 100
