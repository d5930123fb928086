"""JSON objects of copies of a project on clusters."""

from __future__ import annotations

from typing import TypedDict


class TransferJson(TypedDict):
    """What is copied to a cluster before jobs are sent. `size`: bytes. `back`: is fetched later."""

    cluster: str
    place: str
    files: int
    size: int
    first: list[str]
    unchanged: int
    conflicts: list[str]
    back: list[str]
    notices: list[str]


class FileFactsJson(TypedDict):
    """A file of a project or a copy. `size`: bytes. `target`: of a link."""

    kind: str
    size: int | None
    modified_at: str | None
    target: str | None


class DifferenceJson(TypedDict):
    """A path that differs between the project and its copy; null: it is not there."""

    kind: str
    path: str
    here: FileFactsJson | None
    there: FileFactsJson | None
    reason: str | None


class ComparisonJson(TypedDict):
    """`mirror`: a copy of the project against the project. `same`: how many paths."""

    cluster: str
    place: str
    same: int
    differences: list[DifferenceJson]
    notices: list[str]


class CopiedJson(TypedDict):
    """`mirror --send`, `--fetch` and `--keep`: what was copied. `size`: bytes."""

    version: int
    cluster: str
    place: str
    files: int
    size: int
    notices: list[str]
