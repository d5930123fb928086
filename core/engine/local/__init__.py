"""The engine in this process, with a module for each kind of request."""

from rowtui.core.engine.local.engine import InProcessEngine

__all__ = ["InProcessEngine"]
