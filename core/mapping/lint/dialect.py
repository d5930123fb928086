"""Find places where the dialect gives a file another meaning than its author may expect.

In dialect seed, these are words that come from TPV 3. In dialect tpv3, these are the pitfalls of
TPV (`tpv3`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from rowtui.core.mapping.code.expressions import number
from rowtui.core.mapping.code.snippets import CodeSnippet, unique_pieces
from rowtui.core.mapping.lint.findings import LintFinding, shortened, title, whose
from rowtui.core.mapping.model.configuration import Configuration, MappingFile
from rowtui.core.mapping.model.context import overridden
from rowtui.core.mapping.model.dialect import WORDS_OF_TPV3
from rowtui.core.mapping.model.entities import Destination, Entity, Rule
from rowtui.core.mapping.model.fields import AMOUNTS
from rowtui.core.mapping.model.origin import FilePosition, Said

_SHOWN_WORDS = 4
_TELLING = WORDS_OF_TPV3 - {"abstract"}  # `abstract` has the same meaning in both dialects

WORD_OF_FIELD = {"name_override": "destination_name_override", "handler_tags": "tags"}


def dialect_findings(configuration: Configuration) -> Iterator[LintFinding]:
    """Yield all findings M1xx."""
    if configuration.dialect.name == "seed":
        for file in configuration.files:
            yield from _words_of_tpv3(file)
    else:
        yield from tpv3_findings(configuration)


def _words_of_tpv3(file: MappingFile) -> Iterator[LintFinding]:
    """Yield one note for a file that uses words of TPV 3."""
    found: dict[str, FilePosition] = {}
    for kind, entities in file.entities.items():
        for entity in entities.values():
            if kind == "pools":
                found.setdefault("pools", entity.place)
            for holder in (entity, *entity.rules.values()):
                for field, said in holder.said.items():
                    word = WORD_OF_FIELD.get(field, field)
                    if word in _TELLING and kind != "pools":
                        found.setdefault(word, said[0].origin.place)
    if not found:
        return
    words = list(found)
    shown = ", ".join(f"`{word}`" for word in words[:_SHOWN_WORDS])
    more = f" and {len(words) - _SHOWN_WORDS} more" if len(words) > _SHOWN_WORDS else ""
    hint = "They work here too, but in seed the lower of two amounts or upper bounds counts"
    if any("accepted" in word for word in words):
        hint += ", and cores, mem, gpus of a destination are its capacity as well"
    hint += (
        ". For the behaviour of TPV 3, write `dialect: tpv3` under `global:`; to keep the "
        "present behaviour, write `dialect: seed` there"
        if file.dialect is None
        else ". For the behaviour of TPV 3, write `dialect: tpv3` under `global:`"
    )
    yield LintFinding(
        "M101",
        min(found.values()),
        f"words of TPV 3 in a file that is read in dialect seed: {shown}{more}",
        hint,
        "note",
    )


def tpv3_findings(configuration: Configuration) -> Iterator[LintFinding]:
    """Yield M102 to M111."""
    for kind, entities in configuration.entities.items():
        for entity in entities.values():
            if isinstance(entity, Destination):
                yield from _destination(configuration, entity)
            yield from _bounds_of_zero(entity)
            for rule in entity.rules.values():
                yield from _rule(rule, of_destination=kind == "destinations")
                yield from _bounds_of_zero(rule)
            yield from _overridden(configuration, entity)
        as_tpv = configuration.dialect.text_as_tpv
        for piece in unique_pieces(entities.values(), text_as_tpv=as_tpv):
            yield from _code(piece)
    yield from _overridden_globals(configuration)
    yield from _raising_bounds(configuration)


def _destination(configuration: Configuration, entity: Destination) -> Iterator[LintFinding]:
    for name in AMOUNTS:
        value = getattr(entity, name)
        accepted = f"max_accepted_{name}"
        if value is None or number(value) == 0 or getattr(entity, accepted):
            continue
        yield LintFinding(
            "M102",
            entity.whence(name).place,
            f"`{name}` of {title(entity)} forces every job there to this value",
            f"For its capacity, write `{accepted}`; in dialect seed, `{name}` has that meaning",
            "error",
        )
    parent = configuration.of_kind("destinations").get(entity.inherits or "")
    if parent is None:
        return
    for field, word in WORD_OF_FIELD.items():
        if getattr(parent, field) and not getattr(entity, field):
            yield LintFinding(
                "M109",
                entity.whence("inherits").place,
                f"{title(entity)} does not inherit `{word}` of {title(parent)}",
                f"TPV does not inherit `{word}`: repeat `{word}` here",
            )


def _bounds_of_zero(entity: Entity) -> Iterator[LintFinding]:
    for name in AMOUNTS:
        field = f"max_{name}"
        value = getattr(entity, field)
        if value is not None and number(value) == 0:
            yield LintFinding(
                "M104",
                entity.whence(field).place,
                f"`{field}: 0` of {title(entity)} is ignored: TPV takes 0 for no bound",
                f"To forbid {name}, write `{name}: 0`, or a rule with `fail`",
            )


def _rule(rule: Rule, *, of_destination: bool) -> Iterator[LintFinding]:
    if rule.execute:
        lost = sorted(
            {field.partition(".")[0] for field in rule.said}
            - {"if_condition", "execute", "fail", "id", "inherits", "abstract"}
        )
        if lost:
            words = {"tags": "scheduling"}
            shown = ", ".join(f"`{words.get(field, field)}`" for field in lost)
            yield LintFinding(
                "M103",
                rule.whence("execute").place,
                f"{whose(rule.origin)} has `execute`, so TPV drops its {shown}",
                "Put them into a rule of their own with the same `if`, or set them in the code "
                "(`entity.cores = ...`)",
            )
    if rule.fail and of_destination:
        yield LintFinding(
            "M108",
            rule.whence("fail").place,
            f"`fail` in {whose(rule.origin)} fails the job: no other destination is tried",
            "To refuse only this destination: `execute: from tpv.core.entities import "
            "TryNextDestinationOrFail as No; raise No(...)`",
        )


def _code(piece: CodeSnippet) -> Iterator[LintFinding]:
    code = piece.code
    place = piece.origin.place
    looked = code.looks_at_its_names()
    if looked:
        message = f"`{looked}` in {piece.field} of {whose(piece.origin)} sees leftovers: "
        message += "TPV runs expressions twice in one namespace"
        if "input_size" not in code.text:
            message += ", and input_size is 0 in code that does not spell it"
        hint = "Read the name itself, with a default in `context` where it may be missing"
        yield LintFinding("M105", place, message, hint, "note")
    if "weighted_random_sampling" in code.text:
        where = f"{piece.field} of {whose(piece.origin)}"
        message = f"weighted sampling in {where} draws with replacement"
        hint = "Destinations may appear twice or not at all, so a job may not be tried everywhere"
        yield LintFinding("M107", place, message, hint, "note")
    if "tag_values_match" in code.text:
        where = f"{piece.field} of {whose(piece.origin)}"
        message = f"tag_values_match in {where} counts rejected tags"
        hint = "A tag that the job rejects is a match as well; ask `entity.tpv_tags` if it matters"
        yield LintFinding("M110", place, message, hint, "note")


def _overridden(configuration: Configuration, entity: Entity) -> Iterator[LintFinding]:
    for holder in (entity, *entity.rules.values()):
        for name in holder.context:
            chain = list(holder.said.get(f"context.{name}", ()))
            if holder is not entity:
                chain += entity.said.get(f"context.{name}", ())
            if name in configuration.context:
                chain.append(configuration.context[name])
            yield from _chain(name, chain)


def _overridden_globals(configuration: Configuration) -> Iterator[LintFinding]:
    parts: dict[str, list[Said]] = {}
    for file in configuration.files:
        for name, each in file.context.items():
            parts.setdefault(name, []).insert(0, each)
    for name, chain in parts.items():
        yield from _chain(name, chain)


def _chain(name: str, chain: list[Said]) -> Iterator[LintFinding]:
    for newer, older in pairwise(chain):
        complaint = overridden(name, newer, older)
        if complaint:
            message, hint = complaint
            hint = f"TPV does not prevent it; dialect seed does: {hint}"
            yield LintFinding("M106", newer.origin.place, message, hint)


def _raising_bounds(configuration: Configuration) -> Iterator[LintFinding]:
    """Yield upper bounds of users and roles that exceed a bound of a tool."""
    for name in AMOUNTS:
        field = f"max_{name}"
        of_tools = [
            (limit, tool)
            for tool in configuration.of_kind("tools").values()
            if (limit := number(getattr(tool, field))) and not tool.abstract
        ]
        if not of_tools:
            continue
        lowest, tool = min(of_tools, key=lambda each: each[0])
        for kind in ("roles", "users"):
            for entity in configuration.of_kind(kind).values():
                limit = number(getattr(entity, field))
                if limit and limit > lowest:
                    yield LintFinding(
                        "M111",
                        entity.whence(field).place,
                        f"`{field}` of {title(entity)} replaces a lower one, such as that of "
                        f"{shortened(tool.id)}",
                        "TPV takes the bound of the user over that of the tool, also upwards",
                        "note",
                    )
