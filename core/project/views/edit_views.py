"""The request of a screen to write a what-if to workflow.toml, and the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rowtui.core.groups.model import Status
    from rowtui.core.project.views.views import WhatIfAsked


class EditAsked(NamedTuple):
    """A what-if about one group (from 0) of an action, to be written to workflow.toml.

    `undo`: the token of a write that is to be reverted instead. `confirmed`: the token of exactly
    the change that the user saw and confirmed; with "", the change is only shown and not written.
    """

    action_index: int = 0
    statuses: tuple[Status, ...] = ()
    group: int = 0
    what_if: WhatIfAsked | None = None
    undo: str = ""
    confirmed: str = ""


class Edit(NamedTuple):
    """A change of workflow.toml. `diff`: its lines as in `diff -u`; `notes`: explanations.

    `refused`: why there is no change. `fields`: the fields of the what-if (cores, mem, gpus,
    walltime) that the change contains; workflow.toml does not hold the others. `token` identifies
    exactly this change of this file.
    """

    diff: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    token: str = ""
    written: bool = False
    refused: str = ""
