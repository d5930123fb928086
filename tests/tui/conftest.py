"""The same terminal, clock and time zone for every test of the dashboard."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _same_everywhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def enter_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let questions take Enter at once, for tests that press keys without a hand's pause."""
    monkeypatch.setattr("rowtui.tui.views.dialogs.AT_ONCE", 0.0)
