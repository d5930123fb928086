"""Build the prefix of a command from the launchers and resources of its action."""

from __future__ import annotations

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible
from rowtui.core.clusters.model import Launcher, Launchers
from rowtui.core.workflow.model import Action, Resources
from rowtui.core.workflow.toml_file import did_you_mean


class LauncherError(RowtuiError):
    """The launchers of an action cannot run it. `index` is the launcher's, None for all."""

    def __init__(self, message: str, hint: str = "", index: int | None = None) -> None:
        super().__init__(message, hint)
        self.index = index


def launcher_prefix(
    action: Action, launchers: Launchers, cluster_name: str, directories: int
) -> str:
    """Return the prefix of the command for a job on `directories`, with its trailing space.

    Raises: LauncherError for an unknown launcher, for several processes without a launcher that
    starts processes, and for more than one such launcher.
    """
    title = f"action '{visible(action.name)}'"
    found: list[Launcher] = []
    for index, name in enumerate(action.launchers):
        launcher = launchers.find(name, cluster_name)
        if launcher is None:
            raise LauncherError(
                f"launcher '{visible(name)}' of {title} not found",
                _known(launchers, name),
                index,
            )
        found.append(launcher)
    processes = action.resources.processes.total(directories)
    starters = [
        name
        for name, launcher in zip(action.launchers, found, strict=True)
        if launcher.processes is not None
    ]
    if processes > 1 and not starters:
        raise LauncherError(
            f"no process launcher for {title}, which requests {processes} processes",
            'add one: launchers = ["mpi"]',
        )
    if len(starters) > 1:
        shown = " and ".join(f"'{visible(name)}'" for name in starters)
        raise LauncherError(f"more than one process launcher for {title}: {shown}", "keep one")
    return "".join(_one(launcher, action.resources, processes) for launcher in found)


def starts_processes(action: Action, launchers: Launchers, cluster_name: str) -> bool:
    """Whether one of the action's launchers starts processes, possibly as scheduler job steps."""
    found = (launchers.find(name, cluster_name) for name in action.launchers)
    return any(launcher is not None and launcher.processes is not None for launcher in found)


def _one(launcher: Launcher, resources: Resources, processes: int) -> str:
    parts = []
    if launcher.executable is not None:
        parts.append(launcher.executable)
    if launcher.processes is not None:
        parts.append(f"{launcher.processes}{processes}")
    if launcher.threads_per_process is not None and resources.threads_per_process is not None:
        parts.append(f"{launcher.threads_per_process}{resources.threads_per_process}")
    if launcher.gpus_per_process is not None and resources.gpus_per_process is not None:
        parts.append(f"{launcher.gpus_per_process}{resources.gpus_per_process}")
    return " ".join(parts) + " " if parts else ""


def _known(launchers: Launchers, name: str) -> str:
    known = sorted(launchers.by_name)
    shown = ", ".join(f"'{visible(launcher)}'" for launcher in known)
    return did_you_mean(name, known) or f"the known launchers are {shown}"
