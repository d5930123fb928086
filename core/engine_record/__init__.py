"""What an engine answered, written to a file with the names hashed; and played again from it."""

from rowtui.core.engine_record.record import RecordingEngine
from rowtui.core.engine_record.replay import ReplayEngine

__all__ = ["RecordingEngine", "ReplayEngine"]
