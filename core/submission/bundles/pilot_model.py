"""Pilots as values: the allocation of a pilot, and its name in plans and queues.

A pilot is a scheduler job that keeps an allocation and runs requests that are sent to it while it
runs. For plans, journals and `settle`, a pilot is a bundle whose requests are not known beforehand.
"""

from __future__ import annotations

from typing import NamedTuple

from rowtui.core.clusters.schedulers.base import is_in_bundle, token_in_queue

_MARK = "-pilot"


class Allocation(NamedTuple):
    """What a pilot holds on one node. `memory_mb` None: memory is not stated and not counted.

    The memory is that of its requests; the pilot's own memory is added.

    `seconds`: the pilot's time limit. It ends earlier if no request ran or came for `idle_seconds`.
    """

    cpus: int
    memory_mb: int | None
    gpus: int
    seconds: int
    idle_seconds: int


def pilot_token(nonce: str) -> str:
    """Return the token of a pilot; `nonce` is new each time."""
    return f"{nonce}{_MARK}"


def is_pilot(token: str) -> bool:
    """Whether this is the token of a pilot itself."""
    return token.endswith(_MARK)


def is_in_pilot(token: str) -> bool:
    """Whether this is the token of a request that was sent to a pilot."""
    return is_in_bundle(token) and is_pilot(token_in_queue(token))
