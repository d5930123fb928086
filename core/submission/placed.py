"""A job request as the mapper placed it: other resources, submit options and environment.

Takes a request and its placement; gives the request that is written into a script. The mapper may
give a job more or fewer threads, GPUs and memory, never another number of processes, which the
command was written for. Parameters of a destination become options of the scheduler; those that
mean nothing here are told in a warning. Source: issue "mapper", destinations; docs/mapping.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from rowtui.core.clusters.model import Cluster, Partition
from rowtui.core.errors import RowtuiError
from rowtui.core.grouping.cost import job_cost
from rowtui.core.grouping.model import JobRequest
from rowtui.core.mapping.decision import Placement
from rowtui.core.mapping.destinations import whole
from rowtui.core.submission.header import options_for
from rowtui.core.submission.quote import quote
from rowtui.core.text import visible
from rowtui.core.workflow.model import Resources, SubmitOptions

# A parameter -> the option of sbatch that it becomes.
_OPTIONS: Mapping[str, str] = {
    "qos": "--qos",
    "constraint": "--constraint",
    "reservation": "--reservation",
    "licenses": "--licenses",
    "gres": "--gres",
    "nice": "--nice",
    "nodes": "--nodes",
    "nodelist": "--nodelist",
    "exclude": "--exclude",
    "tmp": "--tmp",
    "switches": "--switches",
    "container": "--container",
    "mail_type": "--mail-type",
    "mail_user": "--mail-user",
    "begin": "--begin",
    "deadline": "--deadline",
}
_FLAGS: Mapping[str, str] = {"exclusive": "--exclusive", "requeue": "--requeue"}
_NATIVE = ("nativeSpecification", "native_specification", "submit_native_specification")
_ELSEWHERE = frozenset({"partition", "account", "weight", *_NATIVE})
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Placed(NamedTuple):
    """A request with its place. `partition` None: the scheduler has none, or chooses itself."""

    request: JobRequest
    partition: Partition | None
    warnings: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


def placed(request: JobRequest, placement: Placement, cluster: Cluster) -> Placed:
    """What is submitted for a chosen placement. Raises: RowtuiError for what cannot be written."""
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
    return Placed(changed, _partition(placement, cluster), tuple(warnings))


def _resources(request: JobRequest, placement: Placement, warnings: list[str]) -> Resources:
    """The action's resources with the mapper's amounts: those of the whole job, shared out."""
    resources = request.action.resources
    gpus, cores, mem = placement.amounts
    processes = max(1, request.processes)
    if cores is not None and whole(cores) != request.cpus:
        threads = max(1, whole(whole(cores) / processes))
        resources = resources._replace(threads_per_process=threads)
        if threads * processes != whole(cores):
            warnings.append(
                f"the mapping gives {whole(cores)} cores to {processes} processes: "
                f"each gets {threads}"
            )
    if gpus is not None and whole(gpus) != request.gpus:
        each = whole(whole(gpus) / processes)
        resources = resources._replace(gpus_per_process=each or None)
    if mem is not None:
        resources = _with_memory(resources, request, whole(float(mem) * 1024))
    return resources


def _with_memory(resources: Resources, request: JobRequest, megabytes: int) -> Resources:
    size = len(request.group.indices)
    gpus, cpus = resources.total_gpus(size), max(1, resources.total_cpus(size))
    if gpus:
        each = max(1, whole(megabytes / gpus))
        return resources._replace(memory_per_gpu_mb=each)
    return resources._replace(memory_per_cpu_mb=max(1, whole(megabytes / cpus)))


def _partition(placement: Placement, cluster: Cluster) -> Partition | None:
    if cluster.scheduler != "slurm":
        return None
    known = {partition.name: partition for partition in cluster.partitions}
    name = placement.params.get("partition")
    if isinstance(name, str) and name:
        return known.get(name) or Partition(name)
    for candidate in (placement.name.removeprefix(f"{cluster.name}/"), placement.destination):
        if candidate in known:
            return known[candidate]
    return None


def _options(
    options: SubmitOptions, placement: Placement, cluster: Cluster, warnings: list[str]
) -> SubmitOptions:
    custom = list(options.custom)
    unknown = []
    slurm = cluster.scheduler == "slurm"
    for name, value in placement.params.items():
        if (
            value is None
            or value == ""
            or name in _ELSEWHERE
            or (not slurm and name in {*_OPTIONS, *_FLAGS})
        ):
            continue
        if name in _OPTIONS:
            custom.append(f"{_OPTIONS[name]}={_one_line(name, value)}")
        elif name in _FLAGS:
            custom += [_FLAGS[name]] if value else []
        elif not name.isupper():  # those are a site's own, for its own expressions
            unknown.append(name)
    if slurm:
        for name in _NATIVE:
            text = placement.params.get(name)
            if text:
                custom += _native(name, text)
    if unknown:
        shown = ", ".join(map(visible, unknown))
        warnings.append(
            f"parameters of {visible(placement.destination)} mean nothing here: {shown}"
        )
    account = placement.params.get("account")
    if account:
        options = options._replace(account=_one_line("account", account))
    lines = [*_environment(placement.env), *([options.setup] if options.setup else [])]
    return options._replace(custom=tuple(custom), setup="\n".join(lines) or None)


def _one_line(name: str, value: Any) -> str:
    text = str(value)
    if any(ord(char) < 32 or ord(char) == 127 for char in text):
        raise RowtuiError(f"the parameter {visible(name)} has control characters: {visible(text)}")
    return text


def _native(name: str, text: Any) -> list[str]:
    """The words of a native specification, an option each."""
    import shlex

    try:
        words = shlex.split(_one_line(name, text))
    except ValueError as error:
        raise RowtuiError(
            f"{name} cannot be read as options: {error}", visible(str(text))
        ) from None
    options: list[str] = []
    for word in words:
        if word.startswith("-") or not options:
            options.append(word)
        else:  # an option's value as a word of its own
            options[-1] += f" {quote(word)}" if not word.isalnum() else f" {word}"
    return options


def _environment(env: tuple[Mapping[str, Any], ...]) -> list[str]:
    """Lines of shell for the entries of env, in their order."""
    lines = []
    for entry in env:
        if "name" in entry:
            name = str(entry["name"])
            if not _VARIABLE.fullmatch(name):
                raise RowtuiError(f"env has a variable that no shell takes: {visible(name)}")
            lines.append(f"export {name}={quote(str(entry.get('value', '')))}")
        elif "file" in entry:
            lines.append(f". {quote(str(entry['file']))}")
        elif "execute" in entry:
            lines.append(str(entry["execute"]))
    return lines
