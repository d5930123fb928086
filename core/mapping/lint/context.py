"""Find context variables that hide other names, and variables that no code reads.

The input is every variable that a configuration defines, with its place.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rowtui.core.mapping.engine.namespace import INPUTS, KNOWN_NAMES, NEVER_HIDDEN
from rowtui.core.mapping.lint.findings import Finding, shortened
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.entities import AMOUNTS, BOUNDS, Entity, Said
from rowtui.core.workflow.toml_file import did_you_mean

_BUILTINS = frozenset(dir(builtins))
_LATER = frozenset({*AMOUNTS, *BOUNDS, "candidate_destinations", "env", "params"})
_ANOTHER = "Choose another name"


class Variables(NamedTuple):
    """All variables of a configuration: name -> where each is first defined.

    `in_code`: some code sets or reads variables in other ways than by their names.
    """

    said: Mapping[str, Said]
    in_code: bool


def variables_of(configuration: Configuration) -> dict[str, Said]:
    """Return every variable of files, entities and rules, with its first definition."""
    found = {name: said for file in configuration.files for name, said in file.context.items()}
    for kind in ("tools", "roles", "users", "destinations"):
        for entity in configuration.of_kind(kind).values():
            for holder in (entity, *entity.rules.values()):
                for name in holder.context:
                    found.setdefault(name, _said(holder, name))
    return found


def _said(holder: Entity, name: str) -> Said:
    """Return the first definition of a variable, which is that of the lowest entity."""
    chain = holder.said.get(f"context.{name}", ())
    return chain[-1] if chain else Said(holder.context[name], holder.origin)


def hiding_findings(variables: Mapping[str, Said]) -> Iterator[Finding]:
    """Yield M503."""
    for name, said in variables.items():
        of_all = said.origin.kind == "global"
        shown = shortened(name)
        message = ""
        if name in NEVER_HIDDEN or (of_all and name in KNOWN_NAMES):
            message = f"the variable {shown} is never seen: expressions have that name already"
        elif name in KNOWN_NAMES or name in _LATER:
            message = f"the variable {shown} hides what expressions call so"
        elif name in _BUILTINS:
            message = f"the variable {shown} hides Python's own {name}"
        if message:
            yield Finding("M503", said.origin.place, message, _ANOTHER)


def unread_findings(
    variables: Mapping[str, Said], read: frozenset[str], unknown: frozenset[str]
) -> Iterator[Finding]:
    """Yield M504. `unknown`: unknown names that code reads, which may be misspelt variables."""
    for name, said in variables.items():
        if name not in read and name not in KNOWN_NAMES and name != INPUTS:
            message = f"nothing reads the variable {shortened(name)}"
            hint = did_you_mean(name, sorted(unknown))
            yield Finding("M504", said.origin.place, message, hint, "note")
