"""The mixin classes have the methods that the design gives them, and share what they can."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest
from rowtui.core.network.samples.columns import product
from rowtui.core.network.samples.domain import Domain
from rowtui.core.network.samples.link import LinkStage, SubInput, SubOutput
from rowtui.core.network.samples.mixins import (
    ContainsSamples,
    ForwardsSamples,
    HasDimensions,
    HasSamples,
    Key,
    SampleContainer,
)
from rowtui.core.network.samples.model import Dimension, Sample, SampleIndex
from rowtui.core.network.samples.node_run import InputGroup, InputStage, NodeRun
from rowtui.core.network.samples.output import NodeOutput

# The design's table: what a class inherits from, its abstract methods, and what it adds to them.
TABLE: list[tuple[type, type | None, set[str], set[str]]] = [
    (HasDimensions, None, {"dimensions"}, {"size", "dimnames"}),
    (
        HasSamples,
        HasDimensions,
        {"__getitem__"},
        {"__contains__", "__iter__", "iteritems", "items", "indexes", "ids"},
    ),
    (ContainsSamples, HasSamples, {"samples"}, {"__getitem__", "__setitem__", "dimensions"}),
    (
        ForwardsSamples,
        HasSamples,
        {"source", "index_to_target", "index_to_source", "combine_samples", "combine_dimensions"},
        {"__getitem__", "dimensions"},
    ),
]


@pytest.mark.parametrize(("mixin", "base", "abstract", "shared"), TABLE)
def test_a_mixin_has_the_abstract_and_shared_methods_of_the_design_and_no_others(
    mixin: type, base: type | None, abstract: set[str], shared: set[str]
) -> None:
    own = {name for name, it in vars(mixin).items() if callable(it) or isinstance(it, property)}
    marked = {name for name in own if getattr(vars(mixin)[name], "__isabstractmethod__", False)}

    assert marked == abstract
    assert own - marked == shared
    if base is not None:
        assert mixin.__bases__ == (base,)


@pytest.mark.parametrize("mixin", [it[0] for it in TABLE])
def test_a_mixin_alone_cannot_be_made(mixin: type) -> None:
    with pytest.raises(TypeError, match="abstract"):
        mixin()


def test_outputs_contain_samples_and_all_other_stages_forward_them() -> None:
    assert issubclass(NodeOutput, ContainsSamples)
    for stage in (SubOutput, LinkStage, SubInput, InputStage, InputGroup, NodeRun):
        assert issubclass(stage, ForwardsSamples)


# What is shared works for whoever has no more than the abstract methods


class Kept:
    """Samples in a dict."""

    def __init__(self) -> None:
        self.dimensions = (Dimension("A", 2), Dimension("B", 2))
        self.kept: dict[Key, Sample] = {}
        for index in ((0, 0), (0, 1), (1, 1)):
            label = tuple(map(str, index))
            self.kept[index] = self.kept[label] = Sample(index, label, index)

    def get(self, key: Key) -> Sample:
        """One sample."""
        return self.kept[key]

    def put(self, key: Key, sample: Sample) -> None:
        """Replace one."""
        before = self.kept[key]
        self.kept[before.index] = self.kept[before.id] = sample


class Holder(ContainsSamples):
    def __init__(self) -> None:
        self._samples = Kept()

    @property
    def samples(self) -> SampleContainer:
        return self._samples


def numbers(key: Iterable[int | str]) -> SampleIndex:
    """An index, also of an id that is written in numbers."""
    return tuple(map(int, key))


class Turned(ForwardsSamples):
    """The dimensions the other way round."""

    def __init__(self, source: HasSamples) -> None:
        self._source = source

    @property
    def source(self) -> tuple[HasSamples, ...]:
        return (self._source,)

    def index_to_target(self, key: Key, source: int = 0) -> tuple[SampleIndex, ...]:
        return (numbers(reversed(key)),)

    def index_to_source(self, key: Key) -> tuple[tuple[SampleIndex, ...], ...]:
        return ((numbers(reversed(key)),),)

    def combine_samples(self, key: Key, samples: Sequence[tuple[Sample, ...]]) -> Sample:
        ((one,),) = samples
        return Sample(numbers(key), tuple(reversed(one.id)), one.data)

    def combine_dimensions(
        self, dimensions: Sequence[tuple[Dimension, ...]]
    ) -> tuple[Dimension, ...]:
        return tuple(reversed(dimensions[0]))


def test_who_holds_samples_needs_to_say_only_where() -> None:
    holder = Holder()

    assert (holder.dimnames, holder.size) == (("A", "B"), (2, 2))
    assert holder.indexes == list(holder) == [(0, 0), (0, 1), (1, 1)]
    assert holder.ids == [("0", "0"), ("0", "1"), ("1", "1")]
    assert holder.items() == list(holder.iteritems())
    assert (0, 1) in holder
    assert ("1", "1") in holder
    for absent in ((1, 0), (2, 2), ("a", "b"), None, 7):
        assert absent not in holder
    holder["1", "1"] = Sample((1, 1), ("1", "1"), ("new",))
    assert holder[1, 1].data == ("new",)


def test_who_forwards_samples_needs_to_say_only_which_and_how() -> None:
    turned = Turned(Holder())

    assert (turned.dimnames, turned.size) == (("B", "A"), (2, 2))
    assert turned.indexes == [(0, 0), (1, 0), (1, 1)]
    assert turned[1, 0].data == (0, 1)
    assert turned["1", "0"].id == ("1", "0")
    with pytest.raises(KeyError):
        turned[0, 1]


def test_no_more_samples_are_made_than_are_looked_at() -> None:
    large = Domain("A", range(1_000_000))
    node = NodeRun(
        1,
        "n",
        [InputGroup("", [InputStage("i", [SubInput(LinkStage(NodeOutput(product([large]), 0)))])])],
    )

    first, (index, sample) = next(iter(node)), next(node.iteritems())

    assert first == index == sample.index == (0,)
    assert node[999_999,].id == ("999999",)
    assert node["999999",].jobs == {(0, 999_999)}
