"""The use of a running job in words, and when it is near a limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.schedulers.measured import Measured, MeasuredBy
from rowtui.core.usage.running import UsageNow

GB = 1 << 20
JOB = UsageNow(0.0, 7200.0, 43_200.0, None, 8, None, 4 * GB)


def test_the_words_show_what_is_used_of_what_was_requested() -> None:
    now = JOB.measured(Measured(MeasuredBy.SCHEDULER, cpu=7.6 * 7200, memory=int(3.1 * GB)))
    assert now.words == "memory 3.1 of 4 GB (77%), CPU 7.6 of 8, time 02:00:00 of 12:00:00"
    assert (now.near, now.warning) == ((), "")


def test_unknown_values_are_left_out() -> None:
    assert JOB.words == "time 02:00:00 of 12:00:00"
    assert UsageNow(0.0).words == ""
    assert UsageNow(0.0, memory_kib=200 << 10).words == "memory 200 MB"
    text = UsageNow(0.0, memory_kib=200 << 10, memory_limit_kib=2 * GB).words
    assert text == "memory 200 MB of 2 GB (10%)"


def test_a_running_job_from_nine_tenths_of_a_limit_is_near_it() -> None:
    now = JOB._replace(memory_kib=int(3.6 * GB) + 1, wall=0.9 * 43_200)
    assert now.near == ("memory", "time")
    assert now.warning == "near its limit of memory and time"
    assert now._replace(running=False).near == ()
    assert JOB._replace(memory_kib=int(3.6 * GB) - 1).near == ()


@given(
    st.builds(
        UsageNow,
        st.floats(0, 1e10),
        st.none() | st.floats(0, 1e9),
        st.none() | st.floats(0, 1e9),
        st.none() | st.floats(0, 1e12),
        st.integers(0, 10_000),
        st.none() | st.integers(0, 1 << 50),
        st.none() | st.integers(0, 1 << 50),
    )
)
def test_any_values_have_words(now: UsageNow) -> None:
    assert "None" not in now.words
    assert set(now.near) <= {"memory", "time"}


@pytest.mark.parametrize("wall", [None, 0.0])
def test_without_a_time_no_cpus_are_shown(wall: float | None) -> None:
    assert UsageNow(0.0, wall, cpu=5.0).cpus_used is None
