"""Documents that `--json` printed, against the schemas in docs/schema/."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

FOLDER = Path(__file__).parents[1] / "docs" / "schema"


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")))


def fits(name: str, document: Any) -> Any:
    """The document, which has to fit the schema of this name."""
    found = _validator(name).iter_errors(document)
    errors = [f"{error.json_path}: {error.message}" for error in found]
    assert not errors, "\n".join([name, *errors[:10]])
    return document


def printed(words: Sequence[str], text: str) -> None:
    """What a command printed with `--json`: each document has to fit the command's schema."""
    if "--json" not in words or not text.strip():
        return
    try:
        documents = [json.loads(text)]
    except ValueError:  # one on each line
        documents = [json.loads(line) for line in text.splitlines()]
    for document in documents:
        if (name := schema_of(words, document)) is not None:
            fits(name, document)


def schema_of(words: Sequence[str], document: Any) -> str | None:
    """The schema of what a command prints; None for commands without one."""
    commands = ("show", "network", *_SCHEMAS)
    at = next((at for at, word in enumerate(words) if word in commands), None)
    if at is None:
        return None
    if set(document) == {"version", "error"}:
        return "failed"
    options = {word.partition("=")[0] for word in words if word.startswith("-")}
    command = words[at]
    if command in ("show", "network"):
        below = next((it for it in words[at + 1 :] if not it.startswith("-")), "show")
        command = f"{command} {below}"
    name = _SCHEMAS.get(command)
    if command == "show directories" and any(it.startswith(("-a", "--action")) for it in options):
        return "groups"
    if command in ("submit", "resubmit", "retry") and "--dry-run" in options and document.get("id"):
        return "plan"
    if command == "plan" and "--diff" in options:
        return "script-changes"
    if command == "plan" and "--pool" in options:
        return "pool"
    if command == "explain" and "not_there" in document:
        return "not-there"
    if command == "explain" and "diff" in document:
        return "workflow-change"
    if command == "pack":
        return "pack-comparison" if "--compare" in options else "packing"
    if command == "run" and options & {"--status", "--rules"}:
        return "project-run" if "--status" in options else "retry-rules"
    if name == "network" and "samples" in document:
        return "samples"
    if name in ("comparisons", "findings") and not {"copies", "findings"} & set(document):
        return {"comparisons": "copied", "findings": "node-types"}[name]
    return name


_SCHEMAS = {
    "show status": "status",
    "check": "checked",
    "show directories": "directory-names",
    "show jobs": "jobs",
    "show cluster": "clusters",
    "show launchers": "launchers",
    "scan": "scan",
    "init": "init",
    "clean": "clean",
    "report": "report",
    "plan": "plan",
    "submit": "sent",
    "resubmit": "sent",
    "retry": "sent",
    "cancel": "job-answers",
    "hold": "job-answers",
    "release": "job-answers",
    "change": "job-answers",
    "logs": "log",
    "explain": "explained",
    "queue": "queue",
    "projects": "projects",
    "pack": "packing",
    "network show": "network",
    "run": "project-run-event",
    "network runs": "runs",
    "network run": "run-event",
    "network check": "network-check",
    "network retire": "retired",
    "mirror": "comparisons",
    "doctor": "findings",
}
