"""Record an engine's answers to a file with hashed names, and replay them."""

from rowtui.core.engine.recording.record import RecordingEngine
from rowtui.core.engine.recording.replay import ReplayEngine

__all__ = ["RecordingEngine", "ReplayEngine"]
