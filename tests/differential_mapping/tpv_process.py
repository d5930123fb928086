"""Answers mapping requests with the real TPV; runs inside TPV's own environment, by its path.

One JSON object a line on stdin, one a line on stdout, in the same order:

`{"files": {name: text, ...}, "requests": [{"tool_id", "user", "input_size", "seed", "params"}]}`
-> `{"load_error": {"class", "message"} | null, "answers": [...]}`

Files are merged in their order. An answer tells what was decided, or the error and its phase, with
as much of the way there as was reached: the combined entity with its resources evaluated, the
ranking with scores, the matched entities. `{"ready": version}` is said once TPV is imported.
"""

from __future__ import annotations

import json
import logging
import os
import random
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

GIB = 1024**3
STRENGTHS = ("require", "prefer", "accept", "reject")
Json = dict[str, Any]


class Holder:
    """A Galaxy object's stand-in: nothing but the attributes that TPV and expressions look at."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


class StandInJob(Holder):
    """A job: its inputs, its parameters, no history."""

    param_values: Json

    def get_param_values(self, _app: object) -> Json:
        return dict(self.param_values)


class StandInUser(Holder):
    """A user with roles."""

    roles: list[Holder]

    def all_roles(self) -> list[Holder]:
        return list(self.roles)


class StandInDataset(Holder):
    """A dataset of known size."""

    size: float

    def get_size(self, nice_size: bool = False, calculate_size: bool = False) -> float:
        return float(self.size)


class StandInJobTable:
    """A database session in which no other job is found, so none is known to have ended."""

    def query(self, *_columns: object) -> Self:
        return self

    def filter(self, *_conditions: object) -> Self:
        return self

    def count(self) -> int:
        return 0

    def __iter__(self) -> Iterator[Any]:
        return iter(())


def make_tool(tool_id: str) -> Holder:
    """An installed tool; its version is the last part of a tool shed id."""
    shed_version = tool_id.rsplit("/", 1)[1] if "/" in tool_id else None
    return Holder(
        id=tool_id,
        old_id=tool_id,
        version=shed_version,
        dynamic_tool=None,
        tool_type="default",
        resource_requirements=[],
    )


def make_user(user: Json | None) -> StandInUser | None:
    """The user of a request, None for an anonymous one."""
    if user is None:
        return None
    email = user["email"]
    roles = [Holder(name=name, deleted=False) for name in user.get("roles") or []]
    number = zlib.crc32(email.encode())  # budgets are kept for each user's id
    return StandInUser(id=number, email=email, username=email.partition("@")[0], roles=roles)


def make_job(request: Json, number: int) -> StandInJob:
    """A job with one input of the asked size (GiB), or with none."""
    inputs = []
    if request.get("input_size") is not None:
        dataset = StandInDataset(id=1, size=request["input_size"] * GIB, object_store_id=None)
        association = Holder(name="input", extension="txt", dataset=dataset)
        inputs.append(Holder(name="input", dataset=association))
    return StandInJob(
        id=number,
        input_datasets=inputs,
        param_values=request.get("params") or {},
        history=None,
        state="new",
        destination_params=None,
    )


class Recording:
    """What was seen on the way of one request."""

    def __init__(self) -> None:
        self.matched: list[str] | None = None
        self.entity: Any = None
        self.ranked: list[Json] | None = None
        self.chosen: Any = None


class Partner:
    """TPV, with its steps overheard."""

    def __init__(self) -> None:
        from tpv.core import entities, mapper  # type: ignore[import-not-found]
        from tpv.rules import gateway  # type: ignore[import-not-found]

        self.rules = entities.Rule
        self.load = gateway.load_destination_mapper
        self.recording = Recording()
        self._overhear(entities.Entity, mapper.EntityToDestinationMapper)

    def _overhear(self, entity_class: Any, mapper_class: Any) -> None:
        find = mapper_class._find_matching_entities
        evaluate = entity_class.evaluate_resources
        rank = mapper_class.rank
        convert = mapper_class.to_galaxy_destination

        def find_and_tell(mapper: Any, *arguments: Any) -> Any:
            found = find(mapper, *arguments)
            self.recording.matched = [f"{type(each).__name__}:{each.id}" for each in found]
            return found

        def evaluate_and_tell(entity: Any, context: Any) -> Any:
            evaluated = evaluate(entity, context)
            if self.recording.entity is None:  # the first time is for matching, then destinations
                self.recording.entity = evaluated
            return evaluated

        def rank_and_tell(mapper: Any, entity: Any, destinations: Any, context: Any) -> Any:
            ranked = rank(mapper, entity, destinations, context)
            self.recording.ranked = [
                {"id": each.id, "score": each.score(entity)} for each in ranked or []
            ]
            return ranked

        def convert_and_tell(mapper: Any, destination: Any) -> Any:
            self.recording.chosen = destination
            return convert(mapper, destination)

        mapper_class._find_matching_entities = find_and_tell
        entity_class.evaluate_resources = evaluate_and_tell
        mapper_class.rank = rank_and_tell
        mapper_class.to_galaxy_destination = convert_and_tell

    def answer(self, files: Mapping[str, str], requests: Sequence[Json]) -> Json:
        """All answers on one configuration."""
        names = write_files(files)
        self.rules.rule_counter = 0  # else ids of rules without one depend on earlier cases
        try:
            mapper = self.load(names)
        except Exception as error:
            load_error = error_of(error)
            failed = {"ok": False, "phase": "load", "error": load_error}
            return {"load_error": load_error, "answers": [failed for _ in requests]}
        answers = [self._map(mapper, request, n) for n, request in enumerate(requests, 1)]
        return {"load_error": None, "answers": answers}

    def _map(self, mapper: Any, request: Json, number: int) -> Json:
        self.recording = recording = Recording()
        random.seed(request.get("seed", 0))
        app = Holder(config=Holder(), model=Holder(context=StandInJobTable()))
        tool = make_tool(request["tool_id"])
        user = make_user(request.get("user"))
        try:
            destination = mapper.map_to_destination(app, tool, user, make_job(request, number))
        except Exception as error:
            return {"ok": False, "phase": "map", "error": error_of(error), **way(recording)}
        chosen = recording.chosen
        return {
            "ok": True,
            "destination": destination.id,
            "runner": destination.runner,
            "cores": chosen.cores,
            "mem": chosen.mem,
            "gpus": chosen.gpus,
            "env": destination.env,
            "params": destination.params,
            "resubmit": destination.resubmit,
            "handler_tags": destination.tags,
            **way(recording),
        }


def write_files(files: Mapping[str, str]) -> list[str]:
    """The files, in the current folder: error messages repeat the names as given."""
    for name, text in files.items():
        path = Path(name)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(f"not a name inside the folder: {name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(files)


def error_of(error: Exception) -> Json:
    """Class and message of an exception."""
    return {"class": type(error).__name__, "message": str(error)}


def way(recording: Recording) -> Json:
    """How far the mapping came."""
    told: Json = {}
    if recording.entity is not None:
        told["entity"] = {
            "id": recording.entity.id,
            "cores": recording.entity.cores,
            "mem": recording.entity.mem,
            "gpus": recording.entity.gpus,
            "tags": {
                strength: list(getattr(recording.entity.tpv_tags, strength) or [])
                for strength in STRENGTHS
            },
        }
    if recording.ranked is not None:
        told["ranked"] = recording.ranked
    if recording.matched is not None:
        told["matched_entities"] = recording.matched
    return told


def serve(requests: TextIO, answers: TextIO) -> None:
    """Answer line by line until the other side closes."""
    logging.disable(logging.CRITICAL)
    partner = Partner()
    say(answers, {"ready": version("total-perspective-vortex")})
    for line in requests:
        asked = json.loads(line)
        say(answers, partner.answer(asked["files"], asked["requests"]))


def say(answers: TextIO, value: Json) -> None:
    """One line; what JSON has no word for is told as Python shows it."""
    answers.write(json.dumps(value, default=repr) + "\n")
    answers.flush()


def main() -> None:
    """Keep stdout for answers alone: rules and libraries may print."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    folder = tempfile.mkdtemp(prefix="tpv-partner-")
    os.chdir(folder)
    try:
        serve(sys.stdin, answers)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
