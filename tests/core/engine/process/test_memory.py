"""An engine's process does not keep what its threads have freed."""

from __future__ import annotations

import subprocess
import sys

# Threads fill and free what is too small to come from the kernel directly, with a little left over
# behind each block; then the process tells how many MB it has, at best.
PROGRAM = """
import sys, threading, time
from rowtui.core.engine.process.start import keep_little

if sys.argv[1] == "little":
    keep_little(every=0.05)
kept, little = [], 1_000  # a constant would be one object

def work():
    blocks = []
    for _ in range(300):
        blocks.append(b"x" * 100_000)
        kept.append(b"x" * little)
    together.wait()

together = threading.Barrier(4)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6

until = time.monotonic() + (20 if sys.argv[1] == "little" else 0.3)
least = resident()
while time.monotonic() < until and least > 40:
    time.sleep(0.02)
    least = min(least, resident())
print(least)
"""


def test_what_threads_have_freed_is_given_back() -> None:
    told = {}
    for how in ("little", "as it is"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True
        )
        told[how] = float(done.stdout)

    assert told["as it is"] > 80
    assert told["little"] < 40
