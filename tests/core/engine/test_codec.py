"""What an engine answers comes back from JSON as it was, whatever it is made of."""

from __future__ import annotations

import collections.abc
import enum
import json
import random
import types
import typing
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from rowtui.core.engine.codec import (
    NotAValueError,
    UnknownTypeError,
    decode,
    encode,
    table,
)
from rowtui.core.network.graph.job_model import GraphJobState

TEXTS = ("", "a", "square-08", "a'; rm -rf ~ #\udcff\x1b[2J", "été", "x" * 300)
VALUES = sorted(
    (known for known in table().by_name.values() if not issubclass(known.cls, enum.Enum)),
    key=lambda known: known.name,
)


def made(hint: Any, chance: random.Random, depth: int = 0) -> Any:
    """A value of that type, smaller with the depth."""
    plain: dict[Any, Any] = {
        str: lambda: chance.choice(TEXTS), int: lambda: chance.choice((0, -1, 7, 2**70)),
        float: lambda: chance.choice((0.0, 0.1, -1e300)), bool: lambda: chance.random() < 0.5,
        type(None): lambda: None, bytes: lambda: b"\xff\x00",
        Any: lambda: chance.choice((None, 3, "a", ("b", 1.5), {"k": (1,)}, [2], True)),
    }  # fmt: skip
    if hint in plain:
        return plain[hint]()
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is None:
        if issubclass(hint, enum.Enum):
            return chance.choice(list(hint))
        hints = table().by_class[hint].hints
        return hint(**{name: made(one, chance, depth + 1) for name, one in hints.items()})
    size = range(chance.randint(0, 2 if depth < 3 else 0))
    if origin is typing.Literal:
        return chance.choice(arguments)
    if origin in (typing.Union, types.UnionType):
        return (
            None
            if depth > 3 and type(None) in arguments
            else made(chance.choice(arguments), chance, depth)
        )
    if origin in (dict, collections.abc.Mapping):
        return {made(arguments[0], chance, depth): made(arguments[1], chance, depth) for _ in size}
    if origin is frozenset:
        return frozenset(made(arguments[0], chance, depth + 1) for _ in size)
    if origin is tuple and arguments[-1] is not Ellipsis:
        return tuple(made(one, chance, depth) for one in arguments)
    return tuple(made(arguments[0], chance, depth) for _ in size)


@settings(max_examples=15, deadline=None, database=None, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_every_value_of_the_engine_comes_back(seed: int) -> None:
    for known in VALUES:
        value = made(known.cls, random.Random(seed))

        again = decode(json.loads(json.dumps(encode(value))), known.cls)

        assert again == value
        assert type(again) is known.cls


def test_a_type_that_has_no_form_is_noticed() -> None:
    class Strange:
        pass

    async def odd(self: object) -> Strange:  # a request as services have them
        return Strange()

    from rowtui.core.engine.api.jobs import QueueService

    QueueService.odd = odd  # type: ignore[attr-defined]
    odd.__annotations__["return"] = Strange
    try:
        with pytest.raises(UnknownTypeError, match="Strange"):
            table.__wrapped__()
    finally:
        del QueueService.odd  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"!": "builtins.eval", "v": {}}, "not known"),
        ({"!": "os.system", "v": "true"}, "not known"),
        ({"x": 1}, "without a class"),
        ({"!": "engine.api.groups.DirectoryRow", "v": {"name": "a"}}, "has no status"),
        ({"!": "engine.api.groups.DirectoryRow", "v": []}, "has no fields"),
        ({"!": "groups.model.Status", "v": "__class__"}, "there is no Status"),
        ({"!": "bytes", "v": "?"}, "damaged"),
        ({"!": "dict", "v": [1]}, "damaged"),
        (7, "where it does not belong"),
    ],
)
def test_what_is_no_value_of_ours_is_refused(data: Any, says: str) -> None:
    from rowtui.core.engine.api.groups import DirectoriesPage

    with pytest.raises(NotAValueError, match=says):
        decode(data, DirectoriesPage)


def test_values_within_values_without_end_are_refused() -> None:
    data: Any = []
    for _ in range(500):
        data = [data]
    with pytest.raises(NotAValueError, match="without end"):
        decode(data)


def test_a_state_of_a_job_is_read_by_its_former_name() -> None:
    assert (
        decode({"!": "network.graph.job_model.GraphJobState", "v": "READY"})
        is GraphJobState.ELIGIBLE
    )
