"""The commands that run as `rowtui ...` in the dashboard's own terminal.

They have no key, and the line after `:` takes them with their options.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from rowtui.tui.commands.command import NO_KEY, Command, may_change
from rowtui.tui.commands.everywhere import when_real

if TYPE_CHECKING:
    from rowtui.tui.shell.session import Session


class InTerminal(NamedTuple):
    """One command that runs in the terminal. `argument`: as in `LineCommand`; `acts`: the command
    may change something.
    """

    words: str
    argument: str
    description: str
    acts: bool = True

    @property
    def id(self) -> str:
        """The id of the command in the registry."""
        return f"terminal.{self.words.replace(' --', ' ').replace(' ', '-')}"


def _may_act(session: Session) -> str:
    return may_change(session) or when_real(session)


def _command(one: InTerminal) -> Command:
    enabled: Callable[[Session], str] = _may_act if one.acts else when_real
    label = one.words + "…" * one.acts
    return Command(
        one.id, NO_KEY, label, one.description, asks=one.acts, enabled=enabled, twin=one.words
    )


IN_TERMINAL = (
    InTerminal("clean", "[OPTIONS]", "remove cached state; the record of jobs is lost"),
    InTerminal("disconnect", "CLUSTER", "end logins that `rowtui connect` made"),
    InTerminal("run", "[OPTIONS]", "drive the project to its end", acts=True),
    InTerminal("usage", "[JOB] [OPTIONS]", "what jobs used of what they requested", acts=False),
    InTerminal("report", "[FILE] [OPTIONS]", "what the jobs did, as an HTML file", acts=False),
    InTerminal("doctor", "[OPTIONS]", "missing or wrong settings, cluster by cluster", acts=False),
    InTerminal("mirror", "[CLUSTER] [OPTIONS]", "copies of the project: compare, send, fetch"),
    InTerminal("secrets", "WHAT [MACHINE]", "passwords of clusters: set, get, delete, list"),
    InTerminal("mapping lint", "[FILE]", "problems of the mapping files", acts=False),
    InTerminal("mapping trust", "[FILE]", "read the code of a mapping file, then let it run"),
    InTerminal("pack --simulate", "[OPTIONS]", "how packers do when run times vary", acts=False),
    InTerminal(
        "network check", "[OPTIONS]", "everything that is wrong with network.toml", acts=False
    ),
    InTerminal("network make", "[OPTIONS]", "make the directories of all samples"),
    InTerminal("network limits", "[OPTIONS]", "the limits of a run, or new limits"),
    InTerminal("network runs", "[OPTIONS]", "the runs of this network", acts=False),
    InTerminal("network retire", "[--delete]", "directories whose samples are in no source"),
    InTerminal("network restore", "[ID]", "bring back directories that were retired"),
    InTerminal(
        "network run --simulate", "[OPTIONS]", "how long each order of jobs would take", acts=False
    ),
)


COMMANDS: tuple[Command, ...] = tuple(_command(one) for one in IN_TERMINAL)
