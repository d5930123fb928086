"""Import numpy without the threads that its OpenBLAS starts.

The threads would cost as much CPU time as the rest of the import, and rowtui multiplies no
matrices. The variable that prevents them is removed at once, because jobs that this process starts
inherit its environment.
"""

from __future__ import annotations

import os
import sys
from typing import Final

_THREADS: Final = "OPENBLAS_NUM_THREADS"

if "numpy" in sys.modules or _THREADS in os.environ:
    import numpy as np
else:
    os.environ[_THREADS] = "1"
    try:
        import numpy as np
    finally:
        del os.environ[_THREADS]

__all__ = ["np"]
