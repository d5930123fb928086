"""JSON objects of `notify`."""

from __future__ import annotations

from typing import TypedDict


class DeliveryJson(TypedDict):
    """An attempt to send. `outcome`: `sent`, `failed`, or `unknown` if it may have arrived."""

    at: str | None
    outcome: str
    reason: str | None


class ChannelJson(TypedDict):
    """A channel of messages.toml. `target`: where messages go, without secrets.

    `waiting`: events of this project that are not sent yet; `last`: the last attempt of this
    project. `test`: only with `--test`, on tested channels.
    """

    name: str
    kind: str
    target: str
    events: list[str]
    min_interval_seconds: float
    waiting: int
    last: DeliveryJson | None
    test: DeliveryJson | None


class NotifyJson(TypedDict):
    """`notify`. `file`: the path of messages.toml; `problems`: what is wrong in it."""

    version: int
    file: str | None
    channels: list[ChannelJson]
    problems: list[str]
