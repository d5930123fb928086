"""Terms of waiting jobs: what a user types, what schedulers print, and what is sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.clusters.schedulers.base import JobKey
from rowtui.core.clusters.schedulers.grid_engine.change import read_job_fields
from rowtui.core.clusters.schedulers.job_terms import JobTerms, read_terms, term_text
from rowtui.core.clusters.schedulers.slurm.change import read_terms_of_jobs
from rowtui.core.clusters.schedulers.slurm.commands import read_words, words_of
from rowtui.core.workflow.duration import format_duration

KEYS = st.builds(JobKey, st.integers(1, 10**9), st.none() | st.integers(0, 10**6))


@given(st.integers(1, 10**7), st.integers(-(10**9), 10**9), st.lists(KEYS, max_size=4))
def test_what_is_typed_is_read(limit: int, nice: int, after: list[JobKey]) -> None:
    jobs = list(dict.fromkeys(map(str, after)))
    hours, rest = divmod(limit, 3600)
    texts = {
        "limit": f" {hours:02}:{rest // 60:02}:{rest % 60:02} ",
        "partition": "cpu-long",
        "nice": f"{nice:+}",
        "after": " ".join(jobs) or "none",
    }
    terms, wrong = read_terms(texts)
    assert not wrong
    assert terms == JobTerms(limit, "cpu-long", nice, ", ".join(jobs))
    assert terms.awaited == tuple(jobs)
    assert term_text(limit, "limit") == format_duration(limit)


def test_empty_fields_change_nothing() -> None:
    terms, wrong = read_terms({"limit": "", "nice": "  "})
    assert terms.is_nothing
    assert not wrong


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("limit", "soon"), ("limit", "00:00:00"), ("limit", "-4h"), ("partition", "a b"),
        ("partition", "-w"), ("partition", "cpu;rm"), ("partition", "a\x1b[31m"), ("nice", "1.5"),
        ("nice", "99999999999"), ("nice", "low"), ("after", "12, x"), ("after", "0"),
        ("after", "afterok:12"), ("after", "12_"), ("after", "--all"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_with_an_example(name: str, text: str) -> None:
    terms, wrong = read_terms({name: text})
    assert terms.is_nothing
    assert list(wrong) == [name]
    assert "\x1b" not in wrong[name]


@given(st.lists(KEYS, unique=True, max_size=60))
def test_the_words_of_jobs_are_read_back(keys: list[JobKey]) -> None:
    words = ",".join(word.text for word in words_of(keys))
    assert sorted(read_words(words), key=str) == sorted(keys, key=str)


@given(st.text(max_size=200))
def test_any_output_is_read(text: str) -> None:
    read_terms_of_jobs(text)
    read_job_fields(text)


def test_dependencies_of_squeue_are_jobs_or_keep_their_kind() -> None:
    lines = (
        "12|N/A|1-02:00:00|-3|cpu,gpu|(null)",
        "13|4|10:00|0|cpu|afterok:12(unfulfilled),afterok:14_2(unfulfilled)",
        "15|N/A|UNLIMITED|7|cpu|aftercorr:13_*(unfulfilled)",
    )
    assert read_terms_of_jobs("\n".join(lines)) == {
        JobKey(12): JobTerms(93_600, "cpu,gpu", -3, ""),
        JobKey(13, 4): JobTerms(600, "cpu", 0, "12, 14_2"),
        JobKey(15): JobTerms(None, "cpu", 7, "aftercorr:13_*"),
    }
