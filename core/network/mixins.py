"""The common interface of everything that samples flow through: what it has, holds or forwards.

Source: Fastr's documentation, "Sample flow": the table of abstract and mixin methods, which Fastr
itself plans and has not built.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Protocol

from rowtui.core.network.model import Dimension, Sample, SampleId, SampleIndex

Key = SampleIndex | SampleId


class HasDimensions(ABC):
    """Something with named dimensions."""

    @property
    @abstractmethod
    def dimensions(self) -> tuple[Dimension, ...]:
        """Names and sizes, outermost first."""

    @property
    def size(self) -> tuple[int | None, ...]:
        """The size of each dimension."""
        return tuple(it.size for it in self.dimensions)

    @property
    def dimnames(self) -> tuple[str, ...]:
        """The name of each dimension."""
        return tuple(it.name for it in self.dimensions)


class HasSamples(HasDimensions):
    """Something that can be asked for samples, by index or by id."""

    @abstractmethod
    def __getitem__(self, key: Key) -> Sample:
        """The sample. Raises: KeyError."""

    def __contains__(self, key: object) -> bool:
        """Whether there is such a sample: collections may be sparse."""
        try:
            self[key]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return False
        return True

    def __iter__(self) -> Iterator[SampleIndex]:
        """The indexes of all samples, in order."""
        ranges = [range(size or 0) for size in self.size]
        return (index for index in itertools.product(*ranges) if index in self)

    def iteritems(self) -> Iterator[tuple[SampleIndex, Sample]]:
        """Index and sample, one after another; no more is made than is looked at."""
        return ((index, self[index]) for index in self)

    def items(self) -> list[tuple[SampleIndex, Sample]]:
        """All of them."""
        return list(self.iteritems())

    @property
    def indexes(self) -> list[SampleIndex]:
        """The indexes of all samples, in order."""
        return list(self)

    @property
    def ids(self) -> list[SampleId]:
        """The ids of all samples, in the order of their indexes."""
        return [sample.id for _, sample in self.iteritems()]


class Samples(Protocol):
    """What `ContainsSamples` keeps its samples in."""

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Names and sizes."""
        ...

    def get(self, key: Key) -> Sample:
        """One sample. Raises: KeyError."""
        ...

    def put(self, key: Key, sample: Sample) -> None:
        """Replace a sample. Raises: KeyError."""
        ...


class ContainsSamples(HasSamples):
    """Something that holds samples of its own: an output."""

    @property
    @abstractmethod
    def samples(self) -> Samples:
        """The samples."""

    def __getitem__(self, key: Key) -> Sample:
        """The sample. Raises: KeyError."""
        return self.samples.get(key)

    def __setitem__(self, key: Key, sample: Sample) -> None:
        """Say what a sample holds. Raises: KeyError."""
        self.samples.put(key, sample)

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Those of the samples."""
        return self.samples.dimensions


class ForwardsSamples(HasSamples):
    """Something that makes its samples from those of its sources, when it is asked for them."""

    @property
    @abstractmethod
    def source(self) -> tuple[HasSamples, ...]:
        """Where samples come from."""

    @abstractmethod
    def index_to_target(self, key: Key, source: int = 0) -> tuple[SampleIndex, ...]:
        """The samples here that a sample of a source goes into."""

    @abstractmethod
    def index_to_source(self, key: Key) -> tuple[tuple[SampleIndex, ...], ...]:
        """The samples, of each source, that a sample here is made of. Raises: KeyError."""

    @abstractmethod
    def combine_samples(self, key: Key, samples: Sequence[tuple[Sample, ...]]) -> Sample:
        """One sample of these, of each source."""

    @abstractmethod
    def combine_dimensions(
        self, dimensions: Sequence[tuple[Dimension, ...]]
    ) -> tuple[Dimension, ...]:
        """The dimensions here, of those of each source."""

    def __getitem__(self, key: Key) -> Sample:
        """The sample. Raises: KeyError."""
        parts = self.index_to_source(key)
        return self.combine_samples(
            key,
            [
                tuple(source[each] for each in those)
                for source, those in zip(self.source, parts, strict=True)
            ],
        )

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Those that the sources' make together."""
        return self.combine_dimensions([source.dimensions for source in self.source])
