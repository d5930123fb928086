"""Find missing or ineffective properties: defaults, memory, runners, unused abstract entities."""

from __future__ import annotations

from collections.abc import Iterator

from rowtui.core.mapping.code.expressions import number
from rowtui.core.mapping.engine.lookup import EntityLookup
from rowtui.core.mapping.lint.findings import LintFinding, shortened, title, whose
from rowtui.core.mapping.model.configuration import KIND_NAMES, Configuration
from rowtui.core.mapping.model.entities import Destination, Entity
from rowtui.core.mapping.model.fields import AMOUNTS


def entity_findings(configuration: Configuration, *, clusters_known: bool) -> Iterator[LintFinding]:
    """Yield T101, T102, M206, M207, M305, M401, M406, M410.

    `clusters_known`: the configuration is used for jobs here, and is not a file checked on its own.
    """
    yield from _defaults(configuration)
    yield from _cores_alone(configuration)
    for kind, entities in configuration.entities.items():
        for entity in entities.values():
            yield from _without_effect(kind, entity)
    yield from _runners(configuration, clusters_known)
    yield from _bounds(configuration)
    yield from _unused(configuration)


def _defaults(configuration: Configuration) -> Iterator[LintFinding]:
    name = configuration.default_inherits or ""
    is_seed = configuration.dialect.own_amounts_are_capacity
    for kind in ("tools", "destinations"):
        entity = configuration.of_kind(kind).get(name)
        if entity is not None and not entity.abstract:
            effect = "jobs may be sent there" if kind == "destinations" else "it matches as well"
            yield LintFinding(
                "T101",
                entity.place,
                f"all {kind} inherit from {title(entity)}, which is not abstract: {effect}",
                "Write `abstract: true` into it if it is only there to inherit from",
                "note" if is_seed else "warning",
            )
    yield from _no_default(configuration)
    roles = configuration.of_kind("roles")
    if name in roles and len(roles) > 1:
        yield LintFinding(
            "M206",
            roles[name].place,
            f"every role matches {title(roles[name])}, so only the first role of a user counts",
            "Roles are tried in the user's order until one matches. Give the defaults of roles "
            "another id, and let the others inherit from it",
        )


def _no_default(configuration: Configuration) -> Iterator[LintFinding]:
    """Yield entities called `default` that nothing inherits because `default_inherits` is unset."""
    name = configuration.default_inherits
    kinds = [configuration.of_kind(kind) for kind in KIND_NAMES]
    if not name:
        for kind, entities in zip(KIND_NAMES, kinds, strict=True):
            entity = entities.get("default")
            if entity is not None and all(each.inherits != "default" for each in entities.values()):
                yield LintFinding(
                    "M207",
                    entity.place,
                    f"nothing inherits from {title(entity)}: it is only matched by its name",
                    f"For all {kind} to inherit from it, write `default_inherits: default` under "
                    "`global:`",
                )


def _cores_alone(configuration: Configuration) -> Iterator[LintFinding]:
    """Yield tools with cores and without mem, after merging and with the defaults."""
    default = configuration.of_kind("tools").get(configuration.default_inherits or "")
    if default is not None and default.mem is not None:
        return
    for tool in configuration.of_kind("tools").values():
        if tool.cores is None or number(tool.cores) == 0 or tool.mem is not None:
            continue
        yield LintFinding(
            "T102",
            tool.whence("cores").place,
            f"{title(tool)} sets cores, but no mem",
            "Memory is usually meant to grow with the cores: for example `mem: cores * 4`",
        )


def _without_effect(kind: str, entity: Entity) -> Iterator[LintFinding]:
    if kind == "destinations" and entity.rank:
        yield LintFinding(
            "M305",
            entity.whence("rank").place,
            f"`rank` of {title(entity)} has no effect: destinations are ranked before any is tried",
            "Put it into a tool, a role or a user, or into the default tool",
        )
    for rule in entity.rules.values():
        for field in ("inherits", "abstract"):
            if field in rule.said:
                yield LintFinding(
                    "M305",
                    rule.whence(field).place,
                    f"`{field}` of {whose(rule.origin)} has no effect",
                    "Only whole entities inherit; a rule changes the entity that contains it",
                )
        fields = [field for field in rule.said if field.startswith("tags.")]
        if kind == "destinations" and fields:
            yield LintFinding(
                "M305",
                rule.whence(fields[0]).place,
                f"`scheduling` of {whose(rule.origin)} has no effect",
                "Tags are matched before the rules of a destination run",
            )
        if kind == "destinations" and "rank" in rule.said:
            yield LintFinding(
                "M305",
                rule.whence("rank").place,
                f"`rank` of {whose(rule.origin)} has no effect",
                "Destinations are ranked before any is tried",
            )


def _runners(configuration: Configuration, clusters_known: bool) -> Iterator[LintFinding]:
    destinations = configuration.of_kind("destinations")
    default = destinations.get(configuration.default_inherits or "")
    if default is not None and default.runner:
        return
    without = [each for each in destinations.values() if not each.runner and not each.abstract]
    is_seed = configuration.dialect.own_amounts_are_capacity
    if is_seed and not any(each.runner for each in destinations.values()):
        without = without[:1]  # as in the texts of TPV 1, where runners are defined elsewhere
    for entity in without:
        yield LintFinding(
            "M401",
            entity.place,
            f"{title(entity)} has no `runner`: its cluster is undefined",
            "Write `runner:` and the name of a cluster",
            "error" if not is_seed else "warning" if clusters_known else "note",
        )


def _bounds(configuration: Configuration) -> Iterator[LintFinding]:
    usable = {
        name: each
        for name, each in configuration.of_kind("destinations").items()
        if ("destinations", name) not in configuration.broken
    }
    alone = configuration._replace(entities={"destinations": usable})
    for whole in EntityLookup(alone).destinations():
        if not whole.abstract:
            yield from _contradictions(whole)


def _contradictions(whole: Destination) -> Iterator[LintFinding]:
    for name in AMOUNTS:
        most = getattr(whole, f"max_accepted_{name}")
        least = getattr(whole, f"min_accepted_{name}")
        if most is not None and least is not None and least > most:
            yield LintFinding(
                "M406",
                whole.whence(f"min_accepted_{name}").place,
                f"{title(whole)} takes no job with {name}: at least {least:g}, at most {most:g}",
            )


def _unused(configuration: Configuration) -> Iterator[LintFinding]:
    for kind, entities in configuration.entities.items():
        parents = {
            entity.inherits
            for each in (entities, *(file.entities.get(kind, {}) for file in configuration.files))
            for entity in each.values()
        }
        for entity in entities.values():
            if not entity.abstract or entity.id in parents:
                continue
            if entity.id == configuration.default_inherits:
                continue
            effect = "it is unused"
            if kind in {"tools", "roles", "users"}:
                effect = "jobs whose name it matches fail"
            yield LintFinding(
                "M410",
                entity.place,
                f"{title(entity)} is abstract, and nothing inherits from it: {effect}",
                f"Remove it, or write `inherits: {shortened(entity.id)[1:-1]}` where it is meant",
                "note",
            )
