"""The same terminal, clock and time zone for every test of the dashboard."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="package")
def _less_looking_for_garbage() -> Iterator[None]:
    """A screen is many small objects that live as long as their app: a tenth of the time."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
