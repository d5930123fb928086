"""rowtui: thousands of directories through workflows on HPC clusters.

The package installs as `rowtui`, with `rowtui.core`, `rowtui.cli` and `rowtui.tui` inside.
"""

from rowtui.core import __version__

__all__ = ["__version__"]
