"""The header of a job script, and the parts of it that do not depend on the scheduler.

The input is an action, the totals of a job and the chosen partition; the result is lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from rowtui.core.base.text import visible
from rowtui.core.clusters.model import Cluster, Partition
from rowtui.core.clusters.schedulers.kind import HeaderRequest
from rowtui.core.groups.model import JobRequest
from rowtui.core.submission.scripts.quote import file_name_part
from rowtui.core.workflow.model import Action, SubmitOptions


def options_for(action: Action, cluster: str) -> SubmitOptions:
    """Return the action's options for this cluster; all are unset if the action has none."""
    return action.submit_options.get(cluster, SubmitOptions())


def job_name(action: Action, names: Sequence[str]) -> str:
    """Return `<action>-<first directory>`, and `+<others>` if there are more; safe to show."""
    name = f"{action.name}-{names[0]}" if names else action.name
    return visible(name + (f"+{len(names) - 1}" if len(names) > 1 else ""))


def log_path(action: Action, cluster: str) -> str:
    """Return the path of a job's output, relative to the project; `%j` is the job id.

    The action's name cannot move the log to another folder, but an option of the user can.
    """
    options = options_for(action, cluster)
    name = file_name_part(action.name)
    path = f"{name}-%j.out"
    if options.output_file_name is not None:
        path = options.output_file_name.replace("{action_name}", name)
    if options.output_file_path is not None:
        folder = options.output_file_path.replace("{action_name}", name)
        path = f"{folder.rstrip('/') or '/'}/{path}" if folder else path
    return path


def script_header(
    request: JobRequest, names: Sequence[str], cluster: Cluster, partition: Partition | None
) -> list[str]:
    """Return the lines of the header for a job of these directories. Raises: RowtuiError."""
    kind = cluster.kind
    named = [kind.name_line(job_name(request.action, names))] if kind.names_job else []
    return [*named, *shared_header(request, cluster, partition)]


def shared_header(request: JobRequest, cluster: Cluster, partition: Partition | None) -> list[str]:
    """Return all lines but the job's name: they are the same for equal requests.

    Raises: RowtuiError.
    """
    action = request.action
    asked = HeaderRequest(
        action.resources,
        options_for(action, cluster.name),
        log_path(action, cluster.name),
        request.processes,
        request.cpus,
        request.gpus,
        request.walltime_seconds,
    )
    return cluster.kind.header(asked, cluster, partition)
