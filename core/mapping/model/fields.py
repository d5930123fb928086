"""The properties of entities, in one table.

Parsing, the check for unknown keys, the JSON schema for editors and the formatter all read this
table; a new property is one line here. A shape defines the values that may be written (`shapes`);
`attribute` is the name in `entities`. Source: TPV's documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

Shape = Literal[
    "amount",  # a number, or an expression as text
    "number",  # a number, or text of a number
    "text",
    "code",  # text whose lines errors refer to
    "condition",  # code, or true or false
    "flag",  # true or false, or the words that TPV accepts for them
    "boolean",
    "variables",  # a map of any values whose keys are names in expressions
    "params",  # a map of any values
    "env",
    "handlers",  # a map of maps of single values
    "tags",
    "texts",
    "oversize",
    "rules",
    "label",  # the id of a rule
    "ignored",
]

SECTIONS = ("tools", "roles", "users", "destinations", "pools")
HOLDERS = (*SECTIONS, "rules")
"""Everything that has properties: the sections with entities, and the rules inside them."""

SINGULAR: Mapping[str, str] = {name: name.removesuffix("s") for name in HOLDERS}
UNKNOWN_KEY = "T104"
"""The code of the lint message for a key that nothing reads, as in TPV."""


AMOUNTS = ("gpus", "cores", "mem")  # in the order of evaluation
BOUNDS = tuple(f"{bound}_{what}" for bound in ("min", "max") for what in AMOUNTS)
BUDGETS = tuple(f"max_concurrent_{what}" for what in AMOUNTS)
ACCEPTED = tuple(f"{bound}_accepted_{what}" for what in AMOUNTS for bound in ("max", "min"))


class EntityField(NamedTuple):
    """One property. `holders`: the kinds that may have it; `attribute`: its name on an entity."""

    name: str
    shape: Shape
    description: str
    holders: tuple[str, ...] = HOLDERS
    attribute: str = ""


_RULED = SECTIONS
_RULE = ("rules",)
_DESTINATION = ("destinations",)
_POOL = ("pools",)
_JOBS = ("tools", "roles", "users", "rules")
_OFFERS = ("destinations", "pools")

_UNITS = {"gpus": "GPUs", "cores": "CPU cores", "mem": "memory in GB"}


def _amounts() -> tuple[EntityField, ...]:
    return (
        *(
            EntityField(what, "amount", f"{unit}: a number or an expression")
            for what, unit in _UNITS.items()
        ),
        *(
            EntityField(
                f"{bound}_{what}", "amount", f"the {word} {unit}: a number or an expression"
            )
            for bound, word in (("min", "least"), ("max", "most"))
            for what, unit in _UNITS.items()
        ),
        *(
            EntityField(
                f"max_concurrent_{what}",
                "number",
                f"the most {unit} that one user may hold at once in a pool",
            )
            for what, unit in _UNITS.items()
        ),
    )


def _accepted() -> tuple[EntityField, ...]:
    return tuple(
        EntityField(
            f"{bound}_accepted_{what}",
            "number",
            f"the {word} {unit} of a job that may go here, inclusive",
            _DESTINATION,
        )
        for what, unit in _UNITS.items()
        for bound, word in (("max", "most"), ("min", "least"))
    )


# The formatter writes properties in this order down to `scheduling`, then the rest, then `rules`.
FIELDS: tuple[EntityField, ...] = (
    EntityField("id", "ignored", "ignored: the key above is the id", SECTIONS),
    EntityField("id", "label", "by which a rule of the same id replaces it", _RULE),
    EntityField("inherits", "text", "the id of one entity of the same kind to start from"),
    EntityField("abstract", "flag", "whether it is only there to be inherited from"),
    EntityField(
        "if", "condition", "an expression; the rule applies if it is true", _RULE, "if_condition"
    ),
    EntityField("context", "variables", "variables for expressions, by name; not evaluated"),
    *_amounts(),
    EntityField("env", "env", "environment variables: a map, or a list of name and value"),
    EntityField("params", "params", "parameters of the destination; {expressions} in text"),
    EntityField(
        "scheduling", "tags", "the tags it requires, prefers, accepts, rejects", _JOBS, "tpv_tags"
    ),
    EntityField(
        "scheduling", "tags", "the tags it offers to jobs or selects", _OFFERS, "tpv_dest_tags"
    ),
    EntityField("runner", "text", "the cluster whose partition this is", _DESTINATION),
    EntityField(
        "destination_name_override",
        "text",
        "the destination's name at the scheduler; {expressions} allowed",
        _DESTINATION,
        "name_override",
    ),
    *_accepted(),
    EntityField("tags", "texts", "tags of job handlers", _DESTINATION, "handler_tags"),
    EntityField("oversize", "oversize", "the treatment of jobs larger than the pool", _POOL),
    EntityField("fail_open", "boolean", "whether jobs run while the pool cannot be asked", _POOL),
    EntityField("rank", "code", "an expression: the destinations to try, in order"),
    EntityField("resubmit", "handlers", "by name: when and where to send a failed job again"),
    EntityField("execute", "code", "statements to run if the rule applies", _RULE),
    EntityField("fail", "code", "why a job to which the rule applies cannot run", _RULE),
    EntityField("rules", "rules", "changes under conditions, in order", _RULED),
)


def fields_of(holder: str) -> dict[str, EntityField]:
    """Return the properties of a section's entities (or of "rules") by name, in order."""
    return {
        field.name: field if field.attribute else field._replace(attribute=field.name)
        for field in FIELDS
        if holder in field.holders
    }


FIELDS_OF: Mapping[str, Mapping[str, EntityField]] = {name: fields_of(name) for name in HOLDERS}

GLOBALS: Mapping[str, str] = {
    "dialect": "`seed` (the texts of TPV 1.x, the default) or `tpv3` (TPV 3)",
    "default_inherits": "the id of the entity that lies underneath all others of its kind",
    "context": "variables for all expressions, by name; not evaluated",
    "include": "other mapping files, loaded before this one",
    "resource_pool_store": "where TPV keeps the content of its resource pools",
}
TOP_LEVEL: Mapping[str, str] = {
    "global": "settings of the whole file",
    "tools": "actions, by a regular expression that their names begin with",
    "roles": "groups of users, by a regular expression",
    "users": "users, by a regular expression",
    "destinations": "places where jobs may go, by id",
    "pools": "how much one user may hold at once, by id",
}
OVERSIZE: Mapping[str, str] = {
    "max_concurrent": "how many jobs larger than the pool one user may have at once",
    "hard_max_cores": "the most CPU cores of such a job",
    "hard_max_mem": "the most memory in GB of such a job",
    "hard_max_gpus": "the most GPUs of such a job",
    "reserve_pool": "whether such a job takes the whole pool",
}
ENV_FORMS: Mapping[str, str] = {
    "name": "the name of a variable",
    "value": "its value; {expressions} allowed",
    "file": "a file to source",
    "execute": "a command to run",
}


def env_key(entry: Mapping[str, Any]) -> str:
    """Return the key of an entry of env: its variable, or the whole entry."""
    return str(entry["name"]) if "name" in entry else repr(sorted(entry.items()))


def merge_env(under: list[dict[str, Any]], upper: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Replace entries of the same name (or equal entries) in place, and append the others."""
    if not upper or not under:
        return upper or under
    left = list(upper)
    merged = []
    for entry in under:
        for at, mine in enumerate(left):
            if ("name" in mine and entry.get("name") == mine["name"]) or entry == mine:
                merged.append(left.pop(at))
                break
        else:
            merged.append(entry)
    return merged + left
