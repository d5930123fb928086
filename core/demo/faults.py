"""What can be made to go wrong in the large demo, in the words of `:demo`."""

from __future__ import annotations

from collections.abc import Iterable

from rowtui.core.demo.simulation import SimulatedCluster
from rowtui.core.project.played_views import PlayedState

DOWN = "Connection refused"
SLOW_SECONDS = 8.0
KILL = "kill-engine"


def faults_of(clusters: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Each fault, and what it does."""
    found = []
    for name in clusters:
        found += [
            (f"fail {name}", f"{name} refuses every connection, or answers again"),
            (f"slow {name}", f"{name} takes {SLOW_SECONDS:g} s to answer, or is quick again"),
            (f"logout {name}", f"the login to {name} expires"),
        ]
    return (*found, (KILL, "the process of the engine is killed; it is started again"))


def known_faults(faults: Iterable[tuple[str, str]]) -> str:
    """What is said to a fault that there is not."""
    return "There are: " + ", ".join(known for known, _ in faults)


def played_state(clusters: Iterable[str], speed: int, said: str = "") -> PlayedState:
    """The state of a demo whose clock runs so fast."""
    return PlayedState(f"DEMO ×{speed}", faults_of(clusters), said)


def inject(there: SimulatedCluster, what: str) -> str:
    """Make something go wrong with a cluster; what was done, "" if there is no such fault."""
    name = there.machine.name
    if what == "fail":
        there.down = "" if there.down else DOWN
        return f"{name} does not answer now." if there.down else f"{name} answers again."
    if what == "logout":
        there.logged_in = False
        return f"The login to {name} has expired."
    if what == "slow":
        quick = there.slow >= SLOW_SECONDS
        there.slow = there.machine.latency if quick else SLOW_SECONDS
        return f"{name} is quick again." if quick else f"{name} is slow now."
    return ""
