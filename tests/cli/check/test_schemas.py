"""A file's schema and its loader are made from one declaration, and accept the same documents.

The documents are drawn from the schema, and many of them are damaged at one place. The loader may
refuse more than the schema for the rules of docs/check.md alone, which are listed here with the
messages that they lead to.
"""

from __future__ import annotations

import json
import re
from datetime import date
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from rowtui.cli.check.check import problems_of
from rowtui.cli.check.files import schema_of

ROOT = Path(__file__).parents[3]
FILES = {
    "workflow": "workflow.toml",
    "network": "network.toml",
    "rowtui": "rowtui.toml",
    "mirror": "mirror.toml",
    "clusters": "rowtui/clusters.toml",
    "row-clusters": "row/clusters.toml",
    "launchers": "row/launchers.toml",
    "messages": "rowtui/messages.toml",
    "keys": "rowtui/keys.toml",
    "commands": "rowtui/commands.toml",
    "theme": "rowtui/themes/own.toml",
}
RULES: dict[str, tuple[str, ...]] = {
    "A name has to exist: of an action, node, source, sink, dimension, cluster, scheduler, "
    "partition or plug-in.": (
        r"is not in this file",
        r"is recursive",
        r"there is no (node|source|action|dimension|file)",
        r"names no sink",
        r"no cluster is called",
        r"`scheduler` cannot be",
        r"has no partition",
        r"is no dimension of this source",
        r"has no dimension",
    ),
    "Two things of one kind have different names, and two actions or commands different keys.": (
        r"is called '.*', too",
        r"^duplicate actions",
        r"another channel is called",
        r"there are two node types",
        r"`local` repeats",
        r"is there (already|twice)",
        r"has the dimension '.*' twice",
        r"is wanted twice",
        r"belongs to",
    ),
    "A name, a path, a pattern, a key, a colour or an address has the form that its place needs.": (
        r"is not a plain word",
        r"is empty",
        r"is reserved",
        r"has a NUL character",
        r"has control characters",
        r"is not a JSON pointer",
        r"(path|output|product) '.*' (of action .* )?(is|has|leads|names|would)",
        r"cannot be used: ",
        r"has `\*\*` beside",
        r"pattern '.*' is ",
        r"is not the name of a file",
        r"is not an absolute path",
        r"`mirror` cannot be",
        r"name of (the|a) (host|user)",
        r"is no address",
        r"must begin with https",
        r"no user and no password",
        r"is no key",
        r"is no file of a directory",
        r"is not a colour",
        r"colours are ansi_red",
    ),
    "A text is a time or an amount, and neither too small nor too large.": (
        r"is not usable: ",
        r"is no (time|amount|number)",
        r"too short for any job",
        r"`(local_disk|memory|boot_time|maximum_walltime|longest)` (cannot be|is .* but must be)",
        r"must be between 0 and 7 days",
    ),
    "A command and a template can be filled in.": (
        r"the command has",
        r"`publish` ",
        r"\{",
    ),
    "An action has a name and a command, of its own, from another action or by default, and asks "
    "for more than nothing.": (
        r"is missing `(name|command)`$",
        r"`maximum_size` is 0",
        r"asks for 0 processes",
        r"waits for itself",
        r"`value_file` is not set",
        r"a table or date cannot be compared",
    ),
    "A cluster is described in full once, and its node types have prices for all or for none.": (
        r"^the cluster is missing",
        r"node types? ha(s|ve) no `price_per_hour`",
        r"cannot be reached over SSH",
        r"reads only one file",
        r"has a second `ssh`",
    ),
    "Keys of one table go together.": (
        r"needs `host`",
        r"stands on a node only where",
        r"only over an encrypted connection",
        r"a rule with `continue` has no",
    ),
    "A network is complete, and the dimensions of its samples fit together.": (
        r"^(the )?(node|sink)( '.*'|:)",
        r"wait for each other",
        r"differ only in letter case",
        r"makes .* (samples|values)",
        r"execution is 'pilot'",
        r"priority cannot be",
        r"must be a JSON value",
        r"cannot have .* different values",
        r"must be greater than 0",
        r"step (is too small|of)",
        r"are in the groups",
        r"^source '.*' has no data",
        r"a network (cannot contain itself|is called)",
        r"belongs in .*, to one of its nodes",
        r"`select` of .* takes no value",
    ),
    "A number without a fraction is written without a point where an integer is wanted.": (
        r"must be an integer, not a float",
        r"must be .*, not a float",
    ),
}
SCHEMA_ALONE: tuple[str, ...] = ("unknown key .* is ignored",)

_WORDS = (
    *("a", "b", "s", "red", "f5", "01:00:00") * 3,
    *("", "x y", "64G", "a.out", "/x", "x {directory}", "2x", "f6", "#123456"),
)
_JUNK = st.one_of(
    st.sampled_from((*_WORDS, "\n", "slurm", "red", "auto", "own")),
    st.sampled_from((-1, 0, 1, 3, 2**40, 2**62)),
    st.sampled_from((0.5, -0.5, 2.5, 1e300)),
    st.booleans(),
    st.sampled_from(([], {}, ["a"], [["a"]], [1, 2, 3], {"a": 1}, [{}], {"a": {}})),
    st.just(date(2026, 1, 1)),
)


def documents(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that mostly fit a schema. Knows the words that our schemas use."""
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema and schema.get("type") != "object":
        shared = {word: rule for word, rule in schema.items() if word != "anyOf"}
        return st.one_of([documents(shared | each) for each in schema["anyOf"]])
    match schema.get("type"):
        case "object":
            return _objects(schema)
        case "array":
            return _arrays(schema)
        case "string":
            if "pattern" in schema:
                return matching(schema["pattern"])
            return st.sampled_from(_WORDS)
        case "integer":
            least = schema.get("minimum", -(2**40))
            return st.integers(least, min(schema.get("maximum", 2**40), least + 2**40))
        case "number":
            least = schema.get("minimum", schema.get("exclusiveMinimum", -1000))
            most = schema.get("maximum", 1000)
            return st.floats(least, most, allow_nan=False) | st.integers(
                int(least) + 1, max(int(least) + 1, int(most))
            )
        case "boolean":
            return st.booleans()
    return _JUNK


@cache
def matching(pattern: str) -> st.SearchStrategy[str]:
    return st.from_regex(re.compile(pattern, re.ASCII)).filter(_is_plain)


def _is_plain(text: str) -> bool:
    return all(" " <= char <= "~" for char in text)


def _objects(schema: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    # keys.toml has some hundred keys of one form, and a strategy for each takes seconds
    properties = dict(islice(schema.get("properties", {}).items(), 40))
    named = {name: documents(each) for name, each in properties.items()}
    forced: list[list[str]] = [
        each.get("required", []) for word in ("oneOf", "anyOf") for each in schema.get(word, ())
    ] or [[]]

    @st.composite
    def made(draw: st.DrawFn) -> dict[str, Any]:
        if schema.get("maxProperties") == 1:
            names = [draw(st.sampled_from([*named]))]
        else:
            needed = [*schema.get("required", ()), *draw(st.sampled_from(forced))]
            some = draw(st.lists(st.sampled_from([*named]), max_size=4)) if named else []
            names = list(dict.fromkeys([*needed, *some]))
        value = {name: draw(named[name]) for name in names}
        others = schema.get("additionalProperties", {})
        if isinstance(others, dict):
            for name in draw(st.lists(st.sampled_from(("a", "b c", "s")), max_size=2)):
                value[name] = draw(documents(others))
        return value

    return made()


def _arrays(schema: dict[str, Any]) -> st.SearchStrategy[list[Any]]:
    least = schema.get("minItems", 0)
    most = min(schema.get("maxItems", least + 2), least + 2)
    if first := [documents(each) for each in schema.get("prefixItems", ())]:
        rest = st.lists(documents(schema.get("items", {})), min_size=max(0, least - len(first)),
                        max_size=max(0, most - len(first)))  # fmt: skip
        return st.tuples(st.tuples(*first), rest).map(lambda both: [*both[0], *both[1]])
    return st.lists(documents(schema.get("items", {})), min_size=least, max_size=most)


@st.composite
def damaged(draw: st.DrawFn, good: st.SearchStrategy[Any]) -> Any:
    """A document with one change at some place, or without."""
    value = draw(good)
    if draw(st.booleans()):
        return value
    holder: Any = value
    while holder:
        key = draw(st.sampled_from([*range(len(holder))] if type(holder) is list else [*holder]))
        inner = holder[key]
        if isinstance(inner, (dict, list)) and inner and draw(st.integers(0, 3)):
            holder = inner
            continue
        how = draw(st.sampled_from(("replace", "remove", "add")))
        if how == "replace":
            holder[key] = draw(_JUNK)
        elif how == "remove":
            del holder[key]
        elif isinstance(holder, dict):
            holder["unknown"] = draw(_JUNK)
        else:
            holder.append(draw(_JUNK))
        break
    return value


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(str(key))} = {toml(it)}" for key, it in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@cache
def validator(kind: str) -> Draft202012Validator:
    return Draft202012Validator(schema_of(kind))


@pytest.mark.parametrize("kind", FILES)
def test_the_schema_accepts_what_the_loader_accepts(kind: str, tmp_path: Path) -> None:
    path = tmp_path / FILES[kind]
    path.parent.mkdir(exist_ok=True, parents=True)
    rules = re.compile("|".join(pattern for patterns in RULES.values() for pattern in patterns))
    alone = re.compile("|".join(SCHEMA_ALONE))

    @settings(suppress_health_check=[*HealthCheck], max_examples=120)
    @given(document=damaged(documents(schema_of(kind))))
    def agrees(document: dict[str, Any]) -> None:
        text = "\n".join(f"{toml(key)} = {toml(value)}" for key, value in document.items())
        path.write_text(text, encoding="utf-8")
        found = problems_of(kind, path)
        errors = [it.message for it in found if it.severity == "error"]
        faults = [f"{it.json_path}: {it.message}" for it in validator(kind).iter_errors(document)]
        if faults:
            excused = any(alone.search(it.message) for it in found)
            assert errors or excused, (text, faults)
        else:
            assert [it for it in errors if not rules.search(it)] == [], text

    agrees()


def test_the_rules_beyond_the_schemas_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
    rules = page.partition("### What only rowtui finds")[2].partition("The schemas are stricter")[0]
    assert re.findall(r"^- (.*)$", rules, re.MULTILINE) == [*RULES]
