"""Write a `Network` as the text of a network.toml with the same content.

This is for `network init`, and for copies that the user reads. Comments are not kept; parsing the
text again gives an equal network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from rowtui.core.network.definition.spec import (
    ALL,
    IDLE_SECONDS,
    JSON,
    CardinalitySlice,
    FileSource,
    Gather,
    Input,
    Link,
    Network,
    Node,
    Pilot,
    Require,
    Source,
    TableSource,
    Values,
)

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(network: Network) -> str:
    """Return the text of a network from `load` or `Build`.

    Raises: TypeError for constants that TOML cannot represent (null).
    """
    parts = [[f"name = {_value(network.name)}"]]
    parts += [list(_source(source)) for source in network.sources]
    parts += [list(_node(node)) for node in network.nodes]
    for sink in network.sinks:
        fields = {"name": sink.name, "from": sink.source, "output": sink.output}
        parts.append(["[[sink]]", *_pairs({**fields, "publish": sink.publish})])
    if schedule := list(_schedule(network)):
        parts.append(["[schedule]", *schedule])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _source(source: Source) -> Iterable[str]:
    yield "[[source]]"
    yield f"name = {_value(source.name)}"
    data = source.data
    if isinstance(data, Values):
        if data.zipped:
            yield f"zip = {_value(data.zipped)}"
        yield "[source.values]"
        yield from _pairs(data.dimensions)
    elif isinstance(data, FileSource):
        yield f"files = {_value(data.pattern)}"
        if data.dimension != source.name:
            yield f"dimension = {_value(data.dimension)}"
    else:
        if isinstance(data, TableSource):
            yield f"{data.kind} = {_value(data.path)}"
        else:
            include = {"include": data.include} if data.include else True
            yield f"workspace = {_value(include)}"
        if data.dimensions:
            yield f"dimensions = {_value(data.dimensions)}"


def _node(node: Node) -> Iterable[str]:
    yield "[[node]]"
    yield f"name = {_value(node.name)}"
    if node.action != node.name:
        yield f"action = {_value(node.action)}"
    named: Mapping[str, JSON] = {}
    if all(map(_is_called_like_its_source, node.inputs)) and len(node.inputs) == 1:
        yield from _pairs(_link(node.inputs[0].links[0]))
    elif all(_is_called_like_its_source(it) and _is_bare(it.links[0]) for it in node.inputs):
        yield f"from = {_value([it.name for it in node.inputs])}"
    else:
        named = {it.name: _input(it) for it in node.inputs}
    if node.combine != "join":
        yield f"combine = {_value(node.combine)}"
    if node.directories != "auto":
        yield f"directories = {_value(node.directories)}"
    if node.constants:
        yield f"constants = {_value(node.constants)}"
    if named:
        yield "[node.inputs]"
        yield from _pairs(named)


def _is_called_like_its_source(it: Input) -> bool:
    return len(it.links) == 1 and it.links[0].source == it.name and not it.group


def _is_bare(link: Link) -> bool:
    return set(_link(link)) == {"from"}


def _input(it: Input) -> JSON:
    links = [_link(link) for link in it.links]
    if it.group:
        links = [{**link, "group": it.group} for link in links]
    short = [link["from"] if set(link) == {"from"} else link for link in links]
    if len(short) == 1:
        return short[0]
    return short


def _link(link: Link) -> dict[str, JSON]:
    """Return the keys that differ from the defaults."""
    fields: dict[str, JSON] = {"from": link.source}
    if link.output:
        fields["output"] = link.output
    if link.select is not None:
        fields["select"] = _selection(link.select)
    if link.collapse:
        fields["collapse"] = link.collapse
    if link.expand:
        fields["expand"] = link.expand
    if link.require != ALL:
        fields["require"] = _require(link.require)
    return fields


def _selection(select: CardinalitySlice) -> str:
    start, stop = select
    if stop is None:
        return "-1" if start == -1 else f"{start}:"
    return str(start) if stop == start + 1 else f"{start}:{stop}"


def _require(require: Require) -> JSON:
    return require.share if require.number is None else require.number


def _schedule(network: Network) -> Iterable[str]:
    schedule = network.schedule
    if schedule.priority != "sample":
        yield f"priority = {_value(schedule.priority)}"
    if schedule.execution != "jobs":
        yield f"execution = {_value(schedule.execution)}"
    gather = schedule.gather
    if gather != Gather():
        fields: dict[str, JSON] = {"size": gather.size}
        if gather.walltime_seconds:
            fields["walltime"] = _time(gather.walltime_seconds)
        yield f"gather = {_value(fields)}"
    if schedule.pilot is not None:
        yield f"pilot = {_value(_pilot(schedule.pilot))}"
    if schedule.ahead:
        yield "ahead = true"


def _pilot(pilot: Pilot) -> dict[str, JSON]:
    fields: dict[str, JSON] = {"cpus": pilot.cpus, "walltime": _time(pilot.walltime_seconds)}
    if pilot.memory_mb is not None:
        fields["memory"] = f"{pilot.memory_mb}M"
    if pilot.gpus:
        fields["gpus"] = pilot.gpus
    if pilot.idle_seconds != IDLE_SECONDS:
        fields["idle"] = _time(pilot.idle_seconds)
    if pilot.number != 1:
        fields["number"] = pilot.number
    return fields


def _time(seconds: int) -> str:
    """Return HH:MM:SS."""
    minutes, rest = divmod(seconds, 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest:02d}"


def _pairs(table: Mapping[str, Any]) -> Iterable[str]:
    return (f"{_key(key)} = {_value(value)}" for key, value in table.items())


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _string(key)


def _value(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(_pairs(value))} }}" if value else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    raise TypeError(f"TOML has no {type(value).__name__}")


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
