"""What crosses between the two processes, without any process: methods, frames, errors, plans."""

from __future__ import annotations

import asyncio
import pickle
import pkgutil
import socket
import weakref
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import rowtui.core
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.base.errors import RowtuiError
from rowtui.core.engine.process import frames
from rowtui.core.engine.process.client import Concealed
from rowtui.core.engine.process.errors import UnknownPlan, as_value, from_value
from rowtui.core.engine.process.frames import KEPT, MadePlans, PlanReference, SeenPlans

from tests.core.engine.process.small_engine import ERRORS, plan_of

LOG = Path("/var/log/engine.log")


VALUES = st.recursive(
    st.none() | st.integers() | st.text() | st.binary() | st.just("x" * 200_000),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=8,
)


@given(VALUES)
def test_a_value_is_the_same_after_its_pieces_are_put_together(value: Any) -> None:
    pieces = frames.encode(value)
    assert max(map(len, pieces)) <= frames.PIECE
    assert frames.decode(pieces) == value


@pytest.mark.parametrize("jobs", [1, 300])
def test_a_large_value_is_put_together_too(jobs: int) -> None:
    plan = plan_of(jobs, "é\n" * 3000)
    pieces = frames.encode(plan)
    assert (sum(map(len, pieces)) > frames.LARGE) is (jobs == 300)
    assert frames.decode(pieces) == plan


async def test_a_small_answer_passes_a_large_one() -> None:
    # given somebody who reads slowly, and an answer that does not fit into the socket
    here, there = socket.socketpair()
    _, writer = await asyncio.open_unix_connection(sock=here)
    reader, other = await asyncio.open_unix_connection(sock=there, limit=frames.LIMIT)
    sender = frames.Sender(writer)
    large = frames.encode("l" * 5_000_000)
    sending = asyncio.ensure_future(sender.send(1, frames.ANSWER, large))
    await asyncio.sleep(0)
    # when a small one is sent after it
    sender.at_once(2, frames.ANSWER, b"small")
    # then it comes first, and both are whole
    got = []
    async for number, kind, pieces in frames.received(reader):
        got.append((number, kind, b"".join(pieces)))
        if len(got) == 2:
            break
    await sending
    assert got == [(2, frames.ANSWER, b"small"), (1, frames.ANSWER, b"".join(large))]
    writer.close()
    other.close()


@pytest.mark.parametrize("name", ["plain", "file", "incomparable", "login", "missing"])
def test_an_error_for_people_crosses_with_its_class_and_fields(name: str) -> None:
    error = ERRORS[name]()
    crossed = from_value(pickle.loads(pickle.dumps(as_value(error, LOG))))
    assert type(crossed) is type(error)
    assert str(crossed) == str(error)
    assert crossed.args == error.args
    assert vars(crossed) == vars(error)


def all_errors() -> list[type[RowtuiError]]:
    for module in pkgutil.walk_packages(rowtui.core.__path__, "rowtui.core."):
        spec = module.module_finder.find_spec(module.name, None)  # type: ignore[call-arg]
        if spec is not None and spec.origin and "(RowtuiError" in Path(spec.origin).read_text():
            import_module(module.name)
    found, left = [], [RowtuiError]
    while left:
        found.append(left.pop())
        left += found[-1].__subclasses__()
    return [one for one in found if one.__module__.startswith("rowtui.")]


def test_no_class_of_errors_depends_on_its_constructor() -> None:
    classes = all_errors()
    assert len(classes) > 12
    for kind in classes:
        error = kind.__new__(kind, "what")
        vars(error).update(message="what", hint="do that", more=(1, "two"))
        crossed = from_value(pickle.loads(pickle.dumps(as_value(error, LOG))))
        assert type(crossed) is kind
        assert vars(crossed) == {"message": "what", "hint": "do that", "more": (1, "two")}


def test_what_cannot_cross_becomes_a_sentence_and_goes_to_the_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = from_value(as_value(ERRORS["unpicklable"](), LOG))
    assert (type(told), str(told)) == (RowtuiError, "this holds a lock\n    do without")
    defect = from_value(as_value(ERRORS["defect"](), LOG))
    assert isinstance(defect, RowtuiError)
    assert defect.message == "ZeroDivisionError: of a kind"
    assert defect.hint == f"the details are in {LOG}"
    written = capsys.readouterr().err
    assert "Unpicklable" in written
    assert "ZeroDivisionError" in written


def test_a_plan_is_named_only_where_it_is_the_very_one_that_was_made() -> None:
    there = MadePlans()
    here, made = SeenPlans(there.gone), plan_of(3)
    crossed = pickle.loads(pickle.dumps(made))
    there.remember(made)
    here.remember((crossed, ("why",)))  # in a tuple, as of a network
    named = here.named((crossed, 1))
    assert named == (PlanReference("plan3"), 1)
    assert there.whole(named)[0] is made
    # Somebody changed it, or it came from elsewhere: the whole of it is what they confirmed.
    other = pickle.loads(pickle.dumps(made))
    assert here.named((other,))[0] is other
    for jobs in range(10, 10 + KEPT):
        there.remember(plan_of(jobs))
    with pytest.raises(UnknownPlan):
        there.whole(named)


def test_a_plan_that_nobody_looks_at_any_more_takes_no_memory_on_either_side() -> None:
    there = MadePlans()
    here, plan = SeenPlans(there.gone), plan_of(3)
    there.remember(plan_of(3))
    here.remember(plan)
    named = here.named((plan,))
    gone = weakref.ref(plan.lifetime)
    equal = plan_of(3)  # it takes the place of the first
    here.remember(equal)
    del plan
    assert gone() is None
    assert there.whole(named) == (equal,)
    del equal
    with pytest.raises(UnknownPlan):
        there.whole(named)


def test_what_a_person_typed_is_in_no_representation() -> None:
    typed = Concealed(("hunter2",))
    assert "hunter2" not in f"{typed!r} {typed} {[typed]}"
    assert pickle.loads(pickle.dumps(typed)) == ("hunter2",)
