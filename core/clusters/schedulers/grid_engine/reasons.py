"""Explanations of the reasons that are read from the letters of Grid Engine's states.

Source: qstat(1); the texts are those of `grid_engine_parse`.
"""

from __future__ import annotations

import re

from rowtui.core.clusters.schedulers.reason_table import HELD, Explanation, Reasons, foreign

_WAIT = "Nothing needs to be done."
_CLEAR = "Mend the cause and have the error cleared (`qmod -cj`), or cancel it and submit again."


def _in_error(match: re.Match[str]) -> Explanation:
    why = foreign(match[1] or "").rstrip(".")
    beside = f": {why}" if why else ""
    return Explanation(
        f"It could not be started, and is kept back{beside}.", _CLEAR, needs_person=True
    )


def _after_others(match: re.Match[str]) -> Explanation:
    return Explanation(f"It waits for other jobs to end: {foreign(match[1])}.", _WAIT)


GRID_ENGINE = Reasons(
    {
        "held": HELD,
        "rescheduled": Explanation("It was put back into the queue, and starts again.", _WAIT),
        "being deleted": Explanation("It is being cancelled.", _WAIT),
        "being started": Explanation("It has its node and is being started.", _WAIT),
        "suspended": Explanation(
            "Somebody stopped it; it keeps its memory and goes on when it is resumed.",
            "Resume it (`qmod -usj`), or ask who stopped it.",
        ),
        "its queue is suspended": Explanation(
            "Its queue was stopped; it keeps its memory and goes on with the queue.", _WAIT
        ),
        "load": Explanation("Its node is too busy: it goes on when the load falls.", _WAIT),
    },
    (
        (re.compile(r"error(?:: *(.*))?", re.S), _in_error),
        (re.compile(r"waits for (.+)", re.S), _after_others),
    ),
)
