"""The steps of one mapping, noted for `watched.py`, which makes the reasons of the result of them.

A mapping without notes takes the same steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rowtui.core.base.text import visible
from rowtui.core.mapping.model.decision import Matched, RuleOutcome
from rowtui.core.mapping.model.entities import Entity, Rule
from rowtui.core.mapping.model.request import Amounts


class MappingNotes:
    """What the mapper did. The mapping of a job may be repeated: it then begins again."""

    def __init__(self) -> None:
        self.entities: tuple[Matched, ...] = ()
        self.begin()

    def begin(self) -> None:
        """Remove everything but the entities that take part."""
        self.rules: list[RuleOutcome] = []
        # The amounts and bounds of each entity.
        self.lanes: list[tuple[Entity, dict[str, Any]]] = []
        self.job: tuple[Entity, Amounts] | None = None
        self.order: list[str] = []
        self.by = "score"
        # Each tried destination: why it refused the job, or "" if it takes the job.
        self.turns: dict[str, str] = {}
        # The destination laid over the job, after its rules, before filling in values.
        self.final: Entity | None = None

    def rule(self, rule: Rule, matched: bool) -> None:
        """Note an evaluated rule."""
        condition = str(rule.if_condition).strip()
        effect = _effect(rule) if matched else ""
        self.rules.append(RuleOutcome(rule.origin, condition, matched, effect))

    def ranked(self, destinations: Sequence[str], by: str) -> None:
        """Note the order in which destinations are tried."""
        self.order = list(dict.fromkeys(destinations))
        self.by = by


def _effect(rule: Rule) -> str:
    """Return the effect of a rule in few words."""
    parts = ["runs code"] if rule.execute else []
    parts += ["fails the job"] if rule.fail else []
    for field in rule.said:
        name, _, key = field.partition(".")
        if name not in {"if_condition", "execute", "fail"}:
            value = rule.said[field][0].value
            parts.append(f"{value}s {key}" if name == "tags" else f"{field} = {value}")
    return visible(", ".join(parts))
