"""examples/mapping, each with what TPV's documentation says of it, in dialect seed."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rowtui.core.clusters.model import Cluster, Identify, Partition, PartitionLoad
from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.case_reader import read_cases
from rowtui.core.mapping.files.cases import run_cases
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.cluster_destinations import destinations_of
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.decision import Decision, MappingOutcome, Placement
from rowtui.core.mapping.model.request import NOTHING_KNOWN, ClusterFacts, MappingRequest, Person

FOLDER = Path(__file__).parents[3] / "examples" / "mapping"
FILES = sorted(path.name for path in FOLDER.glob("*.yml") if path.name != "cases.yml")

# Where an example has no destinations, those of this cluster are there, as in a project.
CLUSTER = Cluster("ours", Identify(), "slurm", (Partition("a"), Partition("b"), Partition("c")))


def load(name: str, *more: str) -> Configuration:
    """An example, with other files laid over it."""
    texts = [(FOLDER / name).read_text(encoding="utf-8"), *more]
    files = [
        parse_mapping(text.encode(), name if at == 0 else f"more{at}.yml")
        for at, text in enumerate(texts)
    ]
    return merge_files(files)


def mapper_of(name: str, *more: str, seed: int = 0) -> Mapper:
    configuration = load(name, *more)
    assert [str(problem) for problem in configuration.problems] == []
    added = () if configuration.of_kind("destinations") else destinations_of(CLUSTER)
    return Mapper(configuration, added=added, chance=random.Random(seed))


def request(
    action: str,
    input_size: float = 6.0,
    *,
    user: str = "",
    roles: tuple[str, ...] = (),
    previous: Mapping[str, Any] | None = None,
) -> MappingRequest:
    person = Person(user, roles) if user else None
    return MappingRequest(action, person, input_size=input_size, previous_params=previous)


def place(mapper: Mapper, action: str, input_size: float = 6.0, **rest: Any) -> Placement:
    return mapper.place(request(action, input_size, **rest))


def explained(mapper: Mapper, action: str, input_size: float = 6.0, **rest: Any) -> Decision:
    return decide(mapper, request(action, input_size, **rest))


def tags_of(decision: Decision) -> dict[str, str]:
    return {tag: strength for strength, tag, _ in decision.tags}


@pytest.mark.parametrize("name", FILES)
def test_an_example_has_no_problem_and_speaks_seed(name: str) -> None:
    configuration = load(name)

    assert configuration.problems == ()
    assert configuration.broken == {}
    assert configuration.dialect.name == "seed"


def test_the_cases_beside_the_examples_pass() -> None:
    found = read_cases((FOLDER / "cases.yml").read_bytes(), "cases.yml")

    assert found.problems == ()
    results = run_cases(mapper_of("users-and-roles.yml"), found.cases)
    assert [(each.case.name, each.differences) for each in results if not each.passed] == []
    assert len(results) == 3


def test_there_is_one_file_for_each_section_of_the_text() -> None:
    assert {name.removesuffix(".yml") for name in FILES} >= {
        "simple", "default-inheritance", "explicit-inheritance", "tags", "rules",
        "users-and-roles", "rank", "context", "multiple-matches", "resubmit",
    }  # fmt: skip


# Simple configuration


def test_simple_mem_is_worked_out_from_cores() -> None:
    placed = place(mapper_of("simple.yml"), "hisat2")

    assert placed.destination == "slurm"
    assert placed.amounts == (1, 12, 48)


def test_simple_hisat2_does_not_schedule_on_general_pulsar_1_for_want_of_cores() -> None:
    decision = explained(mapper_of("simple.yml"), "hisat2")

    (refusal,) = decision.refusals
    assert refusal.destination_id == "general_pulsar_1"
    assert ("max_accepted_cores", "cores 12", "at most 8") in [c[:3] for c in refusal.failed]


def test_simple_needs_that_are_left_out_match() -> None:
    # A tool that says nothing fits everywhere.
    assert [each.rank for each in explained(mapper_of("simple.yml"), "other").candidates] == [1, 2]

    # A destination that says nothing takes everything.
    mapper = mapper_of("simple.yml", "destinations: {roomy: {}}")
    assert {each.destination_id for each in explained(mapper, "hisat2").candidates} == {
        "slurm",
        "roomy",
    }


def test_simple_tools_are_matched_by_regular_expressions_too() -> None:
    mapper = mapper_of("simple.yml", "tools: {'fast(qc|p)': {cores: 3}}")

    assert [place(mapper, name).amounts.cores for name in ("fastqc", "fastp")] == [3, 3]
    assert place(mapper, "fastx").amounts.cores is None


# Default inheritance

NATIVE = "--nodes=1 --ntasks={0} --ntasks-per-node={0} --mem={1}"


def test_default_inheritance_bwa_matches_the_default() -> None:
    decision = explained(mapper_of("default-inheritance.yml"), "bwa")

    assert decision.chosen.amounts == (None, 2, 4)
    assert decision.chosen.params["nativeSpecification"] == NATIVE.format(2, 4096)
    assert [each.origin.id for each in decision.matched] == ["default"]


def test_default_inheritance_hisat2_overrides_amounts_and_inherits_params() -> None:
    placed = place(mapper_of("default-inheritance.yml"), "hisat2")

    assert placed.amounts == (1, 12, 48)
    assert placed.params["nativeSpecification"] == NATIVE.format(12, 48 * 1024)


# Explicit inheritance


def test_explicit_inheritance_minimap2_inherits_hisat2_which_inherits_the_default() -> None:
    placed = place(mapper_of("explicit-inheritance.yml"), "minimap2")

    assert placed.amounts == (0, 8, 32)  # mem: cores * 4 comes from hisat2, with its own cores
    assert placed.params["nativeSpecification"] == NATIVE.format(8, 32 * 1024)
    assert place(mapper_of("explicit-inheritance.yml"), "hisat2").amounts == (1, 12, 48)


def test_explicit_inheritance_has_no_limit_to_its_depth() -> None:
    links = "".join(f"  link{n}: {{inherits: link{n + 1}}}\n" for n in range(300))
    mapper = mapper_of("explicit-inheritance.yml", f"tools:\n{links}  link300: {{cores: 7}}\n")

    placed = place(mapper, "link0")
    assert placed.amounts == (None, 7, 4)
    assert placed.params["nativeSpecification"] == NATIVE.format(7, 4096)


# Scheduling tags


def test_tags_hisat2_prefers_highmem_inherits_the_rejection_and_goes_to_slurm() -> None:
    decision = explained(mapper_of("tags.yml"), "hisat2")

    assert tags_of(decision) == {"highmem": "prefer", "offline": "reject"}
    assert decision.chosen.destination == "slurm"
    (refusal,) = decision.refusals
    assert refusal.destination_id == "general_pulsar_1"
    assert [check[:3] for check in refusal.failed] == [
        ("tag offline", "the job rejects it", "the destination rejects it")
    ]


def test_tags_minimap2_requires_what_hisat2_prefers_and_has_nowhere_to_go() -> None:
    decision = explained(mapper_of("tags.yml"), "minimap2")

    assert tags_of(decision) == {"highmem": "require", "offline": "reject"}
    assert decision.chosen.outcome is MappingOutcome.NOWHERE
    assert decision.chosen.cause == "JobMappingException"
    assert {
        each.destination_id: [c.constraint for c in each.failed] for each in decision.refusals
    } == {
        "slurm": ["tag highmem"],
        "general_pulsar_1": ["tag offline"],
    }


def test_tags_all_tools_reject_offline_so_that_default_ones_go_to_slurm_alone() -> None:
    decision = explained(mapper_of("tags.yml"), "bwa")

    assert tags_of(decision) == {"offline": "reject"}
    assert [each.destination_id for each in decision.candidates] == ["slurm"]


def test_tags_what_would_admit_hisat2_to_pulsar_is_not_to_reject_offline() -> None:
    (refusal,) = explained(mapper_of("tags.yml"), "hisat2").refusals

    (change,) = refusal.changes
    assert change.words == "without the tag offline"
    assert change.would_be_first  # it prefers highmem, as the text says: it would go there


# Rules


def test_rules_of_the_default_concern_all_tools() -> None:
    mapper = mapper_of("rules.yml")

    refused = place(mapper, "anything", 4)
    assert (refused.outcome, refused.cause) == (MappingOutcome.FAILED, "JobMappingException")
    assert refused.message == "We don't run piddling datasets of 4.0GB"
    assert place(mapper, "anything", 5).amounts == (None, 2, 6)


def test_rules_are_overridden_by_their_id() -> None:
    mapper = mapper_of("rules.yml")

    # What the default refuses is not refused for bwa, which has another idea of small.
    assert place(mapper, "bwa", 4).outcome is MappingOutcome.WAITS
    refused = place(mapper, "bwa", 0.5)
    assert (refused.outcome, refused.message) == (
        MappingOutcome.FAILED,
        "We don't run piddling datasets",
    )


def test_rules_with_a_raised_exception_let_the_job_wait() -> None:
    placed = place(mapper_of("rules.yml"), "bwa", 10)

    assert (placed.outcome, placed.cause) == (MappingOutcome.WAITS, "JobNotReadyException")


def test_rules_an_input_of_15_requires_pulsar_and_highmem() -> None:
    decision = explained(mapper_of("rules.yml"), "bwa", 15)

    assert tags_of(decision) == {"pulsar": "require", "highmem": "require"}
    assert decision.chosen.destination == "pulsar_highmem"
    assert {each.destination_id for each in decision.refusals} == {"pulsar", "anything_else"}


@pytest.mark.parametrize("size", [20, 250])
def test_rules_fail_with_a_message_that_is_filled_in(size: int) -> None:
    refused = place(mapper_of("rules.yml"), "bwa", size)

    assert refused.outcome is MappingOutcome.FAILED
    assert refused.message == f"Input size: {float(size)} is too large shouldn't run"


def test_rules_properties_override_those_of_the_tool() -> None:
    more = "tools: {samtools: {rules: [{if: input_size == 7, cores: 3, mem: cores * 5}]}}"
    mapper = mapper_of("rules.yml", more)

    assert place(mapper, "samtools", 7).amounts == (None, 3, 15)
    assert place(mapper, "samtools", 8).amounts == (None, 2, 6)


def test_rules_without_an_id_are_never_overridden() -> None:
    # A later file has rules for bwa as well, the first of them at the place of the first.
    more = "tools: {bwa: {rules: [{if: input_size == 15, cores: 9}]}}"
    mapper = mapper_of("rules.yml", more)

    assert place(mapper, "bwa", 10).outcome is MappingOutcome.WAITS  # rule 2 is still there
    assert place(mapper, "bwa", 25).outcome is MappingOutcome.FAILED  # and rule 4
    assert place(mapper, "bwa", 15).amounts.cores == 9


def test_rules_may_have_conditions_of_several_lines_that_see_app_job_tool_and_user() -> None:
    more = """
tools:
  samtools:
    rules:
      - if: |
          wanted = ("samtools", 2)
          found = (tool.id, job.attempt + 1)
          app is not None and user is None and found == wanted
        cores: 11
"""
    assert place(mapper_of("rules.yml", more), "samtools").amounts.cores == 11


def test_rules_execute_for_its_effects_and_its_value_is_ignored() -> None:
    more = """
tools:
  samtools:
    rules:
      - if: true
        execute: |
          entity.params["seen"] = "yes"
          "this value goes nowhere"
"""
    placed = place(mapper_of("rules.yml", more), "samtools")
    assert (placed.outcome, placed.params) == (MappingOutcome.CHOSEN, {"seen": "yes"})


# User and role handling

FAIRYCAKE = "fairycake@vortex.org"


def test_users_the_lower_of_cores_and_mem_counts_so_that_fairycake_has_4_and_8() -> None:
    placed = place(mapper_of("users-and-roles.yml"), "dangerous_interactive_tool", user=FAIRYCAKE)

    assert placed.chosen
    assert placed.amounts == (None, 4, 8)


def test_users_all_others_reject_the_tag_and_cannot_run_the_dangerous_tool() -> None:
    mapper = mapper_of("users-and-roles.yml")

    refused = place(mapper, "dangerous_interactive_tool", user="somebody")
    assert refused.outcome is MappingOutcome.INCOMPATIBLE
    assert refused.cause == "IncompatibleTagsException"
    assert "authorize_dangerous_tool" in refused.message
    assert place(mapper, "another_tool", user="somebody").destination == "cluster"


def test_users_an_acceptance_overrides_the_default_rejection() -> None:
    mapper = mapper_of("users-and-roles.yml")
    decision = explained(mapper, "dangerous_interactive_tool", user=FAIRYCAKE)

    tags = tags_of(decision)
    assert tags["authorize_dangerous_tool"] == "require"  # the stronger claim of the two
    assert (tags["highmem"], tags["general"], tags["pulsar"]) == ("prefer", "prefer", "reject")
    assert decision.chosen.destination == "authorized"


def test_users_training_roles_have_fewer_cores_than_usual() -> None:
    mapper = mapper_of("users-and-roles.yml")
    wanted = "dangerous_interactive_tool"

    assert place(mapper, wanted, user=FAIRYCAKE, roles=("training-2026",)).amounts == (None, 4, 7)
    placed = place(
        mapper_of("users-and-roles.yml", "tools: {assembly: {cores: 64, mem: 900}}"),
        "assembly",
        user="somebody",
        roles=("training-2026",),
    )
    assert placed.amounts == (None, 5, 7)


def test_users_env_and_params_are_merged_user_over_role_over_tool() -> None:
    mapper = mapper_of(
        "users-and-roles.yml",
        "tools: {plot: {env: {A: tool, B: tool, C: tool}, params: {p: tool, q: tool, r: tool}}}\n"
        "roles: {training.*: {env: {B: role, C: role}, params: {q: role, r: role}}}\n"
        "users: {fairycake.*: {env: {C: user}, params: {r: user}}}\n",
    )
    placed = place(mapper, "plot", user=FAIRYCAKE, roles=("training",))

    assert {each["name"]: each["value"] for each in placed.env} == {
        "A": "tool",
        "B": "role",
        "C": "user",
    }
    assert placed.params == {"p": "tool", "q": "role", "r": "user"}


def test_users_and_roles_can_have_rules() -> None:
    mapper = mapper_of(
        "users-and-roles.yml",
        "roles: {training.*: {rules: [{if: input_size > 5, fail: too much for a course}]}}\n"
        "users: {fairycake.*: {rules: [{if: input_size > 5, cores: 3}]}}\n",
    )
    wanted = "dangerous_interactive_tool"

    assert place(mapper, wanted, 6, user=FAIRYCAKE).amounts.cores == 3
    assert place(mapper, wanted, 5, user=FAIRYCAKE).amounts.cores == 4
    refused = place(mapper, "plot", 6, user="somebody", roles=("training",))
    assert (refused.outcome, refused.message) == (MappingOutcome.FAILED, "too much for a course")


# Rank


def busy(**waits: float | None) -> ClusterFacts:
    loads = {
        ("ours", name): PartitionLoad(name, 64, 8, 0, 0, 4, 1, 0, 3, 2, 16, wait)
        for name, wait in waits.items()
    }
    return ClusterFacts(generation=len(loads), loads=loads)


def order(mapper: Mapper, facts: ClusterFacts = NOTHING_KNOWN) -> list[str]:
    decision = decide(mapper, request("bwa"), facts)
    return [each.destination_id for each in decision.candidates if each.rank]


def test_rank_among_equals_the_shortest_queue_comes_first() -> None:
    assert order(mapper_of("rank.yml"), busy(a=900.0, b=60.0, c=300.0)) == [
        "ours/b",
        "ours/c",
        "ours/a",
    ]


def test_rank_a_queue_of_which_nothing_is_known_comes_last() -> None:
    assert order(mapper_of("rank.yml"), busy(a=None, b=900.0, c=60.0)) == [
        "ours/c",
        "ours/a",
        "ours/b",
    ]


def test_rank_preference_comes_before_the_queue() -> None:
    more = """
tools: {bwa: {scheduling: {prefer: [fast_disks]}}}
destinations:
  idle: {runner: ours, params: {partition: a}}
  liked: {runner: ours, params: {partition: b}, scheduling: {prefer: [fast_disks]}}
"""
    assert order(mapper_of("rank.yml", more), busy(a=0.0, b=7200.0)) == ["liked", "idle"]


def test_rank_without_facts_falls_back_to_a_draw_by_weight() -> None:
    more = """
destinations:
  often: {params: {weight: 9}}
  seldom: {params: {weight: 1}}
  never: {params: {weight: 0}}
"""
    drawn = [order(mapper_of("rank.yml", more, seed=seed)) for seed in range(40)]

    assert all(sorted(each) == ["often", "seldom"] for each in drawn)
    first = [each[0] for each in drawn]
    assert first.count("often") > first.count("seldom") > 0


def test_rank_without_a_function_is_by_score_as_the_example_computes_it() -> None:
    more = """
tools: {bwa: {rank: "RANK", scheduling: {prefer: [x, y]}}}
destinations:
  none: {}
  one: {scheduling: {prefer: [x]}}
  two: {scheduling: {prefer: [x, y]}}
  penalty: {scheduling: {prefer: [x, z]}}
"""
    by_hand = "sorted(candidate_destinations, key=lambda d: -d.score(entity))"
    expected = ["two", "one", "none", "penalty"]

    assert order(mapper_of("rank.yml", more.replace("RANK", by_hand))) == expected
    without = merge_files([parse_mapping(more.replace('rank: "RANK", ', "").encode(), "m.yml")])
    assert order(Mapper(without)) == expected


# Custom contexts


def test_context_a_large_file_gets_10_cores_for_bwa_at_15_but_not_for_hisat2() -> None:
    mapper = mapper_of("context.yml")

    assert place(mapper, "bwa", 15).amounts == (None, 10, 4)
    assert place(mapper, "hisat2", 15).amounts == (1, 2, 8)
    assert place(mapper, "hisat2", 21).amounts == (1, 10, 40)
    assert place(mapper, "bwa", 10).amounts.cores == 2


def test_context_params_are_filled_in_late_with_the_variables_of_the_inheriting_tool() -> None:
    mapper = mapper_of("context.yml")

    assert place(mapper, "bwa", 15).params["nativeSpecification"] == (
        "--nodes=1 --ntasks=10 --ntasks-per-node=10 --mem=4096 --my-custom-param"
    )
    assert place(mapper, "hisat2", 15).params["nativeSpecification"] == (
        "--nodes=1 --ntasks=2 --ntasks-per-node=2 --mem=8192 --overridden-param"
    )


def test_context_the_absolute_limit_concerns_all() -> None:
    for action in ("bwa", "hisat2"):
        refused = place(mapper_of("context.yml"), action, 100)
        assert refused.outcome is MappingOutcome.FAILED
        assert refused.message == "Job input: 100.0 exceeds absolute limit of: 100"


def test_context_global_variables_reach_all_entities() -> None:
    more = """
users: {ada: {env: {SEEN: "{large_file_size} {_a_protected_var} {ABSOLUTE_FILE_SIZE_LIMIT}"}}}
"""
    placed = place(mapper_of("context.yml", more), "bwa", user="ada")
    assert placed.env[0]["value"] == "10 some value 100"


def test_context_of_the_default_tool_is_there_for_inheriting_tools_only() -> None:
    more = """
global: {default_inherits: nobody}
tools:
  nobody: {}
  orphan: {params: {spec: "{additional_spec}"}}
  heir: {inherits: default}
"""
    mapper = mapper_of("context.yml", more)

    assert place(mapper, "heir").params["nativeSpecification"].endswith("--my-custom-param")
    orphan = explained(mapper, "orphan")
    assert not orphan.chosen.chosen
    assert {"NameError: name 'additional_spec' is not defined"} == {
        each.passed_over for each in orphan.candidates
    }


def test_context_a_public_variable_may_be_changed_even_across_files() -> None:
    mapper = mapper_of("context.yml", "global: {context: {large_file_size: 50}}")

    assert place(mapper, "bwa", 15).amounts.cores == 2
    assert place(mapper, "hisat2", 30).amounts.cores == 10  # the entity's own, 20, comes first


@pytest.mark.parametrize(
    "more",
    [
        "global: {context: {ABSOLUTE_FILE_SIZE_LIMIT: 500}}",
        "tools: {bwa: {context: {ABSOLUTE_FILE_SIZE_LIMIT: 500}}}",
        "global: {context: {_a_protected_var: other}}",
        "tools: {bwa: {context: {_a_protected_var: other}}}",
    ],
)
def test_context_constants_and_protected_variables_are_kept_from_other_files(more: str) -> None:
    configuration = load("context.yml", more)

    (problem,) = configuration.problems
    assert problem.file == "more1.yml"
    assert "context.yml:" in problem.hint
    # The global value stays; a tool that tries it is broken, and no other.
    mapper = Mapper(configuration, added=destinations_of(CLUSTER))
    assert place(mapper, "hisat2").chosen
    assert place(mapper, "bwa", 100).outcome in {MappingOutcome.FAILED, MappingOutcome.BROKEN}


def test_context_a_protected_variable_may_be_changed_within_its_file() -> None:
    text = (FOLDER / "context.yml").read_text(encoding="utf-8")
    inside = text.replace("large_file_size: 20", "_a_protected_var: mine")

    assert inside != text
    assert merge_files([parse_mapping(inside.encode(), "context.yml")]).problems == ()


# Multiple matches


def test_multiple_matches_hisat2_has_a_mem_of_8_with_1_gpu() -> None:
    placed = place(mapper_of("multiple-matches.yml"), "hisat2/2.0.0")

    assert placed.amounts == (1, 2, 8)
    assert placed.env == ()


def test_multiple_matches_the_special_version_adds_the_variable_and_keeps_the_mem() -> None:
    decision = explained(mapper_of("multiple-matches.yml"), "hisat2/2.1.0+galaxy7")

    assert decision.chosen.amounts == (1, 2, 8)
    assert decision.chosen.env == ({"name": "MY_ADDITIONAL_FLAG", "value": "test"},)
    assert [each.origin.id for each in decision.matched] == [
        "default",
        "hisat2.*",
        r"hisat2/2\.1\.0\+galaxy7",
    ]


def test_multiple_matches_the_order_of_appearance_goes_across_files() -> None:
    last = mapper_of("multiple-matches.yml", "tools: {'.*2/2.*': {mem: 99, gpus: 0}}")

    assert place(last, "hisat2/2.1.0+galaxy7").amounts == (0, 2, 99)

    # The other way round, what is general comes last and wins.
    files = [
        parse_mapping(b"tools: {'.*2/2.*': {mem: 99, gpus: 0}}", "first.yml"),
        parse_mapping((FOLDER / "multiple-matches.yml").read_bytes(), "multiple-matches.yml"),
    ]
    mapper = Mapper(merge_files(files), added=destinations_of(CLUSTER))
    assert place(mapper, "hisat2/2.1.0+galaxy7").amounts == (1, 2, 8)


# Job resubmission


def test_resubmit_memory_doubles_with_the_factor_over_the_attempts() -> None:
    mapper = mapper_of("resubmit.yml")

    previous: Mapping[str, Any] | None = None
    seen = []
    for _ in range(4):
        placed = place(mapper, "bwa", previous=previous)
        previous = placed.params
        seen.append((placed.amounts.mem, placed.params["SCALING_FACTOR"]))
    assert seen == [(4, "2"), (8, "4"), (16, "8"), (32, "16")]


def test_resubmit_carries_its_condition_and_destination() -> None:
    placed = place(mapper_of("resubmit.yml"), "bwa")

    assert placed.resubmit == {
        "with_more_mem_on_failure": {
            "condition": "memory_limit_reached and attempt <= 3",
            "destination": "tpv_dispatcher",
        }
    }


def test_resubmit_as_printed_in_the_text_gives_the_first_attempt_1_gb() -> None:
    # Python reads `4 * x if given else 1` as `(4 * x) if given else 1`.
    more = """
tools:
  default:
    mem: 4 * int(job.destination_params.get('SCALING_FACTOR', 1)) if job.destination_params else 1
"""
    mapper = mapper_of("resubmit.yml", more)

    first = place(mapper, "bwa")
    assert first.amounts.mem == 1
    assert place(mapper, "bwa", previous=first.params).amounts.mem == 8
