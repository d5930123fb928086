"""Parse sacct's output into jobs. The module is pure.

sacct is called so that its output can be parsed without ambiguity: with a separator that is random
for each call, and with a field without free text last. Source: sacct's manual, and measured
behaviour of 22.05.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rowtui.core.clusters.schedulers.base import Job, JobState, task_token
from rowtui.core.clusters.schedulers.slurm.parse import (
    COMMENT_PREFIX,
    REASON_LIMIT,
    UnreadableError,
    job_state,
    reason_of,
    token_of,
)
from rowtui.core.clusters.schedulers.slurm.tasks import MOST_JOBS, tasks_of


@dataclass(frozen=True, slots=True)
class AccountForm:
    """One sacct output format: free text first, the job's id last.

    The id (`12`, `12_3`, `12_[4-9%2]`) has no newline, so the first newline after it ends the
    record.
    """

    mark: str

    FIELDS = (
        "Comment,SubmitLine,JobName,Reason,State,ExitCode,ElapsedRaw,TimelimitRaw,Partition,"
        "NodeList,JobID"
    )

    @classmethod
    def new(cls) -> AccountForm:
        """Return a form with a new random mark."""
        return cls(f"|{secrets.token_hex(8)}|")

    @property
    def options(self) -> tuple[str, ...]:
        """The options of sacct: jobs without their steps, no header, a random separator."""
        return ("-X", "-n", "-P", f"--delimiter={self.mark}", f"--format={self.FIELDS}")

    def read(self, stdout: bytes) -> list[Job]:
        """Return the jobs in sacct's order. Raises: UnreadableError."""
        text = stdout.decode("utf-8", "surrogateescape")
        if not text.strip():
            return []
        width = self.FIELDS.count(",")  # fields, without the id, which shares its part
        first, *parts = text.split(self.mark)
        jobs: list[Job] = []
        try:
            if not parts or len(parts) % width:
                raise ValueError(text[:REASON_LIMIT])
            for at in range(0, len(parts), width):
                called, _, following = parts[at + width - 1].partition("\n")
                record = [first, *parts[at : at + width - 1]]
                jobs += self._jobs(called, record, MOST_JOBS - len(jobs))
                first = following
        except ValueError as error:
            raise UnreadableError(str(error)[:REASON_LIMIT]) from error
        return jobs

    @staticmethod
    def _jobs(called: str, fields: list[str], room: int) -> Iterator[Job]:
        match = _ID.fullmatch(called)
        if match is None:
            raise ValueError(f"{called} is not the id of a job")
        comment, submit_line, name, reason, word, status, *rest = fields
        elapsed, limit, partition, nodes = rest
        # Few sites store comments in accounting; the submit line is always stored.
        given = re.search(rf"--comment={COMMENT_PREFIX}([A-Za-z0-9._-]+)", submit_line)
        code, _, by_signal = status.partition(":")
        state = job_state(word, reason)
        ended = not state.active and state is not JobState.UNKNOWN
        token = token_of(comment) or (given.group(1) if given else "")
        job = Job(
            int(match[1]) + int(match[2] or 0),
            state,
            name,
            token,
            reason_of(word.split(" ", 1)[0], reason),
            partition,
            int(elapsed) if elapsed.isdigit() else None,
            int(limit) * 60 if limit.isdigit() else None,
            "" if nodes == "None assigned" else nodes,
            None,
            int(code) if ended and code.isdigit() and by_signal in ("", "0") else None,
            int(by_signal) if by_signal.isdigit() and by_signal != "0" else None,
        )
        for task in tasks_of(match[3] or "", job.id, bool(token), room):
            if task is None:
                yield job
            else:
                yield replace(job, task=task, token=task_token(token, task) if token else "")


# A job, a part of a heterogeneous job (`12+1`, whose own id is 13), tasks of an array.
_ID = re.compile(r"(\d+)(?:\+(\d+))?(?:_(\S+))?", re.ASCII)
