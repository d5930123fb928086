"""A job request as the mapper placed it, with changed resources, submit options and environment.

The input is a request and its placement; the result is the request for the script. The mapper may
give a job more or fewer threads, GPUs and memory, but never another number of processes, because
the command was written for that number. Parameters of a destination become options of the
scheduler; parameters without a meaning here give a warning. `env` becomes shell text that runs
before the job's setup. Source: docs/mapping.md, "Destinations" and "Parameters".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import pattern
from rowtui.core.base.text import visible
from rowtui.core.clusters.model import Cluster, Partition
from rowtui.core.clusters.schedulers.kind import kind_of
from rowtui.core.clusters.schedulers.slurm.options import one_line
from rowtui.core.groups.form import job_cost
from rowtui.core.groups.model import JobRequest
from rowtui.core.mapping.engine.destinations import whole
from rowtui.core.mapping.model.decision import Placement
from rowtui.core.submission.plan.basis import PlacementBasis
from rowtui.core.submission.scripts.parts import QuotingError, options_for, quote
from rowtui.core.workflow.model import Resources, SubmitOptions

# Parameters of docs/mapping.md. A scheduler without such an option ignores the parameter.
_PARAMETERS = frozenset(
    {
        "qos", "constraint", "reservation", "licenses", "gres", "nice", "nodes", "nodelist",
        "exclude", "tmp", "switches", "container", "mail_type", "mail_user", "begin", "deadline",
        "exclusive", "requeue", "nativeSpecification", "native_specification",
        "submit_native_specification",
    }
)  # fmt: skip
_ELSEWHERE = frozenset({"partition", "account", "weight", "node_type"})
_LARGEST = 2.0**31  # cores, GPUs or GB; more than any scheduler counts
_VARIABLE = pattern(r"[A-Za-z_][A-Za-z0-9_]*")
# Variables that scripts use themselves, and variables that bash does not allow to be set.
_TAKEN = pattern(r"rowtui_.*|directories|BASHOPTS|BASH_VERSINFO|EUID|PPID|SHELLOPTS|UID")
# A line of shell that is complete on its own, for any following text.
_COMPLETE = pattern(
    r"(?!\s*(?:case|coproc|do|done|elif|else|esac|fi|for|function|if|select|then|until|while)\b)"
    r"[A-Za-z0-9_ +,./:@%=~$-]+",
)


class PlacedRequest(NamedTuple):
    """A request with its place. `partition` None: the scheduler has none, or chooses itself.

    `node_type` is the only node type that the job may be packed on, "" for any.
    """

    request: JobRequest
    cluster: Cluster
    partition: Partition | None
    warnings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    basis: PlacementBasis = PlacementBasis()
    node_type: str = ""


def placed(request: JobRequest, placement: Placement, cluster: Cluster) -> PlacedRequest:
    """Return the submission for a chosen placement.

    Raises: RowtuiError for a value that cannot be written.
    """
    warnings: list[str] = []
    resources = _resources(request, placement, warnings)
    options = _options(options_for(request.action, cluster.name), placement, cluster, warnings)
    submit_options = request.action.submit_options
    if options != options_for(request.action, cluster.name):
        submit_options = {**submit_options, cluster.name: options}
    action = request.action._replace(resources=resources, submit_options=submit_options)
    size = len(request.group.indices)
    changed = request._replace(
        group=request.group._replace(action=action),
        cpus=resources.total_cpus(size),
        gpus=resources.total_gpus(size),
        cost=job_cost(resources, size),
    )
    hint = placement.params.get("node_type")
    return PlacedRequest(
        changed,
        cluster,
        _partition(placement, cluster),
        tuple(warnings),
        node_type=one_line("node_type", hint) if hint else "",
    )


def _resources(request: JobRequest, placement: Placement, warnings: list[str]) -> Resources:
    """Return the action's resources with the mapper's amounts for the whole job, shared out."""
    resources = request.action.resources
    gpus, cores, mem = placement.amounts
    processes = max(1, request.processes)
    if cores is not None and _count("cores", cores) != request.cpus:
        threads = max(1, _shared_out("cores", cores, processes, warnings))
        resources = resources._replace(threads_per_process=threads)
    if gpus is not None and _count("gpus", gpus) != request.gpus:
        each = _shared_out("gpus", gpus, processes, warnings)
        resources = resources._replace(gpus_per_process=each or None)
    if mem is not None:
        resources = _with_memory(resources, request, whole(_number("mem", mem) * 1024))
    return resources


def _number(what: str, amount: Any) -> float:
    """Return an amount as a number, because dialect tpv3 accepts any value. Raises: RowtuiError."""
    try:
        number = float(amount)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 <= number < _LARGEST:
        raise RowtuiError(f"{what} is {visible(repr(amount)[:60])}, which is not an amount")
    return number


def _count(what: str, amount: Any) -> int:
    return whole(_number(what, amount))


def _shared_out(what: str, amount: Any, processes: int, warnings: list[str]) -> int:
    """Return the share of each process, rounded up, with a warning if this exceeds the amount."""
    count = _count(what, amount)
    each = -(-count // processes)
    if each * processes != count:
        warnings.append(
            f"the mapping gives {count} {what} to {processes} processes: each gets {each}"
        )
    return each


def _with_memory(resources: Resources, request: JobRequest, megabytes: int) -> Resources:
    size = len(request.group.indices)
    gpus, cpus = resources.total_gpus(size), max(1, resources.total_cpus(size))
    if gpus:
        each = max(1, whole(megabytes / gpus))
        return resources._replace(memory_per_gpu_mb=each)
    return resources._replace(memory_per_cpu_mb=max(1, whole(megabytes / cpus)))


def _partition(placement: Placement, cluster: Cluster) -> Partition | None:
    """Return the partition with which the checks were made (`destinations.partition_name`)."""
    if not kind_of(cluster).has_partitions:
        return None
    known = {partition.name: partition for partition in cluster.partitions}
    name = placement.params.get("partition")
    if not isinstance(name, str) or not name:
        below = f"{cluster.name}/"
        name = placement.destination.removeprefix(below)
        if name == placement.destination and name not in known:
            name = placement.name.removeprefix(below)
            return known.get(name)
    return known.get(name) or Partition(one_line("partition", name))


def _options(
    options: SubmitOptions, placement: Placement, cluster: Cluster, warnings: list[str]
) -> SubmitOptions:
    params = {
        name: value
        for name, value in placement.params.items()
        if value is not None and value != "" and name not in _ELSEWHERE
    }
    more, others = kind_of(cluster).placement_options(params)
    custom = [*options.custom, *more]
    # Upper-case parameters are the site's own, for its expressions.
    unknown = [name for name in others if not (name in _PARAMETERS or name.isupper())]
    if unknown:
        shown = ", ".join(map(visible, unknown))
        warnings.append(
            f"parameters of {visible(placement.destination)} mean nothing here: {shown}"
        )
    account = placement.params.get("account")
    if account:
        options = options._replace(account=one_line("account", account))
    lines = [*_environment(placement.env), *([options.setup] if options.setup else [])]
    return options._replace(custom=tuple(custom), setup="\n".join(lines) or None)


def _environment(env: tuple[Mapping[str, Any], ...]) -> list[str]:
    """Return lines of shell for the entries of env, in their order. Values are taken literally."""
    lines = []
    for entry in env:
        if "name" in entry:
            name = str(entry["name"])
            if not _VARIABLE.fullmatch(name):
                raise RowtuiError(f"env has a variable that no shell takes: {visible(name)}")
            if _TAKEN.fullmatch(name):
                raise RowtuiError(f"env may not set {name}: job scripts or bash need it themselves")
            try:
                lines.append(f"export {name}={quote(str(entry.get('value', '')))}")
            except QuotingError as error:
                raise RowtuiError(f"the value of {name} in env: {error.message}") from error
        elif "file" in entry:
            lines.append(f". -- {quote(str(entry['file']))}")
        elif "execute" in entry:
            lines.append(_executed(str(entry["execute"])))
    return lines


def _executed(command: str) -> str:
    """Return a command, isolated so that even incomplete text cannot absorb the lines after it."""
    return command if _COMPLETE.fullmatch(command) else f"eval {quote(command)}"
