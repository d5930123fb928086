"""Explanations of the reasons that are read from the letters of Grid Engine's states.

Source: qstat(1); the texts are those of `grid_engine_parse`.
"""

from __future__ import annotations

import re

from rowtui.core.clusters.schedulers.reason_table import HELD, ReasonExplanation, Reasons, foreign

_WAIT = "Nothing needs to be done."
_CLEAR = "Mend the cause and have the error cleared (`qmod -cj`), or cancel it and submit again."


def _in_error(match: re.Match[str]) -> ReasonExplanation:
    why = foreign(match[1] or "").rstrip(".")
    beside = f": {why}" if why else ""
    return ReasonExplanation(
        f"It could not be started, and is kept back{beside}.", _CLEAR, needs_person=True
    )


def _after_others(match: re.Match[str]) -> ReasonExplanation:
    return ReasonExplanation(f"It waits for other jobs to end: {foreign(match[1])}.", _WAIT)


GRID_ENGINE = Reasons(
    {
        "held": HELD,
        "rescheduled": ReasonExplanation(
            "It was put back into the queue, and starts again.", _WAIT
        ),
        "being deleted": ReasonExplanation("It is being cancelled.", _WAIT),
        "being started": ReasonExplanation("It has its node and is being started.", _WAIT),
        "suspended": ReasonExplanation(
            "Somebody stopped it; it keeps its memory and goes on when it is resumed.",
            "Resume it (`qmod -usj`), or ask who stopped it.",
        ),
        "its queue is suspended": ReasonExplanation(
            "Its queue was stopped; it keeps its memory and goes on with the queue.", _WAIT
        ),
        "load": ReasonExplanation("Its node is too busy: it goes on when the load falls.", _WAIT),
    },
    (
        (re.compile(r"error(?:: *(.*))?", re.S), _in_error),
        (re.compile(r"waits for (.+)", re.S), _after_others),
    ),
)
