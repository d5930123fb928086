"""Record an engine's answers to a file with hashed names, and replay them.

Takes any engine, gives a file of typed JSON, and a read-only engine that answers from such a file.
"""

from rowtui.core.engine.recording.record import RecordingEngine
from rowtui.core.engine.recording.replay import ReplayEngine

__all__ = ["RecordingEngine", "ReplayEngine"]
