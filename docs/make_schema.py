"""Write docs/schema from the types of what `--json` prints, and docs/schema/files from the
declarations of the files that users write: `python docs/make_schema.py`.

The types (records, see `core/base/document.py`) are those that the commands are checked against, so
the schemas cannot differ from them; a test fails when the files are older than the types. JSON
Schema, draft 2020-12.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import json
import types
import typing
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from rowtui.cli.check.check import CheckedFiles
from rowtui.cli.check.files import KINDS, schema_of
from rowtui.cli.clusters.doctor import DoctorFindings, ShownNodeTypes
from rowtui.cli.jobs.json import JobJson, JobsJson, LogJson, QueueJson, QueueRowJson
from rowtui.cli.jobs.verbs import JobAnswersJson
from rowtui.cli.mapping.explain import NotThere, WorkflowChange
from rowtui.cli.messages.notify import ListedChannels
from rowtui.cli.network.definition import NetworkCheckJson
from rowtui.cli.network.directories import RetiredJson
from rowtui.cli.network.runs import ListedRuns
from rowtui.cli.network.shared.json import ListedSamples, NetworkDocument, RunEventJson, RunJson
from rowtui.cli.pack.json import PackComparisonJson, PackingJson
from rowtui.cli.project.init import MadeProject
from rowtui.cli.project.mirror import Copied, ShownComparisons
from rowtui.cli.project.projects import ShownProjects
from rowtui.cli.project.scan import Cleaned, ScanReport
from rowtui.cli.show.clusters import ShownClusters
from rowtui.cli.show.json import (
    DirectoryNames,
    ShownDirectory,
    ShownGroup,
    ShownGroups,
    ShownStatus,
)
from rowtui.cli.submit.json import (
    BundleJson,
    PlanJson,
    ProjectRunDocument,
    RefusedJson,
    RetryRulesJson,
    SentJson,
)
from rowtui.cli.submit.review import PoolJson, ScriptChangesJson
from rowtui.cli.submit.run import ProjectRunEventJson
from rowtui.cli.usage.report import WrittenReport
from rowtui.cli.usage.usage_json import UsageDocument, UsedJob
from rowtui.core.base import document
from rowtui.core.base.document import VERSION, KnownMoment, Moment, Plain, TextOrNull
from rowtui.core.base.errors import FailedJson
from rowtui.core.base.text import CostJson
from rowtui.core.clusters.model import Launchers, NodeType
from rowtui.core.mapping.model.decision_json import Explained, ShownDecision, ShownRequest
from rowtui.core.submission.plan.outcome import FailureJson
from rowtui.core.usage.past import PastView

FOLDER = Path(__file__).with_name("schema")
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
    Plain: {},
    KnownMoment: {"type": "string"},
}
_ONLY_FOR_MYPY = {**vars(document), "NodeType": NodeType, "CostJson": CostJson}
"""Names in the types of records whose modules import them only for mypy."""

COMMANDS: dict[str, tuple[str, Any]] = {
    "status": ("show status", ShownStatus),
    "directory-names": ("show directories", DirectoryNames),
    "groups": ("show directories --action", ShownGroups),
    "jobs": ("show jobs", JobsJson),
    "clusters": ("show cluster", ShownClusters),
    "launchers": ("show launchers", Launchers),
    "scan": ("scan", ScanReport),
    "init": ("init", MadeProject),
    "clean": ("clean", Cleaned),
    "report": ("report", WrittenReport),
    "failed": ("any command that fails before it has a result", FailedJson),
    "plan": ("plan; submit --dry-run", PlanJson),
    "pool": ("plan --pool", PoolJson),
    "sent": ("submit, retry", SentJson),
    "job-answers": ("cancel, hold, release, change", JobAnswersJson),
    "log": ("logs", LogJson),
    "usage": ("usage", UsageDocument),
    "notify": ("notify", ListedChannels),
    "history": ("history", PastView),
    "projects": ("projects", ShownProjects),
    "explained": ("explain", Explained),
    "not-there": ("explain, of directories that do not exist yet", NotThere),
    "workflow-change": ("explain --write, --undo", WorkflowChange),
    "script-changes": ("plan --diff", ScriptChangesJson),
    "queue": ("queue", QueueJson),
    "packing": ("pack", PackingJson),
    "pack-comparison": ("pack --compare", PackComparisonJson),
    "network": ("network show", NetworkDocument),
    "samples": ("network show NODE", ListedSamples),
    "runs": ("network runs", ListedRuns),
    "project-run": ("run --status", ProjectRunDocument),
    "project-run-event": ("run, each line", ProjectRunEventJson),
    "retry-rules": ("run --rules", RetryRulesJson),
    "run-event": ("network run, each line", RunEventJson),
    "network-check": ("network check", NetworkCheckJson),
    "retired": ("network retire", RetiredJson),
    "comparisons": ("mirror", ShownComparisons),
    "copied": ("mirror --send, --fetch, --keep", Copied),
    "findings": ("doctor", DoctorFindings),
    "node-types": ("doctor --node-types", ShownNodeTypes),
    "checked": ("check", CheckedFiles),
}
"""What each command prints: name of the schema -> the command, and the type."""

PARTS: dict[str, Any] = {
    "cost": CostJson,
    "failure": FailureJson,
    "job": JobJson,
    "directory": ShownDirectory,
    "group": ShownGroup,
    "request": ShownRequest,
    "decision": ShownDecision,
    "bundle": BundleJson,
    "refused": RefusedJson,
    "queue-row": QueueRowJson,
    "job-usage": UsedJob,
    "run": RunJson,
}
"""Objects that stand in several of these: name of the schema -> the type."""


def schemas() -> dict[str, dict[str, Any]]:
    """Every schema by its name."""
    found = {
        name: schema(name, f"rowtui {command} --json", kind)
        for name, (command, kind) in COMMANDS.items()
    }
    return found | {
        name: schema(name, f"{name}, in what several commands print", kind)
        for name, kind in PARTS.items()
    }


def schema(name: str, title: str, kind: Any) -> dict[str, Any]:
    """The schema of one type, with all the types in it."""
    parts: dict[str, dict[str, Any]] = {}
    body = _of(kind, parts)
    if "$ref" in body:  # an object: its own fields at the top
        body = parts.pop(_name(kind)) if not _names_itself(kind, parts) else body
    if name in COMMANDS and not name.endswith("-event"):  # `Output.json` prints the version first
        body["properties"] = {"version": {"type": "integer"}, **body["properties"]}
        body["required"] = sorted([*body["required"], "version"])
    return {
        "$schema": _DRAFT,
        "$id": f"urn:rowtui:schema:{name}:{VERSION}",
        "title": title,
        "version": VERSION,
        **body,
        **({"$defs": dict(sorted(parts.items()))} if parts else {}),
    }


def _name(kind: Any) -> str:
    return str(kind.__name__).removesuffix("Json")


def _names_itself(kind: Any, parts: dict[str, dict[str, Any]]) -> bool:
    return f'"#/$defs/{_name(kind)}"' in json.dumps(parts)


def _of(kind: Any, parts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The schema of a type. `parts`: those of the objects that were met so far."""
    kind = _shown(kind)
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    if kind in (Moment, TextOrNull):
        return {"type": ["string", "null"]}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return {"type": "string"}
    if typing.is_typeddict(kind) or hasattr(kind, "_fields") or dataclasses.is_dataclass(kind):
        if _name(kind) not in parts:
            parts[_name(kind)] = {}
            parts[_name(kind)] = _object(kind, parts)
        return {"$ref": f"#/$defs/{_name(kind)}"}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (list, tuple, collections.abc.Sequence):
        return {"type": "array", "items": _of(arguments[0], parts)}
    if origin in (dict, collections.abc.Mapping):
        values = _of(arguments[1], parts)
        return {"type": "object"} | ({"additionalProperties": values} if values else {})
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (types.UnionType, Union):
        return _one_of([_of(each, parts) for each in arguments])
    raise TypeError(f"{kind} has no schema")


def _shown(kind: Any) -> Any:
    """The record that stands in documents for a record."""
    if hasattr(kind, "as_document"):
        return typing.get_type_hints(kind.as_document)["return"]
    return kind


def _one_of(choices: list[dict[str, Any]]) -> dict[str, Any]:
    if all(each.keys() == {"type"} for each in choices):
        names = [each["type"] for each in choices]
        lists = [it if isinstance(it, list) else [it] for it in names]
        return {"type": list(dict.fromkeys(chain.from_iterable(lists)))}
    return {"anyOf": choices}


def _object(kind: Any, parts: dict[str, dict[str, Any]]) -> dict[str, Any]:
    # `__required_keys__` does not see NotRequired behind postponed annotations.
    extras = typing.get_type_hints(kind, localns=_ONLY_FOR_MYPY, include_extras=True)
    left_out = {name for name, each in extras.items() if get_origin(each) is typing.NotRequired}
    hints = typing.get_type_hints(kind) if typing.is_typeddict(kind) else extras
    properties: dict[str, Any] = {}
    required = hints.keys() - left_out
    for name, each in hints.items():
        if get_origin(each) is Annotated and "flat" in each.__metadata__:
            part, *absent = _alternatives(get_args(each)[0])
            inner = _object(_shown(part), parts)
            properties |= inner["properties"]
            required = required - {name} | ({*inner["required"]} if not absent else set())
        elif get_origin(each) is Annotated and "or absent" in each.__metadata__:
            properties[name] = _of(_alternatives(get_args(each)[0])[0], parts)
            required = required - {name}
        else:
            properties[name] = _of(each, parts)
    return {
        "description": inspect.cleandoc(kind.__doc__ or "").replace("Json`", "`"),
        "type": "object",
        "properties": properties,
        "required": sorted(required),
        "additionalProperties": False,
    }


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (types.UnionType, Union) else (kind,)


def texts() -> dict[str, str]:
    """The text of each schema by its name: of what commands print, and of files that users write.

    The name of a file's schema begins with `files/`.
    """
    found = schemas() | {f"files/{name}": schema_of(name) for name in KINDS}
    return {
        name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in found.items()
    }


def main() -> None:
    """Write all of them, and remove those of types that are gone."""
    (FOLDER / "files").mkdir(exist_ok=True, parents=True)
    wanted = {FOLDER / f"{name}.json": text for name, text in texts().items()}
    for old in set(FOLDER.rglob("*.json")) - wanted.keys():
        old.unlink()
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
