"""Looking entities up without running anything, so that it does not matter who trusts their files.

Files that nobody has trusted yet are checked and shown like all others; only running their code
has to wait. Source: docs/mapping.md, "Files".
"""

from __future__ import annotations

from rowtui.core.mapping.decision import Outcome
from rowtui.core.mapping.entities import Entity
from rowtui.core.mapping.evaluate import StopMapping
from rowtui.core.mapping.lookup import Lookup


class StaticLookup(Lookup):
    """A lookup in which only errors stop a job."""

    def why_unusable(self, kind: str, key: str, entity: Entity) -> StopMapping | None:
        """Why an entity cannot be used: it has an error."""
        stop = super().why_unusable(kind, key, entity)
        return None if stop is not None and stop.outcome is Outcome.UNTRUSTED else stop
