"""Find tags that cannot match: misspelt, required but never offered, or on one side only.

The input is the entities that mention each tag, on the side of jobs (tools, roles, users, their
rules) and on the side of destinations. If there are no destinations, there are no findings.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator
from typing import NamedTuple

from rowtui.core.mapping.code.expressions import compile_execute
from rowtui.core.mapping.code.snippets import syntax_of
from rowtui.core.mapping.lint.findings import LintFinding, shortened, whose
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.entities import Destination, Entity
from rowtui.core.mapping.model.origin import Origin
from rowtui.core.mapping.model.tags import STRENGTHS

_ALIKE = 0.84  # ratio of difflib; `high-mem` and `highmem` have 0.93, `online` and `offline` 0.77
_MOST_COMPARED = 200_000  # pairs of tags: a second or two
_SHORTEST = 4  # characters of a tag that may be misspelt


class Mention(NamedTuple):
    """One entity or rule that names a tag."""

    strength: str
    origin: Origin


Mentions = dict[str, list[Mention]]


class Sides(NamedTuple):
    """Tag -> the entities that mention it, on both sides.

    `code`: the text of all code that may set tags. `computed`: some of this code sets tags whose
    names are only known when it runs.
    """

    jobs: Mentions
    destinations: Mentions
    code: str
    computed: bool = False

    def job_may_have(self, tag: str) -> bool:
        """Whether any entity gives jobs this tag, so that a destination can require it."""
        if any(mention.strength != "reject" for mention in self.jobs.get(tag, ())):
            return True
        return self.computed or tag.startswith("tool_type_") or tag in self.code


def sides_of(configuration: Configuration) -> Sides:
    """Return the entities that mention each tag."""
    jobs: Mentions = {}
    destinations: Mentions = {}
    code: list[str] = []
    seen: set[tuple[str, Origin]] = set()
    rules: set[int] = set()
    for kind in ("tools", "roles", "users"):
        for entity in configuration.of_kind(kind).values():
            _mention(jobs, entity, entity.tpv_tags.strengths(), seen)
            for rule in entity.rules.values():
                if id(rule) not in rules:
                    rules.add(id(rule))
                    _mention(jobs, rule, rule.tpv_tags.strengths(), seen)
                    code += [rule.execute] if rule.execute else []
    offered: set[tuple[str, Origin]] = set()
    for entity in configuration.of_kind("destinations").values():
        assert isinstance(entity, Destination)
        _mention(destinations, entity, entity.tpv_dest_tags.strengths(), offered)
    return Sides(jobs, destinations, "\n".join(code), any(map(_computes_tags, code)))


_SETTERS = frozenset({"add_tag_override", "append", "extend", "insert", "SchedulingTags"})
_NO_VALUES = frozenset({"TagType", "SchedulingTags", "entity", "self"})


def _computes_tags(text: str) -> bool:
    """Whether code sets tags whose names are not literal texts."""
    code = compile_execute(text)
    if "tpv_tags" not in text or code.syntax_error is not None:
        return False
    for node in ast.walk(syntax_of(code, as_tpv=False)[0]):
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            values = [*node.args, *(each.value for each in node.keywords)]
            if name in _SETTERS and not all(map(_is_written, values)):
                return True
        elif isinstance(node, (ast.Assign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            sets = any(
                isinstance(each, ast.Attribute) and each.attr in STRENGTHS for each in targets
            )
            if sets and not _is_written(node.value):
                return True
    return False


def _is_written(value: ast.expr) -> bool:
    """Whether a value consists of literal texts, and of tags that the entity already has."""
    return not any(
        isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Name) and node.id not in _NO_VALUES)
        for node in ast.walk(value)
    )


def _mention(
    mentions: Mentions,
    holder: Entity,
    strengths: dict[str, str],
    seen: set[tuple[str, Origin]],
) -> None:
    """Record a mention once for each place in a file, without inherited mentions."""
    for tag, strength in strengths.items():
        text = holder.said.get(f"tags.{tag}", ())
        origin = text[0].origin if text else holder.origin
        if (tag, origin) not in seen:
            seen.add((tag, origin))
            mentions.setdefault(tag, []).append(Mention(strength, origin))


def tag_findings(configuration: Configuration, sides: Sides) -> Iterator[LintFinding]:
    """Yield M402, M403, M404, M411."""
    if not configuration.of_kind("destinations"):
        return
    misspelt: dict[str, str] = {}
    for own, other in ((sides.jobs, sides.destinations), (sides.destinations, sides.jobs)):
        spellings = _Spellings(own, other)
        for tag, mentions in own.items():
            meant = spellings.meant(tag)
            if meant and misspelt.get(meant) != tag:
                misspelt[tag] = meant
                yield LintFinding(
                    "M403",
                    mentions[0].origin.place,
                    f"the tag {shortened(tag)} of {whose(mentions[0].origin)} is named nowhere on "
                    "the other side",
                    f"did you mean {shortened(meant)} ({other[meant][0].origin.place})?",
                )
    covered = {*misspelt, *misspelt.values()}
    yield from _never_had(configuration, sides, covered)
    yield from _never_offered(sides, covered)
    yield from _one_sided(sides, covered)


class _Spellings:
    """The tags of one side, for finding similarly spelt tags of the other side."""

    def __init__(self, own: Mentions, other: Mentions) -> None:
        self.known = other
        self.folded: dict[str, str] = {}
        for each in other:
            self.folded.setdefault(_folded(each), each)
        self.alone = [each for each in other if each not in own]
        # Comparing all pairs takes minutes if both sides have thousands of tags.
        unknown = sum(1 for each in own if each not in other)
        self.compares = unknown * len(self.alone) <= _MOST_COMPARED

    def meant(self, tag: str) -> str:
        """Return the tag of the other side that this tag probably means, or ""."""
        if tag in self.known or len(tag) < _SHORTEST:
            return ""
        same = self.folded.get(_folded(tag), "")
        if same or not self.compares:
            return same
        near = difflib.get_close_matches(tag, self.alone, 1, _ALIKE)
        if near and re.sub(r"\d", "", near[0]) != re.sub(r"\d", "", tag):
            return near[0]
        return ""


def _folded(tag: str) -> str:
    return re.sub(r"[\s._-]", "", tag).lower()


def _never_had(
    configuration: Configuration, sides: Sides, covered: set[str]
) -> Iterator[LintFinding]:
    for entity in configuration.of_kind("destinations").values():
        if entity.abstract:
            continue
        for tag in entity.tpv_dest_tags.require:
            if tag in covered or sides.job_may_have(tag):
                continue
            text = entity.said.get(f"tags.{tag}", ())
            origin = text[0].origin if text else entity.origin
            yield LintFinding(
                "M402",
                origin.place,
                f"no job can go to destination {shortened(entity.id)}: it requires the tag "
                f"{shortened(tag)}, which no tool, role, user or rule has",
                f"Let jobs `accept` {shortened(tag)} that may go there, or only `prefer` it here",
            )


def _never_offered(sides: Sides, covered: set[str]) -> Iterator[LintFinding]:
    for tag, mentions in sides.jobs.items():
        if tag in covered or tag in sides.destinations:
            continue
        for mention in mentions:
            of_tool = mention.origin.kind == "tool" and not mention.origin.rule
            # required tags of tools are part of the coverage check
            if mention.strength == "require" and not of_tool:
                yield _not_offered(tag, mention)


def _not_offered(tag: str, mention: Mention) -> LintFinding:
    return LintFinding(
        "M404",
        mention.origin.place,
        f"{whose(mention.origin)} requires the tag {shortened(tag)}, which no destination has",
        f"Let a destination `accept` {shortened(tag)}",
    )


def _one_sided(sides: Sides, covered: set[str]) -> Iterator[LintFinding]:
    """Yield preferred or accepted tags that the other side lacks, which have little effect."""
    for own, other, words in (
        (sides.jobs, sides.destinations, "no destination has it"),
        (sides.destinations, sides.jobs, "no job has it"),
    ):
        for tag, mentions in own.items():
            mention = mentions[0]
            if tag in other or tag in covered or tag in sides.code or tag.startswith("tool_type_"):
                continue
            if _between_entities(mentions) if own is sides.jobs else sides.computed:
                continue
            if mention.strength in {"prefer", "accept"}:
                who = f"{whose(mention.origin)} {mention.strength}s the tag {shortened(tag)}"
                yield LintFinding("M411", mention.origin.place, f"{who}, but {words}", "", "note")


def _between_entities(mentions: list[Mention]) -> bool:
    """Whether a tag has several strengths among tools, roles and users, as a permission does."""
    return len({mention.strength for mention in mentions}) > 1
