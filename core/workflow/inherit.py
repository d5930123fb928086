"""Merge each action from its own keys, then `from`, then `default.action`, then Row's defaults.

The input is the tables as written; the output is one `Inherited` for each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from rowtui.core.workflow.model import (
    Action,
    GroupRule,
    Processes,
    Resources,
    SubmitOptions,
    Walltime,
)
from rowtui.core.workflow.parse import RawAction, RawWorkflow
from rowtui.core.workflow.positions import KeyPath

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Inherited:
    """An action with the tables it comes from, nearest first."""

    action: Action
    chain: tuple[RawAction, ...]

    # The `from` of the action is invalid, so its inherited values are unknown.
    cut_off: bool = False

    def has(self, key: str) -> bool:
        """Whether any of its tables has this key, or an unknown inherited table could have it."""
        return self.cut_off or any(key in raw.written for raw in self.chain)

    def products_set(self) -> tuple[str, ...] | None:
        """Return the products, or None if they are not set anywhere (which differs from empty)."""
        return _first([raw.products for raw in self.chain])

    def previous_set(self) -> tuple[str, ...] | None:
        """Return the previous actions, or None if they are not set anywhere."""
        return _first([raw.previous_actions for raw in self.chain])

    def path_of(self, *keys: str | int) -> KeyPath:
        """Return the key path of the table that sets `keys`; the action's own if none does."""
        for raw in self.chain:
            value: object = raw.written
            for key in keys:
                if isinstance(value, dict) and key in value:
                    value = value[str(key)]
                elif isinstance(value, list) and isinstance(key, int) and key < len(value):
                    value = value[key]
                else:
                    break
            else:
                return (*raw.path, *keys)
        return self.chain[0].path


class FromError(Exception):
    """`from` names no action, or an action that itself has a `from`."""


def inherit(raw: RawWorkflow, index: int, cut_off: bool = False) -> Inherited:
    """Return the action at `index` with all inherited values. Missing name and command are "".

    With `cut_off` the `from` is ignored. Raises: FromError.
    """
    own = raw.actions[index]
    chain = [own]
    if own.from_action is not None and not cut_off:
        chain.append(_from(raw.actions, own.from_action))
    chain.append(raw.default)
    return Inherited(_merged(index, chain), tuple(chain), cut_off)


def _from(actions: Sequence[RawAction], name: str) -> RawAction:
    for action in actions:
        if action.name == name:
            if "from" in action.written:
                raise FromError(f"`from = '{name}'` is recursive: that action has a `from` itself")
            return action
    raise FromError(f"the action '{name}' named by `from` is not in this file")


def _merged(index: int, chain: Sequence[RawAction]) -> Action:
    return Action(
        index=index,
        name=_first([raw.name for raw in chain]) or "",
        command=_first([raw.command for raw in chain]) or "",
        launchers=_first([raw.launchers for raw in chain]) or (),
        previous_actions=_first([raw.previous_actions for raw in chain]) or (),
        products=_first([raw.products for raw in chain]) or (),
        resources=_merged_resources(chain),
        group=_merged_group(chain),
        submit_options=_merged_options(chain),
    )


def _merged_resources(chain: Sequence[RawAction]) -> Resources:
    return Resources(
        processes=_first([raw.processes for raw in chain]) or Processes(),
        # Row 0.3 accepted zeros for these two keys, with the meaning "none".
        threads_per_process=_first([raw.threads_per_process for raw in chain]) or None,
        gpus_per_process=_first([raw.gpus_per_process for raw in chain]) or None,
        walltime=_first([raw.walltime for raw in chain]) or Walltime(),
        memory_per_cpu_mb=_first([raw.memory_per_cpu_mb for raw in chain]),
        memory_per_gpu_mb=_first([raw.memory_per_gpu_mb for raw in chain]),
    )


def _merged_group(chain: Sequence[RawAction]) -> GroupRule:
    return GroupRule(
        include=_first([raw.include for raw in chain]) or (),
        sort_by=_first([raw.sort_by for raw in chain]) or (),
        split_by_sort_key=_first([raw.split_by_sort_key for raw in chain]) or False,
        reverse_sort=_first([raw.reverse_sort for raw in chain]) or False,
        maximum_size=_first([raw.maximum_size for raw in chain]),
        submit_whole=_first([raw.submit_whole for raw in chain]) or False,
    )


def _merged_options(chain: Sequence[RawAction]) -> dict[str, SubmitOptions]:
    clusters = dict.fromkeys(name for raw in chain for name in raw.submit_options)
    merged = {}
    for cluster in clusters:
        options = [raw.submit_options[cluster] for raw in chain if cluster in raw.submit_options]
        merged[cluster] = SubmitOptions(
            account=_first([option.account for option in options]),
            setup=_first([option.setup for option in options]),
            custom=_first([option.custom or None for option in options]) or (),
            partition=_first([option.partition for option in options]),
            output_file_path=_first([option.output_file_path for option in options]),
            output_file_name=_first([option.output_file_name for option in options]),
        )
    return merged


def _first(values: Sequence[T | None]) -> T | None:
    return next((value for value in values if value is not None), None)
