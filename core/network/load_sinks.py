"""The `[[sink]]` tables and `[schedule]` of network.toml.

Takes tables, gives `Sink`s and a `Schedule`; what is wrong is noted in the file.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from rowtui.core.network.allowed import name_fault, path_fault
from rowtui.core.network.load_tables import checked_name, place_of
from rowtui.core.network.spec import Gather, Schedule, Sink
from rowtui.core.network.template import FIELDS, PublishError, pieces_of
from rowtui.core.text import visible
from rowtui.core.workflow.duration import DurationError, parse_duration
from rowtui.core.workflow.toml_file import TomlTable, did_you_mean

PRIORITIES: Final = ("sample", "sink", "source:+1", "source:-1", "critical-path", "row")
EXECUTIONS: Final = ("jobs", "sequential", "pilot")

_SINK: Final = ("name", "from", "output", "publish")
_PUBLISH_HINT: Final = 'write publish = "results/{sample}{ext}", relative to the project'
_OUR_FILES: Final = (".row", "network.toml", "workflow.toml")
_AFTER_COLON: Final = re.compile(r"(sink|source):(.*)", re.DOTALL)


def read_sink(table: TomlTable) -> Sink | None:
    """One sink; None if a part of it is missing."""
    table.only(_SINK)
    name = checked_name(table, "a sink")
    what = f"sink '{visible(name)}'"
    source = _needed(table, "from", what, 'write from = "...", the name of a node')
    output = _needed(table, "output", what, 'write output = "...", a product of that node')
    publish = _needed(table, "publish", what, _PUBLISH_HINT)
    if output and (fault := path_fault(output, "the directory")):
        table.problem("output", f"the output '{visible(output)}' {fault}")
    if publish:
        _check_path(table, publish)
    if not (source and output and publish):
        return None
    return Sink(name, source, output, publish, place_of(table, "from"))


def _needed(table: TomlTable, key: str, what: str, hint: str) -> str:
    text = table.string(key)
    if key not in table:
        table.problem((), f"{what} has no `{key}`", hint)
    elif text == "":
        table.problem(key, f"`{key}` is empty", hint)
    return text or ""


def _check_path(table: TomlTable, publish: str) -> None:
    try:
        pieces = pieces_of(publish)
    except PublishError as error:
        hint = "braces are for fields such as {sample}; write {{ and }} for braces themselves"
        table.problem("publish", f"`publish` cannot be read: {error}", hint)
        return
    # A field stands for at least one character, and never for a slash.
    path = "".join("x" if piece.is_field else piece.text for piece in pieces)
    fault = path_fault(path, "the project")
    first = next((part for part in path.split("/") if part not in {"", "."}), "")
    if not fault and first in _OUR_FILES:
        fault = f"would write into {first}"
    if fault:
        table.problem("publish", f"the path '{visible(publish)}' {fault}", _PUBLISH_HINT)


def check_fields(table: TomlTable, sink: Sink, dimensions: tuple[str, ...]) -> None:
    """Whether the template's fields are known, and whether samples get different paths."""
    try:
        fields = [piece.text for piece in pieces_of(sink.publish) if piece.is_field]
    except PublishError:
        return
    known = (*dimensions, *FIELDS)
    for field in dict.fromkeys(fields):
        if field not in known:
            shown = ", ".join(f"{{{visible(name)}}}" for name in known)
            message = f"`publish` has the unknown field {{{visible(field)}}}"
            hint = did_you_mean(field, known) or f"there are {shown}"
            table.problem("publish", message, hint)
        elif field in dimensions and field in FIELDS:
            message = f"`publish` has {{{field}}}, which could be the dimension of that name or not"
            table.problem("publish", message, "give the dimension another name")
    left = [name for name in dimensions if name not in fields]
    if left and "sample" not in fields:
        shown = visible(" and ".join(left))
        message = f"samples that differ only in {shown} would be published to one path"
        hint = f"add {{sample}} or {{{visible(left[0])}}} to `publish`"
        table.problem("publish", message, hint, "warning")


def read_schedule(top: TomlTable, sinks: Collection[str]) -> Schedule:
    """The schedule; `sinks` are the names of all sinks."""
    table = top.table("schedule")
    if table is None:
        return Schedule()
    table.only(("priority", "execution", "gather"))
    priority = table.string("priority")
    if priority is not None and not _is_near_sink(table, priority, sinks):
        _check_word(table, "priority", priority, (*PRIORITIES[:2], "sink:NAME", *PRIORITIES[2:]))
    execution = table.string("execution")
    if execution is not None:
        _check_word(table, "execution", execution, EXECUTIONS)
    return Schedule(
        "sample" if priority is None else priority,
        "jobs" if execution is None else execution,
        _gather(table),
        place_of(top, "schedule"),
    )


def _is_near_sink(table: TomlTable, priority: str, sinks: Collection[str]) -> bool:
    """Whether it is `sink:NAME` or `source:...`, which are no plug-ins; noted if it is wrong."""
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
    walltime = table.string("walltime")
    seconds = 0
    if walltime is not None:
        try:
            seconds = parse_duration(walltime)
        except DurationError as error:
            message = f"the walltime '{visible(walltime)}' is not usable: {error}"
            table.problem("walltime", message, error.hint)
        else:
            if seconds == 0:
                message = "the walltime is 0, which is too short for any job"
                table.problem("walltime", message, "leave it out for no limit")
    if size is None:  # with a walltime alone, that is the limit
        size = 0 if "walltime" in table and "size" not in table else 1
    return Gather(size, seconds)
