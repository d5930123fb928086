"""Our answers in the form in which TPV's own answers were recorded."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.files.load import merge_files
from rowtui.core.mapping.files.parse import parse_mapping
from rowtui.core.mapping.model.configuration import Configuration
from rowtui.core.mapping.model.decision import Decision, MappingOutcome, Placement
from rowtui.core.mapping.model.request import MappingRequest, Person

TPV3 = b"global: {dialect: tpv3}\n"


def load(files: Mapping[str, str], *, tpv3: bool = True) -> Configuration:
    parsed = [parse_mapping(text.encode(), name) for name, text in files.items()]
    if tpv3:
        parsed.insert(0, parse_mapping(TPV3, "dialect.yml"))
    return merge_files(parsed)


def request_of(asked: Mapping[str, Any]) -> MappingRequest:
    user = asked.get("user")
    person = None
    if user is not None:
        person = Person(user["email"], tuple(user.get("roles", ())), user["email"])
    tool = asked["tool_id"]
    return MappingRequest(
        tool,
        person,
        version=tool.rpartition("/")[2] if "/" in tool else "",  # as in a tool shed
        input_size=asked.get("input_size") or 0,
        params=asked.get("params") or {},
    )


def answer(files: Mapping[str, str], asked: Mapping[str, Any]) -> dict[str, Any]:
    """What dialect tpv3 says."""
    configuration = load(files)
    errors = [each for each in configuration.problems if each.severity == "error"]
    if errors:
        return {"ok": False, "phase": "load", "error": {"message": str(errors[0])}}
    mapper = Mapper(configuration, chance=random.Random(asked.get("seed")))
    request = request_of(asked)
    placement = mapper.place(request)
    decision = decide(mapper, request, changes=False)
    return as_recorded(placement, decision)


def as_recorded(placement: Placement, decision: Decision) -> dict[str, Any]:
    found: dict[str, Any] = {"ok": placement.chosen}
    if placement.chosen:
        found |= {
            "destination": placement.name,
            "runner": placement.runner or None,
            **placement.amounts._asdict(),
            "env": list(placement.env),
            "params": placement.params,
            "resubmit": [_as_galaxy(each) for each in placement.resubmit.values()],
            "handler_tags": list(placement.handler_tags),
        }
    else:
        found |= {"phase": "map", "error": {"class": placement.cause}}
        if placement.outcome is MappingOutcome.FAILED:
            found["error"]["message"] = placement.message
    tags: dict[str, list[str]] = {"require": [], "prefer": [], "accept": [], "reject": []}
    for strength, tag, _ in decision.tags:
        tags[strength].append(tag)
    found["entity"] = {"id": decision.entity_id, **decision.job._asdict(), "tags": tags}
    found["ranked"] = [
        {"id": each.destination_id, "score": each.score}
        for each in decision.candidates
        if each.rank
    ]
    return found


def _as_galaxy(handler: Mapping[str, Any]) -> dict[str, Any]:
    return {("environment" if key == "destination" else key): v for key, v in handler.items()}
