"""Values that are known without running code, and the three kinds of context variables.

The input is a value as written; the output is its number, or None if the code would have to run.
"""

from __future__ import annotations

import math
import re
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.mapping.code.expressions import compile_block
from rowtui.core.mapping.code.model import Code
from rowtui.core.mapping.engine.evaluate import StopMapping
from rowtui.core.mapping.engine.lookup import EntityLookup
from rowtui.core.mapping.model.decision import MappingOutcome
from rowtui.core.mapping.model.dialect import Dialect
from rowtui.core.mapping.model.entities import Entity
from rowtui.core.mapping.model.fields import Said

# The three kinds of context variables by their names: CONSTANT, _protected, public.
#
# A constant keeps its first value; a protected variable changes only within the file that defined
# it; a public variable may be overridden anywhere. Source: TPV's documentation, "Custom contexts".
# TPV itself does not enforce these rules.


def check_variable(
    name: str, said: Said, earlier: Said | None, dialect: Dialect
) -> tuple[str, str] | None:
    """Return why a variable may not be given a second value: (message, hint); None if it may."""
    if earlier is None or not dialect.guarded_context:
        return None
    return overridden(name, said, earlier)


def overridden(name: str, said: Said, earlier: Said) -> tuple[str, str] | None:
    """Return why a variable's name forbids a second value, in any dialect; None if allowed."""
    first = earlier.origin.place
    if said.origin.place == first:
        return None
    shown = visible(name)
    if name.startswith("_"):
        if said.origin.place.file == first.file:
            return None
        message = f"the protected variable {shown} is overridden from another file"
        return message, f"it is defined in {first}; only that file may change it"
    if name.isupper():
        message = f"the constant {shown} is given a second value"
        return (
            message,
            f"it is defined in {first}; use a lower-case name for a value that may change",
        )
    return None


# Look up entities without running code, for trusted and untrusted files.
#
# Untrusted files are checked and shown like all others; only their code must not run. Source:
# docs/mapping.md, "Files".


class StaticLookup(EntityLookup):
    """A lookup in which only errors stop a job."""

    def why_unusable(self, kind: str, key: str, entity: Entity) -> StopMapping | None:
        """Return why an entity cannot be used, which is an error, or None."""
        stop = super().why_unusable(kind, key, entity)
        return None if stop is not None and stop.outcome is MappingOutcome.UNTRUSTED else stop


_LOOKS = re.compile(r"\b(globals|locals|vars|dir|eval|exec)\s*\(")


def number(value: Any) -> float | None:
    """Return a constant amount as a number; None for expressions and for anything else."""
    if isinstance(value, str):
        code = compile_block(value)
        value = code.value if code.constant else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # a whole number beyond all floats
        return None


def constant_amount(entity: Entity, name: str) -> float | None:
    """Return an amount within its bounds, if it depends on no expression and no rule."""
    for rule in entity.rules.values():
        if rule.execute or any(
            getattr(rule, field) is not None for field in (name, f"min_{name}", f"max_{name}")
        ):
            return None
    value = number(getattr(entity, name))
    for field, choose in ((f"min_{name}", max), (f"max_{name}", min)):
        bound = getattr(entity, field)
        if bound is None or value is None:
            continue
        limit = number(bound)
        value = None if limit is None else choose(value, limit)
    return value


def flag(condition: Any) -> bool | None:
    """Return the constant value of a condition; None if it is not constant."""
    if isinstance(condition, bool):
        return condition
    code = compile_block(str(condition))
    return bool(code.value) if code.constant else None


def looks_at_its_names(code: Code) -> str:
    """Return the function by which code reads its own names; "" if there is none."""
    match = _LOOKS.search(code.text)
    return match[1] if match and match[1] in code.names else ""
