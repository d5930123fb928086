"""The `[[sink]]` tables of network.toml.

Takes tables, gives `Sink`s; problems are recorded in the file object.
"""

from __future__ import annotations

from typing import Final

from rowtui.core.base.text import visible
from rowtui.core.network.definition.allowed import path_fault
from rowtui.core.network.definition.load_tables import checked_name, place_of
from rowtui.core.network.definition.spec import Sink
from rowtui.core.network.definition.template import FIELDS, PublishError, pieces_of
from rowtui.core.workflow.toml_file import TomlTable, did_you_mean

_SINK: Final = ("name", "from", "output", "publish")
_PUBLISH_HINT: Final = 'write publish = "results/{sample}{ext}", relative to the project'
_OUR_FILES: Final = (".row", "network.toml", "workflow.toml")


def read_sink(table: TomlTable) -> Sink | None:
    """Read one sink; return None if a part of it is missing."""
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
    """Check that the template's fields are known, and that samples get different paths."""
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
