"""Handlers of `resubmit`: which applies to a job that has failed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.engine.resubmit import JobEnd, Resubmission, ResubmitError, next_attempt
from rowtui.core.mapping.model.request import MappingRequest

from tests.core.mapping.answers import load

MORE_MEMORY = {
    "more_memory": {
        "condition": "memory_limit_reached and attempt <= 3",
        "destination": "tpv_dispatcher",
    },
    "elsewhere": {
        "condition": "any_failure and attempt < 2", "destination": "big", "delay": "attempt * 60",
    },
}  # fmt: skip


def test_the_first_handler_whose_condition_holds_applies() -> None:
    out_of_memory = JobEnd(memory_limit_reached=True, attempt=3)
    assert next_attempt(MORE_MEMORY, out_of_memory) == Resubmission("more_memory", "", 0.0, 4)


def test_a_handler_can_name_a_destination_and_a_delay() -> None:
    crashed = JobEnd(unknown_error=True)
    assert next_attempt(MORE_MEMORY, crashed) == Resubmission("elsewhere", "big", 60.0, 2)


def test_without_a_handler_that_applies_a_job_has_failed_for_good() -> None:
    assert next_attempt(MORE_MEMORY, JobEnd(memory_limit_reached=True, attempt=4)) is None
    assert next_attempt({}, JobEnd()) is None


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("attempt <=", "cannot be read"),
        ("__import__('os').system('x')", "do not support"),
        ("memory_limit_reachd", "did you mean 'memory_limit_reached'?"),
        ("attempt ** 9 ** 9", "do not support"),
        ("1 / 0", "cannot be worked out"),
        ("(" * 5000, "too long"),
    ],
)
def test_a_condition_that_is_none_is_an_explained_error(condition: str, words: str) -> None:
    with pytest.raises(ResubmitError) as caught:
        next_attempt({"h": {"condition": condition}}, JobEnd())
    assert words in str(caught.value)


@given(st.text(max_size=40))
def test_no_condition_ever_does_anything_but_hold_or_not(condition: str) -> None:
    try:
        found = next_attempt({"h": {"condition": condition}}, JobEnd())
    except ResubmitError:
        return
    assert found is None or found.handler == "h"


def test_each_attempt_asks_for_more_through_the_parameters_of_the_last() -> None:
    text = """
tools:
  default: {}
  t:
    cores: 2
    mem: 4 * int(job.destination_params.get('SCALING_FACTOR', 1)) if job.destination_params else 4
    params:
      SCALING_FACTOR: "{2 * int(job.destination_params['SCALING_FACTOR']) if attempt > 1 else 2}"
    resubmit:
      with_more_mem_on_failure:
        condition: memory_limit_reached and attempt <= 3
        destination: tpv_dispatcher
destinations: {d: {runner: r, cores: 16, mem: 64}}
"""
    mapper = Mapper(load({"mapping.yml": text}, tpv3=False))
    request, memory = MappingRequest("t"), []
    while True:
        placement = mapper.place(request)
        assert placement == decide(mapper, request).chosen
        memory.append(placement.amounts.mem)
        end = JobEnd(memory_limit_reached=True, attempt=request.attempt)
        again = next_attempt(placement.resubmit, end)
        if again is None:
            break
        request = request._replace(attempt=again.attempt, previous_params=placement.params)

    assert memory == [4, 8, 16, 32]
