"""The controls of a demo that runs real jobs: the first steps, and the view to which they lead."""

from __future__ import annotations

from rowtui.core.project.views.played_views import PlayedState


class RealDemo:
    """A real project on this machine's queue. `about`: as in `PlayedState`."""

    stranger = True

    def __init__(self, about: str = "") -> None:
        self.state = PlayedState("DEMO", about=about)

    async def control(self, word: str, argument: str = "") -> PlayedState:
        """Change nothing: the clock is the real one, and faults are not injected."""
        said = "This demo is real: its clock cannot be changed. Try: rowtui demo large"
        return self.state._replace(said=said)
