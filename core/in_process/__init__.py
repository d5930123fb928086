"""The engine in this process, a module for each kind of answer."""

from rowtui.core.in_process.engine import InProcessEngine

__all__ = ["InProcessEngine"]
