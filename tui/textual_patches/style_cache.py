"""A stylesheet that parses each text once per theme, and styles a widget only when necessary.

Textual parses all of its styles again, twice, whenever a view is opened for the first time; this
parsing is most of the delay. The result depends only on the text and on the theme's variables.
Textual also styles all widgets of a view three times when the view is opened, and once whenever the
view is shown again, although nothing that decides their style has changed. Without this module, the
start and the opening of a view take 5 % more CPU (`bench/results/patches.md`).
"""

from __future__ import annotations

import os
from pathlib import PurePath

from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.styles import RulesMap
from textual.css.stylesheet import Stylesheet
from textual.css.types import CSSLocation
from textual.dom import DOMNode

_KEPT: LRUCache[object, list[RuleSet]] = LRUCache(1024)
"""Rules by text, location and variables: enough for all widgets in four themes."""

_MARK = "_rowtui_styled"
"""Attribute of a node: what decided its style the last time, and the number of that styling."""


class KeptStylesheet(Stylesheet):
    """A stylesheet with the results of Textual's own, without repeated work."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._key = frozenset(self._variables.items())
        self._readings = 0
        self.styled = 0  # The number of nodes that were styled so far.
        self._about: dict[frozenset[str], tuple[list[RuleSet], tuple[str, ...]]] = {}
        # The rules that may apply to the node that is being styled.
        self._narrow: list[RuleSet] | None = None

    def read(self, filename: str | PurePath) -> None:
        """Read a style file, which may be in a zip that rowtui runs from."""
        if os.path.isfile(filename):
            super().read(filename)
        else:
            css: bytes = globals()["__loader__"].get_data(str(filename))
            self.add_source(css.decode(), (str(filename), ""))

    def set_variables(self, variables: dict[str, str]) -> None:
        """Use these variables from the next `reparse` on."""
        if variables != self._variables:
            super().set_variables(variables)
            self._key = frozenset(variables.items())

    def reparse(self) -> None:
        """Parse everything with the current variables; if the parse fails, nothing changes."""
        self.parse()

    def parse(self) -> None:
        """Parse everything that was not parsed so far."""
        super().parse()
        self._readings += 1
        self._about.clear()

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

    @property
    def rules(self) -> list[RuleSet]:
        """All rules; while a node is styled, only rules that may apply to it, in the same order."""
        return super().rules if self._narrow is None else self._narrow

    def apply(
        self,
        node: DOMNode,
        *,
        animate: bool = False,
        cache: dict[tuple[object, ...], RulesMap] | None = None,
    ) -> None:
        """Style this node, unless the node already has this style."""
        before, self._narrow = self._narrow, None
        try:
            rules, wanted = self._rules_about(node)
            known = getattr(node, _MARK, None)
            if known is not None and known[1] == self._look(node, wanted):
                return
            self._narrow = rules
            super().apply(node, animate=animate, cache=cache)
            self.styled += 1
            setattr(node, _MARK, (self.styled, self._look(node, wanted)))
        finally:
            self._narrow = before

    def _rules_about(self, node: DOMNode) -> tuple[list[RuleSet], tuple[str, ...]]:
        """Return the rules that may apply to the node, and the pseudo classes in them."""
        every = self.rules  # Reading `rules` also parses new sources.
        named = self.rules_map
        names = frozenset(named.keys() & node._selector_names)
        found = self._about.get(names)
        if found is None:
            some = {id(rule) for name in names for rule in named[name]}
            rules = [rule for rule in every if id(rule) in some]
            wanted = {one for rule in rules for one in rule.pseudo_classes}
            found = self._about[names] = (rules, tuple(sorted(wanted)))
        return found

    def _look(self, node: DOMNode, wanted: tuple[str, ...]) -> tuple[object, ...]:
        """Return all that decides the style of a node; a newly styled ancestor changes it."""
        path = node.css_path_nodes
        return (
            self._readings,
            node.styles.base._updates,
            node._id,
            frozenset(node._classes),
            *[getattr(one, _MARK, (0,))[0] for one in path[:-1]],
            *[[one.has_pseudo_class(name) for name in wanted] for one in path],
        )
