"""Every attribute that TPV 3.3 shows to expressions: here, or left out with a reason.

The lists of names were read from TPV 3.3.0's classes (`dir`, without pydantic's own names).
"""

from __future__ import annotations

import pytest
from rowtui.core.mapping.code.model import IncompatibleTagsException
from rowtui.core.mapping.engine.helper_functions import HELPERS
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.galaxy.modules import has_in_module
from rowtui.core.mapping.galaxy.objects import ShownMapper
from rowtui.core.mapping.lint.lint import lint
from rowtui.core.mapping.model.decision import MappingOutcome
from rowtui.core.mapping.model.dialect import SEED, TPV3
from rowtui.core.mapping.model.entities import Destination, Entity, Rule, Tool, User
from rowtui.core.mapping.model.request import MappingRequest, Person
from rowtui.core.mapping.model.tags import InvalidTagsError, SchedulingTags, TagType

_TAGS = (
    "accept add_tag_override all_tag_values can_combine check_duplicates combine filter inherit "
    "match prefer reject require score tags"
)
_ENTITY = (
    "abstract combine context convert_env cores env evaluate evaluate_resources evaluator gpus id "
    "inherit inherits max_concurrent_cores max_concurrent_gpus max_concurrent_mem max_cores "
    "max_gpus max_mem mem merge_env_list merge_order min_cores min_gpus min_mem model_copy "
    "no_qa_codes override override_single_property params precompile_properties preprocess "
    "propagate_parent_properties rank rank_destinations resubmit should_skip_qa tpv_tags"
)
_DESTINATION = (
    f"{_ENTITY} deserialize_rules dest_name evaluate_rules handler_tags matches max_accepted_cores "
    "max_accepted_gpus max_accepted_mem min_accepted_cores min_accepted_gpus min_accepted_mem "
    "rules runner score tpv_dest_tags"
)
_RULE = f"{_ENTITY} execute fail if_condition is_matching rule_counter set_default_id"
_MAPPER = (
    "admit_to_pools combine_entities config default_inherits destinations global_context "
    "inherit_entities inherit_matching_entities loader lookup_tool_regex map_to_destination "
    "match_and_rank_destinations match_combine_evaluate_entities pools rank resource_pools "
    "to_galaxy_destination"
)
_HELPERS = (
    "calculate_dataset_total concurrent_job_count_for_tool get_dataset_attributes "
    "get_dataset_size get_input_dataset get_input_datasets get_input_size "
    "get_tool_resource_field input_size job_args_match tag_values_match tool_version_eq "
    "tool_version_gt tool_version_gte tool_version_lt tool_version_lte weighted_choice "
    "weighted_random_sampling"
)
_IMPORTED = (
    "Destination Entity EntityWithRules IncompatibleTagsException Role Rule SchedulingTags Tag "
    "TagType Tool TryNextDestinationOrFail TryNextDestinationOrWait User"
)
# How TPV reads files, compiles and evaluates code: steps of a mapping that is under way, which an
# expression cannot take a second time.
_MACHINERY = (
    "check_duplicates convert_env deserialize_rules evaluate evaluate_resources evaluate_rules "
    "evaluator is_matching merge_env_list merge_order no_qa_codes override "
    "override_single_property precompile_properties preprocess propagate_parent_properties "
    "rank_destinations rule_counter set_default_id should_skip_qa "
    "admit_to_pools combine_entities config inherit_entities inherit_matching_entities loader "
    "lookup_tool_regex map_to_destination match_and_rank_destinations "
    "match_combine_evaluate_entities pools rank resource_pools to_galaxy_destination"
)


@pytest.mark.parametrize(
    ("ours", "names"),
    [
        (SchedulingTags(), _TAGS),
        (Tool("t"), _ENTITY),
        (User("u"), _ENTITY),
        (Destination("d"), _DESTINATION),
        (Rule("r"), _RULE),
        (ShownMapper({}, None, {}), _MAPPER),
    ],
)
def test_an_object_has_what_tpvs_has(ours: object, names: str) -> None:
    missing = {name for name in names.split() if not hasattr(ours, name)}

    assert missing <= set(_MACHINERY.split())


def test_helpers_and_classes_of_tpv_can_be_used() -> None:
    assert set(_HELPERS.split()) <= HELPERS
    assert all(has_in_module("tpv.core.entities", name) for name in _IMPORTED.split())


def test_tags_inherit_combine_match_and_score_as_in_tpv() -> None:
    job = SchedulingTags(require=["a"], prefer=["b"], accept=["c"], reject=["d"])
    more = SchedulingTags(require=["b"], accept=["a", "e"])

    assert more.inherit(job) == SchedulingTags(require=["b"], accept=["c", "a", "e"], reject=["d"])
    assert job.combine(more) == SchedulingTags(require=["a", "b"], accept=["c", "e"], reject=["d"])
    assert job.combine(more).require == ["b", "a"]  # the other's first, as in TPV
    assert job.match(SchedulingTags(accept=["a"]))
    assert not job.match(SchedulingTags(prefer=["b"]))
    assert not job.can_combine(SchedulingTags(reject=["a"]))
    with pytest.raises(IncompatibleTagsException, match="'a' is required on one side"):
        job.combine(SchedulingTags(reject=["a"]))


def test_tags_count_by_the_dialect_of_their_configuration() -> None:
    offered, made = SchedulingTags(prefer=["x"], accept=["y"]), SchedulingTags(prefer=["x"])
    offered.dialect = TPV3
    assert (offered.score(made), made.score(offered)) == (3, 4)
    offered.dialect = SEED
    assert (offered.score(made), made.score(offered)) == (1, 1)
    assert not offered.can_combine(SchedulingTags(reject=["x"]))
    assert SchedulingTags(reject=["x"]).inherit(offered).dialect is SEED


def test_a_list_of_tags_that_was_set_to_none_is_empty() -> None:
    tags = SchedulingTags(require=["a"], prefer=["b"])
    tags.prefer = None  # type: ignore[assignment]

    tags.add_tag_override(TagType.PREFER, "a")

    assert tags.lists() == {"require": [], "prefer": ["a"], "accept": [], "reject": []}
    assert tags.copy() == tags.combine(SchedulingTags()) == tags


@pytest.mark.parametrize("wrong", ["q", b"q", [1], [["q"]]])
def test_what_is_no_list_of_texts_makes_no_tags(wrong: object) -> None:
    with pytest.raises(InvalidTagsError, match="must be"):
        SchedulingTags(require=wrong)  # type: ignore[arg-type]


def test_a_destination_says_whether_it_takes_an_entity() -> None:
    place = Destination("d")
    place.max_accepted_cores, place.min_accepted_mem = 8, 4
    place.tpv_dest_tags = SchedulingTags(accept=["q"])
    asked = Tool("t")
    asked.tpv_tags = SchedulingTags(require=["q"])

    assert place.matches(asked, {})
    assert place.matches(asked.model_copy(update={"cores": 8, "mem": "4"}), {})
    assert not place.matches(asked.model_copy(update={"cores": 9}), {})
    assert not place.matches(asked.model_copy(update={"mem": 3}), {})
    assert not place.matches(asked.model_copy(update={"tpv_tags": SchedulingTags(["z"])}), {})
    assert not Destination("d").model_copy(update={"abstract": True}).matches(asked, {})


def test_entities_inherit_and_combine() -> None:
    under, over = Tool("t"), User("u")
    under.cores, under.mem, over.mem = 4, 8, 2
    under.tpv_tags, over.tpv_tags = SchedulingTags(prefer=["a"]), SchedulingTags(require=["a"])

    for made in (over.inherit(under), over.combine(under)):
        assert isinstance(made, Entity)
        assert (made.cores, made.mem, made.tpv_tags.require) == (4, 2, ["a"])
    over.tpv_tags = SchedulingTags(reject=["b"])
    under.tpv_tags = SchedulingTags(require=["b"])
    with pytest.raises(IncompatibleTagsException):
        over.combine(under)


_REMOTE = """
global: {dialect: %s}
tools:
  default: {cores: 1, mem: 2}
  .*:
    rules:
      - id: remote_resources
        if: true
        execute: |
          from tpv.core.entities import SchedulingTags
          %s
    rank: |
      [d for d in candidate_destinations if d.matches(entity, {})]
destinations:
  near: {runner: r, max_accepted_cores: 8, scheduling: {prefer: [p]}}
  far: {runner: r, max_accepted_cores: 8, scheduling: {accept: [q]}}
"""
_LINE = 'entity.tpv_tags = entity.tpv_tags.combine(SchedulingTags(require=["q"]))'


@pytest.mark.parametrize("dialect", ["seed", "tpv3"])
def test_a_rule_that_combines_tags_sends_the_job_elsewhere(dialect: str) -> None:
    configuration = merge_files([parse_mapping((_REMOTE % (dialect, _LINE)).encode(), "m.yml")])
    mapper = Mapper(configuration)

    for _ in range(2):
        assert mapper.place(MappingRequest("t")).destination == "far"
    assert not [each for each in lint(configuration) if each.severity == "error"]


@pytest.mark.parametrize("dialect", ["seed", "tpv3"])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('entity.tpv_tags.require = "q"', "left tpv_tags with an invalid value"),
        ("entity.tpv_tags.require = [1]", "left tpv_tags with an invalid value"),
        ('entity.tpv_tags = SchedulingTags(require="q")', "must be a list"),
        (
            "a = SchedulingTags(require=['q']).combine(SchedulingTags(reject=['q']))",
            "IncompatibleTagsException: the tag 'q' is required on one side",
        ),
    ],
)
def test_tags_that_cannot_be_are_an_error_of_the_job(line: str, words: str, dialect: str) -> None:
    text = _REMOTE % (dialect, line)
    found = Mapper(merge_files([parse_mapping(text.encode(), "m.yml")])).place(MappingRequest("t"))

    assert found.outcome is MappingOutcome.ERROR
    assert words in found.message


def test_a_request_may_carry_history_tags_and_preferences() -> None:
    text = (
        "tools:\n  t:\n    cores: len(job.history.tags) + 1\n"
        "    mem: user.extra_preferences.get('m', 2)\n"
        "destinations: {d: {runner: r}}\n"
    )
    mapper = Mapper(merge_files([parse_mapping(text.encode(), "m.yml")]))
    plain = MappingRequest("t", Person("ada"))

    found = [
        mapper.place(each).amounts[1:]
        for each in (
            plain,
            plain._replace(history_tags=("a", "b:c")),
            plain._replace(preferences={"m": 7}),
            plain,
        )
    ]

    assert found == [(1, 2), (3, 2), (1, 7), (1, 2)]
