"""What a demo that is real has of its own on the screen: the first steps, and where they lead."""

from __future__ import annotations

from rowtui.core.project.played_views import PlayedState


class RealDemo:
    """A real project on this machine's queue. `about`: as in `PlayedState`."""

    stranger = True

    def __init__(self, about: str = "") -> None:
        self.state = PlayedState("DEMO", about=about)

    async def control(self, word: str, argument: str = "") -> PlayedState:
        """Its clock is ours, and what goes wrong goes wrong by itself."""
        said = "This demo is real: its clock cannot be changed. Try: rowtui demo large"
        return self.state._replace(said=said)
