"""What a screen asks when somebody wants a what-if in workflow.toml, and what it gets back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rowtui.core.grouping.model import Status
    from rowtui.core.project.views import WhatIfAsked


class EditAsked(NamedTuple):
    """A what-if about one group (from 0) of an action, to be written to workflow.toml.

    `undo`: the token of a write that is to be taken back instead. `confirmed`: the token of
    exactly the change that a person saw and said yes to; "": nothing is written, only shown.
    """

    action_index: int = 0
    statuses: tuple[Status, ...] = ()
    group: int = 0
    what_if: WhatIfAsked | None = None
    undo: str = ""
    confirmed: str = ""


class Edit(NamedTuple):
    """A change of workflow.toml. `diff`: its lines as `diff -u` has them; `notes`: what it means.

    `refused`: why there is none. `fields`: what of the what-if (cores, mem, gpus, walltime) is in
    it; the rest is not for workflow.toml. `token` names exactly this change of this file.
    """

    diff: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    token: str = ""
    written: bool = False
    refused: str = ""
