"""A stylesheet that reads each text once for each theme.

Textual reads all of its styles again whenever a view is opened for the first time, twice; that is
most of what one would wait for. What is read depends on the text and the theme's variables alone.
"""

from __future__ import annotations

from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.css.types import CSSLocation

_KEPT: LRUCache[object, list[RuleSet]] = LRUCache(1024)
"""Rules by text, place and variables: four themes of all the widgets there are."""


class KeptStylesheet(Stylesheet):
    """Does what Textual's own does, without reading anything twice."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._key = frozenset(self._variables.items())

    def set_variables(self, variables: dict[str, str]) -> None:
        """Use these variables from the next `reparse` on."""
        if variables != self._variables:
            super().set_variables(variables)
            self._key = frozenset(variables.items())

    def reparse(self) -> None:
        """Read everything with the variables of now; if something is wrong, nothing changes."""
        self.parse()

    def _parse_rules(
        self,
        css: str,
        read_from: CSSLocation,
        is_default_rules: bool = False,
        tie_breaker: int = 0,
        scope: str = "",
    ) -> list[RuleSet]:
        key = (css, read_from, is_default_rules, tie_breaker, scope, self._key)
        rules = _KEPT.get(key)
        if rules is None:
            rules = super()._parse_rules(css, read_from, is_default_rules, tie_breaker, scope)
            _KEPT[key] = rules
        return rules
