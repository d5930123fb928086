"""Work that waits, outside the handlers: it ends by itself or with the screen."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, cast

from textual.dom import DOMNode

Work = Callable[[], Coroutine[Any, Any, None]]


def start(node: DOMNode, work: Work, group: str, *, exclusive: bool = False) -> None:
    """Run `work` as a worker of `node`. With `exclusive`, older work of the group is cancelled.

    The work must report the errors that users can cause; an error that escapes is a defect of
    rowtui.
    """
    node.run_worker(
        cast(Any, work),
        group=group,
        description=group,  # Otherwise Textual writes out all arguments, for example a plan.
        exclusive=exclusive,
        exit_on_error=True,
    )
