"""The mapper where the recorded cases do not reach: failures, other dialects, live facts, pools."""

from __future__ import annotations

import pytest
from rowtui.core.clusters.model import PartitionLoad
from rowtui.core.mapping.engine import evaluate
from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.engine.resubmit import JobEnd, next_attempt
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.decision import MappingOutcome, Placement
from rowtui.core.mapping.model.request import Amounts, ClusterFacts, MappingRequest, Person

T = MappingRequest("t")
ANYONE = Person("ada", ("chem", "staff"))


def mapper(text: str, *, sealed: str = "", tpv3: bool = False) -> Mapper:
    files = [parse_mapping(text.encode(), "site.yml")]
    if sealed:
        files.append(parse_mapping(sealed.encode(), "mapping.yml", sealed=True))
    if tpv3:
        files.append(parse_mapping(b"global: {dialect: tpv3}", "dialect.yml"))
    return Mapper(merge_files(files), seconds=0.3)


def place(text: str, request: MappingRequest = T, **options: bool) -> Placement:
    asked = mapper(text, **options)  # type: ignore[arg-type]
    found = asked.place(request)
    assert found == asked.place(request) == decide(asked, request).chosen
    return found


DIALECTS = pytest.mark.parametrize("tpv3", [False, True])


@DIALECTS
@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("cores: nope", "NameError: name 'nope' is not defined"),
        ("cores: 1 / 0", "ZeroDivisionError"),
        ("cores: |\n      while True:\n        pass\n      1", "0.3"),
        ("cores: sum(1 for _ in iter(int, 1))", "0.3"),
        ("rules: [{if: '[][1]', cores: 2}]", "IndexError"),
        ("mem: exit()", ""),
    ],
)
def test_an_expression_that_goes_wrong_stops_its_job_with_its_place(
    field: str, words: str, tpv3: bool
) -> None:
    text = f"tools:\n  t:\n    {field}\n  other: {{cores: 1}}\ndestinations: {{d: {{runner: r}}}}\n"
    asked = mapper(text, tpv3=tpv3)
    found = asked.place(T)
    assert found.outcome in {MappingOutcome.ERROR, MappingOutcome.BROKEN}
    assert words in found.message
    assert found.origin is not None
    assert found.origin.place.file == "site.yml"
    assert 2 <= found.origin.place.line <= 4
    assert asked.place(T._replace(tool_id="other")).chosen


def test_an_id_that_takes_too_long_to_match_stops_the_job_with_its_place() -> None:
    text = "tools:\n  other: {}\n  (a|aa)+$: {cores: 2}\ndestinations: {d: {runner: r}}\n"
    asked = mapper(text)
    names = ["a" * 40 + "!", "a" * 50 + "!", "b"]

    slow, again, quick = (asked.place(T._replace(tool_id=name)) for name in names)

    assert slow.outcome is again.outcome is MappingOutcome.ERROR
    assert "the id of tool (a|aa)+$: matching the pattern" in slow.message
    assert slow.origin is not None
    assert slow.origin.place.line == 3
    # The slow pattern is not matched a second time, since each name would take as long.
    assert quick.outcome is MappingOutcome.ERROR
    assert asked.place(T._replace(tool_id="")).outcome is MappingOutcome.ERROR


def test_the_line_within_a_block_of_code_is_named() -> None:
    found = place(
        "tools:\n  t:\n    cores: |\n      n = 1\n      m = n + x\n      m\n"
        "destinations: {d: {runner: r}}\n"
    )
    assert found.origin is not None
    assert found.origin.place.line == 5


SLOW_ONCE = """\
tools:
  t:
    cores: |
      import sys
      sys.turns = getattr(sys, 'turns', 0) + 1
      while sys.turns == 1:
        pass
      sys.turns
destinations: {d: {runner: r}}
"""


def test_code_that_took_too_long_once_is_run_again_but_not_for_each_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.turns", 0, raising=False)
    asked = mapper(SLOW_ONCE)
    words = "the expression used more than 0.3 seconds of CPU time"
    assert [asked.place(T).message for _ in range(3)] == [words] * 3
    monkeypatch.setattr(evaluate, "REST", 0.0)
    assert asked.place(T).amounts.cores == 2


def test_an_answer_without_the_code_that_took_too_long_is_not_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = mapper(
        """
global: {context: {turns: []}}
tools:
  t:
    cores: |
      turns.append(1)
      while len(turns) == 1:
        pass
      len(turns)
destinations: {d: {runner: r}}
"""
    )
    assert asked.remembers(T)
    assert asked.place(T).cause == asked.place(T).cause == "TimeLimitError"
    monkeypatch.setattr(evaluate, "REST", 0.0)
    assert asked.place(T).amounts.cores == 2


@DIALECTS
def test_expressions_cannot_change_a_job_for_the_next_one(tpv3: bool) -> None:
    asked = mapper(
        """
tools:
  t:
    cores: "entity.tpv_tags.prefer.append('y') or len(entity.tpv_tags.prefer)"
    params: {a: "{entity.params.update(x=1)}"}
    rules:
      - if: "entity.params.update(z=1) or True"
        execute: "entity.params['n'] = str(len(entity.params))"
destinations: {d: {runner: r}}
""",
        tpv3=tpv3,
    )
    answers = [asked.place(T._replace(input_size=n)) for n in range(3)]
    assert answers[0].chosen
    assert answers[0] == answers[1] == answers[2]


def test_amounts_that_are_no_numbers_are_refused_in_seed() -> None:
    for value, words in (("'4'", "must be a number"), ("-1", "not an amount"), ("True", "bool")):
        found = place(f'tools: {{t: {{cores: "{value}"}}}}\ndestinations: {{d: {{runner: r}}}}')
        assert found.outcome is MappingOutcome.ERROR
        assert words in found.message


@pytest.mark.parametrize(
    ("field", "hint"),
    [
        ("mem: 4 GB", "without a unit"),
        ("cores: 2 cores", "without a unit"),
        ("rules: [{if: input_size = 100, cores: 2}]", "write `==`"),
    ],
)
def test_the_commonest_mistakes_in_code_have_a_hint(field: str, hint: str) -> None:
    configuration = mapper(f"tools:\n  t:\n    {field}\n").configuration
    (problem,) = [each for each in configuration.problems if each.severity == "error"]
    assert hint in problem.hint
    assert problem.line == 3


def test_an_amount_in_braces_is_explained() -> None:
    found = place('tools: {t: {mem: "{2 * 4}"}}\ndestinations: {d: {runner: r}}')
    assert "without braces" in found.message


def test_when_everything_that_was_tried_refuses_the_first_reason_is_named() -> None:
    found = place(
        """
tools: {t: {}}
destinations:
  a: {runner: r, rules: [{if: true, fail: "a is closed on {tool.id}"}]}
  b: {runner: r, rules: [{if: true, execute: "helpers.try_next('busy')"}]}
"""
    )
    assert found.outcome is MappingOutcome.NOWHERE
    assert "a: a is closed on t" in found.message
    assert found.origin is not None
    assert found.origin.place.line == 4


def test_a_rank_function_that_fails_falls_back_to_the_score_in_seed() -> None:
    text = """
tools: {t: {rank: "1 / 0", scheduling: {prefer: [x]}}}
destinations:
  a: {runner: r}
  b: {runner: r, scheduling: {prefer: [x]}}
"""
    found = place(text)
    assert found.destination == "b"
    assert "ZeroDivisionError" in found.notices[0]
    assert place(text, tpv3=True).cause == "ZeroDivisionError"


def test_a_destination_that_rank_takes_from_the_mapper_has_all_that_it_inherits() -> None:
    found = place(
        """
        global: {default_inherits: default}
        tools: {t: {rank: "[mapper.destinations['d']]"}}
        destinations: {default: {abstract: true, runner: r, params: {a: x}}, d: {}, e: {}}
        """,
        tpv3=True,
    )
    assert (found.destination, found.runner, found.params) == ("d", "r", {"a": "x"})


def load(wait: float | None) -> PartitionLoad:
    return PartitionLoad("", 8, 4, 0, 0, 1, 0, 0, 0, 0, 0, wait)


def test_the_shortest_expected_wait_decides_among_equals() -> None:
    asked = mapper(
        """
tools: {t: {rank: "helpers.soonest(candidate_destinations, entity)", scheduling: {prefer: [x]}}}
destinations:
  unknown: {runner: r, params: {partition: a}}
  long: {runner: r, params: {partition: b}}
  short: {runner: r, params: {partition: c}}
  liked: {runner: r, params: {partition: d}, scheduling: {prefer: [x]}}
"""
    )
    loads = {("r", "b"): load(600.0), ("r", "c"): load(5.0), ("r", "d"): load(9000.0)}
    ranked = decide(asked, T, ClusterFacts(1, loads)).candidates
    assert [each.destination_id for each in ranked] == ["liked", "short", "long", "unknown"]

    # When the clusters say something else, then the answer follows.
    loads = {**loads, ("r", "d"): load(0.0), ("r", "b"): load(1.0)}
    ranked = decide(asked, T, ClusterFacts(2, loads)).candidates
    assert [each.destination_id for each in ranked] == ["liked", "long", "short", "unknown"]


def test_load_is_also_a_name_by_destination() -> None:
    asked = mapper(
        "tools: {t: {cores: \"load['r/b'].free_cores\"}}\n"
        "destinations: {d: {runner: r, params: {partition: b}}}"
    )
    assert asked.reads_loads
    assert asked.place(T, ClusterFacts(1, {("r", "b"): load(0.0)})).amounts.cores == 4


# Trust

TRUSTED = """
tools:
  default: {cores: 1}
  t: {cores: 2}
  other: {cores: 3}
destinations: {d: {runner: r}}
"""


def test_jobs_that_need_an_untrusted_file_wait_and_the_others_go_on() -> None:
    asked = mapper(TRUSTED, sealed="tools: {t: {mem: \"open('/tmp/no', 'w')\"}}")
    found = asked.place(T)
    assert found.outcome is MappingOutcome.UNTRUSTED
    assert "mapping.yml is not trusted" in found.message
    assert asked.place(T._replace(tool_id="other")).chosen


def test_destinations_of_an_untrusted_file_are_refused_with_that_reason() -> None:
    asked = mapper(TRUSTED, sealed="destinations: {e: {runner: r, scheduling: {prefer: [x]}}}")
    decision = decide(asked, T)
    assert decision.chosen.destination == "d"
    (refusal,) = decision.refusals
    assert "not trusted" in refusal.failed[0].offered
    only = mapper("tools: {t: {}}", sealed="destinations: {e: {runner: r}}")
    assert only.place(T).outcome is MappingOutcome.UNTRUSTED


def test_an_untrusted_global_section_concerns_every_job() -> None:
    for sealed in ("{context: {a: 1}}", "{default_inherits: default}", "{dialect: seed}"):
        assert (
            mapper(TRUSTED, sealed=f"global: {sealed}").place(T).outcome is MappingOutcome.UNTRUSTED
        )


# Mistakes


@pytest.mark.parametrize("section", ["tools: 5", "global: 5", "destinations: [d]", "tools: {"])
def test_a_section_that_cannot_be_read_stops_every_job(section: str) -> None:
    files = [parse_mapping(text.encode(), f"{n}.yml") for n, text in enumerate((TRUSTED, section))]
    found = Mapper(merge_files(files)).place(T)
    assert found.outcome is MappingOutcome.BROKEN
    assert "1.yml:1" in found.message


def test_an_entity_with_a_mistake_stops_only_its_own_jobs() -> None:
    text = TRUSTED + "users: {'a.*': {cores: {}}}\n"
    asked = mapper(text)
    assert asked.place(T._replace(user=ANYONE)).outcome is MappingOutcome.BROKEN
    assert asked.place(T._replace(user=Person("bob"))).chosen


def test_circles_and_missing_parents_of_inheritance_are_explained() -> None:
    configuration = merge_files(
        [
            parse_mapping(
                b"tools:\n  a: {inherits: b}\n  b: {inherits: a}\n  c: {inherits: aa}\n"
                b"  d: {inherits: d}\n",
                "m.yml",
            )
        ]
    )
    said = "\n".join(map(str, configuration.problems))
    assert "m.yml:2" in said
    assert "in a circle" in said
    assert "did you mean 'a'?" in said
    assert {name for _, name in configuration.broken} == {"a", "b", "c", "d"}


def test_constants_and_protected_variables_are_guarded() -> None:
    first = b"global: {context: {LIMIT: 1, _own: 1, free: 1}}\ntools: {t: {context: {_own: 2}}}\n"
    second = b"global: {context: {LIMIT: 2, _own: 3, free: 2}}\n"
    files = [parse_mapping(first, "a.yml"), parse_mapping(second, "b.yml")]
    configuration = merge_files(files)
    said = [str(problem) for problem in configuration.problems]
    assert len(said) == 2
    assert any("constant LIMIT" in each and "a.yml:1" in each for each in said)
    assert any("protected variable _own" in each for each in said)
    assert {n: s.value for n, s in configuration.context.items()} == {
        "LIMIT": 1, "_own": 1, "free": 2,
    }  # fmt: skip


def test_a_user_without_roles_and_no_user_at_all_are_mapped() -> None:
    assert place(TRUSTED, T._replace(user=Person("x"))).chosen
    assert place(TRUSTED, T._replace(user=None)).chosen


def test_without_any_destination_there_is_nowhere_to_go() -> None:
    found = place("tools: {t: {}}")
    assert found.outcome is MappingOutcome.NOWHERE


# Pools

POOLS = """
tools: {t: {cores: 4, scheduling: {accept: [big]}}}
pools: {p: {max_concurrent_cores: 8, scheduling: {require: [big]}}}
destinations: {d: {runner: r}}
"""


def test_a_pool_lets_jobs_wait_while_its_budget_is_used_up() -> None:
    asked, request = mapper(POOLS), T._replace(user=ANYONE)
    for held, outcome in (
        (0, MappingOutcome.CHOSEN),
        (4, MappingOutcome.CHOSEN),
        (5, MappingOutcome.WAITS),
    ):
        facts = ClusterFacts(in_use={"p": Amounts(cores=held)})
        assert asked.place(request, facts).outcome is outcome
        assert decide(asked, request, facts).chosen.outcome is outcome
    assert asked.pools_of(request) == (Amounts(cores=4), ("p",))


def test_a_job_over_a_pools_budget_never_runs() -> None:
    text = POOLS.replace("cores: 4", "cores: 9")
    found = mapper(text).place(T._replace(user=ANYONE))
    assert found.outcome is MappingOutcome.FAILED
    assert "9 CPUs of 8" in found.message
    assert mapper(text.replace("[big]}}}\npools", "[]}}}\npools")).place(T).chosen


# Attempts


def test_a_job_may_ask_for_more_with_each_attempt() -> None:
    asked = mapper(
        "tools:\n  t: {mem: 4 * 2 ** (attempt - 1), resubmit: {h: {condition: attempt < 3}}}\n"
        "destinations: {d: {runner: r}}"
    )
    request, found = T, []
    while True:
        placement = asked.place(request)
        found.append(placement.amounts.mem)
        again = next_attempt(placement.resubmit, JobEnd(attempt=request.attempt))
        if again is None:
            break
        request = request._replace(attempt=again.attempt)
    assert found == [4, 8, 16]
