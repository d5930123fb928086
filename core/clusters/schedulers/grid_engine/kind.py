"""Grid Engine for the other rooms: the `#$` header of a job script, reasons, and details of a job.

The job's name, log, folder and hold are given on qsub's command line, which overrides the header. A
job of several slots gets them from the parallel environment that the partition names; memory is
requested by slot, GPUs by job. Source: the manual pages of 8.1 (submit, queue_conf, qstat), and its
measured behaviour: options with quotes need a line of their own; a soft limit (s_rt) keeps 8.1.9
from enforcing the hard one, so `-notify` takes the role of a warning before the limit.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.text import header_value, visible
from rowtui.core.clusters.model import Cluster, Partition
from rowtui.core.clusters.partition import partition_memory_mb
from rowtui.core.clusters.schedulers.kind import (
    USERS_SHELL,
    CommandOutput,
    HeaderRequest,
    SchedulerDetail,
    SchedulerKind,
)
from rowtui.core.clusters.schedulers.reason_table import (
    HELD,
    ReasonExplanation,
    Reasons,
    foreign,
    waits,
)

if TYPE_CHECKING:
    from rowtui.core.clusters.commands import Transport
    from rowtui.core.clusters.schedulers.base import JobKey, Scheduler
    from rowtui.core.clusters.schedulers.job_terms import WaitingTerms

TIMEOUT = 60.0  # seconds for the details of one job
MOST_BYTES = 4 << 20  # of one answer
MOST_FIELDS = 500  # of one job


class GridEngineKind(SchedulerKind):
    """Grid Engine.

    Task numbers start from 1 there. A job can detect that it was restarted, but not how often: the
    first restart counts, and later ones do not run.
    """

    name = "grid_engine"
    has_partitions = True
    names_resources = True
    header_refuses = True
    job_id = (
        '${JOB_ID:-BY_HAND}$(case ${SGE_TASK_ID-} in [1-9]*) echo "_$((SGE_TASK_ID - 1))" ;; esac)'
    )
    restarts = "${JOB_ID:+${RESTARTED:-0}}"

    def connect(self, cluster: str, transport: Transport | None, query_timeout: float) -> Scheduler:
        from rowtui.core.clusters.schedulers.grid_engine.scheduler import GridEngineScheduler

        return GridEngineScheduler(cluster, transport, query_timeout=query_timeout)

    def header(
        self, request: HeaderRequest, cluster: Cluster, partition: Partition | None
    ) -> list[str]:
        """Return the lines of the header, each with its `#$ `.

        Raises: RowtuiError if the job needs several slots and no parallel environment is
        configured.
        """
        options = request.options
        written = [*cluster.submit_options, *options.custom]
        lines = ["-S /bin/bash", "-cwd", "-j y", "-notify"]
        if partition is not None:
            lines.append(f"-q {header_value(partition.name)}")
        if request.cpus > 1 and not any(re.match(r"(#\$ )?\s*-pe\s", option) for option in written):
            lines.append(f"-pe {_environment(request, cluster, partition)} {request.cpus}")
        lines.append(f"-l h_rt={request.walltime_seconds}")
        memory = _memory_per_slot(request, partition)
        if memory:
            lines.append(f"-l {cluster.memory_resource}={memory}")
        if request.gpus:
            lines.append(f"-l {cluster.gpu_resource}={request.gpus}")
        lines += cluster.submit_options
        if options.account is not None:
            suffix = partition.account_suffix if partition else None
            lines.append(f"-P {header_value(options.account + (suffix or ''))}")
        lines += options.custom
        return [
            f"#$ {line.strip().removeprefix('#$ ')}"
            for text in lines
            for line in text.split("\n")
            if line.strip()
        ]

    def traps(self, walltime_seconds: int) -> str:
        """Return the handling of Grid Engine's notices.

        SIGUSR2 comes some time before SIGKILL (`notify` of the queue, a minute by default), because
        the job was deleted or its time is over; SIGUSR1 comes before SIGSTOP.
        """
        return f"""\
rowtui_notified() {{
    trap '' USR2
    if ((SECONDS + 5 >= {walltime_seconds})); then rowtui_stop "time limit" 10; fi
    rowtui_stop cancelled 15
}}
trap rowtui_notified USR2
rowtui_warned() {{ :; }}
"""

    def exclude_option(self, nodes: Sequence[str], written: Sequence[str]) -> str:
        # qsub takes the last request of a resource alone.
        if re.search(r"[\s,]h(ostname)?=", "\n".join(written)):
            return ""
        return f"-l h=!({'|'.join(nodes)})"

    def after_end_option(self, job_id: int) -> str:
        return f"-hold_jid {job_id}"

    def waiting_jobs(self, transport: Transport) -> WaitingTerms:
        from rowtui.core.clusters.schedulers.grid_engine.change import GridEngineWaiting

        return GridEngineWaiting(transport)

    def shell_beside(self, job: JobKey, node: str) -> str:
        # `qrsh -inherit` starts programs for a job from within the job alone.
        host = shlex.quote(node)
        return (
            f'qstat -s r | grep -q "^ *{job.id} " || '
            f'{{ echo "Job {job} does not run any more."; exit 1; }}; '
            f'if [ {host} = "$(hostname)" ]; then {USERS_SHELL}; fi; '
            f"ssh -t -- {host} '{USERS_SHELL}'"
        )

    @property
    def reasons(self) -> Reasons:
        return GRID_ENGINE

    async def detail(self, transport: Transport, job: JobKey, *, estimate: bool) -> SchedulerDetail:
        """Run qstat -j, whose output also has the reason why a job waits (`scheduling info`)."""
        result = await transport.run(["qstat", "-j", str(job.id)], timeout=TIMEOUT)
        text = result.stdout[:MOST_BYTES].decode("utf-8", "replace")
        fields = tuple(
            field for field in read_lines(text) if field[0] != "env_list"
        )  # may be secret
        sentence = " ".join(result.stderr.decode(errors="replace").split())[:300]
        problem = "" if fields and result.exit_status == 0 else sentence or result.complaint
        asked = (CommandOutput(f"qstat -j {job.id}", fields, problem),)
        without = "Grid Engine gives no estimate of the start" if estimate else ""
        return SchedulerDetail(asked, estimated=estimate, problem=without)


def _environment(request: HeaderRequest, cluster: Cluster, partition: Partition | None) -> str:
    if partition is not None and partition.parallel_environment is not None:
        return partition.parallel_environment
    where = f"{visible(cluster.name)}/{visible(partition.name)}" if partition else cluster.name
    raise RowtuiError(
        f"a job of {request.cpus} slots cannot go to {where}: no parallel environment is named",
        'give the partition a parallel_environment in clusters.toml ("qconf -spl" lists them)',
    )


def _memory_per_slot(request: HeaderRequest, partition: Partition | None) -> str:
    """Return the memory for one slot, from the values used for Slurm; "" if no memory is stated."""
    resources = request.resources
    gpus = bool(request.gpus)
    each = resources.memory_per_gpu_mb if gpus else resources.memory_per_cpu_mb
    if each is None and partition is not None:
        each = partition_memory_mb(partition, gpus)
        if each is None:  # a form that only the site interprets
            return (partition.memory_per_gpu if gpus else partition.memory_per_cpu) or ""
    if each is None:
        return ""
    return f"{-(-each * request.gpus // request.cpus) if gpus else each}M"


def read_lines(text: str) -> tuple[tuple[str, str], ...]:
    """Parse lines such as `job_number:   12`; a line without a name continues the one before."""
    fields: list[tuple[str, str]] = []
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if not line.strip() or set(line.strip()) == {"="}:
            continue
        if line[0].isspace() or not colon:
            fields.append(("", line.strip()))
        else:
            fields.append((" ".join(name.split()), value.strip()))
        if len(fields) == MOST_FIELDS:
            break
    return tuple(fields)


# Explanations of the reasons that `parse` reads from the letters of Grid Engine's states.

_CLEAR = "Correct the cause and have the error cleared (`qmod -cj`), or cancel it and submit again."


def _in_error(match: re.Match[str]) -> ReasonExplanation:
    why = foreign(match[1] or "").rstrip(".")
    beside = f": {why}" if why else ""
    return ReasonExplanation(
        f"It could not be started, and is kept back{beside}.", _CLEAR, needs_person=True
    )


def _after_others(match: re.Match[str]) -> ReasonExplanation:
    return waits(f"It waits for other jobs to end: {foreign(match[1])}.")


GRID_ENGINE = Reasons(
    {
        "held": HELD,
        "rescheduled": waits("It was put back into the queue, and starts again."),
        "being deleted": waits("It is being cancelled."),
        "being started": waits("It has its node and is being started."),
        "suspended": ReasonExplanation(
            "A user or an administrator suspended the job; it keeps its memory until it resumes.",
            "Resume it (`qmod -usj`), or ask who stopped it.",
        ),
        "its queue is suspended": waits(
            "Its queue was stopped; the job keeps its memory and resumes with the queue."
        ),
        "load": waits("Its node is too busy: it goes on when the load falls."),
    },
    (
        (re.compile(r"error(?:: *(.*))?", re.S), _in_error),
        (re.compile(r"waits for (.+)", re.S), _after_others),
    ),
    explains_suspension=True,
)
