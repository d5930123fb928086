from __future__ import annotations

import textwrap

from rowtui.core.mapping.engine.lookup import EntityLookup
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.files.show import EffectiveEntity, Value, effective
from rowtui.core.mapping.model.request import Person


def shown(text: str, tool: str, user: Person | None = None) -> EffectiveEntity:
    file = parse_mapping(textwrap.dedent(text).encode(), "m.yml")
    assert file.problems == ()
    return effective(EntityLookup(merge_files([file])), tool, user)


def value(entity: EffectiveEntity, field: str) -> Value:
    return next(each for each in entity.values if each.field == field)


def origins(of: Value) -> list[str]:
    return [str(of.origin), *(f"{was} by {who}" for was, who in of.replaced)]


TOOLS = """\
global: {default_inherits: default}
tools:
  default:
    cores: 2
    mem: 4
    params: {queue: short}
    rules: [{id: small, if: input_size < 5, cores: 1}]
  .*minimap2.*:
    cores: 8
    scheduling: {prefer: [highmem]}
  exact_minimap2:
    cores: cores * 2
    params: {queue: long}
    env: {X: "{cores}"}
    rules: [{id: small, if: input_size < 1, fail: too small}]
"""


def test_every_value_says_who_said_it_and_what_it_replaced() -> None:
    entity = shown(TOOLS, "exact_minimap2")

    assert origins(value(entity, "cores")) == [
        "tool exact_minimap2 in m.yml:12",
        "8 by tool .*minimap2.* in m.yml:9",
        "2 by tool default in m.yml:4",
    ]
    assert value(entity, "cores").value == "cores * 2"
    assert origins(value(entity, "mem")) == ["tool default in m.yml:5"]
    assert value(entity, "params.queue").value == "long"
    assert value(entity, "env.X").value == "{cores}"
    assert value(entity, "tags.highmem").value == "prefer"
    assert [each.pattern for each in entity.matched] == ["", ".*minimap2.*", "exact_minimap2"]


def test_a_rule_that_overrides_another_is_shown_once_with_what_both_say() -> None:
    (rule,) = shown(TOOLS, "exact_minimap2").rules
    assert (rule.id, rule.condition) == ("small", "input_size < 1")
    assert {each.field: each.value for each in rule.values} == {"cores": 1, "fail": "too small"}


def test_an_action_that_nothing_matches_has_the_defaults_and_a_hint() -> None:
    entity = shown(TOOLS, "exact_minmap2")
    assert {each.field for each in entity.values} == {"cores", "mem", "params.queue"}
    plain = shown("tools: {bowtie: {cores: 1}}", "bowtei")
    assert (plain.values, plain.hint) == ((), "did you mean 'bowtie'?")


USERS = """\
tools: {t: {cores: 8, mem: 8, min_cores: 1, scheduling: {require: [x]}}}
roles: {training.*: {cores: 5, max_cores: 6}}
users: {fairy: {cores: 4, mem: 16, min_cores: 2, max_cores: input_size, scheduling: {accept: [x]}}}
"""
FAIRY = Person("fairy", ("staff", "training-1", "training-2"))


def test_in_seed_the_lower_of_the_amounts_counts_and_the_others_are_named() -> None:
    entity = shown(USERS, "t", FAIRY)

    cores, mem = value(entity, "cores"), value(entity, "mem")
    assert (cores.value, cores.origin.kind, cores.note) == (4, "user", "the lower one counts")
    assert [was for was, _ in cores.replaced] == [5, 8]
    assert (mem.value, mem.origin.kind) == (8, "tool")
    assert value(entity, "min_cores").value == 2
    assert value(entity, "max_cores").note == "the lower of these once they are worked out"


def test_in_tpv3_the_user_counts_before_the_role_before_the_tool() -> None:
    entity = shown("global: {dialect: tpv3}\n" + USERS, "t", FAIRY)
    assert (value(entity, "mem").value, value(entity, "mem").note) == (16, "")
    assert [was for was, _ in value(entity, "cores").replaced] == [5, 8]


def test_a_tag_comes_from_whoever_makes_the_strongest_claim() -> None:
    tag = value(shown(USERS, "t", FAIRY), "tags.x")
    assert (tag.value, tag.origin.kind) == ("require", "tool")


def test_tags_that_contradict_each_other_are_the_reason_why_there_is_no_entity() -> None:
    entity = shown(
        "tools: {t: {scheduling: {require: [x]}}}\nusers: {.*: {scheduling: {reject: [x]}}}",
        "t",
        Person("anyone"),
    )
    assert "the tag 'x' is required on one side and rejected on the other" in entity.stop
    assert entity.values == ()


def test_an_abstract_entity_that_matches_is_the_reason_why_there_is_no_entity() -> None:
    entity = shown("tools: {bw: {abstract: true}, bwa: {cores: 1}}", "bwa")
    assert "tool bw is abstract" in entity.stop
    assert entity.stop_origin is not None
    assert entity.stop_origin.place.line == 1


def test_a_file_that_nobody_trusts_is_shown_all_the_same() -> None:
    sealed = merge_files([parse_mapping(TOOLS.encode(), "m.yml", sealed=True)])
    entity = effective(EntityLookup(sealed), "exact_minimap2", Person("u"))
    assert (entity.untrusted, entity.stop) == ("m.yml", "")
    assert value(entity, "cores").value == "cores * 2"
    assert shown(TOOLS, "exact_minimap2").untrusted == ""


def test_rules_are_in_the_order_in_which_they_run() -> None:
    text = """\
        tools: {t: {rules: [{id: a, if: x > 1, cores: 1}, {id: b, if: true, cores: 1}]}}
        users: {.*: {rules: [{id: a, if: true, mem: 1}, {id: c, if: false, cores: 1}]}}
    """
    user = Person("u")
    assert [rule.id for rule in shown(text, "t", user).rules] == ["a", "b", "a", "c"]
    tpv = textwrap.dedent(text) + "global: {dialect: tpv3}\n"
    assert [rule.id for rule in shown(tpv, "t", user).rules] == ["a", "b", "c"]
    assert [rule.condition for rule in shown(tpv, "t", user).rules] == ["true", "true", "false"]


def test_a_mapper_answers_as_its_lookup_does() -> None:
    configuration = merge_files([parse_mapping(TOOLS.encode(), "m.yml")])
    mapper = Mapper(configuration)
    assert effective(mapper, "bwa") == effective(mapper.lookup, "bwa")
