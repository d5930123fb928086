"""Compares two answers to one mapping request: TPV's and ours.

An answer is what `tpv_process.py` writes. Compared exactly: destination, runner, resources, env,
params, resubmit, handler tags; the combined entity with its tags as sets for each strength; the
ranking with scores, in order; the matched entities. Of an error: the phase, the class, and the
message where the class is JobMappingException, for its message is what users read.
"""

from __future__ import annotations

import json
import random
import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rowtui.core.mapping.engine.explain import decide
from rowtui.core.mapping.engine.mapper import Mapper
from rowtui.core.mapping.model.decision import Decision, MappingOutcome, Placement

from tests.core.mapping.answers import as_recorded, load, request_of

Json = dict[str, Any]

FIELDS = (
    *("destination", "runner", "cores", "mem", "gpus", "env", "params", "resubmit"),
    *("handler_tags", "ranked", "matched_entities"),
)
STRENGTHS = ("require", "prefer", "accept", "reject")
# TPV numbers rules without an id from the start of the process, and shows objects' addresses.
_ANONYMOUS_RULE = re.compile(r"tpv_rule_\d+|#\d+ of \w+ \S+ in \w+\.yml")
# What a destination gives a job, and so its defaults.
_PLACEMENT = {*("runner", "cores", "mem", "gpus"), *("env", "params", "resubmit", "mapped or not")}
_ADDRESS = re.compile(r"0x[0-9a-f]+")
# After this TPV prints the whole entity, as its library shows objects.
_ABSTRACT = "This entity is abstract and cannot be mapped"


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same. `reason`: why it is meant to be so, empty if unexplained."""

    kind: str
    tpv: Any
    ours: Any
    reason: str = ""


@dataclass(frozen=True)
class Known:
    """A difference that is meant. `applies` takes the files, the request and the difference."""

    reason: str
    applies: Callable[[Json, Mapping[str, str], Difference], bool]  # TPV's answer, the files


def _told(tpv: Json) -> str:
    """TPV's word for what went wrong, "" if nothing did."""
    return str((tpv.get("error") or {}).get("message", ""))


def _no_number(tpv: Json, _files: Mapping[str, str], _difference: Difference) -> bool:
    told = _told(tpv)
    words = (
        "could not convert string to float",
        "not supported between",
        "invalid literal for",
        "int() argument must",
        "type str doesn't define",
    )
    return any(each in told for each in words)


def _null_rules(tpv: Json, _files: Mapping[str, str], _difference: Difference) -> bool:
    return ".rules\n  Input should be a valid" in _told(tpv)


def _id_key(tpv: Json, _files: Mapping[str, str], _difference: Difference) -> bool:
    return ".id\n  Input should be a valid string" in _told(tpv)


def _rules_by_name(tpv: Json, files: Mapping[str, str], _difference: Difference) -> bool:
    by_name = any(re.search(r" rules:\s*[{]?\s*rule_\w+:", text) for text in files.values())
    return by_name and _ANONYMOUS_RULE.search(json.dumps(tpv)) is not None


def _truth(_tpv: Json, files: Mapping[str, str], _difference: Difference) -> bool:
    return any(re.search(r"(_accepted_|: )(cores|mem|gpus): true", each) for each in files.values())


def _bad_id(_tpv: Json, files: Mapping[str, str], _difference: Difference) -> bool:
    return any(" is not a regular expression" in str(each) for each in load(files).problems)


def _null_lists(tpv: Json, _files: Mapping[str, str], _difference: Difference) -> bool:
    empty = r"\.(tags|resubmit|scheduling|oversize|fail_open)\n  Input should .*input_value=None"
    return re.search(empty, _told(tpv)) is not None


def _entity_hidden(_tpv: Json, files: Mapping[str, str], _difference: Difference) -> bool:
    return any(
        re.search(r"context:\s*(\{[^}]*|\n(?:\s+\w+: .*\n)*?\s+)entity: ", each)
        for each in files.values()
    )


def _tried_twice(_tpv: Json, _files: Mapping[str, str], difference: Difference) -> bool:
    if difference.kind != "ranked" or not difference.tpv:
        return False
    once = list({each["id"]: each for each in difference.tpv}.values())
    return len(once) < len(difference.tpv) and once == difference.ours


def _bare_destinations(_tpv: Json, files: Mapping[str, str], difference: Difference) -> bool:
    """TPV's rank function returned destinations without their defaults, which count in scores."""
    if not any(
        "for d in mapper.destinations.values() if not d.abstract]" in f for f in files.values()
    ):
        return False
    if difference.kind == "ranked":
        there, here = (
            [each["id"] for each in side or ()] for side in (difference.tpv, difference.ours)
        )
        return there == here
    configuration = load(files)
    default = configuration.of_kind("destinations").get(configuration.default_inherits or "")
    return default is not None and difference.kind in _PLACEMENT


def _replaced_code(tpv: Json, files: Mapping[str, str], _difference: Difference) -> bool:
    """TPV's syntax error is in one of the files, and no longer there in all of them merged."""
    if (tpv.get("error") or {}).get("class") != "SyntaxError":
        return False
    fault = _told(tpv).removeprefix("f-string: ").partition(" (")[0]
    alone = [load({name: text}) for name, text in files.items()]
    there = any(fault in str(each) for file in alone for each in file.problems)
    return there and not any(fault in str(each) for each in load(files).problems)


def _no_list(tpv: Json, _files: Mapping[str, str], _difference: Difference) -> bool:
    return "object has no attribute 'id'" in _told(tpv)  # TPV goes through a destination's fields


# Each with the sentence that docs/mapping.md has on it ("Differences from TPV").
KNOWN: tuple[Known, ...] = (
    Known("an amount that is no number fails only where it is compared", _no_number),
    Known("`rules:` without anything is an empty list", _null_rules),
    Known("an `id` key inside an entity is ignored, whatever it is", _id_key),
    Known("rules given as a map have its keys as ids", _rules_by_name),
    Known("`true` is no amount", _truth),
    Known("a problem when the files are read; the entity never matches", _bad_id),
    Known("`tags:` without anything says nothing", _null_lists),
    Known("an error that says so", _no_list),
    Known("code that a later file replaces is not checked", _replaced_code),
    Known("a context variable cannot hide `entity`", _entity_hidden),
    Known("`mapper.destinations` has destinations with all that they inherit", _bare_destinations),
    Known("`explain` lists a destination once that the rank function names twice", _tried_twice),
)


def answer_with_rowtui(files: dict[str, str], request: Json) -> Json:
    """Our engine's answer, in the dialect of today's TPV.

    Files are merged in order. Errors are answers too: `phase` is "load" or "map", and
    `error.class` is the name that TPV has for it.
    """
    configuration = load(files)
    errors = [each for each in configuration.problems if each.severity == "error"]
    if errors:
        return {"ok": False, "phase": "load", "error": {"class": "", "message": str(errors[0])}}
    mapper = Mapper(configuration, chance=random.Random(request.get("seed")))
    asked = request_of(request)
    placement = mapper.place(asked)
    decision = decide(mapper, asked, changes=False)
    answer = as_recorded(placement, decision)
    if "is abstract" not in placement.message:
        answer["matched_entities"] = [
            f"{type(entity).__name__}:{entity.id}" for entity in mapper.entities_of(asked)
        ]
    if not answer["ok"]:
        answer["error"]["message"] = _as_tpv_says(placement, decision)
    if placement.outcome is MappingOutcome.ERROR and not answer["ranked"]:
        del answer["ranked"]  # it was the rank function that failed
    if not decision.entity_id or placement.cause in {"ValueError", "TypeError"}:
        answer.pop("ranked", None)
        del answer["entity"]
    return answer


def _as_tpv_says(placement: Placement, decision: Decision) -> str:
    """Our reason in the words of TPV, where these are compared."""
    if placement.outcome is MappingOutcome.NOWHERE:
        return f"No destinations are available to fulfill request: {decision.entity_id}"
    return _ABSTRACT if "is abstract" in placement.message else placement.message


def ours(files: dict[str, str], requests: Sequence[Json]) -> list[Json]:
    """Our answers, one for each request. A crash is an answer that agrees with nothing."""
    return [_one_of_ours(files, request) for request in requests]


def _one_of_ours(files: dict[str, str], request: Json) -> Json:
    try:
        return answer_with_rowtui(files, request)
    except NotImplementedError:
        raise
    except Exception as error:
        told = {"class": type(error).__name__, "message": str(error)}
        return {"ok": False, "phase": "crash", "error": told, "trace": traceback.format_exc()}


def normalised(answer: Json) -> Json:
    """The answer as JSON has it, without what differs between two runs of TPV."""
    text = json.dumps(answer, default=repr, sort_keys=True)
    text = _ADDRESS.sub("0x0", _ANONYMOUS_RULE.sub("tpv_rule_N", text))
    plain: Json = json.loads(text)
    error = plain.get("error")
    if error and error["message"].startswith(_ABSTRACT):
        error["message"] = _ABSTRACT
    return plain


def differences(tpv: Json, own: Json, files: Mapping[str, str] | None = None) -> list[Difference]:
    """Everything in which two answers differ; nothing if they agree."""
    found = list(_differences(normalised(tpv), normalised(own)))
    return [_explained(tpv, files or {}, each) for each in found]


def _explained(tpv: Json, files: Mapping[str, str], difference: Difference) -> Difference:
    for known in KNOWN:
        if known.applies(tpv, files, difference):
            return Difference(difference.kind, difference.tpv, difference.ours, known.reason)
    return difference


def _differences(tpv: Json, own: Json) -> list[Difference]:
    if tpv["ok"] != own["ok"]:
        return [Difference("mapped or not", _outcome(tpv), _outcome(own))]
    found = []
    if not tpv["ok"]:
        found += _error_differences(tpv, own)
    for name in FIELDS:
        found += _field(name, tpv, own)
    found += _entity_differences(tpv.get("entity"), own.get("entity"))
    return found


def _error_differences(tpv: Json, own: Json) -> list[Difference]:
    found = _field("phase", tpv, own, "error: phase")
    if tpv["phase"] == own["phase"] == "load":
        return found  # ours are problems with a place, all of them
    found += _field("class", tpv["error"], own["error"], "error: class")
    if not found and tpv["error"]["class"] == "JobMappingException":
        found += _field("message", tpv["error"], own["error"], "error: message")
    return found


def _entity_differences(tpv: Json | None, own: Json | None) -> list[Difference]:
    if tpv is None or own is None:
        return [] if tpv is own else [Difference("entity: reached or not", tpv, own)]
    found = []
    for name in ("id", "cores", "mem", "gpus"):
        found += _field(name, tpv, own, f"entity: {name}")
    for strength in STRENGTHS:
        there, here = (sorted(each["tags"][strength]) for each in (tpv, own))
        if there != here:
            found.append(Difference(f"entity: tags {strength}", there, here))
    return found


def _field(name: str, tpv: Json, own: Json, kind: str = "") -> list[Difference]:
    there, here = tpv.get(name), own.get(name)
    if _same(there, here):
        return []
    return [Difference(kind or name, there, here)]


def _same(there: Any, here: Any) -> bool:
    """Equal also in type: 4, 4.0 and True are three answers. The order of keys does not count."""
    return json.dumps(there, sort_keys=True) == json.dumps(here, sort_keys=True)


def _outcome(answer: Json) -> str:
    if answer["ok"]:
        return f"{answer['destination']}"
    error = answer["error"]
    return f"{answer['phase']}: {error['class']}: {error['message'][:200]}"
