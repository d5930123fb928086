"""The faults that can be injected into the large demo, in the words of `:demo`."""

from __future__ import annotations

from collections.abc import Iterable

from rowtui.core.demo.simulation import SimulatedCluster
from rowtui.core.project.views.played_views import PlayedState

DOWN = "Connection refused"
SLOW_SECONDS = 8.0
KILL = "kill-engine"


def faults_of(clusters: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return each fault with its effect."""
    found = []
    for name in clusters:
        found += [
            (f"fail {name}", f"{name} refuses every connection, or answers again"),
            (f"slow {name}", f"{name} takes {SLOW_SECONDS:g} s to answer, or is quick again"),
            (f"logout {name}", f"the login to {name} expires"),
        ]
    return (*found, (KILL, "the process of the engine is killed; it is started again"))


def known_faults(faults: Iterable[tuple[str, str]]) -> str:
    """Return the message for an unknown fault."""
    return "There are: " + ", ".join(known for known, _ in faults)


def played_state(clusters: Iterable[str], speed: int, said: str = "") -> PlayedState:
    """Return the state of a demo whose clock runs at this speed."""
    return PlayedState(f"DEMO ×{speed}", faults_of(clusters), said)


def inject(there: SimulatedCluster, what: str) -> str:
    """Inject a fault into a cluster; return what was done, "" for an unknown fault."""
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
