"""The seed's loop, with a test for each sentence of its text, and the same for classes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterable

import pytest
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.request import MappingRequest
from rowtui.core.packing.heuristics.bins import Bin, Item, Vectors
from rowtui.core.packing.model import InstanceType, ResourceAmounts
from rowtui.core.packing.seed import _Within, seed_patterns

from tests.core.packing.seed_loop import (
    Instance,
    NowhereError,
    SeedJob,
    allocate,
    fit,
    prioritise,
    release_empty,
    schedule,
    suitable,
    suits,
)

GB = 1024
SMALL = InstanceType("small", ResourceAmounts(2, 8 * GB), 0.1)
WIDE = InstanceType("wide", ResourceAmounts(8, 16 * GB), 0.35)
LARGE = InstanceType("large", ResourceAmounts(8, 64 * GB), 0.5)
GPU = InstanceType("gpu", ResourceAmounts(8, 64 * GB, 2, 500 * GB), 3.0)
TYPES = (SMALL, WIDE, LARGE, GPU)


def without_ended(instances: Iterable[Instance], ended: Collection[str]) -> tuple[Instance, ...]:
    """The instances after these jobs ended: what they took is room again."""
    return tuple(
        each._replace(jobs=tuple(job for job in each.jobs if job.id not in ended))
        for each in instances
    )


def job(name: str, cpus: int = 1, gb: int = 1, gpus: int = 0, hint: str = "") -> SeedJob:
    return SeedJob(name, ResourceAmounts(cpus, gb * GB, gpus), hint)


def contents(instances: tuple[Instance, ...]) -> list[tuple[str, list[str]]]:
    return [(each.node_type.name, [one.id for one in each.jobs]) for each in instances]


# -- "Jobs are subprocesses carried out in tool executions" --------------------------------------


def test_a_job_has_a_particular_class_of_suitable_instances() -> None:
    assert suitable(ResourceAmounts(4, 4 * GB), "", TYPES) == [WIDE, LARGE, GPU]
    assert suitable(ResourceAmounts(1, 32 * GB), "", TYPES) == [LARGE, GPU]
    assert suitable(ResourceAmounts(1, 1, 1), "", TYPES) == [GPU]


MAPPING = b"""
global:
  default_inherits: default
tools:
  default:
    cores: 2
    mem: 4
  align.*:
    inherits: default
    mem: 2 * input_size
destinations:
  anywhere:
    max_accepted_cores: 64
"""


def requirements(action: str, input_size: float) -> ResourceAmounts:
    """What the mapper says that an action needs, as the packer is told it."""
    mapper = Mapper(merge_files([parse_mapping(MAPPING, "mapping.yml")]))
    placement = mapper.place(MappingRequest(action, input_size=input_size))
    assert placement.chosen, placement.message
    return ResourceAmounts(int(placement.amounts.cores), round(placement.amounts.mem * GB))


def test_the_requirements_of_a_job_are_inherited_from_the_description_of_its_tool() -> None:
    assert requirements("sort", 1.0) == ResourceAmounts(2, 4 * GB)
    assert requirements("align_reads", 1.0).cpus == 2


def test_required_memory_may_be_twice_the_input_size() -> None:
    small, large = requirements("align_reads", 3.0), requirements("align_reads", 24.0)

    assert (small.memory_mb, large.memory_mb) == (6 * GB, 48 * GB)
    assert contents(schedule((), [SeedJob("s", small)], TYPES)) == [("small", ["s"])]
    assert contents(schedule((), [SeedJob("l", large)], TYPES)) == [("large", ["l"])]


# -- "The default procedure minimizes the number of instances used" ------------------------------


def test_as_many_jobs_as_possible_are_on_an_instance_before_there_is_another() -> None:
    jobs = [job(f"j{n}", 2, 2) for n in range(7)]

    instances = schedule((), jobs, (WIDE,))

    assert [len(each.jobs) for each in instances] == [4, 3]


def test_no_job_of_a_later_instance_would_have_fitted_on_an_earlier_one() -> None:
    chance = random.Random(5)
    jobs = [job(str(n), chance.randint(1, 8), chance.randint(1, 16)) for n in range(60)]

    instances = schedule((), jobs, (WIDE,))

    for at, later in enumerate(instances):
        for earlier in instances[:at]:
            assert not any(suits(one, earlier) for one in later.jobs)


def test_the_requirements_are_overridden_by_the_instance_type_that_a_job_is_to_run_on() -> None:
    assert contents(schedule((), [job("j")], TYPES)) == [("small", ["j"])]
    assert contents(schedule((), [job("j", hint="large")], TYPES)) == [("large", ["j"])]


# -- the sketch: while there are unscheduled jobs ------------------------------------------------


def test_the_loop_goes_on_until_every_job_has_its_place_once() -> None:
    chance = random.Random(1)
    jobs = [job(str(n), chance.randint(1, 8), chance.randint(1, 60)) for n in range(100)]

    placed = Counter(one.id for each in schedule((), jobs, TYPES) for one in each.jobs)

    assert placed == Counter(str(n) for n in range(100))


def test_without_jobs_there_is_nothing_to_do_but_to_release() -> None:
    assert schedule((), [], TYPES) == ()
    assert schedule([Instance(0, LARGE)], [], TYPES) == ()
    assert schedule((), [], ()) == ()


def test_instances_are_returned_with_their_jobs_and_what_room_remains() -> None:
    (instance,) = schedule((), [job("a", 2, 4), job("b", 3, 5)], (LARGE,))

    assert [one.id for one in instance.jobs] == ["a", "b"]
    assert instance.room == ResourceAmounts(3, 55 * GB)


def test_the_instances_that_were_given_are_not_changed() -> None:
    before = [Instance(0, LARGE, (job("old"),))]

    schedule(before, [job("new")], TYPES)

    assert before == [Instance(0, LARGE, (job("old"),))]


def test_how_many_instances_are_needed_may_depend_on_the_output_of_an_earlier_job() -> None:
    """The text's example: a job for each contig, which only an earlier job makes known."""
    instances = schedule((), [job("split", 8, 8)], TYPES)
    assert contents(instances) == [("wide", ["split"])]

    instances = without_ended(instances, {"split"})
    instances = schedule(instances, [job(f"contig{n}", 8, 8) for n in range(5)], TYPES)

    assert [each.number for each in instances] == [0, 1, 2, 3, 4]
    assert all(len(each.jobs) == 1 for each in instances)


def test_jobs_that_arrive_while_others_run_fill_the_room_that_there_is() -> None:
    instances = schedule((), [job("first", 4, 4)], (WIDE,))
    instances = schedule(instances, [job("second", 4, 4)], (WIDE,))
    assert contents(instances) == [("wide", ["first", "second"])]

    instances = schedule(without_ended(instances, {"first"}), [job("third", 3, 3)], (WIDE,))

    assert contents(instances) == [("wide", ["second", "third"])]


# -- prioritize_jobs -----------------------------------------------------------------------------


def test_jobs_are_ordered_by_the_cost_of_the_instance_that_each_requires_dearest_first() -> None:
    jobs = [job("small"), job("gpu", gpus=1), job("wide", 4, 4), job("large", 1, 60)]

    assert [each.id for each in prioritise(jobs, TYPES)] == ["gpu", "large", "wide", "small"]


def test_jobs_that_require_equally_expensive_instances_keep_the_order_of_their_arrival() -> None:
    jobs = [job("b", 1), job("a", 2), job("c", 1)]

    assert [each.id for each in prioritise(jobs, TYPES)] == ["b", "a", "c"]


def test_a_job_with_a_hint_requires_the_instance_that_is_hinted() -> None:
    jobs = [job("wide", 8, 8), job("hinted", 1, 1, hint="large")]

    assert [each.id for each in prioritise(jobs, TYPES)] == ["hinted", "wide"]


# -- fit_jobs ------------------------------------------------------------------------------------


def test_each_job_goes_to_the_first_suitable_instance() -> None:
    instances = [Instance(0, SMALL), Instance(1, WIDE), Instance(2, LARGE)]

    left = fit(instances, [job("a", 4, 4), job("b", 1, 1), job("c", 9, 1)])

    assert contents(tuple(instances)) == [("small", ["b"]), ("wide", ["a"]), ("large", [])]
    assert [each.id for each in left] == ["c"]


def test_instances_with_fewer_available_resources_come_first() -> None:
    full = Instance(0, WIDE, (job("x", 7, 1),))
    half = Instance(1, WIDE, (job("y", 4, 1),))
    empty = Instance(2, WIDE)
    for order in ([full, half, empty], [empty, half, full]):
        instances = list(order)
        fit(instances, [job("new", 1, 1)])
        chosen = next(each for each in instances if each.jobs and each.jobs[-1].id == "new")
        assert chosen.number == 0


def test_gpus_count_most_then_cpus_then_memory_then_disk_then_age() -> None:
    def room(number: int, *amounts: int) -> Instance:
        return Instance(number, InstanceType(f"t{number}", ResourceAmounts(*amounts), 1.0))

    in_order = [
        room(5, 9, 9, 0, 9),
        room(4, 1, 9, 1, 9),
        room(3, 2, 1, 1, 9),
        room(2, 2, 2, 1, 1),
        room(0, 2, 2, 1, 2),
        room(1, 2, 2, 1, 2),
    ]
    for at in range(len(in_order)):
        instances = in_order[at:]
        random.Random(at).shuffle(instances)
        fit(instances, [SeedJob("new", ResourceAmounts(1, 1))])
        (chosen,) = (each for each in instances if each.jobs)
        assert chosen.number == in_order[at].number


def test_the_room_counts_that_is_left_after_the_job_before() -> None:
    instances = [Instance(0, WIDE), Instance(1, LARGE)]

    fit(instances, [job("a", 5, 1), job("b", 4, 1), job("c", 3, 1)])

    assert contents(tuple(instances)) == [("wide", ["a", "c"]), ("large", ["b"])]


@pytest.mark.parametrize("asked", [job("j", 3), job("j", 1, 9), job("j", 1, 1, 1)])
def test_a_job_fits_only_where_there_is_at_least_as_much_of_everything(asked: SeedJob) -> None:
    assert not suits(asked, Instance(0, SMALL))
    assert suits(asked, Instance(0, GPU))


def test_a_job_that_needs_all_of_an_instance_fits() -> None:
    assert suits(SeedJob("j", SMALL.amounts), Instance(0, SMALL))


def test_a_job_with_another_type_specified_does_not_fit_however_much_room_there_is() -> None:
    assert not suits(job("j", hint="wide"), Instance(0, GPU))
    assert suits(job("j", hint="wide"), Instance(0, WIDE))


def test_a_job_with_a_type_specified_always_goes_to_that_type() -> None:
    there = [Instance(0, GPU, (job("old"),)), Instance(1, LARGE, (job("old2"),))]

    instances = schedule(there, [job("a", hint="wide"), job("b", hint="wide")], TYPES)

    assert contents(instances)[2] == ("wide", ["a", "b"])


def test_a_job_without_a_hint_may_join_one_with_a_hint() -> None:
    instances = schedule((), [job("hinted", hint="large"), job("free")], TYPES)

    assert contents(instances) == [("large", ["hinted", "free"])]


# -- allocate_new_instances ----------------------------------------------------------------------


def test_a_single_instance_is_allocated_per_turn_and_for_the_first_job_left() -> None:
    new = allocate([], [job("first", 8, 8), job("second", 1, 60)], TYPES)

    assert new == [Instance(0, WIDE)]


def test_it_is_the_cheapest_that_has_the_cpus_and_the_memory() -> None:
    for asked, name in (
        (job("j", 2, 8), "small"),
        (job("j", 3, 8), "wide"),
        (job("j", 1, 17), "large"),
    ):
        assert allocate([], [asked], TYPES)[0].node_type.name == name


def test_of_equally_cheap_types_it_is_the_first_of_the_catalogue() -> None:
    twins = (
        InstanceType("b", ResourceAmounts(4, 4), 1.0),
        InstanceType("a", ResourceAmounts(8, 8), 1.0),
    )

    assert allocate([], [SeedJob("j", ResourceAmounts(1, 1))], twins)[0].node_type.name == "b"


def test_a_hinted_type_is_allocated_even_if_another_is_cheaper() -> None:
    assert allocate([], [job("j", hint="gpu")], TYPES)[0].node_type.name == "gpu"


def test_a_hint_that_does_not_satisfy_is_an_error_with_everything_one_needs_to_know() -> None:
    with pytest.raises(NowhereError) as caught:
        schedule((), [job("fine"), job("assemble", 4, 32, hint="small")], TYPES)

    text = str(caught.value)
    assert "assemble" in text
    assert "small" in text
    assert "needs 4 CPUs, a small has 2" in text
    assert "needs 32 GB of memory, a small has 8 GB" in text
    assert "large would do" in text


def test_a_hint_for_a_type_that_does_not_exist_names_one_that_is_near() -> None:
    with pytest.raises(NowhereError, match="did you mean large"):
        schedule((), [job("j", hint="lareg")], TYPES)


def test_a_job_that_no_type_holds_is_an_error_before_anything_is_allocated() -> None:
    with pytest.raises(NowhereError) as caught:
        schedule((), [job("fine"), job("huge", 9, 1), job("huger", 9, 80)], TYPES)

    assert [each.id for each, _ in caught.value.unplaced] == ["huge", "huger"]
    assert "job huge fits nowhere: gpu: needs 9 CPUs, a gpu has 8" in str(caught.value)
    assert "1 other job" in str(caught.value)


def test_without_any_node_type_a_job_fits_nowhere() -> None:
    with pytest.raises(NowhereError, match="there is no node type"):
        schedule((), [job("j")], ())


def test_a_name_with_an_escape_sequence_does_not_reach_the_terminal() -> None:
    with pytest.raises(NowhereError) as caught:
        schedule((), [job("\x1b[31m", 99, hint="\x1b[2J")], TYPES)

    assert "\x1b" not in str(caught.value)


# -- release_empty_instances ---------------------------------------------------------------------


def test_empty_instances_are_released_after_the_jobs_were_fitted() -> None:
    kept, empty = Instance(0, WIDE, (job("j"),)), Instance(1, WIDE)

    assert release_empty([kept, empty]) == (kept,)
    instances = schedule([kept, empty], [job("big", 8, 8)], TYPES)
    assert contents(instances) == [("wide", ["j"]), ("wide", ["big"])]


# -- "Setting a tool's required resources means ..." ---------------------------------------------


def test_a_job_is_always_on_an_instance_that_is_sufficient_for_it() -> None:
    chance = random.Random(3)
    for _ in range(50):
        jobs = [
            job(str(n), chance.randint(0, 8), chance.randint(0, 64), chance.choice((0, 0, 0, 2)))
            for n in range(20)
        ]
        for instance in schedule((), jobs, TYPES):
            assert min(instance.room) >= 0


def test_overriding_the_type_never_leaves_a_job_with_insufficient_resources() -> None:
    for asked in (job("j", 4, 1, hint="small"), job("j", 1, 9, hint="small")):
        with pytest.raises(NowhereError):
            schedule((), [asked], TYPES)


# -- the same for classes ------------------------------------------------------------------------


def random_case(seed: int) -> Vectors:
    """A few bins, a few classes of items: ties, zeros, hints and equal prices are common."""
    chance = random.Random(seed)
    most = chance.choice((2, 4, 16))
    bins = [
        Bin(tuple(chance.randint(0, most) for _ in range(4)), chance.choice((0, 1, 1, 2, 3.5)))
        for _ in range(chance.randint(1, 5))
    ]
    sizes: dict[tuple[tuple[int, ...], int | None], int] = {}
    for _ in range(chance.randint(1, 8)):
        own = chance.randrange(len(bins))
        size = tuple(chance.randint(0, amount) for amount in bins[own].size)
        key = (size, own if chance.random() < 0.25 else None)
        sizes[key] = chance.choice((1, 2, 7))
    items = tuple(Item(size, number, own) for (size, own), number in sizes.items())
    return Vectors(tuple(bins), items)


def scheduled(vectors: Vectors) -> Counter[tuple[int, tuple[tuple[int, int], ...]]]:
    """What the literal loop makes of it, as (bin, content) and how many there are of each."""
    types = [
        InstanceType(str(n), ResourceAmounts(*each.size), each.price)
        for n, each in enumerate(vectors.bins)
    ]
    jobs = [
        SeedJob(str(number), ResourceAmounts(*item.size), "" if item.bin is None else str(item.bin))
        for number, item in enumerate(vectors.items)
        for _ in range(item.number)
    ]
    return Counter(
        (int(each.node_type.name), tuple(sorted(Counter(int(one.id) for one in each.jobs).items())))
        for each in schedule((), jobs, types)
    )


def test_classes_are_packed_just_as_the_loop_packs_their_jobs() -> None:
    several = 0
    for seed in range(400):
        vectors = random_case(seed)
        packed: Counter[tuple[int, tuple[tuple[int, int], ...]]] = Counter()
        for pattern in tuple(seed_patterns(vectors)):
            packed[pattern.bin, tuple(sorted(pattern.content))] += pattern.times
        assert packed == scheduled(vectors), seed
        several += len(packed) > 1
    assert several > 200  # the cases are not all trivial


def test_sets_that_hold_a_few_too_many_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(2)
    items = {
        (chance.randint(1, 64), chance.randint(1, 10**6)): chance.randint(1, 9) for _ in range(400)
    }
    bins = tuple(Bin((n, chance.randint(10**5, 10**6)), n / 2) for n in range(1, 64))
    vectors = Vectors(
        (*bins, Bin((64, 10**6), 64)), tuple(Item(size, number) for size, number in items.items())
    )
    exact = tuple(seed_patterns(vectors))

    monkeypatch.setattr("rowtui.core.packing.seed._MOST_BYTES", 0)

    assert tuple(seed_patterns(vectors)) == exact
    assert len(_Within([item.size for item in vectors.items])._lowest[1]) < 20


def test_a_million_items_of_one_kind_are_a_pattern_or_two() -> None:
    vectors = Vectors((Bin((7, 2**62), 0.0),), (Item((2, 0), 10**6), Item((0, 0), 5)))

    patterns = tuple(seed_patterns(vectors))

    assert sum(each.times for each in patterns) == 333_334
    assert len(patterns) <= 3


def test_nothing_is_packed_into_nothing() -> None:
    assert tuple(seed_patterns(Vectors((), ()))) == ()
    assert tuple(seed_patterns(Vectors((Bin((1,), 1.0),), (Item((1,), 0),)))) == ()
