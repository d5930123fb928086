"""The three kinds of context variables by their names: CONSTANT, _protected, public.

A constant keeps its first value; a protected variable changes only within the file that defined it;
a public variable may be overridden anywhere. Source: TPV's documentation, "Custom contexts". TPV
itself does not enforce these rules.
"""

from __future__ import annotations

from rowtui.core.base.text import visible
from rowtui.core.mapping.model.dialect import Dialect
from rowtui.core.mapping.model.origin import Said


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
