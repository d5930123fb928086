"""The engine in this process, with a module for each kind of request.

Takes requests, gives answers from threads, so that the caller's event loop is never blocked. Caches
hold lists and groups until the next generation of the records. What the values mean is left to
`core/project`.
"""

from rowtui.core.engine.local.engine import InProcessEngine

__all__ = ["InProcessEngine"]
