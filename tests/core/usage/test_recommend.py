"""Recommendations keep their promise: so many jobs exceed them, and no more."""

from __future__ import annotations

import numpy as np
import pytest
from rowtui.core.usage.recommend import CPUS, LEAST, MEMORY, WALLTIME, recommend, rounded

DRAWS = 4000


def exceeding(draw: object, count: int, *, sized: bool = False) -> tuple[float, float]:
    """Return the promised and the real share of jobs that exceed a recommendation."""
    random = np.random.default_rng(7)
    promised, exceeded = [], []
    for _ in range(DRAWS):
        sizes = random.integers(1, 50, count + 1).astype(float)
        values = draw(random, sizes)  # type: ignore[operator]
        named = [("directories", sizes[:-1])] if sized else []
        found = recommend(values[:-1], np.zeros(count, bool), named)
        assert found is not None
        promised.append(found.risk)
        exceeded.append(values[-1] > found.for_size(sizes[-1]))
    return float(np.mean(promised)), float(np.mean(exceeded))


def lognormal(random: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    return random.lognormal(10, 1, len(sizes))


def two_kinds(random: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    return np.where(random.random(len(sizes)) < 0.1, 90.0, 10.0) + random.random(len(sizes))


def growing(random: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    return 100 + 20 * sizes + random.normal(0, 10, len(sizes))


@pytest.mark.parametrize("draw", [lognormal, two_kinds])
@pytest.mark.parametrize("count", [LEAST, 30, 300])
def test_so_many_jobs_exceed_a_recommendation(draw: object, count: int) -> None:
    promised, exceeded = exceeding(draw, count)
    assert promised == pytest.approx(max(0.01, 1 / (count + 1)), rel=0.01)
    error = 3 * np.sqrt(promised * (1 - promised) / DRAWS)
    assert exceeded == pytest.approx(promised, abs=error)


def test_a_line_through_sizes_keeps_the_promise_with_less(tmp_path: object) -> None:
    promised, exceeded = exceeding(growing, 300, sized=True)
    assert exceeded == pytest.approx(promised, abs=0.005)
    random = np.random.default_rng(3)
    sizes = random.integers(1, 50, 300).astype(float)
    values = growing(random, sizes)
    found = recommend(values, np.zeros(300, bool), [("directories", sizes)])
    flat = recommend(values, np.zeros(300, bool))
    assert found is not None
    assert found.line is not None
    assert flat is not None
    assert found.line.slope == pytest.approx(20, rel=0.05)
    assert found.for_size(1) < 0.2 * flat.amount


def test_what_does_not_grow_has_no_line() -> None:
    random = np.random.default_rng(3)
    sizes = random.integers(1, 50, 300).astype(float)
    found = recommend(lognormal(random, sizes), np.zeros(300, bool), [("directories", sizes)])
    assert found is not None
    assert found.line is None


def test_jobs_that_were_killed_needed_more_than_they_got() -> None:
    values = np.array([100.0] * 95 + [200.0] * 5)
    killed = values == 200
    found = recommend(values, killed)
    assert found is not None
    assert found.censored == 5
    assert found.risk == pytest.approx(6 / 101)  # more than is wished, and it says so
    assert recommend(values[95:], killed[95:]) is None


def test_too_few_jobs_and_unknown_values_are_no_basis() -> None:
    assert recommend(np.array([1.0] * (LEAST - 1)), np.zeros(LEAST - 1, bool)) is None
    values = np.array([1.0] * (LEAST - 1) + [np.nan] * 9)
    assert recommend(values, np.zeros(len(values), bool)) is None


@pytest.mark.parametrize(
    ("resource", "amount", "shown"),
    [
        (CPUS, 3.2, 4),
        (MEMORY, 1, 1024),
        (MEMORY, 3000 * 1024, 3008 * 1024),
        (WALLTIME, 61, 120),
        (WALLTIME, 100_000, 101_760),
    ],
)
def test_amounts_are_rounded_up_to_what_a_person_writes(
    resource: str, amount: float, shown: float
) -> None:
    assert amount <= rounded(resource, amount) <= max(amount * 1.05, amount + 1024 * 60)
    assert rounded(resource, amount) == pytest.approx(shown, rel=0.06)
