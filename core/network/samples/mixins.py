"""The common interface of all stages of the sample flow: stages have, hold or forward samples.

Source: Fastr's documentation, "Sample flow": the table of abstract and mixin methods, which Fastr
plans and has not built.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Protocol

from rowtui.core.network.samples.model import Dimension, Sample, SampleId, SampleIndex

Key = SampleIndex | SampleId


class HasDimensions(ABC):
    """An object with named dimensions."""

    @property
    @abstractmethod
    def dimensions(self) -> tuple[Dimension, ...]:
        """Return names and sizes, outermost first."""

    @property
    def size(self) -> tuple[int | None, ...]:
        """Return the size of each dimension."""
        return tuple(it.size for it in self.dimensions)

    @property
    def dimnames(self) -> tuple[str, ...]:
        """Return the name of each dimension."""
        return tuple(it.name for it in self.dimensions)


class HasSamples(HasDimensions):
    """An object whose samples can be read by index or by id."""

    @abstractmethod
    def __getitem__(self, key: Key) -> Sample:
        """Return the sample. Raises: KeyError."""

    def __contains__(self, key: object) -> bool:
        """Whether the sample exists: collections may be sparse."""
        try:
            self[key]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return False
        return True

    def __iter__(self) -> Iterator[SampleIndex]:
        """Yield the indexes of all samples, in order."""
        ranges = [range(size or 0) for size in self.size]
        return (index for index in itertools.product(*ranges) if index in self)

    def iteritems(self) -> Iterator[tuple[SampleIndex, Sample]]:
        """Yield index and sample lazily."""
        return ((index, self[index]) for index in self)

    def items(self) -> list[tuple[SampleIndex, Sample]]:
        """Return all indexes with their samples."""
        return list(self.iteritems())

    @property
    def indexes(self) -> list[SampleIndex]:
        """Return the indexes of all samples, in order."""
        return list(self)

    @property
    def ids(self) -> list[SampleId]:
        """Return the ids of all samples, in the order of their indexes."""
        return [sample.id for _, sample in self.iteritems()]


class SampleContainer(Protocol):
    """The container of the samples of `ContainsSamples`."""

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Return names and sizes."""

    def get(self, key: Key) -> Sample:
        """Return one sample. Raises: KeyError."""

    def put(self, key: Key, sample: Sample) -> None:
        """Replace a sample. Raises: KeyError."""


class ContainsSamples(HasSamples):
    """An object that holds samples of its own: an output."""

    @property
    @abstractmethod
    def samples(self) -> SampleContainer:
        """Return the samples."""

    def __getitem__(self, key: Key) -> Sample:
        """Return the sample. Raises: KeyError."""
        return self.samples.get(key)

    def __setitem__(self, key: Key, sample: Sample) -> None:
        """Set the content of a sample. Raises: KeyError."""
        self.samples.put(key, sample)

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """Return the dimensions of the samples."""
        return self.samples.dimensions


class ForwardsSamples(HasSamples):
    """An object that makes its samples from those of its sources, on request."""

    @property
    @abstractmethod
    def source(self) -> tuple[HasSamples, ...]:
        """Return the sources of the samples."""

    @abstractmethod
    def index_to_target(self, key: Key, source: int = 0) -> tuple[SampleIndex, ...]:
        """Return the samples here that a sample of a source goes into."""

    @abstractmethod
    def index_to_source(self, key: Key) -> tuple[tuple[SampleIndex, ...], ...]:
        """Return the samples of each source in a sample here. Raises: KeyError."""

    @abstractmethod
    def combine_samples(self, key: Key, samples: Sequence[tuple[Sample, ...]]) -> Sample:
        """Combine these samples of each source into one sample."""

    @abstractmethod
    def combine_dimensions(
        self, dimensions: Sequence[tuple[Dimension, ...]]
    ) -> tuple[Dimension, ...]:
        """Combine the dimensions of each source into the dimensions here."""

    def __getitem__(self, key: Key) -> Sample:
        """Return the sample. Raises: KeyError."""
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
        """Return the combined dimensions of the sources."""
        return self.combine_dimensions([source.dimensions for source in self.source])
