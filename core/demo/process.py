"""The large demo in the engine's process, for a dashboard: its engine and its `Played`."""

from __future__ import annotations

import os
import signal

from rowtui.core.demo.simulation import KILL, SPEED, played_state
from rowtui.core.demo.study import MACHINES
from rowtui.core.engine.process.client import ProcessEngine
from rowtui.core.engine.process.start import EngineProcess
from rowtui.core.project.views.views import INJECT, PlayedState


class DemoProcess(ProcessEngine):
    """A `ProcessEngine` whose process accepts injected faults, and can be killed."""

    def __init__(self, started: EngineProcess) -> None:
        super().__init__(started)
        self.state = played_state([machine.name for machine in MACHINES], SPEED)

    def results(self) -> tuple[str, ...]:
        """Return nothing: this study is larger than anybody watches to its end."""
        return ()

    async def control(self, word: str, argument: str = "") -> PlayedState:
        """See `Played`. Raises: EngineLost."""
        if (word, argument) == (INJECT, KILL):
            process = self._started.process
            if process.poll() is None:
                os.kill(process.pid, signal.SIGKILL)
            return self.state._replace(said=f"The engine's process {process.pid} was killed.")
        self.state = await self.ask("control", (word, argument), {})
        return self.state
