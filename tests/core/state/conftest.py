from __future__ import annotations

from hypothesis import settings

# The first example pays for imports (numpy takes 0.3 s); time is never asserted here.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
