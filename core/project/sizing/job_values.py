"""Numbers in the values of jobs' directories, which may explain what the jobs used.

The input is the usage of jobs; the result is a column for each number. Jobs and directories are
joined by the journal: token, names of directories, their values in the records. Only numbers that
are in the values of nearly all directories are offered, at most 16, and none if there are more
than 50,000 jobs: reading the values would then take longer than a user waits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rowtui.core.base.errors import RowtuiError
from rowtui.core.base.lazy import np
from rowtui.core.usage.amounts import JobValues

if TYPE_CHECKING:
    from rowtui.core.project.open_project import OpenProject
    from rowtui.core.usage.store import UsageColumns

MOST_JOBS = 50_000
MOST_POINTERS = 16
_DEEPEST = 4  # objects in objects
_SAMPLE = 200  # directories in which numbers are looked for
_SHARE = 0.9  # of the sample must have a number
_LARGEST = 1e300


def job_values(project: OpenProject, columns: UsageColumns) -> list[JobValues]:
    """Return the numbers of the directories of these jobs. Blocks on the disk."""
    if not len(columns) or len(columns) > MOST_JOBS or project.workflow.value_file is None:
        return []
    try:
        names = {record.token: record.directories for record in project.jobs.records()}
    except RowtuiError as error:
        project.notice(str(error))
        return []
    jobs = [names.get(job.token, ()) for job in columns.jobs()]
    values = _values(project, dict.fromkeys(name for job in jobs for name in job))
    known = list(values.values())
    sample = known[:: max(1, len(known) // _SAMPLE)]
    counted = Counter(pointer for value in sample for pointer in value)
    often = [it for it, number in counted.items() if number >= _SHARE * len(sample)]
    found = []
    for pointer in sorted(often, key=lambda it: (it.count("/"), it))[:MOST_POINTERS]:
        total, most = np.full(len(jobs), np.nan), np.full(len(jobs), np.nan)
        for at, job in enumerate(jobs):
            numbers = [values[name].get(pointer, math.nan) for name in job if name in values]
            if job and len(numbers) == len(job):
                total[at], most[at] = sum(numbers), max(numbers)
        total[~np.isfinite(total)] = np.nan
        most[~np.isfinite(total)] = np.nan
        found.append(JobValues(pointer, total, most))
    return found


def _values(project: OpenProject, names: Mapping[str, None]) -> dict[str, dict[str, float]]:
    """Return the numbers of these directories by pointer; without directories that are gone."""
    directories = project.state.directories
    found = {}
    for name in names:
        position = directories.position(name)
        if position is not None and position not in directories.bad:
            found[name] = dict(_numbers(directories.value(position)))
    return found


def _numbers(value: Any, pointer: str = "", depth: int = 0) -> Iterator[tuple[str, float]]:
    """Yield the numbers in objects with their JSON pointers; arrays are left out."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for key, inner in value.items():
            escaped = key.replace("~", "~0").replace("/", "~1")
            yield from _numbers(inner, f"{pointer}/{escaped}", depth + 1)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value) if abs(value) < _LARGEST else math.nan
        yield pointer, number
