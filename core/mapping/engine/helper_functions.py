"""The object `helpers` of expressions: TPV's functions, and further functions of rowtui.

TPV's functions have its names, arguments and results. A result that is a pitfall (docs/mapping.md)
is only returned in the dialect tpv3. Versions of tools are ordered as in TPV: those of PEP 440 by
its rules; any other text comes before all of them, compared number by number and word by word.
Source: PEP 440, "Summary of permitted suffixes and relative ordering".
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from rowtui.core.base.lazy import pattern
from rowtui.core.mapping.code.model import (
    JobNotReadyException,
    TryNextDestinationOrFail,
    TryNextDestinationOrWait,
)

if TYPE_CHECKING:
    import random as random_module


T = TypeVar("T")

_GB = 1024.0**3
_COMPRESSED = (".gz", ".bz2")
_COMPRESSION = 3.4  # factor by which compressed inputs are assumed to be larger, as in TPV

_PARTS = pattern(
    r"""\s*v?
    (?:(?P<epoch>[0-9]+)!)?
    (?P<release>[0-9]+(?:\.[0-9]+)*)
    (?:[-_.]?(?P<pre>alpha|beta|preview|pre|rc|a|b|c)[-_.]?(?P<pre_number>[0-9]+)?)?
    (?P<post>-(?P<post_dash>[0-9]+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_number>[0-9]+)?)?
    (?P<dev>[-_.]?dev[-_.]?(?P<dev_number>[0-9]+)?)?
    (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?
    \s*""",
    re.VERBOSE | re.IGNORECASE,
)
_PRE = {"alpha": 0, "a": 0, "beta": 1, "b": 1}  # all others are release candidates
_LAST_PRE = (3, 0)
_WORDS = pattern(r"[0-9]+|[a-z]+|[.-]")
_MEANING = {"pre": "c", "preview": "c", "rc": "c", "dev": "@", "-": "final-"}
_LONGEST = 200  # characters; Python refuses to parse numbers of thousands of digits


class Helpers:
    """The object `helpers`. `random`: the source of random numbers; `as_tpv`: TPV's pitfalls."""

    __slots__ = ("_as_tpv", "_random")

    def __init__(self, *, as_tpv: bool, random: random_module.Random) -> None:
        self._as_tpv = as_tpv
        self._random = random

    # Inputs

    def input_size(self, job: Any) -> float:
        """Return the GB (2^30 bytes) of a job's inputs, each counted once."""
        if job.input_datasets:
            return self.calculate_dataset_total(job.input_datasets) / _GB
        return float(getattr(job, "input_size", 0.0))

    def get_input_size(
        self,
        job: Any,
        param_name: str | None = None,
        estimate_uncompressed_size: bool = True,
        compression_factor: float = _COMPRESSION,
    ) -> float:
        """Return the GB of a job's inputs, or of one parameter's; compressed inputs count more."""
        if not job.input_datasets and param_name is None:
            return self.input_size(job)
        total = 0.0
        for dataset in self.get_input_datasets(job, param_name):
            size = self.get_dataset_size(dataset.dataset)
            packed = str(getattr(dataset, "extension", "") or "").endswith(_COMPRESSED)
            total += size * compression_factor if packed and estimate_uncompressed_size else size
        return total / _GB

    def get_input_datasets(self, job: Any, param_name: str | None = None) -> list[Any]:
        """Return a job's inputs, each once; with a name, only those of this parameter.

        The inputs of a parameter are called name, name1, name2, and so on.
        """
        wanted = list(job.input_datasets or ())
        if param_name is not None:
            belongs = re.compile(re.escape(param_name) + r"[0-9]*$").match
            wanted = [each for each in wanted if belongs(each.name or "")]
        return list(_unique(wanted).values())

    def get_input_dataset(self, job: Any, param_name: str) -> Any:
        """Return the first input of a parameter, or None."""
        return next(iter(self.get_input_datasets(job, param_name)), None)

    def get_dataset_size(self, dataset: Any) -> float:
        """Return the bytes of a dataset."""
        if hasattr(dataset, "get_size"):
            return float(dataset.get_size(nice_size=False, calculate_size=False))
        return float(dataset.size)

    def calculate_dataset_total(self, datasets: Iterable[Any] | None) -> float:
        """Return the bytes of several inputs, each dataset counted once."""
        last = {each.dataset.id: each.dataset for each in _unique(datasets).values()}
        return sum(map(self.get_dataset_size, last.values()), 0.0)

    def get_dataset_attributes(self, datasets: Iterable[Any] | None) -> dict[Any, dict[str, Any]]:
        """Return id -> the object store and the bytes of each dataset."""
        return {
            key: {
                "object_store_id": getattr(each.dataset, "object_store_id", None),
                "size": self.get_dataset_size(each.dataset),
            }
            for key, each in _unique(datasets).items()
        }

    # Random choices

    def weighted_random_sampling(self, destinations: Sequence[T]) -> list[T]:
        """Return destinations in a random order; a higher `weight` in params tends to come earlier.

        Destinations of weight 0 are left out, unless all have weight 0. TPV draws each place
        independently, so that a destination may occur twice, and another one not at all.
        """
        params = [getattr(each, "params", None) or {} for each in destinations]
        return self._draw(list(destinations), params, len(destinations))

    def weighted_choice(self, items: Sequence[T]) -> T:
        """Return one of several maps; a higher `weight` is likelier. Raises: ValueError."""
        if not items:
            raise ValueError("weighted_choice needs something to choose from")
        return self._draw(list(items), items, 1)[0]

    def _draw(self, items: list[T], weighed: Sequence[Any], many: int) -> list[T]:
        weights = [max(_number(each.get("weight", 1)), 0.0) for each in weighed]
        if all(weight == 1 for weight in weights) or not any(weights):
            return self._random.sample(items, many)
        if self._as_tpv or many == 1:
            return self._random.choices(items, weights, k=many)
        # The order of arrival of independent exponential clocks whose rates are the weights.
        arrivals = [
            (-math.log(1.0 - self._random.random()) / weight, at)
            for at, weight in enumerate(weights)
            if weight
        ]
        return [items[at] for _, at in sorted(arrivals)]

    # Jobs, tags, versions

    def job_args_match(self, job: Any, app: Any, args: Any) -> bool:
        """Whether the job has all of these parameters with these values."""
        return bool(args) and isinstance(args, dict) and _holds(args, job.get_param_values(app))

    def concurrent_job_count_for_tool(self, app: Any, tool: Any, user: Any = None) -> int:
        """Return how many jobs of this action, in any version, are queued or running.

        `user`: count only the jobs of this user.
        """
        name = tool.id or "unknown_tool_id"
        base = name.rpartition("/")[0] + "/" if "/" in name else ""
        return sum(
            1
            for tool_id, owner in getattr(app, "jobs", ())
            if (tool_id.startswith(base) if base else tool_id == name)
            and (not user or owner == user.name)
        )

    def tag_values_match(
        self,
        entity: Any,
        match_tag_values: Iterable[str] | None = None,
        exclude_tag_values: Iterable[str] | None = None,
    ) -> bool:
        """Whether an entity has all of the first tags and none of the second.

        Tags that the entity rejects do not count, except in the dialect tpv3.
        """
        strengths = entity.tpv_tags.strengths()
        has = {tag for tag, how in strengths.items() if self._as_tpv or how != "reject"}
        return all(tag in has for tag in match_tag_values or ()) and not any(
            tag in has for tag in exclude_tag_values or ()
        )

    def tool_version_eq(self, tool: Any, version: str | None) -> bool | None:
        """Whether the action has this version. None: one of the two is not known."""
        return _compare(operator.eq, tool, version)

    def tool_version_lt(self, tool: Any, version: str | None) -> bool | None:
        """Whether the action is older. None: one of the two versions is not known."""
        return _compare(operator.lt, tool, version)

    def tool_version_lte(self, tool: Any, version: str | None) -> bool | None:
        """Whether the action is older, or the same. None: one of the two versions is not known."""
        return _compare(operator.le, tool, version)

    def tool_version_gt(self, tool: Any, version: str | None) -> bool | None:
        """Whether the action is newer. None: one of the two versions is not known."""
        return _compare(operator.gt, tool, version)

    def tool_version_gte(self, tool: Any, version: str | None) -> bool | None:
        """Whether the action is newer, or the same. None: one of the two versions is not known."""
        return _compare(operator.ge, tool, version)

    def get_tool_resource_field(self, tool: Any, field_name: str) -> Any:
        """Return the action's own value of cores, max_cores, mem, ...; None if there is none."""
        return (getattr(tool, "resource_fields", None) or {}).get(field_name)

    # Functions of rowtui

    def wait(self, reason: str = "") -> NoReturn:
        """Make the job wait, to be mapped again later."""
        raise JobNotReadyException(reason)

    def try_next(self, reason: str = "") -> NoReturn:
        """Refuse this destination, in one of its rules; the job fails if no other takes it."""
        raise TryNextDestinationOrFail(reason)

    def try_next_or_wait(self, reason: str = "") -> NoReturn:
        """Refuse this destination for now, in one of its rules.

        The job waits if no other destination takes it.
        """
        raise TryNextDestinationOrWait(reason)

    def soonest(self, destinations: Sequence[T], entity: Any = None) -> list[T]:
        """Return destinations by their expected wait, shortest first; unknown waits come last.

        With `entity`, destinations are sorted by score first, so that the wait only decides among
        equal scores. As a rank: `helpers.soonest(candidate_destinations, entity)`.
        """

        def order(destination: Any) -> tuple[float, bool, float]:
            wait = self.expected_wait(destination)
            points = 0 if entity is None else destination.score(entity)
            return -points, wait is None, wait or 0.0

        return sorted(destinations, key=order)

    def expected_wait(self, destination: Any) -> float | None:
        """Return the seconds until a small job would probably start; None: not known."""
        return getattr(getattr(destination, "load", None), "expected_wait", None)

    def free_cores(self, destination: Any) -> int | None:
        """Return the CPUs that a job could get now; None: not known."""
        return getattr(getattr(destination, "load", None), "free_cores", None)


HELPERS = frozenset(name for name in dir(Helpers) if not name.startswith("_"))


def _unique(datasets: Iterable[Any] | None) -> dict[Any, Any]:
    """Return dataset id -> its first input; inputs without a dataset are left out."""
    found: dict[Any, Any] = {}
    for each in datasets or ():
        if each.dataset and each.dataset.dataset:
            found.setdefault(each.dataset.dataset.id, each.dataset)
    return found


def _number(weight: Any) -> float:
    if isinstance(weight, str):
        try:
            return float(weight)
        except ValueError:
            raise ValueError(f"the weight {weight!r} is not a number") from None
    return weight  # type: ignore[no-any-return]


def _holds(wanted: Mapping[str, Any], given: Any) -> bool:
    if not isinstance(given, Mapping):
        return False
    for name, value in wanted.items():
        if name not in given:
            return False
        if isinstance(value, dict) and value:
            if not _holds(value, given[name]):
                return False
        elif given[name] != value:
            return False
    return True


def _compare(how: Callable[[Any, Any], bool], tool: Any, version: str | None) -> bool | None:
    if not tool.version or version is None:
        return None
    return how(version_key(str(tool.version)), version_key(str(version)))


@lru_cache(4096)
def version_key(version: str) -> tuple[Any, ...]:
    """Return the sort key of a version."""
    match = _PARTS.fullmatch(version) if len(version) <= _LONGEST else None
    if match is None:
        return (0, _in_words(version.lower()))
    release = [int(part) for part in match["release"].split(".")]
    while release and release[-1] == 0:  # 1.0 is 1
        release.pop()
    post = -1
    if match["post"] is not None:
        post = int(match["post_dash"] or match["post_number"] or 0)
    final = match["dev"] is None
    if match["pre"] is not None:
        pre = (_PRE.get(match["pre"].lower(), 2), int(match["pre_number"] or 0))
    elif post < 0 and not final:
        pre = (-1, 0)  # 1.0.dev1 comes before 1.0a1
    else:
        pre = _LAST_PRE
    return (
        1,
        int(match["epoch"] or 0),
        tuple(release),
        pre,
        post,
        (final, int(match["dev_number"] or 0)),
        _local(match["local"]),
    )


def _local(text: str | None) -> tuple[tuple[int, int, str], ...]:
    if text is None:
        return ()
    parts = re.split(r"[-_.]", text.lower())
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts)


def _in_words(version: str) -> tuple[str, ...]:
    """Return numbers padded to sort as text, and drop a release's end after words like "beta"."""
    words: list[str] = []
    at = 0
    found: list[str] = []
    for match in _WORDS.finditer(version):
        found += [version[at : match.start()], match[0]]
        at = match.end()
    found.append(version[at:])
    for word in (*found, "final"):
        word = _MEANING.get(word, word)  # noqa: PLW2901
        if not word or word == ".":
            continue
        if word[0] in "0123456789":
            words.append(word.zfill(8))
            continue
        if word < "final":
            while words and words[-1] == "*final-":
                words.pop()
        while words and words[-1] == "00000000":
            words.pop()
        words.append(f"*{word}")
    return tuple(words)
