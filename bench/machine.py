"""What something was measured on, as one line of a table's head."""

from __future__ import annotations

import os
import platform


def machine() -> str:
    """Processors, kernel, Python, and how busy it was in the last minutes."""
    model = platform.processor() or platform.machine()
    with open("/proc/cpuinfo") as info:
        for line in info:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return (
        f"{os.cpu_count()} x {model}, {memory:.0f} GB, Linux {platform.release()}, "
        f"Python {platform.python_version()}, load before {load()}"
    )


def load() -> str:
    """How busy the machine was in the last 1, 5 and 15 minutes."""
    return ", ".join(f"{value:.1f}" for value in os.getloadavg())
