"""The `[schedule]` table of network.toml: the order of jobs, and how they run.

Takes the file's top table, gives a `Schedule`; problems are recorded in the file object.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from rowtui.core.base.text import visible
from rowtui.core.clusters.config.load_node_types import memory_mb
from rowtui.core.network.definition.allowed import name_fault
from rowtui.core.network.definition.load_tables import place_of
from rowtui.core.network.definition.spec import IDLE_SECONDS, Gather, Pilot, Schedule
from rowtui.core.workflow.duration import DurationError, parse_duration
from rowtui.core.workflow.toml_file import TomlTable, did_you_mean

PRIORITIES: Final = ("sample", "sink", "source:+1", "source:-1", "critical-path", "row")
EXECUTIONS: Final = ("jobs", "sequential", "pilot")
PILOT_HINT: Final = 'write [schedule.pilot] with cpus = 16 and walltime = "08:00:00", say'

_SCHEDULE: Final = ("priority", "execution", "gather", "pilot", "ahead")
_PILOT: Final = ("cpus", "walltime", "memory", "gpus", "idle", "number")
_LEAST_SECONDS: Final = 60  # a shorter pilot is over before a job has begun in it
_AFTER_COLON: Final = re.compile(r"(sink|source):(.*)", re.DOTALL)


def read_schedule(top: TomlTable, sinks: Collection[str]) -> Schedule:
    """Read the schedule; `sinks` are the names of all sinks."""
    table = top.table("schedule")
    if table is None:
        return Schedule()
    table.only(_SCHEDULE)
    priority = table.string("priority")
    if priority is not None and not _is_near_sink(table, priority, sinks):
        _check_word(table, "priority", priority, (*PRIORITIES[:2], "sink:NAME", *PRIORITIES[2:]))
    execution = table.string("execution")
    if execution is not None:
        _check_word(table, "execution", execution, EXECUTIONS)
    gather = _gather(table)
    if execution == "pilot" and "pilot" not in table:
        message = "execution is 'pilot', and nothing says what a pilot holds"
        table.problem("execution", message, PILOT_HINT)
    if execution == "sequential" and gather.size == 1 and not table.file.has_errors:
        message = "execution is 'sequential', and each job is a list of its own"
        table.problem("execution", message, "write gather = { size = 50 }, say", "warning")
    return Schedule(
        "sample" if priority is None else priority,
        "jobs" if execution is None else execution,
        gather,
        _pilot(table),
        table.boolean("ahead") or False,
        place_of(top, "schedule"),
    )


def _is_near_sink(table: TomlTable, priority: str, sinks: Collection[str]) -> bool:
    """Whether it is `sink:NAME` or `source:...`, which are not plug-ins; errors are recorded."""
    match = _AFTER_COLON.fullmatch(priority)
    if match is None or priority in PRIORITIES:
        if priority == "sink" and not sinks:
            message = "the priority 'sink' goes by the way to a sink, and there is no sink"
            table.problem("priority", message, "", "warning")
        return False
    if match[1] == "source":
        message = f"the priority cannot be '{visible(priority)}'"
        hint = "write source:+1 to go on with what is farthest, source:-1 to keep all together"
        table.problem("priority", message, hint)
    elif match[2] not in sinks:
        message = f"the priority '{visible(priority)}' names no sink"
        table.problem("priority", message, did_you_mean(match[2], sinks))
    return True


def _check_word(table: TomlTable, key: str, word: str, known: tuple[str, ...]) -> None:
    if word in known and ":NAME" not in word:
        return
    shown = ", ".join(known)
    if fault := name_fault(word):
        table.problem(key, f"`{key}` '{visible(word)}' {fault}", f"write one of {shown}")
        return
    near = did_you_mean(word, known)
    hint = near or f"a plug-in of this name must be installed; ours are {shown}"
    message = f"`{key}` is '{visible(word)}', which is none of ours"
    table.problem(key, message, hint, "warning")


def _gather(schedule: TomlTable) -> Gather:
    table = schedule.table("gather")
    if table is None:
        return Gather()
    table.only(("size", "walltime"))
    size = table.integer("size")
    seconds = _seconds(table, "walltime", 1, "leave it out for no limit") or 0
    if size is None:  # without a size, a given walltime is the only limit
        size = 0 if "walltime" in table and "size" not in table else 1
    return Gather(size, seconds)


def _pilot(schedule: TomlTable) -> Pilot | None:
    table = schedule.table("pilot")
    if table is None:
        return None
    table.only(_PILOT)
    for key in ("cpus", "walltime"):
        if key not in table:
            table.problem((), f"the pilot has no `{key}`", PILOT_HINT)
    cpus, number = table.integer("cpus", 1), table.integer("number", 1)
    seconds = _seconds(table, "walltime", _LEAST_SECONDS, "give it a minute or more")
    idle = _seconds(table, "idle", 1, "leave it out for five minutes")
    memory = table.string("memory")
    megabytes = None if memory is None else memory_mb(memory)
    if memory is not None and not megabytes:
        message = f"the memory '{visible(memory)}' is no amount"
        table.problem("memory", message, 'write memory = "64G", or leave it out')
    return Pilot(
        cpus or 1,
        seconds or _LEAST_SECONDS,
        megabytes,
        table.integer("gpus") or 0,
        IDLE_SECONDS if idle is None else idle,
        1 if number is None else number,
    )


def _seconds(table: TomlTable, key: str, least: int, hint: str) -> int | None:
    """Read a time of at least `least` seconds; return None if it is absent or invalid."""
    text = table.string(key)
    if text is None:
        return None
    try:
        seconds = parse_duration(text)
    except DurationError as error:
        table.problem(key, f"the {key} '{visible(text)}' is not usable: {error}", error.hint)
        return None
    if seconds < least:
        message = f"the {key} is {seconds or 0}, which is too short for any job"
        table.problem(key, message, hint)
        return None
    return seconds
