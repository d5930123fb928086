"""Pilots as values: what one holds, and its name in plans and queues.

A pilot is a scheduler job that keeps an allocation and runs requests that are handed to it while
it goes on. For plans, journals and settling it is a bundle whose requests are not known before.
"""

from __future__ import annotations

from dataclasses import dataclass

from rowtui.core.clusters.schedulers.base import is_in_bundle, token_in_queue

_MARK = "-pilot"


@dataclass(frozen=True, slots=True)
class Allocation:
    """What a pilot holds on one node. `memory_mb` None: nobody states it, and it is not counted.

    The memory is its requests'; what it takes itself is added.

    `seconds`: its time limit. It ends before when nothing ran or came for `idle_seconds`.
    """

    cpus: int
    memory_mb: int | None
    gpus: int
    seconds: int
    idle_seconds: int


def pilot_token(nonce: str) -> str:
    """The token of a pilot; `nonce` is new each time."""
    return f"{nonce}{_MARK}"


def is_pilot(token: str) -> bool:
    """Whether this is the token of a pilot itself."""
    return token.endswith(_MARK)


def is_in_pilot(token: str) -> bool:
    """Whether this is the token of a request that was handed to a pilot."""
    return is_in_bundle(token) and is_pilot(token_in_queue(token))
