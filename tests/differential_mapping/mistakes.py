"""One small mistake for a configuration: what people write wrong, and what is merely strange."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

Json = dict[str, Any]
Documents = list[Json]


def _pick(documents: Documents, kind: str, rng: Random) -> Json:
    """Some entity of a kind, made if there is none."""
    having = [document for document in documents if document.get(kind)]
    if not having:
        documents[-1][kind] = {".*": {}}
        having = [documents[-1]]
    entities: Json = rng.choice(having)[kind]
    entity: Json = entities[rng.choice(list(entities))]
    return entity


def _any_kind(rng: Random) -> str:
    return rng.choice(("tools", "tools", "roles", "users", "destinations"))


def _set(kind: str, name: str, *values: Any) -> Callable[[Documents, Random], None]:
    def change(documents: Documents, rng: Random) -> None:
        _pick(documents, kind or _any_kind(rng), rng)[name] = rng.choice(values)

    return change


def _add_rule(rule: Json) -> Callable[[Documents, Random], None]:
    def change(documents: Documents, rng: Random) -> None:
        _pick(documents, _any_kind(rng), rng).setdefault("rules", []).append(dict(rule))

    return change


def _require_against_reject(documents: Documents, rng: Random) -> None:
    last = documents[-1]
    last.setdefault("tools", {}).setdefault(".*", {})["scheduling"] = {"require": ["x"]}
    last.setdefault("users", {}).setdefault(".*", {})["scheduling"] = {"reject": ["x", "y"]}


def _cycle(documents: Documents, rng: Random) -> None:
    tools = documents[-1].setdefault("tools", {})
    tools["cycle_a"] = {"inherits": "cycle_b"}
    tools["cycle_b"] = {"inherits": "cycle_a"}


def _bad_pattern(documents: Documents, rng: Random) -> None:
    kind = rng.choice(("tools", "roles", "users"))
    documents[-1].setdefault(kind, {})[rng.choice(("bwa(", "*x", "[a"))] = {"cores": 1}


def _empty_entity(documents: Documents, rng: Random) -> None:
    documents[-1].setdefault(_any_kind(rng), {})["hisat2"] = None


def _parent_in_a_later_file(documents: Documents, rng: Random) -> None:
    documents.append({"tools": {"_later": {"abstract": True, "cores": 3}}})
    documents[0].setdefault("tools", {})["t"] = {"inherits": "_later"}


def _rules_as_a_map(documents: Documents, rng: Random) -> None:
    entity = _pick(documents, _any_kind(rng), rng)
    entity["rules"] = {"rule_a": {"if": True, "cores": 3}, "rule_b": {"if": "True", "mem": 5}}


def _shared_part(documents: Documents, rng: Random) -> None:
    params = {"shared": "{cores}", "list": [1, 2]}  # written with an anchor and an alias
    for kind in ("tools", "destinations"):
        _pick(documents, kind, rng)["params"] = params


def _nothing(documents: Documents, rng: Random) -> None:
    """The text is changed after it was written."""


MISTAKES: dict[str, Callable[[Documents, Random], None]] = {
    "unknown parent": _set("", "inherits", "nobody", "default_", ""),
    "cycle": _cycle,
    "parent in a later file": _parent_in_a_later_file,
    "duplicate tag": _set(
        "", "scheduling", {"require": ["x", "x"]}, {"prefer": ["y"], "reject": ["y"]}
    ),
    "unknown strength": _set("", "scheduling", {"requires": ["x"]}, {"require": "x"}, ["x"]),
    "syntax error": _set("", "cores", "4 +", "if True: 3", "x = 4", "é é"),
    "syntax error in rank": _set("tools", "rank", "sorted(", "x = 1"),
    "text that ends in a quote": _set("", "env", {"A": "it's 'x'"}),
    "unbalanced brace": _set("", "params", {"a": "{cores"}, {"a": "}"}, {"a": "{}"}),
    "wrong type": _set("", "mem", [1], {"a": 1}, "@@2020-01-01@@"),
    "wrong params": _set("", "params", ["a"], "text", 3),
    "wrong env": _set("", "env", [{"name": "A", "value": 5}], ["A=1"], "A=1"),
    "wrong context": _set("", "context", ["a"], "text"),
    "no value": _set("", "context", None),
    "no values": _set("", "params", None),
    "no rules": _set("", "rules", None, [], {}),
    "wrong accepted": _set("destinations", "max_accepted_cores", "2*4", "x", "8", True),
    "rule without if": _add_rule({"id": "rule_a", "cores": 2}),
    "rule with an empty if": _add_rule({"if": None, "cores": 2}),
    "rule with a number as id": _add_rule({"id": 5, "if": True, "cores": 2}),
    "rule with a number as if": _add_rule({"if": 1, "cores": 2}),
    "rule with a syntax error": _add_rule({"if": True, "cores": "2 +"}),
    "rule with a duplicate tag": _add_rule({"if": True, "scheduling": {"accept": ["z", "z"]}}),
    "rule of text": _set("", "rules", ["if: True"], "text"),
    "rules as a map": _rules_as_a_map,
    "require against reject": _require_against_reject,
    "bad pattern": _bad_pattern,
    "empty entity": _empty_entity,
    "duplicate key": _nothing,
    "shared part": _shared_part,
    "abstract text": _set("", "abstract", "no", "off", "maybe", 1, 0, None),
    "id inside": _set("", "id", "other", 7),
    "wrong resubmit": _set("", "resubmit", {"h": ["x"]}, {"h": {"condition": [1]}}, None),
    "wrong handler tags": _set("destinations", "tags", "text", None, [1]),
}
