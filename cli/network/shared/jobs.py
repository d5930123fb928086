"""Jobs of a run by the names that users type: a node, and directories of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rowtui.core.network.graph.job_model import JobState
    from rowtui.core.runs.networks import Networks
    from rowtui.core.runs.running import Running
    from rowtui.core.runs.store import Run


def run_of(networks: Networks, name: str | None) -> Running:
    """Return the current state of the run. Raises: RowtuiError if there is none."""
    running = networks.running(name)
    if running is None:
        raise RowtuiError("there is no run of this network", "'rowtui network run' begins one")
    return running


def chosen_run(networks: Networks, name: str | None) -> Run:
    """Return the run of this name, or the newest. Raises: RowtuiError if there is none."""
    run = networks.run(name)
    if run is None:
        raise RowtuiError("there is no run of this network", "'rowtui network run' begins one")
    return run


def jobs_named(running: Running, node: str, directories: Sequence[str]) -> list[int]:
    """Return the jobs of a node in these directories. Raises: RowtuiError for unknown names."""
    refuse_unless_node(running, node)
    found = []
    for name in directories:
        job = running.growth.job_in(node, name.rstrip("/") or name)
        if job is None:
            raise RowtuiError(
                f"node '{visible(node)}' has no sample in directory '{visible(name)}'",
                f"'rowtui network show {visible(node)}' lists its samples",
            )
        found.append(job)
    return list(dict.fromkeys(found))


def refuse_unless_node(running: Running, node: str) -> None:
    """Refuse a name that is no node with jobs in the run. Raises: RowtuiError."""
    from rowtui.core.workflow.toml_file import did_you_mean

    runs = running.growth.flow.runs
    if node not in runs:
        near = did_you_mean(node, tuple(runs))
        known = ", ".join(map(visible, runs))
        raise RowtuiError(f"run {running.run.id} has no node '{visible(node)}'", near or known)


def jobs_in(running: Running, states: Sequence[JobState], node: str | None) -> list[int]:
    """Return all jobs in these states, or those of one node."""
    every = running.graph.snapshot().states
    wanted = {int(state) for state in states}
    if node is not None:
        refuse_unless_node(running, node)
        return [job for job in running.growth.jobs(node).tolist() if every[job] in wanted]
    return [job for job, state in enumerate(every) if state in wanted]
