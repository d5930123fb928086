from __future__ import annotations

import textwrap
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.entities import Entity
from rowtui.core.mapping.yaml.dump import configuration_text, scalar
from rowtui.core.mapping.yaml.nodes import plain
from rowtui.core.mapping.yaml.text import read_yaml


def merged(*texts: str) -> Configuration:
    files = [
        parse_mapping(textwrap.dedent(text).encode(), f"{name}.yml")
        for name, text in zip("abc", texts, strict=False)
    ]
    return merge_files(files)


def content(configuration: Configuration) -> Any:
    """All that a configuration says, without who said it."""

    def of(entity: Entity) -> dict[str, Any]:
        fields = {
            name: value
            for name, value in vars(entity).items()
            if name not in {"origin", "said", "inherits", "rules"} and value is not None
        }
        rules = {name: of(rule) for name, rule in entity.rules.items()}
        return {**fields, "abstract": entity.abstract, "rules": list(rules.items())}

    entities = {
        kind: [(name, of(entity)) for name, entity in each.items()]
        for kind, each in configuration.entities.items()
    }
    variables = {name: said.value for name, said in configuration.context.items()}
    return configuration.dialect, configuration.default_inherits, variables, entities


def loaded_again(configuration: Configuration) -> Configuration:
    text = configuration_text(configuration)
    again = merge_files([parse_mapping(text.encode(), "dump.yml")])
    assert again.problems == (), text
    return again


BASE = r"""
global:
  default_inherits: default
  context: {LIMIT: 10, _own: "some value", big: [1, two, {three: 3.5}]}
tools:
  default:
    abstract: true
    cores: 2
    mem: cores * 4
    context: {KEPT: 1, spec: --my-param}
    params: {native: "--mem={mem} {spec}", n: 3, yes: "yes", none: null, deep: {a: [1, {b: x}]}}
    env: {A: "1", B: "{cores}"}
    scheduling: {reject: [offline], prefer: [a, b]}
    rules:
      - id: limit
        if: input_size >= LIMIT
        fail: "Too much: '{input_size}' GB"
      - if: |
          size = input_size

          size > 3
        cores: 4
        execute: |
          if True:
              entity.params['x'] = "\t"
  .*minimap2.*:
    inherits: default
    gpus: 0
    env: [{name: B, value: two}, {file: /etc/profile}]
    resubmit: {more: {condition: memory_limit_reached and attempt <= 3, destination: x}}
    rank: |-
      helpers.weighted_random_sampling(candidate_destinations)
roles: {training.*: {max_cores: 4}}
users: {"fairy@vortex.org": {min_mem: 0.5}, "a: b # c": {cores: 1e3}}
destinations:
  base: {abstract: true, runner: slurm, tags: [h], max_accepted_cores: 16}
  d: {inherits: base, destination_name_override: "d-{cores}", max_accepted_mem: 7.5}
"""
OVER = """
tools:
  .*minimap2.*:
    cores: "8"
    rules: [{id: limit, if: "input_size > 99"}]
pools:
  p: {scheduling: {require: [a]}, max_concurrent_cores: 5, oversize: {max_concurrent: 1}}
"""


@pytest.mark.parametrize("dialect", ["seed", "tpv3"])
def test_a_dumped_configuration_loads_back_to_the_same(dialect: str) -> None:
    store = "" if dialect == "seed" else "resource_pool_store: {class: x}, "
    configuration = merged(f"global: {{{store}dialect: {dialect}}}", BASE, OVER)
    assert configuration.problems == ()

    again = loaded_again(configuration)

    assert content(again) == content(configuration)
    # a dump of a dump is the same but for the places in its comments
    assert content(loaded_again(again)) == content(configuration)


def test_a_constant_that_a_tool_inherits_is_not_taken_for_a_second_value() -> None:
    configuration = merged("""
        tools:
          base: {context: {LIMIT: 3}}
          t: {inherits: base, cores: LIMIT}
    """)
    assert content(loaded_again(configuration)) == content(configuration)


def test_rules_without_an_id_keep_the_one_by_which_they_are_merged() -> None:
    configuration = merged("tools: {t: {rules: [{if: true, cores: 2}]}}")
    again = loaded_again(configuration)
    assert list(again.of_kind("tools")["t"].rules) == list(
        configuration.of_kind("tools")["t"].rules
    )


def test_the_text_says_where_each_entity_comes_from() -> None:
    text = configuration_text(merged("tools:\n  a: {}\n  b: {inherits: a}\n"))
    assert text == (
        "global:\n  dialect: seed\ntools:\n  # a.yml:2\n  a: {}\n  # a.yml:3, inherits a\n  b: {}\n"
    )


def test_an_id_that_is_longer_than_a_key_may_be_is_written_all_the_same() -> None:
    name = "|".join(f"tool_{number}" for number in range(300))
    configuration = merged(f"tools:\n  ? {name}\n  : cores: 2\n")
    assert list(configuration.of_kind("tools")) == [name]
    assert content(loaded_again(configuration)) == content(configuration)


names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff"), max_size=20
)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False)
    | names
    | st.sampled_from(["yes", "0o17", "1e3", "~", "null", "-", "a: b", " a", "a ", "#", "a\n b\n"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)


@given(values)
def test_every_value_is_read_back_as_it_was(value: Any) -> None:
    assert plain(read_yaml(f"a: {scalar(value)}\n".encode(), "f")) == {"a": value}


amounts = st.integers(0, 64) | st.sampled_from(["cores * 2", "input_size", "4*2", "'8'", "1e3"])
tags = st.dictionaries(
    st.sampled_from("wxyz"), st.sampled_from(["require", "prefer", "accept", "reject"]), max_size=3
).map(
    lambda found: {
        strength: [tag for tag, each in found.items() if each == strength]
        for strength in dict.fromkeys(found.values())
    }
)


def without_braces(value: Any) -> Any:
    """The same with texts that are no expressions."""
    if isinstance(value, str):
        return value.translate({ord(each): "_" for each in "{}\\"})
    if isinstance(value, list):
        return [without_braces(each) for each in value]
    if isinstance(value, dict):
        return {key: without_braces(each) for key, each in value.items()}
    return value


texts = names.filter(lambda text: not set(text) & set("{}\\"))
properties = {
    "abstract": st.booleans(),
    "cores": amounts,
    "mem": amounts,
    "max_gpus": amounts,
    "params": st.dictionaries(texts, values, max_size=2).map(without_braces),
    "env": st.dictionaries(st.sampled_from("AB"), texts, max_size=2),
    "scheduling": tags,
    "rank": st.just("x = 1\ncandidate_destinations"),
}
rules = st.lists(
    st.fixed_dictionaries(
        {"if": st.booleans() | st.sampled_from(["input_size > 3", "x = 2\n\nx > 1\n"])},
        optional={**{k: v for k, v in properties.items() if k != "abstract"}, "fail": texts},
    ),
    max_size=2,
)
entities = st.lists(
    st.fixed_dictionaries({}, optional={**properties, "rules": rules}), min_size=1, max_size=4
)


def as_file(bodies: list[dict[str, Any]], inherit: list[bool]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, (body, child) in enumerate(zip(bodies, inherit, strict=False)):
        parent = {"inherits": f"t{number - 1}"} if child and number else {}
        found[f"t{number}"] = {**parent, **body}
    return {"tools": found}


@given(st.lists(entities, min_size=1, max_size=2), st.lists(st.booleans(), min_size=4, max_size=4))
def test_whatever_loads_without_problems_is_dumped_and_loaded_to_the_same(
    files: list[list[dict[str, Any]]], inherit: list[bool]
) -> None:
    sources = [scalar(as_file(bodies, inherit)).encode() for bodies in files]
    configuration = merge_files([parse_mapping(each, f"{n}.yml") for n, each in enumerate(sources)])
    if configuration.problems:
        return
    assert content(loaded_again(configuration)) == content(configuration)
