"""Filter of the queue's jobs, in the filter language of all lists (`core/base/filter.py`).

The module turns the text into a test of one job. A word without a field is searched in all text of
a row. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from rowtui.core.base.filter import CONTAINS, Term, holds, parse_filter, with_known_fields

COLUMNS: Mapping[str, str] = {
    "cluster": "cluster",
    "id": "label",
    "state": "word",
    "action": "name",
    "size": "size",
    "first": "first",
    "partition": "partition",
    "nodes": "nodes",
    "elapsed": "elapsed",
    "limit": "limit",
    "left": "left",
    "reason": "reason",
    "user": "user",
}
"""The columns of the queue that a filter can name, and the attribute that holds a job's value."""

OTHER_NAMES: Mapping[str, str] = {"job": "id", "name": "action", "dirs": "size", "dir": "first"}

_KNOWN = {**{name: name for name in COLUMNS}, **OTHER_NAMES}


class Filtered(Protocol):
    """The object in which a filter searches words."""

    @property
    def words(self) -> str:
        """Return all shown text of the object, in lower case."""
        ...


def read_filter(text: str) -> Callable[[Filtered], bool] | None:
    """Return a test for these words, None for no words. Raises: FilterError."""
    terms = with_known_fields(parse_filter(text), _KNOWN).terms
    if not terms:
        return None

    def fits(one: Filtered) -> bool:
        return all(_holds(term, one) is not term.negated for term in terms)

    return fits


def _holds(term: Term, one: Filtered) -> bool:
    if term.field:
        return holds(term, getattr(one, COLUMNS[term.field]))
    if term.operator == CONTAINS and term.folds:
        return term.text in one.words
    return any(holds(term, getattr(one, where)) for where in COLUMNS.values())
