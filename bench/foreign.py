"""What some benches tell, put in the form of all others (see `measured`).

They write more than rows, or had their own form before; each reader takes the file that
`--json FILE` made.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.measured import Measured

Reader = Callable[[Path, str], list[Measured]]

READERS: dict[str, Reader] = {}
