"""`helpers`: TPV's functions with TPV's answers (its traps only for its dialect), and ours."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace as Thing
from typing import Any

import pytest
from rowtui.core.clusters.model import PartitionLoad
from rowtui.core.mapping.code.model import (
    JobNotReadyException,
    TryNextDestinationOrFail,
    TryNextDestinationOrWait,
)
from rowtui.core.mapping.engine.helper_functions import HELPERS, Helpers
from rowtui.core.mapping.galaxy.objects import App, GalaxyJob, GalaxyTool, GalaxyUser
from rowtui.core.mapping.model.tags import SchedulingTags

GB = 1024**3


@pytest.fixture
def helpers() -> Helpers:
    return Helpers(as_tpv=False, random=random.Random(1))


@pytest.fixture
def tpv() -> Helpers:
    return Helpers(as_tpv=True, random=random.Random(1))


def dataset(name: str, number: int, size: float, extension: str = "txt") -> Thing:
    stored = Thing(id=number, size=size, object_store_id="disk")
    return Thing(name=name, dataset=Thing(dataset=stored, extension=extension))


def test_every_listed_helper_is_there_and_no_other(helpers: Helpers) -> None:
    assert {name for name in dir(helpers) if not name.startswith("_")} == HELPERS


# Inputs


def test_the_size_of_a_job_without_datasets_is_that_of_its_declared_inputs(
    helpers: Helpers,
) -> None:
    job = GalaxyJob(input_size=2.5)

    assert helpers.input_size(job) == 2.5
    assert helpers.get_input_size(job) == 2.5
    assert helpers.get_input_size(job, "reads") == 0.0


def test_each_dataset_counts_once(helpers: Helpers) -> None:
    job = GalaxyJob(
        input_datasets=[dataset("a", 1, GB), dataset("a1", 1, GB), dataset("b", 2, 2 * GB)]
    )

    assert helpers.input_size(job) == 3.0
    assert helpers.calculate_dataset_total(job.input_datasets) == 3.0 * GB
    assert helpers.calculate_dataset_total(None) == 0.0
    assert helpers.get_dataset_attributes(job.input_datasets) == {
        1: {"object_store_id": "disk", "size": GB},
        2: {"object_store_id": "disk", "size": 2 * GB},
    }


def test_a_dataset_may_work_out_its_size(helpers: Helpers) -> None:
    stored = Thing(get_size=lambda nice_size, calculate_size: 7)

    assert helpers.get_dataset_size(stored) == 7.0


def test_inputs_without_a_dataset_are_left_out(helpers: Helpers) -> None:
    job = GalaxyJob(input_datasets=[Thing(name="a", dataset=None), dataset("b", 1, GB)])

    assert helpers.input_size(job) == 1.0
    assert len(helpers.get_input_datasets(job)) == 1


def test_the_datasets_of_a_parameter_are_found_by_its_name_and_a_number(helpers: Helpers) -> None:
    inputs = [dataset(n, i, GB) for i, n in enumerate(["in", "in1", "in2", "in_b", "xin", "c|in"])]
    job = GalaxyJob(input_datasets=inputs)

    assert [d.dataset.id for d in helpers.get_input_datasets(job, "in")] == [0, 1, 2]
    assert helpers.get_input_dataset(job, "c|in").dataset.id == 5
    assert helpers.get_input_dataset(job, "nothing") is None
    assert helpers.get_input_size(job, "in") == 3.0


def test_compressed_inputs_count_more_unless_told_otherwise(helpers: Helpers) -> None:
    job = GalaxyJob(input_datasets=[dataset("a", 1, GB, "fastq.gz"), dataset("b", 2, GB)])

    assert helpers.get_input_size(job) == pytest.approx(4.4)
    assert helpers.get_input_size(job, compression_factor=2) == pytest.approx(3.0)
    assert helpers.get_input_size(job, estimate_uncompressed_size=False) == 2.0


# Draws


def places(**weights: Any) -> list[Thing]:
    return [Thing(id=name, params={"weight": weight}) for name, weight in weights.items()]


def drawn(helpers: Helpers, destinations: list[Thing]) -> str:
    return "".join(each.id for each in helpers.weighted_random_sampling(destinations))


def test_sampling_gives_each_destination_once_and_the_heavy_ones_earlier(helpers: Helpers) -> None:
    firsts = Counter()
    for _ in range(3000):
        order = drawn(helpers, places(a=1, b=8, c=1))
        assert sorted(order) == ["a", "b", "c"]
        firsts[order[0]] += 1

    assert 0.75 < firsts["b"] / 3000 < 0.85  # 8 of 10
    assert 0.07 < firsts["a"] / 3000 < 0.13


def test_the_second_place_is_drawn_by_weight_among_the_rest(helpers: Helpers) -> None:
    orders = Counter(drawn(helpers, places(a=1, b=2, c=4)) for _ in range(6000))

    assert orders["cba"] / 6000 == pytest.approx(4 / 7 * 2 / 3, abs=0.03)
    assert orders["acb"] / 6000 == pytest.approx(1 / 7 * 4 / 6, abs=0.03)


def test_sampling_leaves_out_what_weighs_nothing(helpers: Helpers) -> None:
    assert {drawn(helpers, places(a=0, b=3)) for _ in range(50)} == {"b"}
    assert {drawn(helpers, places(a=-4, b=3)) for _ in range(50)} == {"b"}
    assert {drawn(helpers, places(a=0, b=0)) for _ in range(50)} == {"ab", "ba"}


def test_sampling_as_tpv_may_repeat_and_omit(tpv: Helpers) -> None:
    orders = {drawn(tpv, places(a=1, b=8, c=0)) for _ in range(200)}

    assert "bbb" in orders
    assert all(len(order) == 3 and "c" not in order for order in orders)


@pytest.mark.parametrize("as_tpv", [True, False])
def test_without_weights_sampling_is_a_shuffle(as_tpv: bool) -> None:
    helpers = Helpers(as_tpv=as_tpv, random=random.Random(3))
    destinations = [Thing(id="a", params=None), Thing(id="b", params={}), *places(c=1)]

    orders = Counter(drawn(helpers, destinations) for _ in range(1200))

    assert len(orders) == 6
    assert min(orders.values()) > 130
    assert helpers.weighted_random_sampling([]) == []


def test_a_weight_may_be_text_and_must_be_a_number(helpers: Helpers) -> None:
    assert {drawn(helpers, places(a="0", b="2.5")) for _ in range(20)} == {"b"}
    with pytest.raises(ValueError, match="the weight 'heavy' is not a number"):
        drawn(helpers, places(a="heavy"))


def test_the_same_source_of_chance_gives_the_same_order() -> None:
    def order(seed: int) -> str:
        helpers = Helpers(as_tpv=False, random=random.Random(seed))
        return "".join(drawn(helpers, places(a=1, b=2, c=3)) for _ in range(10))

    assert order(5) == order(5) != order(6)


@pytest.mark.parametrize("as_tpv", [True, False])
def test_one_item_is_chosen_by_weight(as_tpv: bool) -> None:
    helpers = Helpers(as_tpv=as_tpv, random=random.Random(2))
    items = [{"value": "a", "weight": 3}, {"value": "b"}, {"value": "c", "weight": 0}]

    found = Counter(helpers.weighted_choice(items)["value"] for _ in range(2000))

    assert set(found) == {"a", "b"}
    assert found["a"] / 2000 == pytest.approx(0.75, abs=0.05)
    assert (
        len(
            {
                helpers.weighted_choice([{"weight": 0}, {"weight": -1, "x": 1}])["weight"]
                for _ in range(50)
            }
        )
        == 2
    )
    with pytest.raises(ValueError):
        helpers.weighted_choice([])


# Jobs, tags, versions


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        ({"mode": "fast"}, True), ({"mode": "slow"}, False), ({"absent": 1}, False),
        ({"deep": {"level": 3}}, True), ({"deep": {"level": 4}}, False),
        ({"deep": {"absent": 3}}, False), ({"mode": "fast", "deep": {"level": 3}}, True),
        ({"mode": {"level": 3}}, False), ({"xs": [1, 2]}, True), ({}, False), (None, False),
        ("mode", False), ({"deep": {}}, False), ({"deep": {"level": 3, "other": "x"}}, True),
    ],
)  # fmt: skip
def test_parameters_match_when_all_of_them_are_there(
    helpers: Helpers, wanted: Any, holds: bool
) -> None:
    params = {"mode": "fast", "deep": {"level": 3, "other": "x"}, "xs": [1, 2]}

    assert helpers.job_args_match(GalaxyJob(params=params), App(), wanted) is holds


def test_jobs_of_all_versions_of_a_tool_are_counted(helpers: Helpers) -> None:
    app = App(
        jobs=[
            ("repo/fastqc/1", "ann"),
            ("repo/fastqc/2", "bob"),
            ("repo/fast/1", "ann"),
            ("sim", "ann"),
            ("sim2", "ann"),
        ]
    )

    assert helpers.concurrent_job_count_for_tool(app, GalaxyTool("repo/fastqc/3")) == 2
    assert (
        helpers.concurrent_job_count_for_tool(app, GalaxyTool("repo/fastqc/3"), GalaxyUser("ann"))
        == 1
    )
    assert helpers.concurrent_job_count_for_tool(app, GalaxyTool("sim")) == 1
    assert helpers.concurrent_job_count_for_tool(App(), GalaxyTool("sim")) == 0


def test_a_rejected_tag_matches_only_in_tpv(helpers: Helpers, tpv: Helpers) -> None:
    entity = Thing(tpv_tags=SchedulingTags(require=["a"], prefer=["b"], accept=["c"], reject=["d"]))

    for each in (helpers, tpv):
        assert each.tag_values_match(entity, match_tag_values=["a", "b", "c"])
        assert each.tag_values_match(entity, ["a"], exclude_tag_values=["z"])
        assert not each.tag_values_match(entity, ["a", "z"])
        assert not each.tag_values_match(entity, ["a"], ["b"])
        assert each.tag_values_match(entity)
    assert not helpers.tag_values_match(entity, ["d"])
    assert helpers.tag_values_match(entity, [], ["d"])
    assert tpv.tag_values_match(entity, ["d"])
    assert not tpv.tag_values_match(entity, [], ["d"])


def test_versions_are_compared(helpers: Helpers) -> None:
    tool = GalaxyTool("t", version="1.10.0+galaxy2")

    assert helpers.tool_version_gt(tool, "1.9") is True
    assert helpers.tool_version_gte(tool, "1.10.0+galaxy2") is True
    assert helpers.tool_version_eq(tool, "1.10.0+galaxy2") is True
    assert helpers.tool_version_lt(tool, "1.10.0+galaxy3") is True
    assert helpers.tool_version_lte(tool, "1.10.0+galaxy1") is False
    assert helpers.tool_version_eq(tool, None) is None
    assert helpers.tool_version_eq(GalaxyTool("t"), "1") is None


def test_what_an_action_says_it_needs_can_be_asked(helpers: Helpers) -> None:
    tool = GalaxyTool("t", resource_fields={"cores": 4, "max_mem": 8})

    assert helpers.get_tool_resource_field(tool, "cores") == 4
    assert helpers.get_tool_resource_field(tool, "gpus") is None


# Ours


def test_an_expression_can_wait_or_try_elsewhere(helpers: Helpers) -> None:
    with pytest.raises(JobNotReadyException, match="night"):
        helpers.wait("night")
    with pytest.raises(TryNextDestinationOrFail, match="full"):
        helpers.try_next("full")
    with pytest.raises(TryNextDestinationOrWait, match="busy"):
        helpers.try_next_or_wait("busy")


def test_a_destination_tells_how_busy_it_is(helpers: Helpers) -> None:
    load = PartitionLoad("p", 64, 12, 0, 0, 1, 0, 0, 3, 1, 8, 90.0)
    busy, unknown = Thing(load=load), Thing(load=None)

    assert (helpers.free_cores(busy), helpers.expected_wait(busy)) == (12, 90.0)
    for destination in (unknown, None):
        assert helpers.free_cores(destination) is None
        assert helpers.expected_wait(destination) is None
