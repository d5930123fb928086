"""Look up entities without running code, for trusted and untrusted files.

Untrusted files are checked and shown like all others; only their code must not run. Source:
docs/mapping.md, "Files".
"""

from __future__ import annotations

from rowtui.core.mapping.engine.evaluate import StopMapping
from rowtui.core.mapping.engine.lookup import Lookup
from rowtui.core.mapping.model.decision import Outcome
from rowtui.core.mapping.model.entities import Entity


class StaticLookup(Lookup):
    """A lookup in which only errors stop a job."""

    def why_unusable(self, kind: str, key: str, entity: Entity) -> StopMapping | None:
        """Return why an entity cannot be used, which is an error, or None."""
        stop = super().why_unusable(kind, key, entity)
        return None if stop is not None and stop.outcome is Outcome.UNTRUSTED else stop
