from __future__ import annotations

import textwrap

import pytest
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.case_reader import read_cases
from rowtui.core.mapping.files.cases import CASE_KEYS, CaseResult, run_cases
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.decision import MappingOutcome
from rowtui.core.mapping.model.request import Amounts, Person

MAPPING = """
tools:
  default: {}
  bwa:
    cores: 4 * attempt
    mem: cores * 4
    params: {queue: "q{cores}", n: 3, gone: null}
    env: {THREADS: "{cores}"}
    rules:
      - if: input_size > 100
        fail: Input of {input_size} GB is too large
      - if: input_size > 50
        execute: |
          from galaxy.jobs.mapper import JobNotReadyException
          raise JobNotReadyException("later")
  huge: {cores: 500}
users:
  fairy: {cores: 2}
roles:
  training: {scheduling: {require: [pulsar]}}
destinations:
  slurm: {cores: 64, scheduling: {prefer: [general]}}
  pulsar: {cores: 8, scheduling: {require: [pulsar]}}
"""


def results(text: str) -> tuple[CaseResult, ...]:
    cases, problems = read_cases(textwrap.dedent(text).encode(), "cases.yml")
    assert problems == ()
    configuration = merge_files([parse_mapping(MAPPING.encode(), "m.yml")])
    assert configuration.problems == ()
    return run_cases(Mapper(configuration), cases)


def complaints(text: str) -> list[tuple[int, str, str]]:
    return [
        (each.line, each.message, each.hint)
        for each in read_cases(textwrap.dedent(text).encode(), "cases.yml").problems
    ]


def test_cases_that_come_out_as_expected_pass() -> None:
    found = results("""
        - {name: goes, tool: bwa, expect: {destination: slurm, cores: 4, mem: 16.0}}
        - name: all of it
          action: bwa
          attempt: 2
          expect:
            destination: [pulsar, slurm]
            not_destination: pulsar
            cores: 8
            params: {queue: q8, n: 3, gone: null, never: null}
            env: {THREADS: 8, OTHER: null}
        - {tool: bwa, user: fairy, expect: {cores: 2}}
        - {tool: bwa, user: u, roles: [training], expect: {destination: pulsar}}
        - {tool: bwa, input_size: 200, expect: {outcome: failed, message: 200.* too large}}
        - {tool: bwa, input_size: 60, expect: {outcome: waits, message: later}}
        - {tool: huge, expect: {outcome: nowhere}}
        - {tool: other, cores: 65, expect: {outcome: nowhere}}
    """)
    assert [(each.case.name, each.differences) for each in found] == [
        (name, ())
        for name in (
            "goes",
            "all of it",
            "case 3",
            "case 4",
            "case 5",
            "case 6",
            "case 7",
            "case 8",
        )
    ]
    assert all(each.passed and each.decision is None for each in found)


@pytest.mark.parametrize(
    ("tool", "expect", "difference"),
    [
        ("bwa", "{destination: pulsar}", "expected pulsar, but it goes to slurm"),
        ("bwa", "{not_destination: [a, slurm]}", "it goes to slurm, where it may not go"),
        ("bwa", "{outcome: failed}", "the outcome is not failed: it goes to slurm"),
        ("bwa", "{cores: 5}", "cores is 4, not 5"),
        ("bwa", "{gpus: 1}", "gpus is not set, not 1"),
        ("bwa", "{params: {queue: long}}", "param queue is `q4`, not `long`"),
        ("bwa", "{params: {n: '3'}}", "param n is 3 as a number, not as text"),
        ("bwa", "{params: {queue: null}}", "param queue is there: `q4`"),
        ("bwa", "{params: {never: 1}}", "param never is not there; expected 1"),
        ("bwa", "{env: {THREADS: 5}}", "variable THREADS is `4`, not `5`"),
        (
            "huge",
            "{destination: slurm}",
            "the outcome is not chosen: it ends as nowhere: no destination takes huge",
        ),
        (
            "huge",
            "{outcome: nowhere, message: ^full}",
            "the message does not match `^full`: `no destination takes huge`",
        ),
    ],
)
def test_what_came_out_differently_is_said_in_words(
    tool: str, expect: str, difference: str
) -> None:
    (result,) = results(f"- {{tool: {tool}, expect: {expect}}}")
    assert result.differences == (difference,)
    assert result.decision is not None
    assert result.decision.chosen.outcome is result.placement.outcome


def test_a_failed_case_has_the_decision_with_its_reasons() -> None:
    (result,) = results("- {tool: huge, expect: {destination: slurm}}")
    assert result.decision is not None
    refusal = result.decision.refusals[0]
    assert (refusal.destination_id, refusal.failed[0].asked) == ("slurm", "cores 500")


def test_a_case_is_a_request() -> None:
    (case,) = read_cases(
        b"""
cases:
- name: x
  tool: bwa
  user: fairy@vortex.org
  roles: [a, b]
  input_size: 1.5
  attempt: 3
  cores: 2
  mem: 4
  gpus: 1
  directories: [d1, d2]
  values: [{a: 1}, {a: [2]}]
  version: "1.2"
  state: resubmitted
  params: {p: 1}
  previous_params: {SCALING_FACTOR: "2"}
  cluster: here
  expect: {outcome: nowhere}
""",
        "c.yml",
    ).cases
    request = case.request
    assert set(CASE_KEYS) >= {"tool", "values", "previous_params"}
    assert request.user == Person("fairy@vortex.org", ("a", "b"), "fairy@vortex.org")
    assert request.declared == Amounts(1, 2, 4)
    assert (request.input_size, request.attempt, request.state) == (1.5, 3, "resubmitted")
    assert (request.directories, request.values) == (("d1", "d2"), ({"a": 1}, {"a": [2]}))
    assert (request.version, request.cluster) == ("1.2", "here")
    assert (request.params, request.previous_params) == ({"p": 1}, {"SCALING_FACTOR": "2"})
    assert case.expected.outcome is MappingOutcome.NOWHERE
    assert (case.place.line, case.name) == (3, "x")


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("", 0, "there are no cases", "begin each of them with `- name:`"),
        ("x", 1, "cases are a list, but this is text", "begin each of them with `- name:`"),
        ("case: []", 1, "unknown key `case` in the file", "did you mean 'cases'?"),
        ("- 5", 1, "case 1 must be a map, not a number", ""),
        (
            "- {name: n, expect: {cores: 1}}",
            1,
            "case `n` names no tool",
            "write `tool:` and its id",
        ),
        (
            "- {tool: a, action: a, expect: {cores: 1}}",
            1,
            "case `case 1` names two tools",
            "write either `tool` or `action`",
        ),
        (
            "- tool: a\n  inputsize: 3\n  expect: {cores: 1}",
            2,
            "unknown key `inputsize` in case `case 1`",
            "did you mean 'input_size'?",
        ),
        (
            "- tool: a\n  expect:\n    destinaton: b\n    cores: 1",
            3,
            "unknown key `destinaton` in `expect` of case `case 1`",
            "did you mean 'destination'?",
        ),
        (
            "- {tool: a, expect: {outcome: faild}}",
            1,
            "`expect` of case `case 1`: there is no outcome `faild`",
            "did you mean 'failed'?",
        ),
        (
            "- {tool: a, expect: {outcome: failed, cores: 2}}",
            1,
            "`expect` of case `case 1`: a job that ends as failed has no `cores`",
            "",
        ),
        (
            "- {tool: a, input_size: big, expect: {cores: 1}}",
            1,
            "`input_size` of case `case 1` must be a number that is not below 0, but is text",
            "",
        ),
        (
            "- {tool: a, attempt: 0, expect: {cores: 1}}",
            1,
            "`attempt` of case `case 1` counts from 1",
            "",
        ),
        (
            "- {tool: a, roles: [x], expect: {cores: 1}}",
            1,
            "case `case 1` has roles, but no user",
            "write `user:` as well",
        ),
        (
            "- {tool: a, user: u, roles: {x: 1}, expect: {cores: 1}}",
            1,
            "`roles` of case `case 1` must be text, or a list of texts, but is a map",
            "",
        ),
    ],
)
def test_what_is_wrong_with_a_file_of_cases_is_placed(
    text: str, line: int, message: str, hint: str
) -> None:
    assert (line, message, hint) in complaints(text)


def test_a_case_that_expects_nothing_is_an_error() -> None:
    for text in ("- tool: a", "- {tool: a, expect: {}}", "- {tool: a, expect: yes}"):
        ((line, message, _),) = complaints(text)
        assert (line, message) == (1, "case `case 1` expects nothing")


def test_a_message_that_takes_too_long_to_match_is_a_difference() -> None:
    (found,) = results(f"""
        - {{tool: {"a" * 60}, cores: 65, expect: {{message: "(?:a|(?:a))+b"}}}}
    """)
    assert len(found.differences) == 1
    assert "takes more than 0.5 s" in found.differences[0]


def test_one_bad_case_does_not_stop_the_others() -> None:
    cases, problems = read_cases(
        b"- {tool: a, expect: {cores: x}}\n- {name: good, tool: a, expect: {cores: 1}}\n", "c.yml"
    )
    assert [case.name for case in cases] == ["good"]
    assert len(problems) == 1


def test_bytes_that_are_no_yaml_are_problems() -> None:
    assert read_cases(b"\xff\xfe", "c.yml").problems
    assert read_cases(b"- [", "c.yml").problems


@pytest.mark.parametrize("number", ["9" * 400, "'" + "9" * 390 + "'", ".nan", ".inf", "-1"])
@pytest.mark.parametrize("field", ["input_size", "attempt", "cores"])
def test_a_number_that_is_none_is_said_and_the_other_cases_run(field: str, number: str) -> None:
    text = f"""
        - {{name: odd, tool: bwa, {field}: {number}, expect: {{destination: slurm}}}}
        - {{name: good, tool: bwa, expect: {{destination: slurm}}}}
        """
    found = read_cases(textwrap.dedent(text).encode(), "cases.yml")
    assert [problem.line for problem in found.problems] == [2]
