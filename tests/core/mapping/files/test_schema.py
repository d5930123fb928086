from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.files.schema import mapping_schema
from rowtui.core.mapping.model.fields import FIELDS_OF, GLOBALS, HOLDERS, SINGULAR, TOP_LEVEL
from rowtui.core.mapping.yaml.nodes import plain
from rowtui.core.mapping.yaml.text import read_yaml

EXAMPLES = Path(__file__).parents[4] / "examples"
SCHEMA = mapping_schema()

_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
}
_NOTES = {"description", "title", "$schema", "$defs", "deprecated"}


def faults(value: Any, schema: dict[str, Any], at: str = "") -> Iterator[str]:
    """Where a value is not as the schema says; knows the words that our schema uses."""
    for word, rule in schema.items():
        match word:
            case "$ref":
                yield from faults(value, SCHEMA["$defs"][rule.rpartition("/")[2]], at)
            case "type":
                kinds = [rule] if isinstance(rule, str) else rule
                if not any(_TYPES[kind](value) for kind in kinds):
                    yield f"{at}: not {kinds}"
            case "enum":
                if value not in rule:
                    yield f"{at}: not one of {rule}"
            case "anyOf":
                if all(any(faults(value, choice, at)) for choice in rule):
                    yield f"{at}: nothing of anyOf"
            case "pattern":
                if isinstance(value, str) and not re.search(rule, value):
                    yield f"{at}: {value!r} is not {rule}"
            case "minLength":
                if isinstance(value, str) and len(value) < rule:
                    yield f"{at}: too short"
            case "required":
                if isinstance(value, dict):
                    yield from (f"{at}: lacks {name}" for name in rule if name not in value)
            case "dependentRequired":
                for name, others in rule.items():
                    if isinstance(value, dict) and name in value and not value.keys() >= {*others}:
                        yield f"{at}: {name} without {others}"
            case "uniqueItems":
                if isinstance(value, list) and any(v in value[:n] for n, v in enumerate(value)):
                    yield f"{at}: twice"
            case "items":
                for n, item in enumerate(value if isinstance(value, list) else ()):
                    yield from faults(item, rule, f"{at}[{n}]")
            case "propertyNames":
                for name in value if isinstance(value, dict) else ():
                    yield from faults(name, rule, f"{at}.{name}")
            case "additionalProperties":
                yield from _faults_of_entries(value, schema, at)
            case "properties" | "patternProperties":
                assert "additionalProperties" in schema  # where these two are looked at
            case _:
                assert word in _NOTES, word


def _faults_of_entries(value: Any, schema: dict[str, Any], at: str) -> Iterator[str]:
    others = schema["additionalProperties"]
    for name, inner in value.items() if isinstance(value, dict) else ():
        place = f"{at}.{name}"
        if name in schema.get("properties", {}):
            yield from faults(inner, schema["properties"][name], place)
        elif any(re.search(pattern, name) for pattern in schema.get("patternProperties", {})):
            continue
        elif others is False:
            yield f"{place}: unknown"
        else:
            yield from faults(inner, others, place)


def faults_of(text: str) -> list[str]:
    return list(faults(plain(read_yaml(textwrap.dedent(text).encode(), "m.yml")), SCHEMA))


def mapping_files() -> list[Path]:
    """Every mapping file among the examples."""
    files = sorted(EXAMPLES.rglob("*.yml"))
    return [
        file
        for file in files
        if isinstance(data := plain(read_yaml(file.read_bytes(), file.name)), dict)
        and TOP_LEVEL.keys() & data.keys()
    ]


def test_it_is_json_and_describes_every_property() -> None:
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert set(SCHEMA["properties"]) == set(TOP_LEVEL)
    assert set(SCHEMA["properties"]["global"]["properties"]) == set(GLOBALS)
    for holder in HOLDERS:
        properties = SCHEMA["$defs"][SINGULAR[holder]]["properties"]
        assert set(properties) == set(FIELDS_OF[holder])
        assert all(entry["description"] for entry in properties.values())


def test_every_example_is_valid() -> None:
    for file in mapping_files():
        assert faults_of(file.read_text()) == [], file


@pytest.mark.parametrize(
    "text",
    [
        "",
        "global: {dialect: seed, default_inherits: default, context: {A: [1], _b: x}}",
        "x-base: &b {cores: 3}\ntools: {t: {<<: *b, mem: cores * 4, gpus: null, abstract: yes}}",
        "tools: {t: {env: {A: 5, B: true}}, u: {env: [{name: A, value: x}, {file: y}]}}",
        "users: {u: {rank: x, resubmit: {a: {delay: 1}}, scheduling: {require: [a], prefer: }}}",
        "roles: {r: {rules: [{id: a, if: true, fail: no}]}, s: {rules: {a: {if: x, execute: y}}}}",
        "destinations: {d: {runner: r, max_accepted_mem: '8', tags: [a]}}",
        "destinations: {d: {scheduling: {accept: [a]}, min_accepted_mem: 1.5}}",
        "pools: {p: {oversize: {max_concurrent: 1, reserve_pool: on}, fail_open: true}}",
        "pools: {p: {abstract: ' Yes ', fail_open: oFF}, q: {abstract: 2, fail_open: 1}}",
        "tools: {t: {rules: [{if: 1, cores: 2}]}}",
    ],
)
def test_what_parsing_has_nothing_against_is_valid(text: str) -> None:
    assert parse_mapping(text.encode(), "m.yml").problems == ()
    assert faults_of(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "toolz: {}",
        "global: {dialect: tpv}",
        "tools: {t: }",
        "tools: {t: {coures: 1}}",
        "tools: {t: {cores: true}}",
        "tools: {t: {runner: r}}",
        "tools: {t: {rules: [{cores: 1}]}}",
        "tools: {t: {env: [{name: A, value: 5}]}}",
        "tools: {t: {env: [{name: A}]}}",
        "tools: {t: {context: {a-b: 1}}}",
        "tools: {t: {scheduling: {require: a}}}",
        "tools: {t: {scheduling: {require: [a, a]}}}",
        "destinations: {d: {max_accepted_cores: cores * 2}}",
        "pools: {p: {scheduling: {prefer: [a]}}}",
        "pools: {p: {oversize: {max: 1}}}",
        "tools: {t: {abstract: maybe}}",
        "tools: {t: {rules: [{if: 2}]}}",
        "pools: {p: {fail_open: ' yes '}}",
        "pools: {p: {fail_open: 2}}",
    ],
)
def test_what_parsing_complains_of_is_not_valid(text: str) -> None:
    assert parse_mapping(text.encode(), "m.yml").problems
    assert faults_of(text)


_SCALARS = st.sampled_from(["1", "true", "null", "''", "x", "'8'", "2.5"])
_ANY = st.one_of(
    _SCALARS,
    st.lists(_SCALARS, max_size=2).map(lambda items: f"[{', '.join(items)}]"),
    st.sampled_from(["{a: x}", "{require: [x]}", "[{if: x}]", "{a: {if: 1, mem: 2}}", "{a: {}}"]),
)


@given(
    st.sampled_from(HOLDERS).flatmap(
        lambda holder: st.tuples(
            st.just(holder),
            st.dictionaries(st.sampled_from(sorted(FIELDS_OF[holder])), _ANY, max_size=3),
        )
    )
)
def test_a_file_that_parses_without_a_complaint_is_valid(made: tuple[str, dict[str, str]]) -> None:
    # given an entity or a rule with any values
    holder, properties = made
    properties = {"if": "x", **properties} if holder == "rules" else properties
    body = "{" + ", ".join(f"{name}: {value}" for name, value in properties.items()) + "}"
    text = f"tools: {{t: {{rules: [{body}]}}}}" if holder == "rules" else f"{holder}: {{a: {body}}}"
    # when parsing has nothing against it, then neither has the schema
    if not parse_mapping(text.encode(), "m.yml").problems:
        assert faults_of(text) == []
