"""Find attributes that expressions read and that are missing or always empty.

The input is compiled code, which is not run. An object has the attributes of its class in rowtui,
and the attributes that some code of the configuration sets.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rowtui.core.mapping.code.model import Code
from rowtui.core.mapping.code.snippets import CodeSnippet, syntax_of
from rowtui.core.mapping.engine.helper_functions import HELPERS
from rowtui.core.mapping.galaxy.objects import (
    App,
    GalaxyHistory,
    GalaxyJob,
    GalaxyTool,
    GalaxyUser,
    JobWrapper,
    ShownMapper,
)
from rowtui.core.mapping.lint.findings import LintFinding, Severity, shortened, whose
from rowtui.core.mapping.model.entities import Destination, Entity, Role, Tool, User
from rowtui.core.mapping.model.tags import SchedulingTags
from rowtui.core.workflow.toml_file import did_you_mean


class _Kind(NamedTuple):
    """The attributes of an object, and the kinds of the attributes that are objects themselves."""

    names: frozenset[str]
    inner: Mapping[str, _Kind] = {}
    of_galaxy: bool = False


def _names_of(*kinds: type, also: object = None) -> frozenset[str]:
    found = {name for kind in kinds for name in dir(kind)}
    return frozenset(found | (vars(also).keys() if also is not None else set()))


def _of_entities(*kinds: type[Entity]) -> _Kind:
    names = frozenset[str]().union(*(_names_of(kind, also=kind("")) for kind in kinds))
    data = {name: _Kind(_names_of(dict)) for name in ("params", "context", "resubmit", "rules")}
    tags = _Kind(_names_of(SchedulingTags))
    return _Kind(names, {**data, "tpv_tags": tags, "tpv_dest_tags": tags})


_DESTINATION = _of_entities(Destination)
_ENTITY = _of_entities(Tool, Role, User, Destination)
_OBJECTS: Mapping[str, _Kind] = {
    "entity": _ENTITY,
    "self": _ENTITY,
    "tool": _Kind(_names_of(GalaxyTool), of_galaxy=True),
    "action": _Kind(_names_of(GalaxyTool), of_galaxy=True),
    "user": _Kind(_names_of(GalaxyUser), of_galaxy=True),
    "job": _Kind(
        _names_of(GalaxyJob), {"history": _Kind(_names_of(GalaxyHistory), {}, True)}, True
    ),
    "app": _Kind(_names_of(App), of_galaxy=True),
    "job_wrapper": _Kind(_names_of(JobWrapper), of_galaxy=True),
    "mapper": _Kind(_names_of(ShownMapper)),
    "helpers": _Kind(frozenset(HELPERS | set(dir(object)))),
}
_CANDIDATES = "candidate_destinations"
# Galaxy fills these attributes; the jobs of a workflow have no values for them.
_EMPTY = {
    "job.history": "history tags",
    "job.input_datasets": "datasets",
    "user.extra_preferences": "preferences of a user",
}
_GUARDS = ("hasattr", "getattr", "except")


class MissingAttribute(NamedTuple):
    """An attribute that an object lacks (`hint`: a similar name), or that is always empty."""

    name: str
    at: tuple[int, int]
    hint: str
    lacking: str = ""


def attribute_findings(
    piece: CodeSnippet, hidden: frozenset[str], stored: frozenset[str], *, as_tpv: bool
) -> Iterator[LintFinding]:
    """Yield M506 and M507, for code without a syntax error.

    `hidden`: names that are no objects here; `stored`: attributes that code sets.
    """
    if "." not in piece.code.text and _CANDIDATES not in piece.code.names:
        return
    for name, at, hint, lacking in _missing(piece.code, as_tpv=as_tpv):
        root, _, last = name.rpartition(".")
        if root.partition(".")[0] in hidden or last in stored:
            continue
        where = f"`{piece.field}` of {whose(piece.origin)}"
        place = piece.place_of(at)
        if lacking:
            message = f"{where} reads `{name}`, which is always empty: rowtui has no {lacking}"
            advice = "TPV may answer otherwise; decide by `values`, `directories` or `roles` here"
            yield LintFinding("M507", place, message, advice)
            continue
        guarded = any(word in piece.code.text for word in _GUARDS)
        severity: Severity = "warning" if guarded else "error"
        message = f"{where} reads {shortened(name)}, which rowtui does not have"
        yield LintFinding("M506", place, message, hint, severity)


def stored_attributes(code: Code, *, as_tpv: bool) -> Iterator[str]:
    """Yield the attributes that a code sets on some object."""
    for node in ast.walk(syntax_of(code, as_tpv=as_tpv)[0]):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield node.attr
        elif isinstance(node, ast.Call) and path_of(node.func) == ["setattr"]:
            for each in node.args[1:2]:
                if isinstance(each, ast.Constant) and isinstance(each.value, str):
                    yield each.value


def _missing(code: Code, *, as_tpv: bool) -> Iterator[MissingAttribute]:
    tree, source = syntax_of(code, as_tpv=as_tpv)
    objects = {**_OBJECTS, **dict.fromkeys(_candidates(tree), _DESTINATION)}
    for name in _bound_names(tree):
        if objects.get(name) is not _DESTINATION:
            objects.pop(name, None)
    seen: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        path = path_of(node)
        if path is None or path[0] not in objects:
            continue
        found = _first_missing(path, objects[path[0]])
        if found is None or found[0] in seen:
            continue
        seen.add(found[0])
        at = source.position_of_node(node.lineno, node.col_offset + 1)
        yield MissingAttribute(found[0], at, found[1], found[2])


def _first_missing(path: list[str], kind: _Kind) -> tuple[str, str, str] | None:
    known: _Kind | None = kind
    for depth, name in enumerate(path[1:], 2):
        if known is None:
            return None
        dotted = ".".join(path[:depth])
        if name not in known.names:
            usual = [each for each in known.names if not each.startswith("_")]
            of_galaxy = "This is part of Galaxy; docs/mapping.md lists the names for expressions"
            hint = did_you_mean(name, usual)
            return dotted, hint or (of_galaxy if known.of_galaxy else ""), ""
        if dotted in _EMPTY:
            return dotted, "", _EMPTY[dotted]
        known = known.inner.get(name)
    return None


def _candidates(tree: ast.Module) -> Iterator[str]:
    """Yield names of a single candidate destination: parameters of lambdas, and loop variables."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.comprehension, ast.For)):
            if path_of(node.iter) == [_CANDIDATES] and isinstance(node.target, ast.Name):
                yield node.target.id
        elif isinstance(node, ast.Call) and node.args and path_of(node.args[0]) == [_CANDIDATES]:
            for keyword in node.keywords:
                if isinstance(keyword.value, ast.Lambda):
                    yield from (each.arg for each in keyword.value.args.args[:1])


def _bound_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names that the code itself assigns."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]


def path_of(node: ast.expr) -> list[str] | None:
    """Return ["a", "b", "c"] for a.b.c, and None for any other node."""
    steps: list[str] = []
    while isinstance(node, ast.Attribute):
        steps.append(node.attr)
        node = node.value
    return [node.id, *reversed(steps)] if isinstance(node, ast.Name) else None
