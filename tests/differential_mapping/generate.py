"""Random mapping files and requests: a case is the same for the same seed, and needs no TPV.

Most configurations are sound and most requests are mapped, so that every step is reached; a case
has at most one deliberate mistake, which `Case.mistake` names. Source of what there is to
exercise: TPV 3.3's configuration format; nothing here needs a Galaxy object beyond tool.id,
tool.version, user, job parameters and the size of the inputs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import yaml

from tests.differential_mapping import snippets as s
from tests.differential_mapping.mistakes import MISTAKES

KINDS = ("tools", "roles", "users", "destinations")
NAMES = ("a.yml", "b.yml", "c.yml")
# Scalars that YAML 1.1 and 1.2 read differently; safe_dump would quote them.
PLAIN_SCALARS = ("0o17", "1e1", "yes", "on", "010", "1_0", "~", ".5", "0x10", "12:30", "+3", "4.")
_PLAIN = re.compile(r"'?@@(.*?)@@'?")
# A text must not depend on whether libyaml is there: the two differ in details.
_DUMPER = yaml.SafeDumper
Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """Files in the order in which they are merged, and what is asked of them."""

    seed: int
    files: dict[str, str]
    requests: tuple[Json, ...]
    mistake: str = ""


def case(seed: int) -> Case:
    """The case of a seed."""
    rng = Random(seed)
    documents, mistake = documents_of(rng)
    files = {
        name: yaml_text(document, rng) for name, document in zip(NAMES, documents, strict=False)
    }
    if mistake == "duplicate key":
        last = list(files)[-1]
        files[last] += "tools: {}\ntools: {}\n"
    return Case(seed, files, tuple(_request(rng) for _ in range(rng.randint(3, 6))), mistake)


def documents_of(rng: Random) -> tuple[list[Json], str]:
    """The contents of the files, and the mistake that was put into them."""
    documents = _Writer(rng).documents()
    if rng.random() >= 0.12:
        return documents, ""
    mistake = rng.choice(sorted(MISTAKES))
    MISTAKES[mistake](documents, rng)
    return documents, mistake


def yaml_text(document: Json, rng: Random) -> str:
    """YAML in block or mixed style. Text between @@ and @@ is written as it is."""
    flow = None if rng.random() < 0.1 else False
    text: str = yaml.dump(
        document,
        Dumper=_DUMPER,
        sort_keys=False,
        default_flow_style=flow,
        allow_unicode=True,
        width=1000,
    )
    return _PLAIN.sub(r"\1", text)


def _request(rng: Random) -> Json:
    user: Json | None = None
    if rng.random() < 0.85:
        roles = rng.sample(s.ROLE_NAMES, rng.choice((0, 0, 1, 1, 2, 3)))
        user = {"email": rng.choice(s.EMAILS), "roles": roles}
    return {
        "tool_id": rng.choice(s.TOOL_IDS if rng.random() < 0.3 else s.TOOL_IDS[:-2]),
        "user": user,
        "input_size": rng.choice((None, 0, 0.25, 1.5, 3, 4, 7.5, 20, 50)),
        "seed": rng.randrange(1000),
        "params": rng.choice(({}, {"mode": "fast"}, {"mode": "slow", "n": 2})),
    }


def _depth(name: str) -> tuple[bool, bool, str]:
    """Entities inherit only from what has less of this, whatever the file."""
    return name not in s.BASES, name != "default", name


class _Writer:
    """Writes the documents of one case from one source of randomness."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        # How much of this case is a plain constant, how often it is odd, how many tags it has.
        self.plain = rng.choice((0.3, 0.6, 0.9))
        self.odd = rng.choice((0.0, 0.0, 0.02, 0.06))
        self.tagged = rng.choice((0.2, 0.45, 0.7))
        self.earlier: dict[str, list[str]] = {kind: [] for kind in KINDS}

    def documents(self) -> list[Json]:
        """One to three files' contents."""
        count = self.rng.choice((1, 1, 1, 2, 2, 3))
        default = self.rng.choice(("default", "default", "default", "", "", "nowhere", "d1", ".*"))
        documents = [self.document(number, default) for number in range(count)]
        if self.chance(0.85):
            self.lay_ground(documents[0])
        if self.chance(0.6) or not any("destinations" in document for document in documents):
            self.open_a_way(documents[-1])
        if count > 1 and self.chance(0.3):
            documents[-1].setdefault("global", {})["default_inherits"] = "default"
        return documents

    def lay_ground(self, document: Json) -> None:
        """Sizes for all tools, so that most expressions find cores and mem defined."""
        tools = document.get("tools", {})
        ground = {"cores": self.number((1, 2, 4), s.CORES), "mem": self.number((2, 8), s.MEM)}
        merged = ground | tools.pop(".*", {})
        merged.pop("abstract", None)
        document["tools"] = {".*": merged, **tools}

    def open_a_way(self, document: Json) -> None:
        """A destination that takes nearly everything."""
        accepted = self.rng.sample(s.TAGS, self.rng.choice((3, 4, 4)))
        open_one: Json = {"runner": "local", "scheduling": {"accept": accepted}}
        self.put(open_one, "params", 0.5, self.params)
        self.put(open_one, "rules", 0.3, lambda: self.rules("destinations"))
        document.setdefault("destinations", {})["open"] = open_one

    def document(self, number: int, default: str) -> Json:
        """One file. Names for expressions are defined in the first, mostly."""
        document: Json = {}
        settings: Json = {}
        if default and (number == 0 or self.chance(0.3)):
            settings["default_inherits"] = default
        if number == 0 and self.chance(0.93):
            settings["context"] = {"factor": 2, "SIZE": 4, "_limit": 6, "label": "global"}
        elif self.chance(0.3):
            settings["context"] = self.context()
        if settings:
            document["global"] = settings
        sizes = {"tools": (1, 5), "roles": (0, 3), "users": (0, 3), "destinations": (1, 6)}
        for kind in self.rng.sample(KINDS, len(KINDS)):
            least, most = sizes[kind]
            if number and self.chance(0.4):
                continue
            entities = self.entities(kind, self.rng.randint(least, most), default)
            if entities:
                document[kind] = entities
        if self.chance(0.05):
            document["unknown_section"] = {"ignored": True}
        return document

    def entities(self, kind: str, count: int, default: str) -> Json:
        """Entities of one kind and file: perhaps a default, perhaps parents, then the others."""
        pool = {
            "tools": s.TOOL_KEYS,
            "roles": s.ROLE_KEYS,
            "users": s.USER_KEYS,
            "destinations": s.DESTINATION_KEYS,
        }[kind]
        names = self.rng.sample(pool, min(count, len(pool)))
        if self.chance(0.4):
            names.insert(0, self.rng.choice(s.BASES))
        if kind == "destinations" and self.chance(0.2):
            names.append(self.rng.choice(s.TOOL_KEYS))  # a key that looks like a pattern
        if default == "default" and self.chance(0.7 if kind in {"tools", "destinations"} else 0.25):
            names.insert(0 if self.chance(0.8) else len(names), "default")
        entities: Json = {}
        for name in names:
            entities[name] = self.entity(kind, name, self.earlier[kind] + list(entities))
        self.earlier[kind] += [name for name in entities if name not in self.earlier[kind]]
        return entities

    def entity(self, kind: str, name: str, parents: Sequence[str]) -> Json:
        """A tool, role, user or destination."""
        entity: Json = {}
        hidden = 0.9 if name == "default" or name in s.BASES else 0.02
        if self.chance(hidden):
            entity["abstract"] = self.rng.choice((True, True, True, "yes", "true", "on"))
        known = [each for each in parents if _depth(each) < _depth(name)]  # no cycles
        if known and self.chance(0.3):
            bases = [each for each in known if each in s.BASES]
            entity["inherits"] = self.rng.choice(bases or known)
        if kind == "destinations":
            self.destination(entity)
        self.common(entity, 0.6 if kind == "tools" else 0.2, kind)
        self.put(entity, "rules", 0.35, lambda: self.rules(kind))
        self.put(entity, "unknown", 0.03, lambda: "ignored")
        return self.shuffled(entity)

    def destination(self, entity: Json) -> None:
        """What only destinations have."""
        self.put(entity, "runner", 0.95, lambda: self.rng.choice(s.RUNNERS))
        offers: dict[str, tuple[float, ...]] = {
            "cores": (0, 1, 4, 8, 16, 32.5),
            "mem": (4, 16, 64, 256),
            "gpus": (0, 1, 4),
        }
        for name, values in offers.items():
            chance = 0.12 if name == "gpus" else 0.35
            self.put_one_of(entity, f"max_accepted_{name}", chance, values[-4:])
            self.put_one_of(entity, f"min_accepted_{name}", 0.08, values[:3])
        names = ("n-{cores}", "named", "{label}-x", "{entity.id}")
        self.put_one_of(entity, "destination_name_override", 0.12, names)
        tags: tuple[list[str], ...] = (["t1"], ["{cores}x", "plain"], [], ["{label}"])
        self.put_one_of(entity, "tags", 0.15, tags)

    def common(self, entity: Json, resources: float, kind: str) -> None:
        """What every kind of entity and every rule may have."""
        forced = 0.15 if kind == "destinations" else resources
        self.put_number(entity, "cores", forced, (1, 2, 4, 8, 16), s.CORES)
        self.put_number(entity, "mem", forced, (1, 4, 7.5, 16, 64), s.MEM)
        self.put_number(entity, "gpus", forced / 3, (0, 1, 2), s.GPUS)
        for name, chance in (("cores", 0.1), ("mem", 0.07), ("gpus", 0.04)):
            self.put_number(entity, f"min_{name}", chance, (0, 1, 2, 3, 8), s.MINIMA)
            self.put_number(entity, f"max_{name}", chance, (0, 1, 2, 4, 6, 32), s.MAXIMA)
        self.put(entity, "env", 0.25, self.env)
        self.put(entity, "params", 0.3, self.params)
        self.put(entity, "scheduling", self.tagged, self.tags)
        self.put(entity, "context", 0.25, lambda: self.context(kind))
        self.put(entity, "rank", 0.02 if kind == "destinations" else 0.1, self.rank)
        self.put(entity, "resubmit", 0.08, self.resubmit)

    def rules(self, kind: str) -> list[Json]:
        """One to three rules of an entity."""
        return [self.rule(kind) for _ in range(self.rng.choice((1, 1, 2, 3)))]

    def rule(self, kind: str) -> Json:
        """A rule: a condition, and properties, or code, or a refusal."""
        at_destination = kind == "destinations"
        rule: Json = {}
        self.put(rule, "id", 0.55, lambda: self.rng.choice(s.RULE_IDS))
        conditions: Sequence[str] = s.CONDITIONS
        if at_destination and self.chance(0.5):
            conditions = s.DESTINATION_CONDITIONS
        rule["if"] = self.odd_or(s.ODD_CONDITIONS, conditions)
        if self.chance(0.4 if at_destination else 0.25):
            rule["if"] = self.rng.choice((True, True, True, False))
        what = self.rng.random()
        if what < 0.55 or self.chance(0.1):
            self.common(rule, 0.35, "rules")
        if 0.55 <= what < 0.85:
            rule["execute"] = self.odd_or(s.ODD_EXECUTES, s.EXECUTES)
            if at_destination and self.chance(0.6):
                asked = (s.NEXT_OR_FAIL, s.NEXT_OR_WAIT, s.NEXT_IF_LARGE)
                rule["execute"] = self.rng.choice(asked)
            elif not at_destination and self.chance(self.odd / 2):
                rule["execute"] = s.NEXT_OR_FAIL
        if what >= 0.85:
            rule["fail"] = self.odd_or(s.ODD_FAILS, s.FAILS)
        self.put(rule, "inherits", 0.03, lambda: "rule_a")
        return self.shuffled(rule)

    def number(self, constants: Sequence[float], code: Sequence[str]) -> Any:
        """A resource: a constant, a constant as text, or an expression."""
        if self.chance(self.odd / 4):
            return f"@@{self.rng.choice(PLAIN_SCALARS)}@@"
        if self.chance(self.odd):
            return self.rng.choice(s.ODD_CORES)
        if self.chance(self.plain):
            constant = self.rng.choice(constants)
            return str(constant) if self.chance(0.1) else constant
        return self.rng.choice(code)

    def tags(self) -> Any:
        """Each tag in one of the four lists; lists may be empty or null."""
        tags: Json = {}
        for tag in self.rng.sample(s.TAGS, self.rng.choice((1, 1, 2, 2, 3))):
            # require and reject exclude most destinations, so they are rarer
            strength = self.rng.choices(s.STRENGTHS, (2, 5, 7, 2))[0]
            tags.setdefault(strength, []).append(tag)
        if self.chance(0.04):
            tags.setdefault(self.rng.choice(s.STRENGTHS), None)
        return self.shuffled(tags)

    def context(self, kind: str = "") -> Json:
        """Some of the names that expressions use, with values of the types that they expect."""
        context: Json = {}
        for name in self.rng.sample(s.CONTEXT_NAMES, self.rng.randint(1, 2)):
            numbers = (1, 2, 3, 5)
            context[name] = self.rng.choice(("a", "b") if name == "label" else numbers)
        if kind == "destinations":
            self.put(context, "weight", 0.4, lambda: self.rng.randint(0, 5))
        if self.chance(self.odd):
            shadowed = self.rng.choice(("tool", "input_size", "entity", "cores", "helpers", "user"))
            context[shadowed] = self.rng.choice((3, "text"))
        self.put(context, "label", 0.05, lambda: "{cores} is not evaluated")
        return context

    def env(self) -> Any:
        """A map, or a list with names, files and commands."""
        names = self.rng.sample(("A", "B", "C"), self.rng.randint(1, 3))
        if self.chance(0.6):
            return {name: self.env_value() for name in names}
        entries = [{"name": name, "value": self.text()} for name in names]
        self.put_entry(entries, {"file": "/env/{label}.sh"})
        self.put_entry(entries, {"execute": "module load {tool.id}"})
        self.put_entry(entries, {"name": names[0], "value": "again"})
        return entries

    def put_entry(self, entries: list[dict[str, str]], entry: dict[str, str]) -> None:
        if self.chance(0.2):
            entries.insert(self.rng.randint(0, len(entries)), entry)

    def env_value(self) -> Any:
        return self.rng.choice(s.VALUES[:6]) if self.chance(0.2) else self.text()

    def params(self) -> Json:
        """Values of any type, nested, with names that entities share."""
        names = self.rng.sample(("a", "b", "native", "nested"), self.rng.randint(1, 3))
        return {
            name: self.rng.choice(s.VALUES) if self.chance(0.3) else self.text() for name in names
        }

    def text(self) -> str:
        return self.odd_or(s.ODD_TEXTS, s.TEXTS)

    def rank(self) -> str:
        return self.odd_or(s.ODD_RANKS, s.RANKS)

    def resubmit(self) -> Json:
        """Handlers by name."""
        handlers = {}
        for name in self.rng.sample(("with_more", "late", "always"), self.rng.randint(1, 2)):
            handler: Json = {"condition": self.rng.choice(("memory_limit_reached", "{label}-1"))}
            self.put(handler, "destination", 0.8, lambda: self.rng.choice(("d1", "tpv_{label}")))
            self.put(handler, "delay", 0.3, lambda: self.rng.choice((5, 0.5, "{cores}", None)))
            handlers[name] = handler
        return handlers

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def odd_or(self, odd: Sequence[str], usual: Sequence[str]) -> str:
        return self.rng.choice(odd if self.chance(self.odd) else usual)

    def put(self, into: Json, name: str, chance: float, make: Callable[[], Any]) -> None:
        if self.chance(chance):
            into[name] = make()

    def put_one_of(self, into: Json, name: str, chance: float, values: Sequence[Any]) -> None:
        if self.chance(chance):
            into[name] = self.rng.choice(values)

    def put_number(
        self, into: Json, name: str, chance: float, constants: Sequence[float], code: Sequence[str]
    ) -> None:
        if self.chance(chance):
            into[name] = self.number(constants, code)

    def shuffled(self, mapping: Json) -> Json:
        """The same map; now and then in another order, which must not matter."""
        if self.chance(0.8):
            return mapping
        return {name: mapping[name] for name in self.rng.sample(list(mapping), len(mapping))}
