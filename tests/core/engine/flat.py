"""Services of an engine whose requests are methods of one class, such as `queue_page`."""

from __future__ import annotations

from typing import Any

from rowtui.core.engine.engine import Engine

SERVICES = [name for name, member in vars(Engine).items() if isinstance(member, property)]


class FlatService:
    """One service: its request `page` is the method `queue_page` of the engine."""

    def __init__(self, engine: Any, name: str) -> None:
        self._engine = engine
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"the service {self._name} has no request {name}")
        return getattr(self._engine, f"{self._name}_{name}")


class FlatEngine:
    """Gives every service of an engine whose methods are named after service and request."""

    groups: Any
    mapping: Any
    plans: Any
    jobs: Any
    queue: Any
    logs: Any
    clusters: Any
    network: Any
    past: Any

    def __init__(self) -> None:
        for name in SERVICES:
            setattr(self, name, FlatService(self, name))
