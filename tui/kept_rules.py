"""A stylesheet that reads each text once for each theme, and styles a widget when it must.

Textual reads all of its styles again whenever a view is opened for the first time, twice; that is
most of what one would wait for. What is read depends on the text and the theme's variables alone.
It also styles all widgets of a view three times when it is opened, and once whenever it is shown
again; nothing that decides how they look is another then.
"""

from __future__ import annotations

from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.styles import RulesMap
from textual.css.stylesheet import Stylesheet
from textual.css.types import CSSLocation
from textual.dom import DOMNode

_KEPT: LRUCache[object, list[RuleSet]] = LRUCache(1024)
"""Rules by text, place and variables: four themes of all the widgets there are."""

_MARK = "_rowtui_styled"
"""On a node: what decided its look when it was styled last, and how often that was."""


class KeptStylesheet(Stylesheet):
    """Does what Textual's own does, without doing anything twice."""

    def __init__(self, *, variables: dict[str, str] | None = None) -> None:
        super().__init__(variables=variables)
        self._key = frozenset(self._variables.items())
        self._readings = 0
        self.styled = 0  # nodes, so far
        self._about: dict[frozenset[str], tuple[list[RuleSet], tuple[str, ...]]] = {}
        self._narrow: list[RuleSet] | None = None  # rules that may be about the node at hand

    def set_variables(self, variables: dict[str, str]) -> None:
        """Use these variables from the next `reparse` on."""
        if variables != self._variables:
            super().set_variables(variables)
            self._key = frozenset(variables.items())

    def reparse(self) -> None:
        """Read everything with the variables of now; if something is wrong, nothing changes."""
        self.parse()

    def parse(self) -> None:
        """Read everything that was not read so far."""
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
        """All rules; while a node is styled, those that may be about it, in the same order."""
        return super().rules if self._narrow is None else self._narrow

    def apply(
        self,
        node: DOMNode,
        *,
        animate: bool = False,
        cache: dict[tuple[object, ...], RulesMap] | None = None,
    ) -> None:
        """Style this node, unless it is styled in this way already."""
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
        """The rules that may be about the node, and the pseudo classes that they ask for."""
        every = self.rules  # reads what is new
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
        """All that decides how a node is styled. One above it that is styled anew is another."""
        path = node.css_path_nodes
        return (
            self._readings,
            node.styles.base._updates,
            node._id,
            frozenset(node._classes),
            *[getattr(one, _MARK, (0,))[0] for one in path[:-1]],
            *[[one.has_pseudo_class(name) for name in wanted] for one in path],
        )
