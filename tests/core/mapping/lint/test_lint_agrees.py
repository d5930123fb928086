"""What the check of mapping files says will happen, the mapper does."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.lint.lint import LintFinding, lint
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.request import MappingRequest, Person
from rowtui.core.mapping.yaml.dump import scalar


def loaded(text: str) -> Configuration:
    return merge_files([parse_mapping(textwrap.dedent(text).encode(), "a.yml")])


def findings(text: str) -> tuple[LintFinding, ...]:
    return lint(loaded(text))


def of_code(code: str, text: str) -> list[LintFinding]:
    return [finding for finding in findings(text) if finding.code == code]


def outcome(text: str, tool: str = "t", user: str = "u") -> tuple[str, str]:
    mapper = Mapper(loaded(text))
    placement = mapper.place(MappingRequest(tool, Person(user)))
    return placement.outcome.value, placement.cause


@pytest.mark.parametrize("dialect", ["seed", "tpv3"])
@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("{cores: inputsize}", True),
        ("{cores: input_size}", False),
        ("{cores: mem, mem: 2}", True),
        ("{mem: cores, cores: 2}", False),
        ("{max_cores: min_mem, min_mem: 1, cores: 1}", False),
        ("{min_cores: cores, cores: 1}", True),
        ("{rules: [{if: cores > 1, mem: 1}], cores: 2}", True),
        ("{rules: [{if: entity.cores > 1, mem: 1}], cores: 2}", False),
        ("{rules: [{if: true, mem: mem * 2}], mem: 2}", True),
        ("{rules: [{if: true, fail: 'no {cores}'}], cores: 2}", True),
        ("{rules: [{if: true, execute: x = gpus}], gpus: 1}", True),
        ("{params: {a: '{cores} {env[0]}'}, env: {A: x}, cores: 2}", False),
        ("{params: {a: '{resubmit}'}}", True),
        ("{env: {A: '{params}'}, params: {a: b}}", True),
        ("{resubmit: {h: {condition: '{env} {params}'}}, params: {a: b}, env: {A: b}}", False),
        ("{rank: candidate_destinations}", False),
        ("{rank: 'try: x = candidate_destinations\nexcept OSError: y = 1'}", True),
        ("{cores: size, context: {size: 3}}", False),
        ("{rank: '[d for d in candidate_destinations if d.id]'}", False),
    ],
)
def test_names_that_are_said_to_be_missing_are_missing(
    dialect: str, body: str, wrong: bool
) -> None:
    text = f"""
global: {{dialect: {dialect}}}
tools: {{t: {body}}}
destinations: {{d: {{runner: r}}}}
"""
    errors = {each.code for each in findings(text) if each.severity == "error"}
    ended, cause = outcome(text)
    assert bool(errors) is wrong
    if errors <= {"M501", "M502"}:
        # in seed, a destination whose texts cannot be filled in is refused like any other
        failing = {("error", "NameError"), ("nowhere", "JobMappingException")}
        assert (ended, cause) in (failing if wrong else {("chosen", "")})


def test_a_rank_with_an_unknown_name_is_an_error_only_where_the_score_does_not_stand_in() -> None:
    text = "tools: {t: {rank: candidates}}\ndestinations: {d: {runner: r}}\n"
    today = "global: {dialect: tpv3}\n" + text
    assert [each.severity for each in of_code("M501", text)] == ["warning"]
    assert outcome(text) == ("chosen", "")
    assert [each.severity for each in of_code("M501", today)] == ["error"]
    assert outcome(today) == ("error", "NameError")


small = st.integers(0, 3)
some_tags = st.dictionaries(
    st.sampled_from(["require", "prefer", "accept", "reject"]),
    st.sampled_from([["x"], ["y"]]),
    max_size=2,
).filter(lambda lists: len({tag for tags in lists.values() for tag in tags}) == len(lists))
jobs = st.fixed_dictionaries(
    {},
    optional={
        "cores": small,
        "mem": st.sampled_from(["cores", "2", "input_size"]),
        "max_cores": st.integers(1, 3),
        "scheduling": some_tags,
        "rules": st.just([{"if": "input_size < 0", "cores": 9, "scheduling": {"accept": ["x"]}}]),
    },
)
places = st.fixed_dictionaries(
    {"runner": st.just("r")},
    optional={"max_accepted_cores": small, "min_accepted_cores": small, "scheduling": some_tags},
)


@given(
    st.dictionaries(st.sampled_from(["t", "te", "other"]), jobs, min_size=1),
    st.dictionaries(st.sampled_from(["d", "e"]), places, min_size=1),
    st.sampled_from(["seed", "tpv3"]),
)
def test_a_tool_that_is_said_to_fit_nowhere_fits_nowhere(
    tools: dict[str, object], destinations: dict[str, object], dialect: str
) -> None:
    content = {"global": {"dialect": dialect}, "tools": tools, "destinations": destinations}
    configuration = merge_files([parse_mapping(scalar(content).encode(), "a.yml")])
    nowhere = {each.message for each in lint(configuration) if each.code == "M405"}
    mapper = Mapper(configuration)
    for tool in tools:
        ended = mapper.place(MappingRequest(tool, Person("u"))).outcome.value
        if f"no destination can take tool `{tool}`" in nowhere:
            assert ended in {"nowhere", "error"}
        elif not any(word in str(content) for word in ("rules", "'mem'", "'x'")):
            assert ended == "chosen"


def test_jobs_that_an_abstract_entity_is_said_to_stop_do_stop() -> None:
    text = "tools: {bw: {abstract: true}, bwa: {gpus: 1}}\ndestinations: {d: {runner: r}}"
    assert [each.severity for each in of_code("M202", text)] == ["error"]
    assert outcome(text, "bwa")[0] == "failed"
