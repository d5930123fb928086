"""Environment variables that hold secrets. They are passed to no other program."""

from __future__ import annotations

SECRET_PREFIX = "ROWTUI_SECRET_"


def is_secret(variable: str | bytes) -> bool:
    """Whether the value of a variable is a secret."""
    if isinstance(variable, bytes):
        return variable.startswith(SECRET_PREFIX.encode())
    return variable.startswith(SECRET_PREFIX)
