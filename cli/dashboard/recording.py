"""`--record` and `--replay`: recording of a dashboard, and playback."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import argparse

    from rowtui.cli.output.output import Output
    from rowtui.core.engine.api.engine import Engine


def recorded(engine: Engine, args: argparse.Namespace) -> Engine:
    """Return the engine, with a recorder before it if requested. Raises: RowtuiError."""
    given = getattr(args, "record", None)
    if not given:
        return engine
    from rowtui.core.engine.recording.record import RecordingEngine

    path = Path(given).expanduser()
    recorder = RecordingEngine(engine, path, hash_actions=getattr(args, "hash_actions", False))
    args.recorder = recorder
    return cast("Engine", recorder)


def tell_of_recording(args: argparse.Namespace, out: Output) -> None:
    """Report, after the dashboard, where the recording is and whether it is complete."""
    recorder = getattr(args, "recorder", None)
    if recorder is not None:
        if recorder.trouble:
            out.warn(recorder.trouble)
        out.note(f"Recorded to {args.record}; see it with: rowtui --replay {args.record}")


def replay(args: argparse.Namespace, out: Output, settings: dict[str, Any]) -> int:
    """Show a recording. Raises: RowtuiError."""
    from rowtui.core.engine.recording.replay import ReplayEngine
    from rowtui.tui.shell.app import run_dashboard

    engine = ReplayEngine(Path(args.replay).expanduser())
    if engine.notice:
        out.warn(engine.notice)
    settings = {**settings, "read_only": True, "played": engine, "clock": engine.now}
    return run_dashboard(cast("Engine", engine), **settings)
