"""Recommendations keep their promise: so many jobs exceed them, and no more."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rowtui.core.usage.amounts import CPUS, LEAST, MEMORY, WALLTIME, rounded
from rowtui.core.usage.recommend import Recommended, recommend

DRAWS = 2000


def for_size(found: Recommended, size: float) -> float:
    return found.amount if found.line is None else found.line.base + found.line.slope * size


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
        exceeded.append(values[-1] > for_size(found, sizes[-1]))
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
    assert for_size(found, 1) < 0.2 * flat.amount


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
    assert found.killed == 5
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


def heavy(random: np.random.Generator, count: int) -> np.ndarray:
    return random.pareto(0.8, count) + 1


@pytest.mark.parametrize("count", [10, 20, 60, 300])
@pytest.mark.parametrize("tails", ["normal", "heavy"])
def test_random_numbers_in_values_do_not_explain_what_jobs_used(count: int, tails: str) -> None:
    """Even where 16 numbers are tried at once, and where single jobs and numbers are extreme."""
    random = np.random.default_rng(11)
    draw = heavy if tails == "heavy" else lambda rng, n: rng.normal(100, 10, n)
    taken = 0
    for _ in range(200):
        sizes = [(f"/n{number}", draw(random, count)) for number in range(16)]
        sizes.append(("directories", random.integers(1, 20, count).astype(float)))
        found = recommend(draw(random, count), np.zeros(count, bool), sizes)
        assert found is not None
        taken += found.line is not None
    assert taken <= 2


def test_one_extreme_job_makes_no_line() -> None:
    random = np.random.default_rng(5)
    values, sizes = random.normal(100, 5, 50), random.normal(10, 1, 50)
    values[0], sizes[0] = 10_000, 1_000
    found = recommend(values, np.zeros(50, bool), [("/n", sizes)])
    assert found is not None
    assert found.line is None


@given(
    st.integers(20, 120),
    st.floats(0.01, 1e6),
    st.floats(0, 1e6),
    st.integers(0, 1 << 32),
    st.sampled_from(["/n", "directories"]),
)
def test_a_true_line_is_found_among_random_numbers(
    count: int, slope: float, offset: float, seed: int, name: str
) -> None:
    random = np.random.default_rng(seed)
    sizes = random.permutation(np.arange(1, count + 1)).astype(float)
    values = offset + slope * sizes * random.uniform(0.95, 1.05, count)
    every = [("/other", random.random(count)), (name, sizes)]
    found = recommend(values, np.zeros(count, bool), every)
    assert found is not None
    assert found.line is not None
    assert found.line.size == name
    assert found.amount == pytest.approx(values.max())
    assert found.line.least_residual < 0 < found.line.most_residual


def test_the_number_of_directories_is_preferred_to_a_value_that_explains_as_much() -> None:
    directories = np.arange(1.0, 41.0)
    values = 5 * directories + np.tile([0.0, 1.0], 20)
    every = [("/n", directories * 3), ("directories", directories)]
    for sizes in (every, every[::-1]):
        found = recommend(values, np.zeros(40, bool), sizes)
        assert found is not None
        assert found.line is not None
        assert found.line.size == "directories"


def test_a_size_that_is_unknown_for_many_jobs_is_not_used() -> None:
    sizes = np.arange(1.0, 41.0)
    values = 5 * sizes
    for unknown, used in ((2, True), (20, False)):
        column = np.where(np.arange(40) < unknown, np.nan, sizes)
        found = recommend(values, np.zeros(40, bool), [("directories", column)])
        assert found is not None
        assert (found.line is not None) is used


@pytest.mark.parametrize("count", [12, 40])
def test_a_line_through_few_jobs_keeps_its_promise(count: int) -> None:
    promised, exceeded = exceeding(growing, count, sized=True)
    error = 3 * np.sqrt(promised * (1 - promised) / DRAWS)
    assert exceeded <= promised + error


def noisy(random: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    """Noise that grows with the size."""
    return 100 + 20 * sizes * random.lognormal(0, 0.1, len(sizes))


def curved(random: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    return 100 + sizes**1.5 + random.normal(0, 10, len(sizes))


def blurred(random: np.random.Generator, sizes: np.ndarray) -> np.ndarray:
    """Too little depends on the size for a line."""
    return 100 + 20 * sizes * random.lognormal(0, 0.5, len(sizes))


@pytest.mark.parametrize("draw", [noisy, curved, blurred, growing, lognormal])
@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize(("count", "risk"), [(1000, 0.05), (100, 0.05), (30, 0.1)])
def test_the_stated_risk_holds_for_the_largest_jobs_too(
    draw: object, lines: bool, count: int, risk: float
) -> None:
    random = np.random.default_rng(5)
    stated, exceeded = [], []
    for _ in range(60):
        sizes = random.integers(1, 100, count + 2000).astype(float)
        values = draw(random, sizes)  # type: ignore[operator]
        killed = np.zeros(count, bool)
        measured = [("directories", sizes[:count])]
        found = recommend(values[:count], killed, measured, risk=risk, lines=lines)
        assert found is not None
        later = np.arange(len(sizes)) >= count
        large = later & (sizes >= np.quantile(sizes[:count], 0.9, method="lower"))
        base, slope = for_size(found, 0.0), found.line.slope if found.line else 0.0
        stated.append(found.largest_risk)
        exceeded.append(float((values > base + slope * sizes)[large].mean()))
        assert found.risk <= found.largest_risk or found.risk <= risk
        if count == 1000:
            assert found.largest_risk <= risk + 0.01
    assert np.mean(exceeded) <= np.mean(stated) * 1.15 + 0.002
